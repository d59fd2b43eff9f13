"""Stress at the nodes of a solid, and how far it jumps between elements, which tells the error of the mesh.

Values at four points of an element are extrapolated linearly to its corners, middles are means of corners, and nodes
take the mean of their elements by volume. Order of the six: xx yy zz xy yz zx.
"""

from __future__ import annotations

import numpy as np

from pliant.solid_mechanics.clamped_link import ClampedLink, ShapeBasis
from pliant.solid_mechanics.second_order import UnitLoads
from pliant.solid_mechanics.solid_mesh import EDGES, POINTS_4, Array, shape_values
from pliant.solid_mechanics.tetrahedra import BLOCK, MeshedSolid, symmetric

SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
# from four points to corners, then to middles
_CORNERS = np.linalg.inv(POINTS_4)
_NODES = np.concatenate([_CORNERS, np.array([(_CORNERS[i] + _CORNERS[j]) / 2 for i, j in EDGES])])


def nodal_stress(solid: MeshedSolid, fields: Array) -> Array:
    """Stress (N, 6, k) at the nodes under displacements (3 N, k), Pa."""
    N, k = len(solid.mesh.nodes), fields.shape[1]
    sums, volumes = np.zeros((N, 6 * k)), np.zeros(N)
    parts = solid.mesh.blocks(BLOCK)
    for (_, part), (weights, H) in zip(parts, solid.strained(fields), strict=True):
        s = solid.material.stress(symmetric(H))
        six = np.stack([s[..., i, j] for i, j in SIX], axis=-1)  # (k, T P, 6)
        six = six.reshape(k, -1, 4, 6).transpose(1, 2, 3, 0).reshape(-1, 4, 6 * k)
        V = weights.reshape(-1, 4).sum(axis=1)
        at = (_NODES @ six) * V[:, None, None]
        np.add.at(sums, part.tets.ravel(), at.reshape(-1, 6 * k))
        volumes += np.bincount(part.tets.ravel(), np.repeat(V, 10), minlength=N)
    return (sums / np.where(volumes > 0, volumes, 1)[:, None]).reshape(N, 6, k)


def residual_stress(solid: MeshedSolid, link: ClampedLink, basis: ShapeBasis, loads: UnitLoads) -> tuple[Array, Array]:
    """Stress of unit coordinates (N, 6, n), and what they leave out of the answer to unit loads (N, 6, 12 + 6 F).

    A load l is answered statically by z = K^-1 l; the shapes carry sum_k phi_k (phi_k . l) / omega_k^2 of it.
    """
    modes = nodal_stress(solid, basis.shapes)
    rest = loads.answers - basis.shapes @ (loads.work(link, basis.shapes) / basis.squares).T
    return modes, nodal_stress(solid, rest)


def mesh_errors(solid: MeshedSolid, shapes: Array) -> Array:
    """Estimated relative error of the eigenvalue of each shape (k,), by Zienkiewicz and Zhu (1987).

    The energy of the difference between the stress of the elements and the smooth one of the nodes, beside the energy.
    """
    smooth = nodal_stress(solid, shapes)
    wrong, whole = np.zeros(shapes.shape[1]), np.zeros(shapes.shape[1])
    N = shape_values(POINTS_4)
    for (_, part), (weights, H) in zip(solid.mesh.blocks(BLOCK), solid.strained(shapes), strict=True):
        s = solid.material.stress(symmetric(H))
        at = np.einsum("pn,tnsk->ktps", N, smooth[part.tets], optimize=True).reshape(shapes.shape[1], -1, 6)
        better = np.zeros_like(s)
        for c, (i, j) in enumerate(SIX):
            better[..., i, j] = better[..., j, i] = at[..., c]
        for sums, stress in ((wrong, better - s), (whole, s)):
            sums += np.einsum("g,kgij,kgij->k", weights, stress, solid.material.strain(stress), optimize=True)
    return wrong / whole
