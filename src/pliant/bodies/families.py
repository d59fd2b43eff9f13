"""The ways in which a beam section moves, and sets of shapes that move it.

A section at x with the levers s = (0, y, z) is displaced by value * e_value + rotation * e_rotation x s:

    bend_y   (-psi y,  w, 0)     theta = (0, 0, psi)      strain psi', shear w' - psi
    bend_z   (-psi z,  0, w)     theta = (0, -psi, 0)     strain psi', shear w' - psi
    torsion  (0, -a z, a y)      theta = (a, 0, 0)        strain a'
    axial    (u, 0, 0)           theta = 0                strain u'
    shear_y  (0, w, 0)           theta = 0                strain w'
    shear_z  (0, 0, w)           theta = 0                strain w'

psi is the slope w' of the axis unless the element is shear-flexible; modes of shear are those of exact beams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pliant.bodies.modal_body import Array

X, Y, Z = 0, 1, 2


@dataclass(frozen=True, slots=True)
class FamilyMotion:
    """Directions of one family.

    value      axis of the displacement of the beam axis, or None
    rotation   (axis, sign) of the section's turn, or None
    levers     for a lever along x, y and z: (axis, sign) of its displacement per unit rotation, or None
    stiffness  name of the section stiffness that resists the strain
    shear      name of the section stiffness that resists the shear, or None
    """

    value: int | None
    rotation: tuple[int, float] | None
    levers: tuple[tuple[int, float] | None, tuple[int, float] | None, tuple[int, float] | None]
    stiffness: str
    shear: str | None = None


MOTIONS: dict[str, FamilyMotion] = {
    "bend_y": FamilyMotion(Y, (Z, 1.0), ((Y, 1.0), (X, -1.0), None), "EIz", "GAy"),
    "bend_z": FamilyMotion(Z, (Y, -1.0), ((Z, 1.0), None, (X, -1.0)), "EIy", "GAz"),
    "torsion": FamilyMotion(None, (X, 1.0), (None, (Z, 1.0), (Y, -1.0)), "GJ"),
    "axial": FamilyMotion(X, None, (None, None, None), "EA"),
    "shear_y": FamilyMotion(Y, None, (None, None, None), "GAy"),
    "shear_z": FamilyMotion(Z, None, (None, None, None), "GAz"),
}


@dataclass(frozen=True, slots=True)
class ShapeSamples:
    """The shapes of one family at some stations; every array is (shapes, stations)."""

    value: Array
    rotation: Array
    strain: Array
    shear: Array


class ShapeSet(Protocol):
    """The shapes of one family on one beam, one per elastic coordinate.

    ``breaks`` are stations where a shape has a kink; ``points`` Gauss points per panel integrate x^2 times
    a product of two shapes to rounding error.
    """

    @property
    def family(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def breaks(self) -> tuple[float, ...]: ...
    @property
    def points(self) -> int: ...
    def sample(self, x: Array) -> ShapeSamples: ...


@dataclass(frozen=True, slots=True)
class CombinedSet:
    """Constant linear combinations of the shapes of another set: column k of ``V`` makes shape k."""

    base: ShapeSet
    V: Array

    @property
    def family(self) -> str:
        return self.base.family

    @property
    def size(self) -> int:
        return int(self.V.shape[1])

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.base.breaks

    @property
    def points(self) -> int:
        return self.base.points

    def sample(self, x: Array) -> ShapeSamples:
        s = self.base.sample(x)
        return ShapeSamples(*(np.asarray(self.V.T @ a) for a in (s.value, s.rotation, s.strain, s.shear)))
