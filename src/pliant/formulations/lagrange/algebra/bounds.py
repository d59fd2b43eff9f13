"""How large terms of the equations can become while the coordinates stay in a box; equations without the small ones.

The bound of a term is the product of the largest sizes of its factors: an interval for every angle gives the largest
cosine or sine in it. A sum of terms is at most as large as the sum of their bounds, so that what an entry is without is
bounded for every state in the box, but for rounding; nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, cos, factorial, floor, inf, pi, sin

import numpy as np
from numpy.typing import NDArray

from pliant.formulations.lagrange.algebra.series import Polynomial, Series, powers
from pliant.formulations.lagrange.algebra.symbols import Names
from pliant.formulations.lagrange.algebra.system_matrices import SymbolicSystem

Interval = tuple[float, float]
Floats = NDArray[np.float64]


@dataclass(slots=True)
class StateBox:
    """Intervals of the coordinates (by variable), largest rates, and values of all constants."""

    names: Names
    positions: Mapping[int, Interval]
    rates: Mapping[int, float]
    constants: Mapping[int, float]
    _sizes: dict[int, float] = field(default_factory=dict)
    _waves: dict[int, float] = field(default_factory=dict)

    def term(self, trig: int, monomial: int, coefficient: float) -> float:
        """The largest size of a term."""
        size = abs(coefficient) * self._wave(trig)
        for variable, power in powers(monomial):
            size *= self._size(variable) ** power
        return size

    def _size(self, i: int) -> float:
        if i not in self._sizes:
            self._sizes[i] = self._make_size(i)
        return self._sizes[i]

    def _make_size(self, i: int) -> float:
        names = self.names
        if i in names.coordinates:
            return max(map(abs, self.positions[i]))
        if i in self.constants:
            return abs(self.constants[i])
        if i in names.fractions:
            return 1.0 / names.fractions[i]
        if i in names.inverses:
            return 1.0 / abs(self.constants[names.inverses[i]])
        if i in names.abbreviations:
            return max(map(abs, self._sum(names.abbreviations[i].parts)))
        # |c_k(s)| <= c_k(0) = 1/k! for squares s, and 4/(4 + s) <= 1
        order = names.functions[i].order
        return 1.0 if order is None else 1.0 / factorial(order)

    def _sum(self, parts: Iterable[tuple[float, tuple[int, ...]]]) -> Interval:
        """The interval of a sum of factor * constants * coordinate."""
        low = high = 0.0
        for factor, variables in parts:
            ends = [factor, factor]
            for v in variables:
                if v in self.names.coordinates:
                    ends = [ends[0] * self.positions[v][0], ends[1] * self.positions[v][1]]
                elif v in self.names.abbreviations:
                    inner = self._sum(self.names.abbreviations[v].parts)
                    ends = [ends[0] * inner[0], ends[1] * inner[1]]
                else:
                    value = self._value(v)
                    ends = [x * value for x in ends]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _value(self, i: int) -> float:
        if i in self.names.inverses:
            return 1.0 / self.constants[self.names.inverses[i]]
        return 1.0 / self.names.fractions[i] if i in self.names.fractions else self.constants[i]

    def _wave(self, t: int) -> float:
        if t not in self._waves:
            size = 1.0
            for _, harmonic, is_sine in self.names.algebra.trig(t):
                low = high = 0.0
                for angle, multiplier in harmonic:
                    ends = [multiplier * x for x in self._sum(self.names.angle_parts[angle])]
                    low, high = low + min(ends), high + max(ends)
                size *= largest_wave(low, high, is_sine=is_sine)
            self._waves[t] = size
        return self._waves[t]


def largest_wave(low: float, high: float, *, is_sine: bool) -> float:
    """The largest size of a cosine or a sine over an interval."""
    if not (abs(low) < inf and abs(high) < inf) or high - low >= pi:
        return 1.0
    start = 0.5 * pi if is_sine else 0.0
    # extremes of both are half a turn apart
    if floor((high - start) / pi) >= ceil((low - start) / pi):
        return 1.0
    wave: Callable[[float], float] = sin if is_sine else cos
    return max(abs(wave(low)), abs(wave(high)))


@dataclass(frozen=True, slots=True)
class Neglected:
    """Equations without small terms, and how wrong they can be in the box.

    M, h, G   largest errors of the entries of M, of the velocity terms h = D v and of gravity   (n, n), (n,), (n,)
    terms     of M, D and G before and after
    """

    system: SymbolicSystem
    M: Floats
    h: Floats
    G: Floats
    terms: tuple[int, int]


def neglect(system: SymbolicSystem, box: StateBox, tolerance: float, scale: Floats) -> Neglected:
    """Leave out the smallest terms of each entry, as long as their bounds add up to less than a part of its scale.

    scale  of the entries of M (n, n); that of a row of h or G is the bound of its largest term
    """
    n = len(system.coordinates)
    rates = [box.rates[q] for q in system.coordinates]
    M = [list(row) for row in system.M]
    of_M, of_h, of_G = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for i in range(n):
        for k in range(i, n):
            (M[i][k],), error = _without_small([(1.0, M[i][k])], box, tolerance * float(scale[i, k]))
            M[k][i] = M[i][k]
            of_M[i, k] = of_M[k, i] = error
    gammas: list[list[dict[int, Series]]] = [[{} for _ in range(n)] for _ in range(n)]
    for i in range(n):
        places = [(j, k) for j in range(n) for k in system.christoffel[i][j] if k >= j]
        # Gamma_ijk v_j v_k occurs twice where j and k differ
        weighted = [((2.0 if j != k else 1.0) * rates[j] * rates[k], system.christoffel[i][j][k]) for j, k in places]
        kept, of_h[i] = _without_small(weighted, box, tolerance * _largest(weighted, box))
        for (j, k), x in zip(places, kept, strict=True):
            if x:
                gammas[i][j][k] = gammas[i][k][j] = x
    G = list(system.G)
    for i in range(n):
        (G[i],), of_G[i] = _without_small([(1.0, G[i])], box, tolerance * _largest([(1.0, G[i])], box))
    shorter = replace(system, M=M, christoffel=gammas, G=G)
    return Neglected(shorter, of_M, of_h, of_G, (system.terms, shorter.terms))


def _largest(weighted: Sequence[tuple[float, Series]], box: StateBox) -> float:
    return max(
        (w * box.term(t, m, c) for w, x in weighted for t, p in x.terms.items() for m, c in p.items()), default=0
    )


def _without_small(
    weighted: Sequence[tuple[float, Series]], box: StateBox, allowed: float
) -> tuple[list[Series], float]:
    """Series without their smallest terms, and the sum of the bounds of these."""
    sizes = sorted(
        (w * box.term(t, m, c), number, t, m)
        for number, (w, x) in enumerate(weighted)
        for t, p in x.terms.items()
        for m, c in p.items()
    )
    total, dropped = 0.0, set[tuple[int, int, int]]()
    for size, number, t, m in sizes:
        if total + size > allowed:
            break
        total += size
        dropped.add((number, t, m))
    out = []
    for number, (_, x) in enumerate(weighted):
        kept: dict[int, Polynomial] = {}
        for t, p in x.terms.items():
            left = {m: c for m, c in p.items() if (number, t, m) not in dropped}
            if left:
                kept[t] = left
        out.append(Series(x.algebra, kept))
    return out, total
