"""From the neutral mechanism to the tree that the recursions walk.

Every link gets a dynamics frame D on its joint axis, one of whose axes is that axis; D is the link's own frame B
wherever the description allows it. Parts that are welded to a body without moving relative to it are merged into
its constants; parts on a moving section become links with a fixed joint and no coordinates, and so do sections whose
inertia turns exactly with them: one short kernel serves all of a beam.

It stands apart from the tree, whose text decides machine code: kept code does not depend on how robots are described.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.bodies.constants import disc_sections, fixed_section, offset_of, section_of
from pliant.bodies.modal_body import Array, ModalBody, add_part, is_same_frame, reframe
from pliant.joints.fixed import Fixed
from pliant.joints.kind import JointDrive, JointKind
from pliant.mechanism import BASE, Mechanism, Member, Part
from pliant.model.once import once_per_element
from pliant.spatial.rounding import clean, nearest_axis
from pliant.tree.link import LinkKind, Seat
from pliant.tree.tree import Tree, TreeLink

Z = 2
NOWHERE = np.zeros(3)
PARALLEL = 1e-12
"""Sine of the twist below which two joint axes count as parallel."""


def about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def split_zxz(R: Array) -> tuple[float, float, float]:
    """(a, alpha, c) with R = Rz(a) Rx(alpha) Rz(c)."""
    if np.hypot(R[0, 2], R[1, 2]) < PARALLEL:
        return 0.0, 0.0 if R[2, 2] > 0 else np.pi, float(np.arctan2(R[1, 0], R[0, 0]))
    alpha = np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])
    return float(np.arctan2(R[0, 2], -R[1, 2])), float(alpha), float(np.arctan2(R[2, 0], R[2, 1]))


def align_frames(
    links: list[TreeLink], frames: dict[str, tuple[int, Seat]]
) -> tuple[list[TreeLink], dict[str, tuple[int, Seat]]]:
    """Turn the frames of rigid links onto the common normals of their joints."""
    links, frames = list(links), dict(frames)
    for i, link in enumerate(links):
        if link.kind.size == 0 and link.kind.joint.has_axis() and link.kind.joint.axis != Z:
            _turn(links, frames, i, _axis_to_z(link.kind.joint.axis))
            links[i] = replace(links[i], kind=replace(link.kind, joint=replace(link.kind.joint, axis=Z)))
    for i, link in enumerate(links):
        child = _next_joint(links, i)
        if child is None or link.kind.size or not link.kind.joint.has_axis():
            continue
        normal, _, _ = split_zxz(np.array(links[child].seat.R0))
        _turn(links, frames, i, about_z(-normal))
    for i, link in enumerate(links):
        if link.parent >= 0 and link.kind.joint.turns() and link.kind.joint.axis == Z:
            _factor(links, i)
    return links, frames


def _next_joint(links: list[TreeLink], i: int) -> int | None:
    """The first joint about or along z that hangs on a link."""
    for k, link in enumerate(links):
        if link.parent == i and link.kind.joint.has_axis() and link.kind.joint.axis == Z:
            return k
    return None


def _axis_to_z(axis: int) -> Array:
    """A cyclic change of axes that brings a coordinate axis to z."""
    return np.roll(np.eye(3), Z - axis, axis=0)


def _turn(links: list[TreeLink], frames: dict[str, tuple[int, Seat]], i: int, R: Array) -> None:
    """Express link i in axes turned by R: a vector r becomes R r."""
    if is_same_frame(R, NOWHERE):
        return
    link = links[i]
    body = reframe(link.body, R, NOWHERE)
    seat = link.seat._replace(R0=clean(np.array(link.seat.R0) @ R.T))
    links[i] = replace(link, body=body, seat=seat, R_DB=R @ link.R_DB, p_DB=R @ link.p_DB)
    for k, other in enumerate(links):
        if other.parent == i:
            links[k] = replace(other, seat=_seat_in(R, other.seat))
    for name, (at, frame) in frames.items():
        if at == i:
            frames[name] = (at, _seat_in(R, frame))


def _seat_in(R: Array, seat: Seat) -> Seat:
    """A seat on a rigid body whose axes were turned."""
    section = seat.section._replace(position=clean(R @ seat.section.position))
    return seat._replace(section=section, offset=clean(R @ seat.offset), R0=clean(R @ np.array(seat.R0)))


def _factor(links: list[TreeLink], i: int) -> None:
    """Put the turn about z that ends a seat's rotation into its angle."""
    link = links[i]
    R0: Array = np.array(link.seat.R0)
    if link.seat.section.turns:
        return
    # only a seat on the common normal is a twist about x and a turn about z
    normal, _, turn = split_zxz(R0)
    if abs(np.sin(normal)) > PARALLEL or abs(turn) < PARALLEL:
        return
    links[i] = replace(link, seat=link.seat._replace(R0=clean(R0 @ about_z(-turn)), angle=turn))


NOTHING = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
"""The body of a frame."""


@once_per_element
def lower(mechanism: Mechanism, *, discs: bool = True) -> Tree:
    """The tree of a mechanism; its closures are not part of it.

    discs  sections that turn exactly are links of their own; else they stay with their bodies
    """
    builder = _Builder(mechanism, discs)
    for member in mechanism.members:
        builder.add(member)
    links, frames = align_frames(builder.links, builder.frames)
    return Tree(tuple(links), mechanism.gravity, frames).with_drag(mechanism.drag)


@once_per_element
def lower_with_frames(mechanism: Mechanism) -> Tree:
    """The tree with a massless link at every frame; sections that only turn have no place in it."""
    # kinematics know nothing of damping
    still = mechanism if mechanism.drag is None else replace(mechanism, drag=None)
    # links of the tree itself, where they are the same, have their constants already
    tree = lower(still, discs=False) if any(len(m.body.section_turn) for m in mechanism.members) else lower(still)
    frames = [
        rigid_link(f"frame {name}", parent, seat, NOTHING, mechanism.rule, tree.size)
        for name, (parent, seat) in tree.frames.items()
    ]
    return replace(tree, links=(*tree.links, *frames))


def seat_at(body: ModalBody, frame: str, rule: str) -> Seat:
    """A frame of a body as a seat."""
    return Seat(section_of(body, frame, rule), offset_of(body, frame), clean(body.frames[frame].rotation), 0.0)


def fixed_seat(position: Array, R: Array, size: int, rule: str) -> Seat:
    """A place on a body (or the base) that no elastic coordinate moves."""
    return Seat(fixed_section(position, size, rule), [0.0] * 3, clean(R), 0.0)


def rigid_link(name: str, parent: int, seat: Seat, body: ModalBody, rule: str, start: int) -> TreeLink:
    """A link without coordinates of its own, fixed to a seat."""
    kind = LinkKind(Fixed(), 0, parent < 0)
    drive = JointDrive.none(0)
    return TreeLink(name, "", parent, kind, seat, drive, (), body, rule, (), start, np.eye(3), np.zeros(3))


class _Builder:
    def __init__(self, mechanism: Mechanism, discs: bool) -> None:
        self.mechanism = mechanism
        self.discs = discs
        self.rule = mechanism.rule
        self.links: list[TreeLink] = []
        self.places: list[int] = []
        self.frames: dict[str, tuple[int, Seat]] = {}
        self.start = 0

    def add(self, member: Member) -> None:
        """Add a link with its hub and payloads."""
        body, late = member.body.without_discs() if self.discs else member.body, list[Part]()
        for part in member.parts:
            merged = add_part(body, part.frame, part.mass, part.com, part.inertia)
            if merged is None:
                late.append(part)
            else:
                body = merged
        self._add_joint(member, body)
        where = len(self.links) - 1
        self.places.append(where)
        if self.discs:
            self._add_discs(member, where)
        for part in late:
            part_body = ModalBody.rigid(part.mass, part.com, part.inertia)
            seat = self.frames[f"{member.name}.{part.frame}"][1]
            name = f"{member.name}.{part.name}"
            self.links.append(rigid_link(name, where, seat, part_body, self.rule, self.start))

    def _add_discs(self, member: Member, where: int) -> None:
        """The sections of a beam that turn exactly, each without mass and with the inertia of its piece."""
        axes = self.links[where].body.section_axes
        own = replace(member.body, section_axes=axes)
        for k, (section, moments) in enumerate(disc_sections(own, self.rule)):
            seat = Seat(section, [0.0] * 3, clean(axes), 0.0)
            disc = ModalBody.rigid(0.0, np.zeros(3), np.diag(moments))
            name = f"{member.name}.section{k + 1}"
            self.links.append(rigid_link(name, where, seat, disc, self.rule, self.start))

    def _add_joint(self, member: Member, body: ModalBody) -> None:
        """The link on its joint, in the dynamics frame D.

        Where the joint has an axis, D has its origin on it where the joint turns, and one of its own axes along it;
        else it is the moved joint frame.
        """
        joint = member.joint
        R_c, p_c, kind = joint.R_JB, joint.p_JB, joint.kind
        origin, R_BD, bound = np.zeros(3), R_c.T, kind()
        if kind.has_axis() or not kind.coordinates:
            k, sign, R_BD = nearest_axis(joint.axis_B) if kind.has_axis() else (2, 1.0, np.eye(3))
            origin, bound = joint.axis * (joint.axis @ p_c) if kind.turns() else p_c, kind(k, sign)
        R_DB = R_BD.T
        p_DB = R_DB @ R_c.T @ (p_c - origin)
        parent, seat = self._seat(member, joint.p_PJ + joint.R_PJ @ origin, joint.R_PJ @ R_c @ R_BD)
        self._append(member, parent, bound, seat, reframe(body, R_DB, p_DB), R_DB, p_DB)

    def _seat(self, member: Member, position: Array, R: Array) -> tuple[int, Seat]:
        """The seat of a member's joint on its parent: the parent's frame, then (position, R) fixed to it."""
        if member.parent == BASE:
            return BASE, fixed_seat(position, R, 0, self.rule)
        parent = self.mechanism.members[member.parent]
        return self.places[member.parent], _extend(self.frames[f"{parent.name}.{member.frame}"][1], position, R)

    def _append(
        self, member: Member, parent: int, joint: JointKind, seat: Seat, body: ModalBody, R_DB: Array, p_DB: Array
    ) -> None:
        name, held = member.name, member.joint
        kind = LinkKind(joint, body.size, parent < 0)
        link = TreeLink(
            name, held.name, parent, kind, seat, held.drive, held.parameters, body, self.rule, member.coordinates,
            self.start, R_DB, p_DB,
        )  # fmt: skip
        self.frames |= {f"{name}.{frame}": (len(self.links), seat_at(body, frame, self.rule)) for frame in body.frames}
        self.links.append(link)
        self.start += kind.coordinates


def _extend(seat: Seat, position: Array, R: Array) -> Seat:
    """A frame fixed to a seat's frame; the lever turns with the section unless the section cannot turn."""
    R0: Array = np.array(seat.R0)
    lever, section = R0 @ position, seat.section
    if not section.turns:
        section = section._replace(position=clean(np.array(section.position) + lever))
        lever = np.zeros(3)
    return Seat(section, clean(np.array(seat.offset) + lever), clean(R0 @ R), 0.0)
