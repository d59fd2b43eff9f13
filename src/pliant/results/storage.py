"""Runs in HDF5 files, and their channels in CSV files.

They are sealed, see ``sealed.py``. Layout of what follows the seal; rows of all arrays are times, and `time` is the
dimension scale of their first axis:

    attributes              kind "pliant run", format, version of Pliant
    time                    s (N,)
    q, v, tau, force, work, reference, wrenches, states, stored    the sampled motion, see ``Samples``
    names/coordinates, names/inputs      names of the columns of q and v, and of tau and reference
    channels/NAME           every channel of the run, attributes unit and meaning
    robot, study, info      YAML, YAML and JSON texts
    checkpoint/...          what is needed to go on

A run is read from everything but `channels`, which are there for other programs.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.files import no_file, write_bytes, written
from pliant.results.channels import default_channels, parts
from pliant.results.samples import Floats, RunInfo, Samples
from pliant.results.sealed import fixed_text, seal_problem, sealed, stored_array, stored_names

if TYPE_CHECKING:
    from pliant.results.result import Result

FORMAT = 3
KIND = "pliant run"
CHECKPOINT = "checkpoint"
GENERATOR = '<meta name="generator" content="Pliant">'
FIRST_COLUMN = "time [s]"
LARGE = 1000
"""Arrays with more entries are compressed."""


class StoredChannel(NamedTuple):
    """A channel with its values (N, ...)."""

    name: str
    unit: str
    meaning: str
    values: Floats


@dataclass(frozen=True)
class RunRecord:
    """A run as plain data: all that a file of it holds.

    robot, study         YAML texts
    info                 how the run went, as ``RunInfo.as_data`` gives it
    coordinates, inputs  names of the columns of the samples
    channels             for other programs; a run is read without them
    """

    robot: str
    study: str
    info: dict[str, Any]
    coordinates: tuple[str, ...]
    inputs: tuple[str, ...]
    samples: Samples
    channels: tuple[StoredChannel, ...] = ()


def save_run(record: RunRecord, path: Path, checkpoint: dict[str, Any] | None = None) -> None:
    """Write a run: first beside its place, then moved there, so that a file is always whole.

    checkpoint  what is needed to go on (arrays by name)
    """
    write_bytes(path, _image(record, checkpoint or {}))


def _image(run: RunRecord, checkpoint: dict[str, Any]) -> bytes:
    """A run as the bytes of a file; made in memory, so that a full disk is met by plain writing only."""
    import h5py

    # HDF5's own image of a file in memory has a wrong checksum before HDF5 2: a file that is closed is right
    image = io.BytesIO()
    with h5py.File(image, "w", libver=("v110", "v110")) as file:
        file.attrs.update({"kind": fixed_text(KIND), "format": FORMAT, "version": fixed_text(run.info["version"])})
        file["robot"] = fixed_text(run.robot)
        file["study"] = fixed_text(run.study)
        file["info"] = fixed_text(json.dumps(run.info))
        names = file.create_group("names")
        names["coordinates"] = np.array([name.encode() for name in run.coordinates])
        names["inputs"] = np.array([name.encode() for name in run.inputs], dtype=bytes)
        for name, array in run.samples.arrays().items():
            _array(file, name, array)
        file["time"].make_scale("time")
        file["time"].attrs["unit"] = fixed_text("s")
        for name in (*run.samples.arrays(), *(_write_channel(file, channel) for channel in run.channels)):
            if name != "time":
                file[name].dims[0].label = "time"
                file[name].dims[0].attach_scale(file["time"])
        for name, array in checkpoint.items():
            file[f"{CHECKPOINT}/{name}"] = array
    return sealed(image.getvalue(), "run")


def _array(file: Any, name: str, array: Floats) -> Any:
    packed = {"compression": "gzip", "shuffle": True, "fletcher32": True} if array.size > LARGE else {}
    return file.create_dataset(name, data=array, **packed)


def _write_channel(file: Any, channel: StoredChannel) -> str:
    """Write a channel with its unit; gives its place in the file."""
    # a slash would begin a group of its own
    place = f"channels/{channel.name.replace('/', '|')}"
    data = _array(file, place, channel.values)
    data.attrs.update({"unit": fixed_text(channel.unit or "1"), "meaning": fixed_text(channel.meaning)})
    return place


def load_run(path: Path) -> Result:
    """The run in a file; raises ValueError for a file that is none."""
    return load_run_and_checkpoint(path)[0]


def load_run_and_checkpoint(path: Path) -> tuple[Result, dict[str, Any]]:
    """The run in a file and what is needed to go on."""
    import h5py

    from pliant.errors import ModelError, Problem

    wrong = no_file(path) or seal_problem(path, "run")
    if wrong:
        raise ModelError(Problem("", wrong, str(path)))
    try:
        with h5py.File(path, "r") as file:
            return _content(file, path)
    except ModelError:
        raise
    except Exception as error:
        # with its seal broken and mended by hand, a file may raise nearly anything
        raise ModelError(Problem("", f"the file is damaged: {error}", str(path))) from None


def _content(file: Any, path: Path) -> tuple[Result, dict[str, Any]]:
    """What an open file holds; a damaged one may raise nearly anything."""
    from pliant.errors import ModelError, Problem
    from pliant.model.readers.yaml_file import read_text
    from pliant.results.result import Result

    if file.attrs.get("kind") != fixed_text(KIND):
        raise ValueError("it does not hold a run")
    if file.attrs["format"] > FORMAT:
        version = file.attrs["version"].decode()
        raise ModelError(Problem("", f"the run was written by Pliant {version}; this one is older", str(path)))
    robot = read_text(stored_array(file, "robot", "S", 0), f"{path}: robot")
    info = RunInfo.from_data(json.loads(stored_array(file, "info", "S", 0)))
    # runs of earlier formats had no wrenches, and neither states nor energies of drives
    later = ("wrenches", "states", "stored")
    there = [f.name for f in fields(Samples) if f.name in file or f.name not in later]
    samples = Samples(*(stored_array(file, name, "f", 1 if name == "time" else 2) for name in there))
    coordinates, inputs = (stored_array(file, f"names/{what}", "S", 1) for what in ("coordinates", "inputs"))
    if not _fit(samples, len(coordinates), len(inputs), len(info.loaded), len(info.states)):
        raise ValueError("its arrays do not fit together")
    try:
        for frame in (*info.frames, *info.loaded):
            if frame != "tip":
                robot.resolve_frame(frame)
        for strain in info.strains:
            robot.link(strain.link)
    except ModelError as error:
        raise ValueError(str(error)) from None
    kept = stored_names(file, CHECKPOINT)
    memory = {name.removeprefix(f"{CHECKPOINT}/"): stored_array(file, name, "Sfiub") for name in kept}
    return Result(robot, samples, info), memory


def _fit(samples: Samples, coordinates: int, inputs: int, loaded: int, states: int) -> bool:
    """Whether all arrays are of as many times, coordinates and inputs as there are, and of finite numbers."""
    widths = {"q": {coordinates}, "v": {coordinates}, "tau": {inputs}, "work": {3}}
    widths |= {"force": {0, coordinates}, "reference": {0, inputs}, "wrenches": {6 * loaded}, "states": {states}}
    widths |= {"stored": {1}}
    arrays = samples.arrays()
    return (
        len(samples) > 0
        and all(array.shape[0] == len(samples) and np.isfinite(array).all() for array in arrays.values())
        and all(arrays[name].shape[1] in allowed for name, allowed in widths.items())
    )


def write_csv(run: Result, path: Path, channels: list[str] | None = None) -> None:
    """One line per sample; a channel with several entries takes several columns."""
    names = channels if channels is not None else default_channels(run)
    columns: dict[str, Any] = {FIRST_COLUMN: run.time}
    for name in names:
        values = run[name].reshape(len(run), -1)
        unit = f" [{run.unit(name)}]" if run.unit(name) else ""
        columns.update({f"{name}{part}{unit}": values[:, k] for k, part in enumerate(parts(values.shape[1]))})
    with written(path) as beside, open(beside, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(np.column_stack(list(columns.values())).tolist())
