"""Files of Nastran: grid points of bulk data, and matrices in text OUTPUT4 files (KAA, MAA).

Text files have a line of columns, rows, form, type, name and format, then for each column its number, its first row and
its numbers of words, and the values, as many in a line as the format says. Rows follow the grid points in rising order,
three or six for each. Binary files are refused: Nastran writes text with FORMATTED, and pyNastran converts.
"""

from __future__ import annotations

import re
from os import PathLike, fspath
from typing import NoReturn

import numpy as np
from scipy.sparse import csr_array

from pliant.errors import ModelError, Problem
from pliant.files import content_of
from pliant.model.readers.abaqus_files import InputDeck

LARGEST = 2**31
SYMMETRIC, WIDTH = 6, 16
STRING = 65536
"""Of a string's head: its length times this, and its first row."""
FIELD = 8
_FORMAT = re.compile(r"1P,(\d+)E(\d+)\.\d+", re.IGNORECASE)


def read_bulk(path: str | PathLike[str], name: str) -> InputDeck:
    """Grid points and tetrahedra of ten nodes of bulk data, free or fixed fields; coordinates in the basic system."""
    grids: dict[int, list[float]] = {}
    systems: dict[int, str] = {}
    tets: list[list[int]] = []
    for number, fields in _cards(_text(path, name)):
        try:
            if fields[0] == "GRID":
                systems[number] = fields[2].strip()
                grids[int(fields[1])] = [_real(word) for word in fields[3:6]]
            elif fields[0] == "CTETRA" and len([f for f in fields if f.strip()]) >= 13:
                tets.append([int(word) for word in fields[3:13]])
        except (ValueError, IndexError):
            _refuse(name, f"has '{' '.join(fields)[:40]}' in line {number}, which is no {fields[0]}")
    if other := next(((line, system) for line, system in systems.items() if system not in ("", "0")), None):
        _refuse(name, f"has a grid point in the coordinate system {other[1]} in line {other[0]}; give basic ones")
    if not grids:
        _refuse(name, "has no GRID")
    labels = np.array(sorted(grids))
    deck = InputDeck(labels, np.array([grids[k] for k in labels.tolist()]), np.zeros((0, 10), dtype=int))
    rows = deck.numbers([k for row in tets for k in row], f"{name}: CTETRA").reshape(-1, 10)
    return InputDeck(labels, deck.places, rows)


def read_op4(path: str | PathLike[str], name: str) -> csr_array:
    """The first matrix of a text file."""
    raw = content_of(fspath(path), LARGEST)
    if b"\0" in raw[:200]:
        _refuse(name, "is a binary OUTPUT4 file; write it as text (ASSIGN ... FORMATTED), or convert it with pyNastran")
    lines = raw.decode("ascii", "replace").splitlines()
    try:
        columns, rows, form = (int(lines[0][8 * k : 8 * k + 8]) for k in range(3))
        match = _FORMAT.search(lines[0][40:])
        per_line, width = (int(match[1]), int(match[2])) if match else (5, WIDTH)
    except (ValueError, IndexError):
        _refuse(name, "does not begin with columns, rows, form and type of an OUTPUT4 matrix")
    size = abs(rows)
    places: list[tuple[int, int]] = []
    values: list[float] = []
    column = row = 0
    for number, line in enumerate(lines[1:], 2):
        words = line.split()
        try:
            if "." not in line:
                # whole numbers: a column, or a string of values in it with its first row
                head = [int(word) for word in words]
                if len(head) == 3:
                    column, row = head[0], head[1]
                    if column > columns:
                        break
                elif head:
                    row = head[1] if len(head) == 2 else head[0] % STRING
                continue
            for k in range(0, min(len(line.rstrip()), per_line * width), width):
                places.append((row - 1, column - 1))
                values.append(_real(line[k : k + width]))
                row += 1
        except (ValueError, IndexError):
            _refuse(name, f"has '{line[:40]}' in line {number}, which is no row of a matrix")
        if row - 1 > size:
            _refuse(name, f"has more than {size} rows in column {column}, in line {number}")
    at = np.array(places, dtype=int).reshape(-1, 2)
    out = csr_array((values, (at[:, 0], at[:, 1])), shape=(size, columns))
    if form == SYMMETRIC and abs(out - out.T).max() > 1e-9 * abs(out).max():
        # one triangle
        out = csr_array(out + out.T - csr_array((out.diagonal(), (range(size), range(size))), shape=out.shape))
    return out


def _cards(text: str) -> list[tuple[int, list[str]]]:
    """Cards with the line where each begins, in fields; continuations joined."""
    cards: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        row = line.split("$")[0].rstrip()
        if not row:
            continue
        if "," in row:
            fields = [word.strip() for word in row.split(",")]
        else:
            large = row[:FIELD].rstrip().endswith("*")
            step = 2 * FIELD if large else FIELD
            fields = [row[:FIELD].strip().rstrip("*")]
            fields += [row[k : k + step].strip() for k in range(FIELD, min(len(row), FIELD + 64), step)]
        if fields[0] in ("", "+", "*") or fields[0].startswith(("+", "*")):
            if cards:
                cards[-1][1].extend(fields[1:])
            continue
        cards.append((number, [fields[0].upper(), *fields[1:]]))
    return cards


def _real(text: str) -> float:
    """A number as Nastran writes it: 1.5-3 is 1.5e-3, nothing is zero."""
    word = text.strip().upper().replace("D", "E")
    if not word:
        return 0.0
    try:
        return float(word)
    except ValueError:
        return float(re.sub(r"(?<=[0-9.])([+-])(?=[0-9])", r"E\1", word))


def _text(path: str | PathLike[str], name: str) -> str:
    return content_of(fspath(path), LARGEST).decode("utf-8", "replace")


def _refuse(name: str, message: str) -> NoReturn:
    raise ModelError(Problem(name, message))
