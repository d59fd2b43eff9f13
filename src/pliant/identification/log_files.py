"""Columns of numbers from files of measurements: CSV, MAT, HDF5 and NPZ.

Nothing in a file is executed, and links in HDF5 files are not followed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError, Problem, listing, show
from pliant.files import content_of

Floats = NDArray[np.float64]

MOST_BYTES = 1_000_000_000
"""Of a file of measurements."""
HDF5_MARK = b"\x89HDF\r\n\x1a\n"
DEEPEST = 8
"""Groups within groups of an HDF5 file that are looked into."""
DELIMITERS = (",", ";", "\t")


class Columns(NamedTuple):
    """What a file holds.

    values  name of each column -> its numbers
    lines   line of the file of each row, where it has lines
    """

    values: dict[str, Floats]
    lines: tuple[int, ...] = ()


def read_columns(path: Path, comments: str = "#") -> Columns:
    """All columns of numbers of a file, by its ending."""
    readers: dict[str, Callable[[Path, bytes], Columns]] = {
        ".csv": lambda file, data: _from_text(file, data, comments),
        ".txt": lambda file, data: _from_text(file, data, comments),
        ".tsv": lambda file, data: _from_text(file, data, comments),
        ".mat": _from_mat,
        ".h5": _from_hdf5,
        ".hdf5": _from_hdf5,
        ".npz": _from_npz,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        known = listing(dict.fromkeys(readers))
        raise ModelError(f"{path}: a log ends in {known}; this one in '{path.suffix}'")
    found = reader(path, content_of(path, MOST_BYTES))
    if not found.values:
        raise ModelError(f"{path}: there is no column of numbers in it")
    return found


# ---------------------------------------------------------------- text


def _from_text(path: Path, data: bytes, comments: str) -> Columns:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: byte {error.start} is no UTF-8 text") from None
    numbered = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    numbered = [(k, line) for k, line in numbered if not comments or not line.lstrip().startswith(comments)]
    if len(numbered) < 2:
        raise ModelError(f"{path}: a log has a line of names and at least one line of numbers")
    delimiter = _delimiter(numbered[0][1])
    rows = [(k, [cell.strip() for cell in _cells(line, delimiter)]) for k, line in numbered]
    # with semicolons between them numbers may have a decimal comma
    comma = delimiter == ";" and any("," in cell for _, row in rows[1:] for cell in row)
    names = rows[0][1]
    if all(_number(name, comma) is not None for name in names):
        # a file without names: its columns are called 1, 2, ...
        names = [str(k + 1) for k in range(len(names))]
    else:
        rows = rows[1:]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelError(Problem("", f"two columns are called '{twice}'", str(path), numbered[0][0]))
    table = np.empty((len(rows), len(names)))
    for i, (line, row) in enumerate(rows):
        if len(row) != len(names):
            raise ModelError(Problem("", f"the line has {len(row)} columns; the first {len(names)}", str(path), line))
        for j, cell in enumerate(row):
            value = _number(cell, comma)
            if value is None:
                raise ModelError(
                    Problem("", f"column '{names[j]}' is {show(cell)}; that is no number", str(path), line)
                )
            table[i, j] = value
    return Columns({name: table[:, j].copy() for j, name in enumerate(names)}, tuple(line for line, _ in rows))


def _delimiter(line: str) -> str:
    """What stands between the columns: comma, semicolon, tab, or blanks."""
    return max(DELIMITERS, key=line.count) if any(sign in line for sign in DELIMITERS) else " "


def _cells(line: str, delimiter: str) -> list[str]:
    return line.split() if delimiter == " " else next(csv.reader([line], delimiter=delimiter))


def _number(cell: str, comma: bool) -> float | None:
    """A number, a missing one where the cell is empty; None for other text."""
    if not cell:
        return np.nan
    try:
        return float(cell.replace(",", ".") if comma else cell)
    except ValueError:
        return None


# ---------------------------------------------------------------- arrays


def _from_mat(path: Path, data: bytes) -> Columns:
    if data[:512].startswith(b"MATLAB 7.3") or HDF5_MARK in data[:1024]:
        return _from_hdf5(path, data)
    from scipy.io import loadmat

    try:
        found = loadmat(io.BytesIO(data), simplify_cells=True)
    except Exception as error:
        raise ModelError(f"{path}: it cannot be read as a MAT file: {error}") from None
    return Columns(_flat({k: v for k, v in found.items() if not k.startswith("__")}))


def _from_npz(path: Path, data: bytes) -> Columns:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            return Columns(_flat({name: found[name] for name in found.files}))
    except Exception as error:
        raise ModelError(f"{path}: it cannot be read as an NPZ file: {error}") from None


def _from_hdf5(path: Path, data: bytes) -> Columns:
    import h5py

    def within(group: Any, depth: int) -> Iterator[tuple[str, Any]]:
        for name in group:
            # soft and external links lead elsewhere
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                continue
            item = group[name]
            if isinstance(item, h5py.Dataset):
                if item.dtype.kind in "fiub" and not item.external and not item.is_virtual:
                    yield name, item[()]
            elif depth < DEEPEST:
                yield name, dict(within(item, depth + 1))

    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            return Columns(_flat(dict(within(file, 0))))
    except OSError as error:
        raise ModelError(f"{path}: it cannot be read as an HDF5 file: {error}") from None


def _flat(tree: Mapping[str, Any], before: str = "") -> dict[str, Floats]:
    """Vectors of numbers in structures within structures, by names such as ``rig.angles``; of tables each column."""
    out: dict[str, Floats] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            out |= _flat(value, f"{before}{name}.")
            continue
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or array.ndim not in (1, 2) or array.size < 2:
            continue
        array = array.astype(float)
        if array.ndim == 2 and 1 in array.shape:
            array = array.ravel()
        if array.ndim == 1:
            out[f"{before}{name}"] = array
            continue
        # samples are many, columns few
        array = array if array.shape[0] >= array.shape[1] else array.T
        out |= {f"{before}{name}.{k + 1}": array[:, k].copy() for k in range(array.shape[1])}
    return out
