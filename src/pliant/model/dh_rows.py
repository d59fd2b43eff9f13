"""The rows of a Denavit-Hartenberg table, read and checked one by one (see `pliant.model.dh`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import PydanticCustomError

from pliant.errors import ModelError, Problem, did_you_mean, listing, show
from pliant.model.attach import line_of, quantity

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
