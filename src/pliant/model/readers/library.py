"""Robots by name or path: those that come with the package, YAML files, URDF files, and other ways to write a robot.

Files are read with all problems and their lines at once. What an importer reads becomes ordinary links before the data
are checked: an importer is a function ``(data, folder) -> data`` in a module of its own, and its line in ``IMPORTERS``.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from pliant.errors import ModelError, Problem, did_you_mean, show
from pliant.files import content_of
from pliant.model.description.robot import Robot
from pliant.model.element import Element, model_error
from pliant.model.element import Path as KeyPath
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

    def place(self, data: Any, path: KeyPath, missing: bool) -> tuple[str, int | None]:
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

    return lambda data: imported(data, folder)


# ---- library


FOLDER = Path(__file__).resolve().parents[2] / "robots"
YAML_ENDINGS = (".yaml", ".yml")
URDF_ENDING = ".urdf"
# what else may hold a URDF, or what its reader has an answer to
XML_ENDINGS = (URDF_ENDING, ".xml", ".xacro", ".mjcf", ".sdf")

_DESCRIPTION = re.compile(r"^description: *(.+?) *$", re.MULTILINE)


class BundledRobot(NamedTuple):
    """A robot that comes with the package."""

    name: str
    description: str


def robots() -> list[BundledRobot]:
    """The robots that come with the package, by name, each with one line that says what it is."""
    return list(_bundled())


@lru_cache(maxsize=1)
def _bundled() -> tuple[BundledRobot, ...]:
    found = []
    for file in sorted(FOLDER.glob("*.yaml")):
        # one line of each file is wanted; a YAML parser would take a hundred times as long
        match = _DESCRIPTION.search(file.read_text(encoding="utf-8"))
        found.append(BundledRobot(file.stem, match[1] if match else ""))
    return tuple(found)


def load(
    name_or_path: str | os.PathLike[str],
    overlay: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    strict: bool = False,
) -> Robot:
    """Load a robot by the name of a bundled one or from a file.

    name_or_path  a name of `robots()`, or the path of a .yaml, .yml or .urdf file
    overlay       for a URDF file: a robot file, or a mapping like one, that says which of its links bend, or what
                  is called its tip: {"tip": "tool0"}
    strict        refuse what would be repaired in a URDF file; else a RepairWarning tells every repair

    Whatever is wrong is reported as one ModelError with all problems and their lines.
    """
    if not isinstance(name_or_path, str | os.PathLike) or isinstance(os.fspath(name_or_path), bytes):
        raise ModelError(f"a robot is loaded by its name or path, not by {show(name_or_path)}")
    text = os.fspath(name_or_path)
    path = _find(text)
    if path.suffix.lower() in XML_ENDINGS:
        return _load_urdf(path, overlay, strict)
    if overlay is not None:
        raise ModelError(Problem("", "an overlay needs a URDF file; this one can be edited itself", text))
    if path.suffix.lower() not in YAML_ENDINGS:
        endings = ", ".join((*YAML_ENDINGS, URDF_ENDING))
        raise ModelError(Problem("", f"the name of a robot file must end in one of {endings}", text))
    if path.parent == FOLDER:
        return _kept(path, path.stat().st_mtime_ns)

    return read_robot(path)


@lru_cache(maxsize=64)
def _kept(path: Path, changed: int) -> Robot:
    """A robot that comes with the package, the same one until its file changes: what is made of it is made once."""

    return read_robot(path)


def _find(text: str) -> Path:
    """The file of a bundled name or a path."""
    names = [name for name, _ in _bundled()]
    if text in names:
        return FOLDER / f"{text}.yaml"
    path = Path(text)
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except (OSError, ValueError):
        exists = is_folder = False  # what the system cannot even look up is not there
    if text and is_folder:
        raise ModelError(Problem("", "this is a folder; name one robot file", text))
    if text and exists:
        return path
    if path.suffix or len(path.parts) > 1:
        hint = did_you_mean(path.stem, names) if len(path.parts) == 1 else ""
        raise ModelError(Problem("", f"there is no such file{hint}", text))
    hint = did_you_mean(text, names)
    bundled = f" Bundled robots: {', '.join(names)}" if hint else f"; bundled robots: {', '.join(names)}"
    raise ModelError(f"there is no robot {show(text)}{hint}{bundled}")


def _load_urdf(path: Path, overlay: str | os.PathLike[str] | Mapping[str, Any] | None, strict: bool) -> Robot:
    from pliant.model.description.robot import Robot

    if overlay is None:
        document = Document(str(path), {})
    elif isinstance(overlay, Mapping):
        document = Document("overlay", dict(overlay))
    else:
        document = read_document(overlay)

    def prepare(data: Any) -> Any:
        data = data.copy()
        data["urdf"] = str(path.resolve())
        if strict:
            data["strict"] = True
        return imported(data)

    return document.build(Robot, prepare)


# ---- importers


IMPORTERS = (
    ("urdf", "pliant.model.readers.urdf_overlay", "expand_urdf"),
    ("dh", "pliant.model.readers.dh", "expand_dh"),
)
"""Key, module and function, in the order in which they act; modules are loaded when their key is there."""


def has_bodies(data: Any) -> bool:
    """Whether a link of a robot's plain data names a file of its own."""
    links = data.get("links") if isinstance(data, dict) else None
    rows = links.values() if isinstance(links, dict) else links if isinstance(links, list) else ()
    return any(isinstance(link, dict) and "body" in link for link in rows)


def imported(data: Any, folder: str = ".") -> Any:
    """The data of a robot with all keys of importers expanded, and links of files of their own."""
    if has_bodies(data):
        data = import_module("pliant.model.readers.body_files").expand_bodies(data, folder)
    for key, module, function in IMPORTERS:
        if isinstance(data, dict) and key in data:
            data = getattr(import_module(module), function)(data, folder)
    return data
