"""What follows from a sampled motion: accelerations, energies, reactions, poses, deflections, strains."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pliant.analysis.along import AlongBeam, along
from pliant.analysis.unbent import unbent
from pliant.bodies.centre_line import axial_strain, centre_line
from pliant.bodies.constants import deflection
from pliant.dynamics import Dynamics
from pliant.results.samples import Floats, Samples, Strain

if TYPE_CHECKING:
    from pliant.dynamics import Pose
    from pliant.model.description.robot import Robot


class Quantities:
    """Arrays over the samples (first axis), computed when first asked for and then kept."""

    def __init__(self, robot: Robot, samples: Samples, arm: Dynamics, loaded: tuple[str, ...] = ()) -> None:
        self.robot, self.samples, self.arm, self.loaded = robot, samples, arm, loaded
        self._poses: dict[str, Pose] = {}
        self.known_positions: dict[str, Floats] = {}

    @cached_property
    def accelerations(self) -> Floats:
        """Of the coordinates (N, n)."""
        s = self.samples
        return self.arm.forward(s.q, s.v, s.tau, force=s.force if s.force.shape[1] else None)

    @cached_property
    def energies(self) -> Floats:
        """Kinetic, strain and gravity energy (N, 3)."""
        return np.array(self.arm.energy(self.samples.q, self.samples.v)).T

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
    def reactions(self) -> dict[str, Floats]:
        """Joint -> force and moment that it hands to its link, link axes (N, 6)."""
        s, arm, found = self.samples, self.arm, list[dict[str, Floats]]()
        f = s.tau @ arm.B.T + (s.force if s.force.shape[1] else 0.0)
        wrenches = s.wrenches.reshape(len(s), len(self.loaded), 6)
        for q, v, a, force, loads in zip(s.q, s.v, self.accelerations, f, wrenches, strict=True):
            closing = arm.closing_wrenches(q, v, a, force, given=True)
            found.append(arm.by_joint(q, v, a, [*zip(self.loaded, loads, strict=True), *closing]))
        return {joint: np.array([each[joint] for each in found]) for joint in found[0]}

    # ---- closed loops

    @cached_property
    def gap(self) -> Floats:
        """Largest gap of the loops, m or rad (N,)."""
        return np.asarray(np.abs(self.arm.closure(self.samples.q)).max(axis=1))

    @cached_property
    def closing_forces(self) -> Floats:
        """Forces and moments of the closures on their first frames (N, rows)."""
        s = self.samples
        return self.arm.multipliers(s.q, s.v, s.tau, force=s.force if s.force.shape[1] else None)

    # ---- frames

    def poses(self, frame: str) -> Pose:
        """Poses of a frame in the base: positions (N, 3), rotation matrices (N, 3, 3)."""
        if frame not in self._poses:
            self._poses[frame] = self.arm.pose(frame, self.samples.q)
        return self._poses[frame]

    def position(self, frame: str) -> Floats:
        """Of a frame in the base (N, 3)."""
        return self.known_positions[frame] if frame in self.known_positions else self.poses(frame).position

    def rotation(self, frame: str) -> Floats:
        """Rotation matrices of a frame in the base (N, 3, 3)."""
        return self.poses(frame).rotation

    def velocity(self, frame: str) -> Floats:
        """Of a frame's origin, base axes (N, 3)."""
        return self.arm.velocity(frame, self.samples.q, self.samples.v).linear

    def acceleration(self, frame: str) -> Floats:
        """Of a frame's origin, base axes (N, 3)."""
        return self.arm.acceleration(frame, self.samples.q, self.samples.v, self.accelerations).linear

    def deviation(self, frame: str) -> Floats:
        """What bending adds to the position of a frame of the rigid robot, base axes (N, 3)."""
        return np.asarray(self.position(frame) - self.arm.pose(frame, self.unbent).position)

    @cached_property
    def unbent(self) -> Floats:
        """The rigid robot at the same joint positions; with loops at those of the drives (N, n)."""
        return unbent(self.arm, self.samples.q)

    # ---- links

    def elastic(self, link: str) -> Floats:
        """Elastic coordinates of a link (N, size)."""
        return self.samples.q[:, self.arm.mechanism.member(link).elastic]

    def tip_motion(self, link: str) -> tuple[Floats, Floats]:
        """Displacement and rotation vector of a link's tip against its own frame, link axes (N, 3)."""
        return deflection(self.arm.mechanism.member(link).body, "tip", self.elastic(link))

    def tip_deflection(self, link: str) -> Floats:
        """Displacement of a link's tip against its own frame, link axes (N, 3)."""
        return self.tip_motion(link)[0]

    def bending(self, link: str) -> Floats:
        """Displacement of a beam's mid-span against the line from its root to its tip, link axes (N, 3)."""
        length = self.robot.link(link).length
        stations = np.array([0.0, length / 2, length])
        root, middle, tip = np.moveaxis(
            centre_line(self.robot.link(link), self.robot, self.elastic(link), stations), -2, 0
        )
        return np.asarray(middle - (root + tip) / 2)

    def tip_slope(self, link: str) -> Floats:
        """Rotation vector of a link's tip against its own frame, link axes (N, 3)."""
        return self.tip_motion(link)[1]

    def along(self, link: str) -> AlongBeam:
        """Shape, strains and stress along a beam at each sample."""
        return along(self.arm, link, self.samples.q)

    def stress(self, link: str) -> Floats:
        """Largest axial stress in a beam, Pa (N,)."""
        stress = self.along(link).stress
        assert stress is not None
        return np.asarray(stress.max(axis=-1))

    def strain(self, place: Strain) -> Floats:
        """u' - y u_y'' - z u_z'' at a place of a beam (N,)."""
        link = self.robot.link(place.link)
        return axial_strain(link, self.robot, (place.x, place.y, place.z), self.elastic(place.link))
