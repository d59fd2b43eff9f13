"""The closed forms on any scalars: floats, complex numbers, NumPy batches and traced nodes; and as a method.

M(q) a + h(q, v) + U q + F v + preload + G(q) + friction = f

The velocity terms are Lagrange's own, h = M_dot v - d(v M v/2)/dq, with the chain rule over the angles and deflections
in which M is written: the Christoffel symbols of Lin & Lewis (26), none of them written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from pliant.algorithm import Algorithm, LinkView, Role, Traced
from pliant.errors import ModelError
from pliant.formulations.lagrange.algebra.derivation import WayOut, derive
from pliant.formulations.lagrange.algebra.series import BITS, Harmonic
from pliant.formulations.lagrange.code.collected import (
    Coefficients,
    Entry,
    FormLayout,
    Linear,
    MatrixEntries,
    Wave,
    form_layout,
)
from pliant.formulations.method import Method, Refusal
from pliant.formulations.recursive.articulated import ldl
from pliant.formulations.recursive.recursions import NoInertiaError
from pliant.mechanism import Mechanism
from pliant.model.once import once_per_element
from pliant.spatial.scalars import Scalar, cos, sin, stumpff, tanh
from pliant.spatial.vectors import Matrix, Vector, dot, zeros

if TYPE_CHECKING:
    from pliant.bodies.modal_body import Array

MOST_EVALUATED_TERMS = 20_000
"""Terms of M and D, as estimated: ten thousand operations, and a second or two of compiling."""

WORK_PER_EVALUATED_TERM = 3
"""Products of terms for each of them: three times what rigid arms with six joints need; a refusal takes a second."""


class FormConstants(NamedTuple):
    """All numbers of the closed forms: coefficients of their terms, and those of damping and dry friction."""

    coefficients: Vector
    losses: Vector

    @staticmethod
    def roles() -> dict[str, Role]:
        """Damping and friction can be set to zero alone."""
        return {"losses": "loss"}


class FormEnergies(NamedTuple):
    """J: kinetic, of elastic parts (zero where nothing is deformed), and of gravity (zero at the base's origin)."""

    kinetic: Scalar
    elastic: Scalar
    gravity: Scalar


@dataclass(frozen=True, eq=False)
class ClosedForms:
    """The equations of one robot, ready to be evaluated on any scalars.

    names, values  of the constants, in a fixed order and without gravity
    gravity        m/s^2 (3,)
    coordinates    names, in the robot's order
    layout         which operations an evaluation is made of
    """

    robot: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    gravity: tuple[float, ...]
    coordinates: tuple[str, ...]
    layout: FormLayout
    variables: tuple[int, ...]
    tables: tuple[Coefficients, Coefficients]

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    def constants(self, values: Sequence[Scalar] | None = None) -> FormConstants:
        """The coefficients of all terms for some values of the constants; those of the robot unless given."""
        known = dict(zip(self.variables, self.values if values is None else values, strict=True))
        return FormConstants(*(table.evaluate(known) for table in self.tables))

    def mass_matrix(self, q: Sequence[Scalar], values: Sequence[Scalar] | None = None) -> Matrix:
        """M (n, n)"""
        return self.at(q, values).mass_matrix()

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar], values: Sequence[Scalar] | None = None) -> Vector:
        """All forces (n,) but M a."""
        return self.at(q, values).bias(v)

    def inverse(
        self, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar], values: Sequence[Scalar] | None = None
    ) -> Vector:
        """Generalised forces (n,) of a motion."""
        return self.at(q, values).inverse(v, a)

    def forward(
        self, q: Sequence[Scalar], v: Sequence[Scalar], f: Sequence[Scalar], values: Sequence[Scalar] | None = None
    ) -> Vector:
        """Accelerations (n,) under generalised forces."""
        return self.at(q, values).forward(v, f)

    def energies(
        self, q: Sequence[Scalar], v: Sequence[Scalar], values: Sequence[Scalar] | None = None
    ) -> FormEnergies:
        """Kinetic and potential energies."""
        return self.at(q, values).energies(v)

    def at(self, q: Sequence[Scalar], values: Sequence[Scalar] | None = None) -> FormPose:
        """The equations at a pose."""
        return FormPose(self.layout, q, self.constants(values), self.gravity, self.coordinates)


@once_per_element
def forms_of(mechanism: Mechanism, *, most_terms: int = MOST_EVALUATED_TERMS) -> ClosedForms:
    """The closed forms of a mechanism without loops."""
    way_out = WayOut(
        other="method 'recursive' closes them",
        smaller="Use fewer modes or links, or method 'recursive', whose work grows with the number of links only",
        exact=", or use method 'recursive'",
    )
    names, system, _ = derive(
        mechanism,
        way_out,
        most_terms=most_terms,
        work_per_term=WORK_PER_EVALUATED_TERM,
        with_rates=False,
    )
    layout, coefficients, losses = form_layout(names, system)
    used = names.needed([*system.all_series(), system.potential, system.rest_energy])
    table = {v: c for v, c in names.final(used).items() if c.kind != "gravity"}
    return ClosedForms(
        robot=mechanism.name,
        names=tuple(c.name for c in table.values()),
        values=tuple(c.value for c in table.values()),
        gravity=tuple(float(g) for g in mechanism.gravity),
        coordinates=tuple(names.coordinates[q].robot_name for q in system.coordinates),
        layout=layout,
        variables=tuple(table),
        tables=(coefficients, losses),
    )


class FormPose:
    """The closed forms at one pose: every sine, cosine and product of coordinates is computed once."""

    def __init__(
        self,
        layout: FormLayout,
        q: Sequence[Scalar],
        constants: FormConstants,
        gravity: Sequence[Scalar],
        coordinates: Sequence[str],
    ) -> None:
        self.layout, self.q, self.constants, self.gravity = layout, q, constants, gravity
        self.coordinates = coordinates
        self._variables: dict[int, Scalar] = {}
        self._monomials: dict[int, Scalar] = {0: 1.0}
        self._angles: dict[int, tuple[Scalar, Scalar]] = {}
        self._waves: dict[Harmonic, tuple[Scalar, Scalar]] = {}
        self._products: dict[tuple[Wave, ...], Scalar] = {(): 1.0}

    # ---- the equations

    def mass_matrix(self) -> Matrix:
        """M (n, n)"""
        return self._symmetric(self.layout.M, self.constants.coefficients)

    def bias(self, v: Sequence[Scalar]) -> Vector:
        """All forces (n,) but M a."""
        layout, coefficients = self.layout, self.constants.coefficients
        out = self._velocity_forces(v)
        for each, table, x in ((layout.U, coefficients, self.q), (layout.F, self.constants.losses, v)):
            for i, j, entry in each:
                value = self._entry(entry, table)
                out[i] = out[i] + value * x[j]
                if i != j:
                    out[j] = out[j] + value * x[i]
        for column in (layout.preload, layout.G):
            for i, entry in column:
                out[i] = out[i] + self._entry(entry, coefficients)
        for friction in layout.friction:
            row = [(i, self._entry(weight, coefficients)) for i, weight in friction.row]
            rate = dot([weight for _, weight in row], [v[i] for i, _ in row])
            developed = tanh(rate / self._entry(friction.smoothing, coefficients))
            effort = self._entry(friction.coulomb, self.constants.losses) * developed
            for i, weight in row:
                out[i] = out[i] + weight * effort
        return out

    def inverse(self, v: Sequence[Scalar], a: Sequence[Scalar]) -> Vector:
        """Generalised forces (n,) of a motion."""
        M, bias = self.mass_matrix(), self.bias(v)
        return [dot(row, a) + b for row, b in zip(M, bias, strict=True)]

    def forward(self, v: Sequence[Scalar], f: Sequence[Scalar]) -> Vector:
        """Accelerations (n,) under generalised forces, by M = L D L^T from the tips inwards, which keeps zeros of M."""
        try:
            L, inverse = ldl([row[::-1] for row in reversed(self.mass_matrix())])
        except ZeroDivisionError:
            raise self._massless() from None
        n = len(inverse)
        x = [force - b for force, b in zip(f, self.bias(v), strict=True)][::-1]
        for i in range(n):
            x[i] = x[i] - dot(L[i][:i], x[:i])
        x = [d * y for d, y in zip(inverse, x, strict=True)]
        for i in reversed(range(n)):
            x[i] = x[i] - dot([L[k][i] for k in range(i + 1, n)], x[i + 1 :])
        return x[::-1]

    def energies(self, v: Sequence[Scalar]) -> FormEnergies:
        """Kinetic and potential energies."""
        layout, q, coefficients = self.layout, self.q, self.constants.coefficients
        elastic = 0.5 * self._quadratic(layout.U, q) + self._entry(layout.rest_energy, coefficients)
        for i, entry in layout.preload:
            elastic = elastic + self._entry(entry, coefficients) * q[i]
        return FormEnergies(0.5 * self._quadratic(layout.M, v), elastic, self._entry(layout.potential, coefficients))

    def _velocity_forces(self, v: Sequence[Scalar]) -> Vector:
        """M_dot v - d(v M v/2)/dq: a quantity x with the rate A v gives (dM/dx v) x_dot - A^T (v dM/dx v)/2."""
        n = len(self.q)
        M_dot = zeros(n, n)
        out: Vector = [0.0] * n
        squares = {(i, j): v[i] * v[j] for part in self.layout.rates for i, j, _ in part.slopes}
        for part in self.layout.rates:
            rate: Scalar = 0.0
            for form in part.forms:
                rate = rate + self._linear(form, v)
            twice: Scalar = 0.0
            once: Scalar = 0.0
            for i, j, entry in part.slopes:
                slope = self._entry(entry, self.constants.coefficients)
                M_dot[i][j] = M_dot[i][j] + slope * rate
                if i == j:
                    once = once + slope * squares[i, i]
                else:
                    twice = twice + slope * squares[i, j]
            force = 0.5 * once + twice
            for form in part.forms:
                for factor, place, i in form:
                    out[i] = out[i] - self._scaled(factor, place) * force
        for i in range(n):
            for j in range(i + 1):
                out[i] = out[i] + M_dot[i][j] * v[j]
                if i != j:
                    out[j] = out[j] + M_dot[i][j] * v[i]
        return out

    def _massless(self) -> NoInertiaError:
        diagonal = {i for i, j, _ in self.layout.M if i == j}
        names = [f"'{name}'" for i, name in enumerate(self.coordinates) if i not in diagonal]
        which = f"coordinate {names[0]} moves" if names else "some combination of the coordinates moves"
        return NoInertiaError(
            f"{which} no inertia, so its acceleration is not determined; give its link, its payload or its motor some"
        )

    # ---- entries

    def _symmetric(self, entries: MatrixEntries, table: Sequence[Scalar]) -> Matrix:
        out = zeros(len(self.q), len(self.q))
        for i, j, entry in entries:
            out[i][j] = out[j][i] = self._entry(entry, table)
        return out

    def _quadratic(self, entries: MatrixEntries, x: Sequence[Scalar]) -> Scalar:
        out: Scalar = 0.0
        for i, j, entry in entries:
            value = self._entry(entry, self.constants.coefficients)
            out = out + (value if i == j else 2.0 * value) * (x[i] * x[j])
        return out

    def _entry(self, entry: Entry, table: Sequence[Scalar]) -> Scalar:
        out: Scalar = 0.0
        for waves, terms in entry:
            inner: Scalar = 0.0
            for factor, place, monomial in terms:
                coefficient = 1.0 if place is None else table[place]
                inner = inner + factor * (coefficient * self._monomial(monomial))
            out = out + inner * self._product(waves)
        return out

    def _scaled(self, factor: float, place: int | None) -> Scalar:
        return factor if place is None else factor * self.constants.coefficients[place]

    def _linear(self, form: Linear, x: Sequence[Scalar]) -> Scalar:
        out: Scalar = 0.0
        for factor, place, i in form:
            out = out + self._scaled(factor, place) * x[i]
        return out

    # ---- what moves

    def _variable(self, i: int) -> Scalar:
        if i not in self._variables:
            self._variables[i] = self._new_variable(i)
        return self._variables[i]

    def _new_variable(self, i: int) -> Scalar:
        layout = self.layout
        if i in layout.coordinates:
            return self.q[layout.coordinates[i]]
        if i in layout.deflections:
            return self._linear(layout.deflections[i], self.q)
        if i in layout.gravity_axes:
            axis, sign = layout.gravity_axes[i]
            return sign * self.gravity[axis]
        function = layout.functions[i]
        parts = [self._variable(k) for k in function.components]
        s = dot(parts, parts)
        return 4.0 / (4.0 + s) if function.order is None else stumpff(function.order, s)

    def _monomial(self, monomial: int) -> Scalar:
        """A product of variables, from the one without its last factor."""
        if monomial not in self._monomials:
            i = (monomial.bit_length() - 1) // BITS
            shorter = monomial - (1 << BITS * i)
            self._monomials[monomial] = self._monomial(shorter) * self._variable(i)
        return self._monomials[monomial]

    def _product(self, waves: tuple[Wave, ...]) -> Scalar:
        if waves not in self._products:
            harmonic, is_sine = waves[-1]
            self._products[waves] = self._product(waves[:-1]) * self._wave(harmonic)[is_sine]
        return self._products[waves]

    def _wave(self, harmonic: Harmonic) -> tuple[Scalar, Scalar]:
        """Cosine and sine of a sum of angles, from those of the sum without its last angle."""
        if harmonic not in self._waves:
            *before, (angle, multiplier) = harmonic
            sign = 1 if multiplier > 0 else -1
            left = multiplier - sign
            rest = (*before, (angle, left)) if left else tuple(before)
            c, s = self._angle(angle)
            s = sign * s
            if rest:
                c_rest, s_rest = self._wave(rest)
                c, s = c_rest * c - s_rest * s, s_rest * c + c_rest * s
            self._waves[harmonic] = (c, s)
        return self._waves[harmonic]

    def _angle(self, angle: int) -> tuple[Scalar, Scalar]:
        """Cosine and sine of one angle."""
        if angle not in self._angles:
            if angle in self.layout.fixed_angles:
                cosine, sine = self.layout.fixed_angles[angle]
                self._angles[angle] = (self._scaled(*cosine), self._scaled(*sine))
            else:
                x = self._linear(self.layout.angles[angle], self.q)
                self._angles[angle] = (cos(x), sin(x))
        return self._angles[angle]


# ---- the closed forms as an algorithm and its carrier


class FormKind(NamedTuple):
    """What decides the code besides the pattern of the constants."""

    coordinates: int
    digest: str


@dataclass(frozen=True, eq=False)
class FormPart:
    """The only part of a carrier: all coordinates and all constants."""

    name: str
    kind: FormKind
    constants: FormConstants
    parent: int = -1
    start: int = 0

    @property
    def numbers(self) -> FormConstants:
        """The constants, which hold no nested lists."""
        return self.constants


@dataclass(frozen=True, eq=False)
class FormCarrier:
    """The closed forms of a robot with the numbers of one robot."""

    forms: ClosedForms

    view: ClassVar[type[LinkView]] = LinkView

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.forms.size

    @cached_property
    def gravity(self) -> Array:
        """m/s^2 (3,)"""
        return np.array(self.forms.gravity)

    @cached_property
    def links(self) -> tuple[FormPart, ...]:
        """The whole robot as one part."""
        forms = self.forms
        return (FormPart(forms.robot, FormKind(forms.size, forms.layout.digest()), forms.constants()),)

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The part has none."""
        return ((),)


Evaluation = Callable[[FormPose, Mapping[str, Sequence[Any]]], Vector]
"""A result at a pose, from inputs by name."""


@dataclass(frozen=True, slots=True)
class FormAlgorithm(Algorithm):
    """An algorithm over closed forms, traced as a whole."""

    step: Evaluation = lambda pose, inputs: []

    def evaluate(
        self,
        tree: Any,
        inputs: Mapping[str, Sequence[Any]],
        constants: Sequence[Any] | None = None,
        gravity: Vector | None = None,
    ) -> Vector:
        """The result on whatever scalars inputs, constants and gravity hold."""
        forms: ClosedForms = tree.forms
        (own,) = [part.constants for part in tree.links] if constants is None else constants
        acting = forms.gravity if gravity is None else gravity
        return self.step(FormPose(forms.layout, inputs["q"], own, acting, forms.coordinates), inputs)


def _algorithm(
    name: str, inputs: str, step: Callable[[FormPose, Mapping[str, Sequence[Any]]], Vector]
) -> FormAlgorithm:
    return FormAlgorithm(f"lagrange_{name}", tuple(inputs), (), "", step)


FORWARD = _algorithm("forward", "qvf", lambda pose, x: pose.forward(x["v"], x["f"]))
"""(q, v, generalised forces) -> accelerations"""

INVERSE = _algorithm("inverse", "qva", lambda pose, x: pose.inverse(x["v"], x["a"]))
"""(q, v, a) -> generalised forces"""

MASS = _algorithm("mass", "q", lambda pose, x: [entry for row in pose.mass_matrix() for entry in row])
"""q -> M, row by row"""

BIAS = _algorithm("bias", "qv", lambda pose, x: pose.bias(x["v"]))
"""(q, v) -> all forces but M a"""

ENERGY = _algorithm("energy", "qv", lambda pose, x: list(pose.energies(x["v"])))
"""(q, v) -> kinetic, elastic and gravity's energy"""

# ---- lagrange's equations in closed form as a method, for robots for which they are short enough


class LagrangeMethod(Method):
    """Both dynamics from M(q), its derivatives and G(q), term by term; exact for the model."""

    name = "lagrange"

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.carrier = FormCarrier(forms_of(mechanism))

    @classmethod
    def limits(cls, mechanism: Mechanism) -> Refusal | None:
        """Robots without closed forms, and those whose closed forms are too long."""
        try:
            forms_of(mechanism)
        except ModelError as error:
            return Refusal(str(error))
        return None

    def dynamics(self, what: Literal["forward", "inverse"]) -> Traced:
        """(q, v, f) -> accelerations, or (q, v, a) -> generalised forces."""
        return Traced(FORWARD if what == "forward" else INVERSE, self.carrier)
