"""CasADi functions: the engine's numbers, and CasADi's own derivatives against ours."""

import sys

import numpy as np
import pytest

import zoo
from pliant.bodies.constants import deflection
from pliant.bodies.words import axial_strain
from pliant.export import FUNCTIONS, casadi_function, generate_casadi, parameters

ca = pytest.importorskip("casadi", reason="casadi is not installed")

TOLERANCE = 1e-12
"""Of the largest entry: the same operations, but for the engine's fused multiply-adds and its sine."""

DERIVATIVE_TOLERANCE = 1e-11
"""Derivatives sum some more terms of different sizes."""


BENT = ("second-order", "rods-in-a-plane")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ["lin-lewis-rfr", "six-dof", "branches-exponential", "drives", *BENT])
def test_equals_the_engine(arm, expected, error, name, function):
    inputs, out = expected(arm(name), function)
    found = np.array(casadi_function(arm(name), function)(*inputs))
    assert error(found.T if function == "pose" else found, out) < TOLERANCE


@pytest.mark.parametrize("name", ["two-link-flexible", "six-dof", "branches-cayley", *BENT])
def test_derivatives_of_inverse_dynamics(arm, expected, error, name):
    robot = arm(name)
    f = casadi_function(robot, "inverse")
    q, v, a = (ca.SX.sym(x, robot.size) for x in "qva")
    jacobians = ca.Function("J", [q, v, a], [ca.jacobian(f(q, v, a), x) for x in (q, v, a)])
    inputs, _ = expected(robot, "inverse")
    exact = robot.inverse_derivatives(*inputs)
    for found, own in zip(jacobians(*inputs), exact, strict=True):
        assert error(np.array(found), own) < DERIVATIVE_TOLERANCE


def test_mass_matrix_is_the_derivative_of_inverse_dynamics(arm, expected, error):
    robot = arm("canadarm")
    q, a = (ca.SX.sym(x, robot.size) for x in "qa")
    derivative = ca.jacobian(casadi_function(robot, "inverse")(q, 0, a), a)
    (inputs, _), zero = expected(robot, "mass_matrix"), np.zeros(robot.size)
    found = ca.Function("M", [q, a], [derivative])(*inputs, zero)
    assert error(np.array(found), np.array(casadi_function(robot, "mass_matrix")(*inputs))) < TOLERANCE


def test_names_and_shapes(arm):
    f = casadi_function(arm("branches-exponential"), "jacobian", frames=("b.tip", "trunk.mid"))
    assert f.name_in() == ["q"]
    assert f.name_out() == ["J"]
    assert f.size_out(0) == (12, arm("branches-exponential").size)
    f = casadi_function(arm("canadarm"), "forward")
    assert (f.name_in(), f.name_out()) == (["q", "v", "f"], ["a"])


def test_parameters_as_input(arm, expected, error):
    robot = arm("two-link-flexible")
    inputs, out = expected(robot, "forward")
    f = casadi_function(robot, "forward", parameters=True)
    assert f.name_in() == ["q", "v", "f", "parameters"]
    assert error(np.array(f(*inputs, parameters(robot))), out) < TOLERANCE


def test_file(arm, expected, error, tmp_path):
    path = generate_casadi(arm("lin-lewis-rfr"), tmp_path / "arm.casadi", "inverse")
    inputs, out = expected(arm("lin-lewis-rfr"), "inverse")
    assert error(np.array(ca.Function.load(str(path))(*inputs)), out) < TOLERANCE
    with pytest.raises(ValueError, match=r"must end in .casadi"):
        generate_casadi(arm("lin-lewis-rfr"), tmp_path / "arm.c")


def test_without_casadi_the_package_says_what_to_install(arm, monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(ImportError, match=r"pip install casadi"):
        casadi_function(arm("lin-lewis-rfr"))


# ---------------------------------------------------------------- loops, strains, deflections

CLOSED = ("dualemps", "five-bar")


@pytest.mark.parametrize("name", CLOSED)
def test_closures_equal_the_engine(arm, error, name):
    robot = arm(name)
    rng = np.random.default_rng(3)
    q = robot.assemble() + 0.01 * rng.standard_normal(robot.size)
    v, a = rng.standard_normal((2, robot.size))
    J = robot.loops.jacobian(q)
    for function, inputs, out in (
        ("closure", (q,), robot.closure(q)),
        ("closure_rate", (q, v), robot.closure_rate(q, v)),
        ("closure_acceleration", (q, v, a), J @ a + robot.loops.bias(q, v)),
        ("closure_jacobian", (q,), J),
    ):
        found = casadi_function(robot, function)
        assert found.name_in() == list("qva"[: len(inputs)])
        assert error(np.array(found(*inputs)), out) < TOLERANCE


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name != "forward"])
@pytest.mark.parametrize("name", CLOSED)
def test_of_loops_all_else_is_that_of_the_open_tree(arm, expected, error, name, function):
    inputs, out = expected(arm(name), function)
    found = np.array(casadi_function(arm(name), function)(*inputs))
    assert error(found.T if function == "pose" else found, out) < TOLERANCE


def test_forward_of_loops_is_their_equations_of_motion(arm, error):
    """M a + h = f + J^T lambda and J a + J' v = 0, each of them another function."""
    robot = arm("five-bar")
    rng = np.random.default_rng(4)
    q, v = robot.project(robot.assemble(), 0.05 * rng.standard_normal(robot.size))
    f = robot.B @ np.array([1.0, -2.0])
    a = np.array(casadi_function(robot, "forward")(q, v, f)).ravel()
    left = np.array(casadi_function(robot, "inverse")(q, v, a)).ravel() - f
    J = np.array(casadi_function(robot, "closure_jacobian")(q))
    pull = np.linalg.lstsq(J.T, left, rcond=None)[0]
    assert error(J.T @ pull, left) < 1e-8
    assert np.abs(np.array(casadi_function(robot, "closure_acceleration")(q, v, a))).max() < 1e-8 * np.abs(a).max()


def test_trees_have_no_closures(arm):
    robot = arm("lin-lewis-rfr")
    assert casadi_function(robot, "closure").size_out(0) == (0, 1)
    assert casadi_function(robot, "closure_jacobian").size_out(0) == (0, robot.size)


@pytest.mark.parametrize("name", ["canadarm", *BENT])
def test_strains_and_deflections_equal_those_of_results(arm, error, name):
    robot = arm(name)
    q, _, _ = zoo.state(robot)
    frames = [f"{link.name}.tip" for link in robot.robot.links]
    members = [robot.mechanism.member(link.name) for link in robot.robot.links]
    moved = np.array([deflection(each.body, "tip", q[each.elastic])[0] for each in members])
    assert error(np.array(casadi_function(robot, "deflection", frames=frames)(q)).T, moved) < TOLERANCE
    beams = [link for link in robot.robot.links if link.is_flexible]
    places = [(link.name, 0.3 * link.length, 0.01, -0.02) for link in beams]
    strained = [
        float(axial_strain(link, robot.robot, place[1:], q[robot.mechanism.member(link.name).elastic]))
        for link, place in zip(beams, places, strict=True)
    ]
    assert error(np.array(casadi_function(robot, "strain", strains=places)(q)), strained) < TOLERANCE


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        ("strain", {}, "strains is empty"),
        ("strain", {"strains": [("uper", 0.1)]}, "did you mean 'upper'"),
        ("strain", {"strains": [("upper", 99.0)]}, "x is 99 m"),
        ("deflection", {"frames": ()}, "frames is empty"),
        ("deflection", {"frames": "tup"}, "no frame 'tup'"),
        ("strain", {"parameters": True}, "the constants of 'strain' are numbers in it"),
        ("closures", {}, "did you mean 'closure'"),
    ],
)
def test_wrong_requests_are_refused_in_words(arm, function, options, words):
    with pytest.raises(ValueError, match=words):
        casadi_function(arm("canadarm"), function, **options)


def test_parameters_of_loops_are_the_same_for_all_functions(arm, expected, error):
    robot = arm("five-bar")
    for function in ("inverse", "forward"):
        inputs, out = expected(robot, function)
        f = casadi_function(robot, function, parameters=True)
        assert error(np.array(f(*inputs, parameters(robot))), out) < TOLERANCE


def test_rigid_links_have_no_strain(arm):
    robot = arm("lin-lewis-rfr")
    rigid = next(link.name for link in robot.robot.links if not link.is_flexible)
    with pytest.raises(ValueError, match=f"strain: link '{rigid}' does not bend along an axis"):
        casadi_function(robot, "strain", strains=[(rigid, 0.0)])
