"""The shape of a beam that is curved or twisted before any load acts."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from pliant.model.element import Array, Element, rule
from pliant.model.units import Quantity

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
