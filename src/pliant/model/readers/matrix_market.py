"""Matrix Market files: scanned before anything is parsed, so that a wrong file is an error with its line.

A file has a first line ``%%MatrixMarket matrix FORMAT FIELD SYMMETRY``, comments, a line of sizes and the entries:
``row column value``, counted from 1 (coordinate), or values column by column (array). A symmetric one has one triangle.
Numbers may have Fortran's exponents (1.5D+3, 1.5+103).
"""

from __future__ import annotations

import bz2
import gzip
import io
import re
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from pliant.files import no_file

MOST_BYTES = 2**31
MOST_ROWS = 20_000_000
"""Rows of a matrix: memory is asked for in proportion."""
FIELDS = {"real": 1, "double": 1, "integer": 1, "complex": 2}
"""Numbers of a value."""
SYMMETRIES = ("general", "symmetric", "hermitian")
PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}
SHOWN = 40
_NUMBERS = b"0123456789+-.eE \t\n"
_FORTRAN = bytes.maketrans(b"Dd", b"EE")
# exponents of three digits leave no room for their letter
_BARE_EXPONENT = re.compile(rb"(?<=[0-9.])([+-])(?=[0-9])")


class MatrixFileError(ValueError):
    """A file that is no matrix; the message goes on after its name ("has ... in line 7; ...")."""


def read_matrix(path: str | PathLike[str]) -> csr_array:
    """The real matrix in a file; raises MatrixFileError."""
    stream = io.BytesIO(_content(path))
    form, parts, symmetry = _kinds(stream.readline())
    line, first = 2, stream.readline()
    while first.startswith(b"%") or (first and not first.strip()):
        line, first = line + 1, stream.readline()
    body = stream.read()
    sizes = _sizes(first, line, 3 if form == "coordinate" else 2)
    rows, columns = sizes[:2]
    if max(rows, columns) > MOST_ROWS:
        raise MatrixFileError(f"is {rows} x {columns} by its line {line}; at most {MOST_ROWS} rows are read")
    one_triangle = symmetry != "general"
    if one_triangle and rows != columns:
        raise MatrixFileError(f"is {rows} x {columns} by its line {line}; a {symmetry} matrix is square")
    if form == "coordinate":
        table = _table(body, line + 1, sizes[2], 2 + parts)
        places = _places(table[:, :2], (rows, columns), body, line + 1)
    else:
        count = rows * (rows + 1) // 2 if one_triangle else rows * columns
        table = _table(body, line + 1, count, parts)
        # column by column; of a symmetric matrix from the diagonal down
        below = np.triu_indices(rows) if one_triangle else np.unravel_index(np.arange(count), (columns, rows))
        places = np.stack(below[::-1], axis=1)
    values = table[:, -parts]
    if parts == 2 and table[:, -1].any():
        raise MatrixFileError(f"has the complex entry {_shown(body, line + 1, int(np.argmax(table[:, -1] != 0)))}")
    if one_triangle:
        places, values = _mirrored(places, values, rows, body, line + 1)
    # entries that come several times are parts of a sum, as of an assembly
    return csr_array(coo_array((values, (places[:, 0], places[:, 1])), shape=(rows, columns)))


def _content(path: str | PathLike[str]) -> bytes:
    wrong = no_file(path)
    if wrong:
        raise MatrixFileError(f"cannot be read: {wrong}")
    try:
        with open(path, "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        opener = next((opener for magic, opener in PACKED.items() if content.startswith(magic)), None)
        if opener is not None:
            with opener(io.BytesIO(content)) as packed:
                content = packed.read(MOST_BYTES + 1)
    except (OSError, EOFError, ValueError, MemoryError) as error:
        raise MatrixFileError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > MOST_BYTES:
        raise MatrixFileError(f"has more than {MOST_BYTES:.1e} bytes; it must have fewer")
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in content else content


def _kinds(head: bytes) -> tuple[str, int, str]:
    """Format, numbers of a value, and symmetry, of the first line."""
    words = head.decode("ascii", "replace").lower().split()
    if words[:1] != ["%%matrixmarket"]:
        raise MatrixFileError(
            f"is no Matrix Market file (it begins with {_quoted(head)}); its first line is %%MatrixMarket matrix ..."
        )
    if len(words) != 5 or words[1] != "matrix":
        raise MatrixFileError(f"has {_quoted(head)} in line 1; it must be %%MatrixMarket matrix FORMAT FIELD SYMMETRY")
    form, field, symmetry = words[2:]
    for word, known, what in (
        (form, ("coordinate", "array"), "format"),
        (field, tuple(FIELDS), "field"),
        (symmetry, SYMMETRIES, "symmetry"),
    ):
        if word not in known:
            raise MatrixFileError(f"has the {what} '{word[:SHOWN]}' in line 1; it must be {' or '.join(known)}")
    return form, FIELDS[field], symmetry


def _sizes(text: bytes, line: int, count: int) -> list[int]:
    words = text.split()
    if len(words) != count or not all(word.isdigit() and len(word) < 19 for word in words):
        what = "rows, columns and entries" if count == 3 else "rows and columns"
        raise MatrixFileError(f"has {_quoted(text)} in line {line}; it must be the numbers of {what}")
    return [int(word) for word in words]


def _table(body: bytes, first: int, count: int, width: int) -> NDArray[np.float64]:
    """The numbers of the entries (count, width)."""
    text = body.translate(_FORTRAN)
    try:
        table = _parsed(text, width)
    except ValueError:
        text = _BARE_EXPONENT.sub(rb"E\1", text)
        try:
            table = _parsed(text, width)
        except ValueError:
            raise MatrixFileError(_wrong_line(text, first, width)) from None
    if len(table) != count:
        raise MatrixFileError(f"has {len(table)} entries; by its head there must be {count}")
    return table


def _parsed(text: bytes, width: int) -> NDArray[np.float64]:
    if text.translate(None, _NUMBERS):
        raise ValueError("signs that no number has")
    if not text.strip():
        return np.zeros((0, width))
    table: NDArray[np.float64] = np.loadtxt(io.StringIO(text.decode("ascii")), ndmin=2, comments=None)
    if table.shape[1] != width:
        raise ValueError("other numbers of columns")
    return table


def _wrong_line(text: bytes, first: int, width: int) -> str:
    """The first line that is none of so many numbers; found line by line, once it is known that there is one."""
    for line, row in enumerate(text.split(b"\n"), first):
        words = row.split()
        if words and not (len(words) == width and all(map(_is_number, words))):
            must = "one number" if width == 1 else f"{width} numbers"
            return f"has {_quoted(row)} in line {line}; it must be {must}"
    return "has entries that cannot be read"


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return not word.translate(None, _NUMBERS)


def _places(given: Any, shape: tuple[int, int], body: bytes, first: int) -> NDArray[np.int64]:
    """Rows and columns from 0."""
    wrong = ~((given >= 1) & (given <= shape) & (given == np.floor(given))).all(axis=1)
    if wrong.any():
        where = _shown(body, first, int(np.argmax(wrong)))
        raise MatrixFileError(f"has the entry {where}; rows are counted from 1 to {shape[0]}, columns to {shape[1]}")
    places: NDArray[np.int64] = given.astype(np.int64) - 1
    return places


def _mirrored(
    places: NDArray[np.int64], values: NDArray[np.float64], rows: int, body: bytes, first: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Both triangles; a file that has an entry and its mirror image would count it twice."""
    below, above = places[:, 0] > places[:, 1], places[:, 0] < places[:, 1]
    keys = places[:, 0] * rows + places[:, 1]
    if below.any() and above.any():
        twice = above & np.isin(places[:, 1] * rows + places[:, 0], keys[below])
        if twice.any():
            k = int(np.argmax(twice))
            i, j = places[k] + 1
            raise MatrixFileError(
                f"says 'symmetric' and has both triangles: entry ({j}, {i}) and {_shown(body, first, k)}. "
                "Leave one triangle out, or write 'general' in its first line"
            )
    off = below | above
    return np.concatenate([places, places[off][:, ::-1]]), np.concatenate([values, values[off]])


def _shown(body: bytes, first: int, entry: int) -> str:
    """An entry as it is written, with its line."""
    for line, row in enumerate(io.BytesIO(body), first):
        if row.strip():
            if not entry:
                return f"{_quoted(row)} in line {line}"
            entry -= 1
    return "?"


def _quoted(text: bytes) -> str:
    words = " ".join(text[: 4 * SHOWN].decode("utf-8", "replace").split())
    return f"'{words if len(words) <= SHOWN else words[: SHOWN - 3] + '...'}'"
