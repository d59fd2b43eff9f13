"""The mass matrix to first order by composite bodies: every link carries the rigid sum of all that hangs on it.

The same numbers as the sum over bodies of P^T D P in (112); the columns of a link pass inward as wrenches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pliant.formulations.dual_screw.dual_lowering import DualConstants, DualSeat, LinearBody
from pliant.formulations.dual_screw.kane import (
    DualPlace,
    DualWrench,
    E,
    along,
    bend,
    generalised,
    own,
    place,
    to_origin,
    to_section,
)
from pliant.spatial import vectors as plain
from pliant.spatial.dual_numbers import (
    DualMatrix,
    DualVector,
    add,
    constant,
    cross,
    dot,
    is_zero_vector,
    scale,
    small,
    times,
)
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import Matrix, Vector, column, zeros
from pliant.tree.link import LinkKind
from pliant.tree.tree import TreeLink

Orders = Literal["full", "strict", "frozen"]
"""Which orders of M are kept: all blocks to first order; columns of elastic coordinates to order zero; order zero."""


class DualComposite(NamedTuple):
    """A link and all that hangs on it, as if its outer coordinates were frozen; about its origin, own axes.

    E_v, E_w    a column for each elastic coordinate
    M_e, M_e_0  of the elastic coordinates, to first order and of order zero
    """

    mass: Scalar
    ms: DualVector
    C: DualMatrix
    E_v: list[DualVector]
    E_w: list[DualVector]
    M_e: Matrix
    M_e_0: Matrix


def alone(body: LinearBody, q_e: Vector) -> DualComposite:
    """A body without what hangs on it."""
    bent, n = bend(body, q_e), len(q_e)

    def columns(at_rest: Matrix, change: Matrix | None) -> list[DualVector]:
        none = zeros(3, n)
        return [DualVector(column(at_rest, k), column(change or none, k)) for k in range(n)]

    M_e = [list(row) for row in body.M_e0]
    if bent.M_e1 is not None:
        M_e = [[M_e[min(i, k)][max(i, k)] + bent.M_e1[min(i, k)][max(i, k)] for k in range(n)] for i in range(n)]
    return DualComposite(
        body.mass,
        bent.ms,
        bent.C,
        columns(body.first_modal, bent.E_v1),
        columns(body.E_w0, bent.E_w1),
        M_e,
        [list(row) for row in body.M_e0],
    )


def shifted(C: DualMatrix, ms: DualVector, moved: DualVector, r: DualVector) -> DualMatrix:
    """The inertia tensor about a point at -r, where the first moment is ``moved`` = ms + m r instead of ms."""
    both = add(ms, moved)
    p = [_product(r, a, both, a) for a in range(3)]
    real, dual = zeros(3, 3), zeros(3, 3)
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        real[a][a], dual[a][a] = C.real[a][a] + (p[b][0] + p[c][0]), C.dual[a][a] + (p[b][1] + p[c][1])
        low, high = min(a, b), max(a, b)
        x, y = _product(r, low, moved, high), _product(ms, low, r, high)
        real[a][b] = real[b][a] = C.real[a][b] - (x[0] + y[0])
        dual[a][b] = dual[b][a] = C.dual[a][b] - (x[1] + y[1])
    return DualMatrix(real, dual)


def _product(x: DualVector, a: int, y: DualVector, b: int) -> tuple[Scalar, Scalar]:
    """x_a y_b, real and dual part."""
    return x.real[a] * y.real[b], x.real[a] * y.dual[b] + x.dual[a] * y.real[b]


def absorb(onto: DualComposite, child: DualComposite, at: DualPlace, seat: DualSeat) -> DualComposite:
    """Add to a link the inertia of a child that hangs at a seat."""
    m = child.mass
    ms, C = at.turn.apply(child.ms), at.turn.turned(child.C)
    if not is_zero_vector(at.s):
        moved = add(ms, scale(m, at.s))
        ms, C = moved, shifted(C, ms, moved, at.s)
    E_v, E_w, M_e, M_e_0 = list(onto.E_v), list(onto.E_w), onto.M_e, onto.M_e_0
    if E_v:
        E_v, E_w, M_e, M_e_0 = _couple(onto, m, ms, C, at, seat)
    moved = add(ms, scale(m, at.r))
    about = shifted(C, ms, moved, at.r)
    inertia = DualMatrix(plain.plus_symmetric(onto.C.real, about.real), plain.plus_symmetric(onto.C.dual, about.dual))
    return DualComposite(onto.mass + m, add(onto.ms, moved), inertia, E_v, E_w, M_e, M_e_0)


def _couple(
    onto: DualComposite, m: Scalar, ms: DualVector, C: DualMatrix, at: DualPlace, seat: DualSeat
) -> tuple[list[DualVector], list[DualVector], Matrix, Matrix]:
    """What a seat's inertia adds to the columns and the block of the elastic coordinates that move the seat."""
    turning = [j for j in range(3) if not all(is_zero(x) for x in seat.angles[j])]
    axes = {j: _axis(at, j) for j in turning}
    # force and moment at the seat per unit angular acceleration about each of its angles
    force_turn = {j: cross(t, ms) for j, t in axes.items()}
    moment_turn = {j: times(C, t) for j, t in axes.items()}
    gram = {(j, k): dot(axes[j], moment_turn[k]) for j in turning for k in turning if j <= k}
    E_v, E_w = list(onto.E_v), list(onto.E_w)
    M_e, M_e_0 = [list(row) for row in onto.M_e], [list(row) for row in onto.M_e_0]
    n = len(E_v)
    for e in range(n):
        slide = DualVector(column(seat.slides, e), [0.0] * 3 if at.curl is None else column(at.curl, e))
        spins = {j: seat.angles[j][e] for j in turning if not is_zero(seat.angles[j][e])}
        force, moment = scale(m, slide), cross(ms, slide)
        for j, k in spins.items():
            force, moment = add(force, scale(k, force_turn[j])), add(moment, scale(k, moment_turn[j]))
        wound: Vector = [0.0] * 3
        if at.wind is not None:
            about = column(at.wind, e)
            wound = plain.times(C.real, about)
            force = add(force, small(plain.cross(about, ms.real)))
            moment = add(moment, small(wound))
        E_v[e] = add(E_v[e], force)
        E_w[e] = add(E_w[e], moment, cross(at.r, force))
        work = {}
        for j in turning:
            real, dual = dot(slide, force_turn[j])
            for k, angle in spins.items():
                turned = gram[min(j, k), max(j, k)]
                real, dual = real + angle * turned[0], dual + angle * turned[1]
            work[j] = real, real + dual
        for g in range(e + 1):
            at_rest = M_e_0[g][e] + plain.dot(column(seat.slides, g), force.real)
            first = M_e[g][e] + plain.dot(column(seat.slides, g), force.total)
            if at.curl is not None:
                first = first + plain.dot(column(at.curl, g), force.real)
            if at.wind is not None:
                first = first + plain.dot(column(at.wind, g), moment.real) + plain.dot(column(seat.angles, g), wound)
            for j in turning:
                at_rest = at_rest + seat.angles[j][g] * work[j][0]
                first = first + seat.angles[j][g] * work[j][1]
            M_e_0[g][e] = M_e_0[e][g] = at_rest
            M_e[g][e] = M_e[e][g] = first
    return E_v, E_w, M_e, M_e_0


def _axis(at: DualPlace, j: int) -> DualVector:
    return constant(E[j]) if at.spread is None else DualVector(list(E[j]), column(at.spread, j))


def own_columns(kind: LinkKind, c: DualConstants, whole: DualComposite) -> list[tuple[DualWrench, Vector, Vector]]:
    """For each coordinate of a link: the wrench of its unit acceleration, forces on its elastic ones (both orders)."""
    columns = []
    for N in kind.joint.columns(c.joint):
        slide, spin = constant(N[:3]), constant(N[3:])
        # moment of a spin, order by order; what is not there stays structurally zero
        C = DualVector(plain.times(whole.C.real, N[3:]), plain.times(whole.C.dual, N[3:]))
        wrench = DualWrench(add(scale(whole.mass, slide), cross(spin, whole.ms)), add(cross(whole.ms, slide), C))
        parts = [(x.real, y.real, x.total, y.total) for x, y in zip(whole.E_v, whole.E_w, strict=True)]
        at_rest = [plain.dot(N, [*v, *w]) for v, w, _, _ in parts]
        columns.append((wrench, at_rest, [plain.dot(N, [*v, *w]) for _, _, v, w in parts]))
    if kind.joint.sign < 0:
        columns = [(_negative(w), [-x for x in a], [-x for x in b]) for w, a, b in columns]
    for k in range(kind.size):
        columns.append((DualWrench(whole.E_v[k], whole.E_w[k]), list(whole.M_e_0[k]), list(whole.M_e[k])))
    return columns


def _negative(wrench: DualWrench) -> DualWrench:
    return DualWrench(scale(-1.0, wrench.force), scale(-1.0, wrench.moment))


def project(
    kind: LinkKind, c: DualConstants, wrench: DualWrench, at_rest: Vector, first: Vector
) -> tuple[Vector, Vector]:
    """Generalised forces on a link's coordinates: order zero, and to first order."""
    if not kind.held:
        return at_rest, first
    low, high = along(kind, c, wrench)
    return [kind.joint.sign * low, *at_rest], [kind.joint.sign * high, *first]


def mass_matrix(
    links: Sequence[TreeLink], constants: Sequence[DualConstants], q: Sequence[Scalar], orders: Orders = "full"
) -> Matrix:
    """M (n, n)."""
    places = []
    for link, c in zip(links, constants, strict=True):
        up = links[link.parent] if link.parent >= 0 else None
        places.append(place(link.kind, c, list(q[link.own]), list(q[up.elastic]) if up is not None else []))
    wholes = [alone(c.body, own(link.kind, list(q[link.own]))) for link, c in zip(links, constants, strict=True)]
    rigid = [False] * len(q)
    for link in links:
        if link.kind.held:
            rigid[link.start] = True
    M = zeros(len(q), len(q))

    def enter(i: int, k: int, at_rest: Scalar, first: Scalar) -> None:
        """An entry and its mirror, each in the order that its column asks for."""
        for row, col in ((i, k), (k, i)):
            M[row][col] = first if orders == "full" or (orders == "strict" and rigid[col]) else at_rest

    for i in reversed(range(len(links))):
        link, c = links[i], constants[i]
        columns = own_columns(link.kind, c, wholes[i])
        motor = [1.0, *c.drive.row] if link.kind.held else [0.0] * link.kind.size
        for a, (wrench, low, high) in enumerate(columns):
            at_rest, first = project(link.kind, c, wrench, low, high)
            for k in range(a + 1):
                inertia = c.drive.inertia * motor[a] * motor[k]
                enter(link.start + k, link.start + a, at_rest[k] + inertia, first[k] + inertia)
        child, carried = i, [wrench for wrench, _, _ in columns]
        while (parent := links[child].parent) >= 0:
            below, seat = links[parent], constants[child].seat
            for a, wrench in enumerate(carried):
                handed = to_section(places[child], wrench)
                low, high = generalised(places[child], seat, handed) if below.kind.size else ([], [])
                carried[a] = to_origin(places[child], handed)
                at_rest, first = project(below.kind, constants[parent], carried[a], low, high)
                for k in range(below.kind.coordinates):
                    enter(below.start + k, link.start + a, at_rest[k], first[k])
            child = parent
        if link.parent >= 0:
            wholes[link.parent] = absorb(wholes[link.parent], wholes[i], places[i], c.seat)
    return M
