"""URDF files: rigid links and their joints, read without any further package.

Read are links with mass, centre of mass and inertia, and joints that are revolute, continuous, prismatic,
fixed or floating, with their limits, damping and friction. Meshes, transmissions and the extensions of
simulators are passed over; mimic and planar joints are refused. A link called `base` becomes `base_frame`,
because `base` is the ground here. Which links bend is said by a robot file with `urdf:` (see `urdf_overlay`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pliant.model.attach import Plain
from pliant.model.element import Array, Element
from pliant.model.errors import ModelError, Problem, did_you_mean, listing, show
from pliant.model.inertia import Rigid
from pliant.model.joints import Joint
from pliant.model.links import Link
from pliant.model.outline import MOST_LINKS
from pliant.model.placement import Placement
from pliant.model.xml_file import LARGEST_FILE, XmlNode, parse_xml

# URDF name: ours
TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
}
MOVING = ("revolute", "prismatic")
INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


@dataclass(frozen=True, slots=True)
class UrdfLink:
    """A link of the file; `rigid` is its body in the link's own axes, None for a bare frame."""

    name: str
    line: int
    rigid: Plain | None


@dataclass(frozen=True, slots=True)
class UrdfJoint:
    """A joint of the file: `joint` holds type, axis, limits ..., `placement` its place on the parent."""

    name: str
    line: int
    parent: str
    child: str
    placement: Plain
    joint: Plain

    def pose(self) -> tuple[Array, Array]:
        """Position and rotation of the joint in the frame of the parent link."""
        placement = Placement(**self.placement)
        return placement.vector(), placement.matrix()


@dataclass(frozen=True, slots=True)
class Urdf:
    """The tree of a URDF file: links from the root outwards, and the joint that carries each of them."""

    name: str
    file: str
    root: str
    links: dict[str, UrdfLink]
    inboard: dict[str, UrdfJoint] = field(default_factory=dict)

    def outboard(self, link: str) -> list[UrdfJoint]:
        """The joints that a link carries."""
        return [joint for joint in self.inboard.values() if joint.parent == link]


def read_urdf(path: str | Path) -> Urdf:
    """Read a URDF file; raises ModelError with all its problems, each with its line."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(Problem("", f"the file cannot be read: {reason}", str(path))) from None
    return parse_urdf(content, str(path))


def parse_urdf(content: bytes, file: str) -> Urdf:
    """The same from the bytes of a file."""
    return _Reader(file).read(parse_xml(content, file))


@dataclass(slots=True)
class _Reader:
    file: str
    problems: list[Problem] = field(default_factory=list)

    def read(self, root: XmlNode) -> Urdf:
        if root.tag != "robot":
            self.complain("", f"the outermost element is <{root.tag}>; a URDF file has <robot>", root)
            self.stop()
        if any(key.startswith("xmlns:xacro") for key in root.attributes) and any(
            child.tag.startswith("xacro:") for child in root.children
        ):
            self.complain("", "this is a xacro file; expand it first: xacro robot.urdf.xacro > robot.urdf", root)
            raise ModelError(self.problems)
        count = len(root.all("link"))
        if count > MOST_LINKS:
            self.complain("", f"there are {count} links; a robot has at most {MOST_LINKS}", root)
            self.stop()
        links = [self.link(node) for node in root.all("link")]
        joints = [self.joint(node) for node in root.all("joint")]
        if not links:
            self.complain("", "there is no <link>", root)
        for kind, items in (("link", links), ("joint", joints)):
            self.distinct(kind, items)
        self.ends(links, joints)
        self.stop()
        by_child = {joint.child: joint for joint in joints}
        starts = [link for link in links if link.name not in by_child]
        if len(starts) != 1:
            names = listing(link.name for link in starts) if starts else ""
            message = f"{names} have no parent; exactly one link may" if starts else "all links have parents: a circle"
            line = starts[1].line if starts else links[0].line
            self.problems.append(Problem("links", message, self.file, line))
            self.stop()
        name = root.attributes.get("name", "").strip() or Path(self.file).stem
        urdf = Urdf(name, self.file, starts[0].name, {link.name: link for link in links}, by_child)
        order = list(_outward(urdf))
        for link in links:
            if link.name not in order:
                message = "its parents go in a circle; one link must start the tree"
                self.problems.append(Problem(f"link '{link.name}'", message, self.file, link.line))
        self.stop()
        return Urdf(name, self.file, urdf.root, {name: urdf.links[name] for name in order}, by_child)

    # ------------------------------------------------------------ elements

    def link(self, node: XmlNode) -> UrdfLink:
        name = _ours(self.name(node))
        if name:
            self.check(f"link '{name}'", Link, {"name": name, "joint": {}}, node)
        inertial = node.first("inertial")
        rigid = None if inertial is None else self.rigid(f"link '{name}'", inertial)
        return UrdfLink(name, node.line, rigid)

    def rigid(self, element: str, inertial: XmlNode) -> Plain | None:
        before = len(self.problems)
        mass_node, inertia_node = inertial.first("mass"), inertial.first("inertia")
        mass = self.number(element, mass_node, "value") if mass_node is not None else None
        moments = {key: self.number(element, inertia_node, key, 0.0) for key in INERTIA} if inertia_node else {}
        com, R = self.origin(element, inertial)
        if mass is None:
            if mass_node is None:
                self.complain(element, "inertial has no <mass>", inertial)
            return None
        if mass == 0 and not any(moments.values()):
            return None  # a bare frame
        xx, yy, zz, xy, xz, yz = (moments.get(key) or 0.0 for key in INERTIA)
        # the inertia is given in the axes of its own origin
        I_G = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        entries = [I_G[0, 0], I_G[1, 1], I_G[2, 2], I_G[0, 1], I_G[0, 2], I_G[1, 2]]
        rigid: Plain = {"mass": mass, "com": com, "inertia": [float(entry) for entry in entries]}
        if len(self.problems) == before:
            self.check(element, Rigid, rigid, inertial)
        return rigid

    def joint(self, node: XmlNode) -> UrdfJoint:
        name = self.name(node)
        element = f"joint '{name}'"
        before = len(self.problems)
        given = node.attributes.get("type", "")
        if given not in TYPES:
            remedy = f"it must be {listing(TYPES)}{did_you_mean(given, TYPES)}"
            if given == "planar":
                remedy = "planar joints are not read: write two prismatic joints and a revolute one"
            self.complain(element, f"type is {show(given)}; {remedy}", node)
        for mimic in node.all("mimic"):
            leader = mimic.attributes.get("joint", "")
            message = (
                f"it mimics '{leader}'; coupled joints are not read: make it fixed, remove <mimic> to give "
                "it a coordinate of its own, or describe the mechanism with a loop"
            )
            self.complain(element, message, mimic)
        kind = TYPES.get(given, "fixed")
        joint: Plain = {"name": name, "type": kind}
        if kind in MOVING:
            joint["axis"] = self.axis(element, node)
            joint.update(self.limits(element, node, turning=given == "continuous"))
            joint.update(self.friction(element, node))
        origin = node.first("origin")
        position = self.vector(element, origin, "xyz")
        angles = self.vector(element, origin, "rpy")
        place: Plain = {"position": position} if any(position) else {}
        if any(angles):
            place["rotation"] = {"rpy": angles}
        if len(self.problems) == before:
            self.check(element, Joint, joint, node)
        return UrdfJoint(name, node.line, self.end(node, "parent"), self.end(node, "child"), place, joint)

    def axis(self, element: str, node: XmlNode) -> str | list[float]:
        axis = self.vector(element, node.first("axis"), "xyz", (1.0, 0.0, 0.0))
        for k, letter in enumerate("xyz"):
            if axis[k] and not any(axis[:k] + axis[k + 1 :]):
                return letter if axis[k] > 0 else f"-{letter}"
        return axis

    def limits(self, element: str, node: XmlNode, *, turning: bool) -> Plain:
        limit = node.first("limit")
        if limit is None:
            return {}
        limits: Plain = {}
        if not turning and ("lower" in limit.attributes or "upper" in limit.attributes):
            limits["position"] = [self.number(element, limit, key, 0.0) for key in ("lower", "upper")]
        for key in ("velocity", "effort"):
            # zero is what exporters write when nothing is known
            if value := self.number(element, limit, key, 0.0):
                limits[key] = value
        return {"limits": limits} if limits else {}

    def friction(self, element: str, node: XmlNode) -> Plain:
        dynamics = node.first("dynamics")
        if dynamics is None:
            return {}
        pairs = (("viscous", "damping"), ("coulomb", "friction"))
        values = {ours: self.number(element, dynamics, theirs, 0.0) for ours, theirs in pairs}
        friction = {key: value for key, value in values.items() if value}
        return {"friction": friction} if friction else {}

    # ------------------------------------------------------------ the tree

    def distinct(self, kind: str, items: Sequence[UrdfLink] | Sequence[UrdfJoint]) -> None:
        seen: dict[str, int] = {}
        for item in items:
            if item.name and seen.setdefault(item.name, item.line) != item.line:
                message = f"the name is taken by the {kind} of line {seen[item.name]}; names must differ"
                self.problems.append(Problem(f"{kind} '{item.name}'", message, self.file, item.line))

    def ends(self, links: list[UrdfLink], joints: list[UrdfJoint]) -> None:
        names = [link.name for link in links]
        carried: dict[str, UrdfJoint] = {}
        for joint in joints:
            element = f"joint '{joint.name}'"
            for end in (joint.parent, joint.child):
                if end and end not in names:
                    message = f"there is no link '{end}'{did_you_mean(end, names)}"
                    self.problems.append(Problem(element, message, self.file, joint.line))
            other = carried.setdefault(joint.child, joint)
            if joint.child and other is not joint:
                message = (
                    f"link '{joint.child}' is the child of joint '{other.name}' already; "
                    "a closed chain is described under `loops:` of a robot file"
                )
                self.problems.append(Problem(element, message, self.file, joint.line))

    def end(self, node: XmlNode, which: str) -> str:
        part = node.first(which)
        name = part.attributes.get("link", "") if part is not None else ""
        if not name:
            element = f"joint '{node.attributes.get('name', '')}'"
            self.complain(element, f'has no <{which} link="..."/>', part or node)
        return _ours(name)

    # ------------------------------------------------------------ values

    def name(self, node: XmlNode) -> str:
        name = node.attributes.get("name", "")
        if not name:
            self.complain(node.tag, "has no name", node)
        return name

    def number(self, element: str, node: XmlNode, key: str, default: float | None = None) -> float | None:
        text = node.attributes.get(key)
        if text is None:
            if default is None:
                self.complain(element, f"<{node.tag}> has no {key}", node)
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.complain(element, f"{key} of <{node.tag}> is {show(text)}; it must be a finite number", node)
            return default
        return value

    def vector(
        self, element: str, node: XmlNode | None, key: str, default: Sequence[float] = (0.0, 0.0, 0.0)
    ) -> list[float]:
        if node is None or key not in node.attributes:
            return list(default)
        text = node.attributes[key]
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) != 3 or not all(math.isfinite(value) for value in values):
            message = f"{key} of <{node.tag}> is {show(text)}; it must be three finite numbers"
            self.complain(element, message, node)
            return list(default)
        return values

    def origin(self, element: str, node: XmlNode) -> tuple[list[float], Array]:
        origin = node.first("origin")
        angles = self.vector(element, origin, "rpy")
        turn: Plain = {"rotation": {"rpy": angles}}
        return self.vector(element, origin, "xyz"), Placement(**turn).matrix()

    # ------------------------------------------------------------ problems

    def check(self, element: str, kind: type[Element], data: Plain, node: XmlNode) -> None:
        """The rules of our own classes, at the place in the file."""
        try:
            kind(**data)
        except ModelError as error:
            for problem in error.problems:
                self.complain(element, problem.message, node)

    def complain(self, element: str, message: str, node: XmlNode) -> None:
        self.problems.append(Problem(element, message, self.file, node.line))

    def stop(self) -> None:
        if self.problems:
            raise ModelError(self.problems)


def _ours(name: str) -> str:
    return "base_frame" if name == "base" else name


def _outward(urdf: Urdf) -> Iterator[str]:
    """The links from the root outwards, each branch to its end."""
    children: dict[str, list[str]] = {}
    for joint in urdf.inboard.values():
        children.setdefault(joint.parent, []).append(joint.child)
    waiting = [urdf.root]
    while waiting:
        link = waiting.pop()
        yield link
        waiting.extend(reversed(children.get(link, [])))
