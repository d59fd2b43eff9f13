"""Every method on every robot of the zoo: exact ones to rounding, approximate ones by their order.

A method may refuse a robot; then its message must name one that does not.
"""

from functools import cache

import numpy as np
import pytest

import zoo
from pliant import METHODS, Dynamics, MethodError

TOLERANCE = 1e-10
"""Of the largest entry, as for the identities of the recursive method."""
AMPLITUDE = 1e-3
"""Of the elastic states at which the order of an approximate method is looked at."""
ORDER = 0.2
"""How far a fitted order may be from the asserted one."""

OTHERS = [name for name in METHODS if name != "recursive"]
"""Those that compute forces and accelerations of a state."""
PAIRS = [(method, name) for method in OTHERS for name in zoo.ZOO if (method, name) != ("lagrange", "imported-turned")]
"""Without closed forms of angles that are not linear in the coordinates."""


def test_closed_forms_refuse_frames_that_turn_to_second_order():
    assert "turns by Gamma_r, to second order; angles of closed forms" in str(by("lagrange", "imported-turned"))


@cache
def by(method, name):
    """The robot by a method, or its refusal."""
    try:
        arm = Dynamics(zoo.robot(name), method=method, compile="never")
        arm.traced("forward")
    except MethodError as refusal:
        return refusal
    return arm


def accepted(method, name):
    arm = by(method, name)
    if isinstance(arm, MethodError):
        assert "method 'recursive'" in str(arm)
        pytest.skip(f"refused: {arm}")
    return arm


def plain(arm, what, *state):
    """A function of the method on plain numbers; columns of a state are evaluated at once."""
    traced = arm.traced(what)
    given = {name: list(x) for name, x in zip(traced.algorithm.inputs, np.broadcast_arrays(*state), strict=True)}
    found = traced.algorithm.evaluate(traced.carrier, given)
    return np.array([np.broadcast_to(x, np.shape(state[-1])[1:]) for x in found], dtype=float)


def mass_matrix(arm, q):
    n = arm.size
    rest = plain(arm, "inverse", q, 0 * q, 0 * q)
    return plain(arm, "inverse", q[:, None], 0 * q[:, None], np.eye(n)) - rest[:, None]


def near(left, right):
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    size = max(np.abs(left).max(initial=0.0), np.abs(right).max(initial=0.0))
    assert np.abs(left - right).max(initial=0.0) <= TOLERANCE * size


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_a_method_is_consistent(method, name):
    """Forward and inverse dynamics undo each other, M is symmetric, and M a + h are the forces."""
    arm = accepted(method, name)
    q, v, a = zoo.state(arm)
    if arm.method.order is not None:
        # a mass matrix cut after its first order is positive definite for small deflections only
        elastic = np.setdiff1d(np.arange(arm.size), arm.mechanism.joints)
        q[elastic] *= AMPLITUDE
    f = plain(arm, "inverse", q, v, a)
    M = mass_matrix(arm, q)
    size = np.sqrt(np.outer(np.diag(M), np.diag(M)))
    near(M / size, M.T / size)
    near(M @ a + plain(arm, "inverse", q, v, 0 * a), f)
    metric = np.linalg.cholesky(M).T
    near(metric @ plain(arm, "forward", q, v, f), metric @ a)


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_a_method_agrees_with_the_recursion(method, name):
    arm, recursive = accepted(method, name), by("recursive", name)
    q, v, a = zoo.state(arm)
    assert arm.names == recursive.names
    elastic = np.setdiff1d(np.arange(arm.size), arm.mechanism.joints)
    if arm.method.order is None or not len(elastic):
        near(plain(arm, "inverse", q, v, a), plain(recursive, "inverse", q, v, a))
        metric = np.linalg.cholesky(mass_matrix(recursive, q)).T
        f = arm.B @ np.linspace(-1.0, 2.0, len(arm.inputs))
        near(metric @ plain(arm, "forward", q, v, f), metric @ plain(recursive, "forward", q, v, f))
        return
    errors = []
    for amplitude in (AMPLITUDE, AMPLITUDE / 2):
        small = [x.copy() for x in (q, v)]
        for x in small:
            x[elastic] *= amplitude
        errors.append(np.abs(plain(arm, "inverse", *small, a) - plain(recursive, "inverse", *small, a)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(arm.method.order + 1, abs=ORDER)


@pytest.mark.parametrize("method", OTHERS)
def test_a_method_compiles(method):
    """What runs is what was checked on plain numbers."""
    arm = Dynamics("two-link-flexible", method=method)
    q, v, a = zoo.state(arm)
    near(arm.forces(q, v, a), plain(arm, "inverse", q, v, a))
    f = arm.B @ np.array([1.0, -2.0])
    near(arm.forward(q, v, np.array([1.0, -2.0])), plain(arm, "forward", q, v, f))
    assert arm.operations().total > 0


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match=r"it must be one of 'recursive'.*did you mean 'recursive'"):
        Dynamics("canadarm", method="recursiv")


def test_a_model_about_a_nominal_motion_says_what_to_call():
    with pytest.raises(MethodError, match=r"pliant.inverse_dynamics.*pliant.LumpedModel.*method 'recursive'"):
        Dynamics("two-link-flexible", method="lumped_fe")


def test_a_method_that_closes_no_loops_says_which_does():
    with pytest.raises(MethodError, match=r"\('closure'\).*method 'recursive' does"):
        Dynamics("dualemps", method="dual_screw")


FEWEST = {"dense": 38, "dual_screw": 35, "dual_screw_frozen": 35, "lagrange": 4}
"""Robots of the zoo that a method takes at least: one that refuses them all would pass every other test."""


@pytest.mark.parametrize("method", OTHERS)
def test_a_method_takes_most_robots(method):
    taken = [name for name in zoo.ZOO if not isinstance(by(method, name), MethodError)]
    assert len(taken) >= FEWEST[method], sorted({*zoo.ZOO} - {*taken})
