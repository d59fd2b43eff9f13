"""Patterns of constants that were found before: robots with other numbers in the same structure are not split anew.

Constants are laid out in one row of numbers. Their skeleton (kinds, lengths and words) and the places of their zeros
lead to a pattern that was found for such a row; it is theirs if the same numbers are one, and the same are equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.rounding import flat

Floats = NDArray[np.float64]

SHARED_BITS = 46
"""Leading bits in which two constants must agree (up to one unit) to be taken as the same number: 3e-14."""
APART = 3
"""Units by which groups of equal numbers must differ, so that none of them could be of the other one."""
MOST_KNOWN = 256
"""Patterns that are kept; the oldest go first."""
LARGEST = 20_000
"""Numbers of a link up to which its pattern is kept."""

Key = tuple[Hashable, bytes]
_KNOWN: dict[Key, KnownPattern] = {}


def row_of(constants: Any) -> tuple[Key, Floats] | None:
    """Constants as one row of numbers, arrays among them, and the key under which their pattern may be known."""
    skeleton: list[Hashable] = []
    numbers: list[Any] = []
    _lay_out(constants, skeleton, numbers)
    if len(numbers) > LARGEST:
        return None
    row = np.array(numbers, dtype=float)
    return (tuple(skeleton), (row != 0.0).tobytes()), row


def _lay_out(node: Any, skeleton: list[Hashable], numbers: list[Any]) -> None:
    if isinstance(node, np.ndarray):
        skeleton.append(node.shape)
        numbers += flat(node)
    elif isinstance(node, str):
        skeleton.append(node)
    elif node is None or node == ():
        # nothing at all is split into a zero
        skeleton.append(node)
        numbers.append(0.0)
    elif isinstance(node, tuple):
        skeleton.append(type(node))
        for part in node:
            _lay_out(part, skeleton, numbers)
    elif not isinstance(node, list):
        numbers.append(node)
    else:
        skeleton.append(len(node))
        if node and isinstance(node[0], float):
            numbers += node
        elif node and isinstance(node[0], list) and node[0] and isinstance(node[0][0], float):
            for row in node:
                skeleton.append(len(row))
                numbers += row
        else:
            for part in node:
                _lay_out(part, skeleton, numbers)


def known_pattern(key: Key) -> KnownPattern | None:
    """The pattern that was found for a key."""
    return _KNOWN.get(key)


def keep_pattern(key: Key, known: KnownPattern) -> None:
    """Remember a pattern."""
    _KNOWN.pop(key, None)
    _KNOWN[key] = known
    while len(_KNOWN) > MOST_KNOWN:
        _KNOWN.pop(next(iter(_KNOWN)), None)


def _leaves(node: Any, role: str) -> Iterator[tuple[Any, str]]:
    """The slots and numbers of a pattern in the order of the row, and the role of their field."""
    if isinstance(node, str):
        return
    if hasattr(node, "sign"):
        yield node, role
    elif isinstance(node, tuple):
        roles = node.roles() if hasattr(node, "roles") and role != "alike" else {}
        names = getattr(node, "_fields", [""] * len(node))
        for name, part in zip(names, node, strict=True):
            yield from _leaves(part, "alike" if role == "alike" else roles.get(name, "shared"))
    elif isinstance(node, Sequence):
        for part in node:
            yield from _leaves(part, role)
    else:
        yield node, role


class KnownPattern:
    """How the values of a pattern are read from a row, and what must hold for the row.

    found    the pattern with whatever belongs to it
    source   for every slot the place of its value in the row
    pool     places of numbers that share a slot where they are equal, their slots' first ones in the pool, their signs
    ones     places of numbers that are structure, and these numbers; ``others`` are those that would be if they were 1
    """

    def __init__(self, found: Any, pattern: Any, size: int) -> None:
        leaves = list(_leaves(pattern, "shared"))
        self.found, self.fits = found, len(leaves) == size
        source: dict[int, int] = {}
        pool, first, signs, ones, others = (list[Any]() for _ in range(5))
        place_in_pool: dict[int, int] = {}
        for k, (leaf, role) in enumerate(leaves):
            if not hasattr(leaf, "sign"):
                if leaf:
                    ones.append((k, leaf))
                continue
            source.setdefault(leaf.index, k)
            if role in ("shared", "exact"):
                first.append(place_in_pool.setdefault(leaf.index, len(pool)))
                signs.append(leaf.sign)
                pool.append(k)
            if role == "exact":
                others.append(k)
        self._source = np.array([source[i] for i in range(len(source))], dtype=np.intp)
        self._pool, self._first, self._others = (np.array(x, dtype=np.intp) for x in (pool, first, others))
        self._distinct = np.unique(self._first)
        self._signs = np.array(signs)
        self._ones = np.array([k for k, _ in ones], dtype=np.intp)
        self._numbers = np.array([x for _, x in ones])

    def values(self, row: Floats) -> list[float] | None:
        """The values of the slots; None if the pattern of the row is another one."""
        if (row[self._ones] != self._numbers).any() or (np.abs(row[self._others]) == 1.0).any():
            return None
        pool = row[self._pool]
        mantissa, exponent = np.frexp(np.abs(pool))
        units = np.rint(np.ldexp(mantissa, SHARED_BITS)).astype(np.int64)
        units += exponent.astype(np.int64) << SHARED_BITS + 2
        turned = pool * self._signs
        if (np.abs(units - units[self._first]) > 1).any() or ((turned > 0) != (turned[self._first] > 0)).any():
            return None
        if (np.diff(np.sort(units[self._distinct])) < APART).any():
            return None
        values: list[float] = row[self._source].tolist()
        return values
