"""Checkpoints: a file that only grows, whose last record may be torn, and from which a run goes on.

Every record carries its length and its checksum. A process that dies while writing leaves a torn record at the end,
which is cut off by the next reader; everything before it is whole.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pliant.model.errors import ModelError, Problem
from pliant.results.samples import Samples
from pliant.simulation.events import Happening

MAGIC = b"pliant checkpoint 1\n"
_HEAD = struct.Struct("<QI")
ENDING = ".partial"
SPARE = 1_000_000
"""Bytes that a run needs beside its samples."""


def partial_path(path: Path) -> Path:
    """Where the checkpoints of a result stand until it is finished."""
    return path.with_name(path.name + ENDING)


def reserve(path: Path, size: int) -> None:
    """Make sure that so many bytes can be written beside a path; raises OSError at once if not."""
    probe = path.with_name(f".{path.name}.{os.getpid()}.space")
    try:
        with open(probe, "wb") as stream:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(stream.fileno(), 0, size)
            else:  # pragma: no cover
                import shutil

                if shutil.disk_usage(path.parent).free < size:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()


def needed_space(samples: int, columns: int) -> int:
    """Bytes for the checkpoints and the result of a run."""
    return 2 * 8 * samples * columns + SPARE


@dataclass(frozen=True)
class Checkpoint:
    """What a file of checkpoints holds: how the run was set up, and where it was."""

    header: dict[str, Any]
    samples: Samples
    memory: dict[str, Any]
    happenings: list[Happening]


class CheckpointFile:
    """Records of a run on its way."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.path, self.stream = path, stream

    @classmethod
    def create(cls, path: Path, header: dict[str, Any]) -> CheckpointFile:
        """A new file; an old one of that name is replaced."""
        file = cls(path, open(path, "w+b"))  # noqa: SIM115  it stays open
        try:
            file.stream.write(MAGIC)
            file._append({"header": _text(json.dumps(header))})
        except OSError:
            file.stream.close()
            path.unlink(missing_ok=True)
            raise
        return file

    @classmethod
    def reopen(cls, path: Path) -> CheckpointFile:
        """An existing file, ready to be continued; a torn record at its end is cut off."""
        stream = open(path, "r+b")  # noqa: SIM115  it stays open
        for _ in _records(stream, path):
            pass
        stream.truncate()
        return cls(path, stream)

    def append(self, samples: Samples | None, memory: dict[str, Any], happenings: list[Happening]) -> None:
        """Add what is new, and where the run is now."""
        arrays = {f"memory/{key}": np.asarray(value) for key, value in memory.items()}
        arrays["happenings"] = _text(json.dumps(happenings))
        if samples is not None:
            arrays.update({f"samples/{name}": array for name, array in samples.arrays().items()})
        self._append(arrays)

    def _append(self, arrays: dict[str, Any]) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        payload = buffer.getvalue()
        place = self.stream.tell()
        try:
            self.stream.write(_HEAD.pack(len(payload), zlib.crc32(payload)))
            self.stream.write(payload)
            self.stream.flush()
            os.fsync(self.stream.fileno())
        except OSError as error:
            # nothing half written stays behind
            with contextlib.suppress(OSError):
                os.ftruncate(self.stream.fileno(), place)
            raise OSError(error.errno, error.strerror, str(self.path)) from None

    def close(self) -> None:
        """Close the file; a buffer that cannot be written any more is given up."""
        with contextlib.suppress(OSError):
            self.stream.close()

    def remove(self) -> None:
        """Close and delete the file: the run is finished."""
        self.close()
        self.path.unlink(missing_ok=True)


def read_checkpoint(path: Path) -> Checkpoint:
    """The last whole state in a file of checkpoints; raises ModelError."""
    header: dict[str, Any] | None = None
    parts: list[Samples] = []
    last: dict[str, Any] | None = None
    try:
        with open(path, "rb") as stream:
            for record in _records(stream, path):
                if header is None:
                    header = json.loads(bytes(record["header"]))
                    continue
                last = record
                if "samples/time" in record:
                    parts.append(Samples(*(record[f"samples/{f.name}"] for f in fields(Samples))))
    except FileNotFoundError:
        raise ModelError(Problem("", "there is no such file", str(path))) from None
    if header is None or last is None:
        raise ModelError(Problem("", "the file holds no checkpoint yet; start the run anew", str(path)))
    memory = {key.partition("/")[2]: value for key, value in last.items() if key.startswith("memory/")}
    happenings = [Happening(*entry) for entry in json.loads(bytes(last["happenings"]))]
    return Checkpoint(header, Samples.join(parts), memory, happenings)


def _records(stream: BinaryIO, path: Path) -> Iterator[dict[str, Any]]:
    """All whole records; the stream is left at the end of the last one."""
    stream.seek(0)
    if stream.read(len(MAGIC)) != MAGIC:
        raise ModelError(Problem("", "this is not a file of checkpoints", str(path)))
    while True:
        place = stream.tell()
        head = stream.read(_HEAD.size)
        size, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, 0)
        payload = stream.read(size) if head else b""
        if len(head) < _HEAD.size or len(payload) < size or zlib.crc32(payload) != checksum:
            stream.seek(place)
            return
        with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
            yield {name: arrays[name] for name in arrays.files}


def _text(text: str) -> Any:
    return np.frombuffer(text.encode(), dtype=np.uint8)
