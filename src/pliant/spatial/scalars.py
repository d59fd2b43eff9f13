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
STUMPFF_FAR = 4.5**2
"""Squared angle from which on the functions are found from sine and cosine: the series loses digits there."""


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


def exp(x: Scalar) -> Scalar:
    return x.exp() if hasattr(x, "exp") else np.exp(x)


def log(x: Scalar) -> Scalar:
    """The natural logarithm."""
    return x.log() if hasattr(x, "log") else np.log(x)


def ramp(x: Scalar) -> Scalar:
    """max(x, 0); what is not a number stays so."""
    return x.ramp() if hasattr(x, "ramp") else np.maximum(x, 0.0)


def step(x: Scalar) -> Scalar:
    """1 where x is positive, else 0: the slope of the ramp."""
    return x.step() if hasattr(x, "step") else np.heaviside(x, 0.0)


def clip(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """x, but not below low and not above high."""
    return low + ramp(x - low) - ramp(x - high)


def floor(x: Scalar) -> Scalar:
    """The largest whole number that is not above x, as encoders count; its derivative counts as zero."""
    return x.floor() if hasattr(x, "floor") else np.floor(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the vector (x, y), between -pi and pi."""
    if hasattr(y, "atan2"):
        return y.atan2(x)
    return x.angle_of(y) if hasattr(x, "angle_of") else np.arctan2(y, x)


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
    far = s.real > STUMPFF_FAR
    if not isinstance(far, np.ndarray):
        return stumpff_far(k, s) if far else stumpff_near(k, s)
    if not far.any():
        return stumpff_near(k, s)
    return np.where(far, stumpff_far(k, np.where(far, s, STUMPFF_FAR)), stumpff_near(k, np.where(far, 0.0, s)))


def stumpff_near(k: int, s: Scalar) -> Scalar:
    """c_k by its series, for angles up to 4.5 rad."""
    value: Scalar = 0.0
    for coefficient in reversed(stumpff_coefficients(k)):
        value = value * s + coefficient
    return value


def stumpff_far(k: int, s: Scalar) -> Scalar:
    """c_k by c_0 = cos x, c_1 = sin x / x and s c_(k+2) = 1/k! - c_k, for angles that are not small."""
    x = sqrt(s)
    value = sin(x) / x if k % 2 else cos(x)
    for order in range(k % 2, k, 2):
        value = (1.0 / factorial(order) - value) / s
    return value


def stumpff_beyond(k: int, lib: str = "") -> str:
    """``stumpff_far`` as text of C, Python and Matlab."""
    root = f"{lib}sqrt(s)"
    text = f"{lib}sin({root})/{root}" if k % 2 else f"{lib}cos({root})"
    for order in range(k % 2, k, 2):
        text = f"({1.0 / factorial(order)!r} - {text})/s"
    return text
