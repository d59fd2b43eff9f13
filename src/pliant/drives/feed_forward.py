"""Torques computed along the desired motion, on the rigid or on the elastic model, with optional feedback."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from pliant.analysis.equilibrium import settle
from pliant.analysis.statics import NoEquilibriumError
from pliant.drives.drive import Controller, DriveLaw
from pliant.drives.given import GivenTorque
from pliant.drives.pid import FeedbackLaw, Gains
from pliant.drives.prescribed import PrescribedDynamics
from pliant.drives.traced_model import TracedPrescribed
from pliant.errors import ModelError
from pliant.laws import Action, Floats, LawState, measured, numbers_in_code
from pliant.model.description.actuators import refuse_lines
from pliant.model.element import rule
from pliant.spatial.vectors import Vector
from pliant.trajectories.driven_twin import DrivenTwin
from pliant.trajectories.kinds import AnyTrajectory
from pliant.trajectories.path import Path, Surroundings
from pliant.trajectories.per_joint import Dampings, Stiffnesses, numbers


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

    def law(self, around: Surroundings, q0: Floats) -> DriveLaw:
        path = self.trajectory.bind(around, q0, 0.0)
        kp, kd = (numbers(getattr(self, key), around.inputs, 0.0, key) for key in ("kp", "kd"))
        if self.model == "elastic":
            return ElasticLaw(around, path, kp, kd)
        gains = Gains(kp, kd, np.zeros(len(kp)))
        if self.torques is not None:
            given = self.torques.bind(around, q0)
            return FeedbackLaw(
                around, path, gains, ahead=lambda t, desired: given.signals(t), ahead_breaks=tuple(given.breaks)
            )
        model = DrivenTwin(around)
        return FeedbackLaw(around, path, gains, ahead=lambda t, desired: model.efforts(*desired))


class ElasticLaw(DriveLaw):
    """tau = ID(q_m, v_m, a_d) + kp B^T (q_m - q) + kd B^T (v_m - v) of a model whose joints move as desired.

    Its states are the free coordinates of the model and their rates; its signals the desired positions, rates and
    accelerations.
    """

    def __init__(self, around: Surroundings, path: Path, kp: Floats, kd: Floats) -> None:
        refuse_lines(around.arm.robot, "the model of an elastic feed-forward does not know: write model: given")
        self.B, self.kp, self.kd = around.arm.B, kp, kd
        self.path: Path = path
        self.feedback = bool(kp.any() or kd.any())
        self.model, self.start = PrescribedDynamics(around.arm), around.start
        self.channels = 3 * len(kp)
        # only Python closes loops whose inverse dynamics are no tape
        self.in_python = not self.model.loops.inverse_is_traced
        self.may_refuse = bool(self.model.loops.redundant)

    @cached_property
    def traced(self) -> TracedPrescribed:
        """The model as the text calls it; over-constrained loops keep the rows of the start in machine code."""
        loops = self.model.loops
        return TracedPrescribed(self.model, loops.rows_at(self.start) if loops.redundant else None)

    @cached_property
    def states(self) -> tuple[LawState, ...]:  # type: ignore[override]
        arm = self.model.arm
        q = self.start.copy() if arm.loops.rows else arm.reference_pose()
        q[self.model.driven] = self.path.at(0.0).q
        try:
            bent = settle(arm, q).q[self.model.free].tolist()
        except NoEquilibriumError as error:
            raise ModelError(str(error)) from None
        words = {name: arm.mechanism.words[name].unit for name in (arm.names[i] for i in self.model.free)}
        known = zip(words.items(), bent, strict=True)
        places = [LawState(f"model.{name}", unit, x) for (name, unit), x in known]
        return (*places, *(LawState(f"model.{name}.rate", f"{unit}/s") for name, unit in words.items()))

    @property
    def state_count(self) -> int:
        return 2 * len(self.model.free)

    @property
    def structure(self) -> Hashable:
        feedback = self.kp.astype(bool).tobytes(), self.kd.astype(bool).tobytes()
        places = tuple(self.model.driven.tolist()), tuple(self.model.free.tolist())
        return "elastic", numbers_in_code(self.B), feedback, places, self.traced.structure

    @property
    def gains(self) -> tuple[float, ...]:  # type: ignore[override]
        return (*self.kp.tolist(), *self.kd.tolist(), *self.traced.numbers)

    def signals(self, t: Floats) -> Floats:
        return np.hstack(self.path.many(t))

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        m, free = len(self.kp), len(self.model.free)
        desired = (signals[k * m : (k + 1) * m] for k in range(2))
        full, rate = (self._whole(given, z[k * free : (k + 1) * free]) for k, given in enumerate(desired))
        tau, a_free = self.traced.solve(full, rate, list(signals[2 * m :]), gains[2 * m :])
        for level, (model, robot, feedback) in enumerate(((full, q, self.kp), (rate, v, self.kd))):
            errors = [a - b for a, b in zip(measured(self.B, model), measured(self.B, robot), strict=True)]
            tau = [
                x + gains[level * m + k] * error if feedback[k] else x
                for k, (x, error) in enumerate(zip(tau, errors, strict=True))
            ]
        return Action(tau, [*z[free:], *a_free])

    def _whole(self, driven: Vector, free: Vector) -> Vector:
        """Values of all coordinates of the model."""
        known = dict(zip([*self.model.driven.tolist(), *self.model.free.tolist()], [*driven, *free], strict=True))
        return [known[i] for i in range(len(known))]
