"""Frames along an axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.spatial.rounding import ROUNDING

Array = NDArray[np.float64]


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
