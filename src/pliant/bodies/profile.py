"""A beam along its axis: the constants of its sections, its breaks, and its curvature before any load acts.

Integrals along it are composite Gauss-Legendre rules with panels that end where the section or a shape has a kink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.model.description.beams import Beam, Segment

# points added to a rule for section data that varies along a panel (areas and moments of linear tapers)
TAPER_POINTS = 4
# rules that are kept: a robot needs the same few again and again
MOST_RULES = 64


def gauss(breaks: Iterable[float], points: int) -> tuple[Array, Array]:
    """Abscissae and weights of ``points`` Gauss points on each panel between successive breaks.

    Exact for polynomials of degree 2 * points - 1 on each panel.
    """
    return _rule(tuple(breaks), points)


@lru_cache(maxsize=MOST_RULES)
def _rule(breaks: tuple[float, ...], points: int) -> tuple[Array, Array]:
    ends = np.asarray(breaks, dtype=float)
    nodes, weights = _legendre(points)
    half = (ends[1:] - ends[:-1]) / 2
    middle = (ends[:-1] + ends[1:]) / 2
    found = (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()
    for array in found:
        array.flags.writeable = False
    return found


def merge_breaks(*lists: Iterable[float], length: float) -> tuple[float, ...]:
    """All breaks in order, those closer than rounding error joined; from 0 to ``length``."""
    return _merged(tuple(tuple(values) for values in lists), length)


@lru_cache(maxsize=MOST_RULES)
def _merged(lists: tuple[tuple[float, ...], ...], length: float) -> tuple[float, ...]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionData:
    """Mass and stiffness per length of one section, or of many: arrays over stations, numbers where all agree.

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

    def discs(self, weights: Array) -> Array:
        """Moments of inertia (stations, 3) about x, y and z of sections with these lengths, kg m^2."""
        moments = np.stack(np.broadcast_arrays(self.polar, self.rhoIy, self.rhoIz), axis=-1)
        return np.asarray(weights[:, None] * moments)

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


@dataclass(frozen=True)
class BeamProfile:
    """The pieces of a beam, from the root to the tip.

    length  of the whole beam, m
    breaks  ends of the pieces, from 0 to the length
    """

    pieces: tuple[BeamPiece, ...]
    length: float = field(init=False, repr=False, compare=False)
    breaks: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        length = float(sum(piece.length for piece in self.pieces))
        starts = accumulate((float(piece.length) for piece in self.pieces[:-1]), initial=0.0)
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "breaks", (*starts, length))

    @classmethod
    def uniform(cls, length: float, data: SectionData) -> BeamProfile:
        """A beam of one constant section."""
        return cls((BeamPiece(length, data),))

    @cached_property
    def moments(self) -> tuple[float, float, float]:
        """int dm, int x dm and int x^2 dm, in kg, kg m and kg m^2."""
        mass, first, second = self.moments_beyond(0.0)
        return mass, first, second

    def moments_beyond(self, start: float) -> list[float]:
        """int dm, int x dm and int x^2 dm of everything outboard of a place, in kg, kg m and kg m^2."""
        ends = (start, *(b for b in self.breaks if b > start))
        x, weights = gauss(ends, 2 + TAPER_POINTS)
        masses = weights * self.at(x).rhoA
        first = masses * x
        return [float(masses.sum()), float(first.sum()), float(first @ x)]

    def at(self, x: Sequence[float] | Array) -> SectionData:
        """The section data at stations x; a station on a step belongs to the piece that starts there."""
        if len(self.pieces) == 1 and not callable(self.pieces[0].data):
            return self.pieces[0].data
        x = np.asarray(x, dtype=float)
        breaks = self.breaks
        index = np.searchsorted(np.asarray(breaks[1:-1]), x, side="right")
        parts = [(index == number, piece, breaks[number]) for number, piece in enumerate(self.pieces)]
        sampled = [(here, piece.at((x[here] - start) / piece.length)) for here, piece, start in parts if here.any()]
        columns: dict[str, Array | None] = {}
        for key in SectionData.__slots__:
            values = [getattr(data, key) for _, data in sampled]
            if all(value is None for value in values):
                columns[key] = None
                continue
            columns[key] = column = np.empty_like(x)
            for (here, data), value in zip(sampled, values, strict=True):
                column[here] = data.polar if value is None else value
        return SectionData(**columns)  # type: ignore[arg-type]


@once_per_element
def beam_profile(beam: Beam) -> BeamProfile:
    """The profile of a described beam."""
    return BeamProfile(tuple(_piece(part) for part in beam.parts()))


def _piece(part: Segment) -> BeamPiece:
    def data(fraction: Array) -> SectionData:
        x = part.length * np.asarray(fraction, dtype=float)
        return _section_data(part, part.at(x), np.zeros_like(x))

    return BeamPiece(part.length, data if part.varies else _section_data(part, part.at_start(), 0.0))


def _section_data(part: Segment, known: Mapping[str, Any], zero: Any) -> SectionData:
    given = part.properties
    rhoJ = known["rhoJ"] if given is not None and given.rhoJ is not None else None
    rhoIy, rhoIz = known["rhoIy"], known["rhoIz"]
    if rhoJ is not None and (rhoIy is None or rhoIz is None):
        # only the polar inertia is known: a section of equal moments, or what the known one leaves
        rhoIy, rhoIz, rhoJ = _split_polar(rhoJ, rhoIy, rhoIz)
    infinite = zero + inf

    def value(key: str, default: Any) -> Any:
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


# ---------------------------------------------------------------- beams that are curved before any load acts


Curve = Callable[[Array], Array]
"""Curvatures about x, y and z (places, 3) of the undeformed axis at places x, 1/m."""

# Gauss points per piece of the mass integrals


def curve_of(beam: Beam) -> Curve | None:
    """The curvature of a described beam; None if it is straight."""
    if not beam.is_curved:
        return None
    parts, breaks = beam.parts(), beam.breakpoints

    def curve(x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        out = np.zeros((len(x), 3))
        index = np.searchsorted(breaks[1:-1], x, side="right")
        for k, part in enumerate(parts):
            here = index == k
            if part.curvature is not None and here.any():
                out[here] = part.curvature.at((x[here] - breaks[k]) / part.length)
        return out

    return curve
