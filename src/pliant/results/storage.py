"""Runs in HDF5 files, and their channels in CSV files.

Layout of a file; rows of all arrays are times, and `time` is the dimension scale of their first axis:

    attributes              kind "pliant run", format, version of Pliant
    time                    s (N,)
    q, v, tau, force, work, reference    the sampled motion, see ``Samples``
    names/coordinates, names/inputs      names of the columns of q and v, and of tau and reference
    channels/NAME           every channel of the run, attributes unit and meaning
    robot, study, info      YAML, YAML and JSON texts
    checkpoint/...          what is needed to go on

A run is read from everything but `channels`, which are there for other programs.
"""

from __future__ import annotations

import csv
import json
import os
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.results.channels import default_channels, parts
from pliant.results.samples import Floats, RunInfo, Samples

if TYPE_CHECKING:
    from pliant.results.result import Result

FORMAT = 1
KIND = "pliant run"
LARGE = 1000
"""Arrays with more entries are compressed."""


def save_run(run: Result, path: Path, checkpoint: dict[str, Any] | None = None, *, channels: bool = True) -> None:
    """Write a run: first beside its place, then moved there, so that a file is always whole.

    checkpoint  what is needed to go on (arrays by name)
    channels    whether all channels are written for other programs
    """
    import h5py

    robot = run.robot.to_yaml()
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # checksums, and texts of fixed length: otherwise a damaged file may keep its reader busy for ever
        with h5py.File(beside, "w", libver=("v110", "v110")) as file:
            file.attrs.update({"kind": _fixed(KIND), "format": FORMAT, "version": _fixed(run.info.version)})
            file["robot"] = _fixed(robot)
            file["study"] = _fixed(run.info.study)
            file["info"] = _fixed(json.dumps(run.info.as_data()))
            names = file.create_group("names")
            names["coordinates"] = np.array([name.encode() for name in run.arm.names])
            names["inputs"] = np.array([name.encode() for name in run.arm.inputs], dtype=bytes)
            for name, array in run.samples.arrays().items():
                _array(file, name, array)
            file["time"].make_scale("time")
            file["time"].attrs["unit"] = _fixed("s")
            for name in (*run.samples.arrays(), *(_write_channels(file, run) if channels else ())):
                if name != "time":
                    file[name].dims[0].label = "time"
                    file[name].dims[0].attach_scale(file["time"])
            for name, array in (checkpoint or {}).items():
                file[f"checkpoint/{name}"] = array
        with open(beside, "rb") as stream:
            os.fsync(stream.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _array(file: Any, name: str, array: Floats) -> Any:
    packed = {"compression": "gzip", "shuffle": True, "fletcher32": True} if array.size > LARGE else {}
    return file.create_dataset(name, data=array, **packed)


def _write_channels(file: Any, run: Result) -> list[str]:
    """All channels with their units; those of a motion that diverged may not exist. Gives where they are."""
    places = []
    for channel in run.listed:
        try:
            values = run[channel.name]
        except (ArithmeticError, ValueError):
            continue
        places.append(f"channels/{channel.name}")
        data = _array(file, places[-1], values)
        data.attrs.update({"unit": _fixed(channel.unit or "1"), "meaning": _fixed(channel.meaning)})
    return places


def load_run(path: Path) -> Result:
    """The run in a file; raises ValueError for a file that is none."""
    return load_run_and_checkpoint(path)[0]


def load_run_and_checkpoint(path: Path) -> tuple[Result, dict[str, Any]]:
    """The run in a file and what is needed to go on."""
    import h5py

    from pliant.model.errors import ModelError, Problem

    if not path.is_file():
        raise ModelError(Problem("", "there is no such file", str(path)))
    try:
        file = h5py.File(path, "r")
    except OSError:
        raise ModelError(Problem("", "this is not an HDF5 file", str(path))) from None
    with file:
        try:
            return _content(file, path)
        except ModelError:
            raise
        except (OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ModelError(Problem("", f"the file is damaged: {error}", str(path))) from None


def _content(file: Any, path: Path) -> tuple[Result, dict[str, Any]]:
    """What an open file holds; a damaged one may raise nearly anything."""
    import h5py

    from pliant.model.errors import ModelError, Problem
    from pliant.model.yaml_file import read_text
    from pliant.results.result import Result

    if file.attrs.get("kind") != _fixed(KIND):
        message = "this HDF5 file does not hold a run of Pliant, or one of its first versions wrote it"
        raise ModelError(Problem("", message, str(path)))
    if file.attrs["format"] > FORMAT:
        version = file.attrs["version"].decode()
        raise ModelError(Problem("", f"the run was written by Pliant {version}; this one is older", str(path)))
    robot = read_text(file["robot"][()], f"{path}: robot")
    info = RunInfo.from_data(json.loads(file["info"][()]))
    samples = Samples(*(file[f.name][()] for f in fields(Samples)))
    rows = {array.shape[0] for array in samples.arrays().values()}
    if len(rows) > 1 or samples.q.shape != samples.v.shape or not all(map(_numbers, samples.arrays().values())):
        raise ValueError("its arrays do not fit together")
    checkpoint: dict[str, Any] = {}
    kept = file.get("checkpoint")
    if kept is not None:
        kept.visititems(
            lambda name, item: checkpoint.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None
        )
    return Result(robot, samples, info), checkpoint


def _fixed(text: str) -> np.bytes_:
    """A text as bytes of fixed length; an empty one needs at least one."""
    return np.bytes_(text.encode() or b"\n")


def _numbers(array: Any) -> bool:
    return bool(array.dtype.kind == "f" and np.isfinite(array).all())


def write_csv(run: Result, path: Path, channels: list[str] | None = None) -> None:
    """One line per sample; a channel with several entries takes several columns."""
    names = channels if channels is not None else default_channels(run)
    columns: dict[str, Any] = {"time [s]": run.time}
    for name in names:
        values = run[name].reshape(len(run), -1)
        unit = f" [{run.unit(name)}]" if run.unit(name) else ""
        columns.update({f"{name}{part}{unit}": values[:, k] for k, part in enumerate(parts(values.shape[1]))})
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(np.column_stack(list(columns.values())).tolist())
