"""From a study to its stable inversion: what may be inverted, what is refused, and where the search begins."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.errors import ModelError, require_number
from pliant.loads.load import Load
from pliant.simulation.inverse.frame_path import FramePath
from pliant.simulation.inverse.inversion_equations import InversionEquations
from pliant.simulation.inverse.inversion_run import LESS, MOST_UNKNOWNS, InversionRun
from pliant.simulation.inverse.path_window import (
    BrakedPath,
    StartedPath,
    moving,
    require_rest,
    require_smooth,
    require_soft,
)
from pliant.simulation.inverse.stable_inversion import Inversion, InversionSolution, Report
from pliant.simulation.inverse.study_path import bound_path, require_start_rates, straight_start
from pliant.simulation.study import Study
from pliant.trajectories.path import Path

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
"""m: distance from the path that is good enough."""
KNOTS = 80
"""Knots of the first attempt during the motion."""
REFINED = 4
"""The most times that they become twice as many before the full model is asked."""
MORE = 1.5
"""Distances on the full model over those at and between knots: it decides in the end ..."""
UNBALANCED = 10.0
"""... and forces that no drive gives over distances: they are largest where nothing moves the frame."""
LOOKS = 201
"""Instants at which poses of a path are looked at before all else."""
BRAKING = 0.5
"""Time in which a path that does not end is braked, of the time of the study."""
SOFT = 0.1
"""rad/s or m/s: smoothing of dry friction in passive joints with which the search begins ..."""
HARDER = 4.0
"""... and the factor by which it falls."""


def invert(
    study: Study,
    *,
    frames: Sequence[str] = (),
    orientation: bool | None = None,
    tolerance: float = TOLERANCE,
    spacing: float | None = None,
    report: Report | None = None,
) -> InversionRun:
    """The drives' motion with which frames of the flexible robot follow the path that the trajectory means.

    frames       default: the one that the trajectory leads, else the tip
    orientation  whether they keep the orientation of the rigid robot's, too; default: as the trajectory does
    tolerance    m: distance from the path that is good enough
    spacing      s: distance of knots of the first attempt; default: an eightieth of the motion
    """
    require_number("tolerance", tolerance, "m", positive=True)
    if spacing is not None:
        require_number("spacing", spacing, "s", positive=True)
    arm = Dynamics(study.robot, method=study.dynamics, compile="auto" if study.compile else "never")
    straight = straight_start(study, arm)
    trajectory, path = bound_path(study, arm, straight)
    require_start_rates(study, arm, path)
    require_smooth(study.name, arm.inputs, path, study.until)
    require_rest(study.name, arm.inputs, path)
    path, window = _whole_path(study, arm, path)
    require_soft(study.name, arm.inputs, path, window)
    own = getattr(trajectory, "frame", None) or "tip"
    turned = keeps_orientation(trajectory, arm) if orientation is None else orientation
    target = FramePath(arm, straight, path, tuple(frames) or (own,), turned, study.name)
    stop = max(window[1], study.until)
    target.require_led(np.linspace(0.0, stop, LOOKS))
    loads = _bound_loads(study, arm)
    duration = window[1] - window[0] or study.until
    if spacing is not None and spacing > duration / 8:
        raise ModelError(
            f"spacing is {spacing:g} s; a motion of {duration:.4g} s needs at least 8 knots: {duration / 8:.4g} s or "
            "less"
        )

    def inversion(robot: Dynamics) -> Inversion:
        span = (0.0, study.until)
        equations = InversionEquations(robot, target, loads, span, straight, 2 * np.pi / duration)
        return Inversion(equations, window, study.until, target.configurations, study.name, report)

    first = duration / KNOTS if spacing is None else spacing
    found: InversionSolution | None = None
    for softer in _softened(arm):
        found = inversion(softer).solve(first, tolerance, found)
    search = inversion(arm)
    found = search.solve(first, tolerance, found)
    for _ in range(REFINED if spacing is None else 0):
        near = MORE * found.excess <= tolerance and found.unbalanced <= UNBALANCED * tolerance
        if near or 2 * found.unknowns > MOST_UNKNOWNS:
            break
        finer = search.solve(found.spacing / 2, tolerance, found)
        helps = finer.excess < LESS * found.excess or finer.unbalanced < LESS * found.unbalanced
        found = finer
        if not helps:
            break
    return InversionRun(study, arm, path, search, found, tolerance)


def _whole_path(study: Study, arm: Dynamics, path: Path) -> tuple[Path, tuple[float, float]]:
    """The path up to its rest, and when it moves; one that never rests is braked after the study."""
    path = StartedPath(path)
    window = moving(path, study.until)
    if isfinite(window[1]):
        return path, window
    braked = BrakedPath(path, study.until, BRAKING * study.until)
    return braked, (window[0], braked.end)


def keeps_orientation(trajectory: object, arm: Dynamics) -> bool:
    """Whether a trajectory keeps the orientation of its frame."""
    given = getattr(trajectory, "orientation", "free")
    return given == "keep" or (given == "auto" and len(arm.inputs) >= 6)


def _bound_loads(study: Study, arm: Dynamics) -> list[Load]:
    """What acts beside the drives; loads with states of their own are refused."""
    stops = [] if study.stops is None else [study.stops]
    given: list[Any] = [*study.disturbances, *study.loads, *stops]
    for i, each in enumerate(study.disturbances):
        if each.follows:
            raise ModelError(
                f"study '{study.name}': disturbances[{i}] follows its frame, which the inverse does not take; leave "
                "follows out, or simulate it"
            )
    loads: list[Load] = [each.bind(arm) for each in given]
    for each, load in zip(given, loads, strict=True):
        if load.states:
            raise ModelError(
                f"study '{study.name}': load '{getattr(each, 'kind', 'stops')}' has states of its own "
                f"({', '.join(state.name for state in load.states)}), which stable inversion does not follow; leave it "
                "out"
            )
    return loads


def _softened(arm: Dynamics) -> list[Dynamics]:
    """The robot with softer dry friction in its passive joints, softest first: motions that lead to its own."""
    rubbing = [
        (link.name, link.joint.friction.smoothing)
        for link in arm.robot.links
        if not link.joint.actuated and link.joint.friction is not None and link.joint.friction.coulomb > 0
    ]
    out, soft = list[Dynamics](), SOFT
    while any(smoothing < soft for _, smoothing in rubbing):
        softer = arm
        for name, smoothing in rubbing:
            softer = softer.set(f"{name}.joint.friction.smoothing", max(soft, smoothing))
        out.append(softer)
        soft /= HARDER
    return out
