"""Meshes of tetrahedra with ten nodes: what they fill, their surface, and whether every element is the right way round.

Nodes of a tetrahedron: corners 0 to 3, then the middles of the edges 01 12 02 03 13 23 (as VTK and Abaqus C3D10).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError, Problem

Array = NDArray[np.float64]
Indices = NDArray[np.int_]

EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
"""Corners of the edge of each middle node 4 to 9."""
# corners and middles of the four faces, seen from outside counter-clockwise
FACES = np.array([[0, 2, 1, 6, 5, 4], [0, 1, 3, 4, 8, 7], [1, 2, 3, 5, 9, 8], [0, 3, 2, 7, 9, 6]])

# four points: exact for straight elements' stiffness
_A, _B = (5 + 3 * 5**0.5) / 20, (5 - 5**0.5) / 20
POINTS_4 = np.where(np.eye(4, dtype=bool), _A, _B)
WEIGHTS_4 = np.full(4, 1 / 24)


def _points_14() -> tuple[Array, Array]:
    """Fourteen points in barycentric coordinates, exact to degree 5 (Walkington 2000)."""
    points, weights = [], []
    for a, w in ((0.3108859192633006, 0.11268792571801585), (0.09273525031089123, 0.07349304311636195)):
        points.append(np.where(np.eye(4, dtype=bool), 1 - 3 * a, a))
        weights.append(np.full(4, w / 6))
    a = 0.04550370412564965
    pairs = np.full((6, 4), a)
    for row, (i, j) in zip(pairs, EDGES, strict=True):
        row[[i, j]] = 0.5 - a
    points.append(pairs)
    weights.append(np.full(6, 0.04254602077708147 / 6))
    return np.concatenate(points), np.concatenate(weights)


POINTS_14, WEIGHTS_14 = _points_14()
CHECKED = np.concatenate([POINTS_4, POINTS_14])
"""Where determinants are looked at: all points at which anything is integrated."""


def shape_values(points: Array) -> Array:
    """Shape functions (P, 10) at barycentric points (P, 4)."""
    corners = points * (2 * points - 1)
    middles = np.stack([4 * points[:, i] * points[:, j] for i, j in EDGES], axis=1)
    return np.concatenate([corners, middles], axis=1)


def shape_slopes(points: Array) -> Array:
    """Their derivatives by the coordinates of corners 1, 2, 3 (P, 10, 3)."""
    by = np.zeros((len(points), 10, 4))
    for k in range(4):
        by[:, k, k] = 4 * points[:, k] - 1
    for k, (i, j) in enumerate(EDGES):
        by[:, 4 + k, i], by[:, 4 + k, j] = 4 * points[:, j], 4 * points[:, i]
    return by[:, :, 1:] - by[:, :, :1]


@dataclass(frozen=True, eq=False)
class SolidMesh:
    """Tetrahedra with ten nodes.

    nodes  (N, 3)   m, in the link frame
    tets   (T, 10)  numbers of nodes from 0
    """

    nodes: Array
    tets: Indices

    def jacobians(self, points: Array) -> Array:
        """dx/dxi (T, P, 3, 3) at barycentric points."""
        return np.asarray(np.einsum("tnx,pnk->tpxk", self.nodes[self.tets], shape_slopes(points), optimize=True))

    @cached_property
    def volumes(self) -> Array:
        """Volume of every element (T,), m^3; curved sides as they are."""
        return np.asarray(np.linalg.det(self.jacobians(POINTS_14)) @ WEIGHTS_14)

    @property
    def volume(self) -> float:
        """m^3"""
        return float(self.volumes.sum())

    def inverted(self) -> Indices:
        """Elements whose determinant is not positive at all points of integration: folded or turned inside out."""
        wrong = [
            np.flatnonzero((np.linalg.det(part.jacobians(CHECKED)) <= 0).any(axis=1)) + first
            for first, part in self.blocks(2000)
        ]
        return np.concatenate([np.zeros(0, dtype=int), *wrong])

    def blocks(self, size: int) -> list[tuple[int, SolidMesh]]:
        """The mesh in parts of so many elements, each with the number of its first element."""
        return [(k, SolidMesh(self.nodes, self.tets[k : k + size])) for k in range(0, len(self.tets), size)]

    @cached_property
    def surface(self) -> Indices:
        """Outer triangles (S, 6): corners, then middles of their edges."""
        faces = self.tets[:, FACES].reshape(-1, 6)
        keys = np.sort(faces[:, :3], axis=1)
        _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
        return np.asarray(faces[np.sort(first[counts == 1])])

    def triangles_of(self, nodes: Indices) -> Indices:
        """Outer triangles (S, 6) all of whose nodes are among some."""
        return np.asarray(self.surface[np.isin(self.surface, nodes).all(axis=1)])

    def next_to(self, nodes: Indices) -> NDArray[np.bool_]:
        """(N,): whether a node is one of these or shares an element with one."""
        touched = np.isin(self.tets, nodes).any(axis=1)
        out = np.zeros(len(self.nodes), dtype=bool)
        out[self.tets[touched]] = True
        return out


def surface_weights(nodes: Array, triangles: Indices) -> tuple[Indices, Array]:
    """Nodes of triangles (S, 6) and how much area each stands for (its shape function integrated), m^2."""
    # seven points, exact to degree 5
    a, b = (6 - 15**0.5) / 21, (6 + 15**0.5) / 21
    points = [[1 / 3] * 3]
    for c in (a, b):
        points += [[1 - 2 * c if k == i else c for k in range(3)] for i in range(3)]
    weights = np.array([9 / 40, *[(155 - 15**0.5) / 1200] * 3, *[(155 + 15**0.5) / 1200] * 3]) / 2
    L = np.array(points)
    pairs = ((0, 1), (1, 2), (0, 2))
    N = np.concatenate([L * (2 * L - 1), np.stack([4 * L[:, i] * L[:, j] for i, j in pairs], axis=1)], axis=1)
    by = np.zeros((len(L), 6, 3))
    for k in range(3):
        by[:, k, k] = 4 * L[:, k] - 1
    for k, (i, j) in enumerate(pairs):
        by[:, 3 + k, i], by[:, 3 + k, j] = 4 * L[:, j], 4 * L[:, i]
    slopes = by[:, :, 1:] - by[:, :, :1]
    tangents = np.einsum("snx,pnk->spxk", nodes[triangles], slopes)
    areas = np.linalg.norm(np.cross(tangents[..., 0], tangents[..., 1]), axis=-1) * weights
    own, place = np.unique(triangles, return_inverse=True)
    return own, np.asarray(np.bincount(place.ravel(), (areas @ N).ravel(), minlength=len(own)), dtype=float)


def checked_mesh(nodes: Array, tets: Indices, name: str = "mesh") -> SolidMesh:
    """A mesh all of whose elements are the right way round; raises ModelError with the worst one."""
    if tets.ndim != 2 or tets.shape[1] != 10:
        raise ModelError(Problem(name, f"has elements of shape {tets.shape}; it must have tetrahedra with ten nodes"))
    if tets.size and (tets.min() < 0 or tets.max() >= len(nodes)):
        wrong = int(np.argmax((tets < 0).any(axis=1) | (tets >= len(nodes)).any(axis=1)))
        raise ModelError(Problem(name, f"names a node in element {wrong} that is not among 0 to {len(nodes) - 1}"))
    mesh = SolidMesh(nodes, tets)
    if len(bad := mesh.inverted()):
        place = mesh.nodes[mesh.tets[bad[0], :4]].mean(axis=0)
        at = ", ".join(f"{x:.4g}" for x in place)
        raise ModelError(
            Problem(
                name,
                f"has {len(bad)} of {len(tets)} elements folded or inside out (element {bad[0]}, at ({at}) m): "
                "its determinant is not positive. Refine the mesh where the surface curves (a smaller maxh)",
            )
        )
    return mesh
