"""Groups of motions: their axioms, their maps against the matrix exponential, velocities against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from pliant.screws import SE3, SO3, DualRotation, DualTransform, skew, unskew

ROUNDING = 1e-12
"""A few hundred operations on numbers of order one."""
DIFFERENCE = 1e-7
"""Central differences with a step of 1e-6 of functions of order one."""
NEAR_HALF_A_TURN = 1e-10
"""Of a logarithm whose axis is found from what half a turn leaves of it."""

GROUPS = {"SO3": SO3, "SE3": SE3, "G1": DualRotation, "G2": DualTransform}
TURNS = {"SO3": slice(0, 3), "SE3": slice(3, 6), "G1": slice(0, 3), "G2": slice(0, 3)}
angle = st.sampled_from([0.0, 1e-9, 1e-5, 1e-3, 0.49, 0.51, 1.0, 2.5, 3.1])
every_group = pytest.mark.parametrize("name", GROUPS)


def vector(rng, name, turn):
    """A random vector of the algebra whose rotation is that large."""
    u = rng.normal(size=GROUPS[name].size)
    u[TURNS[name]] *= turn / np.linalg.norm(u[TURNS[name]])
    return u


def close(a, b, tolerance=ROUNDING):
    return np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max())


def vee(kind, matrix):
    """The vector whose matrix it is: hat is linear."""
    columns = np.array([kind.hat(e).ravel() for e in np.eye(kind.size)]).T
    return np.linalg.lstsq(columns, matrix.ravel(), rcond=None)[0]


@every_group
@given(st.integers(0, 10**6), angle, angle, angle)
@settings(max_examples=25, deadline=None)
def test_axioms(name, seed, a, b, c):
    rng, kind = np.random.default_rng(seed), GROUPS[name]
    X, Y, Z = (kind.exp(vector(rng, name, turn)) for turn in (a, b, c))
    assert close(((X @ Y) @ Z).matrix, (X @ (Y @ Z)).matrix)
    assert close((X @ Y).matrix, X.matrix @ Y.matrix)
    assert close((X @ X.inverse()).matrix, kind.identity().matrix)
    assert close(X.inverse().matrix @ X.matrix, kind.identity().matrix)
    assert close((X @ kind.identity()).matrix, X.matrix)
    assert close((X @ Y).adjoint, X.adjoint @ Y.adjoint)
    assert close(X.inverse().adjoint @ X.adjoint, np.eye(kind.size))


@every_group
@given(st.integers(0, 10**6), angle)
@settings(max_examples=25, deadline=None)
def test_maps(name, seed, turn):
    rng, kind = np.random.default_rng(seed), GROUPS[name]
    u, w = vector(rng, name, turn), rng.normal(size=kind.size)
    X = kind.exp(u)
    assert close(X.matrix, expm(kind.hat(u)))
    assert close(X.log(), u, NEAR_HALF_A_TURN if turn > 3 else ROUNDING)
    assert close(kind.hat(X.adjoint @ w), X.matrix @ kind.hat(w) @ X.inverse().matrix)
    # Ad exp(u) = exp(ad u), and ad is the bracket of matrices
    assert close(X.adjoint, expm(kind.ad(u)))
    U, W = kind.hat(u), kind.hat(w)
    assert close(kind.hat(kind.ad(u) @ w), U @ W - W @ U)


@every_group
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-5, 0.499, 0.501, 2.0]))
@settings(max_examples=20, deadline=None)
def test_jacobians(name, seed, turn):
    """Left Jacobians are sums of powers of ad; right ones differ by Ad; inverses undo them."""
    rng, kind = np.random.default_rng(seed), GROUPS[name]
    u = vector(rng, name, turn)
    series, term = np.eye(kind.size), np.eye(kind.size)
    for k in range(1, 40):
        term = term @ kind.ad(u) / (k + 1)
        series = series + term
    left, right = kind.left_jacobian(u), kind.right_jacobian(u)
    assert close(left, series)
    assert close(left, kind.exp(u).adjoint @ right)
    assert close(kind.left_jacobian_inverse(u) @ left, np.eye(kind.size), 1e-10)
    assert close(kind.right_jacobian_inverse(u) @ right, np.eye(kind.size), 1e-10)


@every_group
def test_velocities(name):
    """X_dot = [left]^ X = X [right]^ along a path of the algebra, by differences."""
    rng, kind, h = np.random.default_rng(7), GROUPS[name], 1e-6
    u, du = vector(rng, name, 1.2), rng.normal(size=GROUPS[name].size)
    X, rate = kind.exp(u), (kind.exp(u + h * du).matrix - kind.exp(u - h * du).matrix) / (2 * h)
    assert close(kind.hat(kind.left_jacobian(u) @ du) @ X.matrix, rate, DIFFERENCE)
    assert close(X.matrix @ kind.hat(kind.right_jacobian(u) @ du), rate, DIFFERENCE)
    right = vee(kind, np.linalg.solve(X.matrix, rate))
    if name == "G1":
        theta = (kind.exp(u + h * du).theta - kind.exp(u - h * du).theta) / (2 * h)
        assert close(X.right_velocity(right[:3], theta), right, DIFFERENCE)
    if name == "G2":
        ahead, behind = kind.exp(u + h * du), kind.exp(u - h * du)
        theta, v = (ahead.X.theta - behind.X.theta) / (2 * h), (ahead.v - behind.v) / (2 * h)
        assert close(X.right_velocity(right[:3], theta, v), right, DIFFERENCE)


@every_group
def test_logarithm_of_half_a_turn(name):
    rng, kind = np.random.default_rng(3), GROUPS[name]
    for _ in range(5):
        X = kind.exp(vector(rng, name, np.pi))
        assert close(kind.exp(X.log()).matrix, X.matrix)
    assert np.linalg.norm(SO3(np.diag([-1.0, -1.0, 1.0])).log()) == pytest.approx(np.pi)


def test_twists_are_linear_then_angular():
    """A turn about z at x = 1 moves the origin along -y, and a unit of time of it about that point."""
    point = np.array([1.0, 0.0, 0.0])
    moved = SE3.exp([*np.cross(point, [0.0, 0.0, 0.3]), 0.0, 0.0, 0.3])
    assert moved.A @ point + moved.r == pytest.approx(point)
    assert unskew(skew([1.0, 2.0, 3.0])) == pytest.approx([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SO3(2 * np.eye(3)), "no rotation: A\\^T A differs from 1 by 3"),
        (lambda: SO3(np.diag([1.0, 1.0, -1.0])), "a reflection"),
        (lambda: SE3(np.eye(3), [1.0, 2.0]), r"r has shape \(2,\); it must be \(3,\)"),
        (lambda: SE3.exp(np.zeros(3)), r"u has shape \(3,\); it must be \(6,\)"),
        (lambda: DualRotation(np.eye(3), [0.0, np.nan, 0.0]), "must be finite"),
        (lambda: DualTransform.left_jacobian(np.zeros(6)), r"it must be \(12,\)"),
    ],
)
def test_input_is_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()
