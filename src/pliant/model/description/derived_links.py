"""What follows from a description before it is used: pieces of beams, crosses, frames of loops, ties of joints.

A link whose beam has ``pieces: N`` becomes N links, welded end to end, and one with ``pieces: {at: [x]}`` those between
the cuts. The pieces of `upper` are called upper_1 ...
upper_N; the first has the joint and the hub. Frames keep their meaning: ``upper.tip`` is the tip of the last piece,
``upper.root`` the root of the first, and any other frame sits on the piece at its place. These names are aliases of
the robot.

A link on a universal joint becomes two, a massless cross on the first axis and the link itself on the second: the
joint `wrist` of the link `hand` becomes `wrist_1` of the link `hand_cross` and `wrist_2` of `hand`. What acts along a
universal joint acts along each of its axes.

An anchor beside an existing frame or on the base becomes a frame of its link, or a fixed massless link on the base.
``align: true`` turns the second frame of a loop so that both have the same axes in the reference pose of the unbent
robot.

A joint may follow one that follows a third. Each tie is written by the coordinate at the end of that chain,
``q = ratio q_leader + offset``, so that all tied coordinates go at once: with the free ones u,
``q = T u + q_0``, ``v = T du/dt``, and ``T^T M T`` is the inertia that the free ones feel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.errors import ModelError
from pliant.joints.universal import Universal
from pliant.model.description.beam_constants import Properties
from pliant.model.description.beams import SAME_LENGTH, Beam, Segment
from pliant.model.description.inertia import RigidPart
from pliant.model.description.joints import Anchor, Joint, Loop, Mimic
from pliant.model.description.links import Link
from pliant.model.description.placement import Frame, Placement, Rotation
from pliant.model.element import Array
from pliant.model.sections.sections import Section

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot


def split_link(link: Link) -> tuple[list[Link], dict[str, str]]:
    """The links of a beam in pieces, from the root, and what its frames are called there."""
    beam = link.beam
    ends = [] if beam is None else beam.piece_ends
    if beam is None or len(ends) == 1:
        return [link], {}
    starts = [0.0, *ends[:-1]]
    names = [f"{link.name}_{k + 1}" for k in range(len(ends))]
    frames: list[list[Frame]] = [[] for _ in names]
    aliases = {link.name: f"{names[-1]}.tip", f"{link.name}.root": f"{names[0]}.root"}
    aliases[f"{link.name}.tip"] = f"{names[-1]}.tip"
    for frame in link.frames:
        x = frame.x or 0.0
        # a frame on a joint of two pieces belongs to the end of the inner one
        k = min(int(np.searchsorted(ends, x * (1 - SAME_LENGTH))), len(ends) - 1)
        local = min(max(x - starts[k], 0.0), ends[k] - starts[k])
        frames[k].append(frame.model_copy(update={"x": local}))
        aliases[f"{link.name}.{frame.name}"] = f"{names[k]}.{frame.name}"
    parts: list[list[RigidPart]] = [[] for _ in names]
    for part in link.payloads:
        name, _, frame_name = aliases[f"{link.name}.{part.frame or 'tip'}"].partition(".")
        parts[names.index(name)].append(part.model_copy(update={"frame": frame_name}))
    out = []
    for k, name in enumerate(names):
        joint = link.joint if k == 0 else Joint(name=f"{name}_weld", type="fixed", parent=f"{names[k - 1]}.tip")
        own: dict[str, Any] = {"name": name, "joint": joint, "beam": _piece(beam, starts[k], ends[k])}
        if k == 0:
            own.update({key: getattr(link, key) for key in ("hub", "visuals") if getattr(link, key)})
        if frames[k]:
            own["frames"] = tuple(frames[k])
        if parts[k]:
            own["payloads"] = tuple(parts[k])
        out.append(Link(**own))
    return out, aliases


def pieces_of(robot: Robot, name: str) -> list[Link]:
    """The links that a beam became, from the root; a link itself where it is one, none where there is no such link."""
    if name in robot.link_names:
        return [robot.link(name)]
    found: list[Link] = []
    while (piece := f"{name}_{len(found) + 1}") in robot.link_names and f"{name}.tip" in robot.aliases:
        found.append(robot.link(piece))
    return found


def place_along(pieces: list[Link], x: float) -> tuple[Link, float]:
    """The piece at a place along a beam, and the place on it; between two pieces it is the end of the inner one."""
    for piece in pieces[:-1]:
        if x <= piece.length * (1 + SAME_LENGTH):
            return piece, min(x, piece.length)
        x -= piece.length
    return pieces[-1], x


def _piece(beam: Beam, start: float, end: float) -> Beam:
    """The part of a beam between two places, with the same discretisation."""
    data = {key: value for key, value in beam.given().items() if key not in ("pieces", "length", "segments", "table")}
    if not beam.segments:
        return Beam(**data, length=end - start)
    data.pop("material", None)
    # the parts have it
    data.pop("added_mass", None)
    segments = []
    for part, low in zip(beam.parts(), beam.breakpoints[:-1], strict=True):
        a, b = max(start - low, 0.0), min(end - low, part.length)
        if b - a > SAME_LENGTH * beam.length:
            segments.append(_cut(part, a, b))
    return Beam(**data, segments=tuple(segments))


def _cut(part: Segment, a: float, b: float) -> Segment:
    """A segment between two of its places; sections of a taper vary linearly."""
    update: dict[str, Any] = {"length": b - a}
    if part.section is not None and part.taper_to is not None:
        update["section"] = between(part.section, part.taper_to, a / part.length)
        update["taper_to"] = between(part.section, part.taper_to, b / part.length)
    if part.properties is not None and part.properties_to is not None:
        update["properties"], update["properties_to"] = (
            _between_constants(part.properties, part.properties_to, x / part.length) for x in (a, b)
        )
    return part.model_copy(update=update)


def _between_constants(start: Properties, end: Properties, s: float) -> Properties:
    """The constants at a fraction of a segment in which they are linear."""
    other = end.given()
    return Properties(**{key: (1 - s) * value + s * other[key] for key, value in start.given().items()})


def between(start: Section, end: Section, s: float) -> Section:
    """The section at a fraction of a taper."""
    mine, other = start.given(), end.given()
    data: dict[str, Any] = {}
    for key, value in mine.items():
        if isinstance(value, bool):
            data[key] = value
        elif value is not None and other.get(key) is not None:
            data[key] = _mixed(value, other[key], s)
    return type(start)(**data)


def _mixed(a: Any, b: Any, s: float) -> Any:
    if isinstance(a, tuple):
        return tuple(_mixed(x, y, s) for x, y in zip(a, b, strict=True))
    return a * (1 - s) + b * s


# ---- crosses


def split_cross(link: Link) -> list[Link]:
    """The cross and the link itself; a link on any other joint as it is."""
    joint = link.joint
    if joint.type != Universal.name:
        return [link]
    first, second = joint.cross_axes
    cross = f"{link.name}_cross"
    acting = {
        "motor": joint.motor,
        "friction": joint.friction,
        "spring": joint.spring,
        "limits": joint.limits,
        "actuated": joint.actuated,
    }
    inner = {"name": joint.coordinates[0], "axis": first, "parent": joint.parent, "placement": joint.placement}
    outer = {
        "name": joint.coordinates[1],
        "axis": second,
        "parent": f"{cross}.root",
        "child_placement": joint.child_placement,
    }
    given = [{k: x for k, x in {**own, **acting}.items() if x is not None} for own in (inner, outer)]
    cross_joint, own_joint = (Joint.model_validate(each) for each in given)
    return [Link(name=cross, joint=cross_joint), link.model_copy(update={"joint": own_joint})]


# ---- closing


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


def beside(robot: Robot, links: dict[str, Link], anchor: Anchor, label: str) -> str:
    """A new frame of a link beside one that it has; its name."""
    return _placed(robot, links, anchor, np.eye(3), label)


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
