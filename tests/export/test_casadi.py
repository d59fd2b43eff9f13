"""CasADi functions: the engine's numbers, and CasADi's own derivatives against ours."""

import sys

import numpy as np
import pytest

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
