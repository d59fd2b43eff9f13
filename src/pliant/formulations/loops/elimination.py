"""Gauss' principle on sparse scalars: a quadratic form of accelerations, minimised one unknown at a time.

The accelerations of a constrained robot make ``x^T M x / 2 + p^T x`` stationary under linear relations. Unknowns are
replaced by relations or eliminated by their own equation; what is structurally zero is never touched, so the legs of a
parallel robot stay apart and the matrix keeps its arrow shape. Multipliers of closures are unknowns like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Matrix, Vector, dot

Unknown = Hashable
"""Any name of an unknown."""


def vanishes(x: Scalar) -> bool:
    """True for a plain number 0, however it came about; never for a traced value."""
    return isinstance(x, (float, int)) and x == 0


def is_unit(x: Scalar) -> bool:
    """True for the plain numbers 1 and -1; never for a traced value."""
    return isinstance(x, (float, int)) and abs(x) == 1


class Relation(NamedTuple):
    """An unknown as a linear function of others: sum of coefficient times unknown, plus a constant."""

    terms: dict[Unknown, Scalar]
    constant: Scalar = 0.0


class _Step(NamedTuple):
    """Unknowns that follow from others: ``compute`` takes the values of ``needs`` and gives those of ``found``."""

    found: tuple[Unknown, ...]
    needs: tuple[Unknown, ...]
    compute: Callable[[Vector], Vector]


class NoPivotError(ValueError):
    """An unknown has no inertia and no relation: it is not determined."""


class QuadraticForm:
    """``x^T M x / 2 + p^T x`` with the history of what was eliminated, for the way back."""

    def __init__(self) -> None:
        self.rows: dict[Unknown, dict[Unknown, Scalar]] = {}
        self.linear: dict[Unknown, Scalar] = {}
        self._history: list[_Step] = []

    def add(self, x: Unknown, y: Unknown, value: Scalar) -> None:
        """Add to M_xy and M_yx."""
        if vanishes(value):
            return
        for a, b in ((x, y), (y, x)) if x != y else ((x, y),):
            row = self.rows.setdefault(a, {})
            total = row[b] + value if b in row else value
            if vanishes(total):
                del row[b]
            else:
                row[b] = total

    def couple(self, x: Unknown, y: Unknown, value: Scalar) -> None:
        """Add a coupling that x takes over from an unknown which y was coupled to: on itself it counts twice."""
        self.add(x, y, value if x != y else 2.0 * value)

    def push(self, x: Unknown, value: Scalar) -> None:
        """Add to p_x."""
        if not vanishes(value):
            self.linear[x] = self.linear[x] + value if x in self.linear else value

    def holds(self, x: Unknown) -> bool:
        """Whether an unknown occurs at all."""
        return bool(self.rows.get(x)) or x in self.linear

    def neighbours(self, x: Unknown) -> list[Unknown]:
        """The other unknowns that an unknown is coupled to."""
        return [y for y in self.rows.get(x, ()) if y != x]

    def coefficient(self, x: Unknown, y: Unknown) -> Scalar:
        return self.rows.get(x, {}).get(y, 0.0)

    def block(self, rows: Sequence[Unknown], columns: Sequence[Unknown]) -> Matrix:
        """A block of M as a dense matrix."""
        return [[self.coefficient(x, y) for y in columns] for x in rows]

    def forces(self, unknowns: Sequence[Unknown]) -> Vector:
        """A part of p."""
        return [self.linear.get(x, 0.0) for x in unknowns]

    def take(self, unknowns: Sequence[Unknown]) -> dict[Unknown, dict[Unknown, Scalar]]:
        """Remove unknowns; what remains coupled to them, each with its couplings."""
        inside = set(unknowns)
        outside: dict[Unknown, dict[Unknown, Scalar]] = {}
        for x in unknowns:
            self.linear.pop(x, None)
            for y, value in self.rows.pop(x, {}).items():
                if y not in inside:
                    outside.setdefault(y, {})[x] = value
                    del self.rows[y][x]
        return outside

    def remember(self, found: Sequence[Unknown], needs: Sequence[Unknown], compute: Callable[[Vector], Vector]) -> None:
        """Note how unknowns that were taken out follow from those that remain."""
        self._history.append(_Step(tuple(found), tuple(needs), compute))

    def _remember(self, x: Unknown, relation: Relation) -> None:
        coefficients = list(relation.terms.values())

        def compute(values: Vector) -> Vector:
            return [relation.constant + dot(coefficients, values)]

        self.remember([x], list(relation.terms), compute)

    def substitute(self, relations: Mapping[Unknown, Relation]) -> None:
        """Replace unknowns by relations; none of them may occur on a right-hand side."""
        replaced = [x for x in relations if self.holds(x)]
        M = self.block(replaced, replaced)
        p = self.forces(replaced)
        outside = self.take(replaced)
        for x, relation in relations.items():
            self._remember(x, relation)
        shift = [relations[x].constant for x in replaced]
        moved = [_sum([p[i], *(M[i][j] * shift[j] for j in range(len(replaced)))]) for i in range(len(replaced))]
        for y, couplings in outside.items():
            for x, value in couplings.items():
                self.push(y, value * relations[x].constant)
                for z, k in relations[x].terms.items():
                    self.couple(z, y, value * k)
        targets = list(dict.fromkeys(z for x in replaced for z in relations[x].terms))
        N = [[relations[x].terms.get(z, 0.0) for z in targets] for x in replaced]
        half = [
            [_sum(M[i][j] * N[j][t] for j in range(len(replaced))) for t in range(len(targets))] for i in range(len(M))
        ]
        for t, z in enumerate(targets):
            self.push(z, _sum(N[i][t] * moved[i] for i in range(len(replaced))))
            for u in range(t, len(targets)):
                self.add(z, targets[u], _sum(N[i][t] * half[i][u] for i in range(len(replaced))))

    def eliminate(self, x: Unknown, faint: Scalar = 0.0) -> Scalar:
        """Minimise over one unknown; the pivot. One that is ``faint`` or less moves nothing (Tikhonov)."""
        row = dict(self.rows.get(x, {}))
        pivot = row.pop(x, 0.0)
        if vanishes(pivot):
            raise NoPivotError(x)
        force = self.linear.get(x, 0.0)
        self.take([x])
        reciprocal = 1.0 / pivot if vanishes(faint) else pivot / (pivot * pivot + faint * faint)
        scaled = {y: value * reciprocal for y, value in row.items()}
        step = force * reciprocal
        names = list(row)
        for i, y in enumerate(names):
            for z in names[i:]:
                self.add(y, z, -(row[y] * scaled[z]))
            self.push(y, -(row[y] * step))
        self._remember(x, Relation({y: -value for y, value in scaled.items()}, -step))
        return pivot

    def release(self, x: Unknown, multiplier: Unknown) -> None:
        """Use the row of a multiplier to replace an unknown that has no inertia; both disappear."""
        row = dict(self.rows[multiplier])
        coefficient = row.pop(x)
        scale = -1.0 / coefficient
        relation = Relation({y: scale * k for y, k in row.items()}, scale * self.linear.get(multiplier, 0.0))
        self.take([multiplier])
        self.substitute({x: relation})

    def solve(self, wanted: Sequence[Unknown]) -> dict[Unknown, Scalar]:
        """Values of unknowns, back along the history."""
        needed = set(wanted)
        steps = []
        for step in self._history:
            if needed.intersection(step.found):
                steps.append(step)
                needed.update(step.needs)
        values: dict[Unknown, Scalar] = {}
        for step in reversed(steps):
            try:
                found = step.compute([values[x] for x in step.needs])
            except KeyError as missing:
                raise NoPivotError(missing.args[0]) from None
            values.update(zip(step.found, found, strict=True))
        return {x: values[x] for x in wanted}


def _sum(terms: Iterable[Scalar]) -> Scalar:
    out: Scalar = 0.0
    for x in terms:
        out = out + x
    return out
