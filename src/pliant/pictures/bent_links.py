"""Where the links of a robot are at some configurations, each as it bends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.centre_line import centre_line
from pliant.bodies.modal_body import Array

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics, Pose
    from pliant.model.description.links import Link


class BentLinks:
    """The links at configurations q (..., n): one, or several at once."""

    def __init__(self, arm: Dynamics, q: Array) -> None:
        self.arm, self.robot, self.q = arm, arm.robot, np.asarray(q, dtype=float)
        self._poses: dict[str, Pose] = {}

    def pose(self, frame: str) -> Pose:
        """Of a frame in the base."""
        if frame not in self._poses:
            self._poses[frame] = self.arm.pose(frame, self.q)
        return self._poses[frame]

    def position(self, frame: str) -> Array:
        """Of a frame in the base (..., 3)."""
        return self.pose(frame).position

    def own(self, name: str) -> Pose:
        """Of a link's own frame B in the base."""
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
