"""The table that a sweep makes: one row per case, in memory or in an HDF5 or Parquet file.

Files are HDF5, sealed like a run, or Parquet for other programs. Layout of an HDF5 file behind its seal (see
``results/storage.py``); the first axis of all arrays is the case:

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
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError, Problem, did_you_mean
from pliant.files import mark, no_file, written
from pliant.model.notebook import html_page, made_by
from pliant.results.storage import SEAL_SIZE, fixed_text, seal_file, seal_problem, stored, stored_array
from pliant.results.tables import needed
from pliant.sweeps.work import CaseRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from xarray import Dataset

Floats = NDArray[np.float64]

ENDINGS = (".h5", ".parquet")
MOST_SHOWN = 20


@dataclass(frozen=True)
class SweepInfo:
    """How a sweep was made.

    subject  the robot or study as text, before anything was changed
    name     of it
    action   what was done with each case
    how      how the cases came about: grid, or drawn with their seed
    units    output -> unit
    version  of Pliant
    plan     digest of what was computed
    alone    why runs could not be stepped side by side in the lanes of a processor -> how many of them
    """

    subject: str
    name: str
    action: str
    how: str
    units: dict[str, str] = field(default_factory=dict)
    version: str = ""
    plan: str = ""
    alone: dict[str, int] = field(default_factory=dict)


class Sweep:
    """The cases of a sweep and what came out of them. ``found["max(tip.deflection)"]`` is a column.

    varied   place -> values (N,)
    outputs  name -> numbers (N,) or histories (N, T); nan where a case failed
    reasons  why a case failed, in words; empty where it did not (N,)
    notes    warnings of each case, as one text (N,)
    time     of the samples of histories, s (T,)
    """

    def __init__(
        self,
        varied: dict[str, NDArray[Any]],
        outputs: dict[str, Floats | Callable[[], Floats]],
        reasons: Sequence[str],
        notes: Sequence[str],
        time: Floats,
        info: SweepInfo,
    ) -> None:
        self.varied, self.reasons, self.notes = varied, tuple(reasons), tuple(notes)
        self.time, self.info = time, info
        self._outputs = outputs

    def __len__(self) -> int:
        return len(self.reasons)

    def __repr__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"Sweep({self.info.name!r}, {self.info.action}, {len(self)} cases{failed}, {len(self._outputs)} outputs)"

    def _repr_html_(self) -> str:
        names = [*self.varied, *self.numbers]
        columns = [self[name] for name in names]
        rows = [[_short(column[k]) for column in columns] for k in range(min(len(self), MOST_SHOWN))]
        facts = [self.info.how, *(f"failed: {self.reasons[k]}" for k in self.failures[:3])]
        return html_page(repr(self), names, rows, facts)

    @property
    def failures(self) -> list[int]:
        """Numbers of the cases that failed."""
        return [k for k, reason in enumerate(self.reasons) if reason]

    @property
    def failed(self) -> int:
        """How many cases failed."""
        return len(self.failures)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what was kept."""
        return tuple(self._outputs)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Outputs that are one number per case."""
        return tuple(name for name in self._outputs if self[name].ndim == 1)

    @property
    def histories(self) -> tuple[str, ...]:
        """Outputs that are histories over time."""
        return tuple(name for name in self._outputs if self[name].ndim == 2)

    def unit(self, name: str) -> str:
        """The unit of a column; empty where it is not known."""
        return self.info.units.get(name, self.info.units.get(name.rpartition(".")[0], ""))

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name in self.varied:
            return self.varied[name]
        if name not in self._outputs:
            known = [*self.varied, *self._outputs]
            raise KeyError(f"the sweep has no column '{name}'{did_you_mean(name, known) or f'; it has {known}'}")
        found = self._outputs[name]
        if callable(found):
            found = self._outputs[name] = found()
        return found

    # ---- looking and keeping

    def plot(self, path: str | Path | None = None) -> Figure:
        """Curves, maps, fans of histories, or parallel coordinates, as the sweep needs; ``path``: PNG, SVG or PDF."""
        figure: Figure = made_by("sweeps.sweep_plots", "plot_sweep")(self, None if path is None else Path(path))
        return figure

    def to_dataframe(self) -> DataFrame:
        """One row per case: what varied, the numbers that came out, ``failed`` and ``notes``."""
        pandas = needed("pandas", "a table")
        columns: dict[str, Any] = {name: self[name] for name in (*self.varied, *self.numbers)}
        table: DataFrame = pandas.DataFrame(
            {**columns, "failed": list(self.reasons), "notes": list(self.notes)},
            index=pandas.RangeIndex(len(self), name="case"),
        )
        table.attrs.update({"units": dict(self.info.units), "how": self.info.how, "subject": self.info.name})
        return table

    def to_xarray(self) -> Dataset:
        """Outputs over the case, and over time where they are histories; what varied are coordinates of the case."""
        xarray = needed("xarray", "an xarray Dataset")
        arrays: dict[str, Any] = {}
        for name in self._outputs:
            values = self[name]
            dims = ("case",) if values.ndim == 1 else ("case", "time")
            arrays[name] = (dims, values, {"units": self.unit(name)})
        coords: dict[str, Any] = {place: ("case", values) for place, values in self.varied.items()}
        if len(self.time):
            coords["time"] = ("time", self.time, {"units": "s"})
        coords["failed"] = ("case", np.array(self.reasons, dtype=object))
        found: Dataset = xarray.Dataset(arrays, coords=coords, attrs={"how": self.info.how, "subject": self.info.name})
        return found

    def to_csv(self, path: str | Path) -> None:
        """One line per case: what varied, the numbers, why it failed."""
        import csv

        names = [*self.varied, *self.numbers]
        columns = [self[name] for name in names]
        with written(Path(path)) as beside, open(beside, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow([*names, "failed"])
            for k in range(len(self)):
                writer.writerow([*(_exact(column[k]) for column in columns), self.reasons[k]])

    def save(self, path: str | Path) -> None:
        """Write the table to an HDF5 or Parquet file; Parquet holds the numbers without the histories."""
        file = Path(path)

        if file.suffix.lower() == ".parquet":
            save_parquet(self, file)
            return
        rows = [
            CaseRow({name: self[name][k] for name in self._outputs}, self.reasons[k], (self.notes[k],))
            for k in range(len(self))
        ]
        save_hdf5(file, self.varied, [rows], len(self), self.time, self.info)

    @classmethod
    def load(cls, path: str | Path) -> Sweep:
        """Read a sweep from an HDF5 file; columns are read when they are asked for."""

        return load_hdf5(Path(path))


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _exact(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float) else str(value)


def column(values: Sequence[Any]) -> NDArray[Any]:
    """Values of one place: numbers where all are."""
    if all(isinstance(x, int | float) and not isinstance(x, bool) for x in values):
        return np.array(values, dtype=float)
    return np.array([str(x) for x in values], dtype=object)


def gathered(
    varied: dict[str, NDArray[Any]], chunks: Iterable[list[CaseRow]], count: int, time: Floats, info: SweepInfo
) -> Sweep:
    """All rows in memory."""
    outputs: dict[str, Any] = {}
    reasons, notes, alone = [""] * count, [""] * count, dict[str, int]()
    for k, row in enumerate(row for chunk in chunks for row in chunk):
        count_alone(alone, row)
        reasons[k], notes[k] = row.reason, "; ".join(row.notes)
        for name, value in row.values.items():
            if name not in outputs:
                outputs[name] = np.full((count, *shape_of(value, time)), np.nan)
            put(outputs[name], k, value)
    info = replace(info, alone=alone)
    return Sweep(varied, outputs, reasons, notes, time if _any_history(outputs) else np.zeros(0), info)


def count_alone(alone: dict[str, int], row: CaseRow) -> None:
    """Count a run that could not be stepped beside others, by the reason."""
    if row.alone:
        alone[row.alone] = alone.get(row.alone, 0) + 1


def shape_of(value: Any, time: Floats) -> tuple[int, ...]:
    if np.ndim(value) == 0:
        return ()
    return (max(len(time), len(value)),)


def put(place: Any, k: int, value: Any) -> None:
    """One value into its row; a history that ended early, or is longer than the others, is cut or filled with nan."""
    if np.ndim(value) == 0:
        place[k] = value
        return
    length = min(place.shape[1], len(value))
    place[k, :length] = value[:length]


def _any_history(outputs: dict[str, Any]) -> bool:
    return any(np.ndim(values) == 2 for values in outputs.values())


# ---- table file


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
