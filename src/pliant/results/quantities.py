"""What follows from a sampled motion: accelerations, energies, reactions, poses, deflections, strains."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.dynamics import Dynamics
from pliant.results.samples import Floats, Samples, Strain

if TYPE_CHECKING:
    from pliant.dynamics import Pose
    from pliant.model.robot import Robot


class Quantities:
    """Arrays over the samples (first axis), computed when first asked for and then kept."""

    def __init__(self, robot: Robot, samples: Samples, arm: Dynamics) -> None:
        self.robot, self.samples, self.arm = robot, samples, arm
        self._poses: dict[str, list[Pose]] = {}

    @cached_property
    def accelerations(self) -> Floats:
        """Of the coordinates (N, n)."""
        s = self.samples
        return self.arm.forward(s.q, s.v, s.tau, force=s.force if s.force.shape[1] else None)

    @cached_property
    def energies(self) -> Floats:
        """Kinetic, strain and gravity energy (N, 3)."""
        states = zip(self.samples.q, self.samples.v, strict=True)
        return np.array([self.arm.energy(q, v) for q, v in states])

    @cached_property
    def total_energy(self) -> Floats:
        """All energies of the robot (N,)."""
        total: Floats = self.energies.sum(axis=1)
        return total

    @cached_property
    def balance(self) -> Floats:
        """Energy gained - work of motors and loads + losses (N,): zero but for errors."""
        E, work = self.total_energy, self.samples.work - self.samples.work[0]
        return np.asarray(E - E[0] - work[:, 0] - work[:, 1] + work[:, 2])

    @cached_property
    def power(self) -> Floats:
        """Of the motors (N,)."""
        return np.asarray(np.einsum("ij,ij->i", self.samples.tau, self.samples.v @ self.arm.B))

    @cached_property
    def reactions(self) -> Floats:
        """Force and moment that each joint hands to its link, link axes (N, links, 6)."""
        rows = zip(self.samples.q, self.samples.v, self.accelerations, strict=True)
        return np.array([list(self.arm.reactions(*row).values()) for row in rows])

    # ---- frames

    def poses(self, frame: str) -> list[Pose]:
        """Poses of a frame."""
        if frame not in self._poses:
            self._poses[frame] = [self.arm.pose(frame, q) for q in self.samples.q]
        return self._poses[frame]

    def position(self, frame: str) -> Floats:
        """Of a frame in the base (N, 3)."""
        return np.array([pose.position for pose in self.poses(frame)])

    def rotation(self, frame: str) -> Floats:
        """Rotation matrices of a frame in the base (N, 3, 3)."""
        return np.array([pose.rotation for pose in self.poses(frame)])

    def velocity(self, frame: str) -> Floats:
        """Of a frame's origin, base axes (N, 3)."""
        states = zip(self.samples.q, self.samples.v, strict=True)
        return np.array([self.arm.velocity(frame, q, v).linear for q, v in states])

    def deviation(self, frame: str) -> Floats:
        """What bending adds to the position of a frame of the rigid robot, base axes (N, 3)."""
        joints = np.isin(self.arm.names, self.robot.joint_coordinates)
        rigid = np.where(joints, self.samples.q, 0.0)
        return np.asarray(self.position(frame) - [self.arm.pose(frame, q).position for q in rigid])

    # ---- links

    @cached_property
    def bodies(self) -> dict[str, Any]:
        """The constants of the flexible links, by name."""
        from pliant.bodies.build import build_body

        return {link.name: build_body(link, self.robot) for link in self.robot.links if link.is_flexible}

    def elastic(self, link: str) -> Floats:
        """Elastic coordinates of a link (N, size)."""
        names = [f"{link}.{name}" for name in self.bodies[link].names]
        return self.samples.q[:, [self.arm.names.index(name) for name in names]]

    def tip_deflection(self, link: str) -> Floats:
        """Displacement of a link's tip against its own frame, link axes (N, 3)."""
        return np.asarray(self.elastic(link) @ self.bodies[link].frames["tip"].Phi_d.T)

    def tip_slope(self, link: str) -> Floats:
        """Rotation vector of a link's tip against its own frame, link axes (N, 3)."""
        return np.asarray(self.elastic(link) @ self.bodies[link].frames["tip"].Phi_r.T)

    def strain(self, place: Strain) -> Floats:
        """u' - y u_y'' - z u_z'' at a place of a beam (N,)."""
        from pliant.bodies.build import shape_sets

        levers = {"bend_y": -place.y, "bend_z": -place.z, "axial": 1.0}
        sets = shape_sets(self.robot.link(place.link), self.robot)
        rows = [levers.get(s.family, 0.0) * s.sample(np.array([place.x])).strain[:, 0] for s in sets]
        return np.asarray(self.elastic(place.link) @ np.concatenate(rows))
