"""Generated C: the engine's numbers, a clean compilation, no state, a header that says what it holds."""

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pliant.dynamics import Dynamics
from pliant.export import FUNCTIONS, generate_c, parameters

TOLERANCE = 1e-12
"""Of the largest entry: the same operations, but for the compiler's contractions and the library's sine."""

BENT = ("second-order", "rods-in-a-plane")
"""Kinds of bending that no bundled robot has; those are in test_functions.py."""
LOOPS = ("branches-cayley", "satellite", "drives", "chain-30", "rod-in-space")
"""Several children per link, a floating base, friction, many links, stations: kernels in loops over the links."""


@pytest.mark.parametrize("name", BENT)
def test_equals_the_engine(arm, build, expected, error, name):
    c = build(arm(name))
    for function in FUNCTIONS:
        inputs, out = expected(arm(name), function)
        assert error(c(function, out.shape, *inputs), out) < TOLERANCE, function


@pytest.mark.parametrize("name", LOOPS)
def test_loops_over_links_equal_the_engine(arm, build, expected, error, name):
    c = build(arm(name), unroll=False)
    assert "for (int i" in c.source
    for function in FUNCTIONS:
        inputs, out = expected(arm(name), function)
        assert error(c(function, out.shape, *inputs), out) < TOLERANCE, function


def test_code_does_not_grow_with_the_number_of_links(arm, tmp_path):
    sizes = []
    for name in ("chain-30", "chain-60"):
        source, _ = generate_c(arm(name), tmp_path / "arm.c", ("forward",))
        text = source.read_text()
        sizes.append(text.count("const double t"))
    assert sizes[0] == sizes[1]


def test_several_frames(arm, build, expected, error):
    robot, frames = arm("branches-exponential"), ("b.tip", "trunk.mid", "trunk.root")
    c = build(robot, "pose", "jacobian", frames=frames)
    assert c.define("FRAMES") == 3
    assert "ARM_FRAME_TRUNK_MID = 1" in c.header
    for function in ("pose", "jacobian"):
        inputs, out = expected(robot, function, frames)
        assert error(c(function, out.shape, *inputs), out) < TOLERANCE


# ---- no state, no surprises


@pytest.mark.parametrize("unroll", [True, False])
def test_threads_with_their_own_workspaces(arm, build, unroll):
    """Two threads interleave calls; ctypes lets go of the interpreter lock while C runs."""
    robot = arm("canadarm")
    c = build(robot, "forward", "mass_matrix", unroll=unroll)
    n = robot.size
    states = np.random.default_rng(3).normal(size=(2, 400, 3, n)) * 0.1
    alone = [[c("forward", n, *state) for state in part] for part in states]
    masses = [[c("mass_matrix", (n, n), state[0]) for state in part[:50]] for part in states]

    def run(part):
        work = c.workspace()
        out = [c("forward", n, *state, workspace=work) for state in part]
        return out, [c("mass_matrix", (n, n), state[0], workspace=work) for state in part[:50]]

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(run, states))
    for k, (accelerations, matrices) in enumerate(together):
        assert np.array_equal(accelerations, alone[k])
        assert np.array_equal(matrices, masses[k])


def test_nothing_is_written_beyond_the_workspace(arm, build, expected):
    robot = arm("drives")
    c = build(robot, unroll=False)
    size = c.define("WORKSPACE")
    for function in FUNCTIONS:
        inputs, out = expected(robot, function)
        work = np.full(size + 64, 12345.0)
        c(function, out.shape, *inputs, workspace=work)
        assert (work[size:] == 12345.0).all(), function


def test_no_allocation_and_no_mutable_data(arm, compiler, tmp_path):
    source, _ = generate_c(arm("six-dof"), tmp_path / "arm.c")
    text = source.read_text()
    assert set(re.findall(r"#include (\S+)", text)) == {'"arm.h"', "<math.h>", "<stddef.h>"}
    assert not re.search(r"\b(malloc|calloc|free|printf|longjmp|assert)\b", text)
    data = [line for line in text.splitlines() if re.match(r"static\b", line) and "(" not in line]
    assert data
    assert all(line.startswith("static const ") for line in data)
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm to look into the object file")
    out = tmp_path / "arm.o"
    subprocess.run([compiler, "-std=c99", "-O0", "-c", source, "-o", out], check=True, timeout=300)
    run = subprocess.run([nm, out], capture_output=True, text=True, check=True, timeout=240)
    symbols = [line.split()[-2:] for line in run.stdout.splitlines()]
    assert not {"b", "B", "d", "D", "C"} & {kind for kind, _ in symbols}, "data that can change"
    undefined = {name for kind, name in symbols if kind == "U"}
    assert {name.lstrip("_") for name in undefined} <= {
        "sin",
        "cos",
        "sincos",
        "sqrt",
        "tanh",
        "GLOBAL_OFFSET_TABLE_",
    }


def test_parameters_replace_the_robots_numbers(arm, build, expected, error):
    """Weaker gravity and a heavier load: the same code, other parameters."""
    robot = arm("chain-30").robot
    loads = [[part.with_changes(mass=0.9) for part in link.payloads] for link in robot.links]
    links = [link.with_changes(payloads=load) for link, load in zip(robot.links, loads, strict=True)]
    other = Dynamics(robot.with_changes(gravity=(0, 0, -1.62), links=links))
    c = build(arm("chain-30"), "forward", "inverse")
    values = np.array(parameters(other))
    assert len(values) == c.define("PARAMETERS")
    for function in ("forward", "inverse"):
        inputs, out = expected(other, function)
        assert error(c(function, out.shape, *inputs, parameters=values), out) < TOLERANCE
        assert error(c(function, out.shape, *inputs), out) > 1e-3


def test_input_matrix(arm, build, error):
    """A motor on a pinned root drives the root tangent, too."""
    robot = arm("pinned")
    c = build(robot, "bias")
    tau = np.linspace(1.0, 2.0, len(robot.inputs))
    f = np.zeros(robot.size)
    c.library.arm_generalised(np.ctypeslib.as_ctypes(tau), np.ctypeslib.as_ctypes(f))
    assert error(f, robot.B @ tau) < 1e-15


# ---- the files


def test_header(arm, tmp_path):
    source, header = generate_c(arm("canadarm"), str(tmp_path / "can_2.c"))
    text = header.read_text()
    assert source == tmp_path / "can_2.c"
    assert "#define CAN_2_SIZE 15 " in text
    assert "#define CAN_2_INPUTS 3 " in text
    assert re.search(r'#define CAN_2_VERSION "\d+\.\d+', text)
    assert re.search(r'#define CAN_2_STRUCTURE "[0-9a-f]{16}"', text)
    assert "CAN_2_Q_UPPER_BEND_Y_1 = 1, /* upper.bend_y.1: elastic */" in text
    assert "CAN_2_Q_ELBOW = 5, /* elbow: joint of link 'forearm', rad */" in text
    declared = re.search(r"void can_2_forward\(([^)]*)\);", text)[1]
    arguments = [re.sub(r"\s+", " ", each).strip() for each in declared.split(",")]
    inputs, last = [f"const double *{x}" for x in "qvf"], ["double *workspace", "const double *parameters"]
    assert arguments == [*inputs, "double *a", *last]


def test_only_what_is_asked_for(arm, tmp_path):
    source, header = generate_c(arm("canadarm"), tmp_path / "arm.c", ("bias",))
    functions = set(re.findall(r"^void (\w+)\(", header.read_text(), re.MULTILINE))
    assert functions == {"arm_bias", "arm_generalised", "arm_start"}
    assert "#define ARM_FRAMES 0" in header.read_text()
    assert "forward" not in source.read_text()


def test_the_same_structure_has_the_same_digest(arm, tmp_path):
    robot = arm("two-link-flexible").robot
    heavier = robot.with_changes(gravity=(0, 0, -3.7) if robot.gravity[2] else (0, 0, 0))
    texts = [
        generate_c(each, tmp_path / "arm.c", ("forward",))[1].read_text()
        for each in (Dynamics(robot), Dynamics(heavier))
    ]
    digests = [re.search(r'STRUCTURE "(\w+)"', text)[1] for text in texts]
    assert digests[0] == digests[1]
    assert digests[0] not in generate_c(arm("canadarm"), tmp_path / "arm.c", ("forward",))[1].read_text()


def test_any_robot_name_is_safe_in_comments(arm, build):
    robot = arm("lin-lewis-rfr").robot.with_changes(name="evil */ #error ä ??/ /* \\")
    c = build(Dynamics(robot), "forward")
    assert "evil" in c.header


def test_header_in_cpp(arm, tmp_path):
    cpp = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if cpp is None:
        pytest.skip("no C++ compiler (c++, g++ or clang++) on the path")
    generate_c(arm("canadarm"), tmp_path / "arm.c")
    (tmp_path / "use.cpp").write_text(
        '#include "arm.h"\nint main() { double f[ARM_SIZE], tau[ARM_INPUTS] = {0}; '
        "arm_generalised(tau, f); return ARM_Q_SHOULDER; }\n"
    )
    flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    subprocess.run([cpp, "-std=c++11", *flags, tmp_path / "use.cpp"], check=True, timeout=240)


# ---- what is refused


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        ("arm.c", {"functions": ("forwards",)}, "no function 'forwards'.*did you mean 'forward'"),
        ("arm.c", {"functions": ()}, "functions is empty"),
        ("arm.c", {"frames": ("tipp",)}, "no frame 'tipp'; choose from upper.root"),
        ("arm.c", {"frames": ()}, "frames is empty"),
        ("my-arm.c", {}, "'my-arm' is not a C identifier.*'my_arm' would do"),
        ("7dof.c", {}, "'7dof' is not a C identifier.*'arm_7dof' would do"),
        ("double.c", {}, "'double' is not a C identifier.*'arm_double' would do"),
        ("arm.h", {}, "must end in .c"),
        ("nowhere/arm.c", {}, "the folder .*nowhere does not exist"),
        ("folder.c", {}, "this is a folder"),
    ],
)
def test_refusals(arm, tmp_path, path, options, words):
    (tmp_path / "folder.c").mkdir()
    with pytest.raises(ValueError, match=words):
        generate_c(arm("canadarm"), tmp_path / path, **options)
    assert [file.name for file in tmp_path.iterdir()] == ["folder.c"]
