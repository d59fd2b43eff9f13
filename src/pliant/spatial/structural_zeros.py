"""Arrays of zeros that know it: most of the arrays of a large body are empty, and nobody walks through them."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

FEW, SMALL = 8, 9
"""Parts of an array up to which each is asked for itself, and entries up to which no part is."""


class StructuralZeros(list[Any]):
    """Nested lists of zeros of some shape; one object for all of them, so it cannot be changed."""

    __slots__ = ("shape",)

    def __init__(self, *shape: int) -> None:
        n, *inner = shape
        super().__init__([structural_zeros(*inner)] * n if inner else [0.0] * n)
        self.shape = shape

    def __setitem__(self, *_: Any) -> NoReturn:
        raise TypeError("zeros that are shared cannot be changed; make a list of them first")

    def __reduce__(self) -> tuple[Any, ...]:
        return structural_zeros, self.shape


@cache
def structural_zeros(*shape: int) -> StructuralZeros:
    """The zeros of a shape."""
    return StructuralZeros(*shape)


def nested(a: NDArray[np.float64]) -> list[Any]:
    """An array as nested lists, with parts that are zero as such."""
    if a.ndim == 1 or a.size <= SMALL:
        return list(a.tolist()) if not a.size or np.count_nonzero(a) else structural_zeros(*a.shape)
    if not np.count_nonzero(a):
        return structural_zeros(*a.shape)
    empty = structural_zeros(*a.shape[1:])
    if len(a) <= FEW:
        return [nested(part) if np.count_nonzero(part) else empty for part in a]
    filled = np.asarray(a.reshape(len(a), -1).any(axis=1))
    return [nested(part) if some else empty for part, some in zip(a, filled.tolist(), strict=True)]


def filled(values: Any) -> NDArray[np.float64]:
    """The array of nested lists."""
    if isinstance(values, np.ndarray):
        return values
    if type(values) is StructuralZeros:
        return np.zeros(values.shape)
    if not isinstance(values, list) or not values or not isinstance(values[0], list):
        return np.array(values, dtype=float)
    first = filled(values[0])
    out = np.zeros((len(values), *first.shape))
    for row, part in zip(out, values, strict=True):
        if type(part) is not StructuralZeros:
            row[...] = filled(part)
    return out
