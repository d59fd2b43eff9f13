"""Closures of kinematic loops: two frames that stay together, at the level of positions, velocities, accelerations.

Each side of a closure is a massless link of the tree (``with_frame``), so that frames on the base, on rigid and
on bending links are all alike. A weld keeps the relative twist of the frames zero, (30) of Briot & Khalil for any two
frames; what other kinds of joints hold, their rows tell (``joints/rows.py``). In a plane only the displacements in it
and the turn about its normal are kept.

For loops a tree is made shorter: a link that is fixed to a section which does not move relative to its parent's frame
(a rigid part, a clamped root) adds only constants to the parent, and both become one body. The coordinates stay the
same; ``order`` tells where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pliant.bodies.constants import embedded
from pliant.bodies.modal_body import Array, ModalBody, can_join, joined, reframe
from pliant.joints.rows import AXES, ClosureRow, Pull, in_plane, seen
from pliant.mechanism import BASE, LoopEnds, Mechanism
from pliant.spatial.rounding import clean
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import AFTER, ZERO3, Vector, add, dot, scale
from pliant.tree.link import Seat
from pliant.tree.lowering import fixed_seat, rigid_link
from pliant.tree.tree import Tree, TreeLink, TreeView


class Merged(NamedTuple):
    """A tree, and for each of its coordinates the place in the tree that it was made from."""

    tree: Tree
    order: tuple[int, ...]


@dataclass(slots=True)
class _Group:
    """A link with what is welded to it."""

    link: TreeLink
    body: ModalBody
    coordinates: list[int]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a link went: its group, its pose there and its first elastic coordinate."""

    group: int
    R: Array
    p: Array
    first: int


def is_welded(link: TreeLink) -> bool:
    """Whether a link never moves relative to its parent's frame."""
    return link.parent >= 0 and link.kind.held == 0 and not link.seat.section.moved_by


def merged(tree: Tree) -> Merged:
    """Join all welded links."""
    groups: list[_Group] = []
    places: list[_Place] = []
    for link in tree.links:
        own = list(range(link.own.start, link.own.stop))
        place = _Place(len(groups), np.eye(3), np.zeros(3), 0)
        if is_welded(link):
            seat, up = link.seat, places[link.parent]
            group = groups[up.group]
            R = up.R @ np.array(seat.R0)
            p = up.p + up.R @ (np.array(seat.section.position) + np.array(seat.offset))
            if can_join(group.body, link.body):
                places.append(_Place(up.group, R, p, group.body.size))
                group.body = joined(group.body, reframe(link.body, R, p))
                group.coordinates += own
                continue
        places.append(place)
        groups.append(_Group(link, link.body, own))
    links: list[TreeLink] = []
    order: list[int] = []
    for group in groups:
        link = group.link
        parent, seat, n = -1, link.seat, group.body.size
        if link.parent >= 0:
            parent = places[link.parent].group
            seat = _moved(seat, places[link.parent], groups[parent].body.size)
        row = [*link.drive.row, *[0.0] * (n - len(link.drive.row))]
        links.append(
            replace(
                link,
                parent=parent,
                kind=replace(link.kind, size=n),
                seat=seat,
                drive=link.drive._replace(row=row),
                body=group.body,
                coordinates=tuple(tree.coordinates[k] for k in group.coordinates),
                start=len(order),
            )
        )
        order += group.coordinates
    frames = {
        name: (places[i].group, _moved(seat, places[i], groups[places[i].group].body.size))
        for name, (i, seat) in tree.frames.items()
    }
    drag = None if tree.drag is None else tree.drag[np.ix_(order, order)]
    return Merged(replace(tree, links=tuple(links), frames=frames).with_drag(drag), tuple(order))


def _moved(seat: Seat, place: _Place, size: int) -> Seat:
    """A seat on a link that became part of a larger body."""
    return seat._replace(
        section=embedded(seat.section, place.R, place.p, place.first, size),
        offset=clean(place.R @ np.array(seat.offset)),
        R0=clean(place.R @ np.array(seat.R0)),
    )


def with_frame(tree: Tree, name: str, parent: int, seat: Seat, R: Array) -> Tree:
    """The tree with a massless link fixed to a frame (parent -1: the base), turned by R in it."""
    body = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
    seat = seat._replace(R0=clean(np.array(seat.R0) @ R))
    link = rigid_link(name, parent, seat, body, tree.links[0].rule, tree.size)
    return replace(tree, links=(*tree.links, link))


@dataclass(frozen=True, slots=True)
class TieRow:
    """The constraint between the coordinates of a joint that follows and the one that leads it."""

    kind: ClassVar[str] = "tie"
    label: ClassVar[str] = "tie"
    is_length: bool


@dataclass(frozen=True, slots=True)
class Closure:
    """A loop's closure between two massless links of the tree; or two links whose joints are tied by a ratio.

    Of a tie, the joint of the first link follows: q_first = ratio q_second + offset.
    """

    name: str
    first: int
    second: int
    rows: tuple[ClosureRow | TieRow, ...]
    ratio: float = 1.0
    offset: float = 0.0

    @property
    def is_tie(self) -> bool:
        """Whether it ties two joints."""
        return any(row.kind == "tie" for row in self.rows)

    @property
    def of_frames(self) -> tuple[ClosureRow, ...]:
        """The rows between two frames."""
        return tuple(row for row in self.rows if not isinstance(row, TieRow))

    def tied(self, first: Vector, second: Vector, offset: float = 0.0) -> Scalar:
        """How far the own coordinates of two links, or their rates or accelerations, are from the tie."""
        return first[0] - self.ratio * second[0] - offset


def normal_of(planar: str) -> int:
    """Number of the base axis that is normal to a plane."""
    return next(k for k, axis in enumerate(AXES) if axis not in planar)


def rows_of(loop: LoopEnds) -> tuple[ClosureRow, ...]:
    """The constraints of a loop; in a plane those that a motion in it may break."""
    if loop.planar is None:
        return loop.rows
    kept = in_plane(loop.rows, normal_of(loop.planar))
    # kinds whose directions move with a frame are refused where they are described
    assert kept is not None
    return kept


def close(tree: Tree, mechanism: Mechanism, order: Sequence[int]) -> tuple[Tree, tuple[Closure, ...]]:
    """Add the frames of all loops to a tree, whose coordinates are the mechanism's in an order."""
    place = {order[link.start]: i for i, link in enumerate(tree.links) if link.kind.is_driven}
    closures = []
    for tie in mechanism.ties:
        first, second = place[tie.follower], place[tie.leader]
        row = TieRow(tree.links[first].kind.joint.slides())
        closures.append(Closure(tie.name, first, second, (row,), tie.ratio, tie.offset))
    for loop in mechanism.loops:
        R = axis_to_z(loop.axis)
        for k, (member, frame) in enumerate(loop.frames):
            parent, seat = -1, fixed_seat(np.zeros(3), np.eye(3), 0, mechanism.rule)
            if member != BASE:
                parent, seat = tree.frames[f"{mechanism.members[member].name}.{frame}"]
            tree = with_frame(tree, f"{loop.name}.{('first', 'second')[k]}", parent, seat, R)
        n = len(tree.links)
        closures.append(Closure(loop.name, n - 2, n - 1, rows_of(loop)))
    return tree, tuple(closures)


def axis_to_z(axis: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """R with R e_z = axis; a cyclic change of axes where the axis is a coordinate axis."""
    k = int(np.argmax(np.abs(axis)))
    i, _ = AFTER[k]
    x = np.eye(3)[i] - axis[i] * axis
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


# ---- all closures of a tree


def gaps_and_rates(closures: Sequence[Closure], links: Sequence[TreeView]) -> tuple[Vector, Vector]:
    """Gaps and their rates where the links have their motions, closure by closure."""
    gaps: Vector = []
    rates: Vector = []
    for closure in closures:
        first, second = links[closure.first], links[closure.second]
        if closure.is_tie:
            gaps.append(closure.tied(first.q, second.q, closure.offset))
            rates.append(closure.tied(first.v, second.v))
        else:
            a, b = first.store["motion"], second.store["motion"]
            gaps += [row.gap(a, b) for row in closure.of_frames]
            rates += [row.rate(a, b) for row in closure.of_frames]
    return gaps, rates


def closing(closures: Sequence[Closure], links: Sequence[TreeView]) -> tuple[Vector, Vector, Vector]:
    """Gaps, their rates and their accelerations after ``FRAMES``, closure by closure."""
    accelerations: Vector = []
    for closure in closures:
        first, second = links[closure.first], links[closure.second]
        if closure.is_tie:
            accelerations.append(closure.tied(first.inputs["a"], second.inputs["a"]))
            continue
        a, b = first.store["motion"], second.store["motion"]
        moved = [links[i].store["acceleration"] for i in (closure.first, closure.second)]
        for row in closure.of_frames:
            along = [
                dot(force, x.a_v) + dot(moment, x.a_w)
                for (force, moment), x in zip(row.on_frames(a, b), moved, strict=True)
            ]
            accelerations.append(along[0] + along[1] + row.bias(a, b, seen(a, b)))
    return *gaps_and_rates(closures, links), accelerations


def closing_force(
    closures: Sequence[Closure], links: Sequence[TreeView], multipliers: Vector
) -> dict[int, tuple[Vector, Vector]]:
    """Force and moment of the multipliers on the frames, own axes, by index of the massless link."""
    out: dict[int, tuple[Vector, Vector]] = {}
    start = 0
    for closure in closures:
        if closure.is_tie:
            start += 1
            continue
        sides = (closure.first, closure.second)
        a, b = (links[i].store["motion"] for i in sides)
        totals: list[Pull] = [(list(ZERO3), list(ZERO3)) for _ in sides]
        for k, row in enumerate(closure.of_frames):
            for total, pulls in zip(totals, row.on_frames(a, b), strict=True):
                for part, pull in zip(total, pulls, strict=True):
                    part[:] = add(part, scale(multipliers[start + k], pull))
        start += len(closure.rows)
        out.update(zip(sides, totals, strict=True))
    return out


def tie_forces(closures: Sequence[Closure], multipliers: Vector) -> list[tuple[int, Scalar]]:
    """(link, effort on its joint's own coordinate) of the multipliers of ties."""
    out: list[tuple[int, Scalar]] = []
    start = 0
    for closure in closures:
        if closure.is_tie:
            out += [(closure.first, multipliers[start]), (closure.second, -(closure.ratio * multipliers[start]))]
        start += len(closure.rows)
    return out
