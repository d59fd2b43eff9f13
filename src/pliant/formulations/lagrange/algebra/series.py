"""Sums of polynomial times trigonometric terms: the algebra in which a robot's energies are written.

Every entry of the equations of motion of an arm is a sum of terms

    number * (product of powers of parameters and coordinates) * (product of cosines and sines of sums of angles),

a Poisson series, as celestial mechanics calls it. Such sums are closed under addition, multiplication and
differentiation, and they have a normal form: angles about parallel axes belong to one group, and a product of two
factors of the same group becomes a sum by cos a cos b = (cos(a - b) + cos(a + b))/2. So cos^2 + sin^2 is 1 and the
angles of a plane arm add up without any search for simplifications, which makes a derivation fast and its result short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

Polynomial = dict[int, float]
"""Monomial -> coefficient; a monomial is an integer whose field of BITS bits number i is the power of variable i."""

Harmonic = tuple[tuple[int, int], ...]
"""A sum of angles: (angle, multiplier) pairs, sorted by angle."""

Factor = tuple[int, Harmonic, bool]
"""Group of the angles, their sum, and whether the function is the sine."""

Trig = tuple[Factor, ...]
"""A product of at most one cosine or sine per group, sorted by group."""

BITS = 6
MASK = (1 << BITS) - 1

ROUNDING = 1e-13
"""Coefficients below this are the rounding of fixed rotations; all others are small multiples of powers of 1/2."""

ONE: Trig = ()


class TooLargeError(Exception):
    """The work exceeds what was allowed."""


@dataclass(slots=True)
class Angle:
    """An angle: its group and its derivatives by coordinates (coordinate -> polynomial without coordinates)."""

    group: int
    slopes: dict[int, Polynomial]


@dataclass(frozen=True, slots=True)
class Rule:
    """A product of variables (a monomial, and its fields as shift and power) and the polynomial that it equals."""

    pattern: int
    fields: tuple[tuple[int, int], ...]
    parts: tuple[tuple[int, float], ...]

    def fits(self, monomial: int) -> bool:
        """Whether the product divides a monomial."""
        return all((monomial >> shift) & MASK >= power for shift, power in self.fields)


@dataclass(slots=True)
class Algebra:
    """The variables and angles of one robot, and the multiplication table of their cosines and sines.

    ``slopes[i]`` maps coordinates to the derivative of variable i by them; ``rules`` are applied by ``reduced``.
    ``most`` bounds the number of products of terms.
    """

    most: float = float("inf")
    work: int = 0
    slopes: list[dict[int, Series]] = field(default_factory=list)
    angles: list[Angle] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    _trigs: list[Trig] = field(default_factory=lambda: [ONE])
    _numbers: dict[Trig, int] = field(default_factory=lambda: {ONE: 0})
    _products: dict[tuple[int, int], tuple[tuple[float, int], ...]] = field(default_factory=dict)

    # ---- what series are made of

    def variable(self, slopes: Mapping[int, Series] | None = None) -> int:
        """A new variable."""
        self.slopes.append(dict(slopes or {}))
        return len(self.slopes) - 1

    def coordinate(self) -> int:
        """A new variable that is a coordinate: its derivative by itself is one."""
        number = self.variable()
        self.slopes[number][number] = self.number(1.0)
        return number

    def angle(self, group: int, slopes: Mapping[int, Polynomial]) -> int:
        """A new angle."""
        self.angles.append(Angle(group, dict(slopes)))
        return len(self.angles) - 1

    def number(self, value: float) -> Series:
        """A constant."""
        return Series(self, {0: {0: float(value)}} if value else {})

    def monomial(self, *variables: int, factor: float = 1.0) -> Series:
        """A product of variables."""
        return Series(self, {0: {sum(1 << BITS * i for i in variables): factor}})

    def cosine(self, angle: int) -> Series:
        """The cosine of an angle."""
        return self._wave(angle, is_sine=False)

    def sine(self, angle: int) -> Series:
        """The sine of an angle."""
        return self._wave(angle, is_sine=True)

    def _wave(self, angle: int, *, is_sine: bool) -> Series:
        trig = ((self.angles[angle].group, ((angle, 1),), is_sine),)
        return Series(self, {self.trig_number(trig): {0: 1.0}})

    def rule(self, pattern: Series, replacement: Series) -> None:
        """From now on ``reduced`` replaces a product of variables by a polynomial."""
        ((monomial,),) = (tuple(p) for p in pattern.terms.values())
        if all(known.pattern != monomial for known in self.rules):
            fields = tuple((BITS * i, power) for i, power in powers(monomial))
            self.rules.append(Rule(monomial, fields, tuple(replacement.terms[0].items())))

    # ---- trigonometric parts

    def trig(self, number: int) -> Trig:
        """The product of cosines and sines with that number."""
        return self._trigs[number]

    def trig_number(self, trig: Trig) -> int:
        """The number of a product of cosines and sines."""
        number = self._numbers.get(trig)
        if number is None:
            number = self._numbers[trig] = len(self._trigs)
            self._trigs.append(trig)
        return number

    def times(self, a: int, b: int) -> tuple[tuple[float, int], ...]:
        """The product of two trigonometric parts as a sum of (coefficient, number)."""
        if not a or not b:
            return ((1.0, a or b),)
        key = (a, b) if a < b else (b, a)
        known = self._products.get(key)
        if known is None:
            known = self._products[key] = tuple(self._multiply(*(self._trigs[n] for n in key)))
        return known

    def _multiply(self, a: Trig, b: Trig) -> Iterator[tuple[float, int]]:
        left, right = ({factor[0]: factor for factor in trig} for trig in (a, b))
        shared = sorted(left.keys() & right.keys())
        alone = [
            factor for trig, other in ((left, right), (right, left)) for g, factor in trig.items() if g not in other
        ]
        choices = [product_to_sum(left[group], right[group]) for group in shared]
        for choice in product(*choices):
            coefficient = 1.0
            factors = list(alone)
            for weight, factor in choice:
                coefficient *= weight
                if factor is not None:
                    factors.append(factor)
            yield coefficient, self.trig_number(tuple(sorted(factors)))

    # ---- sums of products

    def dot(self, pairs: Iterable[tuple[Series, Series]]) -> Series:
        """sum of a b over pairs (a, b)."""
        out: dict[int, Polynomial] = {}
        for a, b in pairs:
            for i, p in a.terms.items():
                for k, r in b.terms.items():
                    parts = self.times(i, k)
                    self.count(len(p) * len(r) * len(parts))
                    for weight, t in parts:
                        _add_product(out.setdefault(t, {}), weight, p, r)
        return Series(self, _cleaned(out))

    def count(self, products: int) -> None:
        """Account for work done, and stop when it is more than allowed."""
        self.work += products
        if self.work > self.most:
            raise TooLargeError

    def total(self, parts: Iterable[Series | tuple[float, Series]]) -> Series:
        """The sum of series, each with an optional factor."""
        out: dict[int, Polynomial] = {}
        for part in parts:
            weight, series = part if isinstance(part, tuple) else (1.0, part)
            for t, p in series.terms.items():
                target = out.setdefault(t, {})
                for m, c in p.items():
                    target[m] = target.get(m, 0.0) + weight * c
        return Series(self, _cleaned(out))


@dataclass(slots=True, eq=False)
class Series:
    """A sum of terms: number of the trigonometric part -> polynomial. Never changed once made."""

    algebra: Algebra
    terms: dict[int, Polynomial]

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __len__(self) -> int:
        return sum(len(p) for p in self.terms.values())

    def __add__(self, other: Series) -> Series:
        if not other:
            return self
        return self.algebra.total((self, other)) if self else other

    def __sub__(self, other: Series) -> Series:
        return self.algebra.total((self, (-1.0, other))) if other else self

    def __neg__(self) -> Series:
        return self * -1.0

    def __mul__(self, other: Series | float) -> Series:
        if isinstance(other, Series):
            return self.algebra.dot(((self, other),))
        if other == 1.0:
            return self
        scaled = {t: {m: other * c for m, c in p.items()} for t, p in self.terms.items()}
        return Series(self.algebra, scaled if other else {})

    __rmul__ = __mul__

    def by(self, coordinate: int) -> Series:
        """The derivative by a coordinate."""
        algebra = self.algebra
        moving = [(i, slopes[coordinate]) for i, slopes in enumerate(algebra.slopes) if coordinate in slopes]
        parts: list[Series] = []
        for t, p in self.terms.items():
            here = Series(algebra, {t: p})
            for i, slope in moving:
                shift = BITS * i
                lower = {m - (1 << shift): power * c for m, c in p.items() if (power := m >> shift & MASK)}
                if lower:
                    parts.append(Series(algebra, {t: lower}) * slope)
            if t:
                parts += [here._without_trig(t) * turned for turned in self._turned(t, coordinate)]
        return algebra.total(parts)

    def _without_trig(self, t: int) -> Series:
        return Series(self.algebra, {0: self.terms[t]})

    def _turned(self, t: int, coordinate: int) -> Iterator[Series]:
        """The derivative of a product of cosines and sines, factor by factor."""
        algebra, trig = self.algebra, self.algebra.trig(t)
        for k, (group, harmonic, is_sine) in enumerate(trig):
            inner: Polynomial = {}
            for angle, multiplier in harmonic:
                for m, c in algebra.angles[angle].slopes.get(coordinate, {}).items():
                    inner[m] = inner.get(m, 0.0) + multiplier * c * (1.0 if is_sine else -1.0)
            if any(inner.values()):
                other = (*trig[:k], (group, harmonic, not is_sine), *trig[k + 1 :])
                yield Series(algebra, {algebra.trig_number(other): inner})

    def reduced(self) -> Series:
        """The series with the rules of the algebra applied until none fits."""
        rules = self.algebra.rules
        if not rules:
            return self
        out: dict[int, Polynomial] = {}
        for t, p in self.terms.items():
            done: Polynomial = {}
            pending = dict(p)
            while pending:
                m, c = pending.popitem()
                replacement = next((rule for rule in rules if rule.fits(m)), None)
                if replacement is None:
                    done[m] = done.get(m, 0.0) + c
                    continue
                self.algebra.count(len(replacement.parts))
                for k, d in replacement.parts:
                    k += m - replacement.pattern
                    pending[k] = pending.get(k, 0.0) + c * d
            out[t] = done
        return Series(self.algebra, _cleaned(out))

    def with_numbers(self, values: Mapping[int, float]) -> Series:
        """The series with numbers for some of its variables."""
        out: dict[int, Polynomial] = {}
        for t, p in self.terms.items():
            target = out.setdefault(t, {})
            for m, c in p.items():
                for i, power in powers(m):
                    if i in values:
                        c *= values[i] ** power
                        m -= power << BITS * i
                target[m] = target.get(m, 0.0) + c
        return Series(self.algebra, {t: kept for t, p in out.items() if (kept := {m: c for m, c in p.items() if c})})

    def variables(self) -> set[int]:
        """The variables that occur."""
        return {i for p in self.terms.values() for m in p for i, _ in powers(m)}

    def angles(self) -> set[int]:
        """The angles that occur."""
        return {a for t in self.terms for _, harmonic, _ in self.algebra.trig(t) for a, _ in harmonic}


def powers(monomial: int) -> Iterator[tuple[int, int]]:
    """The variables of a monomial with their powers."""
    i = 0
    while monomial:
        # most fields of most monomials are empty: on to the lowest bit that is set
        skipped = ((monomial & -monomial).bit_length() - 1) // BITS
        monomial >>= BITS * skipped
        i += skipped
        yield i, monomial & MASK
        monomial >>= BITS
        i += 1


def product_to_sum(a: Factor, b: Factor) -> tuple[tuple[float, Factor | None], ...]:
    """The product of two cosines or sines of one group as a sum; None stands for the factor one."""
    group = a[0]
    plus, minus = _combined(a[1], b[1], 1), _combined(a[1], b[1], -1)
    match a[2], b[2]:
        case False, False:
            parts = ((0.5, minus, False), (0.5, plus, False))
        case True, True:
            parts = ((0.5, minus, False), (-0.5, plus, False))
        case True, False:
            parts = ((0.5, plus, True), (0.5, minus, True))
        case _:
            parts = ((0.5, plus, True), (-0.5, minus, True))
    return tuple(normal_factor(group, *part) for part in parts if part[1] or not part[2])


def _combined(a: Harmonic, b: Harmonic, sign: int) -> Harmonic:
    out = dict(a)
    for angle, multiplier in b:
        out[angle] = out.get(angle, 0) + sign * multiplier
    return tuple(sorted((angle, multiplier) for angle, multiplier in out.items() if multiplier))


def normal_factor(group: int, weight: float, harmonic: Harmonic, is_sine: bool) -> tuple[float, Factor | None]:
    """The first angle of a sum gets a positive multiplier."""
    if not harmonic:
        return weight, None
    if harmonic[0][1] < 0:
        harmonic = tuple((angle, -multiplier) for angle, multiplier in harmonic)
        weight = -weight if is_sine else weight
    return weight, (group, harmonic, is_sine)


def _add_product(target: Polynomial, weight: float, p: Polynomial, r: Polynomial) -> None:
    for m, c in p.items():
        c *= weight
        for k, d in r.items():
            target[m + k] = target.get(m + k, 0.0) + c * d


def _cleaned(terms: dict[int, Polynomial]) -> dict[int, Polynomial]:
    out = {}
    for t, p in terms.items():
        kept = {m: c for m, c in p.items() if abs(c) > ROUNDING}
        if kept:
            out[t] = kept
    return out


# ---------------------------------------------------------------- vectors of series

Vector = Sequence[Series]


def add(*vectors: Vector) -> list[Series]:
    """The sum of vectors."""
    return [components[0].algebra.total(components) for components in zip(*vectors, strict=True)]


def inner(a: Vector, b: Vector) -> Series:
    """a . b"""
    return a[0].algebra.dot((x, y) for x, y in zip(a, b, strict=True) if x and y)


def cross(a: Vector, b: Vector) -> list[Series]:
    """a x b"""
    dot = a[0].algebra.dot
    minus = [-x for x in b]
    return [dot(((a[i], b[k]), (a[k], minus[i]))) for i, k in ((1, 2), (2, 0), (0, 1))]


def scaled(vector: Vector, factor: Series) -> list[Series]:
    """factor times a vector"""
    return [x * factor if x else x for x in vector]


def times(matrix: Sequence[Vector], vector: Vector) -> list[Series]:
    """A matrix of series times a vector."""
    return [inner(row, vector) for row in matrix]
