"""Every function that can be exported: clean C and C++ of every bundled robot, and the package's numbers everywhere."""

import cmath
import re
import shutil
import subprocess

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
import zoo
from closed_robots import four_bar, pendulum_ring
from export_answers import answers
from matlab_text import as_python
from pliant import Dynamics
from pliant.export import casadi_function, generate_c, generate_matlab, generate_python, listing, parameters
from pliant.export.functions import functions_of
from pliant.export.signatures import DERIVATIVES

NAMES = [each.name for each in pliant.robots() if not pliant.load(each.name).actuators]
TOLERANCE = {False: 1e-12, True: 1e-10}
"""Of the largest entry: of trees the same operations, of loops another elimination of the same equations."""
SLOPES = 1e-10
"""Of the largest entry: the package finds derivatives by another way, through the inverse of the mass matrix."""
SMALL = ("two-link-flexible", "four-bar")
"""A tree and a robot with a loop, both with links that bend, for the languages without a compiler."""
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")


def check(robot, found, error):
    """Compare found(function, inputs, value) with all answers; reactions are by joint."""
    closed = bool(robot.loops.rows)
    for function, (inputs, value) in answers(robot).items():
        limit = SLOPES if "_by_" in function else TOLERANCE[closed]
        got, value = found(function, inputs, value)
        assert error(got, value) < limit, function


def joints_of(header):
    """The joints whose reactions a header tells."""
    listed = header.partition("Joints, in the order of wrenches")[2].partition("};")[0]
    return [line.partition("/* ")[2].partition(" */")[0] for line in listed.splitlines() if " = " in line]


@pytest.mark.parametrize("name", NAMES)
def test_c_of_every_bundled_robot(arm, build, error, name):
    every(arm(name), build, error)


def every(robot, build, error):
    """All functions of a robot, in one compilation."""
    c = build(robot, *(each for each in functions_of(robot, ("all",)) if not each.endswith("_by_p")))

    def found(function, inputs, value):
        if function == "reactions":
            value = [value[joint] for joint in joints_of(c.header)]
        return c(function, np.shape(value), *inputs), value

    check(robot, found, error)


SKEW = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()
FLAT = {"lengths": (0.4, 0.2, 0.4, 0.2), "pose": {"motor": 1.0, "pin": -1.0, "ground_pin": 1.0}}


def geared():
    """A bending arm with two wheels, of which one follows the other."""
    wheel = {"mass": 0.8, "com": [0.1, 0.02, 0.03], "inertia": [0.02, 0.03, 0.04]}
    arm = {"name": "arm", "joint": {"name": "slew", "axis": "y"}, "beam": BEAM}
    links = [arm, {"name": "first", "joint": {"name": "pinion", "parent": "arm.tip"}, "rigid": wheel}]
    follower = {"name": "wheel", "parent": "arm.tip", "mimic": {"joint": "pinion", "ratio": -0.4}}
    return pliant.Robot.model_validate(
        {"name": "geared", "links": [*links, {"name": "last", "joint": follower, "rigid": wheel}]}
    )


def damped():
    """One damping ratio for the whole robot, which couples the coordinates of all links."""
    robot = pliant.load("four-bar")
    links = [x if x.beam is None else x.with_changes(beam=x.beam.with_changes(damping=None)) for x in robot.links]
    return robot.with_changes(links=links, damping=pliant.Damping(ratio=0.02))


BEAM = {
    "length": 0.5,
    "properties": {"mass_per_length": 1.0, "EIy": 20.0, "EIz": 30.0},
    "modes": {"shape": "clamped-free", "bend_y": 1, "bend_z": 1},
}
ODD = {
    "rows that follow from others": lambda: four_bar(R=SKEW, loop={"planar": None}),
    "gears": geared,
    "damping that couples links": damped,
    "ball joints": lambda: zoo.robot("balls"),
    "a floating base": lambda: zoo.robot("satellite"),
    "a ring of pendulums": pendulum_ring,
}


@pytest.mark.parametrize("what", ODD)
def test_c_of_odd_robots(build, error, what):
    robot = Dynamics(ODD[what](), compile="never")
    every(robot, build, error)


def test_a_lost_row_gives_no_numbers(build, tmp_path):
    """A parallelogram that lies flat may go on as two mechanisms; beside that pose all is well."""
    robot = Dynamics(four_bar(**FLAT), compile="never")
    c = build(robot, "forward", "efforts")
    still = np.zeros(3)
    assert not np.isfinite(c("forward", 3, still, still, [0.1, 0.0, 0.0])).any()
    assert not np.isfinite(c("efforts", 4, still, still, [1.0, 0.0, 0.0])).any()
    beside = 1e-3 * np.array([1.0, -1.0, 1.0])
    a = c("forward", 3, beside, still, [0.1, 0.0, 0.0])
    assert a == pytest.approx(a[0] * np.array([1.0, -1.0, 1.0]), rel=1e-6)
    scope = {"__name__": "exported"}
    exec(generate_python(robot, tmp_path / "arm.py", ("forward",)).read_text(), scope)
    with pytest.raises(ZeroDivisionError):
        scope["forward"]([0.0] * 3, [0.0] * 3, [0.1, 0.0, 0.0])


@pytest.mark.parametrize("name", SMALL)
def test_c_as_cpp_and_for_32_bits(arm, compiler, tmp_path, name):
    """All functions and steps; 32 bits where the compiler has them."""
    source, _ = generate_c(arm(name), tmp_path / "arm.c", ("all",))
    cpp = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    ways = [[compiler, "-std=c99"]] + ([[cpp, "-x", "c++", "-std=c++17"]] if cpp else [])
    (tmp_path / "empty.c").write_text("#include <math.h>\nint main(void) { return 0; }\n")
    short = [compiler, "-std=c99", "-m32"]
    tried = subprocess.run(
        [*short, "-fsyntax-only", tmp_path / "empty.c"], capture_output=True, check=False, timeout=60
    )
    ways += [short] if tried.returncode == 0 else []
    for way in ways:
        run = subprocess.run(
            [*way, *STRICT, "-O0", "-c", source, "-o", tmp_path / "arm.o"],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert run.returncode == 0, (way, run.stderr)


def test_c_is_fit_for_small_targets(arm, tmp_path):
    """No allocation, no recursion, no arrays of a size that a run decides."""
    source, header = generate_c(arm("four-bar"), tmp_path / "arm.c", ("all",))
    text = source.read_text()
    assert set(re.findall(r"#include (\S+)", text)) == {'"arm.h"', "<float.h>", "<math.h>", "<stddef.h>"}
    assert not re.search(r"\b(malloc|calloc|realloc|free|alloca|printf|goto|longjmp)\b", text)
    # arrays inside of functions are constants with a number as their size
    local = re.findall(r"^ +(.*\w)\[([^\]]*)\] = \{", text, re.MULTILINE)
    assert local
    assert all(start.startswith("static const") and size.isdigit() for start, size in local)
    bodies = re.findall(
        r"^(?:static )?(?:void|int|double) (\w+)\([^;{]*\)\n\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL
    )
    known = {name for name, _ in bodies}
    calls = {name: set(re.findall(r"\b(\w+)\(", body)) & known for name, body in bodies}
    # a function calls only what stands above it: nothing can call itself, on whatever way
    order = [name for name, _ in bodies]
    assert all(order.index(called) < order.index(name) for name, found in calls.items() for called in found)
    assert "arm_instance" in header.read_text()


@pytest.mark.parametrize("name", SMALL)
def test_python(arm, error, tmp_path, name):
    robot, scope = arm(name), {"__name__": "exported"}
    exec(generate_python(robot, tmp_path / "arm.py", ("all",)).read_text(), scope)

    def found(function, inputs, value):
        got = scope[function](*(x.tolist() for x in inputs))
        if function == "pose":
            got = [[*p, *np.ravel(R)] for p, R in got.values()]
        elif function == "jacobian":
            got = list(got.values())
        elif function == "reactions":
            got, value = list(got.values()), [value[joint] for joint in got]
        elif function in ("efforts", "project"):
            got = np.concatenate(got)
        return got, value

    check(robot, found, error)


@pytest.mark.parametrize("name", SMALL)
def test_matlab(arm, error, tmp_path, name):
    """The file, its text turned into Python: brackets, blocks and comments differ, expressions do not."""
    robot, scope = arm(name), {}
    exec(as_python(generate_matlab(robot, tmp_path / "robot.m", ("all",)).read_text()), scope)
    model = scope["robot"]()
    assert tuple(model.coordinates) == robot.names
    assert np.array_equal(model.B, robot.B)

    def found(function, inputs, value):
        got = np.asarray(getattr(model, function)(*inputs))
        if function == "reactions":
            value = [value[joint] for joint in model.joints]
        return (got.T if function in ("pose", "reactions") else got), value

    check(robot, found, error)
    # other parameters are a last argument
    inputs, value = answers(robot)["inverse"]
    lighter = np.array(parameters(robot, ("tip",)))
    lighter[:3] = 0.0
    assert error(model.inverse(*inputs, lighter), value) > 1e-3


@pytest.mark.parametrize("name", SMALL)
def test_casadi(arm, error, name):
    pytest.importorskip("casadi", reason="casadi is not installed")
    robot = arm(name)

    def found(function, inputs, value):
        got = np.array(casadi_function(robot, function)(*inputs))
        if function == "reactions":
            value = list(value.values())[: got.shape[1]]
        return (got.T if function in ("pose", "reactions") else got), value

    check(robot, found, error)


@pytest.mark.parametrize("language", ["python", "matlab"])
def test_listings_of_loops(arm, error, language):
    """Every function of a robot with a loop as a listing; of assemble and project a Newton step."""
    robot = arm("four-bar")
    for function, (inputs, value) in answers(robot).items():
        text, scope = listing(robot, function, language=language), {}
        exec(as_python(text) if language == "matlab" else text, scope)
        if function in ("assemble", "project"):
            state = np.concatenate(inputs)
            for _ in range(6):
                out = np.ravel(scope[f"{function}_step"](*state.reshape(len(inputs), -1)))
                state = out[: len(state)] if function == "assemble" else np.r_[out[: robot.size], inputs[1]]
            got = out[: len(state)]
        else:
            got = scope[function](*inputs)
        if function == "reactions":
            value = list(value.values())[: len(np.ravel(got)) // 6]
        assert error(got, value) < (SLOPES if "_by_" in function else TOLERANCE[True]), function


def test_steps_of_loops_stand_in_listings(arm):
    """Those of the paper: where links sit and turn, the legs, the closures, the solution."""
    text = listing(arm("dualemps"), "forward", language="python")
    titles = [line.strip() for line in text.splitlines() if line.strip().startswith("# step")]
    numbers = [int(title.split()[2].rstrip(",")) for title in titles]
    assert set(numbers) == {0, 1, 2, 3, 4}
    assert numbers.index(0) < numbers.index(1) < numbers.index(2) < numbers.index(3) < numbers.index(4)
    assert numbers[-1] == 4
    assert "step 0, where it sits" in titles[0]


@pytest.mark.parametrize("name", SMALL)
def test_derivatives_by_parameters(arm, build, error, tmp_path, name):
    """Against complex steps of the parameters in the exported Python."""
    robot, scope = arm(name), {"__name__": "exported"}
    c = build(robot, *(each for each in DERIVATIVES if each.endswith("_by_p")), "energy_by_p")
    exec(generate_python(robot, tmp_path / "arm.py", ("forward", "inverse", "energy")).read_text(), scope)
    given = np.array(parameters(robot))
    for function in ("forward", "inverse", "energy"):
        inputs, _ = answers(robot)[function]
        columns = []
        for k in range(len(given)):
            moved = given.astype(complex)
            moved[k] += 1e-30j * max(abs(given[k]), 1.0)
            found = scope[function](*(x.tolist() for x in inputs), moved.tolist(), cmath)
            columns.append(np.imag(found) / (1e-30 * max(abs(given[k]), 1.0)))
        slopes = np.array(columns).T
        assert error(c(f"{function}_by_p", slopes.shape, *inputs), slopes) < TOLERANCE[True], function


def test_parameters_of_loops_act_in_every_function(arm, build, error):
    """One table for the open tree and for the loops: a heavier link and another length in the same C."""
    robot = arm("four-bar-rigid")
    other = robot.set("crank.rigid.mass", 0.7).set("crank.rigid.length", 0.13)
    functions = ("forward", "inverse", "energy", "closure", "reactions", "assemble")
    c = build(robot, *functions)
    values, expected = np.array(parameters(other)), answers(other)
    for function in functions:
        inputs, value = expected[function]
        if function == "reactions":
            value = [value[joint] for joint in joints_of(c.header)]
        assert error(c(function, np.shape(value), *inputs, parameters=values), value) < TOLERANCE[True], function
