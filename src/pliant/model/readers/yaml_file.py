"""Robot files in YAML: read with all problems and their lines at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from pliant.errors import ModelError, Problem
from pliant.files import content_of
from pliant.model.description.robot import Robot
from pliant.model.element import Element, Path, model_error
from pliant.model.readers.yaml_data import LARGEST_FILE, ROBOT, Content, line_at, parse

E = TypeVar("E", bound=Element)


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
