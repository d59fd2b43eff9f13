"""Second-order displacements as few fields that are linear in the place: further modes of a linear body.

The displacement q^T Gamma(r) q / 2 is replaced by sum_j u_j(r) p_j with u_j = t_j + G_j r and p_j = q^T F_j q / 2. A
fit by least squares over the mass keeps int Gamma dm and int r Gamma dm, and so the kinetic energy to second order. All
of its energy is kept, a sum of squares: the mass matrix is positive at every deflection. Where a beam
stretches as well, its shapes phi of elongation are fields too, which keeps int phi . Gamma dm: the energy has
q_phi_dot p_dot in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pliant.bodies.modal_body import Array, cross_moments, dot_moments, tensor_moments

SAME_LINE = 1e-9
"""Spread of a mass beside a line, of that along it, which is rounding."""
RANK = 1e-10
"""Of the largest singular value: less is rounding of turned arrays."""
IDENTITY = np.eye(3)
WIDENED = ("first_modal", "beta", "lam", "I_re", "I_ee", "M_ee", "K_ee", "D_ee")
"""The integrals of a ModalBody that get further modes."""


@dataclass(frozen=True, slots=True)
class ShorteningFields:
    """k fields u_j = t_j + G_j r + sum_m E_jm phi_m and their forms F_j, on a mass that is known by its moments.

    shifts     t    -    (k, 3)
    gradients  G    1/m  (k, 3, 3)
    forms      F    1/m or -  (k, n, n)
    modes      E    -    (k, n), None: all zero
    """

    shifts: Array
    gradients: Array
    forms: Array
    modes: Array | None = None

    def widened(self, body: Mapping[str, Array], mass: float, place: Array, spread: Array) -> dict[str, Array]:
        """Integrals of a body with n modes and these fields; its mass m, int r dm and int r r^T dm where they act."""
        n, k = body["first_modal"].shape[1], len(self.shifts)
        # with r = (1, x, y, z) a field is u_j = H_j r
        fields = np.empty((k, 3, 4))
        fields[:, :, 0], fields[:, :, 1:] = self.shifts, self.gradients
        H = fields.reshape(3 * k, 4)
        S = np.empty((4, 4))
        S[0, 0], S[0, 1:], S[1:, 0], S[1:, 1:] = mass, place, place, spread
        F = np.empty((n, 3, 4))
        F[:, :, 0], F[:, :, 1:] = body["first_modal"].T, moments(body["I_re"]).swapaxes(1, 2)
        # int a b^T dm of places r, shapes phi and fields u
        held = H @ S
        r_u = held[:, 1:].reshape(k, 3, 3).swapaxes(1, 2)
        pairs = np.zeros((n + k, n + k, 3, 3))
        pairs[:n, n:] = mixed = (F.reshape(3 * n, 4) @ H.T).reshape(n, 3, k, 3).swapaxes(1, 2)
        pairs[n:, :n] = mixed.transpose(1, 0, 3, 2)
        pairs[n:, n:] = (held @ H.T).reshape(k, 3, k, 3).swapaxes(1, 2)
        first = held[:, 0].reshape(k, 3)
        if (E := self.modes) is not None:
            own = moments(body["I_ee"])
            first = first + E @ body["first_modal"].T
            r_u = r_u + np.einsum("jm,mab->jab", E, moments(body["I_re"]))
            further = np.einsum("jm,imab->ijab", E, own)
            across = np.einsum("lm,mjab->ljab", E, pairs[:n, n:])
            pairs[n:, n:] += across + across.transpose(1, 0, 3, 2) + np.einsum("lm,mjab->ljab", E, further)
            pairs[:n, n:] += further
            pairs[n:, :n] = pairs[:n, n:].transpose(1, 0, 3, 2)
        out = {
            "first_modal": np.concatenate([body["first_modal"], first.T], axis=1),
            "beta": np.concatenate([body["beta"], cross_moments(r_u).T], axis=1),
            "lam": cross_moments(pairs),
            "I_re": np.concatenate([body["I_re"], tensor_moments(r_u)]),
            "I_ee": tensor_moments(pairs),
            "M_ee": dot_moments(pairs),
            "K_ee": np.zeros((n + k, n + k)),
            "D_ee": np.zeros((n + k, n + k)),
        }
        for name in ("lam", "I_ee", "M_ee", "K_ee", "D_ee"):
            out[name][:n, :n] = body[name]
        return out


def factors(A: Array) -> tuple[Array, Array]:
    """Orthonormal columns of A (rank, rows) and what multiplies them (rank, columns)."""
    filled = np.asarray(A.any(axis=1)).nonzero()[0]
    if not len(filled):
        return np.zeros((0, len(A))), np.zeros((0, A.shape[1]))
    if len(filled) == 1:
        # a straight beam shortens along its axis alone
        U = np.zeros((1, len(A)))
        U[0, filled] = 1.0
        return U, A[filled]
    U, sizes, _ = np.linalg.svd(A, full_matrices=False)
    U = U[:, sizes > RANK * sizes[0]].T
    largest = np.take_along_axis(U, np.abs(U).argmax(axis=1)[:, None], axis=1)
    U = U * np.sign(largest)
    return U, U @ A


def inverse_of_spread(A: Array) -> Array:
    """Inverse of a symmetric (3, 3) where it has one: mass along a line has no spread beside it."""
    moments = A.diagonal().tolist()
    if np.count_nonzero(A) > 3 - moments.count(0.0):
        return np.asarray(np.linalg.pinv(A, rcond=SAME_LINE, hermitian=True), dtype=float)
    least = SAME_LINE * max(map(abs, moments))
    out = np.zeros((3, 3))
    for k, moment in enumerate(moments):
        if abs(moment) > least:
            out[k, k] = 1.0 / moment
    return out


def moments(tensor: Array) -> Array:
    """int a b^T dm of int a~^T b~ dm = (int a . b dm) 1 - int b a^T dm, whose trace is 2 int a . b dm (..., 3, 3)."""
    return np.asarray(np.swapaxes((dot_moments(tensor) / 2)[..., None, None] * IDENTITY - tensor, -1, -2))
