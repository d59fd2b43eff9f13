"""Forward dynamics by articulated flexible bodies: each link's own coordinates are eliminated in turn, O(n).

This is the analytic block U D U^T of the inertia matrix of Mohan & Saha (34)-(42), written out link by link, with
(38) read as M~_i = M_i + A_{i+1,i}^T M^_{i+1} A_{i+1,i} on (6 + n_e) coordinates and the bias gamma of (33) kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pliant.bodies.terms import Bias, Blocks, FrameTerms
from pliant.joints.kind import combined
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import (
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    times,
    transpose,
    transpose_times,
    zeros,
)
from pliant.tree.bordered import bordered, factor, is_bordered
from pliant.tree.link import (
    Acceleration,
    Connection,
    Handed,
    LinkConstants,
    LinkKind,
    absorb,
    carried_acceleration,
    gather_force,
    joint_efforts,
    motor_force,
    shifted,
)


class Factors(NamedTuple):
    """What the elimination of a link's coordinates leaves for the outward pass.

    Elastic: L D L^T of their block, with its border, y = L^-1 (force), W = D^-1 L^-1 (coupling to the 6 body
    accelerations and the joint). Joint: accelerations along its columns are free - held a, with a the link's
    acceleration as it is carried; where the columns are axes of the link, so are the whole accelerations along them,
    with a the other components alone.
    """

    L: Matrix
    y: Vector
    W: Matrix
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
    n, f_e = len(b.M_e), kind.elastic(f)
    # nothing acts on the unknowns of a border
    border = [0.0] * (n - kind.size)
    row, f_e, motor = [*link.drive.row, *border], [*f_e, *border], link.drive.inertia
    drive = motor_force(kind, link, q, v)
    M_e = [[b.M_e[i][k] + motor * row[i] * row[k] for k in range(n)] for i in range(n)]
    y = [f_e[i] - p_e[i] - row[i] * drive for i in range(n)]
    # eliminate the elastic coordinates: six body rows and the motor's own row couple to them
    coupling = [[*column(b.E_v, i), *column(b.E_w, i), kind.joint.sign * (motor * row[i])] for i in range(n)]
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

    factors = Factors(L, y, W, [], [])
    if kind.held:
        efforts = joint_efforts(kind, link, c, [f[0] - drive, *f[1:]] if kind.is_driven else f)
        if kind.joint.axes is not None and is_zero(motor):
            free, held, (A, B, C, p_v, p_w) = _let_go(kind.joint.axes, efforts, A, B, C, p_v, p_w)
        else:
            columns = kind.joint.columns(link.joint)
            lever = [-dot(column(coupling, d), column(W, 6)) if n else 0.0 for d in range(7)]
            efforts[0] = efforts[0] - dot([coupling[i][6] for i in range(n)], y)
            whole = A, B, C, p_v, p_w
            free, held, (A, B, C, p_v, p_w) = _let_go_with_motor(columns, efforts, motor, lever, *whole)
        factors = factors._replace(free=free, held=held)
    return None if kind.on_base else hand_over(c, A, B, C, p_v, p_w), factors


def _own_terms(
    kind: LinkKind, link: LinkConstants, q: Vector, v: Vector, c: Connection, frames: list[FrameTerms]
) -> tuple[Blocks, Bias, list[FrameTerms]]:
    """Inertia and bias of the body, and frames of it; on a bordered matrix where that is cheaper."""
    q_e, v_e, body = kind.elastic(q), kind.elastic(v), link.body
    if is_bordered(body, kind.size):
        return bordered(body, q_e, v_e, c.w, frames)
    return *body.inertia(q_e, v_e, c.w), frames


Whole = tuple[Matrix, Matrix, Matrix, Vector, Vector]
"""Inertia and force of a link with all that hangs on it."""


def _let_go(
    axes: Sequence[int], efforts: Vector, A: Matrix, B: Matrix, C: Matrix, p_v: Vector, p_w: Vector
) -> tuple[Vector, Matrix, Whole]:
    """Eliminate a joint that leaves its link free along some of its axes: the whole accelerations along these.

    Nothing but the joint's efforts passes along them: zeros are said, instead of subtracting equals.
    """
    inertia, p = _six(A, B, C), [*p_v, *p_w]
    rest = [k for k in range(6) if k not in axes]
    L, inverse = ldl([[inertia[i][k] for k in axes] for i in axes])
    free = ldl_solve(L, inverse, [effort - p[k] for effort, k in zip(efforts, axes, strict=True)])
    held = (
        transpose([ldl_solve(L, inverse, [inertia[r][k] for k in axes]) for r in rest]) if rest else [[] for _ in axes]
    )
    left = zeros(6, 6)
    for i, a in enumerate(rest):
        across = [inertia[a][k] for k in axes]
        for j in range(i, len(rest)):
            x = inertia[a][rest[j]]
            left[a][rest[j]] = left[rest[j]][a] = x - dot(across, column(held, j))
        p[a] = p[a] + dot(across, free)
    for k, effort in zip(axes, efforts, strict=True):
        p[k] = effort
    return free, held, (*_blocks(left), p[:3], p[3:])


def _let_go_with_motor(
    columns: Sequence[Vector],
    efforts: Vector,
    motor: Scalar,
    lever: Vector,
    A: Matrix,
    B: Matrix,
    C: Matrix,
    p_v: Vector,
    p_w: Vector,
) -> tuple[Vector, Matrix, Whole]:
    """Eliminate a joint along any columns, the first of which a motor turns; ``lever``: what bending adds to it."""
    inertia, p = _six(A, B, C), [*p_v, *p_w]
    U = [[dot(row, N) for row in inertia] for N in columns]
    D = [[dot(N, u) for u in U] for N in columns]
    D[0][0] = D[0][0] + 2.0 * dot(columns[0], lever[:6]) + motor + lever[6]
    U[0] = add(U[0], lever[:6])
    L, inverse = ldl(D)
    free = ldl_solve(L, inverse, [effort - dot(N, p) for effort, N in zip(efforts, columns, strict=True)])
    held = transpose([ldl_solve(L, inverse, [u[k] for u in U]) for k in range(6)])
    for a in range(6):
        for d in range(a, 6):
            inertia[a][d] = inertia[d][a] = inertia[a][d] - dot([u[a] for u in U], column(held, d))
    p = [x + dot([u[a] for u in U], free) for a, x in enumerate(p)]
    return free, held, (*_blocks(inertia), p[:3], p[3:])


def _six(A: Matrix, B: Matrix, C: Matrix) -> Matrix:
    """[A B; B^T C]."""
    return [A[i] + B[i] for i in range(3)] + [column(B, i) + C[i] for i in range(3)]


def _blocks(inertia: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    return [row[:3] for row in inertia[:3]], [row[3:] for row in inertia[:3]], [row[3:] for row in inertia[3:]]


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


def accelerate(
    kind: LinkKind, link: LinkConstants, c: Connection, factors: Factors, parent: Acceleration
) -> tuple[Vector, Acceleration]:
    """One outward step: the accelerations of the link's coordinates, and of the link."""
    a_v, a_w = carried_acceleration(c, *parent)
    out, along = [], [0.0]
    if kind.held:
        carried, axes = [*a_v, *a_w], kind.joint.axes
        if axes is not None and len(factors.held[0]) + len(axes) == 6:
            rest = [x for k, x in enumerate(carried) if k not in axes]
            totals = [x - dot(row, rest) for x, row in zip(factors.free, factors.held, strict=True)]
            along = [total - carried[k] for total, k in zip(totals, axes, strict=True)]
            for k, total in zip(axes, totals, strict=True):
                carried[k] = total
        else:
            along = [x - dot(row, carried) for x, row in zip(factors.free, factors.held, strict=True)]
            carried = add(carried, [x for part in combined(kind.joint.columns(link.joint), along) for x in part])
        a_v, a_w = carried[:3], carried[3:]
        out = kind.joint.coordinates_of(c.joint, along)
    n = len(factors.y)
    a_e = [
        factors.y[i] - (dot(factors.W[i][:3], a_v) + dot(factors.W[i][3:6], a_w) + factors.W[i][6] * along[0])
        for i in range(n)
    ]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            if not is_zero(factors.L[k][i]):
                a_e[i] = a_e[i] - factors.L[k][i] * a_e[k]
    a_e = a_e[: kind.size]
    return out + a_e, Acceleration(a_v, a_w, a_e)
