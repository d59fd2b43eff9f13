"""YAML text to plain data that remember their lines; any bytes give data or a ModelError, and quickly.

The text is taken apart by ruamel's parser; the data are built here, because every key and value needs its
line, and because aliases, depth and size must be bounded before anything is built. Robots are written here too: what
is written reads as an equal robot.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pydantic_core import PydanticSerializationError

from pliant.errors import ModelError, Problem, show

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot

LARGEST_FILE = 5_000_000
MOST_NODES = 100_000
DEEPEST_NESTING = 40
LONGEST_INTEGER = 30

_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]{1,20}|0x[0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SPECIAL = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_CORE = "tag:yaml.org,2002:"
_KNOWN_TAGS = {f"{_CORE}{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}
MERGE = "<<"


class Content(NamedTuple):
    """What a file should hold: its name, and the keys that it cannot do without."""

    name: str
    keys: tuple[str, ...]

    @property
    def needs(self) -> str:
        return f"a {self.name} needs {' and '.join(self.keys)}"


ROBOT = Content("robot", ("name", "links"))


@dataclass(slots=True)
class Marks:
    """The lines of a mapping or list, counted from zero, with the interface of ruamel's own containers."""

    line: int
    lines: dict[Any, int] = field(default_factory=dict)

    def key(self, key: Any) -> tuple[int, int]:
        """Line and column of a key of a mapping."""
        return self.lines[key], 0

    item = key


class MarkedDict(dict[str, Any]):
    """A mapping that remembers its lines in `lc`."""

    __slots__ = ("lc",)

    def __init__(self, content: Any, lc: Marks) -> None:
        super().__init__(content)
        self.lc = lc

    def copy(self) -> MarkedDict:
        return MarkedDict(self, self.lc)


class MarkedList(list[Any]):
    """A list that remembers its lines in `lc`."""

    __slots__ = ("lc",)

    def __init__(self, content: Any, lc: Marks) -> None:
        super().__init__(content)
        self.lc = lc

    def copy(self) -> MarkedList:
        return MarkedList(self, self.lc)


def line_at(data: Any, path: tuple[int | str, ...]) -> int | None:
    """The line (counted from one) of the value at a path; steps that the file does not have are skipped."""
    line: int | None = None
    marks = getattr(data, "lc", None)
    if marks is not None:
        line = marks.line
    for step in path:
        found = step in data if isinstance(data, dict) else False
        if isinstance(data, list) and isinstance(step, int):
            found = 0 <= step < len(data)
        if not found:
            continue
        marks = getattr(data, "lc", None)
        if marks is not None and step in marks.lines:
            line = marks.lines[step]
        data = data[step]
    return None if line is None else line + 1


def parse(content: bytes, file: str, what: Content = ROBOT) -> tuple[Any, list[Problem]]:
    """The data of a YAML text and its milder problems (such as a key given twice); raises ModelError."""
    if len(content) > LARGEST_FILE:
        raise ModelError(Problem("", f"the file is larger than {LARGEST_FILE // 1_000_000} MB; it is not read", file))
    builder = _Builder(file, what)
    for event in _events(_decode(content, file), file):
        builder.take(event)
    return builder.finish(), builder.problems


def _decode(content: bytes, file: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        why = f"byte 0x{content[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        raise ModelError(Problem("", why, file, line)) from None
    if (strange := _CONTROL.search(text)) is not None:
        line = text.count("\n", 0, strange.start()) + 1
        why = f"character {strange[0]!r} does not belong in a text file; is this a binary file?"
        raise ModelError(Problem("", why, file, line))
    return text


def _events(text: str, file: str) -> Iterator[Any]:
    """The events of ruamel's parser, its errors put into our words."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except ModelError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise ModelError(Problem("", _yaml_problem(error, text, line), file, line)) from None
    except (YAMLError, ValueError, LookupError, AttributeError, TypeError, AssertionError) as error:
        # the parser stumbles in its own ways over broken directives, escapes and characters
        why = str(error).partition("\n")[0][:100]
        raise ModelError(Problem("", f"the text is not YAML: {why}", file)) from None


def _yaml_problem(error: Any, text: str, line: int | None) -> str:
    problem = str(error.problem or error.context or "it cannot be read").partition("\n")[0][:160]
    lines = text.split("\n")
    here = lines[line - 1] if line is not None and line <= len(lines) else ""
    if "\\t" in problem or "\t" in here[: len(here) - len(here.lstrip())]:
        return "a tab stands in the indentation; YAML wants spaces"
    if "mapping values are not allowed" in problem:
        return "a ':' stands in the wrong place; check the indentation, or put the text in quotes"
    return f"the text is not YAML: {problem}"


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not come yet."""

    content: dict[str, Any] | list[Any]
    lc: Marks
    anchor: str | None
    size: int = 1
    depth: int = 1
    key: str | None = None
    key_line: int = 0
    awaits_key: bool = True
    merging: bool = False
    merged: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class _Builder:
    """Data from parser events, on a stack instead of by recursion."""

    file: str
    what: Content
    problems: list[Problem] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    # value, size and depth of what an alias stands for; None while it is still open
    anchors: dict[str, tuple[Any, int, int] | None] = field(default_factory=dict)
    nodes: int = 0
    documents: int = 0
    root: Any = None
    root_line: int = 0

    def fail(self, message: str, line: int | None) -> NoReturn:
        where = None if line is None else line + 1
        raise ModelError([*self.problems, Problem("", message, self.file, where)])

    def warn(self, message: str, line: int) -> None:
        self.problems.append(Problem("", message, self.file, line + 1))

    def finish(self) -> Any:
        if self.documents == 0 or self.root is None:
            raise ModelError(Problem("", f"the file is empty; {self.what.needs}", self.file))
        if not isinstance(self.root, MarkedDict):
            kind = "a list" if isinstance(self.root, list) else show(self.root)
            keys = ", ".join(f"{key}: ..." for key in self.what.keys)
            self.fail(f"the file is {kind}; it must be a mapping of keys ({keys})", self.root_line)
        return self.root

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        line = event.start_mark.line if event.start_mark is not None else 0
        if kind == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                self.fail(f"a second document starts here ('---'); a file holds one {self.what.name}", line)
        elif kind == "AliasEvent":
            self.alias(event.anchor, line)
        elif kind == "ScalarEvent":
            self.scalar(event, line)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self.open(event, line, {} if kind == "MappingStartEvent" else [])
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self.close()

    def count(self, line: int) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            self.fail(f"the file holds more than {MOST_NODES} values; it is not read", line)

    def alias(self, anchor: str, line: int) -> None:
        self.count(line)
        if anchor not in self.anchors:
            self.fail(f"the alias '*{anchor}' has no anchor '&{anchor}' before it", line)
        target = self.anchors[anchor]
        if target is None:
            self.fail(f"the alias '*{anchor}' stands inside its own anchor", line)
        self.put(*target, line)

    def scalar(self, event: Any, line: int) -> None:
        self.count(line)
        tag = self.tag(event, line)
        plain = event.style is None and tag != f"{_CORE}str"
        if self.stack and isinstance(self.stack[-1].content, dict) and self.stack[-1].awaits_key:
            if event.anchor:
                self.anchors[str(event.anchor)] = (event.value, 1, 0)
            self.key(event.value, line, merge=plain and event.value == MERGE)
            return
        value = _resolve(event.value) if plain else event.value
        if event.anchor:
            self.anchors[str(event.anchor)] = (value, 1, 0)
        self.put(value, 1, 0, line)

    def tag(self, event: Any, line: int) -> str | None:
        tag = getattr(event, "tag", None)
        if tag is None or tag == "!" or str(tag) in _KNOWN_TAGS:
            return None if tag is None else str(tag)
        self.warn(f"the tag '{str(tag)[:60]}' is not allowed; write plain values", line)
        return str(tag)

    def open(self, event: Any, line: int, content: dict[str, Any] | list[Any]) -> None:
        self.count(line)
        self.tag(event, line)
        if self.stack and isinstance(self.stack[-1].content, dict) and self.stack[-1].awaits_key:
            self.fail("a key must be a word, not a list or a mapping", line)
        if len(self.stack) >= DEEPEST_NESTING:
            self.fail(f"the values are nested more than {DEEPEST_NESTING} deep", line)
        anchor = str(event.anchor) if event.anchor else None
        if anchor:
            self.anchors[anchor] = None
        self.stack.append(_Open(content, Marks(line), anchor))

    def close(self) -> None:
        top = self.stack.pop()
        value: MarkedDict | MarkedList
        if isinstance(top.content, dict):
            self.merge(top)
            value = MarkedDict(top.content, top.lc)
        else:
            value = MarkedList(top.content, top.lc)
        if top.anchor:
            self.anchors[top.anchor] = (value, top.size, top.depth)
        self.put(value, top.size, top.depth, top.lc.line)

    def key(self, key: Any, line: int, *, merge: bool = False) -> None:
        top = self.stack[-1]
        if not isinstance(key, str):
            self.fail(f"a key must be a word, not {show(key)}", line)
        if key in top.content and not merge:
            first = top.lc.lines[key] + 1
            self.warn(f"key '{key[:60]}' is given twice (first in line {first})", line)
        top.key, top.key_line, top.awaits_key, top.merging = key, line, False, merge

    def put(self, value: Any, size: int, depth: int, line: int) -> None:
        """Hand a finished value to the mapping or list around it."""
        if not self.stack:
            self.root, self.root_line = value, line
            return
        top = self.stack[-1]
        if isinstance(top.content, dict) and top.awaits_key:
            self.key(value, line)
            return
        top.size += size
        top.depth = max(top.depth, depth + 1)
        if top.size > MOST_NODES:
            self.fail(f"the aliases blow the file up to more than {MOST_NODES} values; it is not read", line)
        if top.depth > DEEPEST_NESTING:
            self.fail(f"the values are nested more than {DEEPEST_NESTING} deep", line)
        if isinstance(top.content, list):
            top.lc.lines[len(top.content)] = line
            top.content.append(value)
            return
        top.awaits_key = True
        if top.merging:
            self.queue_merge(top, value, line)
        elif top.key is not None:
            top.content[top.key] = value
            top.lc.lines[top.key] = top.key_line

    def queue_merge(self, top: _Open, value: Any, line: int) -> None:
        sources = value if isinstance(value, MarkedList) else [value]
        if not all(isinstance(source, MarkedDict) for source in sources):
            self.fail("'<<' takes the alias of a mapping, or a list of them", line)
        top.merged.extend(sources)

    def merge(self, top: _Open) -> None:
        """Fill in the keys of merged mappings; the mapping's own keys win, then earlier sources."""
        if isinstance(top.content, dict):
            for source in top.merged:
                for key, value in source.items():
                    if key not in top.content:
                        top.content[key] = value
                        top.lc.lines[key] = source.lc.lines[key]


def _resolve(text: str) -> Any:
    """The value of a plain scalar by the core schema of YAML 1.2."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= LONGEST_INTEGER else float(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    return _SPECIAL.get(text.lower(), text)


# ---------------------------------------------------------------- writing

# collections of plain values that fit into this many characters are written in one line
ONE_LINE = 88
NEVER_FOLD = 10**9
# whole numbers up to here are written with all their digits
WHOLE = 1e12


def to_data(robot: Robot) -> dict[str, Any]:
    """The robot as plain data, only with the keys that were given."""
    try:
        data = robot.model_dump(mode="json", exclude_unset=True, context={"materials": robot.materials})
    except PydanticSerializationError as error:
        raise ModelError(str(error).rpartition(": ")[2]) from None
    for material in data.get("materials", {}).values():
        material.pop("name", None)
    cleaned: dict[str, Any] = _tidy(data)
    return cleaned


def _tidy(value: Any) -> Any:
    """Names first, nothing empty, and whole numbers without a decimal point."""
    if isinstance(value, dict):
        names = {key: value[key] for key in ("name",) if key in value}
        return {key: _tidy(entry) for key, entry in {**names, **value}.items() if entry is not None}
    if isinstance(value, list):
        return [_tidy(entry) for entry in value]
    return int(value) if isinstance(value, float) and value == round(value) and abs(value) < WHOLE else value


def write_text(robot: Robot) -> str:
    """The robot as YAML; reading it again gives an equal robot."""
    return plain_text(to_data(robot))


def plain_text(data: Mapping[str, Any]) -> str:
    """Plain data as YAML."""
    import io

    from ruamel.yaml import YAML

    yaml = YAML()
    # folding a long text may lose spaces
    yaml.width = NEVER_FOLD
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(_styled(_tidy(dict(data))), stream)
    return stream.getvalue()


def _styled(value: Any) -> Any:
    """Short collections in flow style, so that a placement or a section stands in one line."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, str) and not value.isprintable():
        # line breaks of all kinds come back only if they are escaped
        return DoubleQuotedScalarString(value)
    styled: CommentedMap | CommentedSeq
    if isinstance(value, dict):
        styled = CommentedMap({key: _styled(entry) for key, entry in value.items()})
    elif isinstance(value, list):
        styled = CommentedSeq([_styled(entry) for entry in value])
    else:
        return value
    if _fits_one_line(value):
        styled.fa.set_flow_style()
    else:
        styled.fa.set_block_style()
    return styled


def _fits_one_line(value: Any) -> bool:
    """Rows of numbers do, and what is short; the robot and its links never."""
    if isinstance(value, list):
        if not any(isinstance(entry, dict | list | str) for entry in value):
            return True
        return len(str(value)) <= ONE_LINE and all(_fits_one_line(e) for e in value if isinstance(e, dict))
    return len(str(value)) <= ONE_LINE and not {"joint", "links"} & set(value)
