"""The shape of a beam that is curved or twisted before any load acts."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from pliant.model.element import Array, Element, rule
from pliant.model.units import Quantity

if TYPE_CHECKING:
    from pliant.model.description.beams import Beam

VARYING_STEPS = 200
"""Steps in which a curvature that varies along a piece is taken as constant."""

OneCurvature = Annotated[float, Quantity("rad/m")]


def _as_list(value: Any) -> Any:
    """A single value holds all along."""
    return value if isinstance(value, list | tuple) or value is None else (value,)


Curvatures = Annotated[tuple[OneCurvature, ...], BeforeValidator(_as_list)]


class Curvature(Element):
    """Curvature and twist of the unloaded axis, each one value, or a list of values at equal distances along it."""

    bend_y: Curvatures = Field(default=(), description="curvature towards +y, 1/radius")
    bend_z: Curvatures = Field(default=(), description="curvature towards +z, 1/radius")
    torsion: Curvatures = Field(default=(), description="twist about the axis per length")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not any(any(values) for values in (self.bend_y, self.bend_z, self.torsion)):
            raise rule("no curvature differs from zero; give bend_y, bend_z or torsion, or leave curvature out")
        return self

    @property
    def is_constant(self) -> bool:
        """Whether it is the same all along."""
        return all(len(values) < 2 for values in (self.bend_y, self.bend_z, self.torsion))

    def at(self, fraction: Array) -> Array:
        """Curvatures about x, y and z (places, 3) at fractions of the length; lists are joined by straight lines."""

        def along(values: tuple[float, ...]) -> Array:
            if len(values) < 2:
                return np.full(np.shape(fraction), values[0] if values else 0.0)
            return np.interp(fraction, np.linspace(0.0, 1.0, len(values)), values)

        return np.stack([along(self.torsion), -along(self.bend_z), along(self.bend_y)], axis=-1)


def undeformed_pose(beam: Beam, x: float) -> tuple[Array, Array]:
    """Position (3,) and axes (3, 3) of the section at x of the unloaded beam."""
    p, R = np.zeros(3), np.eye(3)
    if not beam.is_curved:
        return np.array([x, 0.0, 0.0]), R
    for part, start in zip(beam.parts(), beam.breakpoints[:-1], strict=True):
        length = min(max(x - start, 0.0), part.length)
        if part.curvature is None or not length:
            p = p + length * R[:, 0]
            continue
        constant = part.curvature.is_constant
        steps = 1 if constant else max(1, ceil(VARYING_STEPS * length / part.length))
        h = length / steps
        for kappa in part.curvature.at((np.arange(steps) + 0.5) * h / part.length):
            turn, mean = _arc(h * kappa)
            p, R = p + h * R @ mean[:, 0], R @ turn
    return p, R


def _arc(theta: Array) -> tuple[Array, Array]:
    """exp(theta~), and its mean along the arc."""
    angle, K = float(np.linalg.norm(theta)), np.cross(np.eye(3), theta)
    # sin(a)/a, (1 - cos a)/a^2 and (a - sin a)/a^3
    a = np.sinc(angle / np.pi)
    b = 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    c = (1 - a) / angle**2 if angle > 1e-4 else 1 / 6
    return np.eye(3) + a * K + b * K @ K, np.eye(3) + b * K + c * K @ K
