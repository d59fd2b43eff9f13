"""Runs in HDF5 files, and their channels in CSV files.

Files are sealed: the first 512 bytes, which HDF5 leaves to others, say what a file is and hold a digest of all that
follows, and what a file says is read without trust. Layout of what follows the seal; rows of all arrays are times,
and `time` is the dimension scale of their first axis:

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
import hashlib
import io
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from pliant.files import no_file, write_bytes, written
from pliant.results.channels import default_channels, parts
from pliant.results.samples import Floats, RunInfo, Samples

if TYPE_CHECKING:
    from pliant.results.result import Result

SEAL_SIZE = 512
"""Bytes in front of the file that HDF5 sees."""
HDF5 = b"\x89HDF\r\n\x1a\n"
MOST_NAMES, DEEPEST = 10_000, 8
"""Parts of a group that are looked at, and how deep they may be."""
MOST_PACKED = 1100
"""Bytes that one byte can stand for in packed data."""


def seal_words(kind: str) -> str:
    """How a sealed file of a kind ("run", "sweep") begins."""
    return f"pliant {kind}, HDF5 from byte {SEAL_SIZE} on, blake2b "


def _seal(kind: str, digest: str) -> bytes:
    return f"{seal_words(kind)}{digest}\n".encode().ljust(SEAL_SIZE)


def sealed(image: bytes, kind: str) -> bytes:
    """The image of an HDF5 file with its seal in front."""
    return _seal(kind, hashlib.blake2b(image).hexdigest()) + image


def seal_file(path: Path, kind: str) -> None:
    """Seal a file that was written with ``userblock_size=SEAL_SIZE``."""
    with open(path, "r+b") as stream:
        stream.seek(SEAL_SIZE)
        seal = _seal(kind, _digest(stream))
        stream.seek(0)
        stream.write(seal)


def seal_problem(path: Path, kind: str) -> str:
    """Why the content of a file is not what Pliant wrote; nothing if it is."""
    with open(path, "rb") as stream:
        seal = stream.read(SEAL_SIZE)
        if not seal.startswith(seal_words(kind).encode()):
            if HDF5 not in (seal[:8], stream.read(8)):
                return "this is not an HDF5 file"
            return f"this HDF5 file does not hold a {kind} of Pliant, or one of its first versions wrote it"
        whole = seal == _seal(kind, _digest(stream))
    changed = "the file is damaged, or another program changed it: its checksum is not that of its content"
    return "" if whole else changed


def _digest(stream: BinaryIO) -> str:
    digest = hashlib.blake2b()
    while part := stream.read(2**20):
        digest.update(part)
    return digest.hexdigest()


def stored_array(file: Any, name: str, kinds: str, axes: int | None = None) -> Any:
    """A dataset that lies in this very file, of a kind of numbers or texts, and no larger than what lies there."""
    import h5py

    data = stored(file, name)
    if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external:
        raise ValueError(f"'{name}' does not lie in this file")
    if data.dtype.kind not in kinds or (axes is not None and data.ndim != axes):
        raise ValueError(f"'{name}' is {data.dtype} {data.shape}")
    packed = data.id.get_storage_size()
    if data.size * data.dtype.itemsize > (MOST_PACKED if data.chunks else 1) * packed:
        raise ValueError(f"'{name}' shall have {data.size} entries, but there are {packed} bytes")
    return data[()]


def stored(file: Any, name: str) -> Any:
    """A dataset or group that lies in this very file; nothing is opened by way of a link to elsewhere."""
    import h5py

    found = file
    for step in name.split("/"):
        # an external link would open its file, and for ever if that is a pipe
        link = found.get(step, getlink=True) if isinstance(found, h5py.Group) else None
        if not isinstance(link, h5py.HardLink):
            raise ValueError(f"'{name}' does not lie in this file")
        found = found[step]
    return found


def stored_names(file: Any, group: str) -> list[str]:
    """Names of all datasets below a group, seen from the file; empty where there is no such group."""
    import h5py

    names: list[str] = []
    todo = [group] if file.get(group, getlink=True, default=None) is not None else []
    count = 0
    while todo:
        name = todo.pop()
        count += 1
        if count > MOST_NAMES or name.count("/") > DEEPEST:
            raise ValueError(f"'{group}' has more than {MOST_NAMES} parts, or parts more than {DEEPEST} deep")
        found = stored(file, name)
        if isinstance(found, h5py.Group):
            todo += [f"{name}/{each}" for each in itertools.islice(found, MOST_NAMES + 1)]
        else:
            names.append(name)
    return sorted(names)


def fixed_text(text: str) -> np.bytes_:
    """A text as bytes of fixed length; an empty one needs at least one."""
    # texts of other lengths lie elsewhere in a file, and a damaged one may keep its reader busy for ever
    return np.bytes_(text.encode() or b"\n")


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


def save_channels(
    path: Path, kind: str, texts: Mapping[str, str], time: Floats, channels: Sequence[StoredChannel]
) -> None:
    """Write channels over time, with texts such as the robot's, as a sealed HDF5 file of a kind."""
    import h5py

    image = io.BytesIO()
    with h5py.File(image, "w", libver=("v110", "v110")) as file:
        file.attrs["kind"] = fixed_text(f"pliant {kind}")
        for name, text in texts.items():
            file[name] = fixed_text(text)
        _array(file, "time", time).attrs["unit"] = fixed_text("s")
        file["time"].make_scale("time")
        for channel in channels:
            data = file[_write_channel(file, channel)]
            data.dims[0].label = "time"
            data.dims[0].attach_scale(file["time"])
    write_bytes(path, sealed(image.getvalue(), kind))


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
    from pliant.model.readers.library import read_text
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
