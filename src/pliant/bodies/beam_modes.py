"""Assumed modes: a set of shapes for each family, with their normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from pliant.bodies.families import ShapeSamples
from pliant.bodies.modal_body import Array
from pliant.bodies.profile import BeamProfile
from pliant.bodies.quadrature import TAPER_POINTS, equal_breaks, gauss, merge_breaks
from pliant.bodies.shapes import Given, Shape, ShapeFunction, bending_shapes, rod_shapes, sampled

MOST_SEEN = 8
"""Sets of places at which the shapes of a family are kept."""


@dataclass(frozen=True, slots=True)
class BeamModes:
    """Assumed modes of one family."""

    family: str
    shapes: tuple[Shape, ...]
    _seen: dict[bytes, ShapeSamples] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def size(self) -> int:
        return len(self.shapes)

    @property
    def breaks(self) -> tuple[float, ...]:
        panels = max((shape.panels for shape in self.shapes), default=1)
        return equal_breaks(self.shapes[0].length, panels) if self.shapes else ()

    @property
    def points(self) -> int:
        return max((shape.points for shape in self.shapes), default=2)

    def sample(self, x: Array) -> ShapeSamples:
        x = np.asarray(x, dtype=float)
        # all integrals over a beam ask at the same places
        key = x.tobytes()
        if key not in self._seen:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
            self._seen[key] = found = self._sampled(x)
            for array in (found.value, found.rotation, found.strain, found.shear):
                array.flags.writeable = False
        return self._seen[key]

    def _sampled(self, x: Array) -> ShapeSamples:
        none = np.zeros((self.size, len(x)))
        orders = 3 if self.family in ("bend_y", "bend_z") else 2
        rows = [sampled(self.shapes, x, order) if self.shapes else none for order in range(orders)]
        match self.family:
            case "torsion":
                return ShapeSamples(none, rows[0], rows[1], none)
            case "bend_y" | "bend_z":
                return ShapeSamples(rows[0], rows[1], rows[2], none)
        return ShapeSamples(rows[0], none, rows[1], none)


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
    """The first modes of one family.

    ``tip_mass`` (kg) and ``tip_inertia`` (kg m^2, about the axis of the family) are read by clamped-mass
    only. ``functions`` are the shapes of kind user. On a beam that is not uniform the shapes are those of
    the uniform beam of the same length and mass; they stay admissible, and all integrals take the true
    section.
    """
    length = profile.length
    if kind != "clamped-mass":
        tip_mass = tip_inertia = 0.0
    own = family_inertia(family, profile)
    if kind == "user":
        shapes: list[Shape] = [Given(length=length, function=function) for function in functions[:count]]
    elif family == "torsion":
        shapes = rod_shapes(kind, count, length, ratio=tip_inertia / own)
    elif family in ("bend_y", "bend_z"):
        shapes = bending_shapes(kind, count, length, mu=tip_mass / own, J=tip_inertia / (own * length**2))
    else:
        shapes = rod_shapes(kind, count, length, ratio=tip_mass / own)
    return BeamModes(family, normalised(shapes, normalise, family, profile, tip_mass=tip_mass, tip_inertia=tip_inertia))


def normalised(
    shapes: Sequence[Shape],
    rule: str,
    family: str,
    profile: BeamProfile,
    *,
    tip_mass: float = 0.0,
    tip_inertia: float = 0.0,
) -> tuple[Shape, ...]:
    """The shapes scaled by one of the rules.

    mass  int rhoA phi^2 dx + tip_mass phi(L)^2 + tip_inertia phi'(L)^2 = mass of the beam; for torsion
          int rhoJ phi^2 dx + tip_inertia phi(L)^2 = polar inertia of the beam
    tip   phi(L) = 1
    unit  largest |phi| = 1
    none  the raw formula
    """
    match rule:
        case "none":
            return tuple(shapes)
        case "tip":
            return tuple(shape.scaled(1.0 / _tip_value(shape)) for shape in shapes)
        case "unit":
            return tuple(shape.scaled(1.0 / _not_zero(peak(shape))) for shape in shapes)
        case "mass":
            return tuple(shape.scaled(_mass_factor(shape, family, profile, tip_mass, tip_inertia)) for shape in shapes)
    raise ValueError(f"unknown normalisation {rule!r}")


def family_inertia(family: str, profile: BeamProfile) -> float:
    """The mass of the beam, kg; for torsion its polar inertia, kg m^2."""
    x, weights = gauss(profile.breaks, 2 + TAPER_POINTS)
    return float(weights @ _density(family, profile, x))


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


def _density(family: str, profile: BeamProfile, x: Array) -> Array:
    section = profile.at(x)
    return section.polar if family == "torsion" else np.asarray(section.rhoA)


def _mass_factor(shape: Shape, family: str, profile: BeamProfile, tip_mass: float, tip_inertia: float) -> float:
    breaks = merge_breaks(profile.breaks, equal_breaks(shape.length, shape.panels), length=profile.length)
    x, weights = gauss(breaks, shape.points + TAPER_POINTS)
    density = weights * _density(family, profile, x)
    own = float(density @ shape(x) ** 2)
    value, slope = float(shape(shape.length)), float(shape(shape.length, 1))
    match family:
        case "torsion":
            tip = tip_inertia * value**2
        case "bend_y" | "bend_z":
            tip = tip_mass * value**2 + tip_inertia * slope**2
        case _:
            tip = tip_mass * value**2
    return sqrt(float(density.sum()) / _not_zero(own + tip))


def _not_zero(value: float) -> float:
    if value == 0.0:
        raise ValueError("the shape is zero all along the beam and cannot be normalised")
    return value


def _tip_value(shape: Shape) -> float:
    value = float(shape(shape.length))
    if abs(value) <= 1e-12 * peak(shape):
        raise ValueError("the shape is zero at the tip and cannot be normalised to a unit tip value")
    return value
