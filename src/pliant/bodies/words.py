"""Units and words of the coordinates of bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pliant.model import Link

STRAINS = {
    "bend_y": ("1/m", "curvature in y, factor of a Legendre polynomial"),
    "bend_z": ("1/m", "curvature in z, factor of a Legendre polynomial"),
    "torsion": ("rad/m", "twist, factor of a Legendre polynomial"),
    "axial": ("", "stretch, factor of a Legendre polynomial"),
    "shear_y": ("", "shear in y, factor of a Legendre polynomial"),
    "shear_z": ("", "shear in z, factor of a Legendre polynomial"),
}
"""Unit and word of a coordinate that is itself a strain, by its family."""


FORCES = {"m": "N", "rad": "N m", "1/m": "N m^2", "rad/m": "N m^2", "": "N m"}
"""Unit of the force that works on a coordinate, by the unit of the coordinate."""


class CoordinateWord(NamedTuple):
    """What a coordinate is.

    unit
    word    for a reader
    strain  whether it is a strain of its link
    """

    unit: str
    word: str
    strain: bool = False

    @property
    def force(self) -> str:
        """Unit of the force that works on it."""
        return FORCES[self.unit]


def elastic_words(link: Link, names: tuple[str, ...]) -> tuple[CoordinateWord, ...]:
    """Units and words of the elastic coordinates of a link, by their names FAMILY.k."""
    return tuple(_word(link, name.partition(".")[0]) for name in names)


def _word(link: Link, family: str) -> CoordinateWord:
    if _is_strain(link, family):
        return CoordinateWord(*STRAINS[family], strain=True)
    return CoordinateWord("rad" if family == "torsion" else "m", "elastic coordinate")


def _is_strain(link: Link, family: str) -> bool:
    """Whether the coordinates of a family are strains: Legendre shapes that are not normalised."""
    beam = link.beam
    if beam is None or beam.modes is None or family not in beam.families:
        return False
    given = beam.modes.resolve(family)
    return given.shape == "legendre" and given.normalise == "none"
