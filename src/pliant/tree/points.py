"""Frames on which laws act: how they move, and the generalised forces of forces and moments on them, on any scalars.

All frames of a law are walked together: each link on the way to the base is passed once outward, for the motion, and
once inward, where it hands down the sum of all that acts on what it carries.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pliant.algorithm import views
from pliant.engine.trace.structure import constants_from, numbers_of, structure_key
from pliant.spatial.vectors import Vector, add, transpose_times
from pliant.tree.frames import frame_link
from pliant.tree.kinematics import CONNECT, FOLLOW, MOVE, Motion, base_motion
from pliant.tree.link import pass_down, project
from pliant.tree.lowering import lower_with_frames
from pliant.tree.tree import Tree, TreeView

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism


class PointWrench(NamedTuple):
    """Force and moment on a frame, base axes."""

    force: Vector
    moment: Vector


Place = str | tuple[float, float, float]
"""A frame, LINK.FRAME, LINK (its tip) or tip; or a place on the base."""
ON_BASE = -1


class FramePoints:
    """Several places of a robot; some of them may be the same.

    numbers    constants of the robot and places on the base that ``at`` takes: robots of one structure share its code
    structure  what decides that code
    """

    def __init__(self, mechanism: Mechanism, places: Sequence[Place]) -> None:
        self.tree: Tree = lower_with_frames(mechanism)
        self.links = tuple(frame_link(mechanism, x).link if isinstance(x, str) else ON_BASE for x in places)
        self.fixed = tuple(float(x) for place in places if not isinstance(place, str) for x in place)
        on_the_way: set[int] = set()
        for link in self.links:
            while link >= 0 and link not in on_the_way:
                on_the_way.add(link)
                link = self.tree.links[link].parent
        self.carriers = tuple(sorted(on_the_way))

    @property
    def numbers(self) -> tuple[float, ...]:
        return (*self.fixed, *numbers_of(self.tree))

    @property
    def structure(self) -> Hashable:
        return structure_key(self.tree), self.links

    def at(self, q: Vector, v: Vector, numbers: Vector | None = None) -> PointsAt:
        """The frames at a state; numbers are the robot's own where none are given."""
        fixed = list(self.fixed) if numbers is None else list(numbers[: len(self.fixed)])
        constants = None if numbers is None else constants_from(self.tree, numbers[len(self.fixed) :])
        every: list[TreeView] = views(self.tree, {"q": q, "v": v}, constants, [0.0] * 3)
        for each in (FOLLOW, CONNECT, MOVE):
            for i in self.carriers:
                every[i].store.update(each.step(every[i]))
        base = iter([fixed[k : k + 3] for k in range(0, len(fixed), 3)])
        still = base_motion()
        motions = [every[i].store["motion"] if i >= 0 else still._replace(p=next(base)) for i in self.links]
        return PointsAt(self, every, motions)


class PointsAt:
    """Frames of a robot at one state.

    motions  pose and velocity of each of them, base axes
    """

    def __init__(self, points: FramePoints, every: Sequence[TreeView], motions: list[Motion]) -> None:
        self.points, self.every, self.motions = points, every, motions

    def forces(self, wrenches: Sequence[PointWrench]) -> Vector:
        """Generalised forces (n,) of a force and a moment on each of the places: the sum of all J^T w."""
        tree = self.points.tree
        own: dict[int, tuple[Vector, Vector, Vector]] = {}

        def hand(link: int, force: Vector, moment: Vector, generalised: Vector) -> None:
            before = own.get(link)
            new = (force, moment, generalised)
            own[link] = new if before is None else tuple(map(add, before, new))  # type: ignore[assignment]

        for link, motion, wrench in zip(self.points.links, self.motions, wrenches, strict=True):
            if link == ON_BASE:
                continue
            on_link = transpose_times(motion.R, wrench.force), transpose_times(motion.R, wrench.moment)
            hand(link, *on_link, [0.0] * self.every[link].kind.size)
        out: Vector = [0.0] * tree.size
        for i in reversed(self.points.carriers):
            view, start = self.every[i], tree.links[i].start
            part = project(view.kind, view.link, view.connection, *own[i])
            out[start : start + len(part)] = part
            if view.parent is not None:
                hand(tree.links[i].parent, *pass_down(view.connection, view.parent.kind.size, *own[i][:2]))
        return out
