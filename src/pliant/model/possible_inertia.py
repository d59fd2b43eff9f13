"""Inertias that no body can have, and the nearest that one can."""

from __future__ import annotations

import numpy as np

from pliant.model.element import Array


def nearest_inertia(inertia: Array) -> Array:
    """The inertia (3, 3) of a body nearest to a given one: no second moment of mass is negative.

    A body has ``I = tr(S) 1 - S`` with its second moments ``S = int r r^T dm``, which cannot be negative in any
    direction; negative ones are set to zero.
    """
    symmetric = (inertia + inertia.T) / 2
    second = np.trace(symmetric) / 2 * np.eye(3) - symmetric
    moments, axes = np.linalg.eigh(second)
    positive = axes * np.maximum(moments, 0.0) @ axes.T
    nearest: Array = np.trace(positive) * np.eye(3) - positive
    return (nearest + nearest.T) / 2
