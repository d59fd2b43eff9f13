"""Robots by name or path: those that come with the package, YAML files, URDF files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pliant.errors import ModelError, Problem, did_you_mean, show

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot

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
    from pliant.model.readers.yaml_file import read_robot

    return read_robot(path)


@lru_cache(maxsize=64)
def _kept(path: Path, changed: int) -> Robot:
    """A robot that comes with the package, the same one until its file changes: what is made of it is made once."""
    from pliant.model.readers.yaml_file import read_robot

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
    from pliant.model.readers.importers import imported
    from pliant.model.readers.yaml_file import Document, read_document

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
