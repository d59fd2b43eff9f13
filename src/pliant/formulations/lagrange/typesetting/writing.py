"""From series to expressions that read like a textbook.

Every term of M, D and G has one inertia as a factor (the equations are linear in them), so terms are collected by it,
and what they have in common is put before the parentheses. In D, terms with the same combination of velocities are
collected first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from pliant.formulations.lagrange.algebra.series import BITS, Algebra, Series, powers
from pliant.formulations.lagrange.algebra.symbols import KINDS, Abbreviation, Constant, Names
from pliant.formulations.lagrange.typesetting.expression import (
    ZERO,
    Call,
    Factor,
    Name,
    Number,
    Product,
    Sum,
    exact,
    product_of,
    times,
)

Parts = tuple[tuple[float, tuple[int, ...]], ...]
ONE = Fraction(1)


@dataclass(slots=True)
class EquationWriter:
    """Names of the variables of an algebra, and numbers for those that are to be numbers.

    expanded  write abbreviations (deflection and slope of a tip) out
    inside    constants that are written as what they are made of
    """

    names: Names
    constants: Mapping[int, Constant]
    values: Mapping[int, float]
    expanded: bool
    inside: Mapping[int, Sum] = field(default_factory=dict)
    _factors: dict[int, Factor] = field(default_factory=dict)
    _angles: dict[int, Sum] = field(default_factory=dict)

    @property
    def algebra(self) -> Algebra:
        """The algebra of the series."""
        return self.names.algebra

    # ---- whole entries

    def entry(self, series: Series) -> Sum:
        """A series as a sum, collected by inertia."""
        terms = self._terms(series)
        if not terms:
            return ZERO
        groups: dict[int | None, list[tuple[int, int, float]]] = {}
        for t, m, c in terms:
            groups.setdefault(self._scale(m), []).append((t, m, c))
        out = [(self._rank(scale), self._group(scale, members)) for scale, members in groups.items()]
        # bare inertias stand last
        out.sort(key=lambda item: (self._is_bare(item[1]), item[0]))
        return Sum(tuple(part for _, product in out for part in _opened(product)))

    def velocity_entry(self, symbols: Mapping[int, Series], rates: Sequence[Name]) -> Sum:
        """sum_k Gamma_k v_k, collected by combinations of velocities."""
        forms: dict[tuple[int, int], list[tuple[int, float]]] = {}
        for k in sorted(symbols):
            for t, m, c in self._terms(symbols[k]):
                forms.setdefault((t, m), []).append((k, c))
        by_form: dict[tuple[tuple[int, float], ...], dict[int, dict[int, float]]] = {}
        for (t, m), entries in forms.items():
            first = entries[0][1]
            form = tuple((k, c / first) for k, c in entries)
            by_form.setdefault(form, {}).setdefault(t, {})[m] = first
        out = []
        for form, terms in sorted(by_form.items(), key=lambda item: item[0]):
            velocity = Sum(tuple(Product(self._number(c), ((rates[k], 1),)) for k, c in form))
            out.append(product_of(ONE, self.entry(Series(self.algebra, terms)), velocity))
        return Sum(tuple(out))

    # ---- one collected group

    def _group(self, scale: int | None, members: Sequence[tuple[int, int, float]]) -> Product:
        shift = 0 if scale is None else 1 << BITS * scale
        rest = [(t, m - shift, c) for t, m, c in members]
        head: list[Factor] = [] if scale is None else [self.factor(scale)]
        if len(rest) == 1:
            return product_of(ONE, *head, Sum((self._term(*rest[0]),)))
        common = _common(m for _, m, _ in rest)
        trigs = {t for t, _, _ in rest}
        number, shared = self._split(common)
        head += shared
        tail: list[Factor] = []
        if len(trigs) == 1:
            tail = list(self._waves(trigs.pop()))
            rest = [(0, m, c) for _, m, c in rest]
        # plain terms first, then those with few angles; within them in the order of the parameters
        rest.sort(key=lambda term: (self._trig_rank(term[0]), self._monomial_rank(term[1])))
        inner = Sum(tuple(self._term(t, m - common, c) for t, m, c in rest))
        return product_of(number, *head, inner, *tail)

    def _term(self, t: int, monomial: int, coefficient: float) -> Product:
        number, factors = self._split(monomial)
        return product_of(times(self._number(coefficient), number), *factors, *self._waves(t))

    def _split(self, monomial: int) -> tuple[Number, list[Factor]]:
        """The number that the fractions of a monomial make, and its other factors in the order of reading."""
        number, factors = ONE, []
        for i, power in self._ordered(monomial):
            if i in self.names.fractions:
                number /= self.names.fractions[i] ** power
            else:
                factors += [self.factor(i)] * power
        return number, factors

    def _number(self, coefficient: float) -> Number:
        """A fraction in symbolic equations; whole numbers and decimals where constants became numbers."""
        return coefficient if self.values and coefficient != int(coefficient) else exact(coefficient)

    def _ordered(self, monomial: int) -> list[tuple[int, int]]:
        return sorted(powers(monomial), key=lambda item: self._rank(item[0]))

    def _rank(self, variable: int | None) -> tuple[int, int]:
        """Inertias first, then lengths, modal constants and at last coordinates."""
        if variable is None:
            return (-1, 0)
        if variable in self.names.fractions:
            return (-1, 1)
        base = self.names.inverses.get(variable, variable)
        constant = self.constants.get(base)
        if constant is None:
            return (len(KINDS) + 1, variable)
        kinds = ("inertia", "gravity", "stiffness", "damping", "geometry", "modal")
        return (0 if constant.scales else kinds.index(constant.kind), variable)

    def _monomial_rank(self, monomial: int) -> tuple[tuple[int, int], ...]:
        moving = sum(power for i, power in powers(monomial) if i not in self.constants)
        return ((moving, 0), *((self._rank(i)[1], -power) for i, power in self._ordered(monomial)))

    def _trig_rank(self, t: int) -> tuple[int, bool, tuple[tuple[int, int], ...]]:
        trig = self.algebra.trig(t)
        harmonics = tuple(pair for _, harmonic, _ in trig for pair in harmonic)
        return (len(harmonics), any(is_sine for _, _, is_sine in trig), harmonics)

    def _is_bare(self, product: Product) -> bool:
        return len(product.factors) == 1 and product.factors[0][1] == 1 and isinstance(product.factors[0][0], Name)

    def _scale(self, monomial: int) -> int | None:
        for i, _ in powers(monomial):
            constant = self.constants.get(i)
            if constant is not None and constant.scales and i not in self.values:
                return i
        return None

    def _terms(self, series: Series) -> list[tuple[int, int, float]]:
        numbers = {**self.values, **{i: 1.0 / d for i, d in self.names.fractions.items()}} if self.values else {}
        for i, base in self.names.inverses.items():
            if base in self.values:
                numbers[i] = 1.0 / self.values[base]
        reduced = series.with_numbers(numbers) if numbers else series
        return [(t, m, c) for t, p in reduced.terms.items() for m, c in p.items()]

    # ---- factors

    def factor(self, variable: int) -> Factor:
        """A variable as a factor."""
        if variable not in self._factors:
            self._factors[variable] = self._make_factor(variable)
        return self._factors[variable]

    def _make_factor(self, i: int) -> Factor:
        names = self.names
        if i in self.inside:
            return self.inside[i]
        if i in names.constants:
            constant = self.constants.get(i, names.constants[i])
            return Name(constant.name, constant.latex)
        if i in names.coordinates:
            return Name(names.coordinates[i].name, names.coordinates[i].latex)
        if i in names.inverses:
            base = self.factor(names.inverses[i])
            return Sum((Product(ONE, ((base, -1),)),))
        if i in names.abbreviations:
            short = names.abbreviations[i]
            return self.linear(short.parts) if self.expanded else Name(short.name, short.latex)
        special = names.functions[i]
        argument = Sum(tuple(product_of(ONE, *[self.factor(v)] * 2) for v in special.components))
        if special.order is None:
            return Call("cayley", r"\mathrm{cay}", argument)
        return Call(f"c{special.order}", f"c_{{{special.order}}}", argument)

    def _waves(self, t: int) -> list[Factor]:
        out: list[Factor] = []
        for _, harmonic, is_sine in self.algebra.trig(t):
            parts: list[Product] = []
            for angle, multiplier in harmonic:
                parts += [
                    Product(times(Fraction(multiplier), p.coefficient), p.factors) for p in self.angle(angle).parts
                ]
            out.append(Call("sin", r"\sin", Sum(tuple(parts))) if is_sine else Call("cos", r"\cos", Sum(tuple(parts))))
        return out

    def angle(self, number: int) -> Sum:
        """An angle as a sum: a coordinate, a constant, or the turn of a section."""
        if number not in self._angles:
            short = self.names.angle_names.get(number)
            if short is not None and not self.expanded:
                self._angles[number] = Sum((Product(ONE, ((Name(short.name, short.latex), 1),)),))
            else:
                self._angles[number] = self.linear(self.names.angle_parts[number])
        return self._angles[number]

    def linear(self, parts: Parts) -> Sum:
        """sum of factor * variables."""
        products = []
        for coefficient, variables in parts:
            factors: list[Factor] = []
            for v in variables:
                base = self.names.inverses.get(v)
                if v in self.values:
                    coefficient *= self.values[v]
                elif base is not None and base in self.values:
                    coefficient /= self.values[base]
                else:
                    factors.append(self.factor(v))
            products.append(product_of(self._number(coefficient), *factors))
        return Sum(tuple(products))

    def abbreviations(self, series: Sequence[Series]) -> list[tuple[Abbreviation, Sum]]:
        """The abbreviations that occur in some series, with what they stand for."""
        variables = set().union(*(s.variables() for s in series))
        for i in list(variables):
            if i in self.names.functions:
                variables |= set(self.names.functions[i].components)
        angles = set().union(*(s.angles() for s in series))
        variables |= {v for a in angles for _, parts in self.names.angle_parts[a] for v in parts}
        found = [short for i, short in self.names.abbreviations.items() if i in variables]
        found += [short for i, short in self.names.angle_names.items() if i in angles]
        return [(short, self.linear(short.parts)) for short in found]


def _opened(product: Product) -> tuple[Product, ...]:
    """The parts of a product that is nothing but a sum in parentheses."""
    if product.coefficient == 1 and len(product.factors) == 1:
        ((factor, power),) = product.factors
        if isinstance(factor, Sum) and power == 1:
            return factor.parts
    return (product,)


def _common(monomials: Iterable[int]) -> int:
    """The greatest common divisor of monomials."""
    all_powers = [dict(powers(m)) for m in monomials]
    shared = set.intersection(*(set(p) for p in all_powers))
    return sum(min(p[i] for p in all_powers) << BITS * i for i in shared)
