"""Forward dynamics by articulated flexible bodies: each link's own coordinates are eliminated in turn, O(n).

This is the analytic block U D U^T of the inertia matrix of Mohan & Saha (34)-(42), written out link by link, with
(38) read as M~_i = M_i + A_{i+1,i}^T M^_{i+1} A_{i+1,i} on (6 + n_e) coordinates and the bias gamma of (33) kept.
"""

from __future__ import annotations

from typing import NamedTuple

from pliant.bodies.terms import Bias, Blocks, FrameTerms
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import (
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    scale,
    subtract,
    times,
    transpose,
    transpose_times,
    zeros,
)
from pliant.tree.attachment import Acceleration, Handed, absorb, gather_force, shifted
from pliant.tree.bordered import bordered, factor, is_bordered
from pliant.tree.connection import (
    Connection,
    carried_acceleration,
    elastic,
    joint_coordinates,
    joint_efforts,
    motor_force,
)
from pliant.tree.link import LinkConstants, LinkKind


class Factors(NamedTuple):
    """What the elimination of a link's coordinates leaves for the outward pass.

    Elastic: L D L^T of their block, with its border, y = L^-1 (force), W = D^-1 L^-1 (coupling to the 6 body
    accelerations and the joint). Joint: its row g_v, g_w over the pivot, and the force over the pivot. Joint that
    turns any way: the acceleration of the link is free - held a_v in the directions that the joint leaves to it.
    """

    L: Matrix
    y: Vector
    W: Matrix
    g_v: Vector
    g_w: Vector
    g: Scalar
    free: Vector
    held: Matrix


def ldl(M: Matrix) -> tuple[Matrix, Vector]:
    """L (unit lower, strict part) and the reciprocals of D with M = L D L^T."""
    L, pivots = factor(M, len(M))
    return L, pivots.single


def ldl_solve(L: Matrix, inverse: Vector, b: Vector) -> Vector:
    """x with L D L^T x = b."""
    n, x = len(b), list(b)
    for i in range(n):
        x[i] = x[i] - dot(L[i][:i], x[:i])
    x = [d * y for d, y in zip(inverse, x, strict=True)]
    for i in reversed(range(n)):
        x[i] = x[i] - dot([L[j][i] for j in range(i + 1, n)], x[i + 1 :])
    return x


def articulate(
    kind: LinkKind,
    link: LinkConstants,
    q: Vector,
    v: Vector,
    f: Vector,
    c: Connection,
    children: list[tuple[Handed, FrameTerms]],
) -> tuple[Handed | None, Factors]:
    """One inward step: take the children in, eliminate the link's own coordinates, hand the rest to the parent."""
    b, (p_v, p_w, p_e), frames = _own_terms(kind, link, q, v, c, [frame for _, frame in children])
    for (handed, _), frame in zip(children, frames, strict=True):
        b = absorb(b, handed, frame)
        p_v, p_w, p_e = gather_force(p_v, p_w, p_e, handed.p_v, handed.p_w, frame)
    A, B, C = ([list(row) for row in m] for m in (b.A, b.B, b.C))

    # motor, spring and friction act on the motor angle theta + b q_e
    n, f_e = len(b.M_e), elastic(kind, f)
    # nothing acts on the unknowns of a border
    border = [0.0] * (n - kind.size)
    row, f_e, motor = [*link.drive.row, *border], [*f_e, *border], link.drive.inertia
    drive = motor_force(kind, link, q, v)
    M_e = [[b.M_e[i][k] + motor * row[i] * row[k] for k in range(n)] for i in range(n)]
    y = [f_e[i] - p_e[i] - row[i] * drive for i in range(n)]
    # eliminate the elastic coordinates: six body rows and the motor's own row couple to them
    coupling = [[*column(b.E_v, i), *column(b.E_w, i), kind.sign * (motor * row[i])] for i in range(n)]
    L, pivots = factor(M_e, kind.size)
    for i in range(n):
        for k in range(i):
            # most of a large factor is zero
            if not is_zero(L[i][k]):
                y[i] = y[i] - L[i][k] * y[k]
                coupling[i] = [x - L[i][k] * z for x, z in zip(coupling[i], coupling[k], strict=True)]
    W = pivots.under(coupling)
    for i in range(n):
        U, w = coupling[i], W[i]
        for a in range(3):
            for d in range(a, 3):
                A[a][d] = A[d][a] = A[a][d] - U[a] * w[d]
                C[a][d] = C[d][a] = C[a][d] - U[3 + a] * w[3 + d]
            for d in range(3):
                B[a][d] = B[a][d] - U[a] * w[3 + d]
        p_v = [x + w[d] * y[i] for d, x in enumerate(p_v)]
        p_w = [x + w[3 + d] * y[i] for d, x in enumerate(p_w)]
    y = [x for (x,) in pivots.under([[x] for x in y])]

    if kind.joint == "fixed":
        handed_on = None if kind.on_base else hand_over(c, A, B, C, p_v, p_w)
        return handed_on, Factors(L, y, W, [], [], 0.0, [], [])

    if kind.turns_freely:
        return _let_go(kind, link, f, c, (A, B, C, p_v, p_w), Factors(L, y, W, [], [], 0.0, [], []))

    # eliminate the joint
    k = kind.axis
    motor_coupling = [-dot(column(coupling, d), column(W, 6)) if n else 0.0 for d in range(7)]
    if kind.joint == "revolute":
        U_v, U_w = column(B, k), column(C, k)
        pivot, effort = C[k][k] + 2.0 * motor_coupling[3 + k], p_w[k]
    else:
        U_v, U_w = column(A, k), list(B[k])
        pivot, effort = A[k][k] + 2.0 * motor_coupling[k], p_v[k]
    pivot = pivot + motor + motor_coupling[6]
    U_v, U_w = add(U_v, motor_coupling[:3]), add(U_w, motor_coupling[3:6])
    motor_effort = dot([coupling[i][6] for i in range(n)], y)
    u = kind.sign * (f[0] - drive) - motor_effort - effort
    reciprocal = 1.0 / pivot
    g_v, g_w, g = scale(reciprocal, U_v), scale(reciprocal, U_w), reciprocal * u
    factors = Factors(L, y, W, g_v, g_w, g, [], [])
    if kind.on_base:
        return None, factors
    for a in range(3):
        for d in range(a, 3):
            A[a][d] = A[d][a] = A[a][d] - U_v[a] * g_v[d]
            C[a][d] = C[d][a] = C[a][d] - U_w[a] * g_w[d]
        for d in range(3):
            B[a][d] = B[a][d] - U_v[a] * g_w[d]
    if is_zero(motor):
        _clear_joint_lines(kind, A, B, C)
    p_v = [x + U * g for x, U in zip(p_v, U_v, strict=True)]
    p_w = [x + U * g for x, U in zip(p_w, U_w, strict=True)]
    return hand_over(c, A, B, C, p_v, p_w), factors


def _own_terms(
    kind: LinkKind, link: LinkConstants, q: Vector, v: Vector, c: Connection, frames: list[FrameTerms]
) -> tuple[Blocks, Bias, list[FrameTerms]]:
    """Inertia and bias of the body, and frames of it; on a bordered matrix where that is cheaper."""
    q_e, v_e, body = elastic(kind, q), elastic(kind, v), link.body
    if is_bordered(body, kind.size):
        return bordered(body, q_e, v_e, c.w, frames)
    return *body.inertia(q_e, v_e, c.w), frames


def _let_go(
    kind: LinkKind,
    link: LinkConstants,
    f: Vector,
    c: Connection,
    whole: tuple[Matrix, Matrix, Matrix, Vector, Vector],
    factors: Factors,
) -> tuple[Handed | None, Factors]:
    """Eliminate a joint that turns any way: its link's angular acceleration, of a free joint the linear one too."""
    A, B, C, p_v, p_w = whole
    efforts = joint_efforts(kind, link, c, f)
    force, moment = efforts[:-3], efforts[-3:]
    if kind.joint == "free":
        M = [A[i] + B[i] for i in range(3)] + [column(B, i) + C[i] for i in range(3)]
        free = ldl_solve(*ldl(M), subtract(efforts, [*p_v, *p_w]))
        # nothing but what acts on its coordinates passes through it
        handed = None if kind.on_base else hand_over(c, zeros(3, 3), zeros(3, 3), zeros(3, 3), force, moment)
        return handed, factors._replace(free=free)
    L, inverse = ldl(C)
    free = ldl_solve(L, inverse, subtract(moment, p_w))
    held = transpose([ldl_solve(L, inverse, B[i]) for i in range(3)])
    factors = factors._replace(free=free, held=held)
    if kind.on_base:
        return None, factors
    for a in range(3):
        for d in range(a, 3):
            A[a][d] = A[d][a] = A[a][d] - dot(B[a], column(held, d))
    return hand_over(c, A, zeros(3, 3), zeros(3, 3), add(p_v, times(B, free)), moment), factors


def _clear_joint_lines(kind: LinkKind, A: Matrix, B: Matrix, C: Matrix) -> None:
    """A joint without motor inertia passes nothing along its axis: say so, instead of subtracting equals."""
    k = kind.axis
    for d in range(3):
        if kind.joint == "revolute":
            C[k][d] = C[d][k] = 0.0
            B[d][k] = 0.0
        else:
            A[k][d] = A[d][k] = 0.0
            B[k][d] = 0.0


def hand_over(c: Connection, A: Matrix, B: Matrix, C: Matrix, p_v: Vector, p_w: Vector) -> Handed:
    """Bring inertia and force to the attachment point, in parent axes; the bias acceleration goes into the force."""
    p_v = add(p_v, times(A, c.h_v), times(B, c.h_w))
    p_w = add(p_w, transpose_times(B, c.h_v), times(C, c.h_w))
    p_v, p_w = c.rotation.apply(p_v), c.rotation.apply(p_w)
    A, B, C = c.rotation.inertia(A, B, C)
    if not all(is_zero(x) for x in c.s):
        A, B, C = shifted(Handed(A, B, C, p_v, p_w), c.s)
        p_w = add(p_w, cross(c.s, p_v))
    return Handed(A, B, C, p_v, p_w)


def accelerate(kind: LinkKind, c: Connection, factors: Factors, parent: Acceleration) -> tuple[Vector, Acceleration]:
    """One outward step: the accelerations of the link's coordinates, and of the link."""
    a_v, a_w = carried_acceleration(c, *parent)
    out: Vector = []
    joint: Scalar = 0.0
    if c.attitude is not None:
        carried = [*a_v, *a_w]
        if kind.joint == "free":
            a_v, a_w = factors.free[:3], factors.free[3:]
        else:
            a_w = subtract(factors.free, times(factors.held, a_v))
        out = joint_coordinates(kind, c, subtract([*a_v, *a_w], carried))
    if kind.has_axis:
        joint = factors.g - (dot(factors.g_v, a_v) + dot(factors.g_w, a_w))
        moved = a_w if kind.joint == "revolute" else a_v
        moved[kind.axis] = moved[kind.axis] + joint
        out.append(kind.sign * joint)
    n = len(factors.y)
    a_e = [
        factors.y[i] - (dot(factors.W[i][:3], a_v) + dot(factors.W[i][3:6], a_w) + factors.W[i][6] * joint)
        for i in range(n)
    ]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            if not is_zero(factors.L[k][i]):
                a_e[i] = a_e[i] - factors.L[k][i] * a_e[k]
    a_e = a_e[: kind.size]
    return out + a_e, Acceleration(a_v, a_w, a_e)
