"""Finished chunks of a sweep, on disk as they come, so that nothing is computed twice and nothing fills the memory.

Each chunk is a file of its own, written beside its place and moved there: a chunk is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pliant.model.errors import ModelError
from pliant.model.files import written
from pliant.sweeps.work import CaseRow

ENDING = ".partial"
PLAN = "plan.json"


class Journal:
    """A folder beside the file of a sweep, FILE.partial.

    plan  what is computed, as plain data: a journal goes on only with the plan that it was begun with
    """

    def __init__(self, file: Path, plan: dict[str, Any]) -> None:
        self.folder = file.with_name(file.name + ENDING)
        self.plan = plan

    def open(self, *, resume: bool, force: bool) -> set[int]:
        """Make ready; gives the numbers of the chunks that are there already."""
        there = self.folder.exists()
        if there and force:
            shutil.rmtree(self.folder)
        elif there and not resume:
            raise ModelError(f"{self.folder} holds an interrupted sweep; resume goes on with it, force starts anew")
        elif there:
            self._compare()
        self.folder.mkdir(exist_ok=True)
        if not (self.folder / PLAN).exists():
            _write(self.folder / PLAN, json.dumps(self._told()).encode())
        return {int(file.stem) for file in self.folder.glob("*.chunk") if file.stem.isdigit() and _whole(file)}

    def _told(self) -> dict[str, Any]:
        text = json.dumps(self.plan, sort_keys=True, default=str)
        return {"plan": self.plan, "digest": hashlib.sha256(text.encode()).hexdigest()}

    def _compare(self) -> None:
        try:
            before = json.loads((self.folder / PLAN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        now = json.loads(json.dumps(self._told(), default=str))
        if before.get("digest") == now["digest"]:
            return
        old = before.get("plan", {})
        differs = [key for key in now["plan"] if old.get(key) != now["plan"][key]]
        raise ModelError(f"{self.folder}: the sweep has changed since ({', '.join(differs)}); force starts anew")

    def keep(self, number: int, rows: list[CaseRow]) -> None:
        """A finished chunk."""
        data = [
            {"values": {k: _plain(x) for k, x in row.values.items()}, "reason": row.reason, "notes": row.notes}
            for row in rows
        ]
        text = json.dumps(data).encode()
        _write(self.folder / f"{number:08d}.chunk", hashlib.sha256(text).hexdigest().encode() + b"\n" + text)

    def chunk(self, number: int) -> list[CaseRow]:
        """A chunk that was kept."""
        data = json.loads((self.folder / f"{number:08d}.chunk").read_bytes().partition(b"\n")[2])
        return [
            CaseRow(
                {k: np.array(x) if isinstance(x, list) else x for k, x in one["values"].items()},
                one["reason"],
                tuple(one["notes"]),
            )
            for one in data
        ]

    def chunks(self, count: int) -> Iterator[list[CaseRow]]:
        """All chunks in order."""
        return (self.chunk(k) for k in range(count))

    def remove(self) -> None:
        """The table is written; the chunks go."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else float(value)


def _whole(file: Path) -> bool:
    digest, _, text = file.read_bytes().partition(b"\n")
    return hashlib.sha256(text).hexdigest().encode() == digest


def _write(path: Path, data: bytes) -> None:
    with written(path) as beside:
        beside.write_bytes(data)
