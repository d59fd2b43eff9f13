"""Files that one process at a time writes: a lock that names its holder, and goes with the process."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from io import FileIO
from pathlib import Path

from pliant.files import open_own

OWNER = 32
"""Bytes of the line that names the process."""
OWNED = b"process "
"""How that line begins."""


def owner_line() -> bytes:
    """The line that names this process."""
    return (OWNED + str(os.getpid()).encode()).ljust(OWNER - 1) + b"\n"


def locked(path: Path, place: int = 0, *, create: bool = True) -> FileIO:
    """A file that this process alone writes, and no link; raises BlockingIOError with the process that does.

    place  where in the file the line stands that names the process
    """
    while True:
        stream = open_own(path, write=True, create=create)
        try:
            _lock(stream)
        except BlockingIOError:
            line = os.pread(stream.fileno(), OWNER, place).decode("ascii", "replace")
            stream.close()
            words = line.split()
            who = " ".join(words[:2]) if words[:1] == ["process"] else "another process"
            raise BlockingIOError(errno.EWOULDBLOCK, f"{who} is writing it", str(path)) from None
        with contextlib.suppress(FileNotFoundError):
            # a file that was deleted before the lock was ours is no longer at its place
            if os.path.samestat(os.fstat(stream.fileno()), os.lstat(path)):
                return stream
        stream.close()


def holder(path: Path, place: int = 0) -> str:
    """The process that writes a file just now, in words; nothing if there is none."""
    try:
        locked(path, place, create=False).close()
    except BlockingIOError as error:
        return str(error.strerror)
    except OSError:
        pass
    return ""


def _lock(stream: FileIO) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
