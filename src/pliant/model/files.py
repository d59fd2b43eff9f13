"""Files of the user: written whole or not at all, under names that stay in their folder, and read only if they end.

What Pliant writes is opened here and nowhere else. Someone else may have put links, pipes or files of his own where we
write: new files are made under names that nobody can foresee and that are not there yet (O_EXCL), files that are
written again are opened without following links (O_NOFOLLOW), and only what Pliant wrote is deleted.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from pliant.model.errors import ModelError, Problem

LONGEST_NAME = 100
"""Characters of a file name that comes from a name in a file."""
LEFT_OVER = 86400.0
"""Seconds after which a half-written file belongs to no one."""
NEW_FILE = 0o666
"""Permissions of a new file; the user's mask takes its part."""
MISSING = "there is no such file"
RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{port}{k}" for port in ("COM", "LPT") for k in range(10))}
HALF_WRITTEN = re.compile(r"\.pliant-[0-9a-f]{16}\.tmp(\.\w+)?")
"""Names of new files until they are whole."""
# what a system does not know is zero: Windows has no pipes among its files, and its links are looked for beforehand
_CAREFUL = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"))


# ---------------------------------------------------------------- writing


@contextmanager
def written(path: Path, *, follow: bool = True, mode: int = NEW_FILE, flush: bool = True) -> Iterator[Path]:
    """A place beside a file to write its new content to; the file is replaced when all of it is there, or left alone.

    The place has the ending of the file. What is no file (a terminal, a pipe) is written to directly.

    follow  whether a link leads to the file that is replaced; without, the link itself is
    mode    permissions of a new file, of which the user's mask takes its part; usual ones are kept by a new content
    flush   whether the content must be on the disk before the name is given
    """
    target = Path(os.path.realpath(path)) if follow else path
    if follow and target.exists() and not target.is_file():
        yield path
        return
    if follow:
        _sweep(target.parent)
    beside = target.with_name(f".pliant-{secrets.token_hex(8)}.tmp{target.suffix}")
    made = False
    try:
        os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CAREFUL, mode))
        made = True
        yield beside
        if flush:
            with open_own(beside, write=True) as stream:
                os.fsync(stream.fileno())
        if mode == NEW_FILE and target.is_file() and not target.is_symlink():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except OSError as error:
        # the user knows the file, not the place beside it
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            if made:
                beside.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what processes left in a folder that were killed while they wrote."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if HALF_WRITTEN.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > LEFT_OVER:
                        os.unlink(entry.path)


def write_file(path: Path, text: str, newline: str | None = None) -> None:
    """A text as a whole file."""
    with written(path) as beside, open(beside, "w", encoding="utf-8", newline=newline) as stream:
        stream.write(text)


def write_bytes(path: Path, data: bytes, *, follow: bool = True, mode: int = NEW_FILE, flush: bool = True) -> None:
    """Bytes as a whole file; see ``written``."""
    with written(path, follow=follow, mode=mode, flush=flush) as beside, open(beside, "wb") as stream:
        stream.write(data)


def open_own(path: str | os.PathLike[str], *, write: bool = False, create: bool = False) -> FileIO:
    """A file of Pliant's own, which is no link, no pipe and, where it is written, under no other name; raises OSError.

    write   for reading and writing, without changing what is there
    create  make an empty one where there is none
    """
    why = ""
    if not hasattr(os, "O_NOFOLLOW") and os.path.islink(path):  # pragma: no cover
        why = "this is a link"
    try:
        flags = (os.O_RDWR if write else os.O_RDONLY) | (os.O_CREAT if create else 0) | _CAREFUL
        handle = -1 if why else os.open(path, flags, 0o666)
    except OSError:
        if not os.path.islink(path):
            raise
        why = "this is a link"
    if not why:
        stream = FileIO(handle, "r+" if write else "r")
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            why = "this is a folder, a device or a pipe"
        elif write and found.st_nlink > 1:
            why = "this file has a second name elsewhere (a hard link)"
        if not why:
            return stream
        stream.close()
    raise OSError(errno.ELOOP, f"{why}; Pliant writes only to files of its own: move it away", os.fspath(path))


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
