"""One link as the recursions see it: its structure, and its constants as nested lists of scalars.

The constants may be floats (the readable reference), complex or batched numbers, or traced parameters; the
structure decides which operations exist at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pliant.algorithm import Role
from pliant.bodies.joint_drive import JointDrive
from pliant.bodies.terms import BendingBody, Body
from pliant.joints.kind import JointKind, Resistance
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Matrix, Vector, dot


@dataclass(frozen=True, slots=True)
class LinkKind:
    """The structure of a link: no numbers that a design sweep would change.

    joint  with its axis in the link's own frame
    size   number of elastic coordinates
    """

    joint: JointKind
    size: int
    on_base: bool

    @property
    def coordinates(self) -> int:
        """Number of coordinates of the link: its joint's, then its elastic ones."""
        return self.size + self.held

    @property
    def held(self) -> int:
        """Number of coordinates of the joint."""
        return len(self.joint.coordinates)

    @property
    def is_driven(self) -> bool:
        """Whether motor, spring and friction act along the single coordinate of the joint."""
        return self.joint.is_driven()

    def elastic(self, x: Vector) -> Vector:
        """The elastic part of a link's coordinates."""
        return list(x[self.held :])


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

    joint  numbers of the joint's motion, such as the pitch of a screw
    drag   damping forces on the link's coordinates per unit rate of all of the robot's (own, n); empty without any
    """

    body: Body
    seat: Seat
    drive: JointDrive
    joint: Vector
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


def lost_by(kind: LinkKind, link: LinkConstants, q: Vector, v: Vector, drag: Vector) -> Scalar:
    """Power that damping and friction of one link and its joint take, W.

    drag  forces against the motion of its coordinates by damping that couples links; empty without any
    """
    power = link.body.loss(kind.elastic(v))
    if drag:
        power = power + dot(v, drag)
    if kind.is_driven:
        return power + link.drive.power(link.drive.on_motor(v[0], kind.elastic(v)))
    by = Resistance(link.drive.stiffness, link.drive.damping)
    return power + kind.joint.lost(by, q[: kind.held], v[: kind.held])
