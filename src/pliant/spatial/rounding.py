"""Numbers that are meant to be 0 or +-1: what only rounding left of them is removed, so that it can be structure."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pliant.spatial.structural_zeros import nested

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
