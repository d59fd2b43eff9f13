"""Patterns of constants that were found before: robots with other numbers in the same structure are not split anew.

Constants are laid out in one row of numbers. Their skeleton (kinds, lengths and words) and the places of zeros and ones
lead to patterns that were found for such rows; one of them is theirs if the same numbers are equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.spatial.rounding import flat

Floats = NDArray[np.float64]

SHARED_BITS = 46
"""Leading bits in which two constants must agree (up to one unit) to be taken as the same number: 3e-14."""
APART = 3
"""Units by which groups of equal numbers must differ, so that none of them could be of the other one."""
MOST_KNOWN, MOST_ALIKE = 256, 4
"""Keys that are kept with patterns, and patterns of each; the oldest go first."""
LONG_LIST = 100
"""Entries of a list in which equal numbers keep slots of their own: what is done with them is the same for all of them,
and becomes a loop."""
LARGEST = 20_000
"""Numbers of a link up to which its pattern is kept."""

Key = tuple[Hashable, bytes, bytes, bytes]
_KNOWN: dict[Key, tuple[KnownPattern, ...]] = {}


def row_of(constants: Any) -> tuple[Key, Floats] | None:
    """Constants as one row of numbers, arrays among them, and the key under which their patterns may be known."""
    skeleton: list[Hashable] = []
    numbers: list[Any] = []
    try:
        _lay_out(constants, skeleton, numbers)
    except OverflowError:
        return None
    if len(numbers) > LARGEST:
        return None
    row = np.array(numbers, dtype=float)
    # 0 and +-1 may be structure
    return (tuple(skeleton), (row != 0.0).tobytes(), (row == 1.0).tobytes(), (row == -1.0).tobytes()), row


def _lay_out(node: Any, skeleton: list[Hashable], numbers: list[Any]) -> None:
    """Raises OverflowError where arrays are so large that their pattern is not kept."""
    if isinstance(node, float):
        numbers.append(node)
    elif isinstance(node, np.ndarray):
        skeleton.append(node.shape)
        if len(numbers) + node.size > LARGEST:
            raise OverflowError
        if node.size:
            numbers += flat(node)
    elif isinstance(node, list):
        skeleton.append(len(node))
        first = node[0] if node else None
        if isinstance(first, float):
            numbers += node
        elif isinstance(first, list) and first and isinstance(first[0], float):
            for row in node:
                skeleton.append(len(row))
                numbers += row
        else:
            for part in node:
                _lay_out(part, skeleton, numbers)
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
    else:
        numbers.append(node)


def known_patterns(key: Key) -> tuple[KnownPattern, ...]:
    """The patterns that were found for a key."""
    return _KNOWN.get(key, ())


def keep_pattern(key: Key, known: KnownPattern) -> None:
    """Remember a pattern."""
    note_general(key, known)
    _KNOWN[key] = (known, *_KNOWN.pop(key, ())[: MOST_ALIKE - 1])
    while len(_KNOWN) > MOST_KNOWN:
        _KNOWN.pop(next(iter(_KNOWN)), None)


ZerosKey = tuple[Hashable, bytes]
"""Skeleton and places of zeros: all that rows of one structure must have in common."""
_general: dict[ZerosKey, KnownPattern] | None = None
"""Inside ``one_structure``: of the patterns for a key the one with most slots."""


@contextmanager
def one_structure(patterns: dict[ZerosKey, KnownPattern]) -> Iterator[None]:
    """Inside, numbers that happen to be equal, or one, are of the structure of others that are not.

    Code for the more general structure serves them too; values that are zero stay structure.

    patterns  those that are known; new ones are added
    """
    global _general
    before, _general = _general, patterns
    try:
        yield
    finally:
        _general = before


def general_pattern(key: Key) -> KnownPattern | None:
    """The most general pattern for a key, inside ``one_structure``."""
    return None if _general is None else _general.get(key[:2])


def note_general(key: Key, known: KnownPattern) -> None:
    """Remember a pattern for ``general_pattern``, if it is more general than the one before."""
    if _general is not None and ((before := _general.get(key[:2])) is None or before.slots < known.slots):
        _general[key[:2]] = known


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
        if role == "shared" and len(node) >= LONG_LIST:
            role = "alone"
        for part in node:
            yield from _leaves(part, role)
    else:
        yield node, role


class KnownPattern:
    """How the values of a pattern are read from a row, and what must hold for the row.

    found    the pattern with whatever belongs to it
    source   for every slot the place of its value in the row
    pool     places of numbers that share a slot where they are equal, their slots' first ones in the pool, their signs
    ones     places of numbers but zero that are structure, and these numbers
    """

    def __init__(self, found: Any, pattern: Any, size: int) -> None:
        leaves = list(_leaves(pattern, "shared"))
        self.found, self.fits = found, len(leaves) == size
        source: dict[int, int] = {}
        pool, first, signs, ones = (list[Any]() for _ in range(4))
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
        self._source = np.array([source[i] for i in range(len(source))], dtype=np.intp)
        self._pool, self._first = (np.array(x, dtype=np.intp) for x in (pool, first))
        self._distinct = np.unique(self._first)
        self._signs = np.array(signs)
        self._ones = np.array([k for k, _ in ones], dtype=np.intp)
        self._numbers = np.array([x for _, x in ones])

    @property
    def slots(self) -> int:
        """How many values there are."""
        return len(self._source)

    def values(self, row: Floats, *, general: bool = False) -> list[float] | None:
        """The values of the slots of a row with the key; None if its pattern is another one.

        general  the row may have another key but for its zeros, and numbers in it may be equal, or one, that need not
                 be so in this pattern
        """
        if general and (row[self._ones] != self._numbers).any():
            return None
        pool = row[self._pool]
        turned = pool * self._signs
        values: list[float] = row[self._source].tolist()
        if general and (turned == turned[self._first]).all():
            # the very same numbers, as most are that share a slot
            return values
        mantissa, exponent = np.frexp(np.abs(pool))
        units = np.rint(np.ldexp(mantissa, SHARED_BITS)).astype(np.int64)
        units += exponent.astype(np.int64) << SHARED_BITS + 2
        if (np.abs(units - units[self._first]) > 1).any() or ((turned > 0) != (turned[self._first] > 0)).any():
            return None
        if not general and (np.diff(np.sort(units[self._distinct])) < APART).any():
            return None
        return values
