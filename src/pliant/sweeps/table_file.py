"""The table of a sweep in a file: HDF5, sealed like a run, or Parquet for other programs.

Layout of an HDF5 file behind its seal (see ``results/sealed.py``); the first axis of all arrays is the case:

    attributes       kind "pliant sweep", format, and the ``SweepInfo`` with places and names of outputs as JSON
    varied/K         the values that varied, attribute place
    outputs/K        numbers (N,) or histories (N, T), nan where a case failed, attribute name
    time             s (T,), where there are histories
    reason, notes    why a case failed (empty: it did not), and the warnings of its run
    subject          the robot or study as YAML, before anything was changed
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError, Problem
from pliant.files import mark, no_file, written
from pliant.results.sealed import SEAL_SIZE, fixed_text, seal_file, seal_problem, stored, stored_array
from pliant.results.tables import needed
from pliant.sweeps.table import Floats, Sweep, SweepInfo, count_alone, put, shape_of
from pliant.sweeps.work import CaseRow

KIND, FORMAT = "pliant sweep", 2
SEALED_AS = "sweep"
ROWS = 1024
"""Texts that are written together."""


def save_hdf5(
    path: Path,
    varied: dict[str, NDArray[Any]],
    chunks: Iterable[list[CaseRow]],
    count: int,
    time: Floats,
    info: SweepInfo,
) -> None:
    """Write a table chunk by chunk; first beside its place, then moved there."""
    import h5py

    with written(path) as beside:
        with h5py.File(beside, "w", libver=("v110", "v110"), userblock_size=SEAL_SIZE) as file:
            file.attrs.update({"kind": fixed_text(KIND), "format": FORMAT})
            for k, (place, values) in enumerate(varied.items()):
                data = values if values.dtype != object else _texts(values.tolist())
                file.create_dataset(f"varied/{k}", data=data).attrs["place"] = fixed_text(place)
            reasons, notes, made, alone = list[str](), list[str](), dict[str, Any](), dict(info.alone)
            for chunk in chunks:
                first, blocks = len(reasons), dict[str, Floats]()
                for k, row in enumerate(chunk):
                    count_alone(alone, row)
                    reasons.append(row.reason)
                    notes.append("; ".join(row.notes))
                    for name, value in row.values.items():
                        if name not in made:
                            shape, place = (count, *shape_of(value, time)), f"outputs/{len(made)}"
                            made[name] = file.create_dataset(place, shape, dtype="f8", fillvalue=np.nan)
                            made[name].attrs["name"] = fixed_text(name)
                        if name not in blocks:
                            blocks[name] = np.full((len(chunk), *made[name].shape[1:]), np.nan)
                        put(blocks[name], k, value)
                # to write numbers one by one takes as long as a part of their runs
                for name, block in blocks.items():
                    made[name][first : first + len(chunk)] = block
            _write_texts(file, "reason", reasons)
            _write_texts(file, "notes", notes)
            facts = {key: value for key, value in asdict(replace(info, alone=alone)).items() if key != "subject"}
            file["info"] = fixed_text(json.dumps({**facts, "places": list(varied), "outputs": list(made)}))
            file["subject"] = fixed_text(info.subject)
            file["time"] = time
        seal_file(beside, SEALED_AS)


def _texts(texts: Sequence[str]) -> NDArray[np.bytes_]:
    return np.array([text.encode() for text in texts], dtype=bytes)


def _write_texts(file: Any, name: str, texts: list[str]) -> None:
    """Texts of equal length, some at a time: one may be long, and there may be many."""
    longest = max((len(text.encode()) for text in texts), default=0)
    packed = {"compression": "gzip", "chunks": (min(len(texts), ROWS),)} if texts else {}
    data = file.create_dataset(name, (len(texts),), dtype=f"S{max(longest, 1)}", **packed)
    for start in range(0, len(texts), ROWS):
        data[start : start + ROWS] = _texts(texts[start : start + ROWS])


def load_hdf5(path: Path) -> Sweep:
    """A table from a file; raises ModelError where it is none."""
    found: Sweep = _opened(path, partial(_content, path=path))
    return found


def _opened(path: Path, use: Callable[[Any], Any]) -> Any:
    """What ``use`` reads from a file whose seal is whole."""
    import h5py

    wrong = no_file(path) or seal_problem(path, SEALED_AS)
    if wrong:
        raise ModelError(Problem("", wrong, str(path)))
    try:
        with h5py.File(path, "r") as file:
            return use(file)
    except ModelError:
        raise
    except Exception as error:
        # with its seal broken and mended by hand, a file may raise nearly anything
        raise ModelError(Problem("", f"the file is damaged: {error}", str(path))) from None


def _content(file: Any, path: Path) -> Sweep:
    """What an open file holds."""
    if file.attrs.get("kind") != fixed_text(KIND):
        raise ValueError("it does not hold a sweep")
    facts = json.loads(stored_array(file, "info", "S", 0))
    if file.attrs["format"] > FORMAT:
        newer = f"the sweep was written by Pliant {facts['version']}; this one is older"
        raise ModelError(Problem("", newer, str(path)))
    places, names = facts.pop("places"), facts.pop("outputs")
    info = SweepInfo(subject=bytes(stored_array(file, "subject", "S", 0)).decode(), **facts)
    varied = {place: _values(stored_array(file, f"varied/{k}", "fS", 1)) for k, place in enumerate(places)}
    reasons, notes = (_values(stored_array(file, key, "S", 1)).tolist() for key in ("reason", "notes"))
    time = stored_array(file, "time", "f", 1)
    count = len(reasons)
    if any(len(values) != count for values in (notes, *varied.values())):
        raise ValueError("its arrays do not fit together")
    for k in range(len(names)):
        if stored(file, f"outputs/{k}").shape[:1] != (count,):
            raise ValueError("its arrays do not fit together")
    mark = _mark(path)
    outputs: dict[str, Any] = {name: partial(_column_of, path, k, mark) for k, name in enumerate(names)}
    return Sweep(varied, outputs, reasons, notes, time, info)


def _values(stored: NDArray[Any]) -> NDArray[Any]:
    """Numbers, or texts."""
    return stored if stored.dtype.kind == "f" else np.array([x.decode() for x in stored.tolist()], dtype=object)


def _mark(path: Path) -> tuple[int, ...]:
    """What changes when a file is replaced or written to."""
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _column_of(path: Path, k: int, mark: tuple[int, ...]) -> Floats:
    wrong = no_file(path)
    if wrong or _mark(path) != mark:
        raise ModelError(Problem("", wrong or "the file has changed since it was opened; load it again", str(path)))
    found: Floats = _opened(path, lambda file: stored_array(file, f"outputs/{k}", "f"))
    return found


def save_parquet(sweep: Sweep, path: Path) -> None:
    """The numbers of a sweep as Parquet, for other programs."""
    needed("pyarrow", "a Parquet file")
    table = sweep.to_dataframe()
    # attributes of a table are written as JSON, and must be plain
    table.attrs = {key: value if isinstance(value, str | dict) else str(value) for key, value in table.attrs.items()}
    table.attrs["generator"] = mark()
    with written(path) as beside:
        table.to_parquet(beside)
