"""Structural damping: the same ratio for the modes of a loaded link or of a whole robot, or Rayleigh's two factors.

A ratio belongs to a vibration, and a vibrating link moves all that it carries: payloads, and the links behind it with
their joints held. The bare link would be damped several times too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.assembled import ElasticSystem, load_mass
from pliant.bodies.carried import CarriedMass
from pliant.bodies.modal_body import Array, ModalBody

ROUNDING = 1e-13
"""Couplings of a load below this part of the masses they couple are rounding of its place."""


def loaded_mass(body: ModalBody, loads: Mapping[str, CarriedMass]) -> Array:
    """Mass of the elastic coordinates (n, n) of a body that carries rigid loads on its frames."""
    added = np.zeros_like(body.M_ee)
    for name, load in loads.items():
        at = body.frames[name]
        J = np.vstack([at.Phi_d, at.Phi_r])
        added += J.T @ load_mass(load, at.position) @ J
    M = body.straight_mass
    size = np.sqrt(np.diag(M + added))
    return np.asarray(M + np.where(np.abs(added) > ROUNDING * np.outer(size, size), added, 0.0))


def modal_ratios(M: Array, K: Array, D: Array) -> Array:
    """Damping ratios of the modes of (K, M), lowest first; modes without stiffness have none."""
    from scipy.linalg import eigh

    squares, V = eigh(K, M)
    omega = np.sqrt(np.maximum(squares, 0.0))
    damped = np.einsum("ik,ij,jk->k", V, D, V)
    return np.asarray(damped[omega > 0] / (2 * omega[omega > 0]))


def robot_damping(
    system: ElasticSystem, links: Mapping[str, Array], given: Mapping[str, Array], ratio: float
) -> dict[str, Array]:
    """Damping of each link such that the modes of the assembled robot have one ratio.

    links  link -> its loaded mass: links whose damping is sought
    given  link -> its damping: links that have their own

    A link dissipates by its own strain rates alone and never feeds energy in, so its matrix is a sum of squares. Which
    ones, and how much of each, is fitted to the ratios of the robot's modes; a low mode counts more than a high one.
    """
    from scipy.linalg import eigh
    from scipy.optimize import nnls

    squares, V = eigh(system.K, system.M)
    omega = np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    wanted = np.full(len(omega), ratio)
    for name, D in given.items():
        wanted -= np.einsum("ik,ij,jk->k", V[system.own[name]], D, V[system.own[name]]) / (2 * omega)
    terms = [(name, term) for name, M in links.items() for term in _terms(M, system.K, V, system.own[name])]
    # what each square adds to the ratio of each mode, of like size
    adds = np.array([(term @ V[system.own[name]]) ** 2 for name, term in terms]).T / (2 * omega[:, None])
    size = adds.max(axis=0)
    weight = omega[0] / omega
    factors = nnls(adds / size * weight[:, None], np.maximum(wanted, 0.0) * weight)[0] / size
    found = {name: np.zeros_like(M) for name, M in links.items()}
    for (name, term), factor in zip(terms, factors, strict=True):
        found[name] += factor * np.outer(term, term)
    return found


def _terms(M: Array, K: Array, V: Array, own: slice) -> Iterator[Array]:
    """Candidates d of the squares d d^T: momenta and forces of the link's modes and of the robot's."""
    from scipy.linalg import eigh

    K, V = K[own, own], V[own]
    candidates = np.hstack([M @ eigh(K, M)[1], M @ V, K @ V, np.linalg.pinv(V.T)]).T
    # where the families of a link do not mix, its damping must not mix them either
    for block in _blocks(M, K):
        for candidate in candidates:
            term = np.zeros(len(M))
            term[block] = candidate[block]
            if np.abs(term).max() > ROUNDING * np.abs(candidate).max():
                yield term


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
