"""Derivatives of the inverse dynamics of rigid links in base axes: composite bodies inward, then pairs of joints.

Twists, accelerations (time derivatives of twists) and wrenches are pairs of vectors about the link's origin. A joint
with the twist S per unit rate turns all that it carries: their twists V become V + S x V + S', their accelerations
A + S x A + S' x V + S'', with the time derivatives of S. A body then takes the wrench S x* f + 2 B S' + I S'' more, and
2 B S + 2 I S' for a unit change of the joint's rate, where

    2 B X = V x* I X - I (V x X) + X x* I V

For rigid bodies X = (u, w) gives the force 2 w x p and the moment -2 D w, with their momentum p and
D = [w_V] E + [h] [v_V], E = int r r^T dm. So p and D of all that a link carries are sums, and every pair of joints
takes a few products. Prismatic joints are no different: S is fixed to the link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.formulations.recursive.columns import COLUMN, PLACE, running
from pliant.formulations.recursive.inertia_columns import ARM_SIZE, FrozenBody, branches
from pliant.formulations.recursive.passes import Algorithm, LinkView, Pass
from pliant.spatial.vectors import (
    ZERO3,
    Matrix,
    Vector,
    add,
    cross,
    plus,
    product,
    scale,
    similar_symmetric,
    times,
    transpose_times,
)

if TYPE_CHECKING:
    from pliant.formulations.recursive.tree import Tree

Six = tuple[Vector, Vector]

TURNED = 3
"""Numbers of what a joint feels of a carrier's twist: a moment."""
ON_DIAGONAL = 3
"""Slopes of a joint's drive: by the acceleration, the coordinate and the rate."""
JOINT_SIZE = 6 * COLUMN + TURNED + ON_DIAGONAL
"""S, S', S'', I S, the moment of B^T S, the wrenches by q and by v, and the slopes of the drive."""


class Travel(NamedTuple):
    """Twist and acceleration of a link."""

    V: Six
    A: Six


class Carried(NamedTuple):
    """A link with all that it carries: a frozen body, its momentum, D and the wrench that it takes."""

    body: FrozenBody
    p: Vector
    D: Matrix
    f: Six

    def about(self, arm: Vector) -> Carried:
        """The same about a point from which the arm leads here."""
        F, N = self.f
        D = plus(self.D, _skew_product(arm, self.p))
        return Carried(self.body.about(arm), self.p, D, (F, add(N, cross(arm, F))))

    def plus(self, other: Carried) -> Carried:
        """Both together, about the same point."""
        a, b = self.body, other.body
        body = FrozenBody(a.mass + b.mass, add(a.h, b.h), plus(a.C, b.C))
        return Carried(body, add(self.p, other.p), plus(self.D, other.D), _sum(self.f, other.f))

    def twice_B(self, X: Six) -> Six:
        """2 B X."""
        return scale(2.0, cross(X[1], self.p)), scale(-2.0, times(self.D, X[1]))

    def twice_B_transposed(self, X: Six) -> Vector:
        """The moment of 2 B^T X, which has no force."""
        return scale(-2.0, add(cross(X[0], self.p), transpose_times(self.D, X[1])))


def _travel(view: LinkView) -> dict[str, Any]:
    arm: Vector = view.store["arm"]
    base = Travel((list(ZERO3), list(ZERO3)), ([-g for g in view.gravity], list(ZERO3)))
    up: Travel = base if view.parent is None else view.parent.store["travel"]
    V, A = ((add(X[0], cross(X[1], arm)), X[1]) for X in up)
    changes = []
    for S in view.store["columns"]:
        once = _along(V, S)
        changes.append((once, _sum(_along(A, S), _along(V, once))))
        rate = view.v[0]
        V = _sum(V, _times(rate, S))
        A = _sum(A, _times(view.inputs["a"][0], S), _times(rate, once))
    return {"travel": Travel(V, A), "changes": changes}


def _take(view: LinkView) -> dict[str, Any]:
    R, (V, A) = view.store["place"].R, view.store["travel"]
    b, _ = view.link.body.inertia([], [], [0.0] * 3)
    body = FrozenBody(b.A[0][0], times(R, [b.B[1][2], b.B[2][0], b.B[0][1]]), similar_symmetric(R, b.C))
    p, L = body.momentum(*V)
    half = 0.5 * (body.C[0][0] + body.C[1][1] + body.C[2][2])
    E = [[(half if i == k else 0.0) - body.C[i][k] for k in range(3)] for i in range(3)]
    x, y, z = V[1]
    D = plus(product([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]], E), _skew_product(body.h, V[0]))
    whole = Carried(body, p, D, _sum(body.momentum(*A), _against(V, (p, L))))
    for child in view.children:
        whole = whole.plus(child.store["carried"].about(child.store["arm"]))
    flat = list(view.store["arm"])
    for S, (once, twice) in zip(view.store["columns"], view.store["changes"], strict=True):
        by_q = _sum(whole.body.momentum(*twice), whole.twice_B(once), _against(S, whole.f))
        by_v = _sum(_times(2.0, whole.body.momentum(*once)), whole.twice_B(S))
        flat += [x for pair in (S, once, twice, whole.body.momentum(*S)) for x in (*pair[0], *pair[1])]
        flat += whole.twice_B_transposed(S) + [x for pair in (by_q, by_v) for x in (*pair[0], *pair[1])]
        drive = view.link.drive
        flat += [drive.inertia, drive.stiffness, drive.damping + drive.dry_slope(view.v[0])]
    return {"carried": whole, "result": flat}


def _along(V: Six, X: Six) -> Six:
    """V x X of two twists."""
    return add(cross(V[1], X[0]), cross(V[0], X[1])), cross(V[1], X[1])


def _against(V: Six, f: Six) -> Six:
    """V x* f of a twist and a wrench."""
    return cross(V[1], f[0]), add(cross(V[1], f[1]), cross(V[0], f[0]))


def _sum(*pairs: Six) -> Six:
    return add(*(a for a, _ in pairs)), add(*(b for _, b in pairs))


def _times(k: Any, X: Six) -> Six:
    return scale(k, X[0]), scale(k, X[1])


def _skew_product(a: Vector, b: Vector) -> Matrix:
    """[a] [b], the matrices of their cross products: b a^T - a.b."""
    rows = [[y * x for x in a] for y in b]
    across = [rows[i][i] for i in range(3)]
    for i in range(3):
        rows[i][i] = -(across[(i + 1) % 3] + across[(i + 2) % 3])
    return rows


FORCE_SLOPES = Algorithm(
    "force_slopes",
    ("q", "v", "a"),
    (
        PLACE,
        Pass("travel", "outward", _travel, reads=("travel",), own=("arm", "columns")),
        Pass(
            "take",
            "inward",
            _take,
            reads=("carried", "arm"),
            own=("place", "arm", "columns", "travel", "changes"),
        ),
    ),
    "result",
)
"""For every link: its arm, and what its joint has (JOINT_SIZE)."""


class SlopePlan(NamedTuple):
    """How the derivatives are put together: links so that all that a link carries follows it, and a row for each.

    order  coordinates of the robot in that order
    rows   per link, the last first: where its arm is, how many coordinates it has (0 or 1), its coordinate and the
           end of those that it carries, in that order
    """

    order: NDArray[np.int64]
    rows: NDArray[np.int64]


def has_slopes(tree: Tree) -> bool:
    """Whether all links are rigid, on joints with an axis or none."""
    return all(link.kind.size == 0 and not link.kind.turns_freely for link in tree.links)


def slope_plan(tree: Tree) -> SlopePlan:
    """The plan for a tree."""
    found = branches(tree)
    starts = running(ARM_SIZE + JOINT_SIZE * link.kind.coordinates for link in tree.links)
    rows = [[starts[i], tree.links[i].kind.coordinates, found.first[i], found.last[i]] for i in reversed(found.links)]
    return SlopePlan(found.order, np.array(rows, dtype=np.int64))


def force_slopes_of(plan: SlopePlan, flat: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Derivatives (n, n) by q, v and a from the results of all links; the readable twin of the compiled step."""
    n = len(plan.order)
    by_q, by_v, by_a = (np.zeros((n, n)) for _ in range(3))
    momenta, turned, from_q, from_v = np.zeros((n, 6)), np.zeros((n, 3)), np.zeros((n, 6)), np.zeros((n, 6))
    for start, own, first, last in plan.rows.tolist():
        carried = slice(first, last)
        if own:
            parts = np.split(flat[start + ARM_SIZE :][:JOINT_SIZE], [6, 12, 18, 24, 27, 33, 39])
            S, once, twice, momenta[first], turned[first], from_q[first], from_v[first], drive = parts
            by_q[first, carried], by_v[first, carried] = from_q[carried] @ S, from_v[carried] @ S
            by_q[carried, first] = turned[carried] @ once[3:] + momenta[carried] @ twice
            by_v[carried, first] = turned[carried] @ S[3:] + momenta[carried] @ (2 * once)
            by_a[first, carried] = by_a[carried, first] = momenta[carried] @ S
            for matrix, slope in zip((by_a, by_q, by_v), drive, strict=True):
                matrix[first, first] += slope
        arm = flat[start : start + ARM_SIZE]
        for wrench in (momenta, from_q, from_v):
            wrench[carried, 3:] += np.cross(arm, wrench[carried, :3])
    across = np.ix_(np.argsort(plan.order), np.argsort(plan.order))
    return tuple(matrix[across] for matrix in (by_q, by_v, by_a))
