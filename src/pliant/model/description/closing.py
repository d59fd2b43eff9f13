"""Loops and ties: the frames that loops are closed at, and joints that follow other joints.

An anchor beside an existing frame or on the base becomes a frame of its link, or a fixed massless link on the base.
``align: true`` turns the second frame of a loop so that both have the same axes in the reference pose of the unbent
robot.

A joint may follow one that follows a third. Each tie is written by the coordinate at the end of that chain,
``q = ratio q_leader + offset``, so that all tied coordinates go at once: with the free ones u,
``q = T u + q_0``, ``v = T du/dt``, and ``T^T M T`` is the inertia that the free ones feel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.errors import ModelError
from pliant.model.description.joints import Anchor, Joint, Loop, Mimic
from pliant.model.description.links import Link
from pliant.model.description.placement import Frame, Placement, Rotation
from pliant.model.element import Array

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot

Pose = tuple[Array, Array]
BASE = "base"
# rotations that differ less are the same
SAME_AXES = 1e-12


def place_anchors(robot: Robot) -> tuple[tuple[Link, ...], tuple[Loop, ...]]:
    """Links and loops with every anchor made a frame and every loop that asks for it aligned."""
    links, loops = {link.name: link for link in robot.links}, []
    for loop in robot.loops:
        names = []
        for k, given in enumerate(loop.frames):
            anchor = given if isinstance(given, Anchor) else Anchor(frame=given)
            turn = _alignment(robot, loop) if k == 1 and loop.align else np.eye(3)
            moved = any(anchor.position) or bool(anchor.rotation) or np.abs(turn - np.eye(3)).max() > SAME_AXES
            label = f"{loop.name}_{('first', 'second')[k]}"
            names.append(_placed(robot, links, anchor, turn, label) if moved else anchor.frame)
        loops.append(loop.model_copy(update={"frames": tuple(names), "align": False}))
    return tuple(links.values()), tuple(loops)


def _placed(robot: Robot, links: dict[str, Link], anchor: Anchor, turn: Array, label: str) -> str:
    """A new frame beside an existing one; its name."""
    p, R = anchor.vector(), anchor.matrix() @ turn
    name, frame = robot.resolve_frame(anchor.frame)
    if name == BASE:
        links[label] = Link(
            name=label, joint=Joint(name=f"{label}_mount", type="fixed", parent=BASE, placement=_placement(p, R))
        )
        return f"{label}.root"
    link = links[name]
    if link.modal is not None:
        raise ModelError(f"link '{name}' has modal data; give the frame with its shapes under modal.frames")
    near = link.frame(frame)
    place = _placement(near.vector() + near.matrix() @ p, near.matrix() @ R)
    new = Frame(
        name=label, position=place.position, rotation=place.rotation, **({} if near.x is None else {"x": near.x})
    )
    links[name] = link.model_copy(update={"frames": (*link.frames, new)})
    return f"{name}.{label}"


def _placement(p: Array, R: Array) -> Placement:
    rotation = () if np.abs(R - np.eye(3)).max() <= SAME_AXES else (Rotation(matrix=R.tolist()),)
    return Placement(position=(float(p[0]), float(p[1]), float(p[2])), rotation=rotation)


def _alignment(robot: Robot, loop: Loop) -> Array:
    """The turn of the second frame that gives it the axes of the first in the reference pose."""
    first, second = (frame_in_base(robot, given)[1] for given in loop.frames)
    return np.asarray(second.T @ first)


def frame_in_base(robot: Robot, reference: str | Anchor, q: Mapping[str, float] | None = None) -> Pose:
    """Position and rotation of a frame of the unbent robot, by default in its reference pose."""
    if isinstance(reference, Anchor):
        return _then(frame_in_base(robot, reference.frame, q), (reference.vector(), reference.matrix()))
    values = robot.reference_coordinates() if q is None else q
    name, frame = robot.resolve_frame(reference)
    if name == BASE:
        return np.zeros(3), np.eye(3)
    link = robot.link(name)
    near = link.frame(frame)
    parent, at = robot.parent_of(name)
    pose = frame_in_base(robot, BASE if parent == BASE else f"{parent}.{at}", values)
    for step in (
        (link.joint.placement.vector(), link.joint.placement.matrix()),
        link.joint.moved(values),
        (link.joint.child_placement.vector(), link.joint.child_placement.matrix()),
        # a place along a beam has the axes of its section, turned where the unloaded axis is curved
        link.section_pose(near.x or 0.0) if link.has_axis else (np.zeros(3), np.eye(3)),
        (near.vector(), near.matrix()),
    ):
        pose = _then(pose, step)
    return pose


def _then(outer: Pose, inner: Pose) -> Pose:
    return outer[0] + outer[1] @ inner[0], outer[1] @ inner[1]


# ---- ties


class Tie(NamedTuple):
    """``q = ratio q_leader + offset`` (SI units of the two joints); the leader is a free coordinate."""

    leader: str
    ratio: float
    offset: float


def resolve_ties(mimics: Mapping[str, Mimic]) -> dict[str, Tie]:
    """The tie of every joint that follows another, by the leader at the end of its chain."""
    ties: dict[str, Tie] = {}
    for name, mimic in mimics.items():
        leader, ratio, offset = mimic.joint, mimic.ratio, mimic.offset
        # chains are short and known to end
        while leader in mimics:
            inner = mimics[leader]
            offset += ratio * inner.offset
            ratio *= inner.ratio
            leader = inner.joint
        ties[name] = Tie(leader, ratio, offset)
    return ties


def tie_matrix(names: Sequence[str], ties: Mapping[str, Tie]) -> tuple[Array, Array]:
    """T (n, free) and q_0 (n,) with ``q = T u + q_0`` for coordinates in the order of `names`."""
    free = [name for name in names if name not in ties]
    place = {name: k for k, name in enumerate(free)}
    T, q_0 = np.zeros((len(names), len(free))), np.zeros(len(names))
    for i, name in enumerate(names):
        tie = ties.get(name)
        T[i, place[tie.leader if tie else name]] = tie.ratio if tie else 1.0
        q_0[i] = tie.offset if tie else 0.0
    return T, q_0
