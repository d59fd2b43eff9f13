"""A tree made shorter for closed loops: links welded together become one body, closure frames become massless links.

A link that is fixed to a section which does not move relative to its parent's frame (a rigid part, a clamped root) adds
only constants to the parent: fewer frames, fewer operations. The coordinates stay the same; ``order`` tells where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.reframe import reframe
from pliant.formulations.recursive.joint_frames import clean
from pliant.formulations.recursive.link import JointConstants, LinkConstants, LinkKind, Seat
from pliant.formulations.recursive.tree import Tree, TreeLink, body_constants


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
    seat = link.constants.seat
    moves = any(x for row in (*seat.Phi_d, *seat.Phi_r) for x in row)
    return link.parent >= 0 and link.kind.joint == "fixed" and not moves


def merged(tree: Tree) -> Merged:
    """Join all welded links."""
    groups: list[_Group] = []
    places: list[_Place] = []
    for link in tree.links:
        own = list(range(link.own.start, link.own.stop))
        place = _Place(len(groups), np.eye(3), np.zeros(3), 0)
        if is_welded(link):
            seat, up = link.constants.seat, places[link.parent]
            group = groups[up.group]
            R = up.R @ np.array(seat.R0)
            p = up.p + up.R @ (np.array(seat.position) + np.array(seat.offset))
            if not (len(group.body.section_inertia) and len(link.body.section_inertia)):
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
        parent, seat, parent_size = -1, link.constants.seat, 0
        if link.parent >= 0:
            parent = places[link.parent].group
            parent_size = groups[parent].body.size
            seat = _moved(seat, places[link.parent], parent_size, link.kind.rotation)
        n = group.body.size
        row = [*link.constants.motor_row, *[0.0] * (n - len(link.constants.motor_row))]
        constants = LinkConstants(seat, link.constants.joint, body_constants(group.body), row)
        kind = replace(link.kind, size=n, parent_size=parent_size)
        names = tuple(tree.coordinates[k] for k in group.coordinates)
        links.append(
            replace(
                link,
                parent=parent,
                kind=kind,
                constants=constants,
                coordinates=names,
                start=len(order),
                body=group.body,
            )
        )
        order += group.coordinates
    rotation = tree.links[0].kind.rotation if tree.links else "exponential"
    frames = {
        name: (places[i].group, _moved(seat, places[i], groups[places[i].group].body.size, rotation))
        for name, (i, seat) in tree.frames.items()
    }
    return Merged(replace(tree, links=tuple(links), frames=frames, B=tree.B[order]), tuple(order))


def joined(a: ModalBody, b: ModalBody) -> ModalBody:
    """Two bodies in the same frame as one; the elastic coordinates of b follow those of a."""
    n, m = a.size, b.size

    def stacked(x: Array, y: Array, axes: Sequence[int]) -> Array:
        """Block-diagonal along the axes of elastic coordinates."""
        out = np.zeros([n + m if k in axes else size for k, size in enumerate(x.shape)])
        for part, span in ((x, slice(0, n)), (y, slice(n, n + m))):
            out[tuple(span if k in axes else slice(None) for k in range(out.ndim))] = part
        return out

    sections, before = (a, 0) if len(a.section_inertia) else (b, n)
    turn = np.zeros((len(sections.section_inertia), 3, n + m))
    if len(turn):
        turn[:, :, before : before + sections.size] = sections.section_turn
    return ModalBody(
        names=a.names + b.names,
        mass=a.mass + b.mass,
        first=a.first + b.first,
        first_modal=stacked(a.first_modal, b.first_modal, (1,)),
        beta=stacked(a.beta, b.beta, (1,)),
        lam=stacked(a.lam, b.lam, (0, 1)),
        I_rr=a.I_rr + b.I_rr,
        I_re=stacked(a.I_re, b.I_re, (0,)),
        I_ee=stacked(a.I_ee, b.I_ee, (0, 1)),
        M_ee=stacked(a.M_ee, b.M_ee, (0, 1)),
        K_ee=stacked(a.K_ee, b.K_ee, (0, 1)),
        D_ee=stacked(a.D_ee, b.D_ee, (0, 1)),
        section_inertia=sections.section_inertia,
        section_turn=turn,
        section_axes=sections.section_axes,
    )


def _moved(seat: Seat, place: _Place, size: int, rotation: str) -> Seat:
    """A seat on a link that became part of a larger body."""
    n = len(seat.Phi_d[0])
    own = slice(place.first, place.first + n)
    Phi_d, Phi_r = np.zeros((3, size)), np.zeros((3, size))
    Phi_d[:, own] = place.R @ np.array(seat.Phi_d, dtype=float).reshape(3, n)
    Phi_r[:, own] = np.array(seat.Phi_r, dtype=float).reshape(3, n)
    axes: Array = place.R @ np.array(seat.axes)
    if rotation != "xyz" or not Phi_r.any():
        # all other maps turn with their argument
        axes, Phi_r = np.eye(3), axes @ Phi_r
    return Seat(
        position=clean(place.p + place.R @ np.array(seat.position)),
        offset=clean(place.R @ np.array(seat.offset)),
        R0=clean(place.R @ np.array(seat.R0)),
        Phi_d=_exact(Phi_d),
        Phi_r=_exact(Phi_r),
        axes=clean(axes),
    )


def _exact(shapes: Array) -> list[list[float]]:
    """Shapes as lists; products with a rotation leave rounding beside zeros and ones."""
    out: list[list[float]] = clean(shapes)
    return out


def with_frame(tree: Tree, name: str, parent: int, seat: Seat, R: Array) -> Tree:
    """The tree with a massless link fixed to a frame (parent -1: the base), turned by R in it."""
    size = tree.links[parent].kind.size if parent >= 0 else 0
    body = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
    rotation = tree.links[0].kind.rotation
    kind = LinkKind("fixed", 2, 1.0, rotation, 0, size, parent < 0)
    seat = seat._replace(R0=clean(np.array(seat.R0) @ R))
    constants = LinkConstants(seat, JointConstants(*[0.0] * 7), body_constants(body), [])
    link = TreeLink(name, "", parent, kind, constants, (), tree.size, body, np.eye(3), np.zeros(3))
    return replace(tree, links=(*tree.links, link))
