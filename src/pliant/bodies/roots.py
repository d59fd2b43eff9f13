"""Roots beta L of the frequency equations of uniform beams and rods.

Every equation is divided by cosh(beta), so that nothing overflows, and every root is enclosed before it is
polished: the bare roots by their asymptotic spacing, the roots with tip inertia by interlacing (a mass or a
rotary inertia is a rank-one change, so each new root lies between two old ones and none can be missed).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import cos, cosh, exp, factorial, pi, sin, tanh

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
