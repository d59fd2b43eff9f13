"""Faces of a meshed solid: what surface each is, and the nodes and areas on it.

Surfaces are recognised from the mesh itself, so that faces of STEP and STL files are named in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pliant.solid_mechanics.solid_mesh import Array, Indices, surface_weights

FLAT = 1e-5
"""Part of the solid's extent by which nodes may lie beside a plane."""
ROUND = 2e-3
"""Part of its radius by which nodes may lie beside a cylinder (facets of an STL file do)."""
STEPS = 12
LETTERS = "xyz"


@dataclass(frozen=True, eq=False)
class SolidFace:
    """One face.

    number     as it is listed, from 1
    name       of the CAD file; empty: none
    places     coordinates of all nodes of the mesh (N, 3), m
    triangles  of the face (S, 6)
    """

    number: int
    name: str
    places: Array
    triangles: Indices

    @cached_property
    def _weighted(self) -> tuple[Indices, Array]:
        return surface_weights(self.places, self.triangles)

    @property
    def nodes(self) -> Indices:
        """Numbers of its nodes."""
        return self._weighted[0]

    @property
    def weights(self) -> Array:
        """Area that each node stands for, m^2."""
        return self._weighted[1]

    @property
    def area(self) -> float:
        """m^2"""
        return float(self.weights.sum())

    @property
    def centroid(self) -> Array:
        """Centroid of the area (3,), m."""
        return np.asarray(self.weights @ self.places[self.nodes] / self.area)

    @cached_property
    def normals(self) -> Array:
        """Outward directions of its triangles (S, 3), of the length of twice their area."""
        x = self.places[self.triangles[:, :3]]
        return np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])

    @cached_property
    def plane(self) -> Array | None:
        """The outward normal (3,) of a plane face; None of others."""
        n = self.normals.sum(axis=0)
        n = n / max(float(np.linalg.norm(n)), 1e-300)
        gaps = (self.places[self.nodes] - self.centroid) @ n
        extent = float(np.ptp(self.places, axis=0).max())
        return np.asarray(n) if np.abs(gaps).max() <= FLAT * extent else None

    @cached_property
    def cylinder(self) -> tuple[Array, Array, float] | None:
        """Direction, a point of the axis beside the centroid, and radius, of a cylindrical face; None of others."""
        if self.plane is not None:
            return None
        points = self.places[self.nodes]
        axis = np.linalg.eigh(self.normals.T @ self.normals)[1][:, 0]
        nearest = np.eye(3)[int(np.argmax(np.abs(axis)))]
        # axes of drawings are mostly those of coordinates
        tries = [nearest * np.sign(axis @ nearest), axis] if abs(axis @ nearest) > 0.999 else [axis]
        for direction in tries:
            point, radius, gap = _circle(points, direction)
            if gap <= ROUND * radius:
                return direction * np.sign(direction[np.argmax(np.abs(direction))]), point, radius
        return None

    @property
    def words(self) -> str:
        """What it is, as lists of faces show it."""
        if self.plane is not None:
            axis = int(np.argmax(np.abs(self.plane)))
            if abs(self.plane[axis]) > 1 - 1e-6:
                return f"plane {LETTERS[axis]}={1e3 * self.centroid[axis]:.6g}mm"
            return f"plane, normal ({', '.join(f'{x:.3g}' for x in self.plane)})"
        if self.cylinder is not None:
            direction, _, radius = self.cylinder
            axis = int(np.argmax(np.abs(direction)))
            along = f" axis={LETTERS[axis]}" if abs(direction[axis]) > 1 - 1e-6 else ""
            return f"cylinder r={1e3 * radius:.6g}mm{along}"
        return "curved"


def _circle(points: Array, direction: Array) -> tuple[Array, float, float]:
    """Centre, radius and largest gap of the circle through points seen along a direction."""
    e = np.eye(3)[int(np.argmin(np.abs(direction)))]
    u = np.cross(direction, e)
    u /= np.linalg.norm(u)
    v = np.cross(direction, u)
    mean = points.mean(axis=0)
    flat = (points - mean) @ np.stack([u, v], axis=1)
    # x^2 + y^2 = 2 a x + 2 b y + c
    A = np.column_stack([2 * flat, np.ones(len(flat))])
    a, b, c = np.linalg.lstsq(A, (flat**2).sum(axis=1), rcond=None)[0]
    radius = float(np.sqrt(max(c + a * a + b * b, 1e-300)))
    gap = float(np.abs(np.hypot(flat[:, 0] - a, flat[:, 1] - b) - radius).max())
    return mean + a * u + b * v, radius, gap


def split_faces(
    places: Array, triangles: Indices, corners: Indices, index: Indices, names: list[str]
) -> list[SolidFace]:
    """Faces of outer triangles (S, 6), told apart by the index (B,) that a mesher gave to their corners (B, 3).

    names  of the CAD file by index, from 0
    """
    keys = {tuple(sorted(row)): int(k) for row, k in zip(corners.tolist(), index.tolist(), strict=True)}
    own = np.array([keys.get(tuple(sorted(row)), -1) for row in triangles[:, :3].tolist()])
    return [
        SolidFace(int(k), names[k - 1] if 0 < k <= len(names) else "", places, triangles[own == k])
        for k in np.unique(own[own > 0])
    ]
