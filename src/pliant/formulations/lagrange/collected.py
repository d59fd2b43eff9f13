"""Series split into what is constant and what moves, so that an evaluation touches only what moves.

An entry of the equations becomes a sum of coefficient * product of coordinates * product of cosines and sines. A
coefficient is a sum of products of the robot's constants: it is computed once, when the constants are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pliant.formulations.lagrange.names import Names
from pliant.formulations.lagrange.series import BITS, MASK, Harmonic, Series, powers
from pliant.spatial.scalars import Scalar, cos, sin

Wave = tuple[Harmonic, bool]
"""A cosine, or a sine (true), of a sum of angles."""

ConstantProduct = tuple[int, tuple[Wave, ...]]
"""A monomial of constants, times cosines and sines of fixed angles."""

ConstantSum = tuple[tuple[ConstantProduct, float], ...]

NO_CONSTANTS: ConstantProduct = (0, ())


class MovingTerm(NamedTuple):
    """factor * coefficient * monomial of what moves; the coefficient is a place in a table, or none."""

    factor: float
    coefficient: int | None
    monomial: int


Entry = tuple[tuple[tuple[Wave, ...], tuple[MovingTerm, ...]], ...]
"""A sum over products of waves, each with the terms that it multiplies."""


@dataclass(slots=True)
class Coefficients:
    """A table of different sums of constants; equal ones share a place, and a sign stands with the term."""

    names: Names
    sums: list[ConstantSum] = field(default_factory=list)
    _places: dict[ConstantSum, int] = field(default_factory=dict)

    def place(self, parts: Mapping[ConstantProduct, float]) -> tuple[float, int | None]:
        """Factor and place of a sum of constants; a plain number is only a factor."""
        ordered = sorted((key, c) for key, c in parts.items() if c)
        if not ordered:
            return 0.0, None
        if len(ordered) == 1 and ordered[0][0] == NO_CONSTANTS:
            return ordered[0][1], None
        sign = 1.0 if ordered[0][1] > 0 else -1.0
        key = tuple((product, sign * c) for product, c in ordered)
        if key not in self._places:
            self._places[key] = len(self.sums)
            self.sums.append(key)
        return sign, self._places[key]

    def evaluate(self, values: Mapping[int, Scalar]) -> list[Scalar]:
        """The coefficients for values of the constants, which are given by their variables."""
        known: dict[int, Scalar] = dict(values)
        known.update({i: 1.0 / d for i, d in self.names.fractions.items()})
        known.update({i: 1.0 / values[base] for i, base in self.names.inverses.items() if base in values})
        products: dict[ConstantProduct, Scalar] = {}

        def product(key: ConstantProduct) -> Scalar:
            if key not in products:
                monomial, waves = key
                out: Scalar = 1.0
                for i, power in powers(monomial):
                    for _ in range(power):
                        out = out * known[i]
                for harmonic, is_sine in waves:
                    angle: Scalar = 0.0
                    for number, multiplier in harmonic:
                        ((factor, (variable,)),) = self.names.angle_parts[number]
                        angle = angle + multiplier * factor * known[variable]
                    out = out * (sin(angle) if is_sine else cos(angle))
                products[key] = out
            return products[key]

        out = []
        for each in self.sums:
            total: Scalar = 0.0
            for key, c in each:
                total = total + c * product(key)
            out.append(total)
        return out


@dataclass(slots=True)
class EntryCollector:
    """Splits series into terms that move and coefficients that do not."""

    names: Names
    constant_mask: int = field(init=False)
    fixed_angles: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        names = self.names
        constant = [i for i, c in names.constants.items() if c.kind != "gravity"]
        constant += [*names.inverses, *names.fractions]
        self.constant_mask = sum(MASK << BITS * i for i in constant)
        self.fixed_angles = frozenset(
            number
            for number, parts in names.angle_parts.items()
            if not any(v in names.coordinates for _, variables in parts for v in variables)
        )

    def entry(self, series: Series, table: Coefficients) -> Entry:
        """The terms of a series; their coefficients get places in a table."""
        groups: dict[tuple[Wave, ...], dict[int, dict[ConstantProduct, float]]] = {}
        for t, polynomial in series.terms.items():
            fixed, moving = self._split(series, t)
            for m, c in polynomial.items():
                constant = m & self.constant_mask
                parts = groups.setdefault(moving, {}).setdefault(m - constant, {})
                parts[constant, fixed] = parts.get((constant, fixed), 0.0) + c
        entry = []
        for waves, monomials in sorted(groups.items()):
            terms = (MovingTerm(*table.place(parts), monomial) for monomial, parts in sorted(monomials.items()))
            kept = tuple(term for term in terms if term.factor)
            if kept:
                entry.append((waves, kept))
        return tuple(entry)

    def linear(
        self, parts: Sequence[tuple[float, tuple[int, ...]]], table: Coefficients
    ) -> tuple[tuple[float, int | None, int], ...]:
        """sum of (factor, place of the coefficient, coordinate) from sums of factor * constants * coordinate."""
        by_coordinate: dict[int, dict[ConstantProduct, float]] = {}
        for factor, variables in parts:
            (q,) = (v for v in variables if v in self.names.coordinates)
            constant = sum(1 << BITS * v for v in variables if v != q)
            own = by_coordinate.setdefault(q, {})
            own[constant, ()] = own.get((constant, ()), 0.0) + factor
        return tuple((*table.place(own), q) for q, own in by_coordinate.items())

    def _split(self, series: Series, t: int) -> tuple[tuple[Wave, ...], tuple[Wave, ...]]:
        waves = [(harmonic, is_sine) for _, harmonic, is_sine in series.algebra.trig(t)]
        fixed = [wave for wave in waves if all(angle in self.fixed_angles for angle, _ in wave[0])]
        return tuple(fixed), tuple(wave for wave in waves if wave not in fixed)
