"""The terms of a rod that bends and twists without limit: strains are linear in its elastic coordinates.

The curvatures along the axis are kappa = kappa0 + Phi_kappa q_e, the rest strains eps = Phi_eps q_e. Sections are
followed from station to station by exponentials of Magnus' series (order 4, exact moments of the strains); the tangent
t = R (e_x + eps) at the stations gives positions by interpolatory quadrature, r = p + S t. In one plane the angle is a
sum and no exponential is needed.

Mass sums over the stations see the fields only through the Gram matrix of [1, S] with weights m. Its triangular
factor U replaces the stations: the first row is the motion of the centre of mass, every further row is shorter by one.
Mass matrix and bias are made of the same rows, so that energy is kept whatever the number of stations is.
"""

from __future__ import annotations

from typing import NamedTuple

from pliant.bodies.modal_terms import ModalSection
from pliant.bodies.terms import Bias, Blocks, FrameTerms, Role, Spin
from pliant.spatial.attachment_rotation import exponential
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
    similar_symmetric,
    times,
    transpose,
    turn_about,
    zeros,
)


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


class RodTerms(NamedTuple):
    """The constants of a RodBody as nested lists.

    mass      of all
    first     first moment and inertia about the body's origin of rigid parts at the root
    I_rr
    root_R    axes and origin of the rod's root in the body
    root_p
    steps     from station to station, spatial rods; planar rods: from the root to each station
    strains   Phi_eps at the stations (3, n), or none
    masses    U (rows, 1 + N)
    sections  rotary inertia of the stations about their own axes (3,), or none
    plane     "x", "y", "z": the one axis about which sections turn; "" for any
    """

    mass: Scalar
    first: Vector
    I_rr: Matrix
    root_R: Matrix
    root_p: Vector
    steps: list[RodStep]
    strains: list[Matrix]
    masses: Matrix
    sections: Matrix
    K_ee: Matrix
    D_ee: Matrix
    plane: str

    @staticmethod
    def roles() -> dict[str, Role]:
        """Damping takes energy; axes are structure."""
        return {"D_ee": "loss", "root_R": "exact"}

    def inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias]:
        """Mass blocks and bias: sums over the rows of U, and over stations for the inertia of their sections."""
        n = len(q_e)
        stations = self.stations(q_e, v_e)
        tangents = self.tangents(stations, q_e, v_e)
        carried = [self._swung(j, s, w, t.t, v_e) for j, (s, t) in enumerate(zip(stations, tangents, strict=True))]
        whole = self.masses[0][0]
        C, E_w, M_e = ([list(row) for row in m] for m in (self.I_rr, zeros(3, n), zeros(n, n)))
        force: Vector = cross(w, cross(w, self.first))
        moment: Vector = cross(w, times(self.I_rr, w))
        elastic = add(times(self.K_ee, q_e), times(self.D_ee, v_e))
        second = zeros(3, 3)
        first, E_v = list(self.first), zeros(3, n)
        for i, row in enumerate(self.masses):
            r = _combined(row, self.root_p, [t.t for t in tangents])
            J = [_combined(row, [0.0] * n, [t.J[d] for t in tangents]) for d in range(3)]
            a = _combined(row, cross(w, cross(w, self.root_p)), carried)
            if i == 0:
                # only the motion of the centre of mass adds up
                first, E_v = add(first, scale(whole, r)), [scale(whole, x) for x in J]
                force = add(force, scale(whole, a))
            for d in range(3):
                for e in range(d, 3):
                    second[d][e] = second[d][e] + r[d] * r[e]
            moment = add(moment, cross(r, a))
            for k in range(n):
                J_k = column(J, k)
                for d, x in enumerate(cross(r, J_k)):
                    E_w[d][k] = E_w[d][k] + x
                elastic[k] = elastic[k] + dot(J_k, a)
                for g in range(k + 1):
                    M_e[g][k] = M_e[k][g] = M_e[g][k] + dot(column(J, g), J_k)
        trace = second[0][0] + second[1][1] + second[2][2]
        for d in range(3):
            for e in range(d, 3):
                C[d][e] = C[e][d] = C[d][e] + ((trace if d == e else 0.0) - second[d][e])
        x, y, z = first
        m = self.mass
        blocks = Blocks(
            A=[[m, 0.0, 0.0], [0.0, m, 0.0], [0.0, 0.0, m]],
            B=[[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]],
            C=C,
            E_v=E_v,
            E_w=E_w,
            M_e=M_e,
        )
        bias = Bias(force, moment, elastic)
        return _with_discs(self.sections, stations, w, blocks, bias) if self.sections else (blocks, bias)

    def frame(self, section: RodSection | ModalSection, q_e: Vector, v_e: Vector) -> FrameTerms:
        """Motion of a frame."""
        if isinstance(section, ModalSection):
            return _at_rest(section, len(q_e))
        n = len(q_e)
        stations = self.stations(q_e, v_e)
        tangents = self.tangents(stations, q_e, v_e)
        row = [1.0, *section.row]
        rate = _combined(row, ZERO3, [t.rate for t in tangents])
        turn = self._section(section, stations, q_e, v_e)
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
        tangents = self.tangents(self.stations(q_e, at_rest), q_e, at_rest)
        row = self.masses[0]
        return add(self.first, scale(row[0], _combined(row, self.root_p, [t.t for t in tangents])))

    def loss(self, v_e: Vector) -> Scalar:
        """Power that structural damping takes."""
        return dot(v_e, times(self.D_ee, v_e))

    def stations(self, q_e: Vector, v_e: Vector) -> list[SectionMotion]:
        """The sections at the stations."""
        if self.plane:
            return [self._turned(step, q_e, v_e) for step in self.steps]
        out: list[SectionMotion] = []
        section = self._root(len(q_e))
        for step in self.steps:
            section = advance(section, step, q_e, v_e)
            out.append(section)
        return out

    def tangents(self, stations: list[SectionMotion], q_e: Vector, v_e: Vector) -> list[AxisTangent]:
        """t = R (e_x + eps) at the stations, and its derivatives."""
        n = len(q_e)
        out = []
        for j, s in enumerate(stations):
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

    def _swung(self, j: int, s: SectionMotion, w: Vector, t: Vector, v_e: Vector) -> Vector:
        """Second derivative of a tangent at zero accelerations, with the root turning at w."""
        spin = add(w, s.w)
        out = add(cross(add(s.bias, cross(w, s.w)), t), cross(spin, cross(spin, t)))
        if self._stretches(j):
            out = add(out, scale(2.0, cross(spin, times(s.R, times(self.strains[j], v_e)))))
        return out

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

    def _section(self, section: RodSection, stations: list[SectionMotion], q_e: Vector, v_e: Vector) -> SectionMotion:
        if self.plane:
            return self._turned(section.step, q_e, v_e)
        before = int(section.before)
        return advance(stations[before - 1] if before else self._root(len(q_e)), section.step, q_e, v_e)


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
    spin = times(s.R, turn.omega)
    bias = add(turn.bias, times(turn.T, scale(2.0, cross(d0, d1))))
    return SectionMotion(
        R=product(s.R, turn.R),
        J_w=J_w,
        w=add(s.w, spin),
        bias=add(s.bias, times(s.R, bias), cross(s.w, spin)),
    )


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


def _with_discs(
    sections: Matrix, stations: list[SectionMotion], w: Vector, blocks: Blocks, bias: Bias
) -> tuple[Blocks, Bias]:
    """Add the rotary inertia of the sections."""
    n = len(bias.elastic)
    C, E_w, M_e = ([list(row) for row in m] for m in (blocks.C, blocks.E_w, blocks.M_e))
    moment, elastic = bias.moment, list(bias.elastic)
    for moments, s in zip(sections, stations, strict=True):
        disc = [[moments[i] if i == j else 0.0 for j in range(3)] for i in range(3)]
        inertia = similar_symmetric(s.R, disc)
        coupling = product(inertia, s.J_w)
        spin = add(w, s.w)
        torque = add(cross(spin, times(inertia, spin)), times(inertia, add(s.bias, cross(w, s.w))))
        moment = add(moment, torque)
        for d in range(3):
            for e in range(d, 3):
                C[d][e] = C[e][d] = C[d][e] + inertia[d][e]
            for k in range(n):
                E_w[d][k] = E_w[d][k] + coupling[d][k]
        for k in range(n):
            J_k = column(s.J_w, k)
            elastic[k] = elastic[k] + dot(J_k, torque)
            for g in range(k + 1):
                M_e[g][k] = M_e[k][g] = M_e[g][k] + dot(J_k, column(coupling, g))
    return blocks._replace(C=C, E_w=E_w, M_e=M_e), Bias(bias.force, moment, elastic)
