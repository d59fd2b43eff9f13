"""Which source decides a piece of machine code: the modules of an algorithm, and all that they import.

Code on the disk is found again by what decides it. A digest of the whole package would be right too, but then a comment
in a page of the documentation threw away the machine code of every user.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)*", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*from (pliant[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


def source_digest(modules: Iterable[str]) -> str:
    """A digest of the text of modules and of everything of the package that they import, of the engine always."""
    return _digest(tuple(sorted({*modules, *_engine()})))


@cache
def _digest(modules: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for path in sorted(closure(modules)):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def _engine() -> tuple[str, ...]:
    """All modules that trace and compile."""
    return tuple(
        ".".join(("pliant", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in sorted((PACKAGE / "engine").rglob("*.py"))
    )


def closure(modules: Iterable[str]) -> set[Path]:
    """Files of modules and of all that they import, wherever the imports stand."""
    found: set[Path] = set()
    left = [path for path in map(_file, modules) if path is not None]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += _imported(path)
    return found


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    return tuple(file for name in _names(path.read_text(encoding="utf-8")) if (file := _file(name)) is not None)


def _names(text: str) -> Iterator[str]:
    """Modules that a text imports when it runs; what is taken from a module may be a module itself."""
    for home, several, one in _IMPORT.findall(_TYPES.sub("", text)):
        yield home
        for part in (several or one).split(","):
            yield f"{home}.{part.partition(' as ')[0].strip()}"


@cache
def _file(module: str) -> Path | None:
    """The file of a module of this package; None for names that are none, and for the package itself."""
    parts = module.split(".")[1:]
    place = PACKAGE.joinpath(*parts)
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if parts and path.is_file():
            return path
    return None
