"""What remains between the equations of the nodes and the recursive method, linearised about the same motion.

Mass, gyroscopic and damping matrices are the same. Of the stiffness, the equations of the nodes lack ``frames``, the
geometric stiffness of internal forces by links and frames that turn, and of second-order links ``shortening``. The
recursive method lacks ``bodies``: its pieces of lumped links are displaced, but do not turn with their nodes as rigid
bodies do (of second-order links only pieces that twist). So, with the coordinates of the recursion on y,

    K_recursive = K_nodes + frames + shortening - bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.analysis.lumped.geometric_stiffness import LinkGeometry, lever_stiffness, nominal_forces
from pliant.analysis.lumped.lumped_model import AssembledMotion, LumpedModel
from pliant.analysis.lumped.node_equations import Floats
from pliant.analysis.lumped.system import MatrixSum, local_map


class BesideRecursion(NamedTuple):
    """The three matrices (times, z, z)."""

    frames: Floats
    shortening: Floats
    bodies: Floats


def remainder(model: LumpedModel, assembled: AssembledMotion) -> BesideRecursion:
    """What the internal forces of a nominal motion do, and what rigid pieces do, by name.

    ``shortening`` is that of the links whose bending is second-order; a model with ``stiffening`` has both already.
    """
    motion, links, roots = assembled.motion, assembled.links, assembled.roots
    forces = nominal_forces(model, motion, links, roots, assembled.J, assembled.loads)
    sums = {name: MatrixSum(model.numbering.size, len(motion.q)) for name in BesideRecursion._fields}
    for i, mesh in enumerate(model.meshes):
        own, geometry, wrench = model.numbering.own[i], LinkGeometry(mesh), forces.nodes[i]
        N, places = local_map(roots[i].X, len(own))[0], np.append(roots[i].columns, own)
        parts = {
            "frames": geometry.frames(wrench),
            "bodies": geometry.bodies(links[i]),
        }
        if mesh.bending == "second-order":
            parts["shortening"] = geometry.shortening(wrench)
        for name, K in parts.items():
            sums[name].add_stiffness(places, np.swapaxes(N, 1, 2) @ K @ N)
    for places, K in lever_stiffness(model, links, roots, forces, assembled.loads):
        sums["frames"].add_stiffness(places, K)
    found = [total.result().K for total in sums.values()]
    if assembled.Z is not None:
        found = [np.swapaxes(assembled.Z[0], 1, 2) @ K @ assembled.Z[0] for K in found]
    return BesideRecursion(*found)
