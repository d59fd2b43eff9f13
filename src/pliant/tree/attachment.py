"""What links hand to each other: inertia, forces and accelerations at the place where one hangs on another."""

from __future__ import annotations

from typing import NamedTuple

from pliant.bodies.terms import Blocks, FrameTerms
from pliant.spatial.scalars import is_zero
from pliant.spatial.vectors import Matrix, Vector, add, column, cross, dot, plus, plus_symmetric, scale, times, zeros
from pliant.tree.connection import Connection


class Handed(NamedTuple):
    """What a link hands to its parent: inertia and force of its subtree at the attachment point, parent axes."""

    A: Matrix
    B: Matrix
    C: Matrix
    p_v: Vector
    p_w: Vector


class Acceleration(NamedTuple):
    """Acceleration of the link's origin, angular acceleration (own axes) and of its elastic coordinates."""

    a_v: Vector
    a_w: Vector
    a_e: Vector


class Wrench(NamedTuple):
    """Force, moment about the link's origin (own axes), and elastic forces."""

    force: Vector
    moment: Vector
    elastic: Vector


def absorb(b: Blocks, child: Handed, frame: FrameTerms) -> Blocks:
    """Add to a body the inertia of a child that hangs at a frame of it: A_{i+1,i}^T M^ A_{i+1,i}."""
    E_v, E_w, M_e = ([list(row) for row in m] for m in (b.E_v, b.E_w, b.M_e))
    A, B, C = shifted(child, frame.r)
    # force and moment about the origin per unit motion of the frame: slides along d, turns by angle j
    turned, angles = turning_axes(frame), [] if frame.spin is None else frame.spin.angles
    force_turn = {j: times(child.B, t) for j, t in turned.items()}
    seat_moment = {j: times(child.C, t) for j, t in turned.items()}
    moment_turn = {j: add(seat_moment[j], cross(frame.r, force_turn[j])) for j in turned}
    gram = {(j, k): dot(turned[j], seat_moment[k]) for j in turned for k in turned if j <= k}
    n = len(M_e)
    for e in range(n):
        slides = {d: frame.J_v[d][e] for d in range(3) if not is_zero(frame.J_v[d][e])}
        spins = {j: angles[j][e] for j in turned if not is_zero(angles[j][e])}
        force: Vector = [0.0] * 3
        moment: Vector = [0.0] * 3
        for d, k in slides.items():
            force = add(force, scale(k, column(child.A, d)))
            moment = add(moment, scale(k, B[d]))
        for j, k in spins.items():
            force = add(force, scale(k, force_turn[j]))
            moment = add(moment, scale(k, moment_turn[j]))
        for d in range(3):
            E_v[d][e] = E_v[d][e] + force[d]
            E_w[d][e] = E_w[d][e] + moment[d]
        work = {}
        for j in turned:
            work[j] = dot(list(slides.values()), [force_turn[j][d] for d in slides]) + dot(
                list(spins.values()), [gram[min(j, k), max(j, k)] for k in spins]
            )
        for g in range(e + 1):
            x = M_e[g][e] + dot(column(frame.J_v, g), force)
            for j in turned:
                x = x + angles[j][g] * work[j]
            M_e[g][e] = M_e[e][g] = x
    return Blocks(plus_symmetric(b.A, A), plus(b.B, B), plus_symmetric(b.C, C), E_v, E_w, M_e)


def turning_axes(frame: FrameTerms) -> dict[int, Vector]:
    """The axes of a frame's spin for those angles that elastic coordinates really turn."""
    if frame.spin is None:
        return {}
    axes, angles = frame.spin
    return {j: column(axes, j) for j, row in enumerate(angles) if not all(is_zero(x) for x in row)}


def shifted(child: Handed, r: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """X^T [A1 B1; B1^T C1] X with X = [1 -r~; 0 1]: the inertia about a point at -r."""
    B = shift_coupling(child.A, child.B, r)
    left = [cross(r, column(B, j)) for j in range(3)]
    right = [cross(r, column(child.B, j)) for j in range(3)]
    C = zeros(3, 3)
    for i in range(3):
        for j in range(i, 3):
            C[i][j] = C[j][i] = child.C[i][j] + left[j][i] + right[i][j]
    return child.A, B, C


def shift_coupling(A: Matrix, B: Matrix, r: Vector) -> Matrix:
    """B - A r~."""
    out = zeros(3, 3)
    for i in range(3):
        levers = cross(A[i], r)
        for j in range(3):
            out[i][j] = B[i][j] - levers[j]
    return out


def gather_force(
    force: Vector, moment: Vector, generalised: Vector, p_v: Vector, p_w: Vector, frame: FrameTerms
) -> tuple[Vector, Vector, Vector]:
    """Add the force of a child at a frame to a body's force, moment and elastic forces (B & K (63), sign as (51))."""
    turned = {j: dot(t, p_w) for j, t in turning_axes(frame).items()}
    angles = [] if frame.spin is None else frame.spin.angles
    out = []
    for e, s in enumerate(generalised):
        s = s + dot(column(frame.J_v, e), p_v)
        for j, work in turned.items():
            s = s + angles[j][e] * work
        out.append(s)
    return add(force, p_v), add(moment, add(p_w, cross(frame.r, p_v))), out


def to_seat(c: Connection, force: Vector, moment: Vector) -> Wrench:
    """A wrench about the link's origin in own axes, brought to the attachment point in parent axes."""
    force, moment = c.rotation.apply(force), c.rotation.apply(moment)
    if not all(is_zero(x) for x in c.s):
        moment = add(moment, cross(c.s, force))
    return Wrench(force, moment, [])
