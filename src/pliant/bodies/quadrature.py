"""Composite Gauss-Legendre rules with panels that end where the section or a shape has a kink."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from pliant.bodies.modal_body import Array

# points added to a rule for section data that varies along a panel (areas and moments of linear tapers)
TAPER_POINTS = 4


def gauss(breaks: Iterable[float], points: int) -> tuple[Array, Array]:
    """Abscissae and weights of ``points`` Gauss points on each panel between successive breaks.

    Exact for polynomials of degree 2 * points - 1 on each panel.
    """
    ends = np.asarray(tuple(breaks), dtype=float)
    nodes, weights = _legendre(points)
    half = np.diff(ends) / 2
    middle = (ends[:-1] + ends[1:]) / 2
    x = middle[:, None] + half[:, None] * nodes
    return x.ravel(), (half[:, None] * weights).ravel()


def merge_breaks(*lists: Iterable[float], length: float) -> tuple[float, ...]:
    """All breaks in order, those closer than rounding error joined; from 0 to ``length``."""
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
