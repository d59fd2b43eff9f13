"""Constant changes of basis: static condensation, Craig-Bampton, and any given matrix."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np

from pliant.bodies.beam_modes import family_inertia
from pliant.bodies.elements import BendingElements, RodElements
from pliant.bodies.families import CombinedSet
from pliant.bodies.invariants import mass_matrix, stiffness
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.profile import BeamProfile


def change_basis(body: ModalBody, V: Array, names: tuple[str, ...]) -> ModalBody:
    """The same body in the coordinates p of q_e = V p; ``V`` is (n, number of names)."""
    V = np.asarray(V, dtype=float)
    if V.shape != (body.size, len(names)):
        raise ValueError(f"V has shape {V.shape}; {body.size} coordinates and {len(names)} names need another")
    frames = {name: frame.combined(V) for name, frame in body.frames.items()}
    return replace(
        body,
        names=tuple(names),
        first_modal=body.first_modal @ V,
        beta=body.beta @ V,
        lam=_both(V, body.lam),
        I_re=np.einsum("kp,kab->pab", V, body.I_re),
        I_ee=_both(V, body.I_ee),
        M_ee=_symmetric(V.T @ body.M_ee @ V),
        K_ee=_symmetric(V.T @ body.K_ee @ V),
        D_ee=_symmetric(V.T @ body.D_ee @ V),
        frames=frames,
        section_turn=body.section_turn @ V if len(body.section_inertia) else np.zeros((0, 3, len(names))),
    )


def reduced_set(
    nodal: BendingElements | RodElements, profile: BeamProfile, modes: int, *, section_inertia: bool
) -> CombinedSet:
    """Elements reduced to the motion of the tip and so many vibrations with a fixed tip."""
    kept = 2 if isinstance(nodal, BendingElements) else 1
    K = stiffness([nodal], profile)
    if not modes:
        return CombinedSet(nodal, static_basis(K, kept))
    V = craig_bampton_basis(mass_matrix(nodal, profile, section_inertia=section_inertia), K, kept, modes)
    # interior modes scaled to the inertia of the beam, starting with positive strain at the root
    root = nodal.sample(np.array([0.0])).strain[:, 0]
    V[:, :modes] *= sqrt(family_inertia(nodal.family, profile)) * np.where(root @ V[:, :modes] < 0, -1.0, 1.0)
    return CombinedSet(nodal, V)


def static_basis(K: Array, kept: int) -> Array:
    """Shapes of unit displacements of the last ``kept`` coordinates, the others free of load (Guyan)."""
    inner = len(K) - kept
    V = np.zeros((len(K), kept))
    V[inner:] = np.eye(kept)
    if inner:
        V[:inner] = -np.linalg.solve(K[:inner, :inner], K[:inner, inner:])
    return V


def craig_bampton_basis(M: Array, K: Array, kept: int, modes: int) -> Array:
    """``modes`` mass-normalised modes with the last ``kept`` coordinates fixed, then the static shapes."""
    from scipy.linalg import eigh

    inner = len(K) - kept
    if modes > inner:
        raise ValueError(f"{modes} interior modes asked; {inner} interior coordinates allow no more than {inner}")
    V = np.zeros((len(K), modes + kept))
    V[:, modes:] = static_basis(K, kept)
    if modes:
        # the inverse problem M v = K v / omega^2 keeps the digits of the low modes
        highest = (inner - modes, inner - 1)
        periods, shapes = eigh(M[:inner, :inner], K[:inner, :inner], subset_by_index=highest)
        V[:inner, :modes] = (shapes / np.sqrt(periods))[:, ::-1]
    return V


def _both(V: Array, A: Array) -> Array:
    # congruence on the two leading axes
    half = np.einsum("ip,ik...->pk...", V, A)
    whole: Array = np.einsum("kq,pk...->pq...", V, half)
    return whole


def _symmetric(A: Array) -> Array:
    return (A + A.T) / 2
