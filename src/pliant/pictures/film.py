"""The moving robot as lines in space: every link as it bends, and as it would be if it were rigid."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.unbent import unbent
from pliant.joints import KINDS
from pliant.model.description.outline import BASE
from pliant.pictures.bent_links import BentLinks
from pliant.pictures.canvas import Viewpoint, best_view

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.model.description.links import Link

Floats = NDArray[np.float64]

MOST_PICTURES = 600
STATIONS = 15
"""Points along a flexible beam."""
SAME_PLACE = 1e-9


class Stroke(NamedTuple):
    """One stroke: points (pictures, points, 3) of the bent robot and of the rigid one, base frame."""

    link: str
    flexible: bool
    bent: Floats
    rigid: Floats


class Film(NamedTuple):
    """Pictures of a run.

    time    of the pictures, s (pictures,)
    q       configurations (pictures, n)
    lines   the strokes
    tip     the path of the tip (pictures, 3)
    loads   centres of hubs and payloads (pictures, parts, 3)
    """

    time: Floats
    q: Floats
    lines: list[Stroke]
    tip: Floats
    loads: Floats

    @property
    def points(self) -> Floats:
        """All points of the bent robot in all pictures (n, 3)."""
        return np.concatenate([line.bent.reshape(-1, 3) for line in self.lines] + [self.tip, self.loads.reshape(-1, 3)])


def make_film(arm: Dynamics, time: Floats, q: Floats, pictures: int = MOST_PICTURES) -> Film:
    """At most so many pictures, evenly spread over the samples: times (N,) and configurations (N, n)."""
    rows = np.unique(np.linspace(0, len(time) - 1, min(pictures, len(time))).round().astype(int))
    q, robot = q[rows], arm.robot
    bent, rigid = BentLinks(arm, q), BentLinks(arm, unbent(arm, q))
    lines = []
    for link in robot.links:
        pairs = zip(_strokes(bent, link), _strokes(rigid, link), strict=True)
        # what leads from the axis to other links does not bend
        lines += [Stroke(link.name, link.is_flexible and k == 0, a, b) for k, (a, b) in enumerate(pairs)]
    # what has no length is not drawn
    seen = [line for line in lines if np.ptp(line.bent, axis=1).max() > SAME_PLACE]
    return Film(time[rows], q, seen, bent.position("tip"), bent.loads())


def exaggerated(arm: Dynamics, q: Floats, factor: float) -> Floats:
    """Configurations (N, n) whose difference from the rigid robot's is so many times as large."""
    if not (np.isfinite(factor) and factor >= 0):
        raise ValueError(f"exaggeration is {factor:g}; it must be a number, not below zero")
    if factor == 1:
        return q
    rigid = unbent(arm, q)
    return np.asarray(rigid + factor * (q - rigid))


def view_of(arm: Dynamics, film: Film) -> Viewpoint:
    """Onto the plane of the motion if there is one, otherwise from a corner."""
    from pliant.pictures.bent_links import place_links

    turning = [item.axis for item in place_links(arm.robot).values() if KINDS[item.link.joint.type].symbol.drum]
    return best_view(film.points, np.reshape(turning, (-1, 3)))


def _strokes(at: BentLinks, link: Link) -> list[Floats]:
    """The axis of a link, then what leads from its frames to the links on it and to the ends of loops."""
    robot, name = at.robot, link.name
    root = at.position(f"{name}.root")
    if link.has_axis and link.is_flexible:
        axis = at.axis(link, STATIONS)
    else:
        axis = np.stack([root, at.position(f"{name}.tip")], axis=1)
    out = [axis]
    for child in robot.children_of(name):
        frame = at.position(f"{name}.{robot.parent_of(child)[1]}")
        # a body with an axis is drawn to the place that carries the child, any other from its root
        foot = frame if link.has_axis else root
        out.append(_way(at, foot, child))
    if not link.has_axis:
        ends = [robot.resolve_frame(frame) for loop in robot.loops for frame in loop.frames]
        out += [np.stack([root, at.position(f"{name}.{frame}")], axis=1) for on, frame in ends if on == name]
    if robot.parent_of(name)[0] == BASE:
        out.append(_way(at, np.zeros_like(root), name))
    return out


def _way(at: BentLinks, foot: Floats, name: str) -> Floats:
    """From a place on what carries a link to its root; along the rail of a sliding joint."""
    joint = at.robot.link(name).joint
    root = at.position(f"{name}.root")
    if not KINDS[joint.type].symbol.rail:
        return np.stack([foot, root], axis=1)
    parent, frame = at.robot.parent_of(name)
    begin = joint.placement.vector()
    if parent == BASE:
        rail = np.broadcast_to(begin, root.shape)
    else:
        pose = at.pose(f"{parent}.{frame}")
        rail = pose.position + pose.rotation @ begin
    return np.stack([foot, rail, root], axis=1)
