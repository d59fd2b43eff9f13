"""Second-order displacements as few fields that are linear in the place: further modes of a linear body.

The displacement q^T Gamma(r) q / 2 is replaced by sum_j u_j(r) p_j with u_j = t_j + G_j r and p_j = q^T F_j q / 2. A
fit by least squares over the mass keeps int Gamma dm and int r Gamma dm, and so the kinetic energy to second order. All
of its energy is kept, a sum of squares: the mass matrix is positive at every deflection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pliant.bodies.modal_body import Array

SAME_LINE = 1e-9
"""Spread of a mass beside a line, of that along it, which is rounding."""
RANK = 1e-10
"""Of the largest singular value: less is rounding of turned arrays."""
WIDENED = ("first_modal", "beta", "lam", "I_re", "I_ee", "M_ee", "K_ee", "D_ee")
"""The integrals of a ModalBody that get further modes."""


@dataclass(frozen=True, slots=True)
class ShorteningFields:
    """k fields u_j = t_j + G_j r and their forms F_j, on a mass that is known by its moments.

    shifts     t    -    (k, 3)
    gradients  G    1/m  (k, 3, 3)
    forms      F    1/m or -  (k, n, n)
    """

    shifts: Array
    gradients: Array
    forms: Array

    def widened(self, body: Mapping[str, Array], mass: float, place: Array, spread: Array) -> dict[str, Array]:
        """Integrals of a body with n modes and these fields; its mass m, int r dm and int r r^T dm where they act."""
        t, G = self.shifts, self.gradients
        n, k = body["first_modal"].shape[1], len(t)
        moved = G @ place
        r_phi = moments(body["I_re"])
        # int a b^T dm of places r, shapes phi and fields u
        r_u = np.einsum("a,jb->jab", place, t) + np.einsum("ac,jbc->jab", spread, G)
        phi_u = np.einsum("ai,jb->ijab", body["first_modal"], t) + np.einsum("ica,jbc->ijab", r_phi, G)
        u_u = (
            mass * np.einsum("ia,jb->ijab", t, t)
            + np.einsum("ia,jb->ijab", t, moved)
            + np.einsum("ia,jb->ijab", moved, t)
            + np.einsum("iac,cd,jbd->ijab", G, spread, G)
        )
        pairs = np.zeros((n + k, n + k, 3, 3))
        pairs[:n, n:] = phi_u
        pairs[n:, :n] = np.swapaxes(np.swapaxes(phi_u, 0, 1), 2, 3)
        pairs[n:, n:] = u_u
        out = {
            "first_modal": np.concatenate([body["first_modal"], (mass * t + moved).T], axis=1),
            "beta": np.concatenate([body["beta"], _cross(r_u).T], axis=1),
            "lam": _cross(pairs),
            "I_re": np.concatenate([body["I_re"], _tensor(r_u)]),
            "I_ee": _tensor(pairs),
            "M_ee": np.einsum("ijaa->ij", pairs),
            "K_ee": np.zeros((n + k, n + k)),
            "D_ee": np.zeros((n + k, n + k)),
        }
        for name in ("lam", "I_ee", "M_ee", "K_ee", "D_ee"):
            out[name][:n, :n] = body[name]
        return out


def factors(A: Array) -> tuple[Array, Array]:
    """Orthonormal columns of A (rank, rows) and what multiplies them (rank, columns)."""
    filled = np.flatnonzero(A.any(axis=1))
    if not len(filled):
        return np.zeros((0, len(A))), np.zeros((0, A.shape[1]))
    if len(filled) == 1:
        # a straight beam shortens along its axis alone
        return np.eye(len(A))[filled], A[filled]
    U, sizes, _ = np.linalg.svd(A, full_matrices=False)
    U = U[:, sizes > RANK * sizes[0]].T
    largest = np.take_along_axis(U, np.abs(U).argmax(axis=1)[:, None], axis=1)
    U = U * np.sign(largest)
    return U, U @ A


def inverse_of_spread(A: Array) -> Array:
    """Inverse of a symmetric (3, 3) where it has one: mass along a line has no spread beside it."""
    d = np.diagonal(A)
    if np.count_nonzero(A) > np.count_nonzero(d):
        return np.asarray(np.linalg.pinv(A, rcond=SAME_LINE, hermitian=True), dtype=float)
    large = np.abs(d) > SAME_LINE * np.abs(d).max()
    return np.diag(np.where(large, 1.0 / np.where(large, d, 1.0), 0.0))


def moments(tensor: Array) -> Array:
    """int a b^T dm of int a~^T b~ dm = (int a . b dm) 1 - int b a^T dm, whose trace is 2 int a . b dm (..., 3, 3)."""
    trace = np.einsum("...aa->...", tensor) / 2
    return np.asarray(np.swapaxes(trace[..., None, None] * np.eye(3) - tensor, -1, -2))


def _tensor(pairs: Array) -> Array:
    trace = np.einsum("...aa->...", pairs)
    return np.asarray(trace[..., None, None] * np.eye(3) - np.swapaxes(pairs, -1, -2))


def _cross(pairs: Array) -> Array:
    S = pairs
    return np.stack([S[..., 1, 2] - S[..., 2, 1], S[..., 2, 0] - S[..., 0, 2], S[..., 0, 1] - S[..., 1, 0]], axis=-1)
