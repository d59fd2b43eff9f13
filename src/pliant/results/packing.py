"""Numbers in the letters that a page may hold."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

LARGEST = 1e38
"""A run that diverged is still drawn."""
STEPS = 32767


def packed(values: ArrayLike) -> str:
    """Of single precision."""
    finite = np.clip(np.nan_to_num(values), -LARGEST, LARGEST)
    return base64.b64encode(finite.astype("<f4").tobytes()).decode()


def packed_whole(values: ArrayLike) -> str:
    """Whole numbers from zero to 2^32."""
    return base64.b64encode(np.asarray(values).astype("<u4").tobytes()).decode()


def packed_steps(values: ArrayLike) -> dict[str, Any]:
    """Numbers (..., k) in steps of a 32767th of the largest of each of the k columns."""
    finite = np.clip(np.nan_to_num(np.asarray(values, dtype=float)), -LARGEST, LARGEST)
    most = np.abs(finite).max(axis=tuple(range(finite.ndim - 1)), initial=0.0)
    steps = np.rint(finite * (STEPS / np.where(most > 0, most, 1.0)))
    return {"unit": (most / STEPS).tolist(), "steps": base64.b64encode(steps.astype("<i2").tobytes()).decode()}
