"""Shape functions of one coordinate along a beam: value, slope, curvature and third derivative.

Bending eigenfunctions of uniform beams are combinations of four functions of z = beta x / L,

    phi = a cos z + b sin z + c exp(-z) + d exp(-(beta - z)),

the two exponentials decaying from the root and from the tip. In this form nothing overflows and nothing large
is subtracted, whatever the mode number: the classical cosh z - cos z - sigma (sinh z - sin z) loses all its
digits at mode 12. Only first clamped modes, whose beta is small, keep the classical form: it is better there.

The roots beta L of the frequency equations are found here too. Every equation is divided by cosh(beta), so that
nothing overflows, and every root is enclosed before it is
polished: the bare roots by their asymptotic spacing, the roots with tip inertia by interlacing (a mass or a
rotary inertia is a rank-one change, so each new root lies between two old ones and none can be missed).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from math import ceil, cos, cosh, exp, factorial, perm, pi, sin, tanh
from typing import NamedTuple

import numpy as np

from pliant.bodies.modal_body import Array

# below this argument the differences of hyperbolic and circular functions are summed as power series
_SERIES = 1.5
# sin cosh - cos sinh = b^3 sum_k d_k b^4k and 1 - cos cosh = b^4 sum_k f_k b^4k; the seventh term is below 1e-19
_D0, _D1, _D2, _D3, _D4, _D5 = (4 * (-4.0) ** k / factorial(4 * k + 3) for k in range(6))
_F0, _F1, _F2, _F3, _F4, _F5 = (-((-4.0) ** (k + 1)) / factorial(4 * k + 4) for k in range(6))
EPSILON = 2.0**-53


def clamped_free(count: int) -> list[float]:
    """cos b cosh b = -1."""
    return list(_bare("clamped-free", count))


def free_free(count: int) -> list[float]:
    """cos b cosh b = 1, without the two rigid-body roots at zero (also the clamped-clamped roots)."""
    return list(_bare("free-free", count))


def pinned_free(count: int) -> list[float]:
    """tan b = tanh b, without the rigid-body root at zero (also the clamped-pinned roots)."""
    return list(_bare("pinned-free", count))


@cache
def _bare(ends: str, count: int) -> tuple[float, ...]:
    numbers = range(1, count + 1)
    match ends:
        case "clamped-free":
            return tuple(_root(lambda b: cos(b) + _sech(b), (k - 1) * pi, k * pi) for k in numbers)
        case "free-free":
            return tuple(_root(lambda b: cos(b) - _sech(b), k * pi, (k + 1) * pi) for k in numbers)
    return tuple(_root(lambda b: sin(b) - cos(b) * tanh(b), k * pi, (k + 0.5) * pi) for k in numbers)


def clamped_mass(count: int, mu: float, J: float) -> list[float]:
    """Clamped root, tip mass mu = m_tip / (rhoA L) and tip inertia J = J_tip / (rhoA L^3)."""
    bare = clamped_free(count)
    with_mass = _between(bare, _tip_equation(mu, 0.0)) if mu else bare
    return _between(with_mass, _tip_equation(mu, J)) if J else with_mass


def rod_clamped_mass(count: int, ratio: float) -> list[float]:
    """cot b = ratio * b: a rod or shaft with the tip inertia ``ratio`` times its own."""
    return [
        _root(lambda b: cos(b) - ratio * b * sin(b), (k - 1) * pi, (k - 0.5) * pi) if ratio else (k - 0.5) * pi
        for k in range(1, count + 1)
    ]


def _tip_equation(mu: float, J: float) -> Callable[[float], float]:
    """1 + cos cosh + mu b (cos sinh - sin cosh) - J b^3 (cos sinh + sin cosh) + mu J b^4 (1 - cos cosh), over cosh."""

    def equation(b: float) -> float:
        # written out, as it is asked for some forty times per link
        sech, th, c, s = 1.0 / cosh(b) if b < 300.0 else 2.0 * exp(-b), tanh(b), cos(b), sin(b)
        cube = b * b * b
        p = cube * b
        if b < _SERIES:
            # the differences start with b^3 and b^4: no subtraction of equal numbers
            difference = sech * cube * (((((_D5 * p + _D4) * p + _D3) * p + _D2) * p + _D1) * p + _D0)
            fixed = sech * p * (((((_F5 * p + _F4) * p + _F3) * p + _F2) * p + _F1) * p + _F0)
        else:
            difference, fixed = s - c * th, sech - c
        return sech + c - mu * b * difference - J * cube * (c * th + s) + mu * J * p * fixed

    return equation


def _between(old: list[float], equation: Callable[[float], float]) -> list[float]:
    # a step off the old root below, where a very small inertia leaves only rounding error
    below = [0.0, *(beta * (1 + 1e-9) for beta in old[:-1])]
    return [_root(equation, low, high) for low, high in zip(below, old, strict=True)]


def _root(equation: Callable[[float], float], low: float, high: float) -> float:
    """The root in an interval, by Chandrupatla's method (Adv. Eng. Software 28, 1997): quadratic or halving steps.

    Written out because the one import that would save it costs more than all roots of a robot.
    """
    a, b = high, low
    fa, fb = equation(a), equation(b)
    if fa * fb >= 0.0:
        # the inertia is too small to move the old root by more than a rounding error
        return high
    c, fc = a, fa
    part = 0.5
    while True:
        # the root lies between a, the newest point, and b; c is the point before them
        x = a + part * (b - a)
        fx = equation(x)
        if (fx > 0.0) == (fa > 0.0):
            c, fc = a, fa
        else:
            c, b, fc, fb = b, a, fb, fa
        a, fa = x, fx
        best = a if abs(fa) < abs(fb) else b
        least = 2 * EPSILON * abs(best) / abs(b - a)
        if fa == 0.0 or least > 0.5:
            return best
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        part = 0.5
        # inverse quadratic interpolation where it is monotonic
        if phi * phi < xi and (1 - phi) * (1 - phi) < 1 - xi:
            part = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
            part = least if part < least else 1 - least if part > 1 - least else part


def _sech(b: float) -> float:
    return 1.0 / cosh(b) if b < 300.0 else 2.0 * exp(-b)


ShapeFunction = Callable[[Array, float], Sequence[Array]]

# clamped modes below this root use the classical form
_LOW = 2.5
# of the series sinh z - sin z = 2 z^3 sum_k z^4k / (4 k + 3)!, and of its three derivatives: enough up to z = 3
CLAMPED_TERMS = 9
_CLAMPED = np.array([[2.0 / factorial(4 * k + first) for k in range(CLAMPED_TERMS)] for first in (3, 2, 1, 0)])
# Gauss points of a panel for functions of which nothing is known
_UNKNOWN_POINTS = 24
_UNKNOWN_PANELS = 16
_MOST_PANELS = 512
# part of its variation by which the integral of a derivative may miss the change of what it is the derivative of
_CONSISTENT = 1e-8
# tables of strain polynomials that are kept
MOST_TABLES = 64


class Harmonics(NamedTuple):
    """phi = c_1 cos z + c_2 cosh z + c_3 sin z + c_4 sinh z with z = root x / length, Lin & Lewis (32)."""

    root: float
    c: tuple[float, float, float, float]

    @property
    def sigma(self) -> float | None:
        """Sigma of cosh z - cos z - sigma (sinh z - sin z); None for shapes that are not clamped at z = 0."""
        c1, c2, c3, c4 = self.c
        size = max(map(abs, self.c))
        clamped = abs(c1 + c2) <= 1e-9 * size and abs(c3 + c4) <= 1e-9 * size and abs(c1) > 1e-9 * size
        return -c3 / c1 if clamped else None


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
        return np.asarray(self.derivatives(x.ravel(), (order,))[0].reshape(x.shape))

    def derivatives(self, x: Array, orders: Sequence[int]) -> Array:
        """Derivatives of some orders (0 to 3) with respect to x, at places x (orders, places)."""
        values = self._raw(x / self.length, orders)
        return _finished(values[:, None], [self], x, orders)[:, 0]

    def harmonics(self) -> Harmonics | None:
        """Its root and factors where it is a combination of circular and hyperbolic functions."""
        return None

    def scaled(self, factor: float) -> Shape:
        """The shape times a factor."""
        return replace(self, scale=self.scale * factor)

    @abstractmethod
    def _raw(self, xi: Array, orders: Sequence[int]) -> Array:
        """Derivatives of the raw formula with respect to xi = x / length (orders, places)."""

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

    def harmonics(self) -> Harmonics | None:
        # exp(-z) = cosh z - sinh z, and exp(-(beta - z)) = exp(-beta) (cosh z + sinh z)
        late = self.d * exp(-self.beta)
        c = (self.a, self.c + late, self.b, late - self.c)
        return Harmonics(self.beta, (c[0] * self.scale, c[1] * self.scale, c[2] * self.scale, c[3] * self.scale))

    def _raw(self, xi: Array, orders: Sequence[int]) -> Array:
        return _waves([self], xi, orders)[:, 0]

    @property
    def points(self) -> int:
        return _wave_points(self.beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamped(Shape):
    """cosh z - cos z - sigma (sinh z - sin z) with z = beta x / length, for small beta."""

    beta: float
    sigma: float

    def harmonics(self) -> Harmonics | None:
        s = self.scale
        return Harmonics(self.beta, (-s, s, self.sigma * s, -self.sigma * s))

    def _raw(self, xi: Array, orders: Sequence[int]) -> Array:
        # sinh - sin, cosh - cos, sinh + sin and cosh + cos: the derivative of each is the next
        known = _clamped_functions(self.beta * xi)
        even, odd = known.take([(k + 1) % 4 for k in orders], 0), known.take([k % 4 for k in orders], 0)
        return np.asarray(np.array([[self.beta**k] for k in orders]) * (even - self.sigma * odd))

    @property
    def points(self) -> int:
        return _wave_points(self.beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Power(Shape):
    """(x / length) ** degree."""

    degree: int

    def _raw(self, xi: Array, orders: Sequence[int]) -> Array:
        n = self.degree
        # the derivatives beyond its degree vanish
        return np.stack([perm(n, order) * xi ** max(n - order, 0) for order in orders])

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

    def _raw(self, xi: Array, orders: Sequence[int]) -> Array:
        return _strain_polynomials((self.degree,), self.integrals, xi, orders)[:, 0]

    @property
    def points(self) -> int:
        # 2 n - 1 >= 2 (degree + integrals) + 2
        return self.degree + self.integrals + 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Given(Shape):
    """A user's function: ``function(x, length)`` returns the value and at least two derivatives."""

    function: ShapeFunction
    cut: int = _UNKNOWN_PANELS

    def _raw(self, xi: Array, orders: Sequence[int]) -> Array:
        x = self.length * xi
        derivatives = self.function(x, self.length)
        if (most := max(orders)) >= len(derivatives):
            raise ValueError(f"the given shape has {len(derivatives) - 1} derivatives; number {most} is needed")
        if any(np.ma.isMaskedArray(values) for values in derivatives):
            raise ValueError(
                "the given shape returns masked arrays, whose hidden values mean nothing; return plain ones"
            )
        # a constant may come back as a scalar
        found = (self.length**order * np.asarray(derivatives[order], dtype=float) for order in orders)
        return np.stack([np.broadcast_to(values, x.shape) for values in found])

    @property
    def points(self) -> int:
        return _UNKNOWN_POINTS

    @property
    def panels(self) -> int:
        return self.cut

    def resolved(self, order: int) -> Given:
        """The shape on as many panels as its derivatives up to an order need; a shape that has none there is refused.

        On each panel the integral of a derivative must be the change of the one below it: it is not where a shape turns
        to and fro between the Gauss points, where it has a kink or a jump, or where a derivative is another function's.
        """
        nodes, weights = np.polynomial.legendre.leggauss(_UNKNOWN_POINTS)
        panels = _UNKNOWN_PANELS
        while panels <= _MOST_PANELS:
            ends = np.linspace(0.0, 1.0, panels + 1)
            half = 0.5 / panels
            inside = self._raw((ends[:-1, None] + half * (nodes + 1)).ravel(), range(1, order + 1))
            areas = half * inside.reshape(order, panels, -1) @ weights
            changes = np.diff(self._raw(ends, range(order)), axis=1)
            scale = half * np.abs(inside).reshape(order, -1).sum(axis=1) * 2 / _UNKNOWN_POINTS
            off = np.abs(areas - changes)
            if not np.isfinite(off).all() or np.all(off <= _CONSISTENT * scale[:, None]):
                # products of two shapes turn twice as often
                return replace(self, cut=panels if panels == _UNKNOWN_PANELS else 2 * panels)
            panels *= 2
        row, panel = np.unravel_index(int(np.argmax(off / np.where(scale > 0, scale, 1.0)[:, None])), off.shape)
        place = self.length * float(ends[panel] + half)
        raise ValueError(
            f"near x = {place:.4g} m the change of its derivative {row} is not the integral of derivative {row + 1}: "
            "it has a kink or a jump there, or varies too fast to be integrated; give a smooth shape, or cut the link"
        )


def bending_shapes(kind: str, count: int, length: float, *, mu: float = 0.0, J: float = 0.0) -> list[Shape]:
    """The first raw bending shapes of a uniform beam.

    Clamped and pinned shapes leave the root upwards, free-free ones start with a positive value; rigid-body
    modes are left out. ``mu`` = m_tip / (rhoA L) and ``J`` = J_tip / (rhoA L^3) belong to clamped-mass.
    """
    match kind:
        case "clamped-free":
            return [_clamped(beta, length, 0.0, (2, 3)) for beta in clamped_free(count)]
        case "clamped-mass":
            tip_zeros = (*((2,) if J == 0.0 else ()), *((3,) if mu == 0.0 else ()))
            return [_clamped(beta, length, mu, tip_zeros) for beta in clamped_mass(count, mu, J)]
        case "pinned-pinned":
            ends = (0, 2)
            return [
                Wave(length=length, beta=k * pi, b=1.0, root_zeros=ends, tip_zeros=ends) for k in range(1, count + 1)
            ]
        case "pinned-free":
            return [_pinned_free(beta, length) for beta in pinned_free(count)]
        case "free-free":
            return [_free_free(beta, length) for beta in free_free(count)]
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
            betas = rod_clamped_mass(count, ratio)
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


def sampled(shapes: Sequence[Shape], x: Array, orders: Sequence[int]) -> Array:
    """Derivatives of the shapes of one family of one beam at places x (orders, shapes, places)."""
    parts: list[Array] = []
    xi = x / shapes[0].length
    # shapes of one kind share their functions of the place
    for kind, group in groupby(shapes, type):
        alike = list(group)
        if issubclass(kind, Wave):
            parts.append(_waves(alike, xi, orders))  # type: ignore[arg-type]
        elif issubclass(kind, StrainPolynomial):
            degrees = tuple(shape.degree for shape in alike)  # type: ignore[attr-defined]
            parts.append(_strain_polynomials(degrees, alike[0].integrals, xi, orders))  # type: ignore[attr-defined]
        else:
            parts.append(np.array([shape._raw(xi, orders) for shape in alike]).swapaxes(0, 1))
    raw = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return _finished(raw, shapes, x, orders)


def _finished(raw: Array, shapes: Sequence[Shape], x: Array, orders: Sequence[int]) -> Array:
    """Values of the raw formulas (orders, shapes, places) with the scales of the shapes, and with their exact zeros."""
    scales = np.array([[shape.scale / shape.length**order for shape in shapes] for order in orders])
    values = scales[:, :, None] * raw
    for end, zeros in ((0.0, [s.root_zeros for s in shapes]), (shapes[0].length, [s.tip_zeros for s in shapes])):
        places = (x == end).nonzero()[0]
        if len(places):
            held = [(row, k) for k, own in enumerate(zeros) for row, order in enumerate(orders) if order in own]
            for at in places.tolist():
                for row, k in held:
                    values[row, k, at] = 0.0
    return values


def _clamped_functions(z: Array) -> Array:
    """sinh z - sin z, cosh z - cos z, sinh z + sin z and cosh z + cos z (4, places), by series of positive terms."""
    square = z * z
    powers = np.empty((CLAMPED_TERMS, len(z)))
    powers[0], powers[1:] = 1.0, square * square
    found = _CLAMPED @ np.multiply.accumulate(powers, axis=0, out=powers)
    found[0] *= square * z
    found[1] *= square
    found[2] *= z
    return np.asarray(found)


def _waves(waves: Sequence[Wave], xi: Array, orders: Sequence[int]) -> Array:
    """The raw formulas of several waves (orders, waves, places)."""
    beta = np.array([[w.beta] for w in waves])
    z = beta * xi
    parts = [np.cos(z), np.sin(z)]
    if any(w.c or w.d for w in waves):
        parts += [np.exp(-z), np.exp(z - beta)]
    # d/dz turns (cos, sin) by a quarter and changes the sign of exp(-z)
    turned = [lambda w: (w.a, w.b), lambda w: (w.b, -w.a), lambda w: (-w.a, -w.b), lambda w: (-w.b, w.a)]
    factors = [
        [[w.beta**k * f for f in (*turned[k % 4](w), (-1) ** k * w.c, w.d)[: len(parts)]] for w in waves]
        for k in orders
    ]  # fmt: skip
    return np.asarray(np.einsum("owf,fwp->owp", np.array(factors), np.array(parts)))


def _strain_polynomials(degrees: tuple[int, ...], integrals: int, xi: Array, orders: Sequence[int]) -> Array:
    """The raw formulas of several strain polynomials (orders, shapes, places)."""
    return _strain_table(degrees, tuple(integrals - order for order in orders), xi.tobytes())


@lru_cache(maxsize=MOST_TABLES)
def _strain_table(degrees: tuple[int, ...], integrals: tuple[int, ...], xi: bytes) -> Array:
    # beams of all stiffnesses, and most lengths, ask at the same fractions
    places = np.frombuffer(xi)
    return np.array([[_legendre(degree, times)(places) for degree in degrees] for times in integrals])


@cache
def _legendre(degree: int, integrals: int) -> np.polynomial.Legendre:
    """P_degree(2 xi - 1), integrated from 0 so many times (negative: differentiated)."""
    strain = np.polynomial.Legendre.basis(degree, domain=[0.0, 1.0])
    return strain.integ(integrals, lbnd=0.0) if integrals >= 0 else strain.deriv(-integrals)


def _strain_polynomial(degree: int, integrals: int, length: float, zeros: tuple[int, ...]) -> StrainPolynomial:
    # the raw formula has the strain P_degree itself, in 1/m for bending
    scale = length**integrals
    # P_n is orthogonal to all powers below n
    ends = tuple(order for order in range(integrals) if degree >= integrals - order)
    return StrainPolynomial(
        length=length, scale=scale, degree=degree, integrals=integrals, root_zeros=zeros, tip_zeros=ends
    )


def clamped_sigma(beta: float, mu: float = 0.0) -> float:
    """sigma of cosh z - cos z - sigma (sinh z - sin z) from the shear force of the tip mass."""
    if beta < _LOW:
        power, odd, even = beta**4, 0.0, 0.0
        for of_odd, of_even in _CLAMPED[:2, ::-1].T.tolist():
            odd, even = odd * power + of_odd, even * power + of_even
        odd, even = beta**3 * odd, beta**2 * even
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
