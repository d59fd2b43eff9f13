"""Numbers that are meant to be 0 or +-1: what only rounding left of them is removed, so that it can be structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.spatial.nothing import nested

ROUNDING = 1e-14
"""Entries of placements this close to 0 or +-1 are meant to be that."""


def clean(a: Array) -> list[Any]:
    """Nested lists with the rounding of rotations removed: cos(90 deg) is 6e-17."""
    a = np.asarray(a, dtype=float)
    # 0.0 is added so that no zero is negative
    exact = np.rint(a) + 0.0
    out: list[Any] = np.where((np.abs(exact) <= 1.0) & (np.abs(a - exact) < ROUNDING), exact, a).tolist()
    return out


def listed(value: Any) -> Any:
    """Nested lists; what only rounding left of a turned array is zero."""
    if np.ndim(value) == 0:
        return float(value)
    return nested(rounded(np.asarray(value, dtype=float)))


def rounded(a: Array) -> Array:
    """An array in which that is zero."""
    return np.where(np.abs(a) < ROUNDING * np.abs(a).max(initial=0.0), 0.0, a)
