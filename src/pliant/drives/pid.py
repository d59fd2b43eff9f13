"""PD and PID controllers on joint measurements, with gravity compensation of the rigid robot.

Their law is proportional, rate and integral feedback on what the motors measure, about efforts that depend on time
alone; other drives have it too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from pliant.drives.drive import Controller, DriveLaw
from pliant.drives.traced_model import TracedTwin
from pliant.laws import Action, Floats, LawState, measured, numbers_in_code
from pliant.spatial.vectors import Vector
from pliant.trajectories.driven_twin import DrivenTwin
from pliant.trajectories.joint_moves import Hold
from pliant.trajectories.kinds import AnyTrajectory
from pliant.trajectories.path import Desired, Path, Surroundings
from pliant.trajectories.per_joint import Dampings, Plain, Stiffnesses, numbers

Ahead = Callable[[Floats, Desired], Floats]


class Gains(NamedTuple):
    """Gains of the position, of the rate and of the integral of the position's error, each (inputs,)."""

    kp: Floats
    kd: Floats
    ki: Floats


class FeedbackLaw(DriveLaw):
    """tau = pull(t) - kp B^T q - kd B^T v + ki x + g(B^T q), with x' = q_d(t) - B^T q.

    pull is what the law gives at q = v = x = 0: kp q_d + kd v_d, and efforts that depend on time alone. Its signals are
    pull, and q_d where there is an integral. There are integrals where any ki is not zero.

    ahead            efforts (times, inputs) that are part of pull, from times and desired motion
    ahead_breaks     times at which these are not smooth, besides those of the path
    desired_weight   the rigid twin whose gravity at the desired pose is part of pull
    measured_weight  the rigid twin whose gravity g at the measured pose is added
    """

    def __init__(
        self,
        around: Surroundings,
        path: Path,
        gains: Gains,
        *,
        ahead: Ahead | None = None,
        ahead_breaks: tuple[float, ...] = (),
        desired_weight: DrivenTwin | None = None,
        measured_weight: DrivenTwin | None = None,
    ) -> None:
        self.B = around.arm.B
        self.path: Path = path
        self.kp, self.kd, self.ki = gains
        self.ahead, self.ahead_breaks = ahead, ahead_breaks
        self.desired_weight = desired_weight
        self.measured_weight = None if measured_weight is None else TracedTwin(measured_weight)
        if self.ki.any():
            units = ((name, around.arm.mechanism.words[name].unit) for name in around.inputs)
            self.states = tuple(LawState(f"integral.{name}", f"{unit} s") for name, unit in units)
        self.feedback = bool(self.kp.any() or self.kd.any() or self.states or self.measured_weight)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(sorted({*self.path.breaks, *self.ahead_breaks})) if self.ahead_breaks else self.path.breaks

    @property
    def may_refuse(self) -> bool:  # type: ignore[override]
        return self.measured_weight is not None and self.measured_weight.may_refuse

    @property
    def structure(self) -> Hashable:
        # gains that are zero are no part of the code
        gains = tuple(gain.astype(bool).tobytes() for gain in (self.kp, self.kd, self.ki))
        weight = None if self.measured_weight is None else self.measured_weight.structure
        return "feedback", numbers_in_code(self.B), gains, weight

    @property
    def channels(self) -> int:  # type: ignore[override]
        return len(self.kp) + self.state_count

    @property
    def gains(self) -> tuple[float, ...]:  # type: ignore[override]
        own = (*self.kp.tolist(), *self.kd.tolist(), *(self.ki.tolist() if self.states else ()))
        return own if self.measured_weight is None else (*own, *self.measured_weight.numbers)

    def signals(self, t: Floats) -> Floats:
        desired = self.path.many(t)
        weight = 0.0 if self.desired_weight is None else self.desired_weight.gravity(desired.q)
        return self.followed(t, desired, weight, self.kp, self.kd)

    def followed(self, t: Floats, desired: Desired, weight: Floats | float, kp: Floats, kd: Floats) -> Floats:
        """The signals for a desired motion (times, inputs) each, the weight there, and gains that may differ by row."""
        pull = kp * desired.q + kd * desired.v + weight
        if self.ahead is not None:
            pull = self.ahead(t, desired) + pull
        return np.concatenate([pull, desired.q], axis=-1) if self.states else pull

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        m = len(self.kp)
        tau, seen, rate = list(signals[:m]), measured(self.B, q), measured(self.B, v)
        for k in range(m):
            if self.kp[k]:
                tau[k] = tau[k] - gains[k] * seen[k]
            if self.kd[k]:
                tau[k] = tau[k] - gains[m + k] * rate[k]
            if self.states and self.ki[k]:
                tau[k] = tau[k] + gains[2 * m + k] * z[k]
        if self.measured_weight is not None:
            weight = self.measured_weight.gravity(q, seen, gains[2 * m + self.state_count :])
            tau = [x + y for x, y in zip(tau, weight, strict=True)]
        return Action(tau, [signals[m + k] - seen[k] for k in range(self.state_count)])


# ---- pid


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
