"""Stiffness and mass of a solid of quadratic tetrahedra, its gradients, and the third derivative of its strain energy.

The material is isotropic. Beyond small strains it is that of St. Venant and Kirchhoff: stress linear in Green's strain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import bsr_array, csr_array

from pliant.solid_mechanics.solid_mesh import (
    POINTS_4,
    POINTS_14,
    WEIGHTS_4,
    WEIGHTS_14,
    Array,
    Indices,
    SolidMesh,
    shape_slopes,
    shape_values,
)

BLOCK = 1000
"""Elements that are worked on at once: what they need stays in a few megabytes."""


class Elastic(NamedTuple):
    """An isotropic elastic material.

    E        Young's modulus  Pa
    nu       Poisson's ratio  -
    density  rho              kg/m^3
    """

    E: float
    nu: float
    density: float

    @property
    def lame(self) -> tuple[float, float]:
        """lambda and mu, Pa."""
        return self.E * self.nu / ((1 + self.nu) * (1 - 2 * self.nu)), self.E / (2 * (1 + self.nu))

    def stress(self, strain: Array) -> Array:
        """Stress (..., 3, 3) of a strain."""
        lam, mu = self.lame
        trace = np.trace(strain, axis1=-2, axis2=-1)
        return np.asarray(2 * mu * strain + lam * trace[..., None, None] * np.eye(3))

    def strain(self, stress: Array) -> Array:
        """Strain (..., 3, 3) of a stress."""
        trace = np.trace(stress, axis1=-2, axis2=-1)
        return np.asarray(((1 + self.nu) * stress - self.nu * trace[..., None, None] * np.eye(3)) / self.E)


@dataclass(frozen=True, eq=False)
class MeshedSolid:
    """A mesh of one material; unknowns are the displacements of its nodes, node by node."""

    mesh: SolidMesh
    material: Elastic

    @cached_property
    def K(self) -> csr_array:
        """Stiffness (3 N, 3 N), N/m."""
        lam, mu = self.material.lame
        blocks = []
        for _, part in self.mesh.blocks(BLOCK):
            slopes, weights = gradients(part)
            T, P = weights.shape
            g = slopes.reshape(T, P, 30)
            Q = ((g * weights[..., None]).swapaxes(1, 2) @ g).reshape(T, 10, 3, 10, 3)
            full = lam * Q + mu * Q.swapaxes(2, 4)
            full += mu * np.einsum("takbk,ij->taibj", Q, np.eye(3))
            blocks.append(full.swapaxes(2, 3).reshape(-1, 3, 3))
        return self._assembled(np.concatenate(blocks))

    @cached_property
    def scalar_mass(self) -> csr_array:
        """Mass (N, N) of one direction, kg."""
        N = shape_values(POINTS_14)
        blocks = []
        for _, part in self.mesh.blocks(BLOCK):
            dV = np.linalg.det(part.jacobians(POINTS_14)) * WEIGHTS_14
            blocks.append(np.einsum("tp,pa,pb->tab", dV, N, N, optimize=True).reshape(-1, 1, 1))
        return self._assembled(self.material.density * np.concatenate(blocks))

    @cached_property
    def M(self) -> csr_array:
        """Mass (3 N, 3 N), kg: that of one direction for all three."""
        A = self.scalar_mass
        blocks = A.data[:, None, None] * np.eye(3)
        return csr_array(bsr_array((blocks, A.indices, A.indptr), shape=(3 * A.shape[0], 3 * A.shape[0])))

    def _assembled(self, blocks: Array) -> csr_array:
        """Sum blocks (T 100, b, b) of pairs of nodes into one matrix."""
        order, heads, indices, indptr = self._pattern
        summed = np.add.reduceat(blocks[order], heads, axis=0)
        size, b = len(self.mesh.nodes), blocks.shape[1]
        if b == 1:
            return csr_array((summed.ravel(), indices, indptr), shape=(size, size))
        return csr_array(bsr_array((summed, indices, indptr), shape=(b * size, b * size)))

    @cached_property
    def _pattern(self) -> tuple[Indices, Indices, Any, Any]:
        """Order of all pairs of nodes by rows and columns, where each pair begins, and the pattern of the sums."""
        n, tets = len(self.mesh.nodes), self.mesh.tets
        keys = (tets[:, :, None] * n + tets[:, None, :]).ravel()
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        heads = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        rows, columns = np.divmod(keys[heads], n)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        return order, heads, columns.astype(np.int32), indptr.astype(np.int32)

    def strained(self, fields: Array) -> Iterator[tuple[Array, Array]]:
        """Block by block of elements: weights (G,), m^3, and gradients du_i/dx_j (k, G, 3, 3) of fields (3 N, k)."""
        u = fields.reshape(len(self.mesh.nodes), 3, -1)
        for _, part in self.mesh.blocks(BLOCK):
            slopes, weights = gradients(part)
            T, P = weights.shape
            # (T, P, 3j, 10) @ (T, 1, 10, 3i k)
            H = slopes.swapaxes(2, 3) @ u[part.tets].reshape(T, 1, 10, -1)
            H = H.reshape(T * P, 3, 3, -1).transpose(3, 0, 2, 1)
            yield weights.ravel(), np.ascontiguousarray(H)


def gradients(mesh: SolidMesh, points: Array = POINTS_4, weights: Array = WEIGHTS_4) -> tuple[Array, Array]:
    """dN/dx (T, P, 10, 3) of the shape functions, and weights (T, P) of the points, m^3."""
    J = mesh.jacobians(points)
    slopes = shape_slopes(points)[None] @ np.linalg.inv(J)
    return np.asarray(slopes), np.asarray(np.linalg.det(J) * weights)


def symmetric(H: Array) -> Array:
    """The symmetric part of matrices (..., 3, 3)."""
    return np.asarray((H + H.swapaxes(-1, -2)) / 2)


def third_derivative(solid: MeshedSolid, modes: Array, loads: Array) -> Array:
    """V3(i, j, l) (n, n, L) of the strain energy, of modes (3 N, n) twice and static shapes (3 N, L) once.

    V3(a, b, c) = int E(a,b):s(c) + E(a,c):s(b) + E(b,c):s(a) dV with E(a, b) = sym(Ha^T Hb), s = C:eps.
    """
    n, count = modes.shape[1], loads.shape[1]
    first, second = np.triu_indices(n)
    sums = np.zeros((len(first), count))
    for weights, H in solid.strained(np.concatenate([modes, loads], axis=1)):
        s = solid.material.stress(symmetric(H))
        # (3, 3, fields, G): products of small matrices as sums over whole rows
        Hm, sm = (np.ascontiguousarray(A[:n].transpose(2, 3, 0, 1)) for A in (H, s))
        weighted = Hm * weights
        E = np.empty((3, 3, len(first), len(weights)))
        T = np.empty_like(E)
        for i, j in np.ndindex(3, 3):
            # Ha^T Hb, to meet the stress of a load; Ha sb + Hb sa, to meet its gradient
            E[i, j] = sum(weighted[k, i][first] * Hm[k, j][second] for k in range(3))
            T[i, j] = sum(
                weighted[i, k][first] * sm[k, j][second] + weighted[i, k][second] * sm[k, j][first] for k in range(3)
            )
        for A, B in ((E, s[n:]), (T, H[n:])):
            sums += np.einsum("ijpg,lgij->pl", A, B, optimize=True)
    out = np.empty((n, n, count))
    out[first, second] = out[second, first] = sums
    return out


def strain_per_turn(solid: MeshedSolid, modes: Array) -> Array:
    """s_k (n,): strain energy of each mode beside that of its gradient, int eps:C:eps dV / int E |grad u|^2 dV.

    About 1e-6 to 1e-3 where slender parts bend, 1 where they are stretched.
    """
    energy, turned = np.zeros(modes.shape[1]), np.zeros(modes.shape[1])
    for weights, H in solid.strained(modes):
        eps = symmetric(H)
        energy += np.einsum("g,kgij,kgij->k", weights, eps, solid.material.stress(eps), optimize=True)
        turned += np.einsum("g,kgij,kgij->k", weights, H, H, optimize=True)
    return np.asarray(energy / (solid.material.E * turned))
