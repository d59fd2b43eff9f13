"""Vectors and matrices that users give to groups and screws, checked; the matrix of a cross product."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

ORTHONORMAL = 1e-9
"""By how much A^T A of a rotation may differ from 1, and a + a^T of a skew matrix from 0."""


def numbers(name: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
    """An array of finite numbers of a shape."""
    found = np.asarray(given, dtype=float)
    if found.shape != shape:
        raise ValueError(f"{name} has shape {found.shape}; it must be {shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} is {found.tolist()}; all of it must be finite")
    return found


def rotation(given: ArrayLike) -> Array:
    """A rotation matrix."""
    A = numbers("A", given, (3, 3))
    off = float(np.abs(A.T @ A - np.eye(3)).max())
    if off > ORTHONORMAL or np.linalg.det(A) < 0:
        what = f"A^T A differs from 1 by {off:.2g}" if off > ORTHONORMAL else "its determinant is -1, a reflection"
        raise ValueError(f"A is no rotation: {what}; make one by SO3.exp(rotation vector)")
    return A


def skew(a: ArrayLike) -> Array:
    """a~ (3, 3) with a~ b = a x b."""
    x, y, z = numbers("a", a, (3,))
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def unskew(a: ArrayLike) -> Array:
    """The vector (3,) of a skew matrix."""
    x = numbers("a", a, (3, 3))
    off = float(np.abs(x + x.T).max())
    if off > ORTHONORMAL * max(1.0, float(np.abs(x).max())):
        raise ValueError(f"a is not skew: a + a^T is up to {off:.2g}; it must be zero")
    return np.array([x[2, 1], x[0, 2], x[1, 0]])
