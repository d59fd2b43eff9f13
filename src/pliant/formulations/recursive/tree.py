"""From a robot's description to the tree of links that the recursions walk: order, coordinates, constants.

Every link gets a dynamics frame D on its joint axis, one of whose axes is that axis; D is the link's own frame B
wherever the description allows it. Parts that are welded to a body without moving relative to it are merged into
its constants; parts on a moving section become links with a fixed joint and no coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pliant.bodies.modal_body import Array, Attachment, ModalBody
from pliant.bodies.reframe import add_point, add_rigid, reframe
from pliant.formulations.recursive.joint_frames import ROUNDING, align, clean
from pliant.formulations.recursive.link import BodyConstants, JointConstants, JointType, LinkConstants, LinkKind, Seat

if TYPE_CHECKING:
    from pliant.model import Joint, Link, RigidPart, Robot

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TreeLink:
    """A link in the tree: ``start`` is its first coordinate, ``parent`` an index or -1 for the base."""

    name: str
    joint: str
    parent: int
    kind: LinkKind
    constants: LinkConstants
    coordinates: tuple[str, ...]
    start: int
    body: ModalBody
    R_DB: Array
    p_DB: Array

    @property
    def own(self) -> slice:
        """Where the link's coordinates are."""
        return slice(self.start, self.start + self.kind.coordinates)


@dataclass(frozen=True, eq=False)
class Tree:
    """Links in tree order (parents first), gravity, named frames, the input matrix B and the frame of the tip."""

    name: str
    links: tuple[TreeLink, ...]
    gravity: Array
    frames: dict[str, tuple[int, Seat]]
    actuated: tuple[str, ...]
    B: Array
    tip: str

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        return tuple(name for link in self.links for name in link.coordinates)

    @cached_property
    def size(self) -> int:
        return sum(link.kind.coordinates for link in self.links)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each link, the links that hang on it."""
        out: list[list[int]] = [[] for _ in self.links]
        for i, link in enumerate(self.links):
            if link.parent >= 0:
                out[link.parent].append(i)
        return tuple(tuple(c) for c in out)

    @property
    def joints(self) -> Array:
        """Indices of the joint coordinates."""
        return np.array([link.start for link in self.links if link.kind.joint != "fixed"], dtype=int)

    def frame(self, name: str) -> tuple[int, Seat]:
        """Link index and seat of ``LINK.FRAME`` (``LINK`` alone: its tip; ``tip``: that of the robot)."""
        key = name
        if name not in self.frames and f"{name}.tip" in self.frames:
            key = f"{name}.tip"
        elif name == "tip":
            key = self.tip
        if key not in self.frames:
            from difflib import get_close_matches

            close = get_close_matches(name, self.frames, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else f"; it has {', '.join(self.frames)}"
            raise KeyError(f"robot '{self.name}' has no frame '{name}'{hint}")
        return self.frames[key]


def outward(tree: Tree, step: Callable[[int, TreeLink, T | None], T]) -> list[T]:
    """Walk from the base to the tips: ``step(i, link, result of the parent or None)``."""
    out: list[T] = []
    for i, link in enumerate(tree.links):
        out.append(step(i, link, out[link.parent] if link.parent >= 0 else None))
    return out


def inward(tree: Tree, step: Callable[[int, TreeLink, list[tuple[int, T]]], T]) -> list[T]:
    """Walk from the tips to the base: ``step(i, link, [(child, result of the child), ...])``."""
    out: dict[int, T] = {}
    children = tree.children
    for i in reversed(range(len(tree.links))):
        out[i] = step(i, tree.links[i], [(c, out[c]) for c in children[i]])
    return [out[i] for i in range(len(tree.links))]


def build_tree(robot: Robot) -> Tree:
    """Discretise every link of a robot and assemble the tree (closures are left to the caller)."""
    from pliant.bodies.build import build_body
    from pliant.model.errors import ModelError

    builder = _Builder(robot)
    for link in robot.links:
        if link.beam is not None and link.beam.foreshortening:
            raise ModelError(f"link '{link.name}': foreshortening is not part of the dynamics yet; leave it out")
        builder.add(link, build_body(link, robot))
    return builder.finish()


class _Builder:
    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.links: list[TreeLink] = []
        self.index: dict[str, int] = {}
        self.frames: dict[str, tuple[int, Seat]] = {}
        self.start = 0
        self.actuated: list[tuple[str, int, Array]] = []

    def add(self, link: Link, body: ModalBody) -> None:
        """Add a link with its hub and payloads."""
        late: list[tuple[str, str, RigidPart]] = []
        parts = [("hub", "root", link.hub)] if link.hub is not None else []
        parts += [(f"payload{i + 1}", p.frame or "tip", p) for i, p in enumerate(link.payloads)]
        for label, frame, part in parts:
            at = body.frames[frame]
            if not at.Phi_d.any() and not at.Phi_r.any():
                body = add_rigid(
                    body,
                    part.mass,
                    at.position + at.rotation @ np.array(part.com),
                    at.rotation @ part.inertia_matrix() @ at.rotation.T,
                )
            elif not any(part.com) and not part.inertia_matrix().any():
                body = add_point(body, part.mass, at)
            else:
                late.append((label, frame, part))
        joint = link.joint
        if joint.type == "free":
            self._add_free(link, joint, body)
        else:
            self._add_joint(link.name, joint, body)
        where = self.index[link.name]
        for label, frame, part in late:
            part_body = ModalBody.rigid(part.mass, np.array(part.com), part.inertia_matrix())
            seat = self.frames[f"{link.name}.{frame}"][1]
            self._append(f"{link.name}.{label}", "", where, "fixed", 0, 1.0, seat, part_body, np.eye(3), np.zeros(3))

    def _add_free(self, link: Link, joint: Joint, body: ModalBody) -> None:
        """Six coordinates: three slides along the joint frame's axes, three turns about the moved x, y, z."""
        position, R = joint.placement.vector(), joint.placement.matrix()
        parent, seat = self._seat(link.name, position, R)
        massless = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
        for k in range(6):
            last = k == 5
            name = link.name if last else f"{link.name}.{'xyz'[k % 3]}{'' if k < 3 else '-turn'}"
            coordinate = f"{joint.name}.{'' if k < 3 else 'r'}{'xyz'[k % 3]}"
            kind: JointType = "prismatic" if k < 3 else "revolute"
            R_DB, p_DB = (np.eye(3), np.zeros(3))
            own = massless
            if last:
                R_DB, p_DB = joint.child_placement.matrix(), joint.child_placement.vector()
                own = reframe(body, R_DB, p_DB)
            self._append(name, coordinate, parent, kind, k % 3, 1.0, seat, own, R_DB, p_DB)
            parent, seat = (
                len(self.links) - 1,
                _seat_of(Attachment(np.zeros(3), np.eye(3), *_no_shapes(own.size))),
            )

    def _add_joint(self, name: str, joint: Joint, body: ModalBody) -> None:
        position, R_joint = joint.placement.vector(), joint.placement.matrix()
        p_c, R_c = joint.child_placement.vector(), joint.child_placement.matrix()
        kind: JointType = "fixed" if joint.type == "free" else joint.type
        axis = joint.axis_vector() if kind != "fixed" else np.array([0.0, 0.0, 1.0])
        # the dynamics frame D: origin on the joint axis, one axis along it
        origin = axis * (axis @ p_c) if kind == "revolute" else p_c
        k, sign, R_BD = _align(R_c.T @ axis) if kind != "fixed" else (2, 1.0, np.eye(3))
        R_DB = R_BD.T
        p_DB = R_DB @ R_c.T @ (p_c - origin)
        parent, seat = self._seat(name, position + R_joint @ origin, R_joint @ R_c @ R_BD)
        own = reframe(body, R_DB, p_DB)
        self._append(name, joint.name or "", parent, kind, k, sign, seat, own, R_DB, p_DB, joint)

    def _seat(self, name: str, position: Array, R: Array) -> tuple[int, Seat]:
        """The seat of a link's joint on its parent: the parent's frame, then (position, R) fixed to it."""
        parent, frame = self.robot.parent_of(name)
        if parent == "base":
            return -1, _seat_of(Attachment(np.array(position), np.array(R), *_no_shapes(0)))
        index, seat = self.index[parent], self.frames[f"{parent}.{frame}"][1]
        return index, _extend(seat, position, R)

    def _append(
        self,
        name: str,
        joint_name: str,
        parent: int,
        joint: JointType,
        axis: int,
        sign: float,
        seat: Seat,
        body: ModalBody,
        R_DB: Array,
        p_DB: Array,
        data: Joint | None = None,
    ) -> None:
        rotation = self.robot.attachment_rotation
        parent_size = self.links[parent].kind.size if parent >= 0 else 0
        kind = LinkKind(joint, axis, sign, rotation, body.size, parent_size, parent < 0)
        root = body.frames.get("root")
        row = root.Phi_r[axis] if root is not None and joint == "revolute" else np.zeros(body.size)
        constants = LinkConstants(seat, _joint_constants(data, sign), body_constants(body), row.tolist())
        names = ((joint_name,) if joint != "fixed" else ()) + tuple(f"{name}.{n}" for n in body.names)
        link = TreeLink(name, joint_name, parent, kind, constants, names, self.start, body, R_DB, p_DB)
        if data is not None and joint != "fixed" and data.actuated:
            self.actuated.append((joint_name, self.start, np.array([1.0, *(sign * row)])))
        index = len(self.links)
        self.links.append(link)
        self.index[name] = index
        self.start += kind.coordinates
        for frame, at in body.frames.items():
            self.frames[f"{name}.{frame}"] = (index, _seat_of(at, R_DB if rotation == "xyz" else None))

    def finish(self) -> Tree:
        B = np.zeros((self.start, len(self.actuated)))
        for j, (_, start, entries) in enumerate(self.actuated):
            B[start : start + len(entries), j] = entries
        names = tuple(name for name, _, _ in self.actuated)
        gravity = np.array(self.robot.gravity, dtype=float)
        links, frames = align(self.links, self.frames)
        tip = ".".join(self.robot.resolve_frame(self.robot.tip or self.robot.links[-1].name))
        return Tree(self.robot.name, tuple(links), gravity, frames, names, B, tip)


def _no_shapes(n: int) -> tuple[Array, Array]:
    return np.zeros((3, n)), np.zeros((3, n))


def _align(axis: Array) -> tuple[int, float, Array]:
    """(k, sign, R): axis = sign R e_k, with R the identity whenever the axis is a coordinate axis."""
    k = int(np.argmax(np.abs(axis)))
    sign = 1.0 if axis[k] > 0 else -1.0
    e = np.eye(3)[k] * sign
    if np.abs(axis - e).max() < ROUNDING:
        return k, sign, np.eye(3)
    # the smallest rotation that takes the nearest coordinate axis to the joint axis
    w = np.cross(e, axis)
    w_hat = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return k, sign, np.eye(3) + w_hat + w_hat @ w_hat / (1.0 + e @ axis)


def _seat_of(at: Attachment, R_DB: Array | None = None) -> Seat:
    """A frame of a body as a seat; ``R_DB`` keeps the section angles in the link's own axes (order of xyz)."""
    axes, Phi_r = (np.eye(3), at.Phi_r) if R_DB is None else (R_DB, R_DB.T @ at.Phi_r)
    return Seat(clean(at.position), [0.0] * 3, clean(at.rotation), at.Phi_d.tolist(), Phi_r.tolist(), clean(axes))


def _extend(seat: Seat, position: Array, R: Array) -> Seat:
    """A frame fixed to a seat's frame; the lever turns with the seat unless the seat cannot turn."""
    R0: Array = np.array(seat.R0)
    lever = R0 @ position
    turning = any(x for row in seat.Phi_r for x in row)
    at = np.array(seat.position) + (0.0 if turning else lever)
    offset = np.array(seat.offset) + (lever if turning else 0.0)
    return seat._replace(position=clean(at), offset=clean(offset), R0=clean(R0 @ R))


def _joint_constants(joint: Joint | None, sign: float) -> JointConstants:
    if joint is None:
        return JointConstants(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    motor, spring, friction = joint.motor, joint.spring, joint.friction
    return JointConstants(
        offset=0.0,
        inertia=motor.rotor_inertia * motor.gear_ratio**2 if motor else 0.0,
        stiffness=spring.stiffness if spring else 0.0,
        rest=sign * spring.rest if spring else 0.0,
        damping=(spring.damping if spring else 0.0) + (friction.viscous if friction else 0.0),
        coulomb=friction.coulomb if friction else 0.0,
        smoothing=friction.smoothing if friction else 0.0,
    )


def body_constants(body: ModalBody) -> BodyConstants:
    """The arrays of a body as nested lists."""
    fields: Sequence[str] = BodyConstants._fields
    values = {name: _listed(getattr(body, name)) for name in fields}
    values["section_axes"] = clean(body.section_axes)
    return BodyConstants(**values)


def _listed(value: Any) -> Any:
    """Nested lists; what only rounding left of a turned array is zero."""
    if np.ndim(value) == 0:
        return float(value)
    a = np.asarray(value, dtype=float)
    return np.where(np.abs(a) < ROUNDING * np.abs(a).max(initial=0.0), 0.0, a).tolist()
