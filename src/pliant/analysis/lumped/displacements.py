"""How links hang together: the displacement of every link's root by the independent displacements of the robot.

The independent displacements y are, link by link, what a passive joint turns or slides beside its nominal motion and
the own displacements of the nodes. A root follows the node that carries its joint,

    rho = X(t) y,    X = A(t) (own components of the node + what follows the root of the parent) + column of the joint,

in link axes, so that A turns with the joint. Where all components of the carrying node are its own, X picks and turns:
it is the Boolean matrix B of (17). With B^T in place of X its derivatives are lost, since nu_dot and nu_ddot of (10)
are relative to each link; X keeps them. A passive joint leaves its own motion to the link behind it: coupling all six
components, as the text says of joints in general, would lock it.

Forces from outside act on the same displacements. A wrench keeps its direction in the base; its generalised force is
that of undisplaced directions, as everything in the equations of the nodes, and where internal forces stiffen, it is
one of the forces that cause them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.lumped.mesh import FramePlace
from pliant.analysis.lumped.node_equations import Floats, tilde
from pliant.analysis.lumped.nominal_motion import LinkMotion, RelativeMotion, Skeleton, cross
from pliant.mechanism import BASE

if TYPE_CHECKING:
    from pliant.analysis.lumped.lumped_model import LumpedModel

Jet = tuple[Floats, Floats, Floats]
"""A matrix and its first two derivatives by time."""


class RootMap(NamedTuple):
    """The displacement of a root (times, 6, k) by some of the independent displacements, with derivatives."""

    columns: NDArray[np.int_]
    X: Jet

    def at(self, t: int) -> RootMap:
        """The map at one instant."""
        return RootMap(self.columns, (self.X[0][t : t + 1], self.X[1][t : t + 1], self.X[2][t : t + 1]))


class Numbering:
    """Where the independent displacements of each link stand in y.

    joint  per link: those of its passive joint, none of one that is driven or fixed
    own    per link: those of its nodes
    """

    def __init__(self, skeleton: Skeleton) -> None:
        self.names: list[str] = []
        self.joint: list[NDArray[np.int_]] = []
        self.own: list[NDArray[np.int_]] = []
        for seat, mesh in zip(skeleton.seats, skeleton.meshes, strict=True):
            passive = seat.coordinates if seat.is_passive else ()
            self.joint.append(len(self.names) + np.arange(len(passive)))
            self.names += [skeleton.joints[k] for k in passive]
            self.own.append(len(self.names) + np.arange(mesh.own))
            self.names += [f"{mesh.name}.{word}" for word in mesh.words]

    @property
    def size(self) -> int:
        """Number of independent displacements."""
        return len(self.names)


def product(*jets: Jet) -> Jet:
    """Product of matrices with their derivatives."""
    A, *rest = jets
    for B in rest:
        A = (A[0] @ B[0], A[1] @ B[0] + A[0] @ B[1], A[2] @ B[0] + 2 * A[1] @ B[1] + A[0] @ B[2])
    return A


def carried_over(relative: RelativeMotion, place: FramePlace, x_node: Floats) -> Jet:
    """A (times, 6, 6): displacement of a root by that of the node that carries it."""
    back = tuple(np.swapaxes(R, 1, 2) for R in (relative.R, relative.R_dot, relative.R_ddot))
    lever: Jet = (-tilde(relative.p - x_node), -tilde(relative.p_dot), -tilde(relative.p_ddot))
    moved = product((back[0], back[1], back[2]), lever)
    out = []
    for B, C in zip(back, moved, strict=True):
        A = np.zeros((len(B), 6, 6))
        A[:, :3, :3] = A[:, 3:, 3:] = B
        A[:, :3, 3:] = C
        out.append(A)
    return out[0], out[1], out[2]


def root_maps(skeleton: Skeleton, numbering: Numbering, links: list[LinkMotion]) -> list[RootMap]:
    """X of every link."""
    times = len(links[0].p)
    out: list[RootMap] = []
    for i, seat in enumerate(skeleton.seats):
        columns, X = np.zeros(0, dtype=int), tuple(np.zeros((times, 6, 0)) for _ in range(3))
        if seat.parent != BASE:
            mesh = skeleton.meshes[seat.parent]
            columns, node = node_map(skeleton, numbering, out, seat.parent, seat.place.node)
            X = product(carried_over(links[i].relative, seat.place, mesh.bodies.x[seat.place.node]), node)
        joint = numbering.joint[i]
        if len(joint):
            columns = np.append(columns, joint)
            own = np.broadcast_to(seat.columns, (times, 6, len(joint)))
            X = (np.concatenate([X[0], own], axis=2), *(np.concatenate([x, 0 * own], axis=2) for x in X[1:]))
        out.append(RootMap(columns, (X[0], X[1], X[2])))
    return out


def node_map(
    skeleton: Skeleton, numbering: Numbering, roots: list[RootMap], link: int, node: int
) -> tuple[NDArray[np.int_], Jet]:
    """Displacement of a node, or of a place between nodes, (times, 6, k) in axes of its link."""
    mesh, root = skeleton.meshes[link], roots[link]
    P = mesh.from_root(node)
    follows = tuple(P @ x for x in root.X)
    # columns on which nothing of the node depends are dropped: they would couple all links of a chain
    kept = np.flatnonzero(_used(P, root))
    which, own = mesh.by_own(node)
    columns = np.concatenate([root.columns[kept], numbering.own[link][which]]).astype(int)
    picks = np.broadcast_to(own, (len(root.X[0]), *own.shape))
    first, *others = (x[:, :, kept] for x in follows)
    jets = [np.concatenate([first, picks], axis=2)]
    jets += [np.concatenate([x, np.zeros_like(picks)], axis=2) for x in others]
    return columns, (jets[0], jets[1], jets[2])


def _used(P: Floats, root: RootMap) -> NDArray[np.bool_]:
    """Columns of a root map that move a node through P."""
    sizes = [np.abs(P @ x).max(axis=(0, 1), initial=0.0) for x in root.X]
    return np.asarray(np.sum(sizes, axis=0) > 0)


def frame_map(
    skeleton: Skeleton,
    numbering: Numbering,
    roots: list[RootMap],
    links: list[LinkMotion],
    end: tuple[int, FramePlace],
) -> tuple[NDArray[np.int_], Jet]:
    """Displacement and turn of a frame (times, 6, k) in base axes."""
    link, place = end
    times = len(links[0].p)
    if link == BASE:
        empty = np.zeros((times, 6, 0))
        return np.zeros(0, dtype=int), (empty, empty, empty)
    columns, node = node_map(skeleton, numbering, roots, link, place.node)
    body, lever = links[link], np.eye(6)
    lever[:3, 3:] = -tilde(place.p - skeleton.meshes[link].bodies.x[place.node])
    w_, wd_ = tilde(body.w), tilde(body.w_dot)
    turns = []
    for R in (body.R, body.R @ w_, body.R @ (w_ @ w_ + wd_)):
        T = np.zeros((times, 6, 6))
        T[:, :3, :3] = T[:, 3:, 3:] = R
        turns.append(T @ lever)
    return columns, product((turns[0], turns[1], turns[2]), node)


# ---- forces from outside


@dataclass(frozen=True, eq=False, slots=True)
class AppliedLoads:
    """What acts from outside at some instants.

    wrenches  link and place of a frame, and force and moment (times, 6) on it, base axes
    efforts   coordinate of a joint that has no other, by its place -> effort along it (times,), N m or N
    """

    wrenches: tuple[tuple[tuple[int, FramePlace], Floats], ...] = ()
    efforts: Mapping[int, Floats] = field(default_factory=dict)

    def at(self, t: int) -> AppliedLoads:
        """The loads of one instant."""
        wrenches = tuple((end, w[t : t + 1]) for end, w in self.wrenches)
        return AppliedLoads(wrenches, {k: x[t : t + 1] for k, x in self.efforts.items()})


NO_LOADS = AppliedLoads()

Loading = Callable[[Floats], AppliedLoads]
"""What acts at times (k,)."""


class PlacedWrench(NamedTuple):
    """A wrench (times, 6) on a frame in the axes of its link, at the node that holds it, and its lever (3,)."""

    link: int
    place: FramePlace
    wrench: Floats
    lever: Floats


def placed(model: LumpedModel, links: list[LinkMotion], loads: AppliedLoads) -> Iterator[PlacedWrench]:
    """The wrenches on links; one on the base moves nothing."""
    for (link, place), wrench in loads.wrenches:
        if link != BASE:
            R = links[link].R
            own = np.hstack([np.einsum("tji,tj->ti", R, wrench[:, k : k + 3]) for k in (0, 3)])
            lever = place.p - model.meshes[link].bodies.x[place.node]
            own[:, 3:] += cross(lever[None], own[:, :3])
            yield PlacedWrench(link, place, own, lever)


def generalised(model: LumpedModel, links: list[LinkMotion], roots: list[RootMap], loads: AppliedLoads) -> Floats:
    """Forces of the loads on the displacements y of the open tree (times, y)."""
    out = np.zeros((len(links[0].p), model.numbering.size))
    for end, wrench in loads.wrenches:
        columns, U = frame_map(model.skeleton, model.numbering, roots, links, end)
        out[:, columns] += np.einsum("tij,ti->tj", U[0], wrench)
    for seat, passive in zip(model.skeleton.seats, model.numbering.joint, strict=True):
        for coordinate, place in zip(seat.coordinates, passive, strict=False):
            out[:, place] += loads.efforts.get(coordinate, 0.0)
    return out
