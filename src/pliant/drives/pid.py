"""PD and PID controllers on joint measurements, with gravity compensation of the rigid robot."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from pliant.drives.drive import Controller, DriveLaw
from pliant.drives.feedback import FeedbackLaw, Gains
from pliant.laws import Floats
from pliant.trajectories.driven_twin import DrivenTwin
from pliant.trajectories.joint_moves import Hold
from pliant.trajectories.kinds import AnyTrajectory
from pliant.trajectories.path import Surroundings
from pliant.trajectories.per_joint import Dampings, Plain, Stiffnesses, numbers

Gravity = Literal["none", "desired", "measured"]


class PID(Controller):
    """tau = kp (q_d - q) + kd (v_d - v) + ki int (q_d - q) dt + gravity of the rigid robot.

    q and v are measured at the motors.
    """

    kind = "pid"
    trajectory: AnyTrajectory = Field(default_factory=lambda: Hold(), description="the desired motion; default: hold")
    kp: Stiffnesses = Field(description="proportional gains")
    kd: Dampings = Field(default=0.0, description="gains of the rate")
    ki: Plain = Field(default=0.0, description="integral gains, N m/(rad s) or N/(m s)")
    gravity: Gravity = Field(
        default="none", description="gravity of the rigid robot at the desired or measured pose is added"
    )

    def law(self, around: Surroundings, q0: Floats) -> DriveLaw:
        names, path = around.inputs, self.trajectory.bind(around, q0, 0.0)
        gains = Gains(*(numbers(getattr(self, key), names, 0.0, key) for key in ("kp", "kd", "ki")))
        twin = DrivenTwin(around) if self.gravity != "none" and np.any(around.arm.robot.gravity) else None
        return FeedbackLaw(
            around,
            path,
            gains,
            desired_weight=twin if self.gravity == "desired" else None,
            measured_weight=twin if self.gravity == "measured" else None,
        )
