"""The dual groups: their axioms, their maps against the matrix exponential, velocities against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from pliant.spatial.dual_groups import (
    DualRotation,
    DualTransform,
    hat1,
    hat2,
    left_jacobian_g1,
    left_jacobian_inverse_g1,
    log_rotation,
)

ROUNDING = 1e-12
"""A few hundred operations on numbers of order one."""
DIFFERENCE = 1e-7
"""Central differences with a step of 1e-6 of functions of order one."""

GROUPS = {"G1": (DualRotation, hat1, 6), "G2": (DualTransform, hat2, 12)}
angle = st.sampled_from([0.0, 1e-9, 1e-5, 1e-3, 0.49, 0.51, 1.0, 2.5, 3.1])


@pytest.fixture(params=GROUPS)
def group(request):
    return GROUPS[request.param]


def vector(rng, size, turn):
    """A random vector of the algebra whose rotation is that large."""
    u = rng.normal(size=size)
    u[:3] *= turn / np.linalg.norm(u[:3])
    return u


def close(a, b, tolerance=ROUNDING):
    return np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max())


@given(st.integers(0, 10**6), angle, angle, angle)
@settings(max_examples=25, deadline=None)
def test_axioms(seed, a, b, c):
    rng = np.random.default_rng(seed)
    for kind, _, size in GROUPS.values():
        X, Y, Z = (kind.exp(vector(rng, size, turn)) for turn in (a, b, c))
        assert close(((X @ Y) @ Z).matrix, (X @ (Y @ Z)).matrix)
        assert close((X @ Y).matrix, X.matrix @ Y.matrix)
        assert close((X @ X.inverse()).matrix, kind.identity().matrix)
        assert close(X.inverse().matrix @ X.matrix, kind.identity().matrix)
        assert close((X @ kind.identity()).matrix, X.matrix)
        assert close((X @ Y).adjoint, X.adjoint @ Y.adjoint)
        assert close(X.inverse().adjoint @ X.adjoint, np.eye(size))


@given(st.integers(0, 10**6), angle)
@settings(max_examples=25, deadline=None)
def test_maps(seed, turn):
    rng = np.random.default_rng(seed)
    for kind, hat, size in GROUPS.values():
        u = vector(rng, size, turn)
        X = kind.exp(u)
        assert close(X.matrix, expm(hat(u)))
        assert close(X.log(), u, 1e-10 if turn > 3 else ROUNDING)
        w = rng.normal(size=size)
        assert close(hat(X.adjoint @ w), X.matrix @ hat(w) @ X.inverse().matrix)


def test_logarithm_of_half_a_turn(group):
    kind, _, size = group
    rng = np.random.default_rng(3)
    for _ in range(5):
        X = kind.exp(vector(rng, size, np.pi))
        assert close(kind.exp(X.log()).matrix, X.matrix)
    assert np.linalg.norm(log_rotation(np.diag([-1.0, -1.0, 1.0]))) == pytest.approx(np.pi)


@pytest.mark.parametrize("turn", [0.0, 1e-4, 0.499, 0.501, 2.0])
def test_left_jacobian_is_the_series(turn):
    u = vector(np.random.default_rng(5), 6, turn)
    series, term = np.eye(6), np.eye(6)
    for k in range(1, 40):
        term = term @ hat1(u) / (k + 1)
        series = series + term
    assert close(left_jacobian_g1(u), series)
    assert close(left_jacobian_inverse_g1(u) @ series, np.eye(6))


def test_velocities(group):
    """Y_dot = Y [right]^ = [left]^ Y along a path, by differences."""
    kind, hat, size = group
    rng = np.random.default_rng(7)
    u, du, h = vector(rng, size, 1.2), rng.normal(size=size), 1e-6
    X, ahead, behind = (kind.exp(u + k * h * du) for k in (0, 1, -1))
    rate = (ahead.matrix - behind.matrix) / (2 * h)
    A, theta = (X.A, "theta") if size == 6 else (X.X.A, None)
    w = A.T @ rate[:3, :3]
    w = np.array([w[2, 1], w[0, 2], w[1, 0]])
    if theta:
        rates = ((ahead.theta - behind.theta) / (2 * h),)
    else:
        rates = ((ahead.X.theta - behind.X.theta) / (2 * h), (ahead.v - behind.v) / (2 * h))
    assert close(X.matrix @ hat(X.right_velocity(w, *rates)), rate, DIFFERENCE)
    assert close(hat(X.left_velocity(w, *rates)) @ X.matrix, rate, DIFFERENCE)


def test_left_jacobian_gives_the_left_velocity():
    """v_l = Psi_l(u) u_dot in G1, section II-B."""
    rng = np.random.default_rng(9)
    u, du, h = vector(rng, 6, 0.9), rng.normal(size=6), 1e-6
    rate = (DualRotation.exp(u + h * du).matrix - DualRotation.exp(u - h * du).matrix) / (2 * h)
    assert close(hat1(left_jacobian_g1(u) @ du) @ DualRotation.exp(u).matrix, rate, DIFFERENCE)
