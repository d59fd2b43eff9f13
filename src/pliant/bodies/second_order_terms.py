"""The terms of a body that is linear in its coordinates but for its foreshortening q^T Gamma q / 2.

Kinetic energy to second order in (q_e, v_e). The inertia tensor's part is constant and sits in I_ee; the rest is

    MS += q^T g q / 2,   E_v += g q,   E_w += B q      with g = int Gamma dm, B = int r x Gamma dm

and their rates in the bias. Centrifugal stiffening comes with I_ee, that by gravity and axial loads with E_v.

One term of fourth order, |q^T g v|^2 / 2m, completes the square of the centre's motion: M_e += (g q)^T (g q) / m.
Without it the mass matrix of a link on a joint is indefinite from slopes of 0.04 (fine elements, a payload) to 0.26
(two modes, none) on.
"""

from __future__ import annotations

from typing import NamedTuple

from pliant.bodies.modal_terms import ModalSection, ModalTerms
from pliant.bodies.terms import Bias, Blocks, FrameTerms
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import Matrix, Vector, add, cross, dot, scale, times


class SecondOrderSection(NamedTuple):
    """A frame fixed to a section: that of the linear body, and Gamma there (3, n, n)."""

    linear: ModalSection
    Gamma: list[Matrix]

    @property
    def turns(self) -> bool:
        """Whether elastic coordinates turn it (structurally)."""
        return self.linear.turns

    @property
    def moved_by(self) -> list[int]:
        """The elastic coordinates that move or turn it."""
        further = {k for G in self.Gamma for k, row in enumerate(G) if not all(is_zero(x) for x in row)}
        return sorted({*self.linear.moved_by, *further})


class SecondOrderTerms(NamedTuple):
    """The linear body, with I_ee of the foreshortened one, and the integrals g and B (3, n, n)."""

    linear: ModalTerms
    g: list[Matrix]
    B: list[Matrix]

    def inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias]:
        """Mass blocks and bias on (a_v, a_w, a_e)."""
        back = [_Form(G, q_e, v_e) for G in self.g]
        # a linear body whose first_modal is Phi + g q: its first moment then has q^T g q, twice too much
        shifted = self.linear._replace(
            first=[x - form.value for x, form in zip(self.linear.first, back, strict=True)],
            first_modal=_added(self.linear.first_modal, back),
        )
        blocks, (force, moment, elastic) = shifted.inertia(q_e, v_e, w)
        force = add(force, [form.bias for form in back])
        M_e, elastic = self._completed(blocks.M_e, elastic, back)
        blocks = blocks._replace(M_e=M_e)
        if not all(is_zero(entry) for M in self.B for row in M for entry in row):
            turned = [_Form(M, q_e, v_e) for M in self.B]
            blocks = blocks._replace(E_w=_added(blocks.E_w, turned))
            moment = add(moment, [form.bias for form in turned], cross(w, [form.rate for form in turned]))
        return blocks, Bias(force, moment, elastic)

    def _completed(self, M_e: Matrix, elastic: Vector, back: list[_Form]) -> tuple[Matrix, Vector]:
        """Mass matrix and bias of the elastic coordinates with the kinetic energy |q^T g v|^2 / 2m."""
        M_e, elastic = [list(row) for row in M_e], list(elastic)
        for form in back:
            if all(is_zero(x) for x in form.gradient):
                continue
            shared = scale(1.0 / self.linear.mass, form.gradient)
            for k, x in enumerate(shared):
                elastic[k] = elastic[k] + x * form.bias
                for i in range(k + 1):
                    M_e[i][k] = M_e[k][i] = M_e[i][k] + form.gradient[i] * x
        return M_e, elastic

    def frame(self, section: SecondOrderSection | ModalSection, q_e: Vector, v_e: Vector) -> FrameTerms:
        """Motion of a frame."""
        if isinstance(section, ModalSection):
            return self.linear.frame(section, q_e, v_e)
        linear = self.linear.frame(section.linear, q_e, v_e)
        back = [_Form(G, q_e, v_e) for G in section.Gamma]
        rate = [form.rate for form in back]
        return linear._replace(
            r=add(linear.r, [form.value for form in back]),
            J_v=_added(linear.J_v, back),
            rate_v=add(linear.rate_v, rate),
            twice_v=add(linear.twice_v, scale(2.0, rate)),
            bias_v=add(linear.bias_v, [form.bias for form in back]),
        )

    def energy(self, q_e: Vector) -> Scalar:
        """Of strain."""
        return self.linear.energy(q_e)

    def first_moment(self, q_e: Vector) -> Vector:
        """int r dm of the deformed body."""
        return add(self.linear.first_moment(q_e), [_Form(G, q_e, q_e).value for G in self.g])

    def loss(self, v_e: Vector) -> Scalar:
        """Power that structural damping takes."""
        return self.linear.loss(v_e)


class _Form:
    """q^T G q / 2 of a symmetric G: gradient G q, rate q^T G v and bias v^T G v."""

    def __init__(self, G: Matrix, q: Vector, v: Vector) -> None:
        self.gradient = times(G, q)
        self.value = 0.5 * dot(self.gradient, q)
        self.rate = dot(self.gradient, v)
        twice = scale(2.0, v)
        # each pair of entries once
        self.bias: Scalar = 0.0
        for i, rate in enumerate(v):
            self.bias = self.bias + rate * (G[i][i] * rate + dot(G[i][i + 1 :], twice[i + 1 :]))


def _added(J: Matrix, forms: list[_Form]) -> Matrix:
    return [add(row, form.gradient) for row, form in zip(J, forms, strict=True)]
