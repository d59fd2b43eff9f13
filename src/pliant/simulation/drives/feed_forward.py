"""Torques computed along the desired motion, on the rigid or on the elastic model, with optional feedback."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from pliant.model.element import rule
from pliant.simulation.driven_twin import DrivenTwin
from pliant.simulation.drives.drive import NO_RATES, Action, ActiveDrive, Controller
from pliant.simulation.drives.given import GivenTorque
from pliant.simulation.per_joint import Dampings, Stiffnesses, numbers
from pliant.simulation.prescribed_dynamics import PrescribedDynamics
from pliant.simulation.start import equilibrium
from pliant.simulation.trajectories.kinds import AnyTrajectory
from pliant.simulation.trajectories.path import Desired, Floats, Path, Surroundings


class FeedForward(Controller):
    """The torques that the desired motion needs, plus kp (q_d - q) + kd (v_d - v).

    model  rigid: inverse dynamics of the rigid robot at the desired joint motion
           elastic: the links of a model bend along the desired joint motion, and its motor torques are used
           given: torques that were computed before, such as those of an inverse dynamics
    """

    kind = "feed_forward"
    trajectory: AnyTrajectory = Field(description="the desired motion")
    model: Literal["rigid", "elastic", "given"] = Field(default="rigid", description="model for the torques")
    torques: GivenTorque | None = Field(
        default=None, description="of the model given, with the keys of the drive given"
    )
    kp: Stiffnesses = Field(default=0.0, description="feedback gains of the position")
    kd: Dampings = Field(default=0.0, description="feedback gains of the rate")

    @model_validator(mode="after")
    def _torques_of_model(self) -> Self:
        if (self.model == "given") != (self.torques is not None):
            raise rule("torques belong to model: given, and it needs them")
        return self

    def activate(self, around: Surroundings, q0: Floats) -> ActiveDrive:
        path = self.trajectory.bind(around, q0, 0.0)
        if self.torques is not None:
            return _GivenFeedForward(self, around, path, self.torques.bind(around, q0))
        kind = _RigidFeedForward if self.model == "rigid" else ActiveElasticFeedForward
        return kind(self, around, path)


class _Feedback(ActiveDrive):
    """The part that both models share."""

    def __init__(self, law: FeedForward, around: Surroundings, path: Path) -> None:
        self.kp = numbers(law.kp, around.inputs, 0.0, "kp")
        self.kd = numbers(law.kd, around.inputs, 0.0, "kd")
        self.feedback = bool(self.kp.any() or self.kd.any())
        self.B = around.arm.B
        self.path: Path = path


class _RigidFeedForward(_Feedback):
    def __init__(self, law: FeedForward, around: Surroundings, path: Path) -> None:
        super().__init__(law, around, path)
        self.model = DrivenTwin(around)

    def linear_gains(self, inputs: int) -> tuple[Floats, Floats] | None:
        return self.kp, self.kd

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        return Action(self._law(self.path.at(t), q, v), NO_RATES)

    def efforts(self, times: Floats, q: Floats, v: Floats, x: Floats) -> Floats:
        return self._law(self.path.many(times), q, v)

    def _law(self, desired: Desired, q: Floats, v: Floats) -> Floats:
        """Efforts at one instant or several."""
        tau = self.model.efforts(*desired)
        if self.feedback:
            tau = tau + self.kp * (desired.q - q @ self.B) + self.kd * (desired.v - v @ self.B)
        return tau


class _GivenFeedForward(_Feedback):
    def __init__(self, law: FeedForward, around: Surroundings, path: Path, torques: ActiveDrive) -> None:
        super().__init__(law, around, path)
        self.torques = torques

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(sorted({*self.path.breaks, *self.torques.breaks}))

    def linear_gains(self, inputs: int) -> tuple[Floats, Floats] | None:
        return self.kp, self.kd

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        return Action(self._law(self.path.at(t), self.torques.act(t, q, v, x).tau, q, v), NO_RATES)

    def efforts(self, times: Floats, q: Floats, v: Floats, x: Floats) -> Floats:
        return self._law(self.path.many(times), self.torques.efforts(times, q, v, x), q, v)

    def _law(self, desired: Desired, tau: Floats, q: Floats, v: Floats) -> Floats:
        """Efforts at one instant or several."""
        if self.feedback:
            tau = tau + self.kp * (desired.q - q @ self.B) + self.kd * (desired.v - v @ self.B)
        return tau


class ActiveElasticFeedForward(_Feedback):
    """Its states are the elastic coordinates and rates of a model whose joints follow the path exactly."""

    def __init__(self, law: FeedForward, around: Surroundings, path: Path) -> None:
        super().__init__(law, around, path)
        self.model = PrescribedDynamics(around.arm)
        self.start = around.start
        self.states = 2 * len(self.model.free)

    def initial(self) -> Floats:
        arm = self.model.arm
        q = self.start.copy() if arm.loops.rows else arm.reference_pose()
        q[self.model.driven] = self.path.at(0.0).q
        q = equilibrium(arm, q)
        return np.concatenate([q[self.model.free], np.zeros(len(self.model.free))])

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        tau, a_free = self._law(self.path.at(t), q, v, x)
        return Action(tau, np.concatenate([x[len(self.model.free) :], a_free]))

    def efforts(self, times: Floats, q: Floats, v: Floats, x: Floats) -> Floats:
        return self._law(self.path.many(times), q, v, x)[0]

    def _law(self, desired: Desired, q: Floats, v: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Efforts and accelerations of the model's free coordinates, at one instant or several."""
        n = len(self.model.free)
        full, rate = self.model.expand(desired.q, x[..., :n]), self.model.expand(desired.v, x[..., n:])
        tau, a_free = self.model.solve(full, rate, desired.a)
        if self.feedback:
            tau = tau + self.kp * (full @ self.B - q @ self.B) + self.kd * (rate @ self.B - v @ self.B)
        return tau, a_free
