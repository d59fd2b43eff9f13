"""URDF files: rigid links and their joints, read without any further package.

Read are links with mass, centre of mass, inertia and what they look like, and joints of all types with their limits,
damping, friction and the joint that they mimic. Planar joints, and floating ones on a moving link, become joints of
one coordinate in a row. Transmissions and the extensions of simulators are passed over.

Real files hold inertias that no body can have, masses of zero and names with dots and slashes. These are repaired, and
every repair is told; a strict reading refuses them. A link called `base` becomes `base_frame`, because `base` is the
ground here. Which links bend is said by a robot file with `urdf:` (see `urdf_overlay`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pliant.errors import Problem, did_you_mean, listing, show
from pliant.files import content_of
from pliant.model.description.inertia import Rigid, nearest_inertia
from pliant.model.description.joints import Joint, Limits, Mimic
from pliant.model.description.links import Link
from pliant.model.description.outline import BASE, MOST_LINKS
from pliant.model.description.placement import Placement, Visual, mesh_path
from pliant.model.element import Array
from pliant.model.readers.attach import Plain
from pliant.model.readers.urdf_values import LARGEST_FILE, ValueReader, XmlNode, chain, parse_xml, planar, words

# URDF name: ours; a planar joint becomes a row of others
TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
}
MOVING = ("revolute", "prismatic")
INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
# what else calls itself XML for robots: its outermost element, and what to do
OTHERS = {
    "mujoco": "this is a MuJoCo model (MJCF), which is not read; convert it to URDF, for example with the package "
    "mjcf-urdf-simple-converter, or write its bodies and joints into a robot file",
    "sdf": "this is an SDF model, which is not read: the outermost element is <sdf>; a URDF file has <robot>. Take "
    "the URDF that it was made from, or write its links and joints into a robot file",
}


@dataclass(frozen=True, slots=True)
class UrdfLink:
    """A link of the file; `rigid` is its body in the link's own axes, None for a bare frame."""

    name: str
    line: int
    rigid: Plain | None
    visuals: tuple[Plain, ...] = ()


@dataclass(frozen=True, slots=True)
class UrdfJoint:
    """A joint of the file: `joint` holds type, axis, limits ..., `placement` its place on the parent."""

    name: str
    line: int
    parent: str
    child: str
    placement: Plain
    joint: Plain

    @property
    def moves(self) -> bool:
        """Whether the child moves relative to the parent."""
        return bool(self.joint["type"] != "fixed")

    def pose(self) -> tuple[Array, Array]:
        """Position and rotation of the joint in the frame of the parent link."""
        placement = Placement(**self.placement)
        return placement.vector(), placement.matrix()


@dataclass(frozen=True, slots=True)
class Urdf:
    """The tree of a URDF file: links from the root outwards, and the joint that carries each of them.

    renamed  names of the file and the words that links have here
    repairs  what was changed, with its place
    """

    name: str
    file: str
    root: str
    links: dict[str, UrdfLink]
    inboard: dict[str, UrdfJoint] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    repairs: tuple[Problem, ...] = ()

    def outboard(self, link: str) -> list[UrdfJoint]:
        """The joints that a link carries."""
        return [joint for joint in self.inboard.values() if joint.parent == link]


def read_urdf(path: str | Path, *, strict: bool = False) -> Urdf:
    """Read a URDF file; raises ModelError with all its problems, each with its line."""
    content = content_of(path, LARGEST_FILE)
    return parse_urdf(content, str(path), strict=strict)


def parse_urdf(content: bytes, file: str, *, strict: bool = False) -> Urdf:
    """A URDF robot from the bytes of a file."""
    return _Reader(file, strict).read(parse_xml(content, file))


@dataclass(slots=True)
class _Reader(ValueReader):
    words: dict[str, dict[str, str]] = field(default_factory=dict)

    def read(self, root: XmlNode) -> Urdf:
        self.refuse_others(root)
        self.rename(root)
        links = [self.link(node) for node in root.all("link")]
        joints = [self.joint(node) for node in root.all("joint")]
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
        whole = Urdf("", self.file, starts[0].name, {link.name: link for link in links}, by_child)
        reached = set(_outward(whole))
        for link in links:
            if link.name not in reached:
                message = "its parents go in a circle; one link must start the tree"
                self.problems.append(Problem(f"link '{link.name}'", message, self.file, link.line))
        self.stop()
        links, joints = self.in_rows(whole)
        by_child = {joint.child: joint for joint in self.followers(joints)}
        whole = Urdf("", self.file, whole.root, {link.name: link for link in links}, by_child)
        name = root.attributes.get("name", "").strip() or Path(self.file).stem
        renamed = {given: ours for given, ours in self.words["link"].items() if given != ours}
        ordered = {name: whole.links[name] for name in _outward(whole)}
        return Urdf(name, self.file, whole.root, ordered, by_child, renamed, tuple(self.repairs))

    def refuse_others(self, root: XmlNode) -> None:
        """What is no URDF file, or not yet one."""
        if root.tag != "robot":
            message = f"the outermost element is <{root.tag}>; a URDF file has <robot>"
            self.complain("", OTHERS.get(root.tag, message), root)
            self.stop()
        if any(child.tag.startswith("xacro:") for child in root.children):
            source = Path(self.file).name
            target = Path(source.removesuffix(".xacro")).with_suffix(".urdf").name
            target = target if target != source else f"expanded-{target}"
            message = f"this is a xacro file; expand it first (pip install xacro): xacro {source} > {target}"
            self.complain("", message, root)
            self.stop()
        count = len(root.all("link"))
        if count > MOST_LINKS:
            self.complain("", f"there are {count} links; a robot has at most {MOST_LINKS}", root)
        if not count:
            macros = any(key.startswith("xmlns:xacro") for key in root.attributes)
            hint = ": the xacro that it was made from only defines macros; expand one that calls them" if macros else ""
            self.complain("", f"there is no <link>{hint}", root)
        self.stop()

    def rename(self, root: XmlNode) -> None:
        """A word for every name of a link and of a joint."""
        for kind in ("link", "joint"):
            nodes = {node.attributes["name"]: node for node in root.all(kind) if node.attributes.get("name")}
            self.words[kind] = words(nodes)
            for given, ours in self.words[kind].items():
                if given == ours:
                    continue
                if given == BASE:
                    # not a fault of the file
                    told = Problem(f"{kind} '{given}'", f"it is called '{ours}' here", self.file, nodes[given].line)
                    self.repairs.append(told)
                elif ours:
                    message = f"name is {show(given)}; it must be a word of letters, digits, '_' and '-'"
                    self.mend(f"{kind} '{given}'", message, f"it is called '{ours}' here", nodes[given])
                else:
                    self.complain(f"{kind} '{given}'", f"name is {show(given)}; it must be a word", nodes[given])

    # ------------------------------------------------------------ links

    def link(self, node: XmlNode) -> UrdfLink:
        given = self.name(node)
        name = self.words["link"].get(given, "")
        if name:
            self.check(f"link '{name}'", Link, {"name": name, "joint": {}}, node)
        inertial = node.first("inertial")
        rigid = None if inertial is None else self.rigid(f"link '{name}'", inertial)
        visuals = [self.visual(f"link '{name}'", visual) for visual in node.all("visual")]
        return UrdfLink(name, node.line, rigid, tuple(visual for visual in visuals if visual is not None))

    def rigid(self, element: str, inertial: XmlNode) -> Plain | None:
        before = len(self.problems)
        mass_node, inertia_node = inertial.first("mass"), inertial.first("inertia")
        mass = self.number(element, mass_node, "value") if mass_node is not None else None
        moments = {key: self.number(element, inertia_node, key, 0.0) for key in INERTIA} if inertia_node else {}
        com, R = self.origin(element, inertial)
        if mass_node is None:
            self.mend(element, "inertial has no <mass>", "it is a frame without mass", inertial)
        if mass is None or len(self.problems) > before:
            return None
        if mass == 0:
            if any(moments.values()):
                self.mend(element, "mass is 0 kg, but its inertia is not", "it is a frame without mass", inertial)
            return None
        xx, yy, zz, xy, xz, yz = (moments.get(key) or 0.0 for key in INERTIA)
        # the inertia is given in the axes of its own origin
        I_G = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        if mass > 0 and (faults := self.faults(Rigid, _body(mass, com, I_G))):
            I_G = nearest_inertia(I_G)
            entries = ", ".join(f"{entry:.4g}" for entry in np.linalg.eigvalsh(I_G))
            remedy = f"taken is the nearest that a body can have, with the moments [{entries}]"
            self.mend(element, faults[0], remedy, inertial)
        rigid = _body(mass, com, I_G)
        if len(self.problems) == before:
            self.check(element, Rigid, rigid, inertial)
        return rigid

    def visual(self, element: str, node: XmlNode) -> Plain | None:
        """What is drawn of a link; a shape that cannot be read is left out and told."""
        geometry = node.first("geometry")
        shape = geometry.children[0] if geometry is not None and geometry.children else None
        if shape is None:
            return None
        trial = ValueReader(self.file)
        data = trial.placement(element, node)
        if shape.tag == "mesh" and shape.attributes.get("filename"):
            data["mesh"] = mesh_path(shape.attributes["filename"], Path(self.file).resolve().parent)
            if "scale" in shape.attributes:
                data["scale"] = trial.vector(element, shape, "scale")
        elif shape.tag == "box":
            data["box"] = trial.vector(element, shape, "size")
        elif shape.tag == "cylinder":
            data["cylinder"] = {key: trial.number(element, shape, key) for key in ("radius", "length")}
        elif shape.tag == "sphere":
            data["sphere"] = trial.number(element, shape, "radius")
        faults = [problem.message for problem in trial.problems] or self.faults(Visual, data)
        if faults:
            self.mend(element, f"<visual>: {faults[0]}", "it is not drawn", node)
            return None
        return data

    # ------------------------------------------------------------ joints

    def joint(self, node: XmlNode) -> UrdfJoint:
        name = self.words["joint"].get(self.name(node), "")
        element = f"joint '{name}'"
        before = len(self.problems)
        given = node.attributes.get("type", "")
        if given not in TYPES:
            self.complain(
                element, f"type is {show(given)}; it must be {listing(TYPES)}{did_you_mean(given, TYPES)}", node
            )
        kind = TYPES.get(given, "fixed")
        joint: Plain = {"name": name, "type": kind}
        if kind in MOVING:
            joint["axis"] = self.axis(element, node)
            joint.update(self.limits(element, node, turning=given == "continuous"))
            joint.update(self.friction(element, node))
            joint.update(self.mimic(element, node))
        elif kind == "planar":
            joint["axis"] = self.axis(element, node)
        place = self.placement(element, node)
        if len(self.problems) == before:
            self.check(element, Joint, {**joint, "type": "revolute" if kind == "planar" else kind}, node)
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
        # an infinite limit is none
        infinite = {key for key, text in limit.attributes.items() if _infinite(text)}
        given = limit.attributes.keys() - infinite
        bounds: Plain = {}
        if not turning and given & {"lower", "upper"} and not infinite & {"lower", "upper"}:
            bounds["position"] = [self.number(element, limit, key, 0.0) for key in ("lower", "upper")]
        for key in ("velocity", "effort"):
            # zero is what exporters write when nothing is known
            if key in given and (value := self.number(element, limit, key, 0.0)):
                bounds[key] = value
        for key in list(bounds):
            if faults := self.faults(Limits, {key: bounds[key]}):
                self.mend(element, f"limits.{faults[0]}", "this limit is left out", node)
                del bounds[key]
        return {"limits": bounds} if bounds else {}

    def friction(self, element: str, node: XmlNode) -> Plain:
        dynamics = node.first("dynamics")
        if dynamics is None:
            return {}
        friction: Plain = {}
        for ours, theirs in (("viscous", "damping"), ("coulomb", "friction")):
            value = self.number(element, dynamics, theirs, 0.0) or 0.0
            if value < 0:
                self.mend(element, f"friction.{ours} is {value}; it must not be negative", "it is left out", node)
            elif value:
                friction[ours] = value
        return {"friction": friction} if friction else {}

    def mimic(self, element: str, node: XmlNode) -> Plain:
        tag = node.first("mimic")
        if tag is None:
            return {}
        leader = tag.attributes.get("joint", "")
        ratio = self.number(element, tag, "multiplier", 1.0)
        offset = self.number(element, tag, "offset", 0.0)
        data = {"joint": self.words["joint"].get(leader, leader), "ratio": ratio, "offset": offset}
        self.check(element, Mimic, data, tag)
        return {"mimic": data}

    def followers(self, joints: Sequence[UrdfJoint]) -> list[UrdfJoint]:
        """The joints; those that follow what does not move, or each other in a circle, get coordinates of their own."""
        leaders = {joint.name: joint.joint["mimic"]["joint"] for joint in joints if "mimic" in joint.joint}
        moving = {joint.name for joint in joints if joint.joint["type"] in MOVING}
        out = []
        for joint in joints:
            leader, seen = leaders.get(joint.name), {joint.name}
            while leader in leaders and leader not in seen:
                seen.add(leader)
                leader = leaders[leader]
            if "mimic" in joint.joint and (leader in seen or leader not in moving):
                given = joint.joint["mimic"]["joint"]
                wrong = "they follow each other" if leader in seen else "there is no moving joint of that name"
                remedy = "it has a coordinate of its own"
                place = XmlNode("mimic", {}, joint.line)
                self.mend(f"joint '{joint.name}'", f"it mimics '{given}', but {wrong}", remedy, place)
                own = {key: value for key, value in joint.joint.items() if key != "mimic"}
                joint = UrdfJoint(joint.name, joint.line, joint.parent, joint.child, joint.placement, own)
            out.append(joint)
        self.stop()
        return out

    # ------------------------------------------------------------ the tree

    def in_rows(self, urdf: Urdf) -> tuple[list[UrdfLink], list[UrdfJoint]]:
        """Links and joints with planar joints taken apart."""
        links, joints = dict(urdf.links), []
        taken = {*urdf.links, *(joint.name for joint in urdf.inboard.values())}
        for joint in urdf.inboard.values():
            if joint.joint["type"] != "planar":
                joints.append(joint)
                continue
            parts = planar(joint.joint["axis"])
            name = joint.name
            while any(f"{name}_{part}" in taken for part in parts):
                name += "_"
            for parent, child, place, own in chain(name, parts, joint.parent, joint.child, joint.placement):
                joints.append(UrdfJoint(own["name"], joint.line, parent, child, place, own))
                if child != joint.child:
                    links[child] = UrdfLink(child, joint.line, None)
        return list(links.values()), joints

    def distinct(self, kind: str, items: Sequence[UrdfLink] | Sequence[UrdfJoint]) -> None:
        seen: dict[str, UrdfLink | UrdfJoint] = {}
        for item in items:
            if item.name and seen.setdefault(item.name, item) is not item:
                message = f"the name is taken by the {kind} of line {seen[item.name].line}; names must differ"
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
        return self.words["link"].get(name, name)


def _body(mass: float, com: list[float], I_G: Array) -> Plain:
    entries = [I_G[0, 0], I_G[1, 1], I_G[2, 2], I_G[0, 1], I_G[0, 2], I_G[1, 2]]
    return {"mass": mass, "com": com, "inertia": [float(entry) for entry in entries]}


def _infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


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
