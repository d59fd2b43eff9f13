"""One link as the recursions see it: its structure, and its constants as nested lists of scalars.

The constants may be floats (the readable reference), complex or batched numbers, or traced parameters; the
structure decides which operations exist at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pliant.algorithm import Role
from pliant.bodies.joint_drive import JointDrive
from pliant.bodies.terms import BendingBody, Body
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Matrix, Vector

JointType = Literal["revolute", "prismatic", "fixed", "spherical", "free"]
COORDINATES: dict[JointType, int] = {"revolute": 1, "prismatic": 1, "fixed": 0, "spherical": 3, "free": 6}


@dataclass(frozen=True, slots=True)
class LinkKind:
    """The structure of a link: no numbers that a design sweep would change.

    joint  one that turns any way has its rotation vector as coordinates, a free one before it three shifts
    axis   0, 1 or 2: the joint turns about (slides along) this axis of the link's own frame
    sign   +1 or -1: sense of the joint coordinate about that axis
    size   number of elastic coordinates
    """

    joint: JointType
    axis: int
    sign: float
    size: int
    on_base: bool

    @property
    def coordinates(self) -> int:
        """Number of coordinates of the link: its joint's, then its elastic ones."""
        return self.size + COORDINATES[self.joint]

    @property
    def has_axis(self) -> bool:
        """Whether the joint has one coordinate: a turn about its axis or a slide along it."""
        return self.joint in ("revolute", "prismatic")

    @property
    def turns_freely(self) -> bool:
        """Whether a rotation vector is among the joint's coordinates, the last three of them."""
        return self.joint in ("spherical", "free")


class Seat(NamedTuple):
    """The place on the parent's body where a link's joint sits: a section of that body, and what is fixed to it.

    section  what the parent's body needs to know of the section
    offset   from the section's point to the joint frame, turning with the section; axes of the parent's body
    R0       axes of the joint frame in the undeformed parent
    angle    of the link's frame about the joint axis at zero joint coordinate
    """

    section: Any
    offset: Vector
    R0: Matrix
    angle: Scalar

    @staticmethod
    def roles() -> dict[str, Role]:
        """Axes that are at right angles are structure."""
        return {"R0": "exact", "angle": "alone"}


class LinkConstants(NamedTuple):
    """The terms of the body, its seat on the parent, what acts along the joint, and what couples it to other links.

    The body stands first, so that equal bodies have their values in equal places.

    drag  damping forces on the link's coordinates per unit rate of all of the robot's (own, n); empty without any
    """

    body: Body
    seat: Seat
    drive: JointDrive
    drag: Matrix

    @property
    def looped_part(self) -> str:
        """What steps of stations know of a link."""
        return "body"

    @property
    def looped(self) -> Sequence[Any]:
        """The stations of the body where compiled code is a loop over them."""
        return self.body.stations if isinstance(self.body, BendingBody) and self.body.looped else ()

    @property
    def chained(self) -> bool:
        """Whether a station of the body takes something from the one before it."""
        return isinstance(self.body, BendingBody) and self.body.chained

    @staticmethod
    def roles() -> dict[str, Role]:
        """Damping takes energy."""
        return {"drag": "loss"}
