"""The inertia matrix by composite bodies: each link carries the rigid sum of all that hangs on it.

Mohan & Saha (28)-(32), M~_i = M_i + A_{i+1,i}^T M~_{i+1} A_{i+1,i}, generalised to trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.algorithm import views
from pliant.bodies.terms import Blocks, FrameTerms
from pliant.spatial.scalars import is_zero
from pliant.spatial.vectors import Matrix, Vector, add, column, times, transpose_times, zeros
from pliant.tree.connection import (
    Connection,
    Handed,
    absorb,
    gather_force,
    joint_acceleration,
    joint_forces,
    shifted,
    to_seat,
)
from pliant.tree.link import LinkConstants, LinkKind
from pliant.tree.passes import CONNECT

if TYPE_CHECKING:
    from pliant.tree.tree import Tree


def compose(
    kind: LinkKind,
    link: LinkConstants,
    q: Vector,
    children: list[tuple[Handed, FrameTerms]],
) -> Blocks:
    """Inertia of a link with all its children, as if their coordinates were frozen."""
    q_e = kind.elastic(q)
    b, _ = link.body.inertia(q_e, [0.0] * kind.size, [0.0] * 3)
    for handed, frame in children:
        b = absorb(b, handed, frame)
    return b


def hand_inertia(c: Connection, b: Blocks) -> Handed:
    """The composite inertia at the attachment point, in parent axes."""
    A, B, C = c.rotation.inertia(b.A, b.B, b.C)
    if not all(is_zero(x) for x in c.s):
        A, B, C = shifted(Handed(A, B, C, [], []), c.s)
    return Handed(A, B, C, [], [])


def own_columns(kind: LinkKind, link: LinkConstants, c: Connection, b: Blocks) -> list[tuple[Vector, Vector, Vector]]:
    """For each coordinate of the link: force, moment and elastic forces that a unit acceleration of it needs."""
    columns = []
    for k in range(kind.held):
        a_v, a_w = joint_acceleration(kind, link, c, [float(i == k) for i in range(kind.held)])
        columns.append(
            (
                add(times(b.A, a_v), times(b.B, a_w)),
                add(transpose_times(b.B, a_v), times(b.C, a_w)),
                add(transpose_times(b.E_v, a_v), transpose_times(b.E_w, a_w)),
            )
        )
    for e in range(kind.size):
        columns.append((column(b.E_v, e), column(b.E_w, e), list(b.M_e[e])))
    return columns


def project(
    kind: LinkKind, link: LinkConstants, c: Connection, force: Vector, moment: Vector, generalised: Vector
) -> Vector:
    """The generalised forces on a link's coordinates of a wrench on its frame and forces on its elastic ones."""
    return [*joint_forces(kind, link, c, force, moment), *generalised]


def own_block(
    kind: LinkKind, link: LinkConstants, c: Connection, columns: list[tuple[Vector, Vector, Vector]]
) -> Matrix:
    """The diagonal block of a link, with its motor's inertia on the motor angle."""
    block = [project(kind, link, c, *each) for each in columns]
    if kind.is_driven:
        row = [1.0, *link.drive.row]
        n, motor = len(row), link.drive.inertia
        block = [[block[i][k] + motor * row[i] * row[k] for k in range(n)] for i in range(n)]
    return block


def pass_down(c: Connection, size: int, force: Vector, moment: Vector) -> tuple[Vector, Vector, Vector]:
    """A wrench on a link, felt by its parent: force and moment about the parent's origin, and elastic forces."""
    handed = to_seat(c, force, moment)
    zero = [0.0] * 3
    return gather_force(zero, zero, [0.0] * size, handed.force, handed.moment, c.frame)


def mass_matrix(tree: Tree, q: Vector, constants: Sequence[LinkConstants] | None = None) -> Matrix:
    """M(q): composite bodies inward, then each link's columns passed down to the base."""
    still = [0.0] * tree.size
    links = views(tree, {"q": q, "v": still}, constants)
    for view in links:
        view.store.update(CONNECT.step(view))
    M = zeros(tree.size, tree.size)
    for i in reversed(range(len(links))):
        view, start = links[i], tree.links[i].start
        b = compose(view.kind, view.link, view.q, view.handed("composite"))
        view.store["composite"] = hand_inertia(view.connection, b)
        columns = own_columns(view.kind, view.link, view.connection, b)
        for a, line in enumerate(own_block(view.kind, view.link, view.connection, columns)):
            for k, x in enumerate(line):
                M[start + a][start + k] = x
        for a, (force, moment, _) in enumerate(columns):
            child = i
            while (parent := tree.links[child].parent) >= 0:
                size = tree.links[parent].kind.size
                force, moment, bending = pass_down(links[child].connection, size, force, moment)
                up = links[parent]
                for k, x in enumerate(project(up.kind, up.link, up.connection, force, moment, bending)):
                    at = tree.links[parent].start + k
                    M[start + a][at] = M[at][start + a] = x
                child = parent
    return M
