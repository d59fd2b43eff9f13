"""Joints that move exactly as desired; only the links bend freely, and the torques result."""

from __future__ import annotations

from pydantic import Field

from pliant.simulation.drives.drive import ActiveDrive, Drive
from pliant.simulation.trajectories.kinds import AnyTrajectory
from pliant.simulation.trajectories.path import Floats, Path, Surroundings


class PrescribedMotion(Drive):
    """The inputs follow a trajectory exactly: the inverse model of Briot & Khalil over a trajectory."""

    kind = "prescribed"
    trajectory: AnyTrajectory = Field(description="the motion of the joints")

    def bind(self, around: Surroundings, q0: Floats) -> ActiveDrive:
        return PrescribedJoints(self.trajectory.bind(around, q0, 0.0))


class PrescribedJoints(ActiveDrive):
    """Marks the equations as constrained; it has no law of its own."""

    feedback = False

    def __init__(self, path: Path) -> None:
        self.path: Path = path
