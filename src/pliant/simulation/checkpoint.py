"""Checkpoints: a file that only grows, whose end may be torn, and from which a run goes on.

After a first line that says what it is and one that says which process writes it come the records. Each has a head
(mark, kind, number in the file, length of its content), a digest of head and content, and the content. What follows
the last record that is whole and in its order, whatever it is, is cut off by the next writer.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from io import FileIO
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from pliant.errors import ModelError, Problem
from pliant.files import OWNER, locked, no_file, owner_line
from pliant.files import holder as lock_holder
from pliant.results.samples import Samples
from pliant.simulation.monitoring.events import Happening

MAGIC = b"pliant checkpoints 3\n"
_HEAD = struct.Struct("<4scQQ")
_MARK = b"REC\n"
_BEGINNING, _STATE = b"B", b"S"
_DIGEST = 32
ENDING = ".partial"
SPARE = 1_000_000
"""Bytes that a run needs beside its samples."""


def partial_path(path: Path) -> Path:
    """Where the checkpoints of a result stand until it is finished."""
    return path.with_name(path.name + ENDING)


class Space:
    """Bytes of a disk that are really taken, by a file without a name, until they are given back or the process ends.

    Raises OSError at once where there are not so many.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._file: IO[bytes] | None = None
        try:
            file = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115  it stays open
            self._file = file
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:  # pragma: no cover
                import shutil

                if shutil.disk_usage(path.parent).free < size:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self.release()
            raise OSError(error.errno, error.strerror, str(path)) from None

    def release(self) -> None:
        """Give the space back."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None


def needed_space(samples: int, columns: int) -> int:
    """Bytes for the checkpoints and the result of a run."""
    return 2 * 8 * samples * columns + SPARE


@dataclass(frozen=True)
class Checkpoint:
    """What a file of checkpoints holds: how the run was set up, and where it was.

    end      place in the file behind the last record, and how many there are (count)
    """

    header: dict[str, Any]
    samples: Samples
    memory: dict[str, Any]
    happenings: list[Happening]
    end: int = 0
    count: int = 0


class CheckpointFile:
    """Records of a run on its way; as long as it is open, no other process can write it."""

    def __init__(self, path: Path, stream: FileIO, count: int) -> None:
        self.path, self.stream, self.count = path, stream, count

    @classmethod
    def create(cls, path: Path, header: dict[str, Any]) -> CheckpointFile:
        """A new file; an old one of that name is replaced."""
        file = cls(path, locked(path, len(MAGIC)), 0)
        try:
            file.stream.truncate(0)
            _write(file.stream, MAGIC + owner_line())
            file._append(_BEGINNING, {"header": _text(json.dumps(header))})
        except OSError:
            file.remove()
            raise
        return file

    @classmethod
    def reopen(cls, path: Path, kept: Checkpoint) -> CheckpointFile:
        """An existing file, continued after what was read of it; anything behind that is cut off."""
        stream = locked(path, len(MAGIC))
        stream.seek(len(MAGIC))
        _write(stream, owner_line())
        stream.truncate(kept.end)
        stream.seek(kept.end)
        return cls(path, stream, kept.count)

    def append(self, samples: Samples | None, memory: dict[str, Any], happenings: list[Happening]) -> None:
        """Add what is new, and where the run is now."""
        arrays = {f"memory/{key}": np.asarray(value) for key, value in memory.items()}
        arrays["happenings"] = _text(json.dumps(happenings))
        if samples is not None:
            arrays.update({f"samples/{name}": array for name, array in samples.arrays().items()})
        self._append(_STATE, arrays)

    def _append(self, kind: bytes, arrays: dict[str, Any]) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        content = buffer.getvalue()
        place = self.stream.tell()
        try:
            head = _HEAD.pack(_MARK, kind, self.count, len(content))
            _write(self.stream, head + _digest(head, content) + content)
            os.fsync(self.stream.fileno())
        except OSError as error:
            # nothing half written stays behind
            with contextlib.suppress(OSError):
                os.ftruncate(self.stream.fileno(), place)
            with contextlib.suppress(OSError):
                self.stream.seek(place)
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        self.count += 1

    def close(self) -> None:
        """Close the file, which gives it free for other processes."""
        self.stream.close()

    def remove(self) -> None:
        """Close and delete the file: the run is finished."""
        # deleted while it is still locked: it cannot be another's
        self.path.unlink(missing_ok=True)
        self.close()


def _write(stream: FileIO, data: bytes) -> None:
    """All of it: without a buffer, whose rest would come later where a disk was full, a write may take a part."""
    view = memoryview(data)
    while view:
        view = view[stream.write(view) :]


def holder(path: Path) -> str:
    """The process that writes a file of checkpoints just now; nothing if there is none."""
    return lock_holder(path, len(MAGIC))


def read_checkpoint(path: Path) -> Checkpoint:
    """The last whole state in a file of checkpoints; raises ModelError."""
    wrong = no_file(path)
    if wrong:
        raise ModelError(Problem("", wrong, str(path)))
    try:
        return _last_state(path)
    except (LookupError, TypeError, ValueError, zipfile.BadZipFile, EOFError, MemoryError) as error:
        raise ModelError(Problem("", f"the checkpoints cannot be read: {error}", str(path))) from None


def _last_state(path: Path) -> Checkpoint:
    """What whole records say; contents that no Pliant wrote may raise many errors."""
    header: dict[str, Any] | None = None
    parts: list[Samples] = []
    last: dict[str, Any] | None = None
    end = count = 0
    with open(path, "rb") as stream:
        for record in _records(stream, path):
            end, count = stream.tell(), count + 1
            if header is None:
                header = json.loads(bytes(record["header"]))
                continue
            last = record
            if "samples/time" in record:
                names = (f"samples/{f.name}" for f in fields(Samples))
                parts.append(Samples(*(record[name] for name in names if name in record)))
    if header is None or last is None or not parts:
        raise ModelError(Problem("", "the file holds no checkpoint yet; start the run anew", str(path)))
    memory = {key.partition("/")[2]: value for key, value in last.items() if key.startswith("memory/")}
    happenings = [Happening(*entry) for entry in json.loads(bytes(last["happenings"]))]
    return Checkpoint(header, Samples.join(parts), memory, happenings, end, count)


def _records(stream: BinaryIO, path: Path) -> Iterator[dict[str, Any]]:
    """All whole records in their order; the stream is left at the end of the one that was given last."""
    if stream.read(len(MAGIC)) != MAGIC:
        raise ModelError(Problem("", "this is not a file of checkpoints, or an older Pliant wrote it", str(path)))
    stream.read(OWNER)
    left = os.fstat(stream.fileno()).st_size - stream.tell()
    number = 0
    while left >= _HEAD.size + _DIGEST:
        head, digest = stream.read(_HEAD.size), stream.read(_DIGEST)
        mark, kind, count, size = _HEAD.unpack(head)
        left -= _HEAD.size + _DIGEST + size
        if (mark, kind, count) != (_MARK, _STATE if number else _BEGINNING, number) or left < 0:
            return
        content = stream.read(size)
        if _digest(head, content) != digest:
            return
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            yield {name: arrays[name] for name in arrays.files}
        number += 1


def _digest(head: bytes, content: bytes) -> bytes:
    return hashlib.blake2b(content, key=head, digest_size=_DIGEST).digest()


def _text(text: str) -> Any:
    return np.frombuffer(text.encode(), dtype=np.uint8)
