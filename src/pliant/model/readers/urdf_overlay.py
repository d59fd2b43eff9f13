"""A robot file with ``urdf:``: the rigid arm from the URDF, and what the file adds to its links by name.

    urdf: arm.urdf                     # relative to the robot file
    links:
      upper_arm:                       # a link of the URDF
        beam: {material: aluminium, section: {tube: {outer: 80 mm, thickness: 3 mm}}, modes: {bend_y: 2}}
        hub: {mass: 1.5 kg}

Keys of a link replace those of the URDF, `joint` key by key; `beam` or `modal` takes the place of `rigid`.
A link with a `beam` keeps the mass, centre of mass and inertia of the URDF: what the beam does not weigh becomes rigid
parts at its root and tip (`urdf_mass`). `urdf_mass: replace` leaves the beam alone with its own mass, and what the
file adds. `modal` brings its own mass.
Where a link bends and its joint gives no `child_placement`, the link frame is turned about z and then y so
that x points from its own joint to the next one: the only joint that leads to moving links, or the only one. A beam
without `length` ends there, and another length is an error. What the URDF gives in the old axes is turned along; what
the overlay gives is in the new ones.
The root link is the base itself when it is massless and not mentioned here; else it is fixed to the base. The tip of
the robot is the tool frame of the URDF, or its deepest moving leaf, unless the file gives `tip`. `strict: true`
refuses what would be repaired (`urdf`).
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from pydantic import ValidationError

from pliant.errors import ModelError, Problem, RepairWarning, did_you_mean, listing, show
from pliant.model.description.beams import MASS_POINTS, Beam
from pliant.model.description.inertia import Rigid
from pliant.model.description.materials import Material
from pliant.model.description.placement import Placement
from pliant.model.element import Array
from pliant.model.readers.attach import Plain, bends, body_of, length_of, line_of, placement, seat
from pliant.model.readers.urdf import MOVING, Urdf, UrdfJoint, read_urdf
from pliant.model.readers.yaml_data import MarkedList, Marks

# words by which tool frames are called, the clearest first
TOOL_WORDS = (("tcp",), ("tool0", "tool"), ("ee", "eef", "effector", "endeffector"))
_BREAK = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")


class CarryingJoint(Protocol):
    """A joint, as far as the depth of its child asks."""

    @property
    def parent(self) -> str: ...
    @property
    def moves(self) -> bool: ...


def choose_tip(links: list[str], inboard: Mapping[str, CarryingJoint]) -> str:
    """The link that is called tip, of links from the root outwards."""
    depth: dict[str, tuple[int, int]] = {}
    for link in links:
        joint = inboard.get(link)
        moving, steps = depth[joint.parent] if joint is not None else (0, 0)
        depth[link] = (moving + (joint is not None and joint.moves), steps + 1)
    # a frame that never moves is no tool
    tools = [link for link in links if _tool_rank(link) is not None and depth[link][0]]
    if tools:
        return max(tools, key=lambda link: (depth[link][0], -(_tool_rank(link) or 0), depth[link][1]))
    return max(links, key=lambda link: depth[link])


def _tool_rank(name: str) -> int | None:
    parts = {part.lower() for part in _BREAK.split(name)}
    return next((rank for rank, names in enumerate(TOOL_WORDS) if parts & set(names)), None)


# a rest of this fraction of the link is rounding
NOTHING = 1e-9
# second moments below this fraction of the largest are none
SMALLEST = 1e-15
# change of the largest moment of inertia that is told
TOLD = 1e-3


class Remainder(NamedTuple):
    """Rigid parts that complete a beam to the link of a URDF.

    parts   payloads at the frames root and tip
    missed  part of the link's inertia that could not be kept, as a fraction of its largest moment
    """

    parts: list[Plain]
    missed: float


def remainder(rigid: Plain, beam: Beam) -> Remainder:
    """What is left of a link's body when a beam along x is taken out of it; the beam must not weigh more."""
    m, c_link, S_link = _moments(Rigid(**rigid))
    m_b, c_b, S_b = beam_moments(beam)
    rest = m - m_b
    largest = float(np.linalg.eigvalsh(_inertia(S_link)).max()) or 1.0
    if rest <= NOTHING * m:
        return Remainder([], float(np.abs(S_link - S_b).max()) / largest)
    c = (m * c_link - m_b * c_b) / rest
    # about the base of the link first, then about the centre of mass of the rest
    about_root = S_link + m * np.outer(c_link, c_link) - S_b - m_b * np.outer(c_b, c_b)
    wanted = about_root - rest * np.outer(c, c)
    sizes, axes = np.linalg.eigh((wanted + wanted.T) / 2)
    S = axes * np.maximum(sizes, 0.0) @ axes.T
    return Remainder(_ends(rest, c, S, beam.length), float(np.abs(S - wanted).max()) / largest)


def _ends(mass: float, c: Array, S: Array, length: float) -> list[Plain]:
    """Two parts, or one where the centre of mass lies beyond an end."""
    share = float(np.clip(c[0] / length, 0.0, 1.0))
    if share in (0.0, 1.0):
        frame, x = ("root", 0.0) if share == 0.0 else ("tip", length)
        return [_part(frame, mass, c - [x, 0.0, 0.0], S)]
    # as far apart as the second moments allow: S - t e_x e_x^T stays positive up to t = 1 / (S^-1)_xx
    sizes, axes = np.linalg.eigh(S)
    most = 1.0 / float(np.sum(axes[0] ** 2 / np.maximum(sizes, SMALLEST * max(sizes.max(), SMALLEST))))
    spread = mass * c[0] * (length - c[0])
    reach = min(1.0, float(np.sqrt(most / spread)))
    along = c * [1.0 - reach, 1.0, 1.0], c + [reach * (length - c[0]), 0.0, 0.0]
    left = S.copy()
    left[0, 0] -= reach**2 * spread
    return [
        _part("root", mass * (1 - share), along[0], (1 - share) * left),
        _part("tip", mass * share, along[1] - [length, 0.0, 0.0], share * left),
    ]


def _part(frame: str, mass: float, com: Array, S: Array) -> Plain:
    sizes, axes = np.linalg.eigh((S + S.T) / 2)
    inertia = _inertia(axes * np.maximum(sizes, 0.0) @ axes.T)
    inertia = (inertia + inertia.T) / 2
    return {"frame": frame, "mass": float(mass), "com": com.tolist(), "inertia": inertia.tolist()}


def beam_moments(beam: Beam) -> tuple[float, Array, Array]:
    """Mass, centre of mass and second moments about it of a straight beam; sections count where they do in its body."""
    points, weights = np.polynomial.legendre.leggauss(2 * MASS_POINTS)
    sections = bool(beam.rotary_inertia) or "torsion" in beam.families
    m, first, S = 0.0, 0.0, np.zeros((3, 3))
    for part, start in zip(beam.parts(), beam.breakpoints[:-1], strict=True):
        x = part.length * (points + 1) / 2
        w = weights * part.length / 2
        at = part.at(x)
        density = np.asarray(at["mass_per_length"])
        m += float(w @ density)
        first += float(w @ (density * (start + x)))
        S[0, 0] += float(w @ (density * (start + x) ** 2))
        for k, key in ((1, "rhoIz"), (2, "rhoIy")):
            moment = at[key]
            if sections and moment is not None:
                S[k, k] += float(w @ np.asarray(moment))
    S[0, 0] -= first**2 / m
    return m, np.array([first / m, 0.0, 0.0]), S


def _moments(rigid: Rigid) -> tuple[float, Array, Array]:
    inertia = rigid.inertia_matrix()
    return rigid.mass, rigid.com_vector(), np.trace(inertia) / 2 * np.eye(3) - inertia


def _inertia(S: Array) -> Array:
    return np.asarray(np.trace(S) * np.eye(3) - S)


# products of rotations by right angles are made exact, because zeros are structure for the dynamics
_SNAP = 1e-15
# relative to the distance between two joints
_ON_AXIS = 1e-12
# a length that differs more from the distance to the next joint contradicts it
SAME_LENGTH = 1e-3
# whose mass a bending link has: that of the URDF, or its own
KEEP, REPLACE = "keep", "replace"
MASS_KEY, STRICT_KEY = "urdf_mass", "strict"

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
    strict = data.get(STRICT_KEY, False)
    if not isinstance(strict, bool):
        raise _error(STRICT_KEY, f"is {show(strict)}; it must be true or false", data, STRICT_KEY)
    urdf = read_urdf(Path(folder) / path, strict=strict)
    out = data.copy()
    for key in ("urdf", STRICT_KEY):
        out.pop(key, None)
    out.setdefault("name", urdf.name)
    merger = _Merger(urdf, _by_name(data, urdf), _own_materials(data), strict)
    out["links"] = merger.links()
    tip = choose_tip(list(urdf.links), urdf.inboard)
    if tip in {link["name"] for link in out["links"]}:
        out.setdefault("tip", f"{tip}.tip")
    repairs = [*urdf.repairs, *merger.repairs]
    if repairs:
        warnings.warn(RepairWarning(repairs), stacklevel=2)
    return out


def _own_materials(data: Plain) -> dict[str, Material]:
    """The materials of the file that can be read (the reader says what is wrong with the others)."""
    given = data.get("materials")
    own: dict[str, Material] = {}
    for name, material in given.items() if isinstance(given, Mapping) else ():
        try:
            own[str(name)] = Material.model_validate(material, context={"units": True})
        except (ValidationError, ModelError):
            continue
    return own


def _error(element: str, message: str, node: Any, key: Any) -> ModelError:
    return ModelError(Problem(element, message, line=line_of(node, key)))


def _by_name(data: Plain, urdf: Urdf) -> dict[str, Plain]:
    """The overlays of the links: a mapping by name, or a list of links with names; names of the URDF will do too."""
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
        overlays[urdf.renamed.get(name, name)] = {} if link is None else link
    return overlays


@dataclass(slots=True)
class _Merger:
    """The links of a URDF file with the overlays of a robot file."""

    urdf: Urdf
    overlays: dict[str, Plain]
    materials: dict[str, Material]
    strict: bool = False
    repairs: list[Problem] = field(default_factory=list)

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
        mass = self.mass_choice(name, link)
        inherits = rigid is not None and not any(key in link for key in ("rigid", "beam", "modal", "fe", "cad"))
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
        if rigid is not None and mass == KEEP and body_of(link) == "beam":
            self.keep_mass(name, link, _turned(rigid, frame))
        visuals = self.urdf.links[name].visuals
        if visuals and "visuals" not in link:
            link["visuals"] = [_replaced(visual, frame) for visual in visuals]
        return link, frame

    def mass_choice(self, name: str, link: Plain) -> str:
        """Whether a bending link keeps the mass of the URDF."""
        choice = link.pop(MASS_KEY, KEEP)
        if choice not in (KEEP, REPLACE):
            message = f"is {show(choice)}; it must be {listing((KEEP, REPLACE))}"
            raise _error(f"links '{name}': {MASS_KEY}", message, self.overlays[name], MASS_KEY)
        return str(choice)

    def keep_mass(self, name: str, link: Plain, rigid: Plain) -> None:
        """Rigid parts at root and tip for what the beam does not weigh."""
        try:
            beam = Beam.model_validate(link["beam"], context={"units": True}).with_materials(self.materials)
            rest = remainder(rigid, beam)
        except (ValidationError, ModelError):
            return  # the reader says what is wrong with the beam
        if beam.mass > rigid["mass"] * (1 + SAME_LENGTH):
            message = (
                f"the beam weighs {beam.mass:.4g} kg, the whole link of the URDF {rigid['mass']:.4g} kg; make its "
                f"section thinner, or write `{MASS_KEY}: {REPLACE}` to give up the mass of the URDF"
            )
            raise _error(f"links '{name}'", message, self.overlays[name], "beam")
        if rest.missed > TOLD:
            message = f"with this beam the inertia of the URDF's link cannot be kept; it changes by {rest.missed:.1%}"
            if self.strict:
                raise _error(f"links '{name}'", message, self.overlays[name], "beam")
            self.repairs.append(Problem(f"links '{name}'", message, line=line_of(self.overlays[name], "beam")))
        given = link.get("payloads") or []
        if isinstance(given, list):
            link["payloads"] = [*rest.parts, *given]

    def next_joint(self, name: str) -> UrdfJoint | None:
        """The joint at the far end of a link: the only one that leads to moving links, or the only one."""
        carried = self.urdf.outboard(name)
        leading = [joint for joint in carried if self.leads_on(joint)]
        if len(leading) == 1:
            return leading[0]
        return carried[0] if len(carried) == 1 else None

    def leads_on(self, joint: UrdfJoint) -> bool:
        """Whether a joint moves, or carries one that does."""
        return joint.moves or any(self.leads_on(further) for further in self.urdf.outboard(joint.child))

    def aligned(self, name: str) -> tuple[Plain, Pose]:
        """The turn of a bending link that brings x towards the next joint."""
        following = self.next_joint(name)
        p = following.pose()[0] if following is not None else np.zeros(3)
        p = np.where(np.abs(p) > _ON_AXIS * np.abs(p).max(initial=0.0), p, 0.0)
        yaw, pitch = math.atan2(p[1], p[0]), -math.atan2(p[2], math.hypot(p[0], p[1]))
        turns = [{axis: angle} for axis, angle in (("z", yaw), ("y", pitch)) if angle]
        if not p.any() or not turns:
            return {}, (np.zeros(3), np.eye(3))
        child = placement((0.0, 0.0, 0.0), turns)
        return {"child_placement": child}, _pose(child)

    def complete_length(self, name: str, link: Plain, frame: Pose) -> None:
        """A beam that does not say where it ends goes to the next joint; another length contradicts it."""
        following = self.next_joint(name)
        if body_of(link) != "beam" or following is None:
            return
        x = float(_seen_from(frame, following.pose())[0][0])
        given = length_of(link)
        if given is None and x > 0 and not {"length", "segments"} & link["beam"].keys():
            beam = link["beam"].copy()
            beam["length"] = x
            link["beam"] = beam
        elif given is not None and given > 0 and abs(given - x) > SAME_LENGTH * max(given, x):
            message = (
                f"the beam is {given:.6g} m long, but joint '{following.name}' sits at x = {x:.6g} m of the link; "
                "leave the length out, and give stiff ends as segments"
            )
            raise _error(f"links '{name}'", message, self.overlays[name], "beam")

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
        if _untouched(frames[joint.parent]):
            rotation = [joint.placement["rotation"]] if "rotation" in joint.placement else []
        else:
            rotation = [] if np.array_equal(R, np.eye(3)) else [{"matrix": R.tolist()}]
        place = placement(offset, rotation)
        return {"parent": f"{joint.parent}.{name}", **({"placement": place} if place else {})}


def _replaced(visual: Plain, frame: Pose) -> Plain:
    """A shape seen from a new link frame."""
    if _untouched(frame):
        return visual
    place = Placement(**{key: visual[key] for key in ("position", "rotation") if key in visual})
    position, R = _seen_from(frame, (place.vector(), place.matrix()))
    kept = {key: value for key, value in visual.items() if key not in ("position", "rotation")}
    return {**kept, **placement([float(x) for x in position], [{"matrix": R.tolist()}])}


def _untouched(frame: Pose) -> bool:
    return not frame[0].any() and np.array_equal(frame[1], np.eye(3))


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
    if _untouched(frame):
        return rigid
    xx, yy, zz, xy, xz, yz = rigid["inertia"]
    inertia = R.T @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R
    com = R.T @ (np.array(rigid["com"]) - p)
    return {"mass": rigid["mass"], "com": com.tolist(), "inertia": inertia.tolist()}
