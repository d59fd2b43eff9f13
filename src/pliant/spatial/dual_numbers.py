"""Dual numbers x + eps y with eps^2 = 0: polynomials in eps, cut after the first order.

The real part is of order zero, the dual part of order one (Cibicik & Egeland, section II-A). Both are any scalars,
arrays for a batch of directions among them; a dual part that is the plain number 0 leaves a plain real part.
"""

from __future__ import annotations

from typing import Any

from pliant.spatial.scalars import Scalar, cos, is_zero, sin, sqrt, stumpff, tanh


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
