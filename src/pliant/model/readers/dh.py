"""Denavit-Hartenberg tables: the ``dh:`` block of a robot file becomes ordinary joints.

Three conventions, each a product of turns R and shifts T about the moved axes. B is the link frame: the joint
comes before it, and a beam lies along its x axis.

standard   Rz(theta) Tz(d) | B | Tx(a) Rx(alpha)                  a, alpha, d, theta
           the tip of a rigid link is frame i of the table; behind a beam alpha belongs to the next joint
saha       Rz(theta) Tz(b) Rx(alpha) | B | Tx(a)                  a, alpha, b, theta
           the same product; with the index i on a and alpha the bending axes of the beam itself are twisted
modified   Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r) | B    gamma, b, alpha, d, theta, r
           from the frame of the antecedent; B is frame j itself (Khalil), so trees and loops are possible

``theta`` (``d``, ``b`` or ``r`` of a prismatic joint) is the offset that is added to the joint coordinate.
A missing number is zero. The length of a beam or rigid link may be left out where ``a`` says it.

    dh:
      convention: modified
      rows:
        - {link: upper, joint: shoulder, alpha: 90 deg}
        - {link: fore, joint: elbow, d: 0.5 m, type: revolute}
        - {index: 7, antecedent: upper, sigma: 0, mu: 0, link: rod, joint: pin}
        - {frame: cut, antecedent: 7, d: 0.3 m}           # a frame on link `rod`, for the closure of a loop

link        the link that the row moves; it stands in ``links:`` with its mass and stiffness
frame       instead of link, modified only: a frame on the antecedent, to be named in ``loops:``
joint       name of the joint; motor, friction and so on stay in ``links:``
type        revolute (default), prismatic or fixed; or ``sigma``: 0, 1, 2 in a modified table
mu          1 driven, 0 passive, in a modified table
antecedent  link before this one: its name, its index, 0 or base, or LINK.FRAME; default: the row before
index       what other rows call this one; default: 1, 2, 3, ...
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import PydanticCustomError

from pliant.errors import ModelError, Problem, did_you_mean, listing, show
from pliant.model.readers.attach import SAME, Plain, bends, body_of, length_of, line_of, placement, quantity, seat

# the numbers of each convention
CONVENTIONS: dict[str, tuple[str, ...]] = {
    "standard": ("a", "alpha", "d", "theta"),
    "modified": ("gamma", "b", "alpha", "d", "theta", "r"),
    "saha": ("a", "alpha", "b", "theta"),
}
ANGLES = ("alpha", "theta", "gamma")
TYPES = ("revolute", "prismatic", "fixed")
WORDS = ("link", "joint", "type", "antecedent", "index")
MODIFIED_WORDS = ("frame", "sigma", "mu")


@dataclass(frozen=True, slots=True)
class DHRow:
    """One checked row; `antecedent` is None where the row does not say it."""

    place: int
    index: int | str
    link: str | None
    frame: str | None
    joint: str | None
    type: str
    actuated: bool | None
    antecedent: int | str | None
    numbers: Mapping[str, float]

    @property
    def label(self) -> str:
        return f"dh.rows[{self.place}] '{self.link or self.frame}'"

    def __getitem__(self, key: str) -> float:
        return self.numbers.get(key, 0.0)


@dataclass(slots=True)
class Problems:
    """What is wrong so far."""

    found: list[Problem] = field(default_factory=list)

    def add(self, element: str, message: str, node: Any = None, key: Any = None) -> None:
        self.found.append(Problem(element, message, line=line_of(node, key)))

    def stop(self) -> None:
        if self.found:
            raise ModelError(self.found)


def read_table(block: Any, problems: Problems, data: Any) -> tuple[str, list[DHRow]]:
    """The convention and the rows of a ``dh`` block; what is wrong with it goes to `problems`."""
    if not isinstance(block, Mapping):
        problems.add("dh", f"is {show(block)}; it must be a mapping with convention and rows", data, "dh")
        return "", []
    for key in block:
        if key not in ("convention", "rows"):
            problems.add("dh", f"unknown key '{key}'{did_you_mean(key, ('convention', 'rows'))}", block, key)
    convention = block.get("convention")
    if not isinstance(convention, str) or convention not in CONVENTIONS:
        hint = did_you_mean(convention, CONVENTIONS)
        message = f"convention is {show(convention)}; it must be {listing(CONVENTIONS)}{hint}"
        problems.add("dh", message, block, "convention")
        return "", []
    rows = block.get("rows")
    if not isinstance(rows, list) or not rows:
        problems.add("dh", f"rows is {show(rows)}; it must be a list with one row per joint", block, "rows")
        return convention, []
    readers = (_Reader(place, row, convention, problems, rows) for place, row in enumerate(rows))
    return convention, [reader.read() for reader in readers]


@dataclass(slots=True)
class _Reader:
    """The reading of one row."""

    place: int
    row: Any
    convention: str
    problems: Problems
    rows: Any

    def read(self) -> DHRow:
        row, modified = self.row, self.convention == "modified"
        if not isinstance(row, Mapping):
            example = "{link: upper, joint: shoulder, alpha: 90 deg}"
            message = f"is {show(row)}; it must be a mapping such as {example}"
            self.problems.add(self.element, message, self.rows)
            return DHRow(self.place, self.place + 1, None, None, None, "fixed", None, None, {})
        known = (*WORDS, *(MODIFIED_WORDS if modified else ()), *CONVENTIONS[self.convention])
        for key in row:
            if key not in known:
                hint = did_you_mean(key, known) or f"; a {self.convention} row has {', '.join(known)}"
                self.complain(key, f"unknown key {show(key)}{hint}")
        link, frame = self.name("link"), self.name("frame") if modified else None
        if "link" in row and modified and "frame" in row:
            self.complain("frame", "link and frame are given; a row moves a link or marks a frame")
        elif "link" not in row and not (modified and "frame" in row):
            self.complain("link", "key 'link' is missing: the link that the row moves")
        kind = self.type(modified)
        actuated = self.choice("mu", {0: False, 1: True}) if modified else None
        if kind == "fixed" and actuated:
            self.complain("mu", "mu is 1; a fixed joint cannot be driven")
        numbers = {key: self.number(key) for key in CONVENTIONS[self.convention] if key in row}
        index = self.reference("index")
        index = self.place + 1 if index is None else index
        antecedent = self.reference("antecedent")
        return DHRow(self.place, index, link, frame, self.name("joint"), kind, actuated, antecedent, numbers)

    @property
    def element(self) -> str:
        name = self.row.get("link", self.row.get("frame")) if isinstance(self.row, Mapping) else None
        return f"dh.rows[{self.place}]" + (f" '{name}'" if isinstance(name, str) else "")

    def complain(self, key: Any, message: str) -> None:
        self.problems.add(self.element, message, self.row, key)

    def name(self, key: str) -> str | None:
        value = self.row.get(key)
        if isinstance(value, str):
            return value
        if key in self.row:
            self.complain(key, f"{key} is {show(value)}; it must be a name")
        return None

    def reference(self, key: str) -> int | str | None:
        value = self.row.get(key)
        if value is None or (isinstance(value, int | str) and not isinstance(value, bool)):
            return value
        self.complain(key, f"{key} is {show(value)}; it must be a whole number or a name")
        return None

    def choice(self, key: str, options: Mapping[Any, Any]) -> Any:
        value = self.row.get(key)
        if key not in self.row:
            return None
        if isinstance(value, bool) or not isinstance(value, int | str) or value not in options:
            allowed = " or ".join(str(option) for option in options)
            self.complain(key, f"{key} is {show(value)}; it must be {allowed}{did_you_mean(value, TYPES)}")
            return None
        return options[value]

    def type(self, modified: bool) -> str:
        by_type = self.choice("type", {name: name for name in TYPES})
        by_sigma = self.choice("sigma", dict(enumerate(TYPES))) if modified else None
        if by_type and by_sigma and by_type != by_sigma:
            self.complain("sigma", f"sigma says {by_sigma} and type says {by_type}; give one of them")
        return str(by_type or by_sigma or "revolute")

    def number(self, key: str) -> float:
        try:
            return quantity(self.row[key], "rad" if key in ANGLES else "m")
        except PydanticCustomError as error:
            self.complain(key, f"{key} {error.message()}")
            return 0.0


# the shift along the joint axis
SHIFT = {"standard": "d", "modified": "r", "saha": "b"}
# keys of a joint that the table decides
DECIDED = ("type", "parent", "placement", "child_placement", "axis")

Turns = list[tuple[str, float]]


def expand_dh(data: Any, folder: str = ".") -> Any:
    """Turn the ``dh`` block of a robot's plain data into the ``joint`` of each link that a row names.

    Pure: the data are not changed; the result is a copy without ``dh``, and data without that block come back
    as they are. Numbers may carry units. Raises ModelError with all problems of the table, each with its line
    where the data remember it.
    """
    if not isinstance(data, dict) or "dh" not in data:
        return data
    out = data.copy()
    block = out.pop("dh")
    links = out.get("links")
    problems = Problems()
    convention, rows = read_table(block, problems, data)
    problems.stop()
    # links that are no list of mappings are the reader's to complain about
    if isinstance(links, list) and all(isinstance(link, dict) for link in links):
        # copies keep the lines of the file
        moved = links.copy()
        moved[:] = [link.copy() for link in links]
        _Table(convention, rows, moved, block["rows"], problems).expand()
        problems.stop()
        out["links"] = moved
    return out


@dataclass(slots=True)
class _Table:
    """The rows of one table and the links that they move."""

    convention: str
    rows: list[DHRow]
    links: list[Plain]
    raw: list[Any]
    problems: Problems
    by_name: dict[str, Plain] = field(default_factory=dict)
    by_index: dict[int | str, DHRow] = field(default_factory=dict)
    by_link: dict[str, DHRow] = field(default_factory=dict)

    def expand(self) -> None:
        """Write the joints into the links."""
        self.by_name = {link["name"]: link for link in self.links if isinstance(link.get("name"), str)}
        for row in self.rows:
            self._register(row)
        self.problems.stop()
        if self.convention != "modified":
            for name, row in self.by_link.items():
                self._set_tip(row, self.by_name[name])
        before: DHRow | None = None
        followed = set()
        for row in self.rows:
            parent, frame = self._antecedent(row, before)
            followed.add(parent)
            if row.link is None:
                self._mark(row, parent, frame)
            else:
                self._move(row, self.by_name[row.link], parent, frame)
                before = row
        for name, row in self.by_link.items():
            link, alpha = self.by_name[name], row["alpha"]
            if self.convention == "standard" and name not in followed and alpha and "beam" in link:
                # the last frame of the table, which is the tip of the beam turned by alpha
                end = {"name": "end", "x": row["a"], **_placement((0.0, 0.0, 0.0), [("x", alpha)])}
                self._add_frame(row, link, end)

    def complain(self, row: DHRow, message: str, key: str | None = None) -> None:
        self.problems.add(row.label, message, self.raw[row.place], key)

    def _register(self, row: DHRow) -> None:
        if row.link is not None:
            if row.link not in self.by_name:
                hint = did_you_mean(row.link, self.by_name) or "; every row needs its link there"
                self.complain(row, f"link '{row.link}' does not stand in links{hint}", "link")
            elif row.link in self.by_link:
                other = self.by_link[row.link].place
                self.complain(row, f"link '{row.link}' is moved by dh.rows[{other}] already", "link")
            self.by_link.setdefault(row.link, row)
        if row.index in self.by_index:
            self.complain(row, f"index {show(row.index)} belongs to another row already", "index")
        self.by_index.setdefault(row.index, row)

    def _set_tip(self, row: DHRow, link: Plain) -> None:
        """The tip of a link is frame i of the table; the twist of a beam is left to the next joint."""
        body, a = body_of(link), row["a"]
        alpha = row["alpha"] if self.convention == "standard" else 0.0
        if body is not None and ("length" in link[body] or "segments" in link[body]):
            length = length_of(link)
            if length is not None and abs(length - a) > SAME * max(abs(a), abs(length)):
                long = f"the {body} in links is {length:g} m long"
                self.complain(row, f"a is {a:g} m but {long}; they must agree (leave one out)", "a")
        elif body == "beam" or (body == "rigid" and a):
            link[body] = link[body].copy()
            link[body]["length"] = a
        if not bends(link) and (alpha or (body is None and a)):
            if body is not None:
                # the tip is a frame of its own then
                link[body] = link[body].copy()
                link[body].pop("length", None)
            self._add_frame(row, link, {"name": "tip", **_placement((a, 0.0, 0.0), [("x", alpha)])})

    def _antecedent(self, row: DHRow, before: DHRow | None) -> tuple[str, str | None]:
        """Link (or base) before the row, and the frame on it if the row names one."""
        name = row.antecedent
        if name is None:
            return (before.link if before is not None and before.link else "base"), None
        if name in (0, "base"):
            return "base", None
        if name in self.by_index:
            link, frame = self.by_index[name].link, ""
            if link is None:
                self.complain(row, f"antecedent {show(name)} is a frame; it must be a link", "antecedent")
                return "base", None
        else:
            link, _, frame = str(name).partition(".")
            if link not in self.by_name and link != "base":
                known = [*self.by_name, *(str(index) for index in self.by_index)]
                hint = did_you_mean(name, known) or "; it must be 0, base, an index or the name of a link"
                self.complain(row, f"antecedent {show(name)} is unknown{hint}", "antecedent")
        if link == row.link:
            self.complain(row, f"antecedent {show(name)} is the row's own link", "antecedent")
        return link, frame or None

    def _move(self, row: DHRow, link: Plain, parent: str, frame: str | None) -> None:
        """Write the joint of a link."""
        joint = {} if link.get("joint") is None else link["joint"]
        if not isinstance(joint, dict):
            return  # the reader says what a joint must be
        name = link["name"]
        if taken := [key for key in DECIDED if key in joint]:
            both = f"the joint of links '{name}' gives {' and '.join(taken)} too"
            self.complain(row, f"{both}; the dh table decides, leave it out there")
        if row.joint is not None and joint.get("name", row.joint) != row.joint:
            self.complain(row, f"joint is '{row.joint}' here and {show(joint['name'])} in links", "joint")
        if row.actuated is not None and joint.get("actuated", row.actuated) != row.actuated:
            self.complain(row, f"mu contradicts the actuated of links '{name}'; give one of them", "mu")
        turns: Turns = [("z", row["theta"])]
        if self.convention == "saha":
            turns.append(("x", row["alpha"]))
        where, before = self._seat(row, parent, frame)
        after = _placement((0.0, 0.0, row[SHIFT[self.convention]]), turns)
        new = joint.copy()
        new.update({"type": row.type, "parent": where})
        if row.joint is not None:
            new["name"] = row.joint
        if row.type != "fixed":
            new["axis"] = "z"
            if row.actuated is not None:
                new["actuated"] = row.actuated
        if before:
            new["placement"] = before
        if after:
            new["child_placement"] = after
        link["joint"] = new

    def _seat(self, row: DHRow, parent: str, frame: str | None) -> tuple[str, Plain]:
        """The frame that carries the joint of a row, and the joint frame in it."""
        if self.convention == "modified":
            return self._on_link(row, parent, frame, *_khalil(row))
        if parent == "base" or frame is not None:
            return (f"{parent}.{frame}" if frame else parent), {}
        before = self.by_link.get(parent)
        twisted = before is not None and self.convention == "standard" and bends(self.by_name[parent])
        alpha = before["alpha"] if before is not None and twisted else 0.0
        return f"{parent}.tip", _placement((0.0, 0.0, 0.0), [("x", alpha)])

    def _on_link(
        self, row: DHRow, parent: str, frame: str | None, position: list[float], turns: Turns
    ) -> tuple[str, Plain]:
        """A place in the frame of a link, as a placement in the frame that carries it."""
        if parent == "base" or frame is not None:
            return (f"{parent}.{frame}" if frame else parent), _placement(position, turns)
        link = self.by_name.get(parent, {})
        if bends(link) and length_of(link) is None:
            self.complain(row, f"stands on '{parent}', whose length cannot be read; give it in links")
            return f"{parent}.tip", {}
        name, offset, new = seat(link, position, f"at_{row.joint or row.link}")
        if new is not None and "beam" not in link:
            self.complain(row, f"stands inside '{parent}'; name a frame of it as antecedent, {parent}.FRAME")
        elif new is not None:
            self._add_frame(row, link, new)
        return f"{parent}.{name}", _placement(offset, turns)

    def _mark(self, row: DHRow, parent: str, frame: str | None) -> None:
        """Put a frame on the antecedent."""
        link = self.by_name.get(parent)
        if link is None or frame is not None:
            self.complain(row, "a frame row needs a link as antecedent", "antecedent")
            return
        if row.joint is not None or row.type == "prismatic" or row.actuated:
            self.complain(row, "a frame does not move; leave joint, sigma and mu out")
        position, turns = _khalil(row)
        # the shift r goes along the z axis of Rz(gamma) Rx(alpha)
        s = math.sin(row["alpha"])
        up = (s * math.sin(row["gamma"]), -s * math.cos(row["gamma"]), math.cos(row["alpha"]))
        position = [p + row["r"] * u for p, u in zip(position, up, strict=True)]
        new: Plain = {"name": row.frame}
        if "beam" in link:
            length = length_of(link)
            if length is None:
                self.complain(row, f"stands on '{parent}', whose length cannot be read; give it in links")
                return
            new["x"] = min(max(position[0], 0.0), length)
            position[0] -= new["x"]
        self._add_frame(row, link, {**new, **_placement(position, [*turns, ("z", row["theta"])])})

    def _add_frame(self, row: DHRow, link: Plain, frame: Plain) -> None:
        frames = link.get("frames") or []
        if not isinstance(frames, list):
            return  # the reader says what frames must be
        if any(isinstance(other, Mapping) and other.get("name") == frame["name"] for other in frames):
            self.complain(row, f"link '{link['name']}' has a frame '{frame['name']}' already; rename it")
            return
        link["frames"] = [*frames, frame]


def _khalil(row: DHRow) -> tuple[list[float], Turns]:
    """Position and turns of Rz(gamma) Tz(b) Rx(alpha) Tx(d)."""
    gamma, d = row["gamma"], row["d"]
    # no rounding in the usual case: zeros are structure for the dynamics
    position = [d * math.cos(gamma), d * math.sin(gamma), row["b"]] if gamma else [d, 0.0, row["b"]]
    return position, [("z", gamma), ("x", row["alpha"])]


def _placement(position: Any, turns: Turns) -> Plain:
    return placement(position, [{axis: angle} for axis, angle in turns if angle])
