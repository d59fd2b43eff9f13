"""Composite Gauss-Legendre rules with panels that end where the section or a shape has a kink."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

import numpy as np

from pliant.bodies.modal_body import Array

# points added to a rule for section data that varies along a panel (areas and moments of linear tapers)
TAPER_POINTS = 4
# rules that are kept: a robot needs the same few again and again
MOST_RULES = 64


def gauss(breaks: Iterable[float], points: int) -> tuple[Array, Array]:
    """Abscissae and weights of ``points`` Gauss points on each panel between successive breaks.

    Exact for polynomials of degree 2 * points - 1 on each panel.
    """
    return _rule(tuple(breaks), points)


@lru_cache(maxsize=MOST_RULES)
def _rule(breaks: tuple[float, ...], points: int) -> tuple[Array, Array]:
    ends = np.asarray(breaks, dtype=float)
    nodes, weights = _legendre(points)
    half = (ends[1:] - ends[:-1]) / 2
    middle = (ends[:-1] + ends[1:]) / 2
    found = (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()
    for array in found:
        array.flags.writeable = False
    return found


def merge_breaks(*lists: Iterable[float], length: float) -> tuple[float, ...]:
    """All breaks in order, those closer than rounding error joined; from 0 to ``length``."""
    return _merged(tuple(tuple(values) for values in lists), length)


@lru_cache(maxsize=MOST_RULES)
def _merged(lists: tuple[tuple[float, ...], ...], length: float) -> tuple[float, ...]:
    tolerance = 1e-12 * length
    merged = [0.0]
    for value in sorted({float(value) for values in lists for value in values}):
        if tolerance < value < length - tolerance and value - merged[-1] > tolerance:
            merged.append(value)
    return (*merged, float(length))


def equal_breaks(length: float, panels: int) -> tuple[float, ...]:
    """Ends of equal panels."""
    return tuple(length * k / panels for k in range(panels)) + (float(length),)


@cache
def _legendre(points: int) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(points)
    # the rule is symmetric; make it so to the bit
    return (nodes - nodes[::-1]) / 2, (weights + weights[::-1]) / 2
