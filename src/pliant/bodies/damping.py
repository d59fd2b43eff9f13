"""Structural damping of a link: the same ratio for its modes, or Rayleigh's two factors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.modal_body import Array


def modal_damping(M: Array, K: Array, ratio: float) -> Array:
    """D = M V diag(2 zeta omega) V^T M with the mass-normalised modes V of (K, M)."""
    from scipy.linalg import eigh

    D = np.zeros_like(M)
    for block in _blocks(M, K):
        at = np.ix_(block, block)
        squares, V = eigh(K[at], M[at])
        MV = M[at] @ V
        part = (MV * (2 * ratio * np.sqrt(np.maximum(squares, 0.0)))) @ MV.T
        D[at] = (part + part.T) / 2
    return D


def rayleigh_damping(M: Array, K: Array, mass: float, stiffness: float) -> Array:
    """D = mass * M + stiffness * K."""
    return mass * M + stiffness * K


def _blocks(M: Array, K: Array) -> Iterator[NDArray[np.intp]]:
    # coordinates that M or K couple; working by blocks keeps the zeros between them exact
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(csr_array((M != 0) | (K != 0)), directed=False)
    for number in range(count):
        yield np.flatnonzero(label == number)
