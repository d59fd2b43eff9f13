"""Shape functions of one coordinate along a beam: value, slope, curvature and third derivative.

Bending eigenfunctions of uniform beams are combinations of four functions of z = beta x / L,

    phi = a cos z + b sin z + c exp(-z) + d exp(-(beta - z)),

the two exponentials decaying from the root and from the tip. In this form nothing overflows and nothing large
is subtracted, whatever the mode number: the classical cosh z - cos z - sigma (sinh z - sin z) loses all its
digits at mode 12. Only first clamped modes, whose beta is small, keep the classical form: it is better there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, cos, cosh, exp, factorial, pi, sin

import numpy as np
from numpy.polynomial.legendre import legval

from pliant.bodies import roots
from pliant.bodies.modal_body import Array

ShapeFunction = Callable[[Array, float], Sequence[Array]]

# clamped modes below this root use the classical form
_LOW = 2.5
# Gauss points of a panel for functions of which nothing is known
_UNKNOWN_POINTS = 24
_UNKNOWN_PANELS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape(ABC):
    """One function phi(x) on [0, length].

    scale       factor on the raw formula
    root_zeros  derivatives that vanish at x = 0, returned as exact zeros
    tip_zeros   the same at x = length
    """

    length: float
    scale: float = 1.0
    root_zeros: tuple[int, ...] = ()
    tip_zeros: tuple[int, ...] = ()

    def __call__(self, x: Array | float, order: int = 0) -> Array:
        """The derivative of the given order (0 to 3) with respect to x, vectorised."""
        x = np.asarray(x, dtype=float)
        values = self.scale / self.length**order * self._derivative(x / self.length, order)
        if order in self.root_zeros:
            values = np.where(x == 0.0, 0.0, values)
        if order in self.tip_zeros:
            values = np.where(x == self.length, 0.0, values)
        return values

    def scaled(self, factor: float) -> Shape:
        """The same shape times a factor."""
        return replace(self, scale=self.scale * factor)

    @abstractmethod
    def _derivative(self, xi: Array, order: int) -> Array:
        """Derivative of the raw formula with respect to xi = x / length."""

    @property
    @abstractmethod
    def points(self) -> int:
        """Gauss points that integrate x^2 times a product of two such shapes to rounding error."""

    @property
    def panels(self) -> int:
        """Equal panels into which the length is cut for these points."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave(Shape):
    """a cos z + b sin z + c exp(-z) + d exp(-(beta - z)) with z = beta x / length."""

    beta: float
    a: float = 0.0
    b: float = 0.0
    c: float = 0.0
    d: float = 0.0

    def _derivative(self, xi: Array, order: int) -> Array:
        z = self.beta * xi
        # d/dz turns (cos, sin) by a quarter and changes the sign of exp(-z)
        a, b = [(self.a, self.b), (self.b, -self.a), (-self.a, -self.b), (-self.b, self.a)][order % 4]
        values = a * np.cos(z) + b * np.sin(z)
        if self.c or self.d:
            values = values + (-1) ** order * self.c * np.exp(-z) + self.d * np.exp(z - self.beta)
        return self.beta**order * values

    @property
    def points(self) -> int:
        return _wave_points(self.beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamped(Shape):
    """cosh z - cos z - sigma (sinh z - sin z) with z = beta x / length, for small beta."""

    beta: float
    sigma: float

    def _derivative(self, xi: Array, order: int) -> Array:
        z = self.beta * xi
        # differences and sums of cosh and cos (even), sinh and sin (odd); the derivative of each is the next
        functions = [_odd_difference, _even_difference, _odd_sum, _even_sum]
        first, second = functions[(order + 1) % 4], functions[order % 4]
        return self.beta**order * (first(z) - self.sigma * second(z))

    @property
    def points(self) -> int:
        return _wave_points(self.beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Power(Shape):
    """(x / length) ** degree."""

    degree: int

    def _derivative(self, xi: Array, order: int) -> Array:
        if order > self.degree:
            return np.zeros_like(xi)
        factor = factorial(self.degree) // factorial(self.degree - order)
        return factor * xi ** (self.degree - order)

    @property
    def points(self) -> int:
        # 2 n - 1 >= 2 degree + 2
        return self.degree + 2


@dataclass(frozen=True, slots=True, kw_only=True)
class StrainPolynomial(Shape):
    """The shape of a clamped beam whose derivative of order ``integrals`` is P_degree(2 xi - 1) of Legendre.

    Strains of one family are then orthogonal on a uniform beam: many of them stay independent to the last digit.
    """

    degree: int
    integrals: int

    def _derivative(self, xi: Array, order: int) -> Array:
        return np.asarray(_legendre(self.degree, self.integrals - order)(xi), dtype=float)

    @property
    def points(self) -> int:
        # 2 n - 1 >= 2 (degree + integrals) + 2
        return self.degree + self.integrals + 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Given(Shape):
    """A user's function: ``function(x, length)`` returns the value and at least two derivatives."""

    function: ShapeFunction

    def _derivative(self, xi: Array, order: int) -> Array:
        x = self.length * xi
        derivatives = self.function(x, self.length)
        if order >= len(derivatives):
            raise ValueError(f"the given shape has {len(derivatives) - 1} derivatives; number {order} is needed")
        values = np.asarray(derivatives[order], dtype=float)
        # a constant may come back as a scalar
        return self.length**order * np.broadcast_to(values, x.shape)

    @property
    def points(self) -> int:
        return _UNKNOWN_POINTS

    @property
    def panels(self) -> int:
        return _UNKNOWN_PANELS


def bending_shapes(kind: str, count: int, length: float, *, mu: float = 0.0, J: float = 0.0) -> list[Shape]:
    """The first raw bending shapes of a uniform beam.

    Clamped and pinned shapes leave the root upwards, free-free ones start with a positive value; rigid-body
    modes are left out. ``mu`` = m_tip / (rhoA L) and ``J`` = J_tip / (rhoA L^3) belong to clamped-mass.
    """
    match kind:
        case "clamped-free":
            return [_clamped(beta, length, 0.0, (2, 3)) for beta in roots.clamped_free(count)]
        case "clamped-mass":
            tip_zeros = (*((2,) if J == 0.0 else ()), *((3,) if mu == 0.0 else ()))
            return [_clamped(beta, length, mu, tip_zeros) for beta in roots.clamped_mass(count, mu, J)]
        case "pinned-pinned":
            ends = (0, 2)
            return [
                Wave(length=length, beta=k * pi, b=1.0, root_zeros=ends, tip_zeros=ends) for k in range(1, count + 1)
            ]
        case "pinned-free":
            return [_pinned_free(beta, length) for beta in roots.pinned_free(count)]
        case "free-free":
            return [_free_free(beta, length) for beta in roots.free_free(count)]
        case "polynomial":
            # a clamped root: neither constant nor linear term
            return [Power(length=length, degree=k + 1, root_zeros=(0, 1)) for k in range(1, count + 1)]
        case "legendre":
            return [_strain_polynomial(k, 2, length, (0, 1)) for k in range(count)]
    raise ValueError(f"unknown bending shape {kind!r}")


def rod_shapes(kind: str, count: int, length: float, *, ratio: float = 0.0) -> list[Shape]:
    """The first raw shapes of torsion or elongation of a uniform rod.

    ``ratio`` = tip inertia / inertia of the rod (polar for torsion, mass for elongation), for clamped-mass.
    """
    numbers = range(1, count + 1)
    match kind:
        case "clamped-free":
            betas = [(k - 0.5) * pi for k in numbers]
            return [Wave(length=length, beta=beta, b=1.0, root_zeros=(0, 2), tip_zeros=(1, 3)) for beta in betas]
        case "clamped-mass":
            betas = roots.rod_clamped_mass(count, ratio)
            tip_zeros = () if ratio else (1, 3)
            return [Wave(length=length, beta=beta, b=1.0, root_zeros=(0, 2), tip_zeros=tip_zeros) for beta in betas]
        case "pinned-pinned":
            return [Wave(length=length, beta=k * pi, b=1.0, root_zeros=(0, 2), tip_zeros=(0, 2)) for k in numbers]
        case "pinned-free" | "free-free":
            return [Wave(length=length, beta=k * pi, a=1.0, root_zeros=(1, 3), tip_zeros=(1, 3)) for k in numbers]
        case "polynomial":
            return [Power(length=length, degree=k, root_zeros=(0,)) for k in numbers]
        case "legendre":
            return [_strain_polynomial(k, 1, length, (0,)) for k in range(count)]
    raise ValueError(f"unknown rod shape {kind!r}")


def sampled(shapes: Sequence[Shape], x: Array, order: int) -> Array:
    """A derivative of several shapes at places x (shapes, places); strain polynomials go through one recurrence."""
    first, kinds = shapes[0], {type(shape) for shape in shapes}
    if kinds != {StrainPolynomial} or not isinstance(first, StrainPolynomial):
        return np.stack([shape(x, order) for shape in shapes])
    # the shapes of a set are those of one beam and one family
    degrees = tuple(shape.degree for shape in shapes if isinstance(shape, StrainPolynomial))
    raw = legval(2 * x / first.length - 1, _coefficients(degrees, first.integrals - order))
    values = np.array([shape.scale for shape in shapes])[:, None] / first.length**order * raw
    if order in first.root_zeros:
        values[:, x == 0.0] = 0.0
    return np.asarray(values)


@cache
def _coefficients(degrees: tuple[int, ...], integrals: int) -> Array:
    """Legendre coefficients of several strain polynomials, one column each."""
    columns = [_legendre(degree, integrals).coef for degree in degrees]
    out = np.zeros((max(len(c) for c in columns), len(columns)))
    for k, column in enumerate(columns):
        out[: len(column), k] = column
    return out


@cache
def _legendre(degree: int, integrals: int) -> np.polynomial.Legendre:
    """P_degree(2 xi - 1), integrated from 0 so many times (negative: differentiated)."""
    strain = np.polynomial.Legendre.basis(degree, domain=[0.0, 1.0])
    return strain.integ(integrals, lbnd=0.0) if integrals >= 0 else strain.deriv(-integrals)


def _strain_polynomial(degree: int, integrals: int, length: float, zeros: tuple[int, ...]) -> StrainPolynomial:
    # the raw formula has the strain P_degree itself, in 1/m for bending
    scale = length**integrals
    return StrainPolynomial(length=length, scale=scale, degree=degree, integrals=integrals, root_zeros=zeros)


def clamped_sigma(beta: float, mu: float = 0.0) -> float:
    """sigma of cosh z - cos z - sigma (sinh z - sin z) from the shear force of the tip mass."""
    if beta < _LOW:
        even, odd = float(_even_difference(np.array(beta))), float(_odd_difference(np.array(beta)))
        return (odd + beta * mu * even) / (cosh(beta) + cos(beta) + beta * mu * odd)
    # the same times 2 exp(-beta)
    c, s, e = cos(beta), sin(beta), exp(-beta)
    even, odd = 1 + e * e - 2 * e * c, 1 - e * e - 2 * e * s
    return (odd + beta * mu * even) / (1 + e * e + 2 * e * c + beta * mu * odd)


def _clamped(beta: float, length: float, mu: float, tip_zeros: tuple[int, ...]) -> Shape:
    sigma = clamped_sigma(beta, mu)
    if beta < _LOW:
        return Clamped(length=length, beta=beta, sigma=sigma, root_zeros=(0, 1), tip_zeros=tip_zeros)
    c, s, e = cos(beta), sin(beta), exp(-beta)
    # d = exp(beta) (1 - sigma) / 2, with the subtraction done by hand
    d = (e + c + s + beta * mu * (c - s - e)) / (1 + e * e + 2 * e * c + beta * mu * (1 - e * e - 2 * e * s))
    return Wave(
        length=length,
        beta=beta,
        a=-1.0,
        b=sigma,
        c=(1 + sigma) / 2,
        d=d,
        root_zeros=(0, 1),
        tip_zeros=tip_zeros,
    )


def _pinned_free(beta: float, length: float) -> Wave:
    # sin z + (sin beta / sinh beta) sinh z
    e = exp(-beta)
    d = sin(beta) / (1 - e * e)
    return Wave(length=length, beta=beta, b=1.0, c=-d * e, d=d, root_zeros=(0, 2), tip_zeros=(2, 3))


def _free_free(beta: float, length: float) -> Wave:
    # cosh z + cos z - sigma (sinh z + sin z), sigma = (cosh - cos) / (sinh - sin)
    c, s, e = cos(beta), sin(beta), exp(-beta)
    below = 1 - e * e - 2 * e * s
    sigma = (1 + e * e - 2 * e * c) / below
    return Wave(
        length=length, beta=beta, a=1.0, b=-sigma, c=(1 + sigma) / 2, d=(c - s - e) / below,
        root_zeros=(2, 3), tip_zeros=(2, 3),
    )  # fmt: skip


def _wave_points(beta: float) -> int:
    # a product of two waves is resolved once 2 n exceeds beta by several times beta^(1/3)
    return ceil(0.5 * beta + 6.0 * float(beta ** (1 / 3))) + 8


def _even_difference(z: Array) -> Array:
    # cosh z - cos z without cancellation
    result: Array = 2.0 * (np.sinh(z / 2) ** 2 + np.sin(z / 2) ** 2)
    return result


def _even_sum(z: Array) -> Array:
    result: Array = np.cosh(z) + np.cos(z)
    return result


def _odd_sum(z: Array) -> Array:
    result: Array = np.sinh(z) + np.sin(z)
    return result


def _odd_difference(z: Array) -> Array:
    # sinh z - sin z, by its series where the two are nearly equal
    x = z**4
    series = 2.0 * z**3 * sum(x**k / factorial(4 * k + 3) for k in range(5))
    return np.where(np.abs(z) < 1.0, series, np.sinh(z) - np.sin(z))
