"""Files of the user: written whole or not at all, under names that stay in their folder, and read only if they end."""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from pliant.model.errors import ModelError, Problem

LONGEST_NAME = 100
"""Characters of a file name that comes from a name in a file."""
LEFT_OVER = 86400.0
"""Seconds after which a half-written file belongs to no one."""
MISSING = "there is no such file"
RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{port}{k}" for port in ("COM", "LPT") for k in range(10))}


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A place beside a file to write its new content to; the file is replaced when all of it is there, or left alone.

    The place has the ending of the file. What is no file (a terminal, a pipe) is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield path
        return
    beside = target.with_name(f".{target.stem}.{os.getpid()}.tmp{target.suffix}")
    _sweep(target)
    try:
        yield beside
        with open(beside, "rb") as stream:
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except OSError as error:
        # the user knows the file, not the place beside it
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _sweep(target: Path) -> None:
    """Remove what a process left beside a file that was killed while it wrote."""
    with suppress(OSError):
        for old in target.parent.glob(f".{escape(target.stem)}.*.tmp{escape(target.suffix)}"):
            if time.time() - old.stat().st_mtime > LEFT_OVER:
                old.unlink()


def write_file(path: Path, text: str, newline: str | None = None) -> None:
    """A text as a whole file."""
    with written(path) as beside:
        beside.write_text(text, encoding="utf-8", newline=newline)


def file_name(name: str) -> str:
    """A name from inside a file as the name of a file: one step below a folder, visible, and not too long."""
    plain = re.sub(r"[^\w .+=@()-]", "_", name).strip(" ").lstrip(".").rstrip(". ")[:LONGEST_NAME]
    return f"_{plain}" if not plain or plain.split(".")[0].upper() in RESERVED else plain


def content_of(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a file, one more than so many at the most; raises ModelError."""
    wrong = no_file(path)
    if not wrong:
        try:
            with open(path, "rb") as stream:
                return stream.read(most + 1)
        except OSError as error:
            wrong = error.strerror or str(error)
    raise ModelError(Problem("", wrong if wrong == MISSING else f"the file cannot be read: {wrong}", os.fspath(path)))


def no_file(path: str | os.PathLike[str]) -> str:
    """Why a path cannot be read as a file to its end; nothing if it can."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return MISSING
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    if stat.S_ISREG(mode):
        return ""
    return "this is a folder" if stat.S_ISDIR(mode) else "this is a device or a pipe; it must be a file"
