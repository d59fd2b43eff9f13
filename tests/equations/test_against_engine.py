"""The numbers of the derived equations are those of the recursive engine."""

import numpy as np
import pytest

TOLERANCE = 1e-10
"""Of the largest entry of each array: two derivations of the same numbers, some hundred operations each."""

SMALL = 1e-3
"""Arrays that are zero at a state are rounding of numbers of this size."""

STEP = 1e-6
"""Of a central difference of M; its error is below 1e-8 of M for the rates used here."""


def states(n, count=4):
    rng = np.random.default_rng(n)
    for size in np.linspace(0.0, 0.6, count):
        yield size * rng.normal(size=n), rng.normal(size=n)


def agrees(ours, theirs):
    return np.abs(ours - theirs).max(initial=0.0) <= TOLERANCE * max(np.abs(theirs).max(initial=0.0), SMALL)


def test_coordinates_and_inputs(case):
    eq, _, arm = case
    assert tuple(c.robot_name for c in eq.coordinates) == arm.names
    assert eq.inputs == arm.inputs


def test_constant_matrices(case):
    _, functions, arm = case
    assert agrees(functions.stiffness, arm.stiffness)
    assert agrees(functions.damping, arm.damping)
    assert agrees(functions.B, arm.B)


def test_inertia(case):
    _, functions, arm = case
    for q, _ in states(arm.size):
        assert agrees(functions.mass_matrix(q), arm.mass_matrix(q))


def test_coriolis_matrix(case):
    _, functions, arm = case
    for q, v in states(arm.size):
        assert agrees(functions.coriolis(q, v), arm.coriolis(q, v))


def test_gravity(case):
    _, functions, arm = case
    for q, _ in states(arm.size):
        assert agrees(functions.gravity(q), arm.gravity(q))


def test_all_forces(case):
    _, functions, arm = case
    for q, v in states(arm.size):
        assert agrees(functions.bias(q, v), arm.bias(q, v))


def test_inertia_rate_minus_twice_coriolis_is_skew(case):
    _, functions, arm = case
    for q, v in states(arm.size, 2):
        ahead, behind = (functions.mass_matrix(q + sign * STEP * v) for sign in (1, -1))
        W = (ahead - behind) / (2 * STEP) - 2 * functions.coriolis(q, v)
        assert pytest.approx(-W.T, abs=1e-7 * np.abs(ahead).max()) == W


def test_gravity_is_the_gradient_of_the_potential(case):
    """A second route for G: differences of the engine's potential energy."""
    _, functions, arm = case
    still = np.zeros(arm.size)
    q, _ = next(iter(states(arm.size, 1)))
    q = q + 0.1
    numeric = []
    for i in range(arm.size):
        e = STEP * np.eye(arm.size)[i]
        numeric.append((arm.energy(q + e, still).gravity - arm.energy(q - e, still).gravity) / (2 * STEP))
    assert functions.gravity(q) == pytest.approx(numeric, abs=1e-7 * max(1.0, np.abs(numeric).max()))
