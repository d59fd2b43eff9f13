"""Where all links are, and how each moves by the coordinates next to it: what poses and Jacobians are made from.

The columns of a link are its velocities per unit rate of its parent's elastic coordinates and of its own joint. Those
of a frame follow by walking from it to the base: the velocity of a link's point carries over to the frame by the arm r
between them, v + w x r, and r grows by one arm per link, so nothing large is ever subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Pass, PassAlgorithm
from pliant.bodies.constants import GROUND
from pliant.spatial.vectors import ZERO3, Matrix, Vector, add, column, cross, identity3, product, times, zeros
from pliant.tree.connection import joint_motion, orient, own_offset, seat_axes
from pliant.tree.passes import FOLLOW
from pliant.tree.tree import TreeView

if TYPE_CHECKING:
    from pliant.tree.tree import Tree

Floats = NDArray[np.float64]

ROTATION, POSITION, ARM, COLUMNS = 0, 9, 12, 15
"""Where a link's results begin: rotation and position in the base, the arm from its parent, its columns."""
COLUMN = 6
"""Velocity of the link's origin and angular velocity, base axes."""


class LinkPlace(NamedTuple):
    """Pose of a link in the base."""

    R: Matrix
    p: Vector


def _place(view: TreeView) -> dict[str, Any]:
    up: LinkPlace = LinkPlace(identity3(), list(ZERO3)) if view.parent is None else view.parent.store["place"]
    kind, link, q = view.kind, view.link, view.q
    parent = view.parent
    bends = 0 if parent is None else parent.kind.size
    body = GROUND if parent is None else parent.bent.body
    frame = body.frame(link.seat.section, [] if parent is None else parent.kind.elastic(parent.q), [0.0] * bends)
    joint = joint_motion(kind, link, q, [0.0] * len(q))
    s = own_offset(link.seat, joint.place, frame.R)
    R = product(up.R, orient(link.seat, joint.place, frame.R).to_matrix())
    columns: list[tuple[Vector, Vector]] = []
    J_w = zeros(3, bends) if frame.spin is None else frame.spin.J_w
    for e in range(bends):
        spin = column(J_w, e)
        columns.append((times(up.R, add(column(frame.J_v, e), cross(spin, s))), times(up.R, spin)))
    columns += kind.joint.rates(joint.state, product(up.R, seat_axes(link.seat, frame.R)), R, link.joint)
    arm = times(up.R, add(frame.r, s))
    place = LinkPlace(R, add(up.p, arm))
    return {"place": place, "arm": arm, "columns": columns}


def _placed(view: TreeView) -> dict[str, Any]:
    place: LinkPlace = view.store["place"]
    flat = [x for row in place.R for x in row] + place.p + view.store["arm"]
    return {"result": flat + [x for v, w in view.store["columns"] for x in (*v, *w)]}


PLACE = Pass("place", "outward", _place, reads=("place", "bent"))
PLACES = PassAlgorithm(
    "places",
    ("q",),
    (FOLLOW, PLACE, Pass("placed", "outward", _placed, own=("place", "arm", "columns"))),
    "result",
)
"""For every link: rotation, position, arm, columns."""


class WayLink(NamedTuple):
    """A link on the way from a frame to the base: where its results begin, and the coordinates of its columns."""

    start: int
    coordinates: tuple[int, ...]


class WayToBase:
    """The way from a frame to the base.

    start  where the results of the frame begin
    steps  the frame itself first
    """

    def __init__(self, tree: Tree, starts: list[int], link: int) -> None:
        self.start, self.size = starts[link], tree.size
        self.steps: list[WayLink] = []
        while link >= 0:
            self.steps.append(WayLink(starts[link], column_coordinates(tree, link)))
            link = tree.links[link].parent

    def position(self, flat: Floats) -> Floats:
        """Position (..., 3) of the frame, from the results of all links."""
        return flat[..., self.start + POSITION : self.start + ARM]

    def pose(self, flat: Floats) -> tuple[Floats, Floats]:
        """Position (..., 3) and rotation (..., 3, 3) of the frame, from the results of all links."""
        own = flat[..., self.start : self.start + ARM]
        return own[..., POSITION:].copy(), own[..., :POSITION].reshape(*own.shape[:-1], 3, 3).copy()

    def jacobian(self, flat: Floats) -> Floats:
        """J (..., 6, n) of the frame, from the results of all links."""
        J = np.zeros((*flat.shape[:-1], 6, self.size))
        for coordinate, v, w, r in self._walk(flat):
            J[..., :3, coordinate] = v + np.cross(w, r)
            J[..., 3:, coordinate] = w
        return J

    def _walk(self, flat: Floats) -> Iterator[tuple[int, Floats, Floats, Floats]]:
        r = np.zeros((*flat.shape[:-1], 3))
        for start, coordinates in self.steps:
            for k, coordinate in enumerate(coordinates):
                own = start + COLUMNS + COLUMN * k
                yield coordinate, flat[..., own : own + 3], flat[..., own + 3 : own + 6], r
            r = r + flat[..., start + ARM : start + COLUMNS]


def column_coordinates(tree: Tree, link: int) -> tuple[int, ...]:
    """The coordinates of a link's columns: its parent's elastic ones and those of its own joint."""
    own = tree.links[link]
    joint = range(own.start, own.elastic.start)
    if own.parent < 0:
        return tuple(joint)
    bends = tree.links[own.parent].elastic
    return (*range(bends.start, bends.stop), *joint)


def paths(tree: Tree) -> Callable[[int], WayToBase]:
    """The ways from the links of a tree to the base."""
    starts = running(COLUMNS + COLUMN * len(column_coordinates(tree, link)) for link in range(len(tree.links)))
    return lambda link: WayToBase(tree, starts, link)


def running(sizes: Iterable[int]) -> list[int]:
    """Where parts of some sizes begin."""
    return [0, *accumulate(sizes)]
