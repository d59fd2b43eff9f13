"""Where the links of a robot are in its reference pose, undeformed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.carried import frame_pose, joint_pose
from pliant.bodies.modal_body import Array

if TYPE_CHECKING:
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot


@dataclass(frozen=True, slots=True)
class FramePose:
    """A frame A in the base W: rotation R_WA (3, 3) and position p_WA (3,)."""

    R: Array
    p: Array

    def __call__(self, points: Array) -> Array:
        """Points (..., 3) given in the frame, seen in the base."""
        seen: Array = self.p + np.asarray(points, dtype=float) @ self.R.T
        return seen

    def placed(self, position: Array, rotation: Array) -> FramePose:
        """A frame that is given in this one."""
        return FramePose(self.R @ rotation, self(position))


@dataclass(frozen=True, slots=True)
class PlacedLink:
    """A link in the base.

    held   the frame of the parent that carries the joint
    joint  the joint frame, on the parent's side
    own    the link frame B
    """

    link: Link
    held: FramePose
    joint: FramePose
    own: FramePose

    @property
    def axis(self) -> Array:
        """The joint axis in the base."""
        axis: Array = self.joint.R @ self.link.joint.axis_vector()
        return axis

    def frame(self, name: str) -> FramePose:
        """A frame of the undeformed link."""
        return self.own.placed(*frame_pose(self.link, name))


BASE = FramePose(np.eye(3), np.zeros(3))


def place_links(robot: Robot) -> dict[str, PlacedLink]:
    """All links by name, parents first."""
    placed: dict[str, PlacedLink] = {}
    at = robot.reference_coordinates()
    for link in robot.links:
        parent, frame = robot.parent_of(link.name)
        held = placed[parent].frame(frame) if parent in placed else BASE
        joint = held.placed(link.joint.placement.vector(), link.joint.placement.matrix())
        own = held.placed(*joint_pose(link.joint, at))
        placed[link.name] = PlacedLink(link, held, joint, own)
    return placed
