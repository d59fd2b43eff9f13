"""Lumped links after Di Gregorio: the mass in rigid bodies at the nodes, the stiffness of cubic elements.

The first partition is the chain of beam elements; it gives the stiffness and the motion of frames between the
nodes. The second one cuts the link half-way between the nodes into rigid bodies, each of which moves with the
node it contains: displacement and rotation of the node, with the lever x - x_node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.bodies.families import MOTIONS, ShapeSamples
from pliant.bodies.modal_body import Array


@dataclass(frozen=True, slots=True)
class RigidPieces:
    """Displacement of the second partition; coordinates as in the elements of the same nodes."""

    family: str
    nodes: tuple[float, ...]

    @property
    def size(self) -> int:
        return self._per_node * (len(self.nodes) - 1)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple((a + b) / 2 for a, b in zip(self.nodes, self.nodes[1:], strict=False))

    @property
    def points(self) -> int:
        return 3

    @property
    def _per_node(self) -> int:
        return 1 if MOTIONS[self.family].shear is None else 2

    def sample(self, x: Array) -> ShapeSamples:
        node = np.searchsorted(np.asarray(self.breaks), x, side="right")
        columns, one = np.arange(len(x)), np.ones(len(x))
        value, rotation = (np.zeros((self._per_node * len(self.nodes), len(x))) for _ in range(2))
        if self.family == "axial":
            value[node, columns] = one
        elif self.family == "torsion":
            rotation[node, columns] = one
        else:
            value[2 * node, columns] = one
            value[2 * node + 1, columns] = x - np.asarray(self.nodes)[node]
            rotation[2 * node + 1, columns] = one
        # the body of the root node belongs to the clamp
        value, rotation = value[self._per_node :], rotation[self._per_node :]
        none = np.zeros_like(value)
        return ShapeSamples(value, rotation, none, none)
