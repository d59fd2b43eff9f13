"""The first state of a corrected motion on the full model: links in balance with what moves them and acts on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import settle
from pliant.analysis.lumped.frequencies import SLOW
from pliant.analysis.statics import NoEquilibriumError, wrench_force, wrench_stiffness, wrenches
from pliant.errors import ModelError
from pliant.simulation.start import Start

if TYPE_CHECKING:
    from pliant.analysis.lumped.successive import PathSolution
    from pliant.analysis.statics import FrameLoad
    from pliant.dynamics import Dynamics
    from pliant.simulation.study import Study

Floats = NDArray[np.float64]

STEPS = 30
BALANCED = 1e-10
"""Newton step, of the largest coordinate or one, that ends the search."""
AHEAD = 0.1
"""Part of a step of the solution after which the balance tells how fast the links bend."""


def balanced_start(arm: Dynamics, study: Study, solution: PathSolution) -> tuple[Floats, Floats]:
    """Coordinates and rates (n,): at rest in equilibrium, or bent as the moving drives bend the links.

    Closed loops that move begin as they would rest, with the rates of the drives.
    """
    times, first = solution.times, solution.nominal(solution.times[:1])
    straight = arm.reference_pose()
    for name, value in zip(solution.model.joints, first.q[0], strict=True):
        straight[arm.names.index(name)] = value
    held = _acting(arm, study, times[0])
    loads: dict[str, Floats] = {}
    for each in held[0]:
        loads[each.frame] = loads.get(each.frame, 0.0) + each.value
    try:
        rest = settle(arm, straight, loads=loads).q
    except NoEquilibriumError as error:
        raise ModelError(f"study '{study.name}': {error}") from None
    driven = solution.model.skeleton.driven
    if np.abs(first.v).max(initial=0.0) < SLOW and not held[1].any():
        return rest, np.zeros(arm.size)
    if arm.loops.rows:
        rates = dict(zip(arm.inputs, first.v[0, driven].tolist(), strict=True))
        return Start(q=tuple(rest.tolist()), velocity=rates).state(arm)
    moving = bool(np.abs(first.v).max(initial=0.0) >= SLOW)
    h = AHEAD * float(times[1] - times[0])
    q, states = rest, []
    for t in times[0] + h * np.arange(3 if moving else 1):
        q = _balance(arm, study, solution, t, q, moving)
        states.append(q)
    v = np.zeros(arm.size)
    if moving:
        v = (-3 * states[0] + 4 * states[1] - states[2]) / (2 * h)
        v[[arm.names.index(name) for name in arm.inputs]] = first.v[0, driven]
    return states[0], v


def _acting(arm: Dynamics, study: Study, t: float) -> tuple[list[FrameLoad], Floats]:
    """Wrenches on frames at an instant, and efforts along joints (n,)."""
    found: dict[str, Floats] = {}
    efforts, still = np.zeros(arm.size), np.zeros(arm.size)
    for each in study.disturbances:
        load = each.bind(arm)
        if each.frame is not None:
            found[each.frame] = found.get(each.frame, np.zeros(6)) + load.signals(np.array([t]))[0]
        elif each.joint not in arm.inputs:
            efforts += np.array(load.at(t, still, still, load.initial()).efforts, dtype=float)
    return wrenches(found), efforts


def _balance(arm: Dynamics, study: Study, solution: PathSolution, t: float, q: Floats, moving: bool) -> Floats:
    """Coordinates at which what is free stays where it is while the drives move as they do at an instant."""
    motion = solution.nominal(np.array([t]))
    driven = [arm.names.index(name) for name in arm.inputs]
    places = solution.model.skeleton.driven
    v, a = np.zeros(arm.size), np.zeros(arm.size)
    q = q.copy()
    q[driven] = motion.q[0, places]
    if moving:
        v[driven], a[driven] = motion.v[0, places], motion.a[0, places]
    loads, efforts = _acting(arm, study, t)
    free = np.setdiff1d(np.arange(arm.size), driven)
    for _ in range(STEPS):
        residual = arm.forces(q, v, a) - wrench_force(arm, q, loads) - efforts
        slope = arm.inverse_derivatives(q, v, a).q - wrench_stiffness(arm, q, loads)
        step = np.linalg.lstsq(slope[np.ix_(free, free)], -residual[free], rcond=None)[0]
        q[free] += step
        if np.abs(step).max(initial=0.0) < BALANCED * max(1.0, float(np.abs(q).max(initial=0.0))):
            return q
    raise ModelError(
        f"study '{study.name}': the links of robot '{arm.robot.name}' find no balance where the path begins; let it "
        "begin at rest"
    )
