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
class BeamFamily:
    """One way in which the sections of a beam move, and its words.

    name       of its coordinates, NAME.1, NAME.2, ...
    word       for a reader
    value      axis of the displacement of the beam axis, or None
    rotation   (axis, sign) of the section's turn, or None
    levers     for a lever along x, y and z: (axis, sign) of its displacement per unit rotation, or None
    stiffness  name of the section stiffness that resists the strain
    shear      name of the section stiffness that resists the shear, or None
    strain     unit and word of a coordinate that is itself the strain
    letter     symbol of its coordinates in equations
    mark       index of its constants in equations
    fast       why its vibrations are fast, for a run that is slow; empty where nobody has said it
    """

    name: str
    word: str
    value: int | None
    rotation: tuple[int, float] | None
    levers: tuple[tuple[int, float] | None, tuple[int, float] | None, tuple[int, float] | None]
    stiffness: str
    shear: str | None
    strain: tuple[str, str]
    letter: str = ""
    mark: str = ""
    fast: str = ""

    @property
    def bends(self) -> bool:
        """Whether sections move across the axis and turn with its slope."""
        return self.shear is not None

    @property
    def shears(self) -> bool:
        """Whether the strain is a shear: sections move across the axis and do not turn."""
        return not self.bends and self.value in (Y, Z)

    @property
    def is_angle(self) -> bool:
        """Whether sections only turn, so that a coordinate is an angle."""
        return self.value is None

    @property
    def unit(self) -> str:
        """Unit of a coordinate that is no strain."""
        return "rad" if self.is_angle else "m"

    @property
    def turns_about(self) -> int:
        """Axis whose moment of inertia at the tip loads the family; x where sections do not turn."""
        return X if self.rotation is None else self.rotation[0]

    @property
    def components(self) -> tuple[int, ...]:
        """Components of (displacement, turn) of a section that the family moves, 0 to 5."""
        return tuple(
            ([] if self.value is None else [self.value]) + ([] if self.rotation is None else [3 + self.rotation[0]])
        )

    @property
    def fibre(self) -> int | None:
        """Which of u', u_y'' and u_z'', the strains that stretch fibres, the strain of the family is; None: none."""
        return self.value if self.bends or self.value == X else None


_STILL = (None, None, None)
_LEGENDRE = "factor of a Legendre polynomial"
_FAST_BENDING = "bending in a fast mode: fewer modes or elements are slower"
FAMILIES: dict[str, BeamFamily] = {
    family.name: family
    for family in (
        BeamFamily(
            "bend_y", "bending in y", Y, (Z, 1.0), ((Y, 1.0), (X, -1.0), None), "EIz", "GAy",
            ("1/m", f"curvature in y, {_LEGENDRE}"), "v", "y", _FAST_BENDING,
        ),
        BeamFamily(
            "bend_z", "bending in z", Z, (Y, -1.0), ((Z, 1.0), None, (X, -1.0)), "EIy", "GAz",
            ("1/m", f"curvature in z, {_LEGENDRE}"), "w", "z", _FAST_BENDING,
        ),
        BeamFamily(
            "torsion", "torsion", None, (X, 1.0), (None, (Z, 1.0), (Y, -1.0)), "GJ", None,
            ("rad/m", f"twist, {_LEGENDRE}"), "psi", "t", "torsion of a thin beam, whose waves are fast",
        ),
        BeamFamily(
            "axial", "elongation", X, None, _STILL, "EA", None, ("", f"stretch, {_LEGENDRE}"), "u", "x",
            "stretch, whose waves are fast: leave axial modes out unless stretch is wanted",
        ),
        BeamFamily("shear_y", "shear in y", Y, None, _STILL, "GAy", None, ("", f"shear in y, {_LEGENDRE}")),
        BeamFamily("shear_z", "shear in z", Z, None, _STILL, "GAz", None, ("", f"shear in z, {_LEGENDRE}")),
    )
}  # fmt: skip
"""The families of a beam by name, in the order of its coordinates."""


def family_of(coordinate: str) -> BeamFamily | None:
    """The family of a body's coordinate FAMILY.k, or of its name alone; None for coordinates of other bodies."""
    return FAMILIES.get(coordinate.partition(".")[0])


def family_word(name: str) -> str:
    """What a family is, for a reader; families of other bodies say it by their names."""
    return FAMILIES[name].word if name in FAMILIES else name


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
