"""One station of a rod: its section and tangent from the station before it, and its part of the mass blocks.

Each step knows one station, the one before it and, for momenta, the tangents of all: it is the same code for every
station, so that compiled code is a loop over them.
"""

from __future__ import annotations

from typing import NamedTuple

from pliant.bodies.rod_motion import AxisTangent, RodStep, SectionMotion
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import (
    ZERO3,
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    product,
    scale,
    times,
    transpose,
    zeros,
)


class RodStation(NamedTuple):
    """The constants of a station.

    step    to it from the station before it, spatial rods; planar rods: from the root
    strain  Phi_eps (3, n), or none
    masses  its row of G = int [1, s]^T [1, s] dm (1 + N)
    disc    rotary inertia, (J_x - J_z, J_y - J_z, J_z), or none
    """

    step: RodStep
    strain: Matrix
    masses: Vector
    disc: Vector


class BentStation(NamedTuple):
    """A station at (q_e, v_e): its section, the tangent, R Phi_eps (3, n) and the inertia of the section, body axes."""

    section: SectionMotion
    tangent: AxisTangent
    stretched: Matrix
    disc: Matrix


class RodSums(NamedTuple):
    """Sums over the stations up to one, with the momentum F_j = sum_i G_ji J_i of the Jacobians on its tangent.

    axis    sum_j G_0j t_j
    spread  sum_j t_j (sum_i G_ji t_i)^T, without its lower half
    discs   sum_j I_j
    E_v     sum_j G_0j J_j
    turned  sum_j t_j x F_j + I_j J_w,j
    M_e     sum_j J_w,j^T (t_j x F_j + I_j J_w,j) + (R_j Phi_eps,j)^T F_j
    """

    axis: Vector
    spread: Matrix
    discs: Matrix
    E_v: Matrix
    turned: Matrix
    M_e: Matrix


def bent_station(station: RodStation, section: SectionMotion, q_e: Vector, v_e: Vector) -> BentStation:
    """t = R (e_x + eps) of a section and its derivatives, and the inertia of the section."""
    s, n = section, len(q_e)
    stretched = product(s.R, station.strain) if station.strain else []
    t = column(s.R, 0)
    if stretched:
        t = times(s.R, add([1.0, 0.0, 0.0], times(station.strain, q_e)))
    J = transpose([cross(column(s.J_w, k), t) for k in range(n)])
    swept = cross(s.w, t)
    bias = add(cross(s.bias, t), cross(s.w, swept))
    if stretched:
        J = [add(x, y) for x, y in zip(J, stretched, strict=True)]
        rate = times(s.R, times(station.strain, v_e))
        bias = add(bias, scale(2.0, cross(s.w, rate)))
        swept = add(swept, rate)
    disc = _disc(station.disc, s.R) if station.disc else []
    return BentStation(s, AxisTangent(t, J, swept, bias), stretched, disc)


def loaded_station(
    station: RodStation, here: BentStation, every: list[BentStation], before: RodSums | None, n: int
) -> RodSums:
    """The sums up to a station."""
    sums = RodSums(list(ZERO3), zeros(3, 3), zeros(3, 3), zeros(3, n), zeros(3, n), zeros(n, n))
    if before is not None:
        sums = before
    (s, t, stretched, disc), weight = here, station.masses[0]
    spread, M_e = ([list(row) for row in m] for m in (sums.spread, sums.M_e))
    momentum = combined(station.masses, ZERO3, [x.tangent.t for x in every])
    pull = [combined(station.masses, [0.0] * n, [x.tangent.J[d] for x in every]) for d in range(3)]
    of_disc = product(disc, s.J_w) if disc else zeros(3, n)
    moved = [add(cross(t.t, column(pull, k)), column(of_disc, k)) for k in range(n)]
    for d in range(3):
        for e in range(d, 3):
            spread[d][e] = spread[d][e] + t.t[d] * momentum[e]
    for k in range(n):
        for g in range(k + 1):
            work = dot(column(s.J_w, g), moved[k])
            if stretched:
                work = work + dot(column(stretched, g), column(pull, k))
            M_e[g][k] = M_e[k][g] = M_e[g][k] + work
    return RodSums(
        axis=add(sums.axis, scale(weight, t.t)),
        spread=spread,
        discs=[add(x, y) for x, y in zip(sums.discs, disc, strict=True)] if disc else sums.discs,
        E_v=[add(x, scale(weight, y)) for x, y in zip(sums.E_v, t.J, strict=True)],
        turned=[add(x, y) for x, y in zip(sums.turned, transpose(moved), strict=True)] if n else sums.turned,
        M_e=M_e,
    )


def combined(row: Vector, origin: Vector, fields: list[Vector]) -> Vector:
    """row[0] origin + sum_k row[k] fields[k]."""
    out = scale(row[0], origin)
    for weight, x in zip(row[1:], fields, strict=True):
        if not is_zero(weight):
            out = add(out, scale(weight, x))
    return out


def _disc(moments: Vector, R: Matrix) -> Matrix:
    """R diag(J) R^T = J_z + (J_x - J_z) t t^T + (J_y - J_z) n n^T with the first two columns of R."""
    out: list[list[Scalar]] = [[moments[2] if d == e else 0.0 for e in range(3)] for d in range(3)]
    for excess, axis in zip(moments, (column(R, 0), column(R, 1)), strict=False):
        scaled = scale(excess, axis)
        for d in range(3):
            for e in range(d, 3):
                out[d][e] = out[e][d] = out[d][e] + scaled[d] * axis[e]
    return out
