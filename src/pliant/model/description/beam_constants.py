"""Constants of a beam: those of a uniform one, those at places, and by a table along its axis."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator
from pydantic_core import InitErrorDetails

from pliant.errors import show
from pliant.model.element import Array, Element, of_value, refuse
from pliant.model.units import BendingStiffness, Force, Length, MassPerLength, SectionInertia

MOST_ROWS = 500


class Properties(Element):
    """The constants of a uniform beam, instead of section and material; EIy belongs to bending in z."""

    mass_per_length: MassPerLength = Field(description="rho A")
    EIy: BendingStiffness | None = Field(default=None, description="stiffness of bending in z; needed for bend_z only")
    EIz: BendingStiffness | None = Field(default=None, description="stiffness of bending in y; needed for bend_y only")
    EA: Force | None = Field(default=None, description="axial stiffness; needed for axial only")
    GJ: BendingStiffness | None = Field(default=None, description="torsional stiffness; needed for torsion only")
    rhoIy: SectionInertia | None = Field(
        default=None, description="rho Iy; needed for the inertia of the sections only"
    )
    rhoIz: SectionInertia | None = Field(
        default=None, description="rho Iz; needed for the inertia of the sections only"
    )
    rhoJ: SectionInertia | None = Field(
        default=None,
        description="polar inertia per length; default rhoIy + rhoIz (given alone, each is half of it)",
    )
    kGAy: Force | None = Field(default=None, description="shear stiffness in y; needed for timoshenko only")
    kGAz: Force | None = Field(default=None, description="shear stiffness in z; needed for timoshenko only")

    def constants(self, added_mass: float) -> dict[str, Any]:
        """All constants by name, None where they are not known; of a polar inertia alone each moment is half."""
        values = {key: getattr(self, key) for key in CONSTANTS}
        values["mass_per_length"] += added_mass
        if self.rhoJ is None and self.rhoIy is not None and self.rhoIz is not None:
            values["rhoJ"] = self.rhoIy + self.rhoIz
        elif self.rhoJ is not None and self.rhoIy is None and self.rhoIz is None:
            values["rhoIy"] = values["rhoIz"] = self.rhoJ / 2
        return values


@dataclass(frozen=True, slots=True)
class LocalProperties:
    """The constants of a beam at some places x; None where they are not known.

    mass_per_length  rho A                     kg/m
    EIy, EIz         bending in z, bending in y  N m^2
    EA, GJ           axial, torsion            N, N m^2
    rhoIy, rhoIz     section inertia           kg m
    rhoJ             polar section inertia     kg m
    kGAy, kGAz       shear stiffness in y, z   N
    """

    mass_per_length: Array
    EIy: Array | None
    EIz: Array | None
    EA: Array | None
    GJ: Array | None
    rhoIy: Array | None
    rhoIz: Array | None
    rhoJ: Array | None
    kGAy: Array | None
    kGAz: Array | None


CONSTANTS = tuple(LocalProperties.__dataclass_fields__)


def _listed(value: Any) -> Any:
    """One number stands for all rows; arrays are lists."""
    tolist = getattr(value, "tolist", None)
    return tolist() if tolist is not None else value


ListOf = BeforeValidator(_listed)
Places = Annotated[tuple[Length, ...], ListOf]
MassColumn = Annotated[tuple[MassPerLength, ...], ListOf]
StiffnessColumn = Annotated[tuple[BendingStiffness, ...], ListOf]
ForceColumn = Annotated[tuple[Force, ...], ListOf]
InertiaColumn = Annotated[tuple[SectionInertia, ...], ListOf]


class BeamTable(Element):
    """Rows of constants at places along a beam, from its root on; between two rows they are linear.

    A CSV `file` has a line of names, x and those of the columns, and SI numbers below it.
    """

    file: str | None = Field(default=None, description="CSV file with the columns, relative to this file")
    x: Places = Field(default=(), description="places from the root, which is at 0, to the tip")
    mass_per_length: MassColumn = Field(default=(), description="rho A at these places")
    EIy: StiffnessColumn = Field(default=(), description="stiffness of bending in z")
    EIz: StiffnessColumn = Field(default=(), description="stiffness of bending in y")
    EA: ForceColumn = Field(default=(), description="axial stiffness")
    GJ: StiffnessColumn = Field(default=(), description="torsional stiffness")
    rhoIy: InertiaColumn = Field(default=(), description="rho Iy")
    rhoIz: InertiaColumn = Field(default=(), description="rho Iz")
    rhoJ: InertiaColumn = Field(default=(), description="polar inertia per length")
    kGAy: ForceColumn = Field(default=(), description="shear stiffness in y")
    kGAz: ForceColumn = Field(default=(), description="shear stiffness in z")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("file"), str):
            return data
        if others := [key for key in data if key != "file"]:
            refuse(
                [of_value(others[0], message="is given beside a file, which has the columns; leave one of them out")]
            )
        context = info.context if isinstance(info.context, dict) else {}
        path = Path(context.get("folder") or ".") / data["file"]
        if "\0" in data["file"] or not path.is_file():
            refuse([of_value("file", message=f"is {show(data['file'])}; there is no such file in {path.parent}")])
        return _columns(path)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        refuse(self._problems())
        return self

    def _problems(self) -> Iterator[InitErrorDetails]:
        rows = len(self.x)
        if not 2 <= rows <= MOST_ROWS:
            yield of_value("x", message=f"has {rows} places; a table has 2 to {MOST_ROWS} rows")
            return
        if self.x[0] != 0.0:
            yield of_value("x", message=f"begins at {self.x[0]:g} m; the root is at 0")
        for k, (a, b) in enumerate(zip(self.x[:-1], self.x[1:], strict=True)):
            if b <= a:
                yield of_value("x", message=f"has {b:g} m in row {k + 2} after {a:g} m; places must rise")
                return
        if not self.mass_per_length:
            yield of_value("mass_per_length", message="is missing; a beam has mass")
        for key in CONSTANTS:
            column = getattr(self, key)
            if column and len(column) != rows:
                yield of_value(key, message=f"has {len(column)} numbers; x has {rows}")

    def pieces(self) -> Iterator[tuple[float, dict[str, float], dict[str, float]]]:
        """Length, constants at the start and at the end of each piece between two rows."""
        known = {key: column for key in CONSTANTS if (column := getattr(self, key))}
        for k in range(len(self.x) - 1):
            start, end = ({key: float(column[row]) for key, column in known.items()} for row in (k, k + 1))
            yield self.x[k + 1] - self.x[k], start, end


def _columns(path: Path) -> dict[str, Any]:
    """The columns of a CSV file by their names."""
    text = path.read_text(encoding="utf-8-sig")
    rows = [row for row in csv.reader(text.splitlines()) if row and not row[0].lstrip().startswith("#")]
    names = [cell.strip() for cell in rows[0]] if rows else []
    for name in names:
        if name not in ("x", *CONSTANTS):
            refuse(
                [
                    of_value(
                        "file", message=f"'{path.name}' has a column '{name}'; it may have x, {', '.join(CONSTANTS)}"
                    )
                ]
            )
    columns: dict[str, list[float]] = {name: [] for name in names}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            refuse(
                [of_value("file", message=f"'{path.name}', row {number}: {len(row)} cells; the head has {len(names)}")]
            )
        for name, cell in zip(names, row, strict=True):
            try:
                columns[name].append(float(cell))
            except ValueError:
                refuse([of_value("file", message=f"'{path.name}', row {number}, {name}: {show(cell)} is no number")])
    return dict(columns)
