"""Joints that move exactly as desired; only the links bend freely, and the torques result."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from pliant.simulation.drives.drive import ActiveDrive, Drive
from pliant.simulation.trajectories.kinds import AnyTrajectory
from pliant.simulation.trajectories.path import Floats, Path, Surroundings

JUMP = 1e-6
"""Positions, rad or m, between which a motion counts as broken: inverse kinematics meet theirs to less."""


class PrescribedMotion(Drive):
    """The inputs follow a trajectory exactly: the inverse model of Briot & Khalil over a trajectory.

    Where its rates jump the motors strike the robot: links and passive joints take up the impulse, and its work counts.
    """

    kind = "prescribed"
    trajectory: AnyTrajectory = Field(description="the motion of the joints")

    def bind(self, around: Surroundings, q0: Floats) -> ActiveDrive:
        path = self.trajectory.bind(around, q0, 0.0)
        for t in path.breaks:
            if t > 0:
                jumps = np.abs(path.at(t).q - path.at(float(np.nextafter(t, 0.0))).q)
                k = int(np.argmax(jumps))
                if jumps[k] > JUMP:
                    raise self.trajectory.fault(
                        f"joint '{around.inputs[k]}' jumps by {jumps[k]:.4g} at {t:.6g} s, which no force can do; "
                        "move it there in some time (quintic), or let a controller follow (drive: pid)"
                    )
        return PrescribedJoints(path)


class PrescribedJoints(ActiveDrive):
    """Marks the equations as constrained; it has no law of its own."""

    feedback = False

    def __init__(self, path: Path) -> None:
        self.path: Path = path
