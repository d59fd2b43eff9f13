"""The neutral assembly of a robot, in the frames of its description: what every method lowers in its own way.

Members are in tree order, parents first. Their coordinates are the joint's, then the body's elastic ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.words import CoordinateWord, elastic_words
from pliant.joints import CLOSURES, KINDS
from pliant.joints.kind import JointDrive, JointKind
from pliant.joints.rows import ClosureRow
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.model import Joint, Link, Loop, RigidPart, Robot

BASE = -1
"""The parent of a member on the base."""


@dataclass(frozen=True, slots=True)
class Part:
    """A rigid part on a frame of a body: a hub or a payload.

    mass     m   kg      ()
    com      c   m       (3,)    in the axes of the frame
    inertia  I   kg m^2  (3, 3)  about the centre of mass, axes of the frame
    """

    name: str
    frame: str
    mass: float
    com: Array
    inertia: Array


@dataclass(frozen=True, slots=True)
class MemberJoint:
    """How a member is held: frame J sits on the parent's frame P, moves, and carries the link frame B.

    R_PJ, p_PJ  the joint's place on the parent's frame
    axis        unit vector (3,) in J: the direction of the joint coordinate
    R_JB, p_JB  the link frame in the moved joint frame
    drive       what acts along the coordinate
    parameters  numbers of its motion, such as the pitch of a screw
    """

    name: str
    kind: type[JointKind]
    R_PJ: Array
    p_PJ: Array
    axis: Array
    R_JB: Array
    p_JB: Array
    drive: JointDrive
    is_actuated: bool
    parameters: tuple[float, ...] = ()

    @property
    def axis_B(self) -> Array:
        """The axis in the link frame."""
        return self.R_JB.T @ self.axis


@dataclass(frozen=True, slots=True)
class Member:
    """A link with what it carries.

    parent       index of the member that carries it, BASE for none, and ``frame``, the name of its frame there
    body         the link alone, in its own frame B
    parts        hub and payloads
    start        its first coordinate
    coordinates  their names
    words        their units, and what they are
    link         its description, where the numbers stand as they were written
    """

    name: str
    parent: int
    frame: str
    joint: MemberJoint
    body: ModalBody
    parts: tuple[Part, ...]
    start: int
    coordinates: tuple[str, ...]
    words: tuple[CoordinateWord, ...]
    link: Link

    @property
    def own(self) -> slice:
        """Where its coordinates are."""
        return slice(self.start, self.start + len(self.coordinates))

    @property
    def elastic(self) -> slice:
        """Where its elastic coordinates are."""
        stop = self.start + len(self.coordinates)
        return slice(stop - self.body.size, stop)


@dataclass(frozen=True, slots=True)
class LoopEnds:
    """A loop that is closed between two frames, each a (member or BASE, name of its frame).

    axis  of its kind, in both frames; z where it has none
    rows  what the kind holds, about z of frames that are turned so that it is the axis
    """

    name: str
    kind: str
    frames: tuple[tuple[int, str], tuple[int, str]]
    axis: Array
    planar: str | None
    rows: tuple[ClosureRow, ...]

    @property
    def has_axis(self) -> bool:
        """Whether it turns or slides about an axis."""
        return "axis" in CLOSURES[self.kind].keys


@dataclass(frozen=True, slots=True)
class JointTie:
    """A joint that follows another: q[follower] = ratio q[leader] + offset, both indices of coordinates."""

    name: str
    follower: int
    leader: int
    ratio: float
    offset: float


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Members, loops, joints that follow others, and what belongs to the whole.

    rule      how attachment frames turn with their section: exponential, cayley or xyz
    gravity   m/s^2 (3,)
    actuated  names of the joints with drives, in the order of B's columns
    B         (n, inputs): a motor also drives the root's tangent of pinned shapes
    drag      (n, n): structural damping that couples links; None: every link has its own alone
    tip       name of the robot's tip frame, LINK.FRAME
    pose      coordinates of the reference pose (n,)
    aliases   further names of frames
    bends     whether links may bend to close the loops
    """

    name: str
    rule: str
    members: tuple[Member, ...]
    loops: tuple[LoopEnds, ...]
    ties: tuple[JointTie, ...]
    gravity: Array
    actuated: tuple[str, ...]
    B: Array
    tip: str
    pose: Array
    aliases: Mapping[str, str]
    drag: Array | None = None
    bends: bool = False

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of all coordinates."""
        return tuple(name for member in self.members for name in member.coordinates)

    @property
    def is_closed(self) -> bool:
        """Whether coordinates depend on one another: by loops, or by joints that follow others."""
        return bool(self.loops or self.ties)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Units of all coordinates."""
        return tuple(word.unit for word in self.words.values())

    @cached_property
    def words(self) -> dict[str, CoordinateWord]:
        """Unit and meaning of every coordinate, by its name: the one table of them."""
        return {name: word for m in self.members for name, word in zip(m.coordinates, m.words, strict=True)}

    @cached_property
    def joints(self) -> Array:
        """Indices of the joint coordinates."""
        of_members = (range(m.start, m.elastic.start) for m in self.members)
        return np.array([k for each in of_members for k in each], dtype=int)

    def member(self, link: str) -> Member:
        """The member that carries the frames of a link."""
        return self.members[self.frame(f"{link}.root")[0]]

    @cached_property
    def frames(self) -> dict[str, tuple[int, str]]:
        """LINK.FRAME -> member and frame."""
        return {f"{m.name}.{frame}": (i, frame) for i, m in enumerate(self.members) for frame in m.body.frames}

    def frame(self, name: str) -> tuple[int, str]:
        """Member and frame of ``LINK.FRAME`` (``LINK`` alone: its tip; ``tip``: that of the robot)."""
        key = name = self.aliases.get(name, name)
        if name not in self.frames and f"{name}.tip" in self.frames:
            key = f"{name}.tip"
        elif name == "tip":
            key = self.tip
        if key not in self.frames:
            close = get_close_matches(name, self.frames, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else f"; it has {', '.join(self.frames)}"
            raise KeyError(f"robot '{self.name}' has no frame '{name}'{hint}")
        return self.frames[key]

    def motor_row(self, member: Member) -> Array:
        """The motor angle of a member's joint per unit of each coordinate (n,)."""
        row = np.zeros(self.size)
        row[member.own] = [1.0, *member.joint.drive.row]
        return row

    @cached_property
    def attitudes(self) -> tuple[int, ...]:
        """First coordinate of each rotation vector that a shorter one may replace: no spring counts its turns."""
        vectors = ((m, m.joint.kind.rotation_vector) for m in self.members)
        return tuple(m.start + k for m, k in vectors if k is not None and not m.joint.drive.stiffness)

    @cached_property
    def ball_members(self) -> tuple[Member, ...]:
        """Members whose joint turns any way with a spring or a damper."""
        held = (m for m in self.members if not m.joint.kind.is_driven())
        return tuple(m for m in held if m.joint.drive.stiffness or m.joint.drive.damping)

    @cached_property
    def stiffness(self) -> Array:
        """K (n, n): strain of the links and springs of the joints."""
        return self._joint_and_elastic("K_ee", "stiffness")

    @cached_property
    def damping(self) -> Array:
        """D (n, n): structural damping, dampers and viscous friction; of spherical joints where they are not turned."""
        own = self._joint_and_elastic("D_ee", "damping")
        return own if self.drag is None else own + self.drag

    def _joint_and_elastic(self, body: str, joint: Literal["stiffness", "damping"]) -> Array:
        out = np.zeros((self.size, self.size))
        for member in self.members:
            out[member.elastic, member.elastic] = getattr(member.body, body)
        for member in self.driven_members:
            row = self.motor_row(member)
            out += getattr(member.joint.drive, joint) * np.outer(row, row)
        for member in self.ball_members:
            turns = range(member.start, member.elastic.start)
            out[turns, turns] = getattr(member.joint.drive, joint)
        return out

    @cached_property
    def driven_members(self) -> tuple[Member, ...]:
        """Members whose joint has one coordinate, on which motors, springs and friction act."""
        return tuple(m for m in self.members if m.joint.kind.is_driven())


@once_per_element
def assemble(robot: Robot) -> Mechanism:
    """Discretise every link of a robot and put the links together."""
    from pliant.bodies.build import build_body

    members: list[Member] = []
    index: dict[str, int] = {"base": BASE}
    start = 0
    for link in robot.links:
        body = build_body(link, robot)
        parent, frame = robot.parent_of(link.name)
        joint = _joint(link.joint, body)
        names = (*link.joint.coordinates, *(f"{link.name}.{name}" for name in body.names))
        words = (*(CoordinateWord(c.unit, c.word) for c in joint.kind.coordinates), *elastic_words(link, body.names))
        member = Member(link.name, index[parent], frame or "", joint, body, _parts(link), start, names, words, link)
        index[link.name] = len(members)
        members.append(member)
        start += len(names)
    driven = [m for m in members if m.joint.is_actuated and m.joint.kind.is_driven()]
    B = np.zeros((start, len(driven)))
    for j, m in enumerate(driven):
        B[m.own, j] = [1.0, *m.joint.drive.row]
    coordinates = [name for m in members for name in m.coordinates]
    pose = np.zeros(start)
    for name, value in robot.assembly_start().items():
        pose[coordinates.index(name)] = value
    gravity = np.array(robot.gravity, dtype=float)
    # whoever has the same robot has the same arrays
    for array in (B, pose, gravity):
        array.flags.writeable = False
    return Mechanism(
        name=robot.name,
        rule=robot.attachment_rotation,
        members=tuple(members),
        ties=tuple(
            JointTie(name, coordinates.index(name), coordinates.index(tie.leader), tie.ratio, tie.offset)
            for name, tie in robot.ties.items()
        ),
        loops=tuple(_loop(loop, robot, index) for loop in robot.loops),
        gravity=gravity,
        actuated=tuple(m.joint.name for m in driven),
        B=B,
        tip=".".join(robot.resolve_frame(robot.tip or robot.links[-1].name)),
        pose=pose,
        aliases=dict(robot.aliases),
        bends=robot.assembly.bend,
    )


def _joint(joint: Joint, body: ModalBody) -> MemberJoint:
    # a robot is read with its universal joints taken apart
    kind, places = KINDS[joint.type], _places(joint)
    return MemberJoint(
        name=joint.name or "",
        kind=kind,
        **places,
        drive=_drive(joint, body, places["R_JB"].T @ places["axis"]),
        is_actuated=bool(joint.actuated),
        parameters=joint.parameters,
    )


@once_per_element
def _places(joint: Joint) -> dict[str, Array]:
    """Where the frames of a joint are."""
    places = {
        "R_PJ": joint.placement.matrix(),
        "p_PJ": joint.placement.vector(),
        "axis": joint.axis_vector() if KINDS[joint.type].has_axis() else np.array([0.0, 0.0, 1.0]),
        "R_JB": joint.child_placement.matrix(),
        "p_JB": joint.child_placement.vector(),
    }
    # whoever has the same joint has the same arrays
    for array in places.values():
        array.flags.writeable = False
    return places


def _drive(joint: Joint, body: ModalBody, axis_B: Array) -> JointDrive:
    kind = KINDS[joint.type]
    if not kind.is_driven() and "spring" not in kind.keys:
        return JointDrive.none(body.size)
    motor, spring, friction = joint.motor, joint.spring, joint.friction
    return JointDrive(
        inertia=motor.reflected_inertia if motor else 0.0,
        stiffness=spring.stiffness if spring else 0.0,
        rest=spring.rest if spring else 0.0,
        damping=(spring.damping if spring else 0.0) + (friction.viscous if friction else 0.0),
        coulomb=friction.coulomb if friction else 0.0,
        smoothing=friction.smoothing if friction else 0.0,
        row=body.turn_of("root", axis_B).tolist() if kind.turns() else [0.0] * body.size,
    )


def _parts(link: Link) -> tuple[Part, ...]:
    hub = (_part(link.hub, "hub", "root"),) if link.hub is not None else ()
    return (*hub, *(_part(p, f"payload{i + 1}", p.frame or "tip") for i, p in enumerate(link.payloads)))


@once_per_element
def _part(given: RigidPart, name: str, frame: str) -> Part:
    return Part(name, frame, given.mass, np.array(given.com, dtype=float), given.inertia_matrix())


def _loop(loop: Loop, robot: Robot, index: dict[str, int]) -> LoopEnds:
    ends = [(index[link], frame) for link, frame in (robot.resolve_frame(each) for each in loop.frames)]
    axis = loop.axis_vector() if loop.has_axis else np.array([0.0, 0.0, 1.0])
    return LoopEnds(loop.name, loop.type, (ends[0], ends[1]), axis, loop.planar, loop.rows())
