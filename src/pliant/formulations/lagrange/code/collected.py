"""Series split into what is constant and what moves, so that an evaluation touches only what moves.

An entry of the equations becomes a sum of coefficient * product of coordinates * product of cosines and sines. A
coefficient is a sum of products of the robot's constants: it is computed once, when the constants are known. The layout
says what an evaluation does, without any numbers: terms, and places of their coefficients.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from pliant.formulations.lagrange.algebra.link_inertia import Matrix
from pliant.formulations.lagrange.algebra.series import BITS, MASK, Harmonic, Polynomial, Series, powers
from pliant.formulations.lagrange.algebra.symbols import Names, SpecialFunction
from pliant.formulations.lagrange.algebra.system_matrices import SymbolicSystem
from pliant.spatial.scalars import Scalar, cos, sin


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


# ---- series split into what is constant and what moves, so that an evaluation touches only what moves

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


# ---- what an evaluation of the closed forms does, without any numbers

Linear = tuple[tuple[float, int | None, int], ...]
"""A sum over coordinates: (factor, place of a coefficient or none, coordinate)."""

MatrixEntries = tuple[tuple[int, int, Entry], ...]
"""MatrixEntries of a symmetric matrix on and below its diagonal, those that are zero left out."""

VectorEntries = tuple[tuple[int, Entry], ...]
"""MatrixEntries of a vector."""


class RatePart(NamedTuple):
    """A quantity x in which M is written: x_dot is a sum of linear forms, and dM/dx has these entries.

    Quantities with the same dM/dx, such as an angle and the turn of the section before it, are one part.
    """

    forms: tuple[Linear, ...]
    slopes: MatrixEntries


class FrictionForm(NamedTuple):
    """Dry friction of one joint: the row of its motor angle, its effort (a loss) and its smoothing."""

    row: VectorEntries
    coulomb: Entry
    smoothing: Entry


@dataclass(frozen=True, slots=True)
class FormLayout:
    """The structure of the closed forms of one robot. Coordinates are counted in the robot's order.

    coordinates   variable -> place of the coordinate
    deflections   variable -> what it is in the coordinates
    functions     variable -> function of deflections
    angles        angle -> what it is in the coordinates
    fixed_angles  angle -> places of its cosine and sine among the coefficients
    gravity_axes  variable -> axis and sign
    rates         the derivatives of M

    The others are those of SymbolicSystem; the coefficients of F and of the efforts of friction are losses.
    """

    coordinates: dict[int, int]
    deflections: dict[int, Linear]
    functions: dict[int, SpecialFunction]
    angles: dict[int, Linear]
    fixed_angles: dict[int, tuple[tuple[float, int | None], tuple[float, int | None]]]
    gravity_axes: dict[int, tuple[int, float]]
    M: MatrixEntries
    rates: tuple[RatePart, ...]
    U: MatrixEntries
    F: MatrixEntries
    G: VectorEntries
    preload: VectorEntries
    friction: tuple[FrictionForm, ...]
    potential: Entry
    rest_energy: Entry

    @property
    def terms(self) -> int:
        """Number of terms of M, its derivatives and G."""
        entries = [e for _, _, e in self.M] + [e for part in self.rates for _, _, e in part.slopes]
        entries += [e for _, e in self.G]
        return sum(len(terms) for entry in entries for _, terms in entry)

    def digest(self) -> str:
        """Equal for two robots if and only if their evaluations are the same operations."""
        everything = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return hashlib.sha256(repr(everything).encode()).hexdigest()


def form_layout(names: Names, system: SymbolicSystem) -> tuple[FormLayout, Coefficients, Coefficients]:
    """The structure of the closed forms, their coefficients, and those that stand for losses."""
    return _LayoutBuilder(names, system).layout()


class _LayoutBuilder:
    def __init__(self, names: Names, system: SymbolicSystem) -> None:
        self.names, self.system = names, system
        self.collector = EntryCollector(names)
        self.coefficients, self.losses = Coefficients(names), Coefficients(names)
        self.place = {q: i for i, q in enumerate(system.coordinates)}

    def layout(self) -> tuple[FormLayout, Coefficients, Coefficients]:
        system, names, fixed = self.system, self.names, self.collector.fixed_angles
        variables, angles = moving_parts((*system.all_series(), system.potential), names)
        out = FormLayout(
            coordinates=dict(self.place),
            deflections={v: self._linear_of(v) for v in variables if v in names.abbreviations},
            functions=dict(names.functions),
            angles={a: self._linear(names.angle_parts[a]) for a in angles if a not in fixed},
            fixed_angles={a: self._fixed(a) for a in angles if a in fixed},
            gravity_axes=self._gravity_axes(),
            M=self._lower(system.M),
            rates=self._rates(),
            U=self._lower(system.U),
            F=self._lower(system.F, self.losses),
            G=self._column(system.G),
            preload=self._column(system.preload),
            friction=tuple(
                FrictionForm(
                    tuple((self.place[q], self._entry(weight)) for weight, q in each.row),
                    self._entry(each.coulomb, self.losses),
                    self._entry(each.smoothing),
                )
                for each in system.friction
            ),
            potential=self._entry(system.potential),
            rest_energy=self._entry(system.rest_energy),
        )
        return out, self.coefficients, self.losses

    def _rates(self) -> tuple[RatePart, ...]:
        """What M is written in, quantities with equal derivatives of M together."""
        rows = [(i, j, x) for i, row in enumerate(self.system.M) for j, x in enumerate(row[: i + 1]) if x]
        variables, angles = moving_parts((x for _, _, x in rows), self.names)
        together: dict[MatrixEntries, list[Linear]] = {}

        def add(form: Linear, slopes: Iterator[tuple[int, int, Series]]) -> None:
            entries = tuple((i, j, entry) for i, j, x in slopes if (entry := self._entry(x)))
            if entries:
                together.setdefault(entries, []).append(form)

        for v in variables:
            form: Linear = ((1.0, None, self.place[v]),) if v in self.place else self._linear_of(v)
            add(form, ((i, j, by_variable(x, v, self.names)) for i, j, x in rows))
        for a in sorted(set(angles) - self.collector.fixed_angles):
            add(self._linear(self.names.angle_parts[a]), ((i, j, by_angle(x, a)) for i, j, x in rows))
        return tuple(RatePart(tuple(forms), entries) for entries, forms in together.items())

    def _linear_of(self, deflection: int) -> Linear:
        return self._linear(self.names.abbreviations[deflection].parts)

    def _linear(self, parts: Sequence[tuple[float, tuple[int, ...]]]) -> Linear:
        found = self.collector.linear(parts, self.coefficients)
        return tuple((factor, place, self.place[q]) for factor, place, q in found)

    def _fixed(self, angle: int) -> tuple[tuple[float, int | None], tuple[float, int | None]]:
        waves = ((((angle, 1),), is_sine) for is_sine in (False, True))
        cosine, sine = (self.coefficients.place({(0, (wave,)): 1.0}) for wave in waves)
        return cosine, sine

    def _gravity_axes(self) -> dict[int, tuple[int, float]]:
        out = {}
        for axis, series in enumerate(self.system.gravity):
            for monomial, sign in series.terms.get(0, {}).items():
                ((variable, _),) = powers(monomial)
                out[variable] = (axis, sign)
        return out

    def _entry(self, series: Series, table: Coefficients | None = None) -> Entry:
        return self.collector.entry(series, self.coefficients if table is None else table)

    def _lower(self, matrix: Matrix, table: Coefficients | None = None) -> MatrixEntries:
        rows = ((i, j, x) for i, row in enumerate(matrix) for j, x in enumerate(row[: i + 1]))
        return tuple((i, j, entry) for i, j, x in rows if (entry := self._entry(x, table)))

    def _column(self, vector: Sequence[Series]) -> VectorEntries:
        return tuple((i, entry) for i, x in enumerate(vector) if (entry := self._entry(x)))
