"""Structural damping of a link: the same ratio for its modes under load, or Rayleigh's two factors.

A ratio belongs to a vibration, and a vibrating link moves all that it carries: payloads, and the links behind it with
their joints held. The bare link would be damped several times too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.carried import CarriedMass
from pliant.bodies.modal_body import Array, ModalBody, hat

ROUNDING = 1e-13
"""Couplings of a load below this part of the masses they couple are rounding of its place."""


def loaded_mass(body: ModalBody, loads: Mapping[str, CarriedMass]) -> Array:
    """Mass of the elastic coordinates (n, n) of a body that carries rigid loads on its frames."""
    M = body.straight_mass
    if not loads:
        return M
    on_frames = ((load, body.frames[name]) for name, load in loads.items())
    added = sum(load_mass(load, at.position, at.Phi_d, at.Phi_r) for load, at in on_frames)
    size = np.sqrt((M + added).diagonal())
    return M + np.where(np.abs(added) <= ROUNDING * (size[:, None] * size), 0.0, added)


def load_mass(load: CarriedMass, at: Array, Phi_d: Array, Phi_r: Array) -> Array:
    """Mass (n, n) of a rigid load on a section at a place, which shapes (3, n) move and turn; all in B."""
    # a shape moves a place r of the load by H (r, 1)
    n = Phi_d.shape[1]
    H = np.empty((n, 3, 4))
    H[:, :, :3] = turn = hat(Phi_r.T)
    H[:, :, 3] = Phi_d.T - turn @ at
    return np.asarray((H @ load.moments).reshape(n, 12) @ H.reshape(n, 12).T)


def modal_ratios(M: Array, K: Array, D: Array) -> Array:
    """Damping ratios of the modes of (K, M), lowest first; modes without stiffness have none."""
    squares, Q, L = _modes(K, M)
    V = np.linalg.solve(L.T, Q)
    omega = np.sqrt(np.maximum(squares, 0.0))
    damped = np.einsum("ik,ij,jk->k", V, D, V)
    return np.asarray(damped[omega > 0] / (2 * omega[omega > 0]))


def modal_damping(M: Array, K: Array, ratio: float) -> Array:
    """D = M V diag(2 zeta omega) V^T M with the mass-normalised modes V of (K, M)."""
    coupled = (M != 0) | (K != 0)
    if coupled.all():
        return _whole_damping(M, K, ratio)
    D = np.zeros_like(M)
    for block in _blocks(coupled):
        at = np.ix_(block, block)
        D[at] = _whole_damping(M[at], K[at], ratio)
    return D


def _whole_damping(M: Array, K: Array, ratio: float) -> Array:
    squares, Q, L = _modes(K, M)
    # M V = L L^T L^-T Q
    MV = L @ Q
    D = (MV * (2 * ratio * np.sqrt(np.maximum(squares, 0.0)))) @ MV.T
    return np.asarray((D + D.T) / 2)


def rayleigh_damping(M: Array, K: Array, mass: float, stiffness: float) -> Array:
    """D = mass * M + stiffness * K."""
    return mass * M + stiffness * K


def _modes(K: Array, M: Array) -> tuple[Array, Array, Array]:
    """Squares of the frequencies, lowest first, Q and L of the mass-normalised modes L^-T Q with M = L L^T.

    Every robot needs them, few need scipy.
    """
    L = np.linalg.cholesky(M)
    inverse = np.linalg.inv(L)
    A = inverse @ K @ inverse.T
    squares, Q = np.linalg.eigh((A + A.T) / 2)
    return squares, Q, np.asarray(L, dtype=float)


def _blocks(coupled: NDArray[np.bool_]) -> Iterator[NDArray[np.intp]]:
    # coordinates that M or K couple; working by blocks keeps the zeros between them exact
    left = np.ones(len(coupled), dtype=bool)
    while left.any():
        block = np.arange(len(coupled)) == np.argmax(left)
        while (wider := block | coupled[block].any(axis=0)).sum() > block.sum():
            block = wider
        yield np.flatnonzero(block)
        left &= ~block
