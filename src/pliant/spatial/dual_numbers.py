"""Dual numbers x + eps y with eps^2 = 0: polynomials in eps, cut after the first order; vectors and matrices of them.

The real part is of order zero, the dual part of order one (Cibicik & Egeland, section II-A). Both are any scalars,
arrays for a batch of directions among them; a dual part that is the plain number 0 leaves a plain real part. Dual
vectors and matrices are pairs of lists of scalars, in which structural zeros stay visible; products drop order two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pliant.spatial import vectors as plain
from pliant.spatial.scalars import Scalar, cos, is_zero, sin, sqrt, stumpff, tanh
from pliant.spatial.vectors import ZERO3, FactoredRotation, Matrix, Vector


class Dual:
    """real + eps dual."""

    __slots__ = ("dual", "real")
    # NumPy leaves products of arrays with dual numbers to this class
    __array_ufunc__ = None

    def __init__(self, real: Scalar, dual: Scalar) -> None:
        self.real = real
        self.dual = dual

    def __repr__(self) -> str:
        return f"Dual({self.real!r}, {self.dual!r})"

    def __add__(self, other: Any) -> Any:
        return dual(self.real + real_part(other), self.dual + dual_part(other))

    __radd__ = __add__

    def __neg__(self) -> Any:
        return Dual(-self.real, -self.dual)

    def __sub__(self, other: Any) -> Any:
        return dual(self.real - real_part(other), self.dual - dual_part(other))

    def __rsub__(self, other: Any) -> Any:
        return dual(other - self.real, -self.dual)

    def __mul__(self, other: Any) -> Any:
        a, b = self, other
        if type(b) is not Dual:
            return dual(_times(a.real, b), _times(a.dual, b))
        return dual(_times(a.real, b.real), _times(a.real, b.dual) + _times(a.dual, b.real))

    def __rmul__(self, other: Any) -> Any:
        return dual(_times(other, self.real), _times(other, self.dual))

    def __truediv__(self, other: Any) -> Any:
        if type(other) is not Dual:
            return dual(self.real / other, self.dual / other)
        real = self.real / other.real
        return dual(real, (self.dual - real * other.dual) / other.real)

    def __rtruediv__(self, other: Any) -> Any:
        real = other / self.real
        return dual(real, -real * self.dual / self.real)

    def sin(self) -> Any:
        return Dual(0.0, self.dual) if is_zero(self.real) else dual(sin(self.real), cos(self.real) * self.dual)

    def cos(self) -> Any:
        return 1.0 if is_zero(self.real) else dual(cos(self.real), -sin(self.real) * self.dual)

    def sqrt(self) -> Any:
        root = sqrt(self.real)
        return dual(root, self.dual / (2.0 * root))

    def tanh(self) -> Any:
        value = tanh(self.real)
        return dual(value, (1.0 - value * value) * self.dual)

    def stumpff(self, k: int) -> Any:
        """c_k of a squared angle; dc_k/ds = (k c_(k+2) - c_(k+1))/2."""
        slope = 0.5 * (k * stumpff(k + 2, self.real) - stumpff(k + 1, self.real))
        return dual(stumpff(k, self.real), _times(slope, self.dual))


def dual(real: Scalar, part: Scalar) -> Any:
    """A dual number, or its real part alone where the dual part is structurally zero."""
    return real if is_zero(part) else Dual(real, part)


def real_part(x: Any) -> Any:
    return x.real if type(x) is Dual else x


def dual_part(x: Any) -> Any:
    return x.dual if type(x) is Dual else 0.0


def _times(a: Scalar, b: Scalar) -> Scalar:
    """A product that keeps structural zeros."""
    return 0.0 if is_zero(a) or is_zero(b) else a * b


# ---- dual vectors and dual matrices as pairs of lists of scalars


class DualVector(NamedTuple):
    """real + eps dual, 3-vectors."""

    real: Vector
    dual: Vector

    @property
    def total(self) -> Vector:
        """Its value to first order: eps is one."""
        return plain.add(self.real, self.dual)


class DualMatrix(NamedTuple):
    """real + eps dual, 3 x 3."""

    real: Matrix
    dual: Matrix


def constant(x: Sequence[Scalar]) -> DualVector:
    """A vector of order zero."""
    return DualVector(list(x), list(ZERO3))


def small(x: Sequence[Scalar]) -> DualVector:
    """A vector of order one."""
    return DualVector(list(ZERO3), list(x))


def add(*vectors: DualVector) -> DualVector:
    return DualVector(plain.add(*(x.real for x in vectors)), plain.add(*(x.dual for x in vectors)))


def scale(k: Scalar, a: DualVector) -> DualVector:
    """A plain multiple."""
    return DualVector(plain.scale(k, a.real), plain.scale(k, a.dual))


def cross(a: DualVector, b: DualVector) -> DualVector:
    return DualVector(plain.cross(a.real, b.real), plain.add(plain.cross(a.real, b.dual), plain.cross(a.dual, b.real)))


def times(m: DualMatrix, x: DualVector) -> DualVector:
    return DualVector(plain.times(m.real, x.real), plain.add(plain.times(m.real, x.dual), plain.times(m.dual, x.real)))


def dot(a: DualVector, b: DualVector) -> tuple[Scalar, Scalar]:
    """Real and dual part."""
    return plain.dot(a.real, b.real), plain.dot(a.real, b.dual) + plain.dot(a.dual, b.real)


def is_zero_vector(x: DualVector) -> bool:
    """Whether both parts are structurally zero."""
    return all(is_zero(k) for k in (*x.real, *x.dual))


class DualTurn(NamedTuple):
    """The dual rotation matrix (1 + eps theta~) R of (31): a rigid rotation, then small section angles before it.

    rotation  R, order zero: parent axes <- own axes
    theta     (3,) order one, parent axes; None where nothing turns
    """

    rotation: FactoredRotation
    theta: Vector | None

    def apply(self, x: DualVector) -> DualVector:
        """Own axes -> parent axes, (39)."""
        real, dual = self.rotation.apply(x.real), self.rotation.apply(x.dual)
        return DualVector(real, dual if self.theta is None else plain.add(dual, plain.cross(self.theta, real)))

    def back(self, x: DualVector) -> DualVector:
        """Parent axes -> own axes, (40): the inverse is not the transpose of (31), but of its dual parts."""
        real, dual = x
        if self.theta is not None:
            dual = plain.add(dual, plain.cross(real, self.theta))
        return DualVector(self.rotation.back(real), self.rotation.back(dual))

    def turned(self, m: DualMatrix) -> DualMatrix:
        """R M R^T of a symmetric tensor, own axes -> parent axes, as (41)."""
        real, dual = (_similar(self.rotation, part) for part in m)
        if self.theta is not None:
            # theta~ M - M theta~ of a symmetric M is X + X^T with X = theta~ M
            X = plain.transpose([plain.cross(self.theta, plain.column(real, j)) for j in range(3)])
            dual = symmetric([[dual[i][j] + (X[i][j] + X[j][i]) for j in range(3)] for i in range(3)])
        return DualMatrix(real, dual)


def _similar(rotation: FactoredRotation, m: Matrix) -> Matrix:
    zero = plain.zeros(3, 3)
    return rotation.inertia(m, zero, zero)[0] if not all(is_zero(x) for row in m for x in row) else zero


def symmetric(m: Matrix) -> Matrix:
    """The upper triangle mirrored, so that each pair of entries is computed once."""
    return [[m[min(i, j)][max(i, j)] for j in range(3)] for i in range(3)]
