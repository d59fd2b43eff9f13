"""The terms of bodies with modes or nodes: linear in their elastic coordinates, with many of them, and to second order.

Generalised Newton-Euler equations of a free flexible body, Briot & Khalil (53)-(67), with their corrections: (57) reads
beta_k + sum_i lambda_ik q_i, the last term of (67) is I_ee. Sections whose rotary inertia turns exactly with them are
added station by station.

Where many coordinates all act on each other, as those of a reduced frame or a casting, they are stations of the body:
what a coordinate k does with all others, N_k = I_re_k + sum_i q_i I_ee_ik and sum_i lambda_ik q_i, has one structure,
and compiled code is a loop over them instead of a line for each of n^2 numbers.

An axis that bends moves back by fields u_j p_j(q) that do not stretch it, p_j = q^T F_j q / 2. They are further modes
of a linear body whose coordinates (q, p) depend on q alone: its terms, and J = [1; F q] with p_dot = F q . v and p_ddot
at rest v^T F v, are all that there is. So the kinetic energy is a sum of squares, and the mass matrix positive at every
deflection. Centrifugal stiffening comes with the inertia tensor, that by gravity and axial loads with E_v.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pliant.algorithm import Role
from pliant.bodies.terms import Bias, Blocks, FrameTerms, Spin
from pliant.spatial.attitude import MAPS, Turn
from pliant.spatial.rounding import StructuralZeros
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import (
    ZERO3,
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    plus,
    product,
    scale,
    shared_times,
    similar_symmetric,
    sparse_dot,
    times,
    transpose,
    transpose_times,
)


class ModalSection(NamedTuple):
    """A frame fixed to a section: its point is at position + Phi_d q_e, and it turns by rot(Phi_r q_e).

    ``axes`` turns the section axes in which Phi_r is given into the body's (identity but for bodies that were
    re-expressed in another frame); ``rule`` is the map rot.
    """

    position: Vector
    Phi_d: Matrix
    Phi_r: Matrix
    axes: Matrix
    rule: str

    @staticmethod
    def roles() -> dict[str, Role]:
        """Tip values that are one, as those of many shapes, and axes are structure."""
        return {"Phi_d": "exact", "Phi_r": "exact", "axes": "exact"}

    @property
    def turns(self) -> bool:
        """Whether elastic coordinates turn it (structurally)."""
        return not all(is_zero(x) for row in self.Phi_r for x in row)

    @property
    def moved_by(self) -> list[int]:
        """The elastic coordinates that move or turn it."""
        rows = (*self.Phi_d, *self.Phi_r)
        return [k for k in range(len(self.Phi_d[0])) if not all(is_zero(row[k]) for row in rows)]

    def turn(self, q_e: Vector, v_e: Vector) -> Turn | None:
        """Its rotation by the deformation, in the body's axes."""
        return self.in_body(section_turn(self.rule, self.Phi_r, q_e, v_e)) if self.turns else None

    def in_body(self, turn: Turn) -> Turn:
        """A turn about the section axes, in the body's axes."""
        P = self.axes
        if all(is_zero(P[i][j]) for i in range(3) for j in range(3) if i != j):
            return turn
        return Turn(
            product(product(P, turn.R), transpose(P)),
            product(P, turn.T),
            times(P, turn.omega),
            times(P, turn.bias),
        )


def section_turn(rule: str, Phi_r: Matrix, q_e: Vector, v_e: Vector) -> Turn:
    """The turn of a section with rotation shapes Phi_r; angles that no coordinate moves are None to the maps."""
    moved = [not all(is_zero(x) for x in row) for row in Phi_r]
    theta, rate = (
        [dot(row, x) if moves else None for row, moves in zip(Phi_r, moved, strict=True)] for x in (q_e, v_e)
    )
    return MAPS[rule](theta, rate)


class ModalTerms(NamedTuple):
    """The arrays of a ModalBody as nested lists, see there, and the map ``rule`` of its turning sections."""

    mass: Scalar
    first: Vector
    first_modal: Matrix
    beta: Matrix
    lam: list[Matrix]
    I_rr: Matrix
    I_re: list[Matrix]
    I_ee: list[list[Matrix]]
    M_ee: Matrix
    K_ee: Matrix
    D_ee: Matrix
    section_inertia: Matrix
    section_turn: list[Matrix]
    section_axes: Matrix
    rule: str

    @staticmethod
    def roles() -> dict[str, Role]:
        """Damping takes energy."""
        return {"D_ee": "loss"}

    def inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias]:
        """Mass matrix at (acceleration of the origin, angular acceleration, q_e_ddot), (64), and bias, (65)-(67)."""
        return self.coupled_inertia(inertia_gradients(self, q_e), _turned(self, q_e), _swung(self, v_e, w), q_e, v_e, w)

    def coupled_inertia(
        self, gradients: list[Matrix], E_w: Matrix, gyroscopic: Vector, q_e: Vector, v_e: Vector, w: Vector
    ) -> tuple[Blocks, Bias]:
        """Mass blocks and bias from what the coordinates do with each other.

        gradients   N_k
        E_w         beta_k + sum_i lambda_ik q_i (3, n)
        gyroscopic  2 sum_i (lambda_ik . w) v_i (n,)
        """
        blocks = _blocks(self, q_e, gradients, E_w)
        bias = _bias(self, q_e, v_e, w, gradients, blocks.C, gyroscopic)
        if self.section_inertia:
            blocks, bias = _with_sections(self, q_e, v_e, w, blocks, bias)
        return blocks, bias

    def frame(self, section: ModalSection, q_e: Vector, v_e: Vector) -> FrameTerms:
        """Motion of a frame: linear in the elastic coordinates but for its rotation."""
        turn = section.turn(q_e, v_e)
        Phi = section.Phi_d
        return FrameTerms(
            r=add(section.position, shared_times(Phi, q_e)),
            R=None if turn is None else turn.R,
            J_v=[list(row) for row in Phi],
            spin=None if turn is None else Spin(turn.T, [list(row) for row in section.Phi_r]),
            rate_v=shared_times(Phi, v_e),
            twice_v=shared_times(Phi, scale(2.0, v_e)),
            rate_w=list(ZERO3) if turn is None else turn.omega,
            bias_v=list(ZERO3),
            bias_w=list(ZERO3) if turn is None else turn.bias,
        )

    def energy(self, q_e: Vector) -> Scalar:
        """Energy of strain."""
        return 0.5 * dot(q_e, times(self.K_ee, q_e))

    def first_moment(self, q_e: Vector) -> Vector:
        """MS = int r dm of the deformed body, (56)."""
        return add(self.first, times(self.first_modal, q_e))

    def loss(self, v_e: Vector) -> Scalar:
        """Power that structural damping takes."""
        return dot(v_e, times(self.D_ee, v_e))


def inertia_gradients(body: ModalTerms, q_e: Vector) -> list[Matrix]:
    """N_k = I_re_k + sum_i q_i I_ee_ik: half the derivative of the inertia tensor by q_k."""
    out = []
    for k, I_re in enumerate(body.I_re):
        N = [list(row) for row in I_re]
        for i, q in enumerate(q_e):
            I_ee = body.I_ee[i][k]
            if type(I_ee) is StructuralZeros:
                continue
            for a in range(3):
                for b in range(3):
                    if not is_zero(I_ee[a][b]):
                        N[a][b] = N[a][b] + q * I_ee[a][b]
        out.append(N)
    return out


def _coupled(body: ModalTerms, k: int) -> list[tuple[int, Vector]]:
    """The coordinates i that turn with coordinate k, and their lambda_ik."""
    return [
        (i, row[k])
        for i, row in enumerate(body.lam)
        if type(row[k]) is not StructuralZeros and not all(is_zero(x) for x in row[k])
    ]


def _turned(body: ModalTerms, q_e: Vector) -> Matrix:
    """beta_k + sum_i lambda_ik q_i (3, n)."""
    E_w = [list(row) for row in body.beta]
    for k in range(len(q_e)):
        for i, lam in _coupled(body, k):
            for a in range(3):
                if not is_zero(lam[a]):
                    E_w[a][k] = E_w[a][k] + lam[a] * q_e[i]
    return E_w


def _swung(body: ModalTerms, v_e: Vector, w: Vector) -> Vector:
    """2 sum_i (lambda_ik . w) v_i (n,)."""
    twice = scale(2.0, v_e)
    out: Vector = []
    for k in range(len(v_e)):
        gyroscopic: Scalar = 0.0
        for i, lam in _coupled(body, k):
            gyroscopic = gyroscopic + dot(lam, w) * twice[i]
        out.append(gyroscopic)
    return out


def _blocks(body: ModalTerms, q_e: Vector, gradients: list[Matrix], E_w: Matrix) -> Blocks:
    m = body.mass
    x, y, z = body.first_moment(q_e)
    inertia = [list(row) for row in body.I_rr]
    for a in range(3):
        for b in range(a, 3):
            for k, q in enumerate(q_e):
                inertia[a][b] = inertia[a][b] + q * (gradients[k][a][b] + body.I_re[k][b][a])
            inertia[b][a] = inertia[a][b]
    return Blocks(
        A=[[m, 0.0, 0.0], [0.0, m, 0.0], [0.0, 0.0, m]],
        B=[[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]],
        C=inertia,
        E_v=[list(row) for row in body.first_modal],
        E_w=E_w,
        M_e=[list(row) for row in body.M_ee],
    )


def _bias(
    body: ModalTerms,
    q_e: Vector,
    v_e: Vector,
    w: Vector,
    gradients: list[Matrix],
    C: Matrix,
    gyroscopic: Vector,
) -> Bias:
    turned = [times(N, w) for N in gradients]
    # every Coriolis term carries 2 v_e
    twice = scale(2.0, v_e)
    force = cross(w, add(cross(w, body.first_moment(q_e)), times(body.first_modal, twice)))
    moment = cross(w, times(C, w))
    for rate, u in zip(twice, turned, strict=True):
        moment = add(moment, scale(rate, u))
    elastic: list[Scalar] = []
    for i, swung in enumerate(gyroscopic):
        s = swung - dot(w, turned[i])
        s = s + sparse_dot(column(body.K_ee, i), q_e) + sparse_dot(column(body.D_ee, i), v_e)
        elastic.append(s)
    return Bias(force, moment, elastic)


def _with_sections(
    body: ModalTerms, q_e: Vector, v_e: Vector, w: Vector, blocks: Blocks, bias: Bias
) -> tuple[Blocks, Bias]:
    """Add discs that turn by rot(Phi_r q_e) at stations along the beam, in the link's own axes."""
    n = len(q_e)
    P = body.section_axes
    w_own = transpose_times(P, w)
    C: Matrix = [[0.0] * 3 for _ in range(3)]
    E_w: Matrix = [[0.0] * n for _ in range(3)]
    M_e = [list(row) for row in blocks.M_e]
    moment: Vector = [0.0] * 3
    elastic = list(bias.elastic)
    for moments, Phi_r in zip(body.section_inertia, body.section_turn, strict=True):
        turn = section_turn(body.rule, Phi_r, q_e, v_e)
        disc = [[moments[i] if i == j else 0.0 for j in range(3)] for i in range(3)]
        inertia = similar_symmetric(turn.R, disc)
        J = product(turn.T, Phi_r)
        coupling = product(inertia, J)
        spin = add(w_own, turn.omega)
        torque = add(cross(spin, times(inertia, spin)), times(inertia, add(turn.bias, cross(w_own, turn.omega))))
        C, E_w = plus(C, inertia), plus(E_w, coupling)
        moment = add(moment, torque)
        for k in range(n):
            for i in range(k + 1):
                M_e[i][k] = M_e[k][i] = M_e[i][k] + dot(column(J, i), column(coupling, k))
            elastic[k] = elastic[k] + dot(column(J, k), torque)
    C, E_w = product(product(P, C), transpose(P)), product(P, E_w)
    with_discs = blocks._replace(C=plus(blocks.C, C), E_w=plus(blocks.E_w, E_w), M_e=M_e)
    return with_discs, Bias(bias.force, add(bias.moment, times(P, moment)), elastic)


# ---------------------------------------------------------------- the terms of a body whose many elastic coordinates al


class DenseColumn(NamedTuple):
    """What a coordinate k has in common with all others i: I_ee_ik (3, 3, n) and lambda_ik (3, n).

    An entry of them for all i is a row of numbers side by side: what is summed over i runs along it.
    """

    I_ee: list[Matrix]
    lam: Matrix


class CoupledColumn(NamedTuple):
    """A column at a state: sum_i q_i I_ee_ik (3, 3), sum_i lambda_ik q_i and 2 sum_i lambda_ik v_i (3,)."""

    N: Matrix
    turned: Vector
    swung: Vector


class DenseTerms(NamedTuple):
    """A linear body without lambda and I_ee, and these column by column.

    known  the columns at the state of which terms are wanted, where they have been found before
    """

    linear: ModalTerms
    stations: Sequence[DenseColumn]
    known: Sequence[CoupledColumn] = ()

    @staticmethod
    def roles() -> dict[str, Role]:
        """Columns have one structure."""
        return {"stations": "alike"}

    @property
    def looped(self) -> bool:
        """That is what it is for."""
        return True

    @property
    def holds_frames(self) -> bool:
        """They move along their shapes, whatever the coordinates do with each other."""
        return False

    @property
    def chained(self) -> bool:
        """Each column is found for itself."""
        return False

    def bend(self, station: DenseColumn, before: None, q_e: Vector, v_e: Vector) -> None:
        """Frames need nothing of the columns."""

    def load(
        self,
        station: DenseColumn,
        here: None,
        every: Sequence[None],
        before: CoupledColumn | None,
        q_e: Vector,
        v_e: Vector,
    ) -> CoupledColumn:
        """A column; those before it do not matter."""
        N = [times(rows, q_e) for rows in station.I_ee]
        return CoupledColumn(N, times(station.lam, q_e), scale(2.0, times(station.lam, v_e)))

    def at(self, stations: list[None], loaded: list[CoupledColumn]) -> DenseTerms:
        """The terms where everything is wanted at one state."""
        return self._replace(known=loaded)

    def inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias]:
        """Mass blocks and bias."""
        columns = self.known or [self.load(station, None, (), None, q_e, v_e) for station in self.stations]
        body = self.linear
        gradients = [plus(I_re, column.N) for I_re, column in zip(body.I_re, columns, strict=True)]
        E_w = plus(body.beta, transpose([column.turned for column in columns]))
        gyroscopic = [dot(column.swung, w) for column in columns]
        return body.coupled_inertia(gradients, E_w, gyroscopic, q_e, v_e, w)

    def frame(self, section: ModalSection, q_e: Vector, v_e: Vector) -> FrameTerms:
        """Motion of a frame."""
        return self.linear.frame(section, q_e, v_e)

    def energy(self, q_e: Vector) -> Scalar:
        """Energy of strain."""
        return self.linear.energy(q_e)

    def first_moment(self, q_e: Vector) -> Vector:
        """int r dm of the deformed body."""
        return self.linear.first_moment(q_e)

    def loss(self, v_e: Vector) -> Scalar:
        """Power that structural damping takes."""
        return self.linear.loss(v_e)


# ---------------------------------------------------------------- the terms of a body that is linear in its coordinates


class SecondOrderSection(NamedTuple):
    """A frame fixed to a section: that of the linear body, and Gamma there (3, n, n).

    ``Gamma_r`` (3, n, n) turns it further, by rot(Phi_r q_e + q_e^T Gamma_r q_e / 2); empty: it does not.
    """

    linear: ModalSection
    Gamma: list[Matrix]
    Gamma_r: Sequence[Matrix] = ()

    @property
    def turns(self) -> bool:
        """Whether elastic coordinates turn it (structurally)."""
        return self.linear.turns or bool(self.Gamma_r)

    @property
    def moved_by(self) -> list[int]:
        """The elastic coordinates that move or turn it."""
        forms = (*self.Gamma, *self.Gamma_r)
        further = {k for G in forms for k, row in enumerate(G) if not all(is_zero(x) for x in row)}
        return sorted({*self.linear.moved_by, *further})


class SecondOrderTerms(NamedTuple):
    """The linear body with n + k coordinates, and the forms F (k, n, n) of the last k."""

    linear: ModalTerms
    forms: list[Matrix]

    def inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias]:
        """Mass blocks and bias on (a_v, a_w, a_e)."""
        whole, (force, moment, rates), G = self.wide_inertia(q_e, v_e, w)
        blocks = whole._replace(E_v=_pulled(whole.E_v, G), E_w=_pulled(whole.E_w, G), M_e=_pulled_twice(whole.M_e, G))
        return blocks, Bias(force, moment, _pulled([rates], G)[0])

    def wide_inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias, Matrix]:
        """Mass blocks and bias on (a_v, a_w, a_e, z), where z = F q . a_e is p_ddot without v^T F v, and F q (k, n)."""
        back = [_Form(F, q_e, v_e) for F in self.forms]
        whole, (force, moment, rates) = self.linear.inertia(
            [*q_e, *(form.value for form in back)], [*v_e, *(form.rate for form in back)], w
        )
        for j, form in enumerate(back, start=len(q_e)):
            force, moment, rates = (
                [x + row[j] * form.bias for x, row in zip(bias, block, strict=True)]
                for bias, block in ((force, whole.E_v), (moment, whole.E_w), (rates, whole.M_e))
            )
        return whole, Bias(force, moment, rates), [form.gradient for form in back]

    def frame(self, section: SecondOrderSection | ModalSection, q_e: Vector, v_e: Vector) -> FrameTerms:
        """Motion of a frame."""
        if isinstance(section, ModalSection):
            return self.linear.frame(section, q_e, v_e)
        linear = self.linear.frame(section.linear, q_e, v_e)
        if section.Gamma_r:
            linear = _turned_further(linear, section, q_e, v_e)
        back = [_Form(G, q_e, v_e) for G in section.Gamma]
        rate = [form.rate for form in back]
        return linear._replace(
            r=add(linear.r, [form.value for form in back]),
            J_v=[add(row, form.gradient) for row, form in zip(linear.J_v, back, strict=True)],
            rate_v=add(linear.rate_v, rate),
            twice_v=add(linear.twice_v, scale(2.0, rate)),
            bias_v=add(linear.bias_v, [form.bias for form in back]),
        )

    def energy(self, q_e: Vector) -> Scalar:
        """Energy of strain."""
        return self.linear.energy(self._with_fields(q_e))

    def first_moment(self, q_e: Vector) -> Vector:
        """int r dm of the deformed body."""
        return self.linear.first_moment(self._with_fields(q_e))

    def loss(self, v_e: Vector) -> Scalar:
        """Power that structural damping takes."""
        return self.linear.loss([*v_e, *[0.0] * len(self.forms)])

    def _with_fields(self, q_e: Vector) -> Vector:
        return [*q_e, *(0.5 * dot(times(F, q_e), q_e) for F in self.forms)]


class _Form:
    """q^T G q / 2 of a symmetric G: gradient G q, rate q^T G v and bias v^T G v."""

    def __init__(self, G: Matrix, q: Vector, v: Vector) -> None:
        self.gradient = [sparse_dot(row, q) for row in G]
        self.value = 0.5 * dot(self.gradient, q)
        self.rate = dot(self.gradient, v)
        twice = scale(2.0, v)
        # each pair of entries once
        self.bias: Scalar = 0.0
        for i, rate in enumerate(v):
            self.bias = self.bias + rate * (G[i][i] * rate + sparse_dot(G[i][i + 1 :], twice[i + 1 :]))


def _turned_further(linear: FrameTerms, section: SecondOrderSection, q_e: Vector, v_e: Vector) -> FrameTerms:
    """The frame of the linear body that turns by theta = Phi_r q + q^T Gamma_r q / 2 in place of Phi_r q.

    With the angles' Jacobian Phi_r + Gamma_r q their accelerations at rest are v^T Gamma_r v.
    """
    forms = [_Form(G, q_e, v_e) for G in section.Gamma_r]
    Phi_r = section.linear.Phi_r
    angles = [add(row, form.gradient) for row, form in zip(Phi_r, forms, strict=True)]
    moved = [not all(is_zero(x) for x in row) for row in angles]
    theta, rate = (
        [dot(row, x) + further if moves else None for row, moves, further in zip(Phi_r, moved, more, strict=True)]
        for x, more in ((q_e, [form.value for form in forms]), (v_e, [form.rate for form in forms]))
    )
    turn = MAPS[section.linear.rule](theta, rate)
    bias = add(turn.bias, times(turn.T, [form.bias for form in forms]))
    turn = section.linear.in_body(turn._replace(bias=bias))
    return linear._replace(R=turn.R, spin=Spin(turn.T, angles), rate_w=turn.omega, bias_w=turn.bias)


def _pulled(rows: Matrix, G: Matrix) -> Matrix:
    """Rows over (q, p) times J = [1; G]."""
    n = len(rows[0]) - len(G)
    out = [list(row[:n]) for row in rows]
    for j, gradient in enumerate(G, start=n):
        out = [add(row, scale(whole[j], gradient)) for row, whole in zip(out, rows, strict=True)]
    return out


def _pulled_twice(M: Matrix, G: Matrix) -> Matrix:
    """J^T M J, one half of it computed."""
    half = _pulled(M, G)
    n = len(M) - len(G)
    out = [row[:] for row in half[:n]]
    for k in range(n):
        for i in range(k + 1):
            for row, gradient in zip(half[n:], G, strict=True):
                out[i][k] = out[i][k] + gradient[i] * row[k]
            out[k][i] = out[i][k]
    return out
