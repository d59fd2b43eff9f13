"""Numbers that are meant to be 0 or +-1: what only rounding left of them is removed, so that it can be structure.

Arrays of zeros know that they are: most of the arrays of a large body are empty, and nobody walks through them.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Array = NDArray[np.float64]

ROUNDING = 1e-14
"""Entries of placements this close to 0 or +-1 are meant to be that."""
FEW = 200
"""Entries of an array up to which plain numbers are handled sooner than the array."""


def clean(a: Array) -> list[Any]:
    """Nested lists with the rounding of rotations removed: cos(90 deg) is 6e-17."""
    out: list[Any] = _cleaned(np.asarray(a, dtype=float).tolist())
    return out


def _cleaned(x: list[Any]) -> list[Any]:
    # most of what is cleaned has three or nine entries
    if x and isinstance(x[0], list):
        return [_cleaned(part) for part in x]
    return [
        0.0
        if -ROUNDING < y < ROUNDING
        else math.copysign(1.0, y)
        if -ROUNDING < y - 1.0 < ROUNDING or -ROUNDING < y + 1.0 < ROUNDING
        else y
        for y in x
    ]


def rounded(a: Array) -> Array:
    """An array; what only rounding left of a turned one is zero."""
    filled = np.count_nonzero(a)
    if not filled:
        return a
    size = np.abs(a)
    small = size < ROUNDING * size.max()
    return a if np.count_nonzero(small) == a.size - filled else np.where(small, 0.0, a)


def flat(a: Array) -> list[float]:
    """All numbers of an array, rounded like that."""
    if a.size > FEW:
        numbers: list[float] = rounded(a).ravel().tolist()
        return numbers
    numbers = a.ravel().tolist()
    least = ROUNDING * max(map(abs, numbers), default=0.0)
    return [x if x >= least or x <= -least else 0.0 for x in numbers]


def listed(value: Any) -> Any:
    """A number, or an array as nested lists that is rounded like that."""
    return float(value) if np.ndim(value) == 0 else nested(rounded(np.asarray(value, dtype=float)))


def as_lists(terms: T) -> T:
    """Named tuples with nested lists in the place of their arrays, rounded like that."""
    if isinstance(terms, np.ndarray):
        return listed(terms)  # type: ignore[no-any-return]
    if not hasattr(terms, "_fields"):
        return terms
    parts: Any = (as_lists(part) for part in terms)  # type: ignore[attr-defined]
    return type(terms)(*parts)


# ---- frames along an axis


def nearest_axis(axis: Array) -> tuple[int, float, Array]:
    """(k, sign, R): axis = sign R e_k, with R the identity whenever the axis is a coordinate axis."""
    k = int(np.argmax(np.abs(axis)))
    sign = 1.0 if axis[k] > 0 else -1.0
    e = np.eye(3)[k] * sign
    if np.abs(axis - e).max() < ROUNDING:
        return k, sign, np.eye(3)
    # the smallest rotation that takes the nearest coordinate axis to the joint axis
    w = np.cross(e, axis)
    w_hat = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return k, sign, np.eye(3) + w_hat + w_hat @ w_hat / (1.0 + e @ axis)


# ---- whether symmetric matrices are positive


def exceeds(A: NDArray[np.float64], bound: float) -> bool:
    """Whether no eigenvalue of a symmetric matrix is below a bound."""
    try:
        np.linalg.cholesky(A - bound * np.eye(len(A)))
    except np.linalg.LinAlgError:
        # that may be rounding
        return bool(np.linalg.eigvalsh(A)[0] >= bound)
    return True


# ---- structural zeros


FEW_PARTS, SMALL = 8, 9
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
    if len(a) <= FEW_PARTS:
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
