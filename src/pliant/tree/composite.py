"""The mass matrix by composite bodies: each link carries the rigid sum of all that hangs on it.

Mohan & Saha (28)-(32), M~_i = M_i + A_{i+1,i}^T M~_{i+1} A_{i+1,i}, generalised to trees. In link axes it is a
recursion on any scalars. In base axes nothing is turned back and forth: a link with all that it carries, frozen, is a
rigid body with mass, first moment and inertia about the link's origin. Unit rates of its own coordinates give it the
momentum (F, N); walking to the base, N moves on by one arm per link, and each coordinate on the way takes
v . F + w . N of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Pass, PassAlgorithm, views
from pliant.bodies.terms import Blocks, FrameTerms
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import (
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    plus_symmetric,
    scale,
    similar_symmetric,
    times,
    transpose_times,
    zeros,
)
from pliant.tree.frames import COLUMN, PLACE, column_coordinates, running
from pliant.tree.kinematics import BEND, CONNECT
from pliant.tree.link import (
    Connection,
    Handed,
    LinkConstants,
    LinkKind,
    absorb,
    joint_acceleration,
    pass_down,
    project,
    shifted,
)
from pliant.tree.tree import TreeView

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


# ---- inertia columns


MOMENTUM = 6
"""Force and moment about the link's origin for a unit acceleration of a coordinate, base axes."""
ARM_SIZE = 3


class FrozenBody(NamedTuple):
    """A link with all that it carries, frozen: mass, first moment and inertia about its origin, base axes."""

    mass: Scalar
    h: Vector
    C: Matrix

    def momentum(self, v: Vector, w: Vector) -> tuple[Vector, Vector]:
        """At a velocity of the origin and an angular velocity."""
        return add(scale(self.mass, v), cross(w, self.h)), add(cross(self.h, v), times(self.C, w))

    def about(self, arm: Vector) -> FrozenBody:
        """The body about a point from which the arm leads here."""
        # C + [h] and [arm] crosswise + m (arm.arm - arm arm^T), the inertia of h and m at the arm
        both = add(scale(2.0, self.h), scale(self.mass, arm))
        along = dot(arm, both)
        rest = [[0.5 * (arm[i] * both[k] + arm[k] * both[i]) for k in range(3)] for i in range(3)]
        shift = [[(along if i == k else 0.0) - rest[i][k] for k in range(3)] for i in range(3)]
        return FrozenBody(self.mass, add(self.h, scale(self.mass, arm)), plus_symmetric(self.C, shift))


def _compose(view: TreeView) -> dict[str, Any]:
    kind, R = view.kind, view.store["place"].R
    at_rest = [0.0] * kind.size
    b, _ = view.bent.body.inertia(kind.elastic(view.q), at_rest, [0.0] * 3)
    h = times(R, [b.B[1][2], b.B[2][0], b.B[0][1]])
    whole = FrozenBody(b.A[0][0], h, similar_symmetric(R, b.C))
    momenta = [(times(R, column(b.E_v, e)), times(R, column(b.E_w, e))) for e in range(kind.size)]
    M = [list(row) for row in b.M_e]
    for child in view.children:
        composite, arm, columns = (child.store[name] for name in ("composite", "arm", "columns"))
        handed = composite.about(arm)
        whole = FrozenBody(whole.mass + handed.mass, add(whole.h, handed.h), plus_symmetric(whole.C, handed.C))
        for e in range(kind.size):
            F, N = composite.momentum(*columns[e])
            for k in range(e + 1):
                M[e][k] = M[k][e] = M[e][k] + dot(columns[k][0], F) + dot(columns[k][1], N)
            momenta[e] = add(momenta[e][0], F), add(momenta[e][1], N, cross(arm, F))
    joint = view.store["columns"][len(view.store["columns"]) - (kind.coordinates - kind.size) :]
    every = [whole.momentum(*each) for each in joint] + momenta
    block = [[dot(v, F) + dot(w, N) for F, N in every] for v, w in joint]
    block += [[row[len(joint) + e] for row in block] + M[e] for e in range(kind.size)]
    if kind.is_driven:
        row, motor = [1.0, *view.link.drive.row], view.link.drive.inertia
        block = [[x + motor * row[i] * row[k] for k, x in enumerate(line)] for i, line in enumerate(block)]
    flat = view.store["arm"] + [x for v, w in view.store["columns"] for x in (*v, *w)]
    flat += [x for F, N in every for x in (*F, *N)]
    return {"composite": whole, "result": flat + [x for line in block for x in line]}


COMPOSITES = PassAlgorithm(
    "composites",
    ("q",),
    (
        BEND,
        PLACE,
        Pass(
            "compose",
            "inward",
            _compose,
            reads=("composite", "arm", "columns"),
            own=("place", "arm", "columns", "bent", "sums"),
        ),
    ),
    "result",
)
"""For every link: arm, columns, momenta of its own coordinates, its own block of the mass matrix."""


class MassPlan(NamedTuple):
    """How the mass matrix is put together: links so that all that a link carries follows it, and tables for each.

    order  coordinates of the robot in that order
    rows   per link, the last first: where its arm is, its columns, its momenta and its block begin; how many columns
           and own coordinates; the first of its own coordinates and the end of those that it carries, in that order
    at     coordinates of the columns, in that order
    """

    order: NDArray[np.int64]
    rows: NDArray[np.int64]
    at: NDArray[np.int64]


class Branches(NamedTuple):
    """Links and coordinates of a tree so that all that a link carries follows it.

    first, last  of each link, the first of its coordinates and the end of those that it carries, in that order
    """

    links: list[int]
    order: NDArray[np.int64]
    first: list[int]
    last: list[int]


def branches(tree: Tree) -> Branches:
    """The order of a tree."""
    links: list[int] = []
    ahead = [i for i, link in reversed([*enumerate(tree.links)]) if link.parent < 0]
    while ahead:
        links.append(ahead.pop())
        ahead += reversed(tree.children[links[-1]])
    order = [k for i in links for k in range(tree.links[i].own.start, tree.links[i].own.stop)]
    first, last = [0] * len(links), [0] * len(links)
    for i, start in zip(links, running(tree.links[i].kind.coordinates for i in links), strict=False):
        first[i] = start
    for i in reversed(links):
        last[i] = max([first[i] + tree.links[i].kind.coordinates, *(last[c] for c in tree.children[i])])
    return Branches(links, np.array(order, dtype=np.int64), first, last)


def mass_plan(tree: Tree) -> MassPlan:
    """The plan for a tree."""
    links, order, first, last = branches(tree)
    place = {int(k): p for p, k in enumerate(order)}
    own = [link.kind.coordinates for link in tree.links]
    columns = [column_coordinates(tree, i) for i in range(len(tree.links))]
    sizes = [ARM_SIZE + COLUMN * len(c) + MOMENTUM * n + n * n for c, n in zip(columns, own, strict=True)]
    starts = running(sizes)
    rows: list[list[int]] = []
    at: list[int] = []
    for i in reversed(links):
        momenta = starts[i] + ARM_SIZE + COLUMN * len(columns[i])
        bends = len(columns[i]) - (own[i] - tree.links[i].kind.size)
        head = [starts[i], momenta, momenta + MOMENTUM * own[i], len(at), bends, len(columns[i]), own[i]]
        rows.append([*head, first[i], last[i]])
        at += [place[k] for k in columns[i]]
    return MassPlan(order, np.array(rows), np.array(at, dtype=np.int64))
