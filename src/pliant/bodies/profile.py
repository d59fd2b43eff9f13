"""Section data along a beam: uniform, stepped, or varying within a piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.model.beams import Beam, Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionData:
    """Mass and stiffness per length of one section, or of many (arrays over stations).

    rhoA          mass per length                       kg/m
    rhoIy, rhoIz  int rho z^2 dA, int rho y^2 dA        kg m   inertia of the section about y and z
    rhoJ          inertia of the section about x        kg m   (None: rhoIy + rhoIz, as of any thin section)
    EIy, EIz      bending stiffness in z and in y       N m^2
    EA            axial stiffness                       N
    GJ            torsional stiffness                   N m^2
    GAy, GAz      shear stiffness with its shear factor N      (infinite: no shear strain)
    """

    rhoA: Array | float
    rhoIy: Array | float = 0.0
    rhoIz: Array | float = 0.0
    rhoJ: Array | float | None = None
    EIy: Array | float = 0.0
    EIz: Array | float = 0.0
    EA: Array | float = 0.0
    GJ: Array | float = 0.0
    GAy: Array | float = inf
    GAz: Array | float = inf

    @property
    def polar(self) -> Array:
        """Inertia per length about the axis of the beam, kg m."""
        return np.asarray(self.rhoIy + self.rhoIz if self.rhoJ is None else self.rhoJ)

    def lever_densities(self) -> tuple[Array, Array, Array]:
        """int rho s^2 for the levers s along x, y and z that make up the inertias rhoJ, rhoIy and rhoIz."""
        Iy, Iz = np.asarray(self.rhoIy), np.asarray(self.rhoIz)
        # a section without thickness has none along x
        along = np.zeros_like(Iy) if self.rhoJ is None else (Iy + Iz - self.rhoJ) / 2
        return along, Iz - along, Iy - along


@dataclass(frozen=True, slots=True)
class BeamPiece:
    """A part of the beam whose section is constant or varies smoothly.

    ``data`` is a constant section, or a function of the fraction (0 to 1) of the piece, vectorised.
    """

    length: float
    data: SectionData | Callable[[Array], SectionData]

    def at(self, fraction: Array) -> SectionData:
        """The section data at fractions of the piece."""
        return self.data(fraction) if callable(self.data) else self.data


@dataclass(frozen=True, slots=True)
class BeamProfile:
    """The pieces of a beam, from the root to the tip."""

    pieces: tuple[BeamPiece, ...]

    @classmethod
    def uniform(cls, length: float, data: SectionData) -> BeamProfile:
        """A beam of one constant section."""
        return cls((BeamPiece(length, data),))

    @property
    def length(self) -> float:
        """Length of the whole beam, m."""
        return float(sum(piece.length for piece in self.pieces))

    @property
    def breaks(self) -> tuple[float, ...]:
        """Ends of the pieces, from 0 to the length."""
        ends = np.cumsum([0.0, *(piece.length for piece in self.pieces)])
        return tuple(float(end) for end in ends[:-1]) + (self.length,)

    def at(self, x: Sequence[float] | Array) -> SectionData:
        """The section data at stations x; a station on a step belongs to the piece that starts there."""
        x = np.asarray(x, dtype=float)
        if len(self.pieces) == 1 and not callable(self.pieces[0].data):
            return _everywhere(self.pieces[0].data, x)
        breaks = self.breaks
        index = np.searchsorted(np.asarray(breaks[1:-1]), x, side="right")
        parts = [(index == number, piece, breaks[number]) for number, piece in enumerate(self.pieces)]
        sampled = [(here, piece.at((x[here] - start) / piece.length)) for here, piece, start in parts if here.any()]
        columns: dict[str, Array | None] = {}
        for field in fields(SectionData):
            values = [getattr(data, field.name) for _, data in sampled]
            if all(value is None for value in values):
                columns[field.name] = None
                continue
            columns[field.name] = column = np.empty_like(x)
            for (here, data), value in zip(sampled, values, strict=True):
                column[here] = data.polar if value is None else value
        return SectionData(**columns)  # type: ignore[arg-type]


def _everywhere(data: SectionData, x: Array) -> SectionData:
    """A constant section at every station."""
    values = {name: getattr(data, name) for name in SectionData.__slots__}
    return SectionData(**{name: None if value is None else np.full_like(x, value) for name, value in values.items()})  # type: ignore[arg-type]


@once_per_element
def beam_profile(beam: Beam) -> BeamProfile:
    """The profile of a described beam."""
    return BeamProfile(tuple(_piece(part) for part in beam.parts()))


def _piece(part: Segment) -> BeamPiece:
    def data(fraction: Array) -> SectionData:
        return _section_data(part, part.length * np.asarray(fraction, dtype=float))

    return BeamPiece(part.length, data if part.taper_to is not None else data(np.array(0.0)))


def _section_data(part: Segment, x: Array) -> SectionData:
    known = part.at(x)
    given = part.properties
    rhoJ = known["rhoJ"] if given is not None and given.rhoJ is not None else None
    rhoIy, rhoIz = known["rhoIy"], known["rhoIz"]
    if rhoJ is not None and (rhoIy is None or rhoIz is None):
        # only the polar inertia is known: a section of equal moments, or what the known one leaves
        rhoIy, rhoIz, rhoJ = _split_polar(rhoJ, rhoIy, rhoIz)
    zero, infinite = np.zeros_like(x), np.full_like(x, inf)

    def value(key: str, default: Array) -> Array:
        constant = known[key]
        return default if constant is None else constant

    return SectionData(
        rhoA=value("mass_per_length", zero),
        rhoIy=zero if rhoIy is None else rhoIy,
        rhoIz=zero if rhoIz is None else rhoIz,
        rhoJ=rhoJ,
        EIy=value("EIy", zero),
        EIz=value("EIz", zero),
        EA=value("EA", zero),
        GJ=value("GJ", zero),
        GAy=value("kGAy", infinite),
        GAz=value("kGAz", infinite),
    )


def _split_polar(rhoJ: Array, rhoIy: Array | None, rhoIz: Array | None) -> tuple[Array, Array, Array | None]:
    if rhoIy is not None:
        return rhoIy, np.maximum(rhoJ - rhoIy, 0.0), rhoJ
    if rhoIz is not None:
        return np.maximum(rhoJ - rhoIz, 0.0), rhoIz, rhoJ
    return rhoJ / 2, rhoJ / 2, None
