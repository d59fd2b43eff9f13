"""Frames of a solid: faces whose nodes move as one rigid body, or whose mean motion a frame follows.

rigid    the nodes move as u = d + theta x s about the frame's origin (to second order + theta x (theta x s)/2): stiff
average  d and theta are the least-squares fit of the nodes' displacements, loads are spread by the transpose: soft
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from pliant.errors import ModelError, Problem
from pliant.solid_mechanics.solid_mesh import Array, Indices

Kind = Literal["rigid", "average"]
WIDE = 1e-9
"""Part of the link's extent that nodes of a frame must be apart to show its turns."""


@dataclass(frozen=True, eq=False)
class Interface:
    """One frame and its nodes.

    name     of the frame
    nodes    (m,)   their numbers
    levers   (m, 3) from the frame's origin to them, m
    origin   (3,)   m, in the link frame
    kind     rigid or average
    weights  (m,)   of the nodes in the average, sum 1; default equal
    """

    name: str
    nodes: Indices
    levers: Array
    origin: Array
    kind: Kind = "rigid"
    weights: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def shares(self) -> Array:
        """Weights of the nodes, which sum up to one."""
        m = len(self.nodes)
        return np.full(m, 1 / m) if not len(self.weights) else self.weights / self.weights.sum()

    @cached_property
    def moved(self) -> Array:
        """Displacements (m, 3, 6) of the nodes for unit d and theta of a rigid face."""
        out = np.zeros((len(self.nodes), 3, 6))
        out[:, :, :3] = np.eye(3)
        out[:, :, 3:] = np.cross(np.eye(3)[None], self.levers[:, None]).swapaxes(1, 2)
        return out

    @cached_property
    def fit(self) -> Array:
        """d and theta (6, m, 3) of the average of unit displacements of the nodes."""
        w, moved = self.shares, self.moved
        gram = np.einsum("m,mia,mib->ab", w, moved, moved)
        return np.linalg.solve(gram, np.einsum("m,mia->ami", w, moved).reshape(6, -1)).reshape(6, -1, 3)

    @property
    def mean_lever(self) -> Array:
        """(3,): from the origin to the mean of the nodes."""
        return self.shares @ self.levers

    @property
    def spread(self) -> Array:
        """Second moment of the nodes about their mean (3, 3), m^2."""
        s = self.levers - self.mean_lever
        return np.asarray(np.einsum("m,ma,mb->ab", self.shares, s, s))


def make_interface(
    name: str, places: Array, nodes: Indices, origin: Array, kind: Kind = "rigid", weights: Array | None = None
) -> Interface:
    """A frame at an origin; raises ModelError where its nodes lie on a line, which shows no turn about it."""
    nodes = np.asarray(nodes, dtype=int)
    levers = places[nodes] - origin
    extent = float(np.ptp(places, axis=0).max())
    spread = np.linalg.svd(levers - levers.mean(axis=0), compute_uv=False) if len(nodes) > 2 else np.zeros(2)
    if not spread[1] > WIDE * extent:
        raise ModelError(
            Problem(f"frame '{name}'", "its nodes lie on a line, which shows no turn about it; take nodes of a face")
        )
    return Interface(
        name, nodes, levers, np.asarray(origin, dtype=float), kind, np.zeros(0) if weights is None else weights
    )


def hull_centroid(places: Array) -> Array:
    """Centroid (3,) of the convex outline of nodes in a plane, whatever their density; of others their mean."""
    from scipy.spatial import ConvexHull, QhullError

    mean = places.mean(axis=0)
    if len(places) < 3:
        return np.asarray(mean)
    _, sizes, axes = np.linalg.svd(places - mean, full_matrices=False)
    if not (len(sizes) == 3 and sizes[1] > WIDE * sizes[0] and sizes[2] <= 1e-6 * sizes[1]):
        return np.asarray(mean)
    flat = (places - mean) @ axes[:2].T
    try:
        outline = flat[ConvexHull(flat).vertices]
    except QhullError:
        return np.asarray(mean)
    after = np.roll(outline, -1, axis=0)
    cross = outline[:, 0] * after[:, 1] - outline[:, 1] * after[:, 0]
    return np.asarray(mean + ((outline + after) * cross[:, None]).sum(axis=0) / (3 * cross.sum()) @ axes[:2])
