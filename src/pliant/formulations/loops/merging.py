"""A tree made shorter for closed loops: links welded together become one body, closure frames become massless links.

A link that is fixed to a section which does not move relative to its parent's frame (a rigid part, a clamped root) adds
only constants to the parent: fewer frames, fewer operations. The coordinates stay the same; ``order`` tells where.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pliant.bodies.constants import embedded
from pliant.bodies.modal_body import Array, ModalBody, can_join, joined, reframe
from pliant.spatial.rounding import clean
from pliant.tree.link import Seat
from pliant.tree.lowering import rigid_link
from pliant.tree.tree import Tree, TreeLink


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
