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

from pliant.bodies.modal_terms import ModalSection
from pliant.bodies.rod_motion import AxisTangent, RodStep, SectionMotion, advance
from pliant.bodies.terms import Bias, Blocks, FrameTerms, Role, Spin
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
    """A rod at (q_e, v_e): its stations, the inertia of their sections in body axes, and its mass blocks."""

    sections: list[SectionMotion]
    tangents: list[AxisTangent]
    discs: list[Matrix]
    blocks: Blocks


class RodTerms(NamedTuple):
    """The constants of a rod as nested lists.

    mass      of all
    first     first moment and inertia about the body's origin of rigid parts at the root
    I_rr
    root_R    axes and origin of the rod's root in the body
    root_p
    steps     from station to station, spatial rods; planar rods: from the root to each station
    strains   Phi_eps at the stations (3, n), or none
    masses    G = int [1, s]^T [1, s] dm (1 + N, 1 + N)
    discs     rotary inertia of the stations, (J_x - J_z, J_y - J_z, J_z) of each, or none
    plane     "x", "y", "z": the one axis about which sections turn; "" for any
    known     the rod at the state of which terms are wanted, where it has been found before
    """

    mass: Scalar
    first: Vector
    I_rr: Matrix
    root_R: Matrix
    root_p: Vector
    steps: list[RodStep]
    strains: list[Matrix]
    masses: Matrix
    discs: Matrix
    K_ee: Matrix
    D_ee: Matrix
    plane: str
    known: BentRod | Sequence[None] = ()

    @staticmethod
    def roles() -> dict[str, Role]:
        """Damping takes energy; axes are structure."""
        return {"D_ee": "loss", "root_R": "exact"}

    def at(self, bent: BentRod) -> RodTerms:
        """The same terms where everything is wanted at one state."""
        return self._replace(known=bent)

    def bent(self, q_e: Vector, v_e: Vector) -> BentRod:
        """What frames and inertia share."""
        if isinstance(self.known, BentRod):
            return self.known
        sections = self.sections(q_e, v_e)
        tangents = self.tangents(sections, q_e, v_e)
        discs = [_disc(moments, s.R) for moments, s in zip(self.discs, sections, strict=bool(self.discs))]
        return BentRod(sections, tangents, discs, self._blocks(sections, tangents, discs))

    def inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias]:
        """Mass blocks and bias."""
        bent = self.bent(q_e, v_e)
        root = cross(w, cross(w, self.root_p))
        swung = [add(cross(w, add(cross(w, t.t), scale(2.0, t.rate))), t.bias) for t in bent.tangents]
        of_axis = _combined(self.masses[0], root, swung)
        force = add(cross(w, cross(w, self.first)), of_axis)
        moment = add(cross(w, times(self.I_rr, w)), cross(self.root_p, of_axis))
        elastic = add(times(self.K_ee, q_e), times(self.D_ee, v_e))
        for j, (s, t) in enumerate(zip(bent.sections, bent.tangents, strict=True)):
            pull = _combined(self.masses[j + 1], root, swung)
            torque = cross(t.t, pull)
            if bent.discs:
                spin = add(w, s.w)
                inertia = bent.discs[j]
                torque = add(torque, cross(spin, times(inertia, spin)), times(inertia, add(s.bias, cross(w, s.w))))
            moment = add(moment, torque)
            stretched = product(s.R, self.strains[j]) if self._stretches(j) else []
            for k in range(len(q_e)):
                elastic[k] = elastic[k] + dot(column(s.J_w, k), torque)
                if stretched:
                    elastic[k] = elastic[k] + dot(column(stretched, k), pull)
        return bent.blocks, Bias(force, moment, elastic)

    def frame(self, section: RodSection | ModalSection, q_e: Vector, v_e: Vector) -> FrameTerms:
        """Motion of a frame."""
        if isinstance(section, ModalSection):
            return _at_rest(section, len(q_e))
        n = len(q_e)
        if isinstance(self.known, BentRod):
            sections, tangents = self.known.sections, self.known.tangents
        else:
            sections = self.sections(q_e, v_e)
            tangents = self.tangents(sections, q_e, v_e)
        row = [1.0, *section.row]
        rate = _combined(row, ZERO3, [t.rate for t in tangents])
        turn = self._section(section, sections, q_e, v_e)
        return FrameTerms(
            r=_combined(row, self.root_p, [t.t for t in tangents]),
            R=product(turn.R, section.turned),
            J_v=[_combined(row, [0.0] * n, [t.J[d] for t in tangents]) for d in range(3)],
            spin=Spin(identity3(), turn.J_w),
            rate_v=rate,
            twice_v=scale(2.0, rate),
            rate_w=turn.w,
            bias_v=_combined(row, ZERO3, [t.bias for t in tangents]),
            bias_w=turn.bias,
        )

    def energy(self, q_e: Vector) -> Scalar:
        """Of strain."""
        return 0.5 * dot(q_e, times(self.K_ee, q_e))

    def first_moment(self, q_e: Vector) -> Vector:
        """int r dm of the deformed rod."""
        at_rest = [0.0] * len(q_e)
        tangents = self.tangents(self.sections(q_e, at_rest), q_e, at_rest)
        return add(self.first, _combined(self.masses[0], self.root_p, [t.t for t in tangents]))

    def loss(self, v_e: Vector) -> Scalar:
        """Power that structural damping takes."""
        return dot(v_e, times(self.D_ee, v_e))

    def sections(self, q_e: Vector, v_e: Vector) -> list[SectionMotion]:
        """The sections at the stations."""
        if self.plane:
            return [self._turned(step, q_e, v_e) for step in self.steps]
        out: list[SectionMotion] = []
        section = self._root(len(q_e))
        for step in self.steps:
            section = advance(section, step, q_e, v_e)
            out.append(section)
        return out

    def tangents(self, sections: list[SectionMotion], q_e: Vector, v_e: Vector) -> list[AxisTangent]:
        """t = R (e_x + eps) at the stations, and its derivatives."""
        n = len(q_e)
        out = []
        for j, s in enumerate(sections):
            stretches = self._stretches(j)
            t = column(s.R, 0)
            if stretches:
                Phi = self.strains[j]
                t = times(s.R, add([1.0, 0.0, 0.0], times(Phi, q_e)))
            J = transpose([cross(column(s.J_w, k), t) for k in range(n)])
            swept = cross(s.w, t)
            bias = add(cross(s.bias, t), cross(s.w, swept))
            if stretches:
                J = [add(x, y) for x, y in zip(J, product(s.R, Phi), strict=True)]
                stretch = times(s.R, times(Phi, v_e))
                bias = add(bias, scale(2.0, cross(s.w, stretch)))
                swept = add(swept, stretch)
            out.append(AxisTangent(t, J, swept, bias))
        return out

    def _blocks(self, sections: list[SectionMotion], tangents: list[AxisTangent], discs: list[Matrix]) -> Blocks:
        """The mass matrix: momenta of the Jacobians on every tangent, and what they do to the sections."""
        n = len(self.K_ee)
        p, m, G = self.root_p, self.masses[0][0], self.masses
        along = [t.t for t in tangents]
        of_axis = _combined(G[0], ZERO3, along)
        first = add(self.first, scale(m, p), of_axis)
        E_v = [_combined(G[0], [0.0] * n, [t.J[d] for t in tangents]) for d in range(3)]
        E_w = transpose([cross(p, column(E_v, k)) for k in range(n)]) if n else zeros(3, 0)
        C, M_e = [list(row) for row in self.I_rr], zeros(n, n)
        half, whole = scale(0.5 * m, p), zeros(3, 3)
        # int r r^T dm, without its lower half
        levers = [(p, add(half, of_axis)), (add(half, of_axis), p)]
        levers += [(t.t, _combined(G[j + 1], ZERO3, along)) for j, t in enumerate(tangents)]
        for d in range(3):
            for e in range(d, 3):
                for a, b in levers:
                    whole[d][e] = whole[d][e] + a[d] * b[e]
        trace = whole[0][0] + whole[1][1] + whole[2][2]
        for d in range(3):
            for e in range(d, 3):
                C[d][e] = C[e][d] = C[d][e] + sum(
                    (disc[d][e] for disc in discs), (trace if d == e else 0.0) - whole[d][e]
                )
        for j, (s, t) in enumerate(zip(sections, tangents, strict=True)):
            pull = [_combined(G[j + 1], [0.0] * n, [t.J[d] for t in tangents]) for d in range(3)]
            turned = product(discs[j], s.J_w) if discs else zeros(3, n)
            stretched = product(s.R, self.strains[j]) if self._stretches(j) else []
            for k in range(n):
                moved = add(cross(t.t, column(pull, k)), column(turned, k))
                for d in range(3):
                    E_w[d][k] = E_w[d][k] + moved[d]
                for g in range(k + 1):
                    work = dot(column(s.J_w, g), moved)
                    if stretched:
                        work = work + dot(column(stretched, g), column(pull, k))
                    M_e[g][k] = M_e[k][g] = M_e[g][k] + work
        x, y, z = first
        return Blocks(
            A=[[self.mass if d == e else 0.0 for e in range(3)] for d in range(3)],
            B=[[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]],
            C=C,
            E_v=E_v,
            E_w=E_w,
            M_e=M_e,
        )

    def _stretches(self, j: int) -> bool:
        return bool(self.strains) and not all(is_zero(x) for row in self.strains[j] for x in row)

    def _root(self, n: int) -> SectionMotion:
        return SectionMotion([list(row) for row in self.root_R], zeros(3, n), list(ZERO3), list(ZERO3))

    def _turned(self, step: RodStep, q_e: Vector, v_e: Vector) -> SectionMotion:
        """A section of a planar rod, from the root."""
        k = "xyz".index(self.plane)
        angle, rate = dot(step.b0[k], q_e) + step.c0[k], dot(step.b0[k], v_e)
        axis = column(self.root_R, k)
        R = self.root_R if is_zero(angle) else turn_about(k, cos(angle), sin(angle), self.root_R)
        return SectionMotion(R, [scale(x, step.b0[k]) for x in axis], scale(rate, axis), list(ZERO3))

    def _section(self, section: RodSection, sections: list[SectionMotion], q_e: Vector, v_e: Vector) -> SectionMotion:
        if self.plane:
            return self._turned(section.step, q_e, v_e)
        before = int(section.before)
        return advance(sections[before - 1] if before else self._root(len(q_e)), section.step, q_e, v_e)


def _at_rest(section: ModalSection, n: int) -> FrameTerms:
    """A place at the root."""
    still = [list(ZERO3) for _ in range(5)]
    return FrameTerms(list(section.position), None, zeros(3, n), None, *still)


def _combined(row: Vector, origin: Vector, fields: list[Vector]) -> Vector:
    """row[0] origin + sum_k row[k] fields[k]."""
    out = scale(row[0], origin)
    for weight, x in zip(row[1:], fields, strict=True):
        if not is_zero(weight):
            out = add(out, scale(weight, x))
    return out


def _disc(moments: Vector, R: Matrix) -> Matrix:
    """R diag(J) R^T = J_z + (J_x - J_z) t t^T + (J_y - J_z) n n^T with the first two columns of R."""
    out = [[moments[2] if d == e else 0.0 for e in range(3)] for d in range(3)]
    for excess, axis in zip(moments, (column(R, 0), column(R, 1)), strict=False):
        scaled = scale(excess, axis)
        for d in range(3):
            for e in range(d, 3):
                out[d][e] = out[e][d] = out[d][e] + scaled[d] * axis[e]
    return out
