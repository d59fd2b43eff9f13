"""Generated code: Python and C that depend on nothing, with the numbers of the engine."""

import ctypes
import shutil
import subprocess
import sys

import numpy as np
import pytest

from pliant import load
from pliant.dynamics import Dynamics
from pliant.formulations.lagrange.equations import equations
from small_arms import linear

ROBOTS = ("lin-lewis-rfr", "lin-lewis-tank-turret", "single-flexible-link", "two-link-flexible", "de-luca-siciliano")
# its code with all terms of second-order bending takes long to write
SHORT = {"two-link-flexible": "linear"}


def described(robot):
    """A robot as its equations are asked for, and these."""
    loaded, bending = load(robot), SHORT.get(robot, "as-described")
    return linear(loaded) if bending == "linear" else loaded, equations(robot, bending=bending)


TOLERANCE = 1e-11
"""Of the largest entry: two derivations of the same numbers, some hundred operations each."""


def state(n):
    rng = np.random.default_rng(n)
    return 0.4 * rng.normal(size=n), rng.normal(size=n)


def agrees(ours, theirs):
    return np.abs(np.asarray(ours) - theirs).max() <= TOLERANCE * max(np.abs(theirs).max(), 1e-3)


@pytest.mark.parametrize("robot", ROBOTS)
def test_python_module_stands_alone(robot, tmp_path):
    """Run by another process that has neither NumPy nor Pliant on its path."""
    loaded, eq = described(robot)
    eq.save(tmp_path / "arm.py")
    arm = Dynamics(loaded, compile="never")
    q, v = state(arm.size)
    code = (
        "import arm, sys; assert not {'numpy', 'sympy', 'pliant'} & set(sys.modules); "
        f"print([arm.mass_matrix({q.tolist()}), arm.bias({q.tolist()}, {v.tolist()})])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.'); {code}"],
                          cwd=tmp_path, capture_output=True, text=True, check=True)  # fmt: skip
    M, h = eval(done.stdout, {"__builtins__": {}})
    assert agrees(M, arm.mass_matrix(q))
    assert agrees(h, arm.bias(q, v))


def test_parameters_of_the_module_can_be_changed(tmp_path):
    eq = equations("lin-lewis-rfr")
    module = {}
    exec(eq.to("python"), module)
    q = state(4)[0].tolist()
    heavier = {**module["PARAMETERS"], "mp_3": 1.0}
    other = eq.with_values({"mp_3": 1.0}).functions()
    assert agrees(module["mass_matrix"](q, heavier), other.mass_matrix(q))
    assert not agrees(module["mass_matrix"](q), other.mass_matrix(q))


@pytest.fixture(scope="module")
def compiler():
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found is None:
        pytest.skip("no C compiler")
    return found


@pytest.mark.parametrize("robot", ROBOTS)
def test_c_file_compiles_and_agrees(robot, compiler, tmp_path):
    loaded, eq = described(robot)
    (tmp_path / "arm.c").write_text(eq.to("c"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "arm.c", "-o", "arm.so", "-lm"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "arm.so"))
    arm = Dynamics(loaded, compile="never")
    n, (q, v) = arm.size, state(arm.size)
    prefix = robot.replace("-", "_")
    doubles = ctypes.POINTER(ctypes.c_double)
    parameters = ctypes.cast(getattr(library, f"{prefix}_parameters"), doubles)

    def call(name, size, *arguments):
        out = np.zeros(size)
        pointers = [x.ctypes.data_as(doubles) for x in arguments]
        getattr(library, f"{prefix}_{name}")(*pointers, parameters, out.ctypes.data_as(doubles))
        return out

    assert agrees(call("mass_matrix", n * n, q).reshape(n, n), arm.mass_matrix(q))
    assert agrees(call("coriolis", n * n, q, v).reshape(n, n), arm.coriolis(q, v))
    assert agrees(call("bias", n, q, v), arm.bias(q, v))
    assert agrees(call("stiffness", n * n).reshape(n, n), arm.stiffness)


def test_rotations_in_two_planes_compile(compiler, tmp_path):
    """The functions c_k of the exponential map are part of the file."""
    from pliant import Beam, Joint, Link, Modes, Properties, Rigid, Robot

    beam = Beam(
        length=0.8,
        properties=Properties(mass_per_length=1.0, EIy=40.0, EIz=60.0),
        modes=Modes(shape="clamped-free", bend_y=1, bend_z=1),
    )
    links = [
        Link(name="a", joint=Joint(name="j"), beam=beam),
        Link(name="b", joint=Joint(name="k"), rigid=Rigid(mass=1.0)),
    ]
    (tmp_path / "arm.c").write_text(equations(Robot(name="2 planes", links=links)).to("c"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-c"]
    subprocess.run([compiler, *flags, "arm.c", "-o", "arm.o"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("robot", ROBOTS[:3])
def test_numbers_instead_of_symbols_change_nothing(robot):
    eq = equations(robot)
    q, v = state(len(eq.coordinates))
    numeric = equations(robot, parameters="numbers")
    assert numeric.constants == ()
    a, b = eq.functions(), numeric.functions()
    for name, arguments in (("mass_matrix", (q,)), ("coriolis", (q, v)), ("gravity", (q,)), ("bias", (q, v))):
        assert agrees(getattr(b, name)(*arguments), getattr(a, name)(*arguments))
    kept = equations(robot, parameters=("m_1",)) if "m_1" in eq.values else None
    if kept is not None:
        assert [c.name for c in kept.constants] == ["m_1"]
        assert agrees(kept.functions().bias(q, v), a.bias(q, v))


def test_any_name_makes_code(compiler, tmp_path):
    """Names with dashes, letters of other alphabets and quotes; two of them equal but for a dash."""
    from pliant import Beam, Frame, Joint, Link, Modes, Properties, Rigid, Robot

    beam = Beam(
        length=1.0, properties=Properties(mass_per_length=1.0, EIz=2.0), modes=Modes(shape="clamped-free", bend_y=2)
    )
    frames = (Frame(name="mid-1", x=0.5), Frame(name="mid_1", x=0.4))
    body = Rigid(mass=1.0, com=(0.1, 0, 0), inertia=0.1)
    robot = Robot(
        name='odd "name" \\ */ of a robot',
        gravity=(0, -9.81, 0),
        links=[
            Link(name="über-arm", joint=Joint(name="j-1"), beam=beam, frames=frames),
            Link(name="b", joint=Joint(name="j-2", parent="über-arm.mid-1"), rigid=body),
            Link(name="c", joint=Joint(name="j-3", parent="über-arm.mid_1"), rigid=body),
        ],
    )
    eq = equations(robot)
    arm = Dynamics(robot, compile="never")
    q, v = state(arm.size)
    assert agrees(eq.functions().bias(q, v), arm.bias(q, v))
    names = [c.name for c in eq.constants] + [short.name for short, _ in eq.abbreviations()]
    assert len(set(names)) == len(names)
    (tmp_path / "arm.c").write_text(eq.to("c"))
    subprocess.run([compiler, "-std=c99", "-Werror", "-c", "arm.c", "-o", "arm.o"], cwd=tmp_path, check=True)


def test_a_robot_that_cannot_move():
    from pliant import Joint, Link, ModelError, Rigid, Robot

    rock = Robot(name="rock", links=[Link(name="a", joint=Joint(name="j", type="fixed"), rigid=Rigid(mass=1.0))])
    with pytest.raises(ModelError, match="nothing moves"):
        equations(rock)


FLEXIBLE = ("lin-lewis-rfr", "single-flexible-link")


@pytest.mark.parametrize("robot", FLEXIBLE)
def test_what_the_shapes_were_integrated_with_is_no_parameter(robot):
    """Another length or density would leave the integrals over the shapes behind."""
    from pliant import ModelError

    eq = equations(robot, bending="linear")
    bound = [c for c in eq.constants if c.bound]
    assert {c.name.partition("_")[0] for c in bound} == {"l", "rho"}
    module = {}
    exec(eq.to("python"), module)
    q = state(len(eq.coordinates))[0].tolist()
    for c in bound:
        with pytest.raises(
            ModelError, match=f"{c.name} is the .* integrals over the shapes .* derive its equations anew"
        ):
            eq.with_values({c.name: 2.0 * c.value})
        # its own value is no other
        assert eq.with_values({c.name: c.value}).values == eq.values
        assert c.name not in module["PARAMETERS"]
        with pytest.raises(KeyError, match=f"{c.name}: no parameter"):
            module["mass_matrix"](q, {**module["PARAMETERS"], c.name: 2.0 * c.value})
        assert f"p[0] {c.name}" not in eq.to("c")


def test_lengths_and_masses_of_rigid_links_are_parameters():
    """Their consequences are all written down: other values give the equations of the other robot."""
    robot = load("lin-lewis-rfr")
    first, *rest = robot.links
    longer = first.with_changes(rigid=first.rigid.with_changes(length=1.7, mass=3.0))
    eq = equations(robot)
    assert {"l_1", "l_3", "m_3"} & set(eq.values)
    changed = {name: value for name, value in (("l_1", 1.7), ("m_1", 3.0)) if name in eq.values}
    q, v = state(4)
    ours = eq.with_values(changed).functions().bias(q, v)
    theirs = equations(robot.with_changes(links=[longer, *rest])).functions().bias(q, v)
    assert changed
    assert agrees(ours, theirs)
