"""Geometric stiffness: what the internal forces of the nominal motion do when links and nodes turn.

The equations of the nodes are complete to first order; what the method leaves out is that the directions, along which
they are projected, turn with the displacements. A node k of a link whose root is displaced and turned by rho is at a
relative displacement u and turn alpha. To second order its virtual displacement and turn, in nominal link axes, are

    delta d = ... + delta rho_r x (rho_r x x + u) + rho_r x delta u + delta u_2
    delta theta = ... + (rho_r~ + alpha~ / 2) delta alpha

where u_2 = q^T Gamma q / 2 is the foreshortening of a beam that does not stretch. All of it acts on the wrench (F, M)
that the node and everything behind it need in the nominal motion: constraint forces of the rigid robot.

``beside_recursion`` names what then remains between the equations of the nodes and the recursive method, linearised
about the same motion. Mass, gyroscopic and damping matrices are the same. Of the stiffness, the equations of the
nodes lack ``frames``, the geometric stiffness of internal forces by links and frames that turn, and of second-order
links ``shortening``. The recursive method lacks ``bodies``: its pieces of lumped links are displaced, but do not turn
with their nodes as rigid bodies do (of second-order links only pieces that twist). So, with the coordinates of the
recursion on y,

    K_recursive = K_nodes + frames + shortening - bodies.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from pliant.analysis.lumped.displacements import AppliedLoads, carried_over, generalised, node_map, placed
from pliant.analysis.lumped.mesh import LinkMesh, NodedLink
from pliant.analysis.lumped.node_equations import Floats, MatrixSum, block_diagonal, local_map, motion_weights, tilde
from pliant.analysis.lumped.nominal_motion import JointMotion, LinkMotion, cross
from pliant.analysis.lumped.reduced_link import ReducedLink
from pliant.bodies.families import FAMILIES
from pliant.mechanism import BASE

if TYPE_CHECKING:
    from pliant.analysis.lumped.displacements import Jet, RootMap
    from pliant.analysis.lumped.lumped_model import AssembledMotion, LumpedModel
    from pliant.analysis.lumped.nominal_motion import LoopRows


class NominalForces(NamedTuple):
    """Constraint forces of the nominal motion, link axes.

    nodes  per link: wrench (times, places, 6) that a node or place needs for itself and for what hangs on it
    roots  per link: wrench (times, 6) that the link needs at its origin, with all that it carries
    ends   per loop: wrench (times, 6) of the closure on its first frame, base axes, at the frame
    """

    nodes: list[Floats]
    roots: list[Floats]
    ends: list[Floats]

    def at(self, t: int) -> NominalForces:
        """The forces of one instant."""
        return NominalForces(*([x[t : t + 1] for x in part] for part in self))


def nominal_forces(
    model: LumpedModel,
    motion: JointMotion,
    links: list[LinkMotion],
    roots: list[RootMap],
    J: Jet | None,
    loads: AppliedLoads,
) -> NominalForces:
    """Forces of the rigid robot along its motion under loads; those of loops hold its passive joints."""
    skeleton, nodes = model.skeleton, []
    lacking = np.zeros((len(motion.q), model.numbering.size))
    for i, (mesh, link) in enumerate(zip(model.meshes, links, strict=True)):
        weights = motion_weights(link.w, link.w_dot, link.a)
        nodes.append((weights @ model.links[i].F_n).reshape(len(weights), mesh.places, 6))
        on_link, own = weights @ model.links[i].F_w, model.numbering.own[i]
        lacking[:, roots[i].columns] += np.einsum("tij,ti->tj", roots[i].X[0], on_link[:, :6])
        lacking[:, own] += on_link[:, 6:]
        if len(passive := model.numbering.joint[i]):
            lacking[:, passive] += model.joint_force(i, motion)
    for load in placed(model, links, loads):
        nodes[load.link][:, load.place.node] -= load.wrench
    multipliers = model.multipliers(J, lacking - generalised(model, links, roots, loads))
    ends = []
    for loop, rows in zip(model.loops, multipliers, strict=True):
        _, R_A = skeleton.pose(links, *loop.ends[0])
        ends.append(np.einsum("tri,tr->ti", loop.directions(R_A), rows))
        for sign, (k, end) in zip((1.0, -1.0), loop.ends, strict=True):
            if k != BASE:
                lever = end.p - model.meshes[k].bodies.x[end.node]
                wrench = _turned(np.swapaxes(links[k].R, 1, 2), sign * ends[-1])
                nodes[k][:, end.node] -= _moved(wrench, lever)
    wrenches: list[Floats] = [np.zeros((0, 6))] * len(links)
    for i in reversed(range(len(links))):
        mesh, seat = model.meshes[i], skeleton.seats[i]
        wrenches[i] = _moved(nodes[i], mesh.bodies.x).sum(axis=1)
        if seat.parent != BASE:
            x = model.meshes[seat.parent].bodies.x[seat.place.node]
            A = carried_over(links[i].relative, seat.place, x)[0]
            nodes[seat.parent][:, seat.place.node] += np.einsum("tji,tj->ti", A, wrenches[i])
    return NominalForces(nodes, wrenches, ends)


def _turned(R: Floats, wrench: Floats) -> Floats:
    return np.hstack([np.einsum("tij,tj->ti", R, wrench[:, k : k + 3]) for k in (0, 3)])


def _moved(wrench: Floats, lever: Floats) -> Floats:
    """Wrenches at points with these levers, as wrenches at the place where the levers begin."""
    force = wrench[..., :3]
    return np.concatenate([force, wrench[..., 3:] + cross(np.broadcast_to(lever, force.shape), force)], axis=-1)


def lever_matrix(lever: Floats, force: Floats) -> Floats:
    """Q: the virtual work of a force at the end of a lever that turns is delta theta^T Q theta; l f^T - (l.f) 1."""
    outer = np.einsum("...i,...j->...ij", np.broadcast_to(lever, force.shape), force)
    return np.asarray(outer - np.trace(outer, axis1=-2, axis2=-1)[..., None, None] * np.eye(3))


# ---------------------------------------------------------------- links


def frame_blocks(x: Floats, wrench: Floats) -> Floats:
    """(times, n, 9, 9) on (rho_r, u, alpha) of every node: links and nodes turn, and their forces do not."""
    F, M = wrench[..., :3], wrench[..., 3:]
    B = np.zeros((*F.shape[:2], 9, 9))
    B[..., :3, :3] = lever_matrix(x, F)
    B[..., 3:6, :3] = tilde(F)
    B[..., :3, 3:6] = -B[..., 3:6, :3]
    B[..., 6:, :3] = tilde(M)
    B[..., 6:, 6:] = B[..., 6:, :3] / 2
    return B


def body_blocks(mesh: LinkMesh, motion: LinkMotion) -> Floats:
    """(times, n, 3, 3) on alpha: (delta alpha x (alpha x s) + alpha x (delta alpha x s)) / 2 on pieces at levers s.

    Shapes of second order know of pieces that tilt back along the axis.
    """
    b = mesh.pieces
    W = tilde(motion.w_dot) + tilde(motion.w) @ tilde(motion.w)
    a_N = motion.a[:, None] + np.einsum("tij,nj->tni", W, b.x)
    second = np.trace(b.I, axis1=1, axis2=2)[:, None, None] / 2 * np.eye(3) - b.I
    P = np.einsum("n,ni,tnj->tnij", b.m, b.G, a_N) + np.einsum("nik,tjk->tnij", second, W)
    if mesh.bending == "second-order":
        P[..., 0, 0] = 0.0
    P = P - np.trace(P, axis1=-2, axis2=-1)[..., None, None] * np.eye(3)
    return np.asarray((P + np.swapaxes(P, -1, -2)) / 2)


class LinkGeometry:
    """Geometric stiffness of a link on s = (root, own), by cause; full matrices (times, s, s), or sparse ones.

    frames      of internal forces: links and nodes turn
    shortening  of internal forces: a bent beam becomes shorter
    bodies      of pieces that turn with their nodes, which the shapes of its bending do not show: what the recursive
                method leaves out, and the equations of the nodes have
    """

    def __init__(self, mesh: LinkMesh) -> None:
        self.mesh = mesh
        spread = mesh.spread()
        root = csr_array((np.ones(6), (np.arange(6), np.arange(6))), shape=(6, spread.shape[1]))
        relative = csr_array(spread - mesh.carried() @ root)
        each = [relative[6 * k : 6 * k + 6] for k in range(mesh.places)]
        self._nodes = csr_array(vstack([part for rows in each for part in (root[3:], rows)]))
        self._turns = csr_array(vstack([rows[3:] for rows in each]))
        # the pull changes at places between nodes, too, and a part of a cubic is a cubic
        self._along = np.argsort(mesh.bodies.x[:, 0], kind="stable")
        pairs = [part for a, b in pairwise(self._along) for part in (each[a], each[b])]
        self._pairs = csr_array(vstack(pairs)) if pairs else csr_array((0, relative.shape[1]))
        self._local = _pulled(np.diff(mesh.bodies.x[self._along, 0]))

    def frames(self, wrench: Floats, *, sparse: bool = False) -> Any:
        """For nodal wrenches (times, n, 6)."""
        return _congruent(self._nodes, frame_blocks(self.mesh.bodies.x, wrench), sparse)

    def shortening(self, wrench: Floats, *, sparse: bool = False) -> Any:
        """The pull N of an element, minus the force along x that all nodes beyond it need, resists its bending."""
        pull = -np.cumsum(wrench[:, self._along[::-1], 0], axis=1)[:, ::-1][:, 1:]
        return _congruent(self._pairs, pull[..., None, None] * self._local, sparse)

    def bodies(self, motion: LinkMotion, *, sparse: bool = False) -> Any:
        """For a motion of the link."""
        return _congruent(self._turns, body_blocks(self.mesh, motion), sparse)

    def stiffness(self, wrench: Floats, *, sparse: bool = False) -> Any:
        """What is added to the equations of the link: frames, and the shortening of a beam of second order."""
        whole = self.frames(wrench, sparse=sparse)
        if self.mesh.bending == "linear" or self.mesh.nodes == 1:
            return whole
        return whole + self.shortening(wrench, sparse=sparse)


class ReducedGeometry:
    """Geometric stiffness of a link by its own coordinates, from wrenches on its places."""

    def __init__(self, link: ReducedLink) -> None:
        self.link = link

    def frames(self, wrench: Floats, *, sparse: bool = False) -> Any:
        """For wrenches (times, places, 6): links, frames and their shapes of second order."""
        whole = np.tensordot(wrench, self.link.geometric, axes=([1, 2], [0, 1]))
        return csr_array(whole[0]) if sparse else whole

    def shortening(self, wrench: Floats, *, sparse: bool = False) -> Any:
        """Nothing: it is among ``frames``."""
        return self.frames(0 * wrench, sparse=sparse)

    def bodies(self, motion: LinkMotion, *, sparse: bool = False) -> Any:
        """Nothing: the equations of the link are those of the recursive method."""
        return self.frames(np.zeros((len(motion.w), self.link.places, 6)), sparse=sparse)

    def stiffness(self, wrench: Floats, *, sparse: bool = False) -> Any:
        """What is added to the equations of the link."""
        return self.frames(wrench, sparse=sparse)


def geometry_of(link: NodedLink) -> LinkGeometry | ReducedGeometry:
    """The geometric stiffness of a link of nodes, or of one by its own coordinates."""
    return ReducedGeometry(link) if isinstance(link, ReducedLink) else LinkGeometry(cast("LinkMesh", link))


def _pulled(h: Floats) -> Floats:
    """int w' w'^T dx of cubic elements (elements, 12, 12) on the displacements of two nodes, both planes."""
    out = np.zeros((len(h), 12, 12))
    one = np.ones_like(h)
    rows = [
        [36 * one, 3 * h, -36 * one, 3 * h],
        [3 * h, 4 * h * h, -3 * h, -h * h],
        [-36 * one, -3 * h, 36 * one, -3 * h],
        [3 * h, -h * h, -3 * h, 4 * h * h],
    ]  # fmt: skip
    local = np.moveaxis(np.array(rows) / (30 * h), 2, 0)
    for family in FAMILIES.values():
        if not family.bends or family.rotation is None:
            continue
        first, turn = family.components
        slope = family.rotation[1]
        places, sign = np.array([first, turn, 6 + first, 6 + turn]), np.array([1.0, slope, 1.0, slope])
        out[:, places[:, None], places] = local * np.outer(sign, sign)
    return out


def _congruent(rows: csr_array, blocks: Floats, sparse: bool) -> Any:
    """rows^T blocks rows, at all instants; sparse at the first."""
    times, m, b, _ = blocks.shape
    if sparse:
        return csr_array(rows.T @ block_diagonal(blocks[0]) @ rows)
    R = rows.toarray()
    return R.T @ (blocks @ R.reshape(m, b, -1)).reshape(times, m * b, -1)


# ---------------------------------------------------------------- joints and closures


class LeverStiffness(NamedTuple):
    """Matrices (times, k, k) on some of the independent displacements."""

    columns: NDArray[np.int_]
    K: Floats


def lever_stiffness(
    model: LumpedModel, links: list[LinkMotion], roots: list[RootMap], forces: NominalForces, loads: AppliedLoads
) -> Iterator[LeverStiffness]:
    """Levers between frames and links turn with the frames, axes of joints do, and so do hinges of loops."""
    for load in placed(model, links, loads):
        columns, theta = _turn(model, roots, load.link, load.place.node)
        yield LeverStiffness(columns, _both(theta, lever_matrix(load.lever, -load.wrench[:, :3]), theta))
    for i in range(len(model.skeleton.seats)):
        yield from _joint(model, links, roots, forces, i)
    for loop, wrench in zip(model.loops, forces.ends, strict=True):
        yield from _closure(model, links, roots, loop, wrench)


def _joint(
    model: LumpedModel, links: list[LinkMotion], roots: list[RootMap], forces: NominalForces, i: int
) -> Iterator[LeverStiffness]:
    """Levers of a joint turn with the frame that carries it and with what hangs behind it, and so do its axes."""
    seat, passive, rel = model.skeleton.seats[i], model.numbering.joint[i], links[i].relative
    turning = seat.turns[: len(passive)] != 0
    # of what hangs behind a passive hinge: the link's origin, seen from the hinge, turns with the link
    far = seat.R_JB.T @ seat.p_JB if turning.any() else np.zeros(3)
    if turning.any():
        theta = roots[i].X[0][:, 3:]
        yield LeverStiffness(roots[i].columns, _both(theta, lever_matrix(far, forces.roots[i][:, :3]), theta))
    # from here on in axes of the link that carries the joint
    up, far_up = _turned(rel.R, forces.roots[i]), np.einsum("tij,j->ti", rel.R, far)
    moment = _moved(up, far_up)[:, 3:]
    axes = np.einsum("tij,kj->tki", rel.R, (seat.axes @ seat.R_JB)[: len(passive)])
    if turning.sum() > 1:
        # one turn of a ball turns the axes of the others: half of delta q_j (q_k n_k x n_j) . moment
        n, own = axes[:, turning], passive[turning]
        K = np.einsum("tkai,ti->tak", cross(n[:, :, None], n[:, None]), moment) / 2
        yield LeverStiffness(own, K)
    if seat.parent == BASE:
        return
    x = model.meshes[seat.parent].bodies.x[seat.place.node]
    columns, theta = _turn(model, roots, seat.parent, seat.place.node)
    inner = _both(theta, lever_matrix(rel.p - x - far_up, up[:, :3]), theta)
    size = len(columns)
    K = np.zeros((len(inner), size + len(passive), size + len(passive)))
    K[:, :size, :size] = inner
    for k, (turns, slides) in enumerate(zip(seat.turns, seat.slides, strict=True) if len(passive) else ()):
        # the axis turns with the frame: delta q (theta x n) . load, and a slide makes the lever longer
        longer = np.einsum("ti,tij->tj", cross(axes[:, k], slides * up[:, :3]), theta)
        K[:, size + k, :size] = np.einsum("ti,tij->tj", cross(axes[:, k], turns * moment), theta) + longer
        K[:, :size, size + k] = longer
    yield LeverStiffness(np.append(columns, passive), K)


def _closure(
    model: LumpedModel, links: list[LinkMotion], roots: list[RootMap], loop: LoopRows, wrench: Floats
) -> Iterator[LeverStiffness]:
    """Levers of a closure's frames, and the axes of a hinge, which turn with its first frame."""
    parts: list[tuple[NDArray[np.int_], Floats]] = []
    for sign, (link, place) in zip((1.0, -1.0), loop.ends, strict=True):
        if link == BASE:
            continue
        columns, theta = _turn(model, roots, link, place.node)
        lever = place.p - model.meshes[link].bodies.x[place.node]
        force = np.einsum("tji,tj->ti", links[link].R, -sign * wrench[:, :3])
        yield LeverStiffness(columns, _both(theta, lever_matrix(lever, force), theta))
        parts.append((columns, links[link].R @ theta))
    if len(loop.tilts) and loop.ends[0][0] != BASE:
        places = np.unique(np.concatenate([columns for columns, _ in parts]))
        size = (len(wrench), 3, len(places))
        first, relative = np.zeros(size), np.zeros(size)
        for k, (columns, theta) in enumerate(parts):
            at = np.searchsorted(places, columns)
            relative[:, :, at] += (1.0, -1.0)[k] * theta
            if not k:
                first[:, :, at] = theta
        # -(delta theta_A - delta theta_B) . (theta_A x moment)
        yield LeverStiffness(places, _both(relative, tilde(wrench[:, 3:]), first))


def _turn(model: LumpedModel, roots: list[RootMap], link: int, node: int) -> tuple[NDArray[np.int_], Floats]:
    """Turn of a node (times, 3, k) in axes of its link."""
    columns, (X, *_) = node_map(model.skeleton, model.numbering, roots, link, node)
    return columns, X[:, 3:]


def _both(left: Floats, Q: Floats, right: Floats) -> Floats:
    return np.asarray(np.swapaxes(left, 1, 2) @ Q @ right)


# ---- what remains between the equations of the nodes and the recursive method, linearised about the same motion


class BesideRecursion(NamedTuple):
    """Stiffness (times, z, z) by which the equations of the nodes differ from the linearised recursive method.

    frames      geometric stiffness of internal forces by links and frames that turn: the recursion has it
    shortening  geometric stiffness by links of second-order bending that shorten as they bend: the recursion has it
    bodies      pieces of lumped links that turn with their nodes: the recursion leaves it out
    """

    frames: Floats
    shortening: Floats
    bodies: Floats


def beside_recursion(model: LumpedModel, assembled: AssembledMotion) -> BesideRecursion:
    """What the internal forces of a nominal motion do, and what rigid pieces do, by name.

    ``shortening`` is that of the links whose bending is second-order; a model with ``stiffening`` has both already.
    """
    motion, links, roots = assembled.motion, assembled.links, assembled.roots
    forces = nominal_forces(model, motion, links, roots, assembled.J, assembled.loads)
    sums = {name: MatrixSum(model.numbering.size, len(motion.q)) for name in BesideRecursion._fields}
    for i, mesh in enumerate(model.meshes):
        own, geometry, wrench = model.numbering.own[i], geometry_of(mesh), forces.nodes[i]
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
