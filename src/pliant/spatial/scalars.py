"""Elementary functions that work on floats, complex numbers, NumPy arrays and traced scalars.

A traced scalar brings methods of its own for them; everything else goes to NumPy.
"""

from __future__ import annotations

from functools import cache
from math import factorial
from typing import Any

import numpy as np

Scalar = Any
"""A float, a complex number, a NumPy array (a batch) or a traced scalar."""

STUMPFF_DEGREE = 13
"""Terms kept of the series below: full double precision for rotations up to 4.5 rad: beyond half a turn, where rotation
vectors of joints are replaced by shorter ones, and the step that went there."""


def is_zero(x: Scalar) -> bool:
    """True for the plain number 0: a structural zero, never a traced value that happens to vanish."""
    return type(x) in (float, int) and x == 0


def sin(x: Scalar) -> Scalar:
    return x.sin() if hasattr(x, "sin") else np.sin(x)


def cos(x: Scalar) -> Scalar:
    return x.cos() if hasattr(x, "cos") else np.cos(x)


def sqrt(x: Scalar) -> Scalar:
    return x.sqrt() if hasattr(x, "sqrt") else np.sqrt(x)


def tanh(x: Scalar) -> Scalar:
    return x.tanh() if hasattr(x, "tanh") else np.tanh(x)


def ramp(x: Scalar) -> Scalar:
    """max(x, 0); what is not a number stays so."""
    return x.ramp() if hasattr(x, "ramp") else np.maximum(x, 0.0)


def step(x: Scalar) -> Scalar:
    """1 where x is positive, else 0: the slope of the ramp."""
    return x.step() if hasattr(x, "step") else np.heaviside(x, 0.0)


def frozen(x: Scalar) -> Scalar:
    """x, but constant in derivatives."""
    return x.frozen() if hasattr(x, "frozen") else x


@cache
def stumpff_coefficients(k: int) -> tuple[float, ...]:
    """Taylor coefficients of c_k in s, lowest first."""
    return tuple((-1.0) ** n / factorial(2 * n + k) for n in range(STUMPFF_DEGREE + 1))


def stumpff(k: int, s: Scalar) -> Scalar:
    """The entire function c_k(s) = sum_n (-s)^n / (2n + k)!  of a squared angle s.

    c_0 = cos, c_1 = sin x / x, c_2 = (1 - cos x)/x^2, ... with x = sqrt(s); dc_k/ds = (k c_{k+2} - c_{k+1})/2.
    The exponential map and its rates are polynomials in these, so no branch at a small angle is needed.
    """
    if hasattr(s, "stumpff"):
        return s.stumpff(k)
    value: Scalar = 0.0
    for coefficient in reversed(stumpff_coefficients(k)):
        value = value * s + coefficient
    return value
