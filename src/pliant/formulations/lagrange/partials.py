"""Derivatives of series by what they are written in: coordinates, deflections of frames, and angles.

Deflections and angles of sections are linear in the coordinates. Taking the derivative by them, instead of by every
coordinate, keeps the velocity terms as short as the inertia matrix itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from pliant.formulations.lagrange.names import Names
from pliant.formulations.lagrange.series import BITS, MASK, Polynomial, Series


def by_angle(series: Series, angle: int) -> Series:
    """The derivative by an angle."""
    algebra = series.algebra
    out: dict[int, Polynomial] = {}
    for t, p in series.terms.items():
        trig = algebra.trig(t)
        for k, (group, harmonic, is_sine) in enumerate(trig):
            multiplier = dict(harmonic).get(angle, 0)
            if multiplier:
                other = (*trig[:k], (group, harmonic, not is_sine), *trig[k + 1 :])
                weight = float(multiplier if is_sine else -multiplier)
                out[algebra.trig_number(other)] = {m: weight * c for m, c in p.items()}
    return Series(algebra, out)


def by_variable(series: Series, variable: int, names: Names) -> Series:
    """The derivative by a coordinate or a deflection that stands in the series itself, or in a function of it."""
    parts = [_lowered(series, variable)]
    for number, function in names.functions.items():
        if variable in function.components:
            inner = _lowered(series, number)
            if inner:
                parts.append(inner * _function_slope(number, variable, names))
    return series.algebra.total(parts).reduced()


def _lowered(series: Series, variable: int) -> Series:
    shift = BITS * variable
    lower = {
        t: {m - (1 << shift): power * c for m, c in p.items() if (power := m >> shift & MASK)}
        for t, p in series.terms.items()
    }
    return Series(series.algebra, {t: p for t, p in lower.items() if p})


def _function_slope(number: int, component: int, names: Names) -> Series:
    """dc_k/dx = x (k c_(k+2) - c_(k+1)) with s = x^2 + ...; for the Cayley factor a it is -x a^2/2."""
    algebra, function = names.algebra, names.functions[number]
    x, k = algebra.monomial(component), function.order
    if k is None:
        return x * algebra.monomial(number, number) * -0.5
    after = [algebra.monomial(names.function(k + j, function.components)) for j in (1, 2)]
    return x * (after[1] * float(k) - after[0])


def moving_parts(series: Iterable[Series], names: Names) -> tuple[list[int], list[int]]:
    """The variables that move (coordinates and deflections) and the angles on which series depend, in order."""
    variables: set[int] = set()
    angles: set[int] = set()
    for each in series:
        variables |= each.variables()
        angles |= each.angles()
    for number in list(variables):
        if number in names.functions:
            variables |= set(names.functions[number].components)
    moving = [v for v in sorted(variables) if v in names.coordinates or v in names.abbreviations]
    return moving, sorted(angles)
