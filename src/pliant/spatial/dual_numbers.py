"""Dual numbers x + eps y with eps^2 = 0: polynomials in eps, cut after the first order; vectors and matrices of them.

The real part is of order zero, the dual part of order one (Cibicik & Egeland, section II-A). Both are any scalars,
arrays for a batch of directions among them; a dual part that is the plain number 0 leaves a plain real part. Dual
vectors and matrices are pairs of lists of scalars, in which structural zeros stay visible; products drop order two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pliant.spatial import vectors as plain
from pliant.spatial.scalars import Scalar, atan2, cos, is_zero, sin, sqrt, stumpff, tanh
from pliant.spatial.vectors import ZERO3, FactoredRotation, Matrix, Vector


class Dual:
    """real + eps dual with eps^2 = 0; parts are numbers, complex ones, NumPy arrays or traced scalars.

    Operators + - * / ** @ and abs, and NumPy's functions (np.sin(x), np.exp(x), np.arctan2(y, x), ...): a function
    f gives f(real) + eps f'(real) dual. Two dual numbers are equal where both parts are; they have no order.
    """

    __slots__ = ("dual", "real")

    def __init__(self, real: Scalar, dual: Scalar) -> None:
        for name, part in (("real", real), ("dual", dual)):
            if part is None or isinstance(part, str | bytes | Dual | list | tuple):
                raise TypeError(f"the {name} part is {part!r}; it must be a number or a NumPy array")
        self.real = real
        self.dual = dual

    def __repr__(self) -> str:
        return f"Dual({self.real!r}, {self.dual!r})"

    # ---- operators

    def __add__(self, other: Any) -> Any:
        return dual(self.real + real_part(other), self.dual + dual_part(other))

    __radd__ = __add__

    def __pos__(self) -> Any:
        return self

    def __neg__(self) -> Any:
        return Dual(-self.real, -self.dual)

    def __abs__(self) -> Any:
        """|x|; at zero, where it has no derivative, the dual part is zero."""
        return dual(abs(self.real), _times(np.sign(self.real), self.dual))

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

    def __matmul__(self, other: Any) -> Any:
        if type(other) is not Dual:
            return Dual(self.real @ other, self.dual @ other)
        return Dual(self.real @ other.real, self.real @ other.dual + self.dual @ other.real)

    def __rmatmul__(self, other: Any) -> Any:
        return Dual(other @ self.real, other @ self.dual)

    def __truediv__(self, other: Any) -> Any:
        if type(other) is not Dual:
            return dual(self.real / other, self.dual / other)
        real = self.real / other.real
        return dual(real, (self.dual - real * other.dual) / other.real)

    def __rtruediv__(self, other: Any) -> Any:
        real = other / self.real
        return dual(real, -real * self.dual / self.real)

    def __pow__(self, other: Any) -> Any:
        if type(other) is Dual:
            return np.exp(other * self.log())
        # x^0 is one everywhere
        return 1.0 if is_zero(other) else dual(self.real**other, other * self.real ** (other - 1) * self.dual)

    def __rpow__(self, other: Any) -> Any:
        return np.exp(self * np.log(other))

    def __eq__(self, other: object) -> Any:
        return (self.real == real_part(other)) & (self.dual == dual_part(other))

    def __ne__(self, other: object) -> Any:
        return (self.real != real_part(other)) | (self.dual != dual_part(other))

    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        raise TypeError(f"{self!r} is no plain number; take its real_part or dual_part")

    def conjugate(self) -> Dual:
        """real - eps dual."""
        return Dual(self.real, -self.dual)

    # ---- functions

    def sin(self) -> Any:
        return Dual(0.0, self.dual) if is_zero(self.real) else dual(sin(self.real), cos(self.real) * self.dual)

    def cos(self) -> Any:
        return 1.0 if is_zero(self.real) else dual(cos(self.real), -sin(self.real) * self.dual)

    def tan(self) -> Any:
        value = np.tan(self.real)
        return dual(value, (1.0 + value * value) * self.dual)

    def arcsin(self) -> Any:
        return dual(np.arcsin(self.real), self.dual / np.sqrt(1.0 - self.real * self.real))

    def arccos(self) -> Any:
        return dual(np.arccos(self.real), -self.dual / np.sqrt(1.0 - self.real * self.real))

    def arctan(self) -> Any:
        return dual(np.arctan(self.real), self.dual / (1.0 + self.real * self.real))

    def atan2(self, x: Any) -> Any:
        """The angle of the vector (x, self)."""
        y0, y1, x0, x1 = self.real, self.dual, real_part(x), dual_part(x)
        return dual(atan2(y0, x0), (x0 * y1 - y0 * x1) / (x0 * x0 + y0 * y0))

    def angle_of(self, y: Any) -> Any:
        """The angle of the vector (self, y), y a plain number."""
        return Dual(y, 0.0).atan2(self)

    def sinh(self) -> Any:
        return dual(np.sinh(self.real), np.cosh(self.real) * self.dual)

    def cosh(self) -> Any:
        return dual(np.cosh(self.real), np.sinh(self.real) * self.dual)

    def tanh(self) -> Any:
        value = tanh(self.real)
        return dual(value, (1.0 - value * value) * self.dual)

    def arcsinh(self) -> Any:
        return dual(np.arcsinh(self.real), self.dual / np.sqrt(self.real * self.real + 1.0))

    def arccosh(self) -> Any:
        return dual(np.arccosh(self.real), self.dual / np.sqrt(self.real * self.real - 1.0))

    def arctanh(self) -> Any:
        return dual(np.arctanh(self.real), self.dual / (1.0 - self.real * self.real))

    def exp(self) -> Any:
        value = np.exp(self.real)
        return dual(value, value * self.dual)

    def log(self) -> Any:
        return dual(np.log(self.real), self.dual / self.real)

    def sqrt(self) -> Any:
        root = sqrt(self.real)
        return dual(root, self.dual / (2.0 * root))

    def stumpff(self, k: int) -> Any:
        """c_k of a squared angle; dc_k/ds = (k c_(k+2) - c_(k+1))/2."""
        slope = 0.5 * (k * stumpff(k + 2, self.real) - stumpff(k + 1, self.real))
        return dual(stumpff(k, self.real), _times(slope, self.dual))

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's functions and operators with arrays; what is not listed is refused by NumPy."""
        name = function.__name__
        if method == "__call__" and not options and name in UNARY:
            return getattr(inputs[0], UNARY[name])()
        if method == "__call__" and not options and name in BINARY:
            a, b = inputs
            left, right = BINARY[name]
            return getattr(a, left)(b) if type(a) is Dual else getattr(b, right)(a)
        return NotImplemented


FUNCTIONS = (
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
    *("exp", "log", "sqrt", "conjugate"),
)
"""NumPy's functions of one argument that are methods of the same name."""
UNARY = {"negative": "__neg__", "positive": "__pos__", "absolute": "__abs__", **{name: name for name in FUNCTIONS}}
"""NumPy's functions of one argument -> the method."""
BINARY = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "power": ("__pow__", "__rpow__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "arctan2": ("atan2", "angle_of"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
}
"""NumPy's functions of two arguments -> the method of a dual number on the left, and on the right of a plain one."""


def dual(real: Scalar, part: Scalar) -> Any:
    """A dual number, or its real part alone where the dual part is structurally zero."""
    return real if is_zero(part) else Dual(real, part)


def real_part(x: Any) -> Any:
    """The part of order zero of a dual number; a plain number itself."""
    return x.real if type(x) is Dual else x


def dual_part(x: Any) -> Any:
    """The part of order one of a dual number; zero of a plain number."""
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
