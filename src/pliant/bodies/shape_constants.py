"""Roots and factors of the assumed shapes of a robot: beta, sigma and c_1 to c_4 of Lin & Lewis (32)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pliant.bodies.words import words_of

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot


@dataclass(frozen=True, slots=True)
class ShapeConstants:
    """phi(x) = c_1 cos(beta x) + c_2 cosh(beta x) + c_3 sin(beta x) + c_4 sinh(beta x) of one assumed shape.

    coordinate  LINK.FAMILY.k
    root        beta times the length of the beam; beta   1/m
    sigma       of shapes cosh - cos - sigma (sinh - sin), which are clamped at the root; else None
    c           c_1, c_2, c_3, c_4 as the shape is normalised
    """

    coordinate: str
    root: float
    beta: float
    sigma: float | None
    c: tuple[float, float, float, float]


def shape_constants(robot: Robot | str) -> list[ShapeConstants]:
    """The constants of all assumed shapes that are made of circular and hyperbolic functions.

    Polynomials and shapes of the user have none, nor have beams of elements.
    """
    from pliant.model.description.robot import Robot
    from pliant.model.readers.library import load

    loaded = robot if isinstance(robot, Robot) else load(robot)
    out = []
    for link in loaded.links:
        counts: dict[str, int] = {}
        for family, shape in words_of(link, loaded).assumed_shapes():
            counts[family] = counts.get(family, 0) + 1
            found = shape.harmonics()
            if found is not None:
                name = f"{link.name}.{family}.{counts[family]}"
                out.append(ShapeConstants(name, found.root, found.root / shape.length, found.sigma, found.c))
    return out
