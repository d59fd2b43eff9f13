"""The table that a sweep makes: one row per case, in memory or in an HDF5 or Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import did_you_mean
from pliant.files import written
from pliant.model.notebook import html_page, made_by
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
        from pliant.sweeps.table_file import save_hdf5, save_parquet

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
        from pliant.sweeps.table_file import load_hdf5

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
