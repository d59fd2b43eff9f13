"""Derivatives of the inverse dynamics of rigid links in base axes: composite bodies inward, then pairs of joints.

Twists, accelerations (time derivatives of twists) and wrenches are pairs of vectors about the link's origin. A joint
with the twist S per unit rate turns all that it carries: their twists V become V + S x V + S', their accelerations
A + S x A + S' x V + S'', with the time derivatives of S. A body then takes the wrench S x* f + 2 B S' + I S'' more, and
2 B S + 2 I S' for a unit change of the joint's rate, where

    2 B X = V x* I X - I (V x X) + X x* I V

For rigid bodies X = (u, w) gives the force 2 w x p and the moment -2 D w, with their momentum p and
D = [w_V] E + [h] [v_V], E = int r r^T dm. So p and D of all that a link carries are sums, and every pair of joints
takes a few products. All this holds for any coordinates, with the derivatives of their S along the motion; only within
a joint that turns any way do its S change by each other, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Pass, PassAlgorithm
from pliant.joints.kind import Resistance
from pliant.spatial.attitude import Attitude, jacobian_rates
from pliant.spatial.vectors import (
    ZERO3,
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    identity3,
    plus,
    product,
    scale,
    similar_symmetric,
    times,
    transpose_times,
    zeros,
)
from pliant.tree.composite import ARM_SIZE, FrozenBody, branches
from pliant.tree.frames import COLUMN, PLACE, running
from pliant.tree.link import joint_motion
from pliant.tree.tree import TreeView

if TYPE_CHECKING:
    from pliant.tree.tree import Tree

Six = tuple[Vector, Vector]

TURNED = 3
"""Numbers of what a joint feels of a carrier's twist: a moment."""
HEAD = ARM_SIZE + 6 * COLUMN + TURNED
"""Of a coordinate: the arm to what carries it, S, S', S'', I S, the moment of 2 B^T S, the wrenches by q and by v."""
WITHIN = 5
"""Then, for itself and each that follows in its joint, what the joint adds: by q and v, up and down, and by a."""


class Travel(NamedTuple):
    """Twist and acceleration of a link."""

    V: Six
    A: Six


class MovingBody(NamedTuple):
    """A link with all that it carries: a frozen body, its momentum, D and the wrench that it takes."""

    body: FrozenBody
    p: Vector
    D: Matrix
    f: Six

    def about(self, arm: Vector) -> MovingBody:
        """The body about a point from which the arm leads here."""
        F, N = self.f
        D = plus(self.D, _skew_product(arm, self.p))
        return MovingBody(self.body.about(arm), self.p, D, (F, add(N, cross(arm, F))))

    def plus(self, other: MovingBody) -> MovingBody:
        """Both together, about the same point."""
        a, b = self.body, other.body
        body = FrozenBody(a.mass + b.mass, add(a.h, b.h), plus(a.C, b.C))
        return MovingBody(body, add(self.p, other.p), plus(self.D, other.D), _sum(self.f, other.f))

    def twice_B(self, X: Six) -> Six:
        """2 B X."""
        return scale(2.0, cross(X[1], self.p)), scale(-2.0, times(self.D, X[1]))

    def twice_B_transposed(self, X: Six) -> Vector:
        """The moment of 2 B^T X, which has no force."""
        return scale(-2.0, add(cross(X[0], self.p), transpose_times(self.D, X[1])))


def _travel(view: TreeView) -> dict[str, Any]:
    arm: Vector = view.store["arm"]
    base = Travel((list(ZERO3), list(ZERO3)), ([-g for g in view.gravity], list(ZERO3)))
    up: Travel = base if view.parent is None else view.parent.store["travel"]
    V0, A0 = ((add(X[0], cross(X[1], arm)), X[1]) for X in up)
    columns, rates, a = view.store["columns"], view.v, view.inputs["a"]
    at = _attitude(view)
    fixed = columns if at is None else columns[:-3]
    # along axes that are fixed to what carries the joint
    once = [_along(V0, S) for S in fixed]
    twice = [_sum(_along(A0, S), _along(V0, first)) for S, first in zip(fixed, once, strict=True)]
    V = _sum(V0, *(_times(rate, S) for rate, S in zip(rates, columns, strict=True)))
    if at is not None:
        R = view.store["place"].R
        w = transpose_times(R, V[1])
        T_rate, T_second = jacobian_rates(at.theta, rates[-3:], a[-3:])
        turns = [(column(T_rate, k), column(at.T, k)) for k in range(3)]
        spins = [add(rate, cross(w, turn)) for rate, turn in turns]
        once += [(cross(V[0], S[1]), times(R, spin)) for S, spin in zip(columns[-3:], spins, strict=True)]
    A = _sum(A0, *(_times(x, S) for x, S in zip(a, columns, strict=True)))
    A = _sum(A, *(_times(rate, first) for rate, first in zip(rates, once, strict=True)))
    if at is not None:
        origin = add(A[0], cross(V[1], V[0]))
        alpha = transpose_times(R, A[1])
        for k, (rate, turn) in enumerate(turns):
            S, (_, changed) = columns[k - 3], once[k - 3]
            second = add(column(T_second, k), cross(alpha, turn), cross(w, add(rate, spins[k])))
            twice.append((add(scale(2.0, cross(V[0], changed)), cross(origin, S[1])), times(R, second)))
    return {"travel": Travel(V, A), "changes": list(zip(once, twice, strict=True))}


def _take(view: TreeView) -> dict[str, Any]:
    R, (V, A) = view.store["place"].R, view.store["travel"]
    b, _ = view.link.body.inertia([], [], [0.0] * 3)
    body = FrozenBody(b.A[0][0], times(R, [b.B[1][2], b.B[2][0], b.B[0][1]]), similar_symmetric(R, b.C))
    p, L = body.momentum(*V)
    half = 0.5 * (body.C[0][0] + body.C[1][1] + body.C[2][2])
    E = [[(half if i == k else 0.0) - body.C[i][k] for k in range(3)] for i in range(3)]
    x, y, z = V[1]
    D = plus(product([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]], E), _skew_product(body.h, V[0]))
    whole = MovingBody(body, p, D, _sum(body.momentum(*A), _against(V, (p, L))))
    for child in view.children:
        whole = whole.plus(child.store["carried"].about(child.store["arm"]))
    arm, columns, changes = (view.store[name] for name in ("arm", "columns", "changes"))
    flat = [] if columns else list(arm)
    within = _within(view, whole.f[1])
    for k, (S, (once, twice)) in enumerate(zip(columns, changes, strict=True)):
        by_q = _sum(whole.body.momentum(*twice), whole.twice_B(once), _against(S, whole.f))
        by_v = _sum(_times(2.0, whole.body.momentum(*once)), whole.twice_B(S))
        flat += list(ZERO3) if k else arm
        flat += [x for pair in (S, once, twice, whole.body.momentum(*S)) for x in (*pair[0], *pair[1])]
        flat += whole.twice_B_transposed(S) + [x for pair in (by_q, by_v) for x in (*pair[0], *pair[1])]
        for other in range(k, len(columns)):
            flat += [within[0][k][other], within[0][other][k], within[1][k][other], within[1][other][k]]
            flat.append(view.link.drive.inertia if view.kind.is_driven else 0.0)
    return {"carried": whole, "result": flat}


def _within(view: TreeView, moment: Vector) -> tuple[Matrix, Matrix]:
    """What drives, springs and axes that change add to the slopes by q and v within a joint."""
    n, drive = len(view.store["columns"]), view.link.drive
    by_q, by_v = zeros(n, n), zeros(n, n)
    at = _attitude(view)
    if at is None:
        if n:
            by_q[0][0], by_v[0][0] = drive.stiffness, drive.damping + drive.dry_slope(view.v[0])
        return by_q, by_v
    N, own = transpose_times(view.store["place"].R, moment), _resistance(view, at)
    rate, still = view.v[-3:], [0.0] * 3
    for c in range(3):
        T_by, _ = jacobian_rates(at.theta, identity3()[c], still)
        turn = column(at.T, c)
        spring = add(scale(drive.damping, times(T_by, rate)), [drive.stiffness if i == c else 0.0 for i in range(3)])
        for d in range(3):
            # a wrench that the first axes turn takes the later ones along
            axis = column(T_by, d) if c < d else add(column(T_by, d), cross(turn, column(at.T, d)))
            by_q[d - 3][c - 3] = dot(axis, N) + dot(column(T_by, d), own) + dot(column(at.T, d), spring)
            by_v[d - 3][c - 3] = drive.damping * dot(column(at.T, d), turn)
    return by_q, by_v


def _attitude(view: TreeView) -> Attitude | None:
    """The attitude of a joint with a rotation vector, whose columns are the last three."""
    if view.kind.joint.rotation_vector is None:
        return None
    found: Attitude = joint_motion(view.kind, view.link, view.q, view.v).state
    return found


def _resistance(view: TreeView, at: Attitude) -> Vector:
    """Moment of the spring and the damper of a joint with a rotation vector, own axes."""
    drive = view.link.drive
    return view.kind.joint.resistance(Resistance(drive.stiffness, drive.damping), at)[-3:]


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


FORCE_SLOPES = PassAlgorithm(
    "force_slopes",
    ("q", "v", "a"),
    (
        PLACE,
        Pass("travel", "outward", _travel, reads=("travel",), own=("place", "arm", "columns")),
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
"""For every coordinate of a link: HEAD, then WITHIN for each that follows in its joint; of a fixed link, its arm."""


class SlopePlan(NamedTuple):
    """How the derivatives are put together: links so that all that a link carries follows it, and a row for each.

    order  coordinates of the robot in that order
    rows   per coordinate or fixed link, the last first: where its numbers begin, how many coordinates of its joint
           it begins (0: fixed), its place and the end of what it carries, in that order
    """

    order: NDArray[np.int64]
    rows: NDArray[np.int64]


def has_slopes(tree: Tree) -> bool:
    """Whether all links are rigid, and all joints such that it is known how their columns change."""
    return all(link.kind.size == 0 and link.kind.joint.slopes for link in tree.links)


def slope_plan(tree: Tree) -> SlopePlan:
    """The plan for a tree."""
    found, own = branches(tree), [link.kind.coordinates for link in tree.links]
    sizes = [[HEAD + WITHIN * (n - k) for k in range(n)] or [ARM_SIZE] for n in own]
    starts = running(sum(size) for size in sizes)
    rows = [
        [starts[i] + start, own[i] - k if own[i] else 0, found.first[i] + k, found.last[i]]
        for i in reversed(found.links)
        for k, start in reversed([*enumerate(running(sizes[i])[:-1])])
    ]
    return SlopePlan(found.order, np.array(rows, dtype=np.int64))
