"""The numbers of a tree: the values of all links' constants in the order of their slots, one link after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pliant.engine.trace.structure import from_slots, split_tree

if TYPE_CHECKING:
    from pliant.algorithm import Carrier

_KEPT: WeakKeyDictionary[Carrier, NDArray[np.float64]] = WeakKeyDictionary()


def constants_of(tree: Carrier) -> NDArray[np.float64]:
    """The numbers, in an array of the caller's own; every program of a tree asks for them."""
    if tree not in _KEPT:
        _KEPT[tree] = np.fromiter(chain.from_iterable(split.values for split in split_tree(tree)), dtype=float)
    return _KEPT[tree].copy()


def numbers_of(tree: Carrier) -> tuple[float, ...]:
    """The same as a key."""
    return tuple(constants_of(tree).tolist())


def constants_from(tree: Carrier, numbers: Sequence[Any]) -> list[Any]:
    """The constants of every link with other values, or traced ones: all of the numbers in their order."""
    out, start = [], 0
    for split in split_tree(tree):
        out.append(from_slots(split.pattern, numbers[start : start + len(split.values)].__getitem__))
        start += len(split.values)
    return out
