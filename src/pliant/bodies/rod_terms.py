"""The terms of a rod that bends and twists without limit: strains are linear in its elastic coordinates.

The curvatures along the axis are kappa = kappa0 + Phi_kappa q_e, the rest strains eps = Phi_eps q_e. Sections are
followed from station to station by exponentials of Magnus' series (order 4, exact moments of the strains); the tangent
t = R (e_x + eps) at the stations gives positions by interpolatory quadrature, r = p + sum_j s_j t_j. In one plane the
angle is a sum and no exponential is needed.

Mass integrals see the fields p, t_j only through G = int [1, s]^T [1, s] dm. Whatever field y multiplies (Jacobians,
accelerations), Y_j = sum_i G_ji y_i is its momentum on the tangent of station j, and t_j x Y_j what turns the section
there: from these come all blocks and the bias, so that energy is kept whatever the number of stations is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pliant.algorithm import Role
from pliant.bodies.modal_terms import ModalSection
from pliant.bodies.rod_motion import RodStep, SectionMotion, advance
from pliant.bodies.rod_station import BentStation, RodStation, RodSums, bent_station, combined, loaded_station
from pliant.bodies.terms import Bias, Blocks, FrameTerms, Spin
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
        """The same terms where everything is wanted at one state."""
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
        """Of strain."""
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
