"""Finished chunks of a sweep, on disk as they come, so that nothing is computed twice and nothing fills the memory.

Each chunk is a file of its own, written beside its place and moved there: a chunk is there whole or not at all. Its
digest covers its number and the plan of the sweep, so that it counts for nothing in another place.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import stat
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import ModelError, Problem
from pliant.files import HALF_WRITTEN, OWNED, locked, open_own, owner_line, write_bytes
from pliant.sweeps.work import CaseRow

ENDING = ".partial"
PLAN, LOCK = "plan.json", "lock"
CHUNK = re.compile(r"[0-9]{8,}\.chunk")
OWN = re.compile(f"{re.escape(PLAN)}|{CHUNK.pattern}|{HALF_WRITTEN.pattern}")
"""Names of what a sweep writes beside its lock."""


class Journal:
    """A folder beside the file of a sweep, FILE.partial; as long as it is open, no other process can write it.

    plan  what is computed, as plain data: a journal goes on only with the plan that it was begun with
    """

    def __init__(self, file: Path, plan: dict[str, Any]) -> None:
        self.file, self.folder = file, file.with_name(file.name + ENDING)
        self.plan = plan
        self.digest = plan_digest(plan)
        self._lock: FileIO | None = None

    @staticmethod
    def begun(file: Path) -> dict[str, Any]:
        """The plan of the interrupted sweep beside a file; empty where there is none that can be read."""
        try:
            with open_own(file.with_name(file.name + ENDING) / PLAN) as stream:
                found = json.loads(stream.read())
            plan = dict(found["plan"])
            return plan if found["digest"] == plan_digest(plan) else {}
        except (OSError, ValueError, LookupError, TypeError):
            return {}

    def open(self, *, resume: bool, force: bool) -> set[int]:
        """Make ready; gives the numbers of the chunks that are there already."""
        self._lock = self._held()
        try:
            self._empty(HALF_WRITTEN)
            there = any(self._own())
            if there and force:
                self._empty()
            elif there and not resume:
                raise ModelError(f"{self.folder} holds an interrupted sweep; resume goes on with it, force starts anew")
            elif there:
                self._compare()
            if force or not (self.folder / PLAN).exists():
                content = {"plan": self.plan, "digest": self.digest}
                write_bytes(self.folder / PLAN, json.dumps(content, default=str).encode(), follow=False)
            numbers = [int(file.stem) for file in self._own() if CHUNK.fullmatch(file.name)]
            return {number for number in numbers if self._content(number) is not None}
        except BaseException:
            self.close()
            raise

    def _held(self) -> FileIO:
        while True:
            with contextlib.suppress(FileExistsError):
                self.folder.mkdir()
            self._check_folder()
            try:
                stream = locked(self.folder / LOCK)
            except FileNotFoundError:
                # another process has just finished and removed the folder
                continue
            except BlockingIOError as error:
                raise ModelError(Problem("", str(error.strerror), str(self.folder))) from None
            stream.truncate(0)
            stream.write(owner_line())
            return stream

    def _check_folder(self) -> None:
        """Refuse a folder of someone else: what stands there is neither written to nor deleted."""
        why = ""
        if not stat.S_ISDIR(self.folder.lstat().st_mode):
            why = "this is a link" if self.folder.is_symlink() else "this is no folder"
        elif any(not file.name.startswith(".") and file.name != LOCK for file in self.folder.iterdir()):
            try:
                with open_own(self.folder / LOCK) as stream:
                    ours = stream.read(len(OWNED)) == OWNED
            except FileNotFoundError:
                ours = False
            why = "" if ours else "this folder holds files that no sweep wrote"
        if why:
            remedy = "move it away, or give the table another name"
            raise ModelError(Problem("", f"{why}; interrupted sweeps are kept here: {remedy}", str(self.folder)))

    def _compare(self) -> None:
        old = self.begun(self.file)
        if not old:
            # a plan that cannot be read is written anew; chunks of another one do not count
            (self.folder / PLAN).unlink(missing_ok=True)
            return
        if plan_digest(old) == self.digest:
            return
        now = as_stored(self.plan)
        differs = [key for key in now if old.get(key) != now[key]]
        raise ModelError(f"{self.folder}: the sweep has changed since ({', '.join(differs)}); force starts anew")

    def keep(self, number: int, rows: list[CaseRow]) -> int:
        """A finished chunk; gives its bytes."""
        data = [
            {
                "values": {k: _plain(x) for k, x in row.values.items()},
                "reason": row.reason,
                "notes": row.notes,
                "alone": row.alone,
            }
            for row in rows
        ]
        text = json.dumps(data).encode()
        write_bytes(self._path(number), self._seal(number, text) + b"\n" + text, follow=False)
        return len(text)

    def chunk(self, number: int) -> list[CaseRow]:
        """A chunk that was kept; raises ModelError if it is no longer whole."""
        text = self._content(number)
        try:
            if text is None:
                raise ValueError("its checksum is not that of its content")
            return [_row(one) for one in json.loads(text)]
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            remedy = "delete it and resume, which computes its cases anew"
            raise ModelError(Problem("", f"the chunk is damaged: {error}; {remedy}", str(self._path(number)))) from None

    def chunks(self, count: int) -> Iterator[list[CaseRow]]:
        """All chunks in order."""
        return (self.chunk(k) for k in range(count))

    def close(self) -> None:
        """Let other processes go on with it."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def remove(self) -> None:
        """The table is written; the chunks go."""
        self._empty()
        # deleted while it is still locked: it cannot be another's
        (self.folder / LOCK).unlink(missing_ok=True)
        self.close()
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _own(self) -> list[Path]:
        """What a sweep has written to its folder, but for the lock."""
        return [file for file in self.folder.iterdir() if OWN.fullmatch(file.name) and not _is_folder(file)]

    def _empty(self, names: re.Pattern[str] = OWN) -> None:
        for file in self._own():
            if names.fullmatch(file.name):
                file.unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.chunk"

    def _seal(self, number: int, text: bytes) -> bytes:
        key = bytes.fromhex(self.digest)
        return hashlib.blake2b(text, key=key, person=number.to_bytes(8, "big"), digest_size=32).hexdigest().encode()

    def _content(self, number: int) -> bytes | None:
        """What a chunk holds, if it is whole."""
        try:
            with open_own(self._path(number)) as stream:
                seal, _, text = stream.read().partition(b"\n")
        except OSError:
            return None
        return text if seal == self._seal(number, text) else None


def as_stored(plan: dict[str, Any]) -> dict[str, Any]:
    """A plan as it comes back from its file."""
    found: dict[str, Any] = json.loads(json.dumps(plan, default=str))
    return found


def plan_digest(plan: dict[str, Any]) -> str:
    """A digest of what is computed."""
    text = json.dumps(plan, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else float(value)


def _row(one: Any) -> CaseRow:
    values = {k: np.array(x, dtype=float) if isinstance(x, list) else float(x) for k, x in one["values"].items()}
    return CaseRow(values, str(one["reason"]), tuple(map(str, one["notes"])), str(one.get("alone", "")))


def _is_folder(file: Path) -> bool:
    return stat.S_ISDIR(file.lstat().st_mode)
