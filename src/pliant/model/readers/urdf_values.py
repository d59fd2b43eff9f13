"""XML read with care, and numbers, vectors, placements and planar joints from its attributes.

Line numbers are kept; document types, entities and oversized files are refused. What is wrong or was repaired is
listed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

import numpy as np

from pliant.errors import ModelError, Problem, show
from pliant.model.description.joints import axis_vector
from pliant.model.description.outline import BASE
from pliant.model.description.placement import Placement
from pliant.model.element import LONGEST_NAME, Array, Element
from pliant.model.readers.attach import Plain

LARGEST_FILE = 20_000_000  # bytes
DEEPEST = 100


@dataclass(slots=True)
class XmlNode:
    """An XML element: its tag, attributes, children, text and line."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[XmlNode] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """The words of its text."""
        return "".join(self.texts).split()

    def everywhere(self, tag: str) -> Iterator[XmlNode]:
        """All elements of a tag in it, in their order."""
        for child in self.children:
            if child.tag == tag:
                yield child
            yield from child.everywhere(tag)

    def all(self, tag: str) -> list[XmlNode]:
        """The children of a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> XmlNode | None:
        """The first child of a tag."""
        return next((child for child in self.children if child.tag == tag), None)


def parse_xml(content: bytes, file: str) -> XmlNode:
    """The root element of an XML file; raises ModelError with the line of whatever is wrong."""
    if len(content) > LARGEST_FILE:
        size, limit = len(content) / 1e6, LARGEST_FILE / 1e6
        raise ModelError(Problem("", f"the file has {size:.0f} MB; at most {limit:.0f} MB are read", file))
    parser = expat.ParserCreate()
    top = XmlNode("", {}, 0)
    stack = [top]

    def refuse(message: str) -> ModelError:
        return ModelError(Problem("", message, file, parser.CurrentLineNumber))

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > DEEPEST:
            raise refuse(f"elements are nested more than {DEEPEST} deep")
        node = XmlNode(tag, attributes, parser.CurrentLineNumber)
        stack[-1].children.append(node)
        stack.append(node)

    def end(tag: str) -> None:
        stack.pop()

    def declaration(*args: object) -> None:
        # entities can blow a small file up to gigabytes or read other files
        raise refuse("document types and entities are not read; remove the DOCTYPE")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: stack[-1].texts.append(text)
    parser.StartDoctypeDeclHandler = declaration
    parser.EntityDeclHandler = declaration
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ModelError(Problem("", f"this is not XML: {expat.ErrorString(error.code)}", file, error.lineno)) from None
    except (LookupError, UnicodeError) as error:
        raise refuse(f"the encoding cannot be read: {error}") from None
    except ValueError as error:
        if isinstance(error, ModelError):
            raise
        raise refuse(f"the encoding cannot be read: {error}") from None
    return top.children[0]


@dataclass(slots=True)
class ValueReader:
    """Reads values of XML elements; problems and repairs are collected with their lines.

    strict  whether what could be repaired is a problem instead
    """

    file: str
    strict: bool = False
    problems: list[Problem] = field(default_factory=list)
    repairs: list[Problem] = field(default_factory=list)

    # ------------------------------------------------------------ problems and repairs

    def complain(self, element: str, message: str, node: XmlNode) -> None:
        """Something that cannot be used."""
        self.problems.append(Problem(element, message, self.file, node.line))

    def mend(self, element: str, message: str, remedy: str, node: XmlNode) -> None:
        """Something that is repaired; a problem where the reading is strict."""
        if self.strict:
            self.complain(element, message, node)
        else:
            self.repairs.append(Problem(element, f"{message}; {remedy}", self.file, node.line))

    def faults(self, kind: type[Element], data: Plain) -> list[str]:
        """What the rules of our own classes say against data."""
        try:
            kind(**data)
        except ModelError as error:
            return [problem.message for problem in error.problems]
        return []

    def check(self, element: str, kind: type[Element], data: Plain, node: XmlNode) -> None:
        """The rules of our own classes, at the place in the file."""
        for message in self.faults(kind, data):
            self.complain(element, message, node)

    def stop(self) -> None:
        if self.problems:
            raise ModelError(self.problems)

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
            values = [float(part) for part in text.split()]
        except ValueError:
            values = []
        if len(values) != 3 or not all(math.isfinite(value) for value in values):
            message = f"{key} of <{node.tag}> is {show(text)}; it must be three finite numbers"
            self.complain(element, message, node)
            return list(default)
        return values

    def placement(self, element: str, node: XmlNode) -> Plain:
        """The <origin> of an element, without what is zero."""
        origin = node.first("origin")
        position = self.vector(element, origin, "xyz")
        angles = self.vector(element, origin, "rpy")
        place: Plain = {"position": position} if any(position) else {}
        if any(angles):
            place["rotation"] = {"rpy": angles}
        return place

    def origin(self, element: str, node: XmlNode) -> tuple[list[float], Array]:
        """Position and rotation matrix of an <origin>."""
        origin = node.first("origin")
        turn: Plain = {"rotation": {"rpy": self.vector(element, origin, "rpy")}}
        return self.vector(element, origin, "xyz"), Placement(**turn).matrix()


BASE_FRAME = "base_frame"
_STRANGE = re.compile(r"[^\w+-]+")


def word(name: str) -> str:
    """The nearest name that is a word: what is not a letter, digit, ``_``, ``+`` or ``-`` becomes ``_``."""
    plain = _STRANGE.sub("_", name).lstrip("+-")[:LONGEST_NAME]
    if plain == BASE:
        return BASE_FRAME
    return plain if re.search(r"\w", plain) else ""


def words(names: Iterable[str]) -> dict[str, str]:
    """A word for every name, all different; names that are words already keep theirs."""
    names = list(dict.fromkeys(names))
    kept = {name for name in names if word(name) == name}
    out: dict[str, str] = {}
    for name in names:
        plain = word(name)
        choice, k = plain, 2
        while name not in kept and choice and choice in kept:
            choice, k = f"{plain[: LONGEST_NAME - 8]}_{k}", k + 1
        kept.add(choice)
        out[name] = choice
    return out


# for a normal along an axis: the two directions of the plane, so that they and the normal are right-handed
_PLANES = {"x": ("y", "z"), "y": ("z", "x"), "z": ("x", "y"), "-x": ("z", "y"), "-y": ("x", "z"), "-z": ("y", "x")}


def planar(normal: str | list[float]) -> dict[str, tuple[str, str | list[float]]]:
    """Two slides in the plane and a turn about its normal: coordinate -> type and axis."""
    if isinstance(normal, str):
        first, second = _PLANES[normal]
        return {"x": ("prismatic", first), "y": ("prismatic", second), "turn": ("revolute", normal)}
    n = axis_vector((normal[0], normal[1], normal[2]))
    # the coordinate axis that the plane contains best, laid into it
    e = np.eye(3)[int(np.argmin(np.abs(n)))]
    u = e - (e @ n) * n
    u /= np.linalg.norm(u)
    w = np.cross(n, u)
    return {"x": ("prismatic", u.tolist()), "y": ("prismatic", w.tolist()), "turn": ("revolute", n.tolist())}


def chain(
    name: str, parts: dict[str, tuple[str, str | list[float]]], parent: str, child: str, placement: Plain
) -> Sequence[tuple[str, str, Plain, Plain]]:
    """(parent, child, placement, joint) of a row of joints ``NAME_PART``; links between are called alike."""
    rows = []
    last = list(parts)[-1]
    for part, (kind, axis) in parts.items():
        outer = child if part == last else f"{name}_{part}"
        rows.append((parent, outer, placement, {"name": f"{name}_{part}", "type": kind, "axis": axis}))
        parent, placement = outer, {}
    return rows
