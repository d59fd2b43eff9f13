"""Robots, states and compiled C for the tests of the exports."""

import ctypes
import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import zoo
from pliant import Beam, Joint, Link, Modes, Placement, Properties, RigidPart, Robot, Rotation
from pliant import load as load_robot
from pliant.dynamics import Dynamics
from pliant.export import generate_c

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
OPTIMISED = 8
"""Coordinates up to which C is compiled with optimisation, which finds more to warn of and takes thrice as long."""
LONG = 12
"""Links from which machine code, made once per class of link, comes sooner than the tape of the whole robot."""


def chain(n):
    """A spatial chain of equal flexible links with three kinds of twist and a load on every tip."""
    beam = Beam(
        length=0.5,
        properties=Properties(mass_per_length=2.0, EIy=400.0, EIz=600.0),
        modes=Modes(shape="clamped-free", bend_y=2, bend_z=2),
    )
    links = []
    for i in range(n):
        twist = Placement(rotation=Rotation(x=(0.0, 1.1, -0.7)[i % 3]))
        joint = Joint(name=f"joint{i + 1}", axis="z", placement=twist)
        load = RigidPart(mass=0.3, frame="tip")
        links.append(Link(name=f"link{i + 1}", joint=joint, beam=beam, payloads=(load,)))
    return Robot(name=f"chain of {n}", links=links)


@cache
def _arm(name):
    if name.startswith("chain-"):
        return Dynamics(chain(int(name.removeprefix("chain-"))))
    robot = zoo.robot(name) if name in zoo.ZOO else load_robot(name)
    # that machine code gives the same numbers is a test of the engine
    return Dynamics(robot, compile="auto" if len(robot.links) >= LONG else "never")


@pytest.fixture(scope="session")
def arm():
    """arm(name): the dynamics of a bundled robot, of one of the zoo, or of a chain such as "chain-30"."""
    return _arm


@pytest.fixture(scope="session")
def expected():
    """expected(arm, function, frames): arguments of a function at a state, and what the engine says of it."""

    def compute(arm, function, frames=("tip",)):
        q, v, a = zoo.state(arm)
        if len(arm.tree.links) > 20:
            # a long chain folded at random is nearly singular, and rounding would be compared
            q, v = 0.2 * q, 0.2 * v
        f = np.linspace(-1.0, 1.0, arm.size)
        if function == "pose":
            poses = [arm.pose(frame, q) for frame in frames]
            return (q,), np.array([[*p.position, *p.rotation.ravel()] for p in poses])
        return {
            "forward": lambda: ((q, v, f), arm.forward(q, v, force=f)),
            "inverse": lambda: ((q, v, a), arm.forces(q, v, a)),
            "bias": lambda: ((q, v), arm.bias(q, v)),
            "mass_matrix": lambda: ((q,), arm.mass_matrix(q)),
            "energy": lambda: ((q, v), np.array(arm.energy(q, v))),
            "jacobian": lambda: ((q,), np.array([arm.jacobian(frame, q) for frame in frames])),
        }[function]()

    return compute


@pytest.fixture(scope="session")
def error():
    """error(found, expected): the largest difference, relative to the largest entry."""

    def relative(found, expected):
        found, expected = np.ravel(found), np.ravel(expected)
        assert found.shape == expected.shape
        return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300)

    return relative


# ---- C


@pytest.fixture(scope="session")
def compiler():
    """The C compiler of the system."""
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found is None:
        pytest.skip("no C compiler (cc, gcc or clang) on the path")
    return found


class Compiled:
    """A generated C file as a shared library; calls take and give NumPy arrays."""

    def __init__(self, source, header, library):
        self.name = source.stem
        self.source, self.header = source.read_text(), header.read_text()
        self.library = ctypes.CDLL(str(library))

    def define(self, name):
        return int(re.search(rf"#define {self.name.upper()}_{name} (\d+)", self.header)[1])

    def workspace(self):
        # no function may count on what is in it
        return np.full(self.define("WORKSPACE"), np.nan)

    def __call__(self, function, shape, *inputs, workspace=None, parameters=None):
        out = np.full(shape, np.nan)
        work = self.workspace() if workspace is None else workspace
        arrays = [np.ascontiguousarray(x, dtype=float) for x in inputs]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, out, work)]
        given = None if parameters is None else ctypes.c_void_p(parameters.ctypes.data)
        getattr(self.library, f"{self.name}_{function}")(*pointers, given)
        return out


@pytest.fixture(scope="session")
def build(compiler, tmp_path_factory):
    """build(arm, **options): generate C, compile it without any warning, load it."""

    def make(arm, *functions, name="arm", **options):
        folder = tmp_path_factory.mktemp("c")
        given = {"functions": functions} if functions else {}
        source, header = generate_c(arm, folder / f"{name}.c", **given, **options)
        library = folder / f"{name}.so"
        level = "-O1" if arm.size <= OPTIMISED else "-O0"
        command = [compiler, *FLAGS, level, "-fPIC", "-shared", "-o", library, source, "-lm"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert run.returncode == 0, run.stderr
        return Compiled(source, header, library)

    return make
