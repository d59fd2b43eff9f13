"""The disturbances of a study as loads on the nodes of lumped links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.lumped.displacements import AppliedLoads, Loading
from pliant.errors import ModelError
from pliant.loads.disturbance import FrameWrench, JointEffort

if TYPE_CHECKING:
    from pliant.analysis.lumped.lumped_model import LumpedModel
    from pliant.dynamics import Dynamics
    from pliant.simulation.study import Study

Floats = NDArray[np.float64]


def node_loads(model: LumpedModel, arm: Dynamics, study: Study) -> tuple[Loading | None, tuple[float, ...]]:
    """What the disturbances do at times, None if there are none; and the times at which they jump."""
    if study.loads:
        raise ModelError(
            f"study '{study.name}': loads act on coordinates, which the nodes of the method lumped_fe do not have; let "
            "forces act on frames (disturbances)"
        )
    if not study.disturbances:
        return None, ()
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
            efforts.append((model.joints.index(name), load))

    def at(times: Floats) -> AppliedLoads:
        along: dict[int, Floats] = {}
        for k, load in efforts:
            along[k] = along.get(k, 0.0) + load.signals(times)[:, 0]
        return AppliedLoads(tuple((end, load.signals(times)) for end, load in wrenches), along)

    return at, tuple(sorted({t for load in loads for t in load.breaks}))
