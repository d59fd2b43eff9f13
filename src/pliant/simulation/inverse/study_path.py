"""The path that a study means for inverse dynamics, and where it begins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.simulation.start import Start
from pliant.simulation.study import Study
from pliant.trajectories.path import Path, Surroundings, Trajectory

Floats = NDArray[np.float64]

SAME_RATE = 1e-9
"""Relative difference of rates that are the same."""


def bound_path(study: Study, arm: Dynamics, straight: Floats) -> tuple[Trajectory, Path]:
    """The trajectory of the study's drive, and its motion of the joints of the rigid robot."""
    trajectory = trajectory_of(study)
    q0, _ = study.start.state(arm)
    return trajectory, trajectory.bind(Surroundings(arm, straight), q0 @ arm.B, 0.0)


def trajectory_of(study: Study) -> Trajectory:
    """The trajectory of the study's drive; raises ModelError if it has none."""
    trajectory: Trajectory | None = getattr(study.drive, "trajectory", None)
    if trajectory is None:
        raise ModelError(
            f"study '{study.name}': inverse dynamics needs a drive with a trajectory, such as "
            "prescribed: {trajectory: {circle: ...}}"
        )
    return trajectory


def straight_start(study: Study, arm: Dynamics) -> Floats:
    """The first configuration with straight links; what a balanced start cannot be is refused."""
    start = study.start
    for key in ("shape", "loads", "v"):
        if getattr(start, key) is not None:
            raise ModelError(
                f"study '{study.name}': start.{key}: inverse dynamics begins in balance with what acts on the links; "
                "leave it out, and simulate the result from any start"
            )
    q = Start(position=start.position, q=start.q).state(arm)[0]
    elastic = np.setdiff1d(np.arange(arm.size), arm.mechanism.joints)
    if start.q is not None:
        q[elastic] = 0.0
        q = arm.assemble(q)
    return q


def require_start_rates(study: Study, arm: Dynamics, path: Path) -> None:
    """Refuse a start with other rates than those of the path."""
    begin = path.at(0.0)
    given: Any = study.start.velocity or {}
    rates = dict(zip(arm.inputs, given, strict=True)) if isinstance(given, tuple) else dict(given)
    for name, rate in rates.items():
        if name not in arm.inputs:
            raise ModelError(
                f"study '{study.name}': start.velocity: joint '{name}' has no drive, and inverse dynamics begins in "
                "balance; leave it out"
            )
        own = float(begin.v[arm.inputs.index(name)])
        if abs(own - rate) > SAME_RATE * max(abs(own), abs(rate)):
            raise ModelError(
                f"study '{study.name}': start.velocity of '{name}' is {rate:g}, but its path begins with {own:g}; a "
                "drive cannot jump from one to the other: give both the same"
            )
