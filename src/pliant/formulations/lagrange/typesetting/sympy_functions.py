"""SymPy functions of a squared angle s: c1, c2, ..., of which exponential rotations are made, and the Cayley factor.

c_k(s) = sum_n (-s)^n/(2n + k)!, so that c1 = sin x/x and c2 = (1 - cos x)/x^2 with x = sqrt(s); they need no special
case at s = 0. See ``pliant.spatial.scalars``.
"""

from __future__ import annotations

from typing import Any

import sympy

from pliant.spatial.scalars import stumpff


class _Stumpff(sympy.Function):  # type: ignore[misc]
    """c_k with dc_k/ds = (k c_(k+2) - c_(k+1))/2."""

    nargs = 1
    order = 0

    def fdiff(self, argindex: int = 1) -> Any:
        """The derivative by s."""
        s = self.args[0]
        return (self.order * of_order(self.order + 2)(s) - of_order(self.order + 1)(s)) / 2

    def _eval_evalf(self, prec: int) -> Any:
        return sympy.Float(stumpff(self.order, float(self.args[0])), dps=15)


class c1(_Stumpff):
    """sin x/x"""

    order = 1


class c2(_Stumpff):
    """(1 - cos x)/x^2"""

    order = 2


class c3(_Stumpff):
    """(x - sin x)/x^3"""

    order = 3


class c4(_Stumpff):
    """(x^2/2 - 1 + cos x)/x^4"""

    order = 4


class c5(_Stumpff):
    """(x^3/6 - x + sin x)/x^5"""

    order = 5


class c6(_Stumpff):
    """The next one, for derivatives."""

    order = 6


class c7(_Stumpff):
    """The next one, for derivatives."""

    order = 7


class c8(_Stumpff):
    """The next one, for derivatives."""

    order = 8


class c9(_Stumpff):
    """The next one, for derivatives."""

    order = 9


def of_order(k: int) -> Any:
    """c_k"""
    return (c1, c2, c3, c4, c5, c6, c7, c8, c9)[k - 1]


class cayley(sympy.Function):  # type: ignore[misc]
    """4/(4 + s)"""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> Any:
        """The derivative by s."""
        return -(cayley(self.args[0]) ** 2) / 4

    def _eval_evalf(self, prec: int) -> Any:
        return sympy.Float(4.0 / (4.0 + float(self.args[0])), dps=15)
