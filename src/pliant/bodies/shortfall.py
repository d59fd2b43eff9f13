"""How far the shapes of a beam fall short of its static deflection.

A beam whose description names its modes bends as they allow. Few shapes, or smooth ones on a beam whose section steps,
are too stiff: the link sags too little, and nothing in the result shows it. Here the work that loads across a link do
is compared with that on beam elements which are fine enough to count as exact: its own weight and what it carries in
the reference pose, once along y and once along z. Shapes can only be too stiff, so the difference has one sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.bodies.auto_counts import comparison, family_matrices
from pliant.bodies.build import beam_in, shape_sets
from pliant.bodies.carried import mounted
from pliant.bodies.elements import element_set
from pliant.bodies.families import FAMILIES, ShapeSet
from pliant.bodies.profile import beam_profile
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.model.description.beams import Beam
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

ALLOWED = 0.03
"""Part of a static deflection that may be missing: a single mode of a bare beam misses 0.029 with a load at its tip."""
ROOT = 1e-9
"""Slope at the root, over the largest one, of shapes that are clamped."""
PLACES = 9
"""Where slopes are looked at."""
AXES = {1: "y", 2: "z"}


class Shortfall(NamedTuple):
    """What is missing of the deflection of a link.

    link  its name
    axis  y or z: the direction of the load
    part  of the true deflection that the shapes do not have
    """

    link: str
    axis: str
    part: float


@once_per_element
def shortfalls(robot: Robot) -> tuple[Shortfall, ...]:
    """Links whose shapes miss more of their static deflection than is allowed, with the worse direction of each."""
    return tuple(_shortfalls(robot))


def _shortfalls(robot: Robot) -> Iterator[Shortfall]:
    for link in robot.links:
        # lumped nodes have the stiffness of elements; a curved axis has no y and z of its own
        if link.beam is None or link.beam.is_curved or link.beam.lumped is not None or not link.is_flexible:
            continue
        if link.name in _held_by_others(robot):
            continue
        beam, sets = beam_in(link, robot), [s for s in shape_sets(link, robot) if not FAMILIES[s.family].shears]
        if sets and all(_is_clamped(each, link.length) for each in sets):
            found = [Shortfall(link.name, name, _missing(link, beam, robot, sets, k)) for k, name in AXES.items()]
            worst = max(found, key=lambda each: each.part)
            if worst.part > ALLOWED:
                yield worst


def _held_by_others(robot: Robot) -> set[str]:
    """Links from which loads do not go down to the base as through locked joints.

    A passive joint on a link, or further out, passes no moment about its axes on, and loops take a part of all forces.
    """
    out: set[str] = set()
    for link in reversed(robot.links):
        parent, _ = robot.parent_of(link.name)
        if link.name in out or (link.joint.coordinates and not link.joint.actuated and link.joint.mimic is None):
            out.add(parent)
    for loop in robot.loops:
        for frame in loop.frames:
            name, _ = robot.resolve_frame(frame)
            while name in robot.link_names:
                out.add(name)
                name, _ = robot.parent_of(name)
    return out


def _is_clamped(shapes: ShapeSet, length: float) -> bool:
    """Pinned shapes deflect together with their joint, and say little by themselves."""
    if not FAMILIES[shapes.family].bends:
        return True
    slopes = np.abs(shapes.sample(np.linspace(0.0, length, PLACES)).rotation)
    return bool(slopes[:, 0].max() <= ROOT * slopes.max())


def _missing(link: Link, beam: Beam, robot: Robot, sets: list[ShapeSet], axis: int) -> float:
    profile, load = beam_profile(beam), mounted(link, robot)
    fine = [element_set(each.family, profile, comparison(profile)) for each in sets]
    now, true = (
        sum(family_matrices(link, beam, each, profile, [load]).yields(load, axis) for each in those)
        for those in (sets, fine)
    )
    return 1 - now / true if true > 0 else 0.0
