"""Assumed modes: a set of shapes for each family, with their normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pliant.bodies.families import ShapeSamples
from pliant.bodies.invariants import beam_rule
from pliant.bodies.modal_body import Array
from pliant.bodies.profile import BeamProfile
from pliant.bodies.quadrature import TAPER_POINTS, equal_breaks, gauss
from pliant.bodies.shapes import Given, Shape, ShapeFunction, bending_shapes, rod_shapes, sampled

MOST_SEEN = 16
"""Sets of places at which the shapes of a family are kept."""
ROWS = {"bend_y": slice(0, 3), "bend_z": slice(0, 3), "torsion": slice(1, 3)}
"""Which of value, rotation and strain the derivatives of a shape are; of all others value and strain."""


@dataclass(frozen=True, slots=True)
class BeamModes:
    """Assumed modes of one family."""

    family: str
    shapes: tuple[Shape, ...]
    breaks: tuple[float, ...] = field(init=False, repr=False, compare=False)
    points: int = field(init=False, repr=False, compare=False)
    # value, rotation, strain and shear (4, shapes, places) at several sets of places, and where in it each set stands
    _seen: dict[bytes, tuple[Array, slice]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        panels = max((shape.panels for shape in self.shapes), default=1)
        breaks = equal_breaks(self.shapes[0].length, panels) if self.shapes else ()
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "points", max((shape.points for shape in self.shapes), default=2))

    @property
    def size(self) -> int:
        return len(self.shapes)

    def sample(self, x: Array) -> ShapeSamples:
        x = np.asarray(x, dtype=float)
        # all integrals over a beam ask at the same places
        found = self._seen.get(x.tobytes())
        if found is None:
            self.prepare(x)
            found = self._seen[x.tobytes()]
        table, at = found
        return ShapeSamples(*table[:, :, at])

    def prepare(self, *places: Array) -> None:
        """Sample the shapes at several sets of places at once."""
        if len(self._seen) + len(places) > MOST_SEEN:
            self._seen.clear()
        x = places[0] if len(places) == 1 else np.concatenate(places)
        table = np.zeros((4, self.size, len(x)))
        if self.shapes:
            rows = ROWS.get(self.family, slice(0, 3, 2))
            table[rows] = sampled(self.shapes, x, range(len(table[rows])))
        table.flags.writeable = False
        start = 0
        for each in places:
            self._seen[each.tobytes()] = table, slice(start, start + len(each))
            start += len(each)

    def scaled(self, factors: Array) -> BeamModes:
        """The shapes times a factor each."""
        out = BeamModes(self.family, tuple(s.scaled(float(f)) for s, f in zip(self.shapes, factors, strict=True)))
        tables: dict[int, Array] = {}
        for key, (table, at) in self._seen.items():
            own = tables.get(id(table))
            if own is None:
                own = tables[id(table)] = factors[:, None] * table
                own.flags.writeable = False
            out._seen[key] = own, at
        return out


def mode_set(
    family: str,
    kind: str,
    count: int,
    profile: BeamProfile,
    *,
    normalise: str = "mass",
    tip_mass: float = 0.0,
    tip_inertia: float = 0.0,
    functions: Sequence[ShapeFunction] = (),
) -> BeamModes:
    """The first modes of one family, normalised on their own.

    ``tip_mass`` (kg) and ``tip_inertia`` (kg m^2, about the axis of the family) are read by clamped-mass
    only. ``functions`` are the shapes of kind user. On a beam that is not uniform the shapes are those of
    the uniform beam of the same length and mass; they stay admissible, and all integrals take the true
    section.
    """
    modes = raw_modes(family, kind, count, profile, tip_mass=tip_mass, tip_inertia=tip_inertia, functions=functions)
    if kind != "clamped-mass":
        tip_mass = tip_inertia = 0.0
    return normalised(modes, normalise, profile, tip_mass=tip_mass, tip_inertia=tip_inertia)


def raw_modes(
    family: str,
    kind: str,
    count: int,
    profile: BeamProfile,
    *,
    tip_mass: float = 0.0,
    tip_inertia: float = 0.0,
    functions: Sequence[ShapeFunction] = (),
) -> BeamModes:
    """Modes of a family as their formulas give them, before they are normalised."""
    length, own = profile.length, family_inertia(family, profile)
    if kind == "user":
        # bending strains are second derivatives, all others first ones
        order = 2 if family in ("bend_y", "bend_z") else 1
        given = (Given(length=length, function=function) for function in functions[:count])
        shapes: list[Shape] = [shape.resolved(order) for shape in given]
    elif family == "torsion":
        shapes = rod_shapes(kind, count, length, ratio=tip_inertia / own)
    elif family in ("bend_y", "bend_z"):
        shapes = bending_shapes(kind, count, length, mu=tip_mass / own, J=tip_inertia / (own * length**2))
    else:
        shapes = rod_shapes(kind, count, length, ratio=tip_mass / own)
    return BeamModes(family, tuple(shapes))


def normalised(
    modes: BeamModes,
    rule: str,
    profile: BeamProfile,
    *,
    tip_mass: float = 0.0,
    tip_inertia: float = 0.0,
    others: Sequence[BeamModes] = (),
) -> BeamModes:
    """The shapes scaled by one of the rules.

    All families of a beam, ``others`` too, are integrated at the same places: what is equal in two of them is equal to
    the last digit, and remains one constant of compiled code.

    mass  int rhoA phi^2 dx + tip_mass phi(L)^2 + tip_inertia phi'(L)^2 = mass of the beam; for torsion
          int rhoJ phi^2 dx + tip_inertia phi(L)^2 = polar inertia of the beam
    tip   phi(L) = 1
    unit  largest |phi| = 1
    none  the raw formula
    """
    match rule:
        case "none":
            return modes
        case "tip":
            return modes.scaled(1.0 / np.array([_tip_value(shape) for shape in modes.shapes]))
        case "unit":
            return modes.scaled(1.0 / _not_zero(np.array([peak(shape) for shape in modes.shapes])))
        case "mass":
            return modes.scaled(
                _mass_factors(modes, beam_rule([modes, *others], profile), profile, tip_mass, tip_inertia)
            )
    raise ValueError(f"unknown normalisation {rule!r}")


def family_inertia(family: str, profile: BeamProfile) -> float:
    """The mass of the beam, kg; for torsion its polar inertia, kg m^2."""
    if family != "torsion":
        return profile.moments[0]
    x, weights = gauss(profile.breaks, 2 + TAPER_POINTS)
    return float((weights * profile.at(x).polar).sum())


def peak(shape: Shape) -> float:
    """The largest |phi| on the beam."""
    x = np.linspace(0.0, shape.length, 16 * shape.points * shape.panels + 1)
    values = np.abs(shape(x))
    best = int(np.argmax(values))
    largest = float(values[best])
    if 0 < best < len(x) - 1:
        # the grid is fine enough for one Newton step on the slope, repeated for the last digits
        at = x[best : best + 1]
        for _ in range(3):
            curvature = shape(at, 2)
            if not np.all(curvature):
                break
            at = np.clip(at - shape(at, 1) / curvature, x[best - 1], x[best + 1])
        largest = max(largest, float(np.abs(shape(at))[0]))
    return largest


def _mass_factors(
    modes: BeamModes, rule: tuple[Array, Array], profile: BeamProfile, tip_mass: float, tip_inertia: float
) -> Array:
    x, weights = rule
    root, tip = np.zeros(1), np.array([profile.length])
    # the integrals and the frames of the beam ask at these places again
    modes.prepare(root, x, tip)
    section, along = profile.at(x), modes.sample(x)
    density, motion = (section.polar, along.rotation) if modes.family == "torsion" else (section.rhoA, along.value)
    density = weights * density
    # row by row: matrix products round in another way where there are more rows
    own = (motion * motion * density).sum(axis=1)
    if tip_mass or tip_inertia:
        end = modes.sample(tip)
        own += tip_mass * end.value[:, 0] ** 2 + tip_inertia * end.rotation[:, 0] ** 2
    return np.asarray(np.sqrt(density.sum() / _not_zero(own)))


def _not_zero(values: Array) -> Array:
    if np.count_nonzero(values) < len(values):
        raise ValueError("the shape is zero all along the beam and cannot be normalised")
    return values


def _tip_value(shape: Shape) -> float:
    value = float(shape(shape.length))
    if abs(value) <= 1e-12 * peak(shape):
        raise ValueError("the shape is zero at the tip and cannot be normalised to a unit tip value")
    return value
