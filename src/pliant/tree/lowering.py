"""From the neutral mechanism to the tree that the recursions walk.

Every link gets a dynamics frame D on its joint axis, one of whose axes is that axis; D is the link's own frame B
wherever the description allows it. Parts that are welded to a body without moving relative to it are merged into
its constants; parts on a moving section become links with a fixed joint and no coordinates, and so do sections whose
inertia turns exactly with them: one short kernel serves all of a beam.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.bodies.constants import disc_sections, fixed_section, offset_of, section_of
from pliant.bodies.joint_drive import JointDrive
from pliant.bodies.modal_body import Array, ModalBody, add_part, reframe
from pliant.joints.fixed import Fixed
from pliant.joints.kind import JointKind
from pliant.mechanism import BASE, Mechanism, Member, Part, once
from pliant.spatial.axes import nearest_axis
from pliant.spatial.rounding import clean
from pliant.tree.joint_frames import align_frames
from pliant.tree.link import LinkKind, Seat
from pliant.tree.tree import Tree, TreeLink

NOTHING = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
"""The body of a frame."""


@once
def lower(mechanism: Mechanism, *, discs: bool = True) -> Tree:
    """The tree of a mechanism; its closures are not part of it.

    discs  sections that turn exactly are links of their own; else they stay with their bodies
    """
    builder = _Builder(mechanism, discs)
    for member in mechanism.members:
        builder.add(member)
    links, frames = align_frames(builder.links, builder.frames)
    return Tree(tuple(links), mechanism.gravity, frames).with_drag(mechanism.drag)


@once
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
