"""What an evaluation of the closed forms does, without any numbers: terms, and places of their coefficients."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from pliant.formulations.lagrange.assemble import Matrix, SymbolicSystem
from pliant.formulations.lagrange.collected import Coefficients, Entry, EntryCollector
from pliant.formulations.lagrange.names import Names, SpecialFunction
from pliant.formulations.lagrange.partials import by_angle, by_variable, moving_parts
from pliant.formulations.lagrange.series import Series, powers

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
