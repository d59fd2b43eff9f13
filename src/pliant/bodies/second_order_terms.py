"""The terms of a body that is linear in its coordinates but for its foreshortening.

Its axis moves back by fields u_j p_j(q) that do not stretch it, p_j = q^T F_j q / 2. They are further modes of a linear
body whose coordinates (q, p) depend on q alone: its terms, and J = [1; F q] with p_dot = F q . v and p_ddot at rest
v^T F v, are all that there is. So the kinetic energy is a sum of squares, and the mass matrix positive at every
deflection. Centrifugal stiffening comes with the inertia tensor, that by gravity and axial loads with E_v.
"""

from __future__ import annotations

from typing import NamedTuple

from pliant.bodies.modal_terms import ModalSection, ModalTerms
from pliant.bodies.terms import Bias, Blocks, FrameTerms
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import Matrix, Vector, add, dot, scale, sparse_dot, times


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
        """Of strain."""
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
