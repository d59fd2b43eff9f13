"""Regulators and observers over several poses, between which gains are interpolated and closed loops are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.control.linear_model import LinearModel, linearise
from pliant.control.regulator import Observer, Regulator, kalman, lqr, observed_model
from pliant.control.riccati import DesignError
from pliant.control.spillover import closed_loop, loop_rates
from pliant.control.state_space import NamedMatrices

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GainSchedule:
    """Controllers at several poses.

    poses       positions of the drives (poses, inputs)
    models      linear models about the bent robot at rest there
    regulators  of each pose
    observers   of each pose; none where states are fed back themselves
    slowest     decay of the slowest motion of the closed loops at and between the poses, 1/s
    """

    poses: Floats
    models: tuple[LinearModel, ...]
    regulators: tuple[Regulator, ...]
    observers: tuple[Observer, ...]
    slowest: float


def gain_schedule(
    arm: Dynamics,
    poses: ArrayLike,
    weights: Mapping[str, float],
    *,
    measured: Mapping[str, float] | Sequence[str] = (),
    process: Mapping[str, float] | None = None,
    every: float = 1e-3,
    period: float | None = None,
    delay: float = 0.0,
) -> GainSchedule:
    """Regulators, and observers where something is measured, of a robot at several poses.

    poses              positions of the drives (poses, inputs), neighbours beside each other: a loop between two of
                       them, with the mean of their gains, must be stable, else DesignError is raised
    weights            as for ``lqr``
    measured, process  as for ``kalman``; every is the time between samples that the noise is meant for
    period, delay      of a controller on a computer; default: a continuous one
    """
    at = np.atleast_2d(np.asarray(poses, dtype=float))
    if at.shape[1] != len(arm.inputs):
        raise ValueError(
            f"poses has {at.shape[1]} columns; robot '{arm.robot.name}' has the inputs {', '.join(arm.inputs)}"
        )
    if not len(at):
        raise ValueError("poses is empty: gains need at least one pose of the drives")
    models = tuple(_model(arm, pose) for pose in at)
    for model, pose in zip(models, at, strict=True):
        if model.tangent.names != models[0].tangent.names:
            raise DesignError(
                f"the independent coordinates of robot '{arm.robot.name}' change to {', '.join(model.tangent.names)} "
                f"at {_named(arm, pose)}: gains cannot be interpolated; divide the motion there"
            )
    regulators = tuple(lqr(model, weights, period=period, delay=delay) for model in models)
    observers: tuple[Observer, ...] = ()
    if measured:
        given = process or {}
        observers = tuple(
            kalman(model, measured, process=given, every=every, period=period, delay=delay) for model in models
        )
    schedule = GainSchedule(at, models, regulators, observers, 0.0)
    rates = [slowest_decay(schedule, k, k, pose) for k, pose in enumerate(at)]
    for k in range(len(at) - 1):
        found = slowest_decay(schedule, k, k + 1, (at[k] + at[k + 1]) / 2)
        if found <= 0:
            raise DesignError(
                f"between {_named(arm, at[k])} and {_named(arm, at[k + 1])} the closed loop is unstable: a motion "
                f"grows with {-found:.3g} 1/s; take more poses than {len(at)}"
            )
        rates.append(found)
    return replace(schedule, slowest=min(rates))


def _model(arm: Dynamics, pose: Floats) -> LinearModel:
    return linearise(arm, dict(zip(arm.inputs, pose.tolist(), strict=True)))


def _named(arm: Dynamics, pose: Floats) -> str:
    return ", ".join(f"{name} = {x:.4g}" for name, x in zip(arm.inputs, pose, strict=True))


def slowest_decay(given: GainSchedule, i: int, k: int, pose: Floats) -> float:
    """Decay of the slowest motion, 1/s, of the robot at a pose with the mean of two controllers; negative: it grows."""
    first, last = given.regulators[i], given.regulators[k]
    arm = given.models[0].arm
    model = given.models[i] if np.array_equal(pose, given.poses[i]) else _model(arm, pose)
    regulator = replace(first, K=(first.K + last.K) / 2)
    observer = _mean(given.observers[i], given.observers[k]) if given.observers else None
    if observer is not None:
        model = model.with_outputs(*observer.outputs)
    plant: NamedMatrices = model.state_space
    if first.period is not None:
        plant = (
            observed_model(model, first.period, first.delay)
            if observer
            else model.sampled(first.period, delay=first.delay)
        )
    return -float(loop_rates(closed_loop(plant, regulator, observer), first.period)[0].real)


def _mean(a: Observer, b: Observer) -> Observer:
    matrices = {key: (getattr(a.model, key) + getattr(b.model, key)) / 2 for key in "ABCD"}
    return replace(a, L=(a.L + b.L) / 2, model=replace(a.model, **matrices))
