"""The terms of a rod that bends and twists without limit: strains are linear in its elastic coordinates.

The curvatures along the axis are kappa = kappa0 + Phi_kappa q_e, the rest strains eps = Phi_eps q_e. Sections are
followed from station to station by exponentials of Magnus' series (order 4, exact moments of the strains); the tangent
t = R (e_x + eps) at the stations gives positions by interpolatory quadrature, r = p + sum_j s_j t_j. In one plane the
angle is a sum and no exponential is needed.

Mass integrals see the fields p, t_j only through G = int [1, s]^T [1, s] dm. Whatever field y multiplies (Jacobians,
accelerations), Y_j = sum_i G_ji y_i is its momentum on the tangent of station j, and t_j x Y_j what turns the section
there: from these come all blocks and the bias, so that energy is kept whatever the number of stations is.

Each step knows one station, the one before it and, for momenta, the tangents of all: it is the same code for every
station, so that compiled code is a loop over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pliant.algorithm import Role
from pliant.bodies.modal_terms import ModalSection
from pliant.bodies.terms import Bias, Blocks, FrameTerms, Spin
from pliant.spatial.attitude import exponential
from pliant.spatial.scalars import Scalar, cos, is_zero, sin
from pliant.spatial.vectors import (
    ZERO3,
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    identity3,
    product,
    scale,
    times,
    transpose,
    turn_about,
    zeros,
)

# ---------------------------------------------------------------- how the sections of a rod follow one another


class RodStep(NamedTuple):
    """Moments of the curvature over an interval of length h: b0 = int Phi dX, b1 = int (X - middle) Phi dX / h (3, n).

    c0, c1 (3,) are those of the undeformed rod.
    """

    b0: Matrix
    b1: Matrix
    c0: Vector
    c1: Vector

    @property
    def is_empty(self) -> bool:
        """Whether nothing turns over it (structurally)."""
        return all(is_zero(x) for row in (*self.b0, self.c0) for x in row)


class SectionMotion(NamedTuple):
    """A section of the rod: R, J_w, angular velocity and acceleration at a_e = 0, relative to the root, body axes."""

    R: Matrix
    J_w: Matrix
    w: Vector
    bias: Vector


class AxisTangent(NamedTuple):
    """The derivative of a point of the axis by arc length: t, dt/dq_e (3, n), its rate and acceleration at a_e = 0."""

    t: Vector
    J: Matrix
    rate: Vector
    bias: Vector


def advance(s: SectionMotion, step: RodStep, q_e: Vector, v_e: Vector) -> SectionMotion:
    """The section at the end of an interval from the one at its beginning."""
    if step.is_empty:
        return s
    n = len(q_e)
    u0, u1 = add(times(step.b0, q_e), step.c0), add(times(step.b1, q_e), step.c1)
    d0, d1 = times(step.b0, v_e), times(step.b1, v_e)
    # the section turns to the right of R, so that the commutator counts positive
    theta = add(u0, cross(u0, u1))
    rate = add(d0, cross(d0, u1), cross(u0, d1))
    turn = exponential(theta, rate)
    RT = product(s.R, turn.T)
    J_w = [list(row) for row in s.J_w]
    for axis, (b0, b1) in enumerate(zip(step.b0, step.b1, strict=True)):
        if all(is_zero(x) for x in (*b0, *b1)):
            continue
        # coordinates about the same axis turn the end alike: d theta = b0 (e + e x u1) + b1 (u0 x e)
        e = identity3()[axis]
        by_mean, by_slope = times(RT, add(e, cross(e, u1))), times(RT, cross(u0, e))
        for d in range(3):
            for k in range(n):
                J_w[d][k] = J_w[d][k] + (b0[k] * by_mean[d] + b1[k] * by_slope[d])
    spin = times(RT, rate)
    bias = add(times(s.R, turn.bias), times(RT, scale(2.0, cross(d0, d1))))
    return SectionMotion(
        R=product(s.R, turn.R),
        J_w=J_w,
        w=add(s.w, spin),
        bias=add(s.bias, bias, cross(s.w, spin)),
    )


# ---------------------------------------------------------------- one station of a rod


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


# ---------------------------------------------------------------- the terms of a rod that bends and twists without limi


LOOPED_ABOVE = 2
"""Stations up to which straight code is as short as a loop over them."""


class RodSection(NamedTuple):
    """A frame fixed to a section at X.

    row     its position from the tangents at the stations (N,)
    step    to X, from the last station before it; in a planar rod from the root
    before  the number of stations before it, as a word
    turned  transpose of the section's axes in the undeformed rod, body axes
    """

    row: Vector
    step: RodStep
    before: str
    turned: Matrix

    @staticmethod
    def roles() -> dict[str, Role]:
        """Axes are structure."""
        return {"turned": "exact"}

    @property
    def turns(self) -> bool:
        """A section that stands still is not one of a rod."""
        return True

    @property
    def moved_by(self) -> list[int]:
        """The elastic coordinates that move or turn it."""
        return list(range(len(self.step.b0[0])))


class BentRod(NamedTuple):
    """A rod at (q_e, v_e): its stations, and their sums where inertia is wanted."""

    stations: list[BentStation]
    sums: RodSums | None


class RodTerms(NamedTuple):
    """The constants of a rod as nested lists.

    mass       of all
    first      first moment and inertia about the body's origin of rigid parts at the root
    I_rr
    root_R     axes and origin of the rod's root in the body
    root_p
    axis_mass  G_00, what the axis carries
    stations   their constants
    plane      "x", "y", "z": the one axis about which sections turn; "" for any
    known      the rod at the state of which terms are wanted, where it has been found before
    """

    mass: Scalar
    first: Vector
    I_rr: Matrix
    root_R: Matrix
    root_p: Vector
    axis_mass: Scalar
    stations: list[RodStation]
    K_ee: Matrix
    D_ee: Matrix
    plane: str
    known: BentRod | Sequence[None] = ()

    def roles(self) -> dict[str, Role]:
        """Damping takes energy; axes are structure; the stations of a loop have one structure."""
        own: dict[str, Role] = {"D_ee": "loss", "root_R": "exact"}
        return {**own, "stations": "alike"} if self.looped else own

    @property
    def looped(self) -> bool:
        """Whether code for one station in a loop is much shorter than straight code for all of them."""
        return not self.plane and len(self.stations) > LOOPED_ABOVE

    @property
    def holds_frames(self) -> bool:
        """They are parts of a chain."""
        return True

    @property
    def chained(self) -> bool:
        """So is each of them."""
        return True

    def bend(self, station: RodStation, before: BentStation | None, q_e: Vector, v_e: Vector) -> BentStation:
        """A station from the one before it."""
        section = self._section(station.step, None if before is None else before.section, q_e, v_e)
        return bent_station(station, section, q_e, v_e)

    def load(
        self,
        station: RodStation,
        here: BentStation,
        every: list[BentStation],
        before: RodSums | None,
        q_e: Vector,
        v_e: Vector,
    ) -> RodSums:
        """The sums up to a station, which is ``here``."""
        return loaded_station(station, here, every, before, len(self.K_ee))

    def at(self, stations: list[BentStation], loaded: list[RodSums]) -> RodTerms:
        """The terms where everything is wanted at one state."""
        return self._replace(known=BentRod(stations, loaded[-1] if loaded else None))

    def inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias]:
        """Mass blocks and bias."""
        bent, sums = self.bent(q_e, v_e), self._sums(q_e, v_e)
        root = cross(w, cross(w, self.root_p))
        swung = [
            add(cross(w, add(cross(w, t.t), scale(2.0, t.rate))), t.bias) for t in (station.tangent for station in bent)
        ]
        of_axis = combined([self.axis_mass, *(station.masses[0] for station in self.stations)], root, swung)
        force = add(cross(w, cross(w, self.first)), of_axis)
        moment = add(cross(w, times(self.I_rr, w)), cross(self.root_p, of_axis))
        elastic = add(times(self.K_ee, q_e), times(self.D_ee, v_e))
        for station, (s, t, stretched, disc) in zip(self.stations, bent, strict=True):
            pull = combined(station.masses, root, swung)
            torque = cross(t.t, pull)
            if disc:
                spin = add(w, s.w)
                torque = add(torque, cross(spin, times(disc, spin)), times(disc, add(s.bias, cross(w, s.w))))
            moment = add(moment, torque)
            for k in range(len(q_e)):
                elastic[k] = elastic[k] + dot(column(s.J_w, k), torque)
                if stretched:
                    elastic[k] = elastic[k] + dot(column(stretched, k), pull)
        return self._blocks(sums), Bias(force, moment, elastic)

    def frame(self, section: RodSection | ModalSection, q_e: Vector, v_e: Vector) -> FrameTerms:
        """Motion of a frame."""
        if isinstance(section, ModalSection):
            return _at_rest(section, len(q_e))
        n, bent = len(q_e), self.bent(q_e, v_e)
        tangents = [station.tangent for station in bent]
        row, before = [1.0, *section.row], int(section.before)
        rate = combined(row, ZERO3, [t.rate for t in tangents])
        turn = self._section(section.step, bent[before - 1].section if before else None, q_e, v_e)
        return FrameTerms(
            r=combined(row, self.root_p, [t.t for t in tangents]),
            R=product(turn.R, section.turned),
            J_v=[combined(row, [0.0] * n, [t.J[d] for t in tangents]) for d in range(3)],
            spin=Spin(identity3(), turn.J_w),
            rate_v=rate,
            twice_v=scale(2.0, rate),
            rate_w=turn.w,
            bias_v=combined(row, ZERO3, [t.bias for t in tangents]),
            bias_w=turn.bias,
        )

    def energy(self, q_e: Vector) -> Scalar:
        """Energy of strain."""
        return 0.5 * dot(q_e, times(self.K_ee, q_e))

    def first_moment(self, q_e: Vector) -> Vector:
        """int r dm of the deformed rod."""
        bent = self.bent(q_e, [0.0] * len(q_e))
        row = [self.axis_mass, *(station.masses[0] for station in self.stations)]
        return add(self.first, combined(row, self.root_p, [station.tangent.t for station in bent]))

    def loss(self, v_e: Vector) -> Scalar:
        """Power that structural damping takes."""
        return dot(v_e, times(self.D_ee, v_e))

    def bent(self, q_e: Vector, v_e: Vector) -> list[BentStation]:
        """All stations."""
        if isinstance(self.known, BentRod):
            return self.known.stations
        out: list[BentStation] = []
        for station in self.stations:
            out.append(self.bend(station, out[-1] if out else None, q_e, v_e))
        return out

    def _sums(self, q_e: Vector, v_e: Vector) -> RodSums:
        """The sums over all stations."""
        if isinstance(self.known, BentRod) and self.known.sums is not None:
            return self.known.sums
        every, sums = self.bent(q_e, v_e), None
        for station, here in zip(self.stations, every, strict=True):
            sums = self.load(station, here, every, sums, q_e, v_e)
        assert sums is not None
        return sums

    def _blocks(self, sums: RodSums) -> Blocks:
        """The mass matrix, from momenta of the Jacobians on every tangent."""
        p, m, n = self.root_p, self.axis_mass, len(self.K_ee)
        x, y, z = add(self.first, scale(m, p), sums.axis)
        half = add(scale(0.5 * m, p), sums.axis)
        C, whole = zeros(3, 3), [list(row) for row in sums.spread]
        # int r r^T dm, without its lower half
        for d in range(3):
            for e in range(d, 3):
                whole[d][e] = whole[d][e] + p[d] * half[e] + half[d] * p[e]
        trace = whole[0][0] + whole[1][1] + whole[2][2]
        for d in range(3):
            for e in range(d, 3):
                own = self.I_rr[d][e] + sums.discs[d][e]
                C[d][e] = C[e][d] = own + ((trace if d == e else 0.0) - whole[d][e])
        lever = transpose([cross(p, column(sums.E_v, k)) for k in range(n)]) if n else zeros(3, 0)
        return Blocks(
            A=[[self.mass if d == e else 0.0 for e in range(3)] for d in range(3)],
            B=[[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]],
            C=C,
            E_v=sums.E_v,
            E_w=[add(x, y) for x, y in zip(lever, sums.turned, strict=True)],
            M_e=sums.M_e,
        )

    def _section(self, step: RodStep, before: SectionMotion | None, q_e: Vector, v_e: Vector) -> SectionMotion:
        """The section at the end of a step; the first one begins at the root."""
        if self.plane:
            return self._turned(step, q_e, v_e)
        if before is None:
            n = len(q_e)
            before = SectionMotion([list(row) for row in self.root_R], zeros(3, n), list(ZERO3), list(ZERO3))
        return advance(before, step, q_e, v_e)

    def _turned(self, step: RodStep, q_e: Vector, v_e: Vector) -> SectionMotion:
        """A section of a planar rod, from the root."""
        k = "xyz".index(self.plane)
        angle, rate = dot(step.b0[k], q_e) + step.c0[k], dot(step.b0[k], v_e)
        axis = column(self.root_R, k)
        R = self.root_R if is_zero(angle) else turn_about(k, cos(angle), sin(angle), self.root_R)
        return SectionMotion(R, [scale(x, step.b0[k]) for x in axis], scale(rate, axis), list(ZERO3))


def _at_rest(section: ModalSection, n: int) -> FrameTerms:
    """A place at the root."""
    still = [list(ZERO3) for _ in range(5)]
    return FrameTerms(list(section.position), None, zeros(3, n), None, *still)
