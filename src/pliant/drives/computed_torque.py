"""Computed torque: the inverse dynamics of the rigid model at the measured joints, with feedback inside."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from pydantic import Field

from pliant.drives.drive import Controller, DriveLaw
from pliant.drives.traced_model import TracedTwin
from pliant.laws import Action, Floats, measured, numbers_in_code
from pliant.spatial.vectors import Vector
from pliant.trajectories.driven_twin import DrivenTwin
from pliant.trajectories.kinds import AnyTrajectory
from pliant.trajectories.path import Path, Surroundings
from pliant.trajectories.per_joint import Plain, numbers


class ComputedTorque(Controller):
    """tau = M_r(q) (a_d + kd (v_d - v) + kp (q_d - q)) + h_r(q, v) with the rigid model at the measured joints."""

    kind = "computed_torque"
    trajectory: AnyTrajectory = Field(description="the desired motion")
    kp: Plain = Field(default=0.0, description="gains of the position error, 1/s^2")
    kd: Plain = Field(default=0.0, description="gains of the rate error, 1/s")

    def law(self, around: Surroundings, q0: Floats) -> DriveLaw:
        kp, kd = (numbers(getattr(self, key), around.inputs, 0.0, key) for key in ("kp", "kd"))
        path = self.trajectory.bind(around, q0, 0.0)
        return ComputedTorqueLaw(around.arm.B, kp, kd, DrivenTwin(around), path)


class ComputedTorqueLaw(DriveLaw):
    """tau = ID_r(q, v, a_d + kd (v_d - v) + kp (q_d - q)) with the inverse dynamics ID_r of the rigid twin.

    Its signals are the desired positions, rates and accelerations.
    """

    def __init__(self, B: Floats, kp: Floats, kd: Floats, model: DrivenTwin, path: Path) -> None:
        self.B, self.kp, self.kd, self.twin = B, kp, kd, TracedTwin(model)
        self.path: Path = path
        self.channels = 3 * len(kp)

    @property
    def may_refuse(self) -> bool:  # type: ignore[override]
        return self.twin.may_refuse

    @property
    def structure(self) -> Hashable:
        return "computed torque", numbers_in_code(self.B), self.twin.structure

    @property
    def gains(self) -> tuple[float, ...]:  # type: ignore[override]
        return (*self.kp.tolist(), *self.kd.tolist(), *self.twin.numbers)

    def signals(self, t: Floats) -> Floats:
        return np.hstack(self.path.many(t))

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        m, r = len(self.kp), signals
        seen, rate = measured(self.B, q), measured(self.B, v)
        a = [r[2 * m + k] + gains[m + k] * (r[m + k] - rate[k]) + gains[k] * (r[k] - seen[k]) for k in range(m)]
        return Action(self.twin.efforts(q, seen, rate, a, gains[2 * m :]))
