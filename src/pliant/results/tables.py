"""Channels of a run as tables of other packages: pandas and xarray."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.files import written
from pliant.results.channels import default_channels, parts

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset

    from pliant.results.result import Result

AXES = {3: ("axis", list("xyz")), 6: ("wrench", ["fx", "fy", "fz", "mx", "my", "mz"])}
"""Length of a channel's second axis -> its name and the names along it."""


def dataframe(run: Result, channels: list[str] | None = None) -> DataFrame:
    """A table over time; a channel with several entries takes several columns."""
    pandas = needed("pandas", "a table")
    columns: dict[str, Any] = {}
    units = {}
    for name in channels if channels is not None else default_channels(run):
        values = run[name].reshape(len(run), -1)
        for k, part in enumerate(parts(values.shape[1])):
            columns[f"{name}{part}"] = values[:, k]
            units[f"{name}{part}"] = run.unit(name)
    table: DataFrame = pandas.DataFrame(columns, index=pandas.Index(run.time, name="time"))
    table.attrs.update({"units": units, "robot": run.robot.name, "run": run.info.name})
    return table


def dataset(run: Result, channels: list[str] | None = None) -> Dataset:
    """Arrays over time with named axes, units and meanings."""
    xarray = needed("xarray", "an xarray Dataset")
    arrays, axes = {}, {}
    for name in channels if channels is not None else list(run.channels):
        values, channel = run[name], run.channel(name)
        axis = AXES.get(values.shape[1] if values.ndim > 1 else 0)
        dims = ["time", *((axis[0],) if axis else ()), *(("column",) if values.ndim == 3 else ())]
        if axis:
            axes[axis[0]] = axis[1]
        if values.ndim == 3:
            axes["column"] = list("xyz")
        arrays[name] = (dims, values, {"units": channel.unit, "long_name": channel.meaning})
    time = ("time", run.time, {"units": "s"})
    found: Dataset = xarray.Dataset(
        arrays, coords={"time": time, **axes}, attrs={"robot": run.robot.name, "run": run.info.name}
    )
    return found


def write_rows(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A CSV file of a line of names and rows of numbers and words, so that every digit comes back."""
    with written(path) as beside, open(beside, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(head)
        writer.writerows(["" if cell is None else cell for cell in row] for row in rows)


def needed(package: str, what: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise ImportError(f"{what} needs the package {package}; install it with: pip install {package}") from None
