"""A robot file with ``urdf:``: the rigid arm from the URDF, and what the file adds to its links by name.

    urdf: arm.urdf                     # relative to the robot file
    links:
      upper_arm:                       # a link of the URDF
        beam: {material: aluminium, section: {tube: {outer: 80 mm, thickness: 3 mm}}, modes: {bend_y: 2}}
        hub: {mass: 1.5 kg}

Keys of a link replace those of the URDF, `joint` key by key; `beam` or `modal` takes the place of `rigid`.
Where a link bends and its joint gives no `child_placement`, the link frame is turned about z and then y so
that x points from its own joint to the only joint that it carries; a beam without `length` ends there. What
the URDF gives in the old axes is turned along; what the overlay gives is in the new ones.
The root link is the base itself when it is massless and not mentioned here; else it is fixed to the base.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from pliant.model.attach import Plain, bends, body_of, length_of, line_of, placement, seat
from pliant.model.element import Array
from pliant.model.errors import ModelError, Problem, did_you_mean, show
from pliant.model.placement import Placement
from pliant.model.urdf import MOVING, Urdf, UrdfJoint, read_urdf
from pliant.model.yaml_data import MarkedList, Marks

# products of rotations by right angles are made exact, because zeros are structure for the dynamics
_SNAP = 1e-15
# relative to the distance between two joints
_ON_AXIS = 1e-12

Pose = tuple[Array, Array]


def expand_urdf(data: Any, folder: str | Path = ".") -> Any:
    """Turn the ``urdf`` key of a robot's plain data and its ``links`` by name into the usual list of links.

    Data without that key come back as they are; data are never changed. Relative paths start from `folder`.
    Raises ModelError with the problems of the URDF file, or with those of the names in ``links``.
    """
    if not isinstance(data, dict) or "urdf" not in data:
        return data
    path = data["urdf"]
    if not isinstance(path, str) or not path or "\0" in path:
        raise _error("urdf", f"is {show(path)}; it must be the path of a URDF file", data, "urdf")
    urdf = read_urdf(Path(folder) / path)
    out = data.copy()
    del out["urdf"]
    out.setdefault("name", urdf.name)
    out["links"] = _Merger(urdf, _by_name(data)).links()
    return out


def _error(element: str, message: str, node: Any, key: Any) -> ModelError:
    return ModelError(Problem(element, message, line=line_of(node, key)))


def _by_name(data: Plain) -> dict[str, Plain]:
    """The overlays of the links: a mapping by name, or a list of links with names."""
    links = data.get("links")
    if links is None:
        return {}
    if isinstance(links, list):
        named = [(link.get("name") if isinstance(link, Mapping) else None, link) for link in links]
    elif isinstance(links, Mapping):
        named = list(links.items())
    else:
        raise _error("links", f"is {show(links)}; next to urdf it must be a mapping by name", data, "links")
    overlays: dict[str, Plain] = {}
    for name, link in named:
        if not isinstance(name, str) or not isinstance(link, dict | None):
            message = f"{show(name)}: {show(link)} is not a link; write NAME: {{beam: ...}}"
            raise _error("links", message, links, name)
        overlays[name] = {} if link is None else link
    return overlays


@dataclass(slots=True)
class _Merger:
    """The links of a URDF file with the overlays of a robot file."""

    urdf: Urdf
    overlays: dict[str, Plain]

    def links(self) -> list[Plain]:
        unknown = [name for name in self.overlays if name not in self.urdf.links]
        if unknown:
            file = Path(self.urdf.file).name
            names = list(self.urdf.links)
            problems = []
            for name in unknown:
                hint = did_you_mean(name, names) or f"; its links: {', '.join(names[:20])}"
                line = line_of(self.overlays[name])
                problems.append(Problem(f"links '{name}'", f"{file} has no link of that name{hint}", line=line))
            raise ModelError(problems)
        names = list(self.urdf.links)
        root = self.urdf.root
        # a massless root is only the URDF's name of the base
        if self.urdf.links[root].rigid is None and root not in self.overlays:
            names.remove(root)
        out: dict[str, Plain] = {}
        frames: dict[str, Pose] = {}
        for name in names:
            out[name], frames[name] = self.body(name)
        for name in names:
            self.mount(name, out, frames)
        return self.marked(out)

    def marked(self, links: dict[str, Plain]) -> list[Plain]:
        """The links as a list that remembers the lines of the overlays."""
        lines = {i: line_of(self.overlays[name]) for i, name in enumerate(links) if name in self.overlays}
        marks = Marks(0, {i: line - 1 for i, line in lines.items() if line is not None})
        return MarkedList(links.values(), marks) if marks.lines else list(links.values())

    def body(self, name: str) -> tuple[Plain, Pose]:
        """A link without its parent, and its frame B in the link frame of the URDF."""
        link = self.overlays.get(name, {}).copy()
        rigid = self.urdf.links[name].rigid
        link["name"] = name
        inherits = rigid is not None and not any(key in link for key in ("rigid", "beam", "modal"))
        own = link.get("joint")
        child = own.get("child_placement") if isinstance(own, Mapping) else None
        frame = (np.zeros(3), np.eye(3)) if child is None else _pose(child)
        if child is None and bends(link) and isinstance(own, dict | None):
            aligned, frame = self.aligned(name)
            link["joint"] = {} if own is None else own.copy()
            link["joint"].update(aligned)
        if inherits and rigid is not None:
            link["rigid"] = _turned(rigid, frame)
        self.complete_length(name, link, frame)
        return link, frame

    def aligned(self, name: str) -> tuple[Plain, Pose]:
        """The turn of a bending link that brings x towards the only joint that the link carries."""
        carried = self.urdf.outboard(name)
        p = carried[0].pose()[0] if len(carried) == 1 else np.zeros(3)
        p = np.where(np.abs(p) > _ON_AXIS * np.abs(p).max(initial=0.0), p, 0.0)
        yaw, pitch = math.atan2(p[1], p[0]), -math.atan2(p[2], math.hypot(p[0], p[1]))
        turns = [{axis: angle} for axis, angle in (("z", yaw), ("y", pitch)) if angle]
        if not p.any() or not turns:
            return {}, (np.zeros(3), np.eye(3))
        child = placement((0.0, 0.0, 0.0), turns)
        return {"child_placement": child}, _pose(child)

    def complete_length(self, name: str, link: Plain, frame: Pose) -> None:
        """A beam that does not say where it ends goes to the only joint that it carries."""
        if body_of(link) != "beam" or "length" in link["beam"] or "segments" in link["beam"]:
            return
        carried = self.urdf.outboard(name)
        x = _seen_from(frame, carried[0].pose())[0][0] if len(carried) == 1 else 0.0
        if x > 0:
            beam = link["beam"].copy()
            beam["length"] = float(x)
            link["beam"] = beam

    def mount(self, name: str, out: dict[str, Plain], frames: dict[str, Pose]) -> None:
        """Write the joint of a link on its parent."""
        link = out[name]
        own = link.get("joint")
        if own is not None and not isinstance(own, dict):
            return  # the reader says what a joint must be
        inboard = self.urdf.inboard.get(name)
        if inboard is None:
            given: Plain = {"name": f"{name}_mount", "type": "fixed", "parent": "base"}
        else:
            given = {**inboard.joint, **self.carried_by(inboard, out, frames)}
        joint = {} if own is None else own.copy()
        if joint.get("type", given["type"]) not in MOVING:
            # what only a moving joint has is dropped together with its motion
            given = {key: given[key] for key in ("name", "type", "parent", "placement") if key in given}
        for key, value in given.items():
            joint.setdefault(key, value)
        link["joint"] = joint

    def carried_by(self, joint: UrdfJoint, out: dict[str, Plain], frames: dict[str, Pose]) -> Plain:
        """Parent frame and placement of a joint of the URDF."""
        if joint.parent not in out:
            return {"parent": "base", "placement": joint.placement}
        parent = out[joint.parent]
        position, R = _seen_from(frames[joint.parent], joint.pose())
        if bends(parent) and length_of(parent) is None:
            return {"parent": f"{joint.parent}.tip"}  # the reader says that the length is missing
        name, offset, new = seat(parent, [float(p) for p in position], f"at_{joint.name}")
        if new is not None and "beam" in parent:
            frames_of = parent.get("frames") or []
            parent["frames"] = [*frames_of, new] if isinstance(frames_of, list) else frames_of
        elif new is not None:
            name, offset = "root", [float(p) for p in position]
        untouched = not frames[joint.parent][0].any() and np.array_equal(frames[joint.parent][1], np.eye(3))
        if untouched:
            rotation = [joint.placement["rotation"]] if "rotation" in joint.placement else []
        else:
            rotation = [] if np.array_equal(R, np.eye(3)) else [{"matrix": R.tolist()}]
        place = placement(offset, rotation)
        return {"parent": f"{joint.parent}.{name}", **({"placement": place} if place else {})}


def _pose(data: Any) -> Pose:
    """Position and rotation of plain data; the identity where they cannot be read (the reader says why)."""
    try:
        read = Placement.model_validate(data, context={"units": True})
    except (ValidationError, ModelError):
        return np.zeros(3), np.eye(3)
    return read.vector(), read.matrix()


def _seen_from(frame: Pose, place: Pose) -> Pose:
    """A place given in the same axes as a frame, seen from that frame."""
    (p_UB, R_UB), (p_UJ, R_UJ) = frame, place
    return _snap(R_UB.T @ (p_UJ - p_UB)), _snap(R_UB.T @ R_UJ)


def _snap(a: Array) -> Array:
    scale = max(1.0, float(np.abs(a).max(initial=0.0)))
    near = np.round(a)
    return np.where((np.abs(near) <= 1) & (np.abs(a - near) < _SNAP * scale), near, a) + 0.0


def _turned(rigid: Plain, frame: Pose) -> Plain:
    """A rigid body in the axes of a new link frame."""
    p, R = frame
    if not p.any() and np.array_equal(R, np.eye(3)):
        return rigid
    xx, yy, zz, xy, xz, yz = rigid["inertia"]
    inertia = R.T @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R
    com = R.T @ (np.array(rigid["com"]) - p)
    return {"mass": rigid["mass"], "com": com.tolist(), "inertia": inertia.tolist()}
