"""Controllers on joint measurements: PD and PID with gravity compensation, computed torque on the rigid model."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from pliant.simulation.driven_twin import DrivenTwin
from pliant.simulation.drives.drive import NO_RATES, Action, ActiveDrive, Controller
from pliant.simulation.per_joint import Dampings, Plain, Stiffnesses, numbers
from pliant.simulation.trajectories.joint_moves import Hold
from pliant.simulation.trajectories.kinds import AnyTrajectory
from pliant.simulation.trajectories.path import Desired, Floats, Path, Surroundings

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

    def activate(self, around: Surroundings, q0: Floats) -> ActiveDrive:
        return ActivePID(self, around, self.trajectory.bind(around, q0, 0.0))


class ActivePID(ActiveDrive):
    """A PID law; with ``ki`` its states are the integrals of the position errors."""

    def __init__(self, law: PID, around: Surroundings, path: Path) -> None:
        names = around.inputs
        self.kp = numbers(law.kp, names, 0.0, "kp")
        self.kd = numbers(law.kd, names, 0.0, "kd")
        self.ki = numbers(law.ki, names, 0.0, "ki")
        self.B = around.arm.B
        self.path: Path = path
        self.states = len(names) if self.ki.any() else 0
        model = DrivenTwin(around) if law.gravity != "none" and np.any(around.arm.robot.gravity) else None
        self.desired_weight = model if law.gravity == "desired" else None
        self.measured_weight = model if law.gravity == "measured" else None

    def pull(self, desired: Desired, q: Floats | float, v: Floats | float) -> Floats:
        """The efforts for positions and rates of the inputs, but for the integral and gravity at the measured pose."""
        tau = self.kp * (desired.q - q) + self.kd * (desired.v - v)
        return tau if self.desired_weight is None else tau + self.desired_weight.gravity(desired.q)

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        tau, error = self._law(self.path.at(t), q, v, x)
        return Action(tau, error if self.states else NO_RATES)

    def efforts(self, times: Floats, q: Floats, v: Floats, x: Floats) -> Floats:
        return self._law(self.path.many(times), q, v, x)[0]

    def _law(self, desired: Desired, q: Floats, v: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Efforts and errors of the position, at one instant or several."""
        measured = q @ self.B
        tau = self.pull(desired, measured, v @ self.B)
        if self.measured_weight is not None:
            tau = tau + self.measured_weight.gravity(measured, q)
        return tau + self.ki * x if self.states else tau, desired.q - measured


class ComputedTorque(Controller):
    """tau = M_r(q) (a_d + kd (v_d - v) + kp (q_d - q)) + h_r(q, v) with the rigid model at the measured joints."""

    kind = "computed_torque"
    trajectory: AnyTrajectory = Field(description="the desired motion")
    kp: Plain = Field(default=0.0, description="gains of the position error, 1/s^2")
    kd: Plain = Field(default=0.0, description="gains of the rate error, 1/s")

    def activate(self, around: Surroundings, q0: Floats) -> ActiveDrive:
        return ActiveComputedTorque(self, around, self.trajectory.bind(around, q0, 0.0))


class ActiveComputedTorque(ActiveDrive):
    def __init__(self, law: ComputedTorque, around: Surroundings, path: Path) -> None:
        self.kp = numbers(law.kp, around.inputs, 0.0, "kp")
        self.kd = numbers(law.kd, around.inputs, 0.0, "kd")
        self.B = around.arm.B
        self.path: Path = path
        self.model = DrivenTwin(around)

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        return Action(self._law(self.path.at(t), q, v), NO_RATES)

    def efforts(self, times: Floats, q: Floats, v: Floats, x: Floats) -> Floats:
        return self._law(self.path.many(times), q, v)

    def _law(self, desired: Desired, q: Floats, v: Floats) -> Floats:
        """Efforts at one instant or several."""
        measured, rate = q @ self.B, v @ self.B
        a = desired.a + self.kd * (desired.v - rate) + self.kp * (desired.q - measured)
        return self.model.efforts(measured, rate, a, q)
