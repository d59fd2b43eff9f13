"""Files of Abaqus and CalculiX: nodes, elements and node sets of an input deck, and the matrices that both write.

Abaqus    *MATRIX GENERATE writes .mtx files with rows node, direction, node, direction, value, of one triangle or both.
CalculiX  .sti and .mas have rows of row, column, value, counted from 1, of one triangle; .dof says which node and
          direction each row is, as 12.3. Unknowns that the deck holds are not there: a link must be free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import coo_array, csr_array

from pliant.errors import ModelError, Problem
from pliant.files import content_of
from pliant.solid_mechanics.solid_mesh import Array, Indices

LARGEST = 2**31
TEN_NODES = ("C3D10", "C3D10M", "C3D10R", "C3D10HS", "C3D10I")
SHOWN = 40


@dataclass(frozen=True, eq=False)
class InputDeck:
    """What an input deck says of a mesh.

    labels  of the nodes, rising   (N,)
    places  m                      (N, 3)
    tets    numbers of nodes from 0, in the order of the labels (T, 10)
    sets    name in capitals -> numbers of nodes from 0
    """

    labels: Indices
    places: Array
    tets: Indices
    sets: dict[str, Indices] = field(default_factory=dict)

    def numbers(self, labels: Sequence[int], name: str) -> Indices:
        """Numbers from 0 of some labels; raises ModelError with the first that is no node."""
        wanted = np.asarray(labels, dtype=int)
        place = np.searchsorted(self.labels, wanted)
        wrong = (place >= len(self.labels)) | (self.labels[np.minimum(place, len(self.labels) - 1)] != wanted)
        if wrong.any():
            _refuse(name, f"has node {int(wanted[np.argmax(wrong)])}, which the deck does not have")
        return place


def read_deck(path: str | PathLike[str], name: str) -> InputDeck:
    """Nodes, tetrahedra of ten nodes and node sets of an input deck; other keywords are passed over."""
    nodes: dict[int, list[float]] = {}
    rows: list[list[int]] = []
    sets: dict[str, list[int]] = {}
    kind = ""
    options: dict[str, str] = {}
    pending: list[int] = []
    for number, line in enumerate(_text(path, name).splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("**"):
            continue
        if text.startswith("*"):
            words = [word.strip() for word in text[1:].split(",")]
            kind = words[0].upper()
            options = {key.strip().upper(): value.strip() for key, _, value in (w.partition("=") for w in words[1:])}
            pending = []
            continue
        try:
            if kind == "NODE":
                label, *place = text.rstrip(",").split(",")
                nodes[int(label)] = [float(x) for x in place[:3]]
                if len(nodes[int(label)]) != 3:
                    raise ValueError
            elif kind == "ELEMENT" and options.get("TYPE", "").upper() in TEN_NODES:
                pending += [int(word) for word in text.rstrip(",").split(",") if word.strip()]
                if len(pending) >= 11:
                    rows.append(pending[1:11])
                    pending = []
            elif kind == "NSET":
                own = sets.setdefault(options.get("NSET", "").upper(), [])
                words = [word.strip() for word in text.rstrip(",").split(",") if word.strip()]
                if "GENERATE" in options:
                    first, last, step = (*map(int, words[:2]), int(words[2]) if len(words) > 2 else 1)
                    own += range(first, last + 1, step)
                else:
                    for word in words:
                        own += sets.get(word.upper(), []) if not word.lstrip("-").isdigit() else [int(word)]
        except (ValueError, IndexError):
            _refuse(name, f"has '{text[:SHOWN]}' in line {number}, which is no row of *{kind}")
    if not nodes:
        _refuse(name, "has no *NODE")
    labels = np.array(sorted(nodes))
    deck = InputDeck(labels, np.array([nodes[k] for k in labels.tolist()]), np.zeros((0, 10), dtype=int))
    tets = deck.numbers(np.array(rows, dtype=int).ravel().tolist(), f"{name}: *ELEMENT").reshape(-1, 10)
    known = {key: deck.numbers(own, f"{name}: *NSET {key}") for key, own in sets.items()}
    return InputDeck(labels, deck.places, tets, known)


def abaqus_matrix(path: str | PathLike[str], deck: InputDeck, name: str) -> tuple[csr_array, int]:
    """A matrix by node and direction, and the unknowns per node (3 or 6)."""
    table = _table(path, name, 5)
    for column in (0, 2):
        if (table[:, column] < 0).any():
            row = int(np.argmax(table[:, column] < 0))
            _refuse(
                name,
                f"has the internal node {int(table[row, column])} in row {row + 1} (a constraint or hybrid element); "
                "generate the matrix without such",
            )
    highest = int(max(table[:, 1].max(), table[:, 3].max()))
    if highest > 6 or min(table[:, 1].min(), table[:, 3].min()) < 1:
        row = int(np.argmax((table[:, [1, 3]] > 6).any(axis=1) | (table[:, [1, 3]] < 1).any(axis=1)))
        _refuse(name, f"has a direction that is not 1 to 6 in row {row + 1}")
    d = 3 if highest <= 3 else 6
    places = [
        d * deck.numbers(table[:, k].astype(int).tolist(), name) + table[:, k + 1].astype(int) - 1 for k in (0, 2)
    ]
    return _assembled(places[0], places[1], table[:, 4], d * len(deck.labels)), d


def calculix_matrix(
    path: str | PathLike[str], dofs: str | PathLike[str], deck: InputDeck, names: tuple[str, str]
) -> tuple[csr_array, int]:
    """A matrix of CalculiX with the meaning of its rows; raises ModelError where unknowns are held."""
    nodes, directions = _directions(dofs, names[1])
    d = 3 if directions.max(initial=1) <= 3 else 6
    own = d * deck.numbers(nodes.tolist(), names[1]) + directions - 1
    size = d * len(deck.labels)
    if len(missing := np.setdiff1d(np.arange(size), own)):
        label, direction = deck.labels[missing[0] // d], missing[0] % d + 1
        _refuse(
            names[1],
            f"misses {len(missing)} of {size} unknowns, as direction {direction} of node {label}: the deck holds them. "
            "Take its *BOUNDARY out, a link is free",
        )
    table = _table(path, names[0], 3)
    rows, columns = (table[:, k].astype(int) - 1 for k in (0, 1))
    wrong = (np.minimum(rows, columns) < 0) | (np.maximum(rows, columns) >= len(own))
    if wrong.any():
        row = int(np.argmax(wrong))
        _refuse(
            names[0],
            f"has the entry ({rows[row] + 1}, {columns[row] + 1}) in row {row + 1}; there are {len(own)} unknowns",
        )
    return _assembled(own[rows], own[columns], table[:, 2], size), d


def _directions(path: str | PathLike[str], name: str) -> tuple[Indices, Indices]:
    """Node and direction of every row, from lines such as 12.3."""
    nodes, directions = [], []
    for number, line in enumerate(_text(path, name).split(), 1):
        # the number after the dot is a direction: 12.10 is no 12.1
        node, dot, direction = line.partition(".")
        if not (dot and node.isdigit() and direction.isdigit() and 1 <= int(direction) <= 6):
            _refuse(name, f"has '{line[:SHOWN]}' in row {number}; it must be node.direction, such as 12.3")
        nodes.append(int(node))
        directions.append(int(direction))
    return np.array(nodes), np.array(directions)


def _assembled(rows: Any, columns: Any, values: Array, size: int) -> csr_array:
    """Both triangles of a matrix of which a file has one or both."""
    A = csr_array(coo_array((values, (rows, columns)), shape=(size, size)))
    lower, upper = (rows > columns).any(), (rows < columns).any()
    if lower and upper:
        keys = set((rows[rows > columns] * size + columns[rows > columns]).tolist())
        twice = any(
            int(c) * size + int(r) in keys for r, c in zip(rows[rows < columns], columns[rows < columns], strict=True)
        )
        if twice:
            return A
    diagonal = csr_array((A.diagonal(), (range(size), range(size))), shape=(size, size))
    return csr_array(A + A.T - diagonal)


def _table(path: str | PathLike[str], name: str, width: int) -> Array:
    """Rows of so many numbers, apart by commas or spaces."""
    text = _text(path, name).replace(",", " ").replace("D", "E").replace("d", "e")
    rows = text.splitlines()
    flat = text.split()
    try:
        table = np.array(flat, dtype=float).reshape(-1, width)
        if len(table) != sum(1 for row in rows if row.strip()):
            raise ValueError
    except ValueError:
        for number, row in enumerate(rows, 1):
            words = row.split()
            if words and (len(words) != width or not all(map(_is_number, words))):
                _refuse(name, f"has '{row.strip()[:SHOWN]}' in row {number}; it must be {width} numbers")
        _refuse(name, "cannot be read")
    if not len(table):
        _refuse(name, "is empty")
    return table


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _text(path: str | PathLike[str], name: str) -> str:
    try:
        return content_of(fspath(path), LARGEST).decode("utf-8", "replace")
    except ModelError as error:
        _refuse(name, error.problems[0].message)


def _refuse(name: str, message: str) -> NoReturn:
    raise ModelError(Problem(name, message))
