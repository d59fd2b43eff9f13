"""Robot files in YAML: reading with all problems and their lines at once, and writing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from pliant.errors import ModelError, Problem
from pliant.files import content_of
from pliant.model.description.robot import Robot
from pliant.model.element import Element, Path, model_error
from pliant.model.readers.yaml_data import LARGEST_FILE, ROBOT, Content, line_at, parse

E = TypeVar("E", bound=Element)

# collections of plain values that fit into this many characters are written in one line
ONE_LINE = 88
NEVER_FOLD = 10**9
# whole numbers up to here are written with all their digits
WHOLE = 1e12


@dataclass(frozen=True, slots=True)
class Document:
    """The data of a file, with their lines, before they are made into a robot."""

    file: str
    data: Any
    problems: list[Problem] = field(default_factory=list)

    def build(
        self,
        kind: type[E],
        prepare: Callable[[Any], Any] | None = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> E:
        """The element that the data describe; `prepare` may rewrite the data first (dh tables, overlays).

        `context` is what the readings of single values may ask for. All problems come in one ModelError, in the
        order of their lines.
        """
        data, problems = self.data, list(self.problems)
        try:
            if prepare is not None:
                data = prepare(data)
            built: E = kind.__pydantic_validator__.validate_python(data, context={"units": True, **(context or {})})
        except ValidationError as error:
            problems.extend(
                model_error(error, data, kind, lambda path, missing: self.place(data, path, missing)).problems
            )
        except ModelError as error:
            problems.extend(p if p.file else p.at(self.file, p.line) for p in error.problems)
        if problems:
            raise ModelError(sorted(problems, key=lambda problem: problem.line or sys.maxsize))
        return built

    def place(self, data: Any, path: Path, missing: bool) -> tuple[str, int | None]:
        """File and line of a path; a missing key is looked for where its mapping begins."""
        return self.file, line_at(data, path[:-1] if missing else path)


def read_document(path: str | os.PathLike[str], what: Content = ROBOT) -> Document:
    """The data of a YAML file."""
    file = os.fspath(path)
    return parse_document(content_of(file, LARGEST_FILE), file, what)


def parse_document(content: bytes | str, file: str, what: Content = ROBOT) -> Document:
    """The data of a YAML text; `file` is what errors call it."""
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    data, problems = parse(raw, file, what)
    return Document(file, data, problems)


def read_robot(path: str | os.PathLike[str]) -> Robot:
    """The robot in a YAML file."""
    folder = os.path.dirname(os.fspath(path))
    return read_document(path).build(Robot, _expanded(folder), context={"folder": folder})


def read_text(content: bytes | str, file: str = "text") -> Robot:
    """The robot in a YAML text."""
    folder = os.path.dirname(file)
    return parse_document(content, file).build(Robot, _expanded(folder), context={"folder": folder})


def _expanded(folder: str) -> Callable[[Any], Any]:
    """Tables and URDF files become ordinary links before the data are checked."""
    from pliant.model.readers.importers import imported

    return lambda data: imported(data, folder)


# ---------------------------------------------------------------- writing


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
    import io

    from ruamel.yaml import YAML

    yaml = YAML()
    # folding a long text may lose spaces
    yaml.width = NEVER_FOLD
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(_styled(to_data(robot)), stream)
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
