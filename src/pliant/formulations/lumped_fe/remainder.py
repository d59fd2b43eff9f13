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

from pliant.formulations.lumped_fe.applied import placed
from pliant.formulations.lumped_fe.geometric import LinkGeometry, NominalForces, lever_stiffness, nominal_forces
from pliant.formulations.lumped_fe.model import AssembledMotion, LumpedModel
from pliant.formulations.lumped_fe.node_matrices import Floats, tilde
from pliant.formulations.lumped_fe.system import MatrixSum, local_map


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
            "bodies": geometry.bodies(links[i], _levers(model, assembled, forces, i)),
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


def _levers(
    model: LumpedModel, assembled: AssembledMotion, forces: NominalForces, link: int
) -> list[tuple[int, Floats, Floats]]:
    """Node, lever (3,) and force (times, 3) of what sits on frames beside the axis of a link."""
    links, mesh = assembled.links, model.meshes[link]
    motion = links[link]
    x, out = mesh.bodies.x, []
    W = tilde(motion.w_dot) + tilde(motion.w) @ tilde(motion.w)
    for payload in model.robot.links[link].payloads:
        place = mesh.frames[payload.frame or "tip"]
        centre = place.p + place.R @ payload.com_vector()
        out.append((place.node, place.p - x[place.node], payload.mass * (motion.a + W @ centre)))
    for i, seat in enumerate(model.skeleton.seats):
        if seat.parent == link:
            force = np.einsum("tij,tj->ti", links[i].relative.R, forces.roots[i][:, :3])
            out.append((seat.place.node, seat.place.p - x[seat.place.node], force))
    for load in placed(model, links, assembled.loads):
        if load.link == link:
            out.append((load.place.node, load.lever, -load.wrench[:, :3]))
    for loop, wrench in zip(model.loops, forces.ends, strict=True):
        for sign, (k, place) in zip((1.0, -1.0), loop.ends, strict=True):
            if k == link:
                force = np.einsum("tji,tj->ti", links[k].R, -sign * wrench[:, :3])
                out.append((place.node, place.p - x[place.node], force))
    return out
