"""Where the links of a robot are: undeformed in its reference pose, and as they bend at any configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.carried import frame_pose, joint_pose
from pliant.bodies.modal_body import Array
from pliant.bodies.words import centre_line

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics, Pose
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot


# ---------------------------------------------------------------- where the links of a robot are in its reference pose,


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


# ---------------------------------------------------------------- where the links of a robot are at some configurations


class BentLinks:
    """The links at configurations q (..., n): one, or several at once."""

    def __init__(self, arm: Dynamics, q: Array) -> None:
        self.arm, self.robot, self.q = arm, arm.robot, np.asarray(q, dtype=float)
        self._poses: dict[str, Pose] = {}

    def pose(self, frame: str) -> Pose:
        """Pose of a frame in the base."""
        if frame not in self._poses:
            self._poses[frame] = self.arm.pose(frame, self.q)
        return self._poses[frame]

    def position(self, frame: str) -> Array:
        """Position of a frame in the base (..., 3)."""
        return self.pose(frame).position

    def own(self, name: str) -> Pose:
        """Pose of a link's own frame B in the base."""
        return self.arm.link_pose(name, self.q)

    def loads(self) -> Array:
        """Centres of mass (..., parts, 3) of hubs and payloads in the base."""
        places = []
        for member in self.arm.mechanism.members:
            for part in member.parts:
                on = self.pose(f"{member.name}.{part.frame}")
                places.append(on.position + on.rotation @ part.com)
        return np.stack(places, axis=-2) if places else np.zeros((*self.q.shape[:-1], 0, 3))

    def axis(self, link: Link, stations: int) -> Array:
        """Points (..., stations, 3) along a beam in the base."""
        member = self.arm.mechanism.member(link.name)
        x = np.linspace(0.0, link.length, stations)
        local = centre_line(link, self.robot, self.q[..., member.elastic], x)
        own = self.own(link.name)
        return np.asarray(own.position[..., None, :] + local @ np.swapaxes(own.rotation, -1, -2))
