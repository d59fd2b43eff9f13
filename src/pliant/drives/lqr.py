"""Linear-quadratic regulators as drives: of the true states, of a Kalman filter's, or of an extended one's."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from pliant.analysis.limits import ModelLimitWarning
from pliant.control.output_rows import require_unfiltered
from pliant.control.regulator import kalman, late_ticks
from pliant.control.schedule import GainSchedule, gain_schedule, slowest_decay
from pliant.drives.bent_reference import BentReference
from pliant.drives.drive import Drive, DriveLaw, Sampling
from pliant.drives.extended_filter import EstimatedParameter, ExtendedFilterLaw
from pliant.drives.regulated import ObserverLaw, ReferenceFollower, StateFeedbackLaw
from pliant.drives.sampled import SampledLaw
from pliant.errors import ModelError
from pliant.laws import Floats
from pliant.model.description.sensors import Sensor
from pliant.model.element import Frozen, FrozenDict, of_value, refuse, rule
from pliant.model.units import NON_NEGATIVE, Quantity, WholeNumber
from pliant.trajectories.joint_moves import Hold
from pliant.trajectories.kinds import AnyTrajectory
from pliant.trajectories.path import Surroundings

Weight = Annotated[float, Quantity("", NON_NEGATIVE)]
Weights = Annotated[dict[str, Weight], Frozen]

EVERY = 1e-3
"""Time between the samples that the noise of sensors is meant for where nothing is sampled, s."""


class LQR(Drive):
    """tau = tau_r - K (x - x_r): a linear-quadratic regulator about the robot that gravity and desired motion bend.

    estimator  none: the true coordinates and rates are fed back
               kalman: what a stationary Kalman filter makes of the sensors of the robot
               ekf: an extended Kalman filter of the nonlinear robot, which may estimate parameters too
    """

    kind = "lqr"
    trajectory: AnyTrajectory = Field(default_factory=lambda: Hold(), description="the desired motion; default: hold")
    weights: Weights = Field(
        description="cost of squares by name: a frame (tip), output (tip.y), coordinates, rates, effort, effort.JOINT"
    )
    schedule: Annotated[int, WholeNumber(1, 33)] = Field(
        default=1, description="poses along the motion at which gains are designed; 1: where it ends"
    )
    estimator: Literal["none", "kalman", "ekf"] = Field(default="none", description="where the states come from")
    sensors: tuple[str, ...] = Field(
        default=(), description="sensors that the estimator reads; default: all of the robot"
    )
    process: Weights = Field(
        default_factory=lambda: FrozenDict({"effort": 0.1, "states": 1e-4}),
        description="what moves the robot unseen, roots of densities: effort (N m s^0.5), coordinates, rates, states",
    )
    parameters: tuple[EstimatedParameter, ...] = Field(
        default=(), description="numbers of the robot that the ekf estimates, with what is believed at first"
    )
    uncertainty: Weights = Field(
        default_factory=lambda: FrozenDict({"coordinates": 0.01, "rates": 0.1}),
        description="of the ekf at the start: standard deviations of all coordinates and all rates",
    )
    sampling: Sampling | None = Field(default=None, description="sample and hold instead of acting continuously")
    seed: Annotated[int, WholeNumber(0, 2**31)] | None = Field(
        default=None, description="of the noise of the sensors; sampled estimators only; default 0"
    )
    saturate: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="cut the efforts at the limits of the motors and joints; estimators know of it"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.estimator == "none":
            for key in ("sensors", "process", "seed", "parameters", "uncertainty"):
                if key in self.model_fields_set:
                    refuse([of_value(key, message="belongs to an estimator; write estimator: kalman or ekf")])
        if self.estimator == "kalman":
            for key in ("parameters", "uncertainty"):
                if key in self.model_fields_set:
                    refuse([of_value(key, message="belongs to the extended filter; write estimator: ekf")])
        twice = [name for k, name in enumerate(self.sensors) if name in self.sensors[:k]]
        if twice:
            refuse([of_value("sensors", message=f"has '{twice[0]}' twice; a sensor is read once")])
        places = [each.place for each in self.parameters]
        for k, place in enumerate(places):
            if place in places[:k]:
                refuse([of_value("parameters", k, "place", message=f"is '{place}', as of another one; give it once")])
        if set(self.uncertainty) != {"coordinates", "rates"}:
            refuse([of_value("uncertainty", message="must have the keys coordinates and rates")])
        if self.sampling is None and self.seed is not None:
            refuse([of_value("seed", message="is that of the noise of samples; write sampling: {period: 1 ms}")])
        if self.estimator == "ekf" and self.sampling is None:
            raise rule("an extended Kalman filter runs at samples; write sampling: {period: 1 ms}")
        return self

    def bind(self, around: Surroundings, q0: Floats) -> DriveLaw:
        arm = around.arm
        if not arm.inputs:
            raise ModelError(f"robot '{arm.robot.name}' has no drives that a regulator could use")
        if arm.mechanism.attitudes:
            name = arm.names[arm.mechanism.attitudes[0]].rpartition(".")[0]
            raise ModelError(
                f"joint '{name}' turns by a rotation vector, which is exchanged for a shorter one after half a turn: a "
                "regulator of its coordinates would jump; use computed_torque or a callback"
            )
        if self.estimator == "ekf" and arm.loops.rows:
            raise ModelError(
                f"robot '{arm.robot.name}' has loops, or joints that follow others, which an extended filter does not "
                "know; estimator: kalman does"
            )
        believed = around
        for each in self.parameters:
            # the controller knows what is believed, not the robot
            believed = replace(believed, arm=believed.arm.set(each.place, each.start))
        path = self.trajectory.bind(believed, q0, 0.0)
        reference = BentReference(believed, path)
        sensors = self._sensors(around)
        try:
            with warnings.catch_warnings():
                # the run itself tells where a model is left
                warnings.simplefilter("ignore", ModelLimitWarning)
                schedule = self._schedule(reference, sensors)
            return self._bound(around, reference, schedule, sensors)
        except ModelError:
            raise
        except ValueError as error:
            raise ModelError(str(error)) from None

    def _sensors(self, around: Surroundings) -> tuple[Sensor, ...]:
        robot = around.arm.robot
        if self.estimator == "none":
            return ()
        found = tuple(robot.sensor(name) for name in self.sensors) or robot.sensors
        if not found:
            raise ModelError(
                f"robot '{robot.name}' has no sensors; an estimator reads those under `sensors:` of its file"
            )
        try:
            require_unfiltered(robot, [sensor.name for sensor in found], "name others under sensors")
        except ValueError as error:
            raise ModelError(str(error)) from None
        return found

    def _schedule(self, reference: BentReference, sensors: tuple[Sensor, ...]) -> GainSchedule:
        count = self.schedule
        parts = np.linspace(0.0, 1.0, count) if count > 1 else np.ones(1)
        poses = np.array([reference.path.at(reference.when(part)).q for part in parts])
        sampling = self.sampling
        schedule = gain_schedule(
            reference.arm,
            poses,
            self.weights,
            measured=[sensor.name for sensor in sensors] if self.estimator == "kalman" else (),
            process=self.process,
            every=EVERY,
            period=None if sampling is None else sampling.period,
            delay=0.0 if sampling is None else sampling.delay,
        )
        if count == 1 and reference.moves:
            self._check_on_the_way(reference, schedule)
        return schedule

    def _check_on_the_way(self, reference: BentReference, schedule: GainSchedule) -> None:
        """Refuse gains of one pose with which the robot is unstable elsewhere on its way."""
        for part in (0.0, 0.5):
            pose = reference.path.at(reference.when(part)).q
            found = slowest_decay(schedule, 0, 0, pose)
            if found <= 0:
                where = ", ".join(f"{name} = {x:.4g}" for name, x in zip(reference.arm.inputs, pose, strict=True))
                raise ModelError(
                    f"the gains of the last pose leave the robot unstable at {where}: a motion grows with {-found:.3g} "
                    "1/s; write schedule: 5, or more"
                )

    def _bound(
        self, around: Surroundings, reference: BentReference, schedule: GainSchedule, sensors: tuple[Sensor, ...]
    ) -> DriveLaw:
        sampling = self.sampling
        limits = around.arm.effort_limits if self.saturate else None
        follower = ReferenceFollower(reference, schedule, 0.0 if sampling is None else sampling.delay, limits)
        law: DriveLaw
        if self.estimator == "none":
            law = StateFeedbackLaw(follower)
        elif self.estimator == "ekf":
            assert sampling is not None
            if abs(sampling.delay / sampling.period - round(sampling.delay / sampling.period)) > 1e-6:
                raise ModelError(
                    f"sampling.delay is {sampling.delay:g} s; an extended filter knows whole periods of "
                    f"{sampling.period:g} s"
                )
            # what it becomes at rest: motions that sensors do not tell are refused, and spillover is that of these
            names = [sensor.name for sensor in sensors]
            timing = {"period": sampling.period, "delay": sampling.delay}
            at_rest = [kalman(model, names, process=self.process, **timing) for model in schedule.models]
            law = ExtendedFilterLaw(
                follower,
                at_rest,
                around.arm,
                sensors,
                self.parameters,
                self.process,
                self.uncertainty,
                period=sampling.period,
                seed=self.seed or 0,
            )
        else:
            seen = schedule.models[0].with_outputs(*(sensor.name for sensor in sensors))
            late = late_ticks(seen, None if sampling is None else sampling.period)
            law = ObserverLaw(follower, sensors, sampled=sampling is not None, seed=self.seed or 0, late=late)
        if sampling is None:
            return law
        return SampledLaw(law, sampling.period, sampling.delay, around)
