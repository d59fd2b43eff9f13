"""Frequencies against the number of modes and elements: is the model fine enough?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import settle
from pliant.analysis.left_out import missing_families, with_families
from pliant.analysis.modes import vibration_modes
from pliant.bodies.build import beam_in
from pliant.dynamics import Dynamics
from pliant.model.description.discretisation import Reduction

if TYPE_CHECKING:
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

Floats = NDArray[np.float64]

MOVES = 0.01
"""Change of a frequency by the next refinement, relative, from which the model is too coarse for it."""
WATCHED = 3
"""How many of the lowest frequencies must not move."""
MORE_MODES = 2
"""Modes that a refinement adds to every family; it doubles the number of elements and nodes."""
MOST_COORDINATES = 200
"""Robots with more coordinates are not refined unasked."""


class Refinement(NamedTuple):
    """Frequencies of a robot whose links have been refined so many times.

    level     0 is the robot as it is
    size      coordinates
    hertz     lowest frequencies (count,)
    families  whether it also has the families that its beams leave out
    """

    level: int
    size: int
    hertz: Floats
    families: bool = False


def refined(robot: Robot, level: int) -> Robot:
    """The robot with finer links; those of user shapes or of modal data stay as they are."""
    links = [_refined(link, robot, level) for link in robot.links]
    return robot.model_copy(update={"links": tuple(links)})


def convergence(
    robot: Robot,
    *,
    joints: Mapping[str, float] | None = None,
    locked: bool = True,
    count: int = 6,
    levels: int = 3,
    families: bool = False,
) -> list[Refinement]:
    """Frequencies of the robot as it is and of its refinements.

    joints    values of the configuration; default: the reference pose
    families  the finest one again, with the families that the beams leave out although they may give way
    """
    # how they are damped changes no frequency, and the ratio of a whole robot is for few coordinates
    bare = robot.model_copy(update={"damping": None})
    steps = [(level, refined(bare, level), False) for level in range(levels + 1)]
    if families and (missing := missing_families(bare)):
        steps.append((levels, refined(with_families(bare, missing), levels), True))
    found = []
    for level, finer, added in steps:
        arm = Dynamics(finer, compile="never")
        q = arm.reference_pose()
        for name, value in (joints or {}).items():
            q[arm.names.index(name)] = value
        hertz = vibration_modes(arm, settle(arm, q).q, locked=locked).hertz[:count]
        found.append(Refinement(level, arm.size, hertz, added))
    return found


def coarse(refinements: list[Refinement]) -> str:
    """What to say if the lowest frequencies of a robot still move; empty if they do not."""
    # a family that is added brings modes of its own, which have nothing to compare with
    now, finer = refinements[0].hertz, [each for each in refinements if not each.families][-1].hertz
    vibrating = [k for k in range(min(len(now), len(finer))) if finer[k] > 0][:WATCHED]
    moved = [(k, now[k] / finer[k] - 1) for k in vibrating if abs(now[k] / finer[k] - 1) > MOVES]
    if not moved:
        return ""
    k, change = max(moved, key=lambda pair: abs(pair[1]))
    return (
        f"with finer links frequency {k + 1} goes from {now[k]:.4g} to {finer[k]:.4g} Hz ({100 * abs(change):.2g} %): "
        "give the links more modes or elements; --convergence shows how many"
    )


def can_be_refined(robot: Robot) -> bool:
    """Whether a refinement changes anything."""
    return refined(robot, 1) != robot


def _refined(link: Link, robot: Robot, level: int) -> Link:
    if link.beam is None or not level:
        return link
    beam = beam_in(link, robot)
    changes: dict[str, Any] = {}
    if beam.modes is not None:
        own = {name: family.count for name, family in beam.modes.families().items() if family.shape != "user"}
        changes["modes"] = beam.modes.with_counts({name: int(n or 0) + MORE_MODES * level for name, n in own.items()})
    elif beam.elements is not None:
        finer: dict[str, Any] = {"number": beam.elements.number * 2**level}
        if beam.elements.reduce.method != "none":
            modes = beam.elements.reduce.modes + MORE_MODES * level
            finer["reduce"] = Reduction(method="craig_bampton", modes=modes)
        changes["elements"] = beam.elements.model_copy(update=finer)
    elif beam.lumped is not None:
        changes["lumped"] = beam.lumped.model_copy(update={"nodes": beam.lumped.nodes * 2**level})
    return link.model_copy(update={"beam": beam.model_copy(update=changes)}) if changes else link
