"""Groups of motions: their axioms, their maps against the matrix exponential, velocities against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from pliant import Dynamics
from pliant.screws import (
    SE3,
    SO3,
    Dual,
    DualRotation,
    DualTransform,
    Screw,
    dual_form,
    dual_line,
    dual_projection_matrix,
    dual_screw_transformation,
    dual_vector,
    projection_matrix,
    screw_transformation,
    skew,
    unskew,
)

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


@pytest.mark.parametrize("name", ["G1", "G2"])
@given(st.integers(0, 10**6), angle, angle)
@settings(max_examples=20, deadline=None)
def test_dual_forms_are_the_same_group(name, seed, a, b):
    """Products, inverses and the exponential of dual 3 x 3 and 4 x 4 matrices are those of the real ones."""
    rng, kind = np.random.default_rng(seed), GROUPS[name]
    X, Y = (kind.exp(vector(rng, name, turn)) for turn in (a, b))
    product, wanted = X.dual_form @ Y.dual_form, (X @ Y).dual_form
    assert close(product.real, wanted.real)
    assert close(product.dual, wanted.dual)
    one = X.dual_form @ X.inverse().dual_form
    assert close(one.real, np.eye(len(one.real)))
    assert close(one.dual, 0 * one.dual)
    assert close(kind.from_dual_form(product).matrix, (X @ Y).matrix)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_dual_parts_are_first_order_changes(seed):
    """G2 is SE(3) to first order: small section angles and displacements, by the complex step on their size."""
    rng = np.random.default_rng(seed)
    parts = [(rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)) for _ in range(2)]

    def pose(phi, theta, r, d, h):
        """exp(h [theta]) A and r + h d; to first order in a complex h."""
        T = np.eye(4, dtype=complex)
        T[:3, :3] = (np.eye(3) + h * skew(theta)) @ SO3.exp(phi).A
        T[:3, 3] = r + h * d
        return T

    step = 1e-30
    exact = np.linalg.multi_dot([pose(*parts[0], 1j * step), pose(*parts[1], 1j * step)])
    elements = [
        DualTransform(DualRotation(SO3.exp(phi).A, theta), np.concatenate([r, d])) for phi, theta, r, d in parts
    ]
    found = (elements[0] @ elements[1]).dual_form
    assert close(found.real, exact.real)
    assert close(found.dual, exact.imag / step)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_screws_change_with_point_and_axes(seed):
    """Twists as velocities of points, wrenches by moments, powers the same in every frame; dual ones reduce to them."""
    rng = np.random.default_rng(seed)
    T = SE3.exp(rng.normal(size=6))
    twist, wrench = (make(rng.normal(size=3), rng.normal(size=3)) for make in (Screw.twist, Screw.wrench))
    moved = twist.in_frame(T)
    # the velocity of the new reference point, which is at -A^T r in the old frame
    there = -T.A.T @ T.r
    assert close(moved.moment, T.A @ (twist.moment + np.cross(twist.direction, there)))
    assert close(moved.twist_vector, T.adjoint @ twist.twist_vector)
    assert close(screw_transformation(T) @ twist.vector, moved.vector)
    assert wrench.in_frame(T).reciprocal(moved) == pytest.approx(wrench.reciprocal(twist), abs=1e-11)
    point = rng.normal(size=3)
    assert close(wrench.about(point).moment, wrench.moment + np.cross(-point, wrench.direction))
    # the line stays where it is
    along = wrench.about(point).point + point - wrench.point
    assert close(np.cross(along, wrench.direction), np.zeros(3), 1e-10 * max(1.0, np.abs(wrench.point).max()))
    assert wrench.about(point).pitch == pytest.approx(wrench.pitch, rel=1e-9, abs=1e-9)
    # a dual screw of order zero is a screw; the transformation is the adjoint of G2
    Y = DualTransform(DualRotation(T.A, np.zeros(3)), dual_vector(T.r))
    V = dual_screw_transformation(Y.X, Y.X.inverse().matrix @ Y.v)
    assert close(V, Y.adjoint)
    assert close(dual_form(V @ dual_line(twist.direction, twist.moment)).real, moved.vector)


def test_projection_matrices_are_jacobians():
    """(7): lines of the joints about the tip, beside Pliant's Jacobian of the straight arm; (92) in its real rows."""
    arm = Dynamics("cibicik-4dof", compile="never")
    joints = list(arm.mechanism.joints)
    q = arm.q(q1=0.3, q2=0.5, q3=-0.7, q4=1.1)
    tip = arm.pose("tip", q).position
    lines = []
    for member in arm.mechanism.members:
        root = arm.pose(f"{member.name}.root", q)
        lines.append(Screw.line(root.rotation @ member.joint.axis_B, root.position - tip))
    P, J = projection_matrix(lines), arm.jacobian("tip", q)[:, joints]
    assert close(np.vstack([P[3:], P[:3]]), J)
    assert projection_matrix(lines[:2], 4)[:, 2:] == pytest.approx(np.zeros((6, 2)))
    dual = dual_projection_matrix([dual_line(each.direction, each.moment) for each in lines])
    assert close(dual_form(dual).real, P)
    # efforts of a wrench at the tip: its power per rate
    wrench = Screw.wrench([1.0, -2.0, 0.5], [0.3, 0.1, -0.2])
    assert close(np.array([wrench.reciprocal(each) for each in lines]), J.T @ [1.0, -2.0, 0.5, 0.3, 0.1, -0.2])
    with pytest.raises(ValueError, match="there are 4 columns already"):
        projection_matrix(lines, 3)


def test_lines_and_pitches():
    """A screw of 10 mm a turn about a vertical line at x = 2 m, and a force of 3 N along it."""
    joint = Screw.line([0.0, 0.0, 5.0], [2.0, 0.0, 7.0])
    assert joint.direction == pytest.approx([0.0, 0.0, 1.0])
    turning = Screw(joint.direction, joint.moment + 0.01 / (2 * np.pi) * joint.direction)
    assert turning.pitch == pytest.approx(0.01 / (2 * np.pi))
    assert turning.point == pytest.approx([2.0, 0.0, 0.0])
    assert (2.0 * turning - turning).vector == pytest.approx(turning.vector)
    push = Screw.wrench([0.0, 0.0, 3.0], at=[2.0, 0.0, 0.0])
    assert push.reciprocal(turning) == pytest.approx(3.0 * 0.01 / (2 * np.pi))
    assert Screw.twist([1.0, 0.0, 0.0], np.zeros(3)).pitch == np.inf


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
        (lambda: unskew(np.eye(3)), "a is not skew"),
        (lambda: Screw.line(np.zeros(3)), "a line needs one"),
        (lambda: Screw.twist(np.zeros(3), np.zeros(3)).point, "has no line"),
        (lambda: dual_vector([1.0, np.inf, 0.0]), "must be finite"),
        (lambda: dual_form(np.zeros(7)), "6 or 12 rows"),
        (lambda: DualRotation.identity().right_velocity([1.0], np.zeros(3)), "w has shape"),
        (lambda: DualTransform.from_dual_form(Dual(np.ones((4, 4)), np.zeros((4, 4)))), "last row of T"),
        (lambda: DualTransform.left_jacobian(np.zeros(6)), r"it must be \(12,\)"),
    ],
)
def test_input_is_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()
