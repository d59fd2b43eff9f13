"""What a study's disturbances do to the nodes of a robot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.lumped.displacements import AppliedLoads, Loading
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.loads.disturbance import FrameWrench, JointEffort
from pliant.simulation.study import Study

Floats = NDArray[np.float64]


def node_loads(model: LumpedModel, arm: Dynamics, study: Study) -> tuple[Loading | None, tuple[float, ...]]:
    """What the disturbances do at times, None if there are none; and the times at which they jump."""
    if study.loads:
        raise ModelError(
            f"study '{study.name}': loads act on coordinates, which the nodes of the method lumped_fe do not have; let "
            "forces act on frames (disturbances)"
        )
    if study.stops is not None:
        raise ModelError(
            f"study '{study.name}': stops push where joints pass their limits, which linear equations about a nominal "
            "motion do not know; leave stops out, limits that are passed are told"
        )
    if not study.disturbances:
        return None, ()
    for i, each in enumerate(study.disturbances):
        if each.follows:
            raise ModelError(
                f"study '{study.name}': disturbances[{i}] follows its frame; the nodes of the method lumped_fe take "
                "loads along the axes of the base: leave follows out"
            )
    loads = [each.bind(arm) for each in study.disturbances]
    wrenches = [(model.skeleton.frame(load.frame), load) for load in loads if isinstance(load, FrameWrench)]
    efforts: list[tuple[int, JointEffort]] = []
    for i, load in enumerate(loads):
        if isinstance(load, JointEffort):
            name = arm.names[load.index]
            if name not in model.joints:
                raise ModelError(
                    f"study '{study.name}': disturbances[{i}].joint is '{name}', a shape of a link; the nodes of the "
                    "method lumped_fe have no shapes: let a force act on a frame"
                )
            index = model.joints.index(name)
            if not next(seat for seat in model.skeleton.seats if index in seat.coordinates).is_single:
                raise ModelError(
                    f"study '{study.name}': disturbances[{i}].joint is '{name}', one of several coordinates of its "
                    "joint, along which the method lumped_fe has no efforts: let a force or moment act on a frame"
                )
            efforts.append((index, load))

    def at(times: Floats) -> AppliedLoads:
        along: dict[int, Floats] = {}
        for k, load in efforts:
            along[k] = along.get(k, 0.0) + load.signals(times)[:, 0]
        return AppliedLoads(tuple((end, load.signals(times)) for end, load in wrenches), along)

    return at, tuple(sorted({t for load in loads for t in load.breaks}))
