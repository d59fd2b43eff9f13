"""Kinematics and inverse dynamics to first order in everything elastic: accelerations outward, wrenches inward.

Order by order this is (110): the accelerations of (96) as dual twists, (98) and (105) for the bodies, and the wrenches
projected on joint lines and elastic screws in their projecting form, (93): Kane's projections.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pliant.formulations.dual_screw.dual_lowering import DualConstants, DualSeat, LinearBody
from pliant.joints.kind import JointPlace, is_still
from pliant.joints.kind import combined as joined
from pliant.spatial import vectors as plain
from pliant.spatial.dual_numbers import (
    DualMatrix,
    DualTurn,
    DualVector,
    add,
    constant,
    cross,
    is_zero_vector,
    scale,
    small,
    times,
)
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import (
    FactoredRotation,
    Matrix,
    Vector,
    as_turn,
    column,
    dot,
    shared_times,
    transpose_times,
    turn_about,
)
from pliant.tree.link import LinkKind
from pliant.tree.tree import TreeLink

E = plain.identity3()


class DualPlace(NamedTuple):
    """A link on its parent.

    turn    the dual rotation parent axes <- own axes, (31)
    r       section point from the parent's origin, parent axes: position and displacement, (37)
    s       own origin from the section point, parent axes
    spread  sum_j theta_j turn_j: the angular velocity of the section is (1 + spread) theta_dot; None: no such term
    curl    the change of the seat's slides; None: no such term
    wind    the change of its angular Jacobian beyond spread; None: no such term
    """

    turn: DualTurn
    r: DualVector
    s: DualVector
    spread: Matrix | None
    curl: Matrix | None
    wind: Matrix | None


def place(kind: LinkKind, c: DualConstants, q: Vector, parent_q: Vector) -> DualPlace:
    """The place of a link whose coordinates are q, on a parent with the elastic coordinates parent_q."""
    seat = c.seat
    theta = plain.times(seat.angles, parent_q) if turns(seat) else None
    joint = kind.joint.place(q[: kind.held], seat.angle, c.joint)
    turn = DualTurn(_rotation(seat, joint), theta)
    r = DualVector(list(seat.position), shared_times(seat.slides, parent_q))
    s = constant(seat.offset)
    if theta is not None:
        s = DualVector(s.real, plain.cross(theta, seat.offset))
    if not is_still(joint.p):
        # along the joint's axis, which is the same in the seat and in the link
        s = add(s, turn.apply(constant(joint.p)))
    return DualPlace(
        turn, r, s, combined(seat.turn, theta), combined(seat.curl, parent_q), combined(seat.wind, parent_q)
    )


def turns(seat: DualSeat) -> bool:
    """Whether the parent's elastic coordinates turn the seat (structurally)."""
    return not all(is_zero(x) for row in seat.angles for x in row)


def _rotation(seat: DualSeat, joint: JointPlace) -> FactoredRotation:
    turns_ = [] if joint.turn is None else [joint.turn]
    fixed = as_turn(seat.R0)
    if fixed is not None:
        straight = type(fixed.c) is float and fixed.c == 1.0
        return FactoredRotation(None, turns_ if straight else [fixed, *turns_])
    R = [list(row) for row in seat.R0]
    for axis, c, s in turns_:
        R = turn_about(axis, c, s, R)
    return FactoredRotation(R, [])


def combined(matrices: list[Matrix], factors: Vector | None) -> Matrix | None:
    """sum_i factors_i matrices_i; None where it vanishes structurally."""
    if factors is None or not matrices or all(is_zero(x) for m in matrices for row in m for x in row):
        return None
    rows, columns = len(matrices[0]), len(matrices[0][0])
    return [[dot([m[a][b] for m in matrices], factors) for b in range(columns)] for a in range(rows)]


def angular(at: DualPlace, seat: DualSeat, rates: Vector) -> DualVector:
    """(1 + spread) angles rates, the angular velocity of the section for elastic rates of order zero."""
    base = plain.times(seat.angles, rates)
    out = constant(base) if at.spread is None else DualVector(base, plain.times(at.spread, base))
    return out if at.wind is None else DualVector(base, plain.add(out.dual, plain.times(at.wind, rates)))


def linear(at: DualPlace, seat: DualSeat, rates: Vector) -> DualVector:
    """The velocity of the section's point for elastic rates of order zero."""
    base = shared_times(seat.slides, rates)
    return constant(base) if at.curl is None else DualVector(base, plain.times(at.curl, rates))


class DualWrench(NamedTuple):
    """Force and moment, order by order."""

    force: DualVector
    moment: DualVector


def to_section(at: DualPlace, wrench: DualWrench) -> DualWrench:
    """A wrench about a link's origin in own axes, brought to the section's point in parent axes."""
    force, moment = at.turn.apply(wrench.force), at.turn.apply(wrench.moment)
    if not is_zero_vector(at.s):
        moment = add(moment, cross(at.s, force))
    return DualWrench(force, moment)


def to_origin(at: DualPlace, wrench: DualWrench) -> DualWrench:
    """A wrench about a section's point, about the parent's origin."""
    return DualWrench(wrench.force, add(wrench.moment, cross(at.r, wrench.force)))


def generalised(at: DualPlace, seat: DualSeat, wrench: DualWrench) -> tuple[Vector, Vector]:
    """Forces on the parent's elastic coordinates of a wrench at the section's point: order zero, and to first order.

    This is the projecting form: elastic screws as directions of order zero, transported to first order.
    """
    force, moment = wrench
    sums = moment.total
    if at.spread is not None:
        sums = plain.add(sums, transpose_times(at.spread, moment.real))
    to_first = _projected(seat, force.total, sums)
    if at.curl is not None:
        to_first = plain.add(to_first, transpose_times(at.curl, force.real))
    if at.wind is not None:
        to_first = plain.add(to_first, transpose_times(at.wind, moment.real))
    return _projected(seat, force.real, moment.real), to_first


def _projected(seat: DualSeat, force: Vector, moment: Vector) -> Vector:
    n = len(seat.slides[0])
    return [dot(column(seat.slides, k), force) + dot(column(seat.angles, k), moment) for k in range(n)]


# ---- inverse dynamics to first order in everything elastic


class DualMotion(NamedTuple):
    """A link's frame, own axes: angular velocity, acceleration of the origin, angular acceleration."""

    w: DualVector
    a_v: DualVector
    a_w: DualVector


def base_motion(gravity: Vector) -> DualMotion:
    """Gravity is an acceleration of the base."""
    nothing = constant([0.0] * 3)
    return DualMotion(nothing, constant([-g for g in gravity]), nothing)


def own(kind: LinkKind, x: Sequence[Scalar]) -> Vector:
    """The elastic part of a link's coordinates."""
    return list(x[kind.coordinates - kind.size :])


def step(
    kind: LinkKind,
    c: DualConstants,
    at: DualPlace,
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    parent_v: Vector,
    parent_a: Vector,
    parent: DualMotion,
    strict: bool,
) -> DualMotion:
    """One outward step of angular velocity and accelerations, (96).

    strict  elastic accelerations count as order one, as the printed Jacobian form (92) has them
    """
    w, a_v, a_w = parent
    seat = c.seat
    turning = at.turn.theta is not None
    nu = small(plain.times(seat.angles, parent_v)) if turning else constant([0.0] * 3)
    flow = small(plain.shared_times(seat.slides, plain.scale(2.0, parent_v)))
    pushed, spun = linear(at, seat, parent_a), angular(at, seat, parent_a)
    if strict:
        pushed, spun = small(pushed.real), small(spun.real)
    # of the section's point, and of the section
    a_v = add(a_v, cross(a_w, at.r), pushed, cross(w, add(cross(w, at.r), flow)))
    a_w = add(a_w, spun, cross(w, nu))
    w = add(w, nu)
    if not is_zero_vector(at.s):
        a_v = add(a_v, cross(a_w, at.s), cross(w, cross(w, at.s)))
    w, a_v, a_w = at.turn.back(w), at.turn.back(a_v), at.turn.back(a_w)
    if not kind.held:
        return DualMotion(w, a_v, a_w)
    columns = kind.joint.columns(c.joint)
    (slide, spin), (push, turn) = (joined(columns, [kind.joint.sign * x[0]]) for x in (v, a))
    if not is_still(spin):
        a_w = add(a_w, cross(w, constant(spin)), constant(turn))
    if not is_still(slide):
        a_v = add(a_v, scale(2.0, cross(w, constant(slide))), constant(push))
    return DualMotion(w if is_still(spin) else add(w, constant(spin)), a_v, a_w)


class Bent(NamedTuple):
    """A body at elastic coordinates: first moment, inertia tensor, and the first-order parts of its couplings."""

    ms: DualVector
    C: DualMatrix
    E_v1: Matrix | None
    E_w1: Matrix | None
    M_e1: Matrix | None


def bend(body: LinearBody, q_e: Vector) -> Bent:
    """The body's mass blocks to first order."""
    change = combined(body.C1, q_e)
    ms = DualVector(list(body.first), plain.times(body.first_modal, q_e) if q_e else [0.0] * 3)
    return Bent(
        ms,
        DualMatrix(body.C0, plain.zeros(3, 3) if change is None else change),
        combined(body.E_v1, q_e),
        combined(body.E_w1, q_e),
        combined(body.M_e1, q_e),
    )


def inertial(
    body: LinearBody, bent: Bent, q_e: Vector, v_e: Vector, a_e: Vector, m: DualMotion, strict: bool
) -> tuple[DualWrench, Vector]:
    """The wrench that moves a body, and the forces on its elastic coordinates to first order, (98) and (105)."""
    w, a_v, a_w = m
    ms, C = bent.ms, bent.C
    n = len(q_e)
    flow = small(plain.times(body.first_modal, plain.scale(2.0, v_e)) if n else [0.0] * 3)
    force = add(scale(body.mass, a_v), cross(a_w, ms), cross(w, add(cross(w, ms), flow)))
    moment = add(cross(ms, a_v), times(C, a_w), cross(w, times(C, w)))
    if not n:
        return DualWrench(force, moment), []
    swept = combined(body.G, v_e)
    if swept is not None:
        moment = add(moment, small(plain.times(swept, w.real)))
    elastic = _elastic_forces(body, bent, q_e, v_e, m)
    if not all(is_zero(x) for x in a_e):
        force = add(force, _coupled(body.first_modal, bent.E_v1, a_e, strict))
        moment = add(moment, _coupled(body.E_w0, bent.E_w1, a_e, strict))
        elastic = plain.add(elastic, plain.times(body.M_e0, a_e))
        if bent.M_e1 is not None and not strict:
            elastic = plain.add(elastic, plain.times(bent.M_e1, a_e))
    return DualWrench(force, moment), elastic


def _coupled(at_rest: Matrix, change: Matrix | None, a_e: Vector, strict: bool) -> DualVector:
    base = plain.times(at_rest, a_e)
    if strict:
        return small(base)
    return constant(base) if change is None else DualVector(base, plain.times(change, a_e))


def _elastic_forces(body: LinearBody, bent: Bent, q_e: Vector, v_e: Vector, m: DualMotion) -> Vector:
    """On the elastic coordinates, without their own accelerations: the body is carried along, turns, is strained."""
    w, a_v, a_w = m
    # products of the angular velocity, of order zero and to first order
    upper = [(a, b) for a in range(3) for b in range(a, 3)]
    square = {(a, b): w.real[a] * w.real[b] for a, b in upper}
    first = {(a, b): square[a, b] + (w.real[a] * w.dual[b] + w.dual[a] * w.real[b]) for a, b in upper}
    slide, turn = a_v.total, a_w.total
    out: Vector = []
    for k in range(len(q_e)):
        s = dot(column(body.first_modal, k), slide) + dot(column(body.E_w0, k), turn)
        if bent.E_v1 is not None:
            s = s + dot(column(bent.E_v1, k), a_v.real)
        if bent.E_w1 is not None:
            s = s + dot(column(bent.E_w1, k), a_w.real)
        for a, b in upper:
            double = 1.0 if a == b else 2.0
            if not is_zero(body.N0[k][a][b]):
                s = s - double * body.N0[k][a][b] * first[a, b]
            gradient = dot([N1[k][a][b] for N1 in body.N1], q_e)
            if not is_zero(gradient):
                s = s - double * gradient * square[a, b]
        gyroscopic = [dot([L[k][a] for L in body.L], v_e) for a in range(3)]
        s = s + dot(gyroscopic, w.real)
        out.append(s + dot(body.K[k], q_e) + dot(body.D[k], v_e))
    return out


def drive_force(constants: DualConstants, q: Vector, v: Vector, a: Vector, n: int) -> Scalar:
    """Motor inertia, spring, dampers and friction on the motor angle; they are not expanded."""
    drive = constants.drive
    q_e, v_e, a_e = (list(x[len(x) - n :]) if n else [] for x in (q, v, a))
    force = drive.force(drive.on_motor(q[0], q_e), drive.on_motor(v[0], v_e))
    return force + drive.inertia * drive.on_motor(a[0], a_e)


def inverse(
    links: Sequence[TreeLink],
    constants: Sequence[DualConstants],
    gravity: Vector,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    *,
    strict: bool = False,
) -> Vector:
    """Generalised forces for the accelerations a."""
    places: list[DualPlace] = []
    motions: list[DualMotion] = []
    wrenches: list[DualWrench] = []
    elastic: list[Vector] = []
    for link, c in zip(links, constants, strict=True):
        kind = link.kind
        own_q, own_v, own_a = (list(x[link.own]) for x in (q, v, a))
        up = links[link.parent] if link.parent >= 0 else None
        parent_q, parent_v, parent_a = (list(x[up.elastic]) if up is not None else [] for x in (q, v, a))
        carried = motions[link.parent] if link.parent >= 0 else base_motion(gravity)
        at = place(kind, c, own_q, parent_q)
        m = step(kind, c, at, own_v, own_a, parent_v, parent_a, carried, strict)
        q_e, v_e, a_e = own(kind, own_q), own(kind, own_v), own(kind, own_a)
        wrench, forces = inertial(c.body, bend(c.body, q_e), q_e, v_e, a_e, m, strict)
        places.append(at)
        motions.append(m)
        wrenches.append(wrench)
        elastic.append(forces)
    out: Vector = [0.0] * len(q)
    for i in reversed(range(len(links))):
        link, c = links[i], constants[i]
        kind, forces = link.kind, elastic[i]
        if kind.held:
            own_q, own_v, own_a = (list(x[link.own]) for x in (q, v, a))
            drive = drive_force(c, own_q, own_v, own_a, kind.size)
            forces = [s + b * drive for s, b in zip(forces, c.drive.row, strict=True)]
            out[link.start] = kind.joint.sign * along(kind, c, wrenches[i])[1] + drive
        out[link.elastic] = forces
        if link.parent >= 0:
            handed = to_section(places[i], wrenches[i])
            below = wrenches[link.parent]
            at_origin = to_origin(places[i], handed)
            wrenches[link.parent] = DualWrench(add(below.force, at_origin.force), add(below.moment, at_origin.moment))
            if links[link.parent].kind.size:
                _, pushed = generalised(places[i], c.seat, handed)
                elastic[link.parent] = plain.add(elastic[link.parent], pushed)
    return out


def along(kind: LinkKind, c: DualConstants, wrench: DualWrench) -> tuple[Scalar, Scalar]:
    """A wrench on a link, projected on its joint line: order zero, and to first order."""
    (N,) = kind.joint.columns(c.joint)
    real, dual = ([*getattr(wrench.force, part), *getattr(wrench.moment, part)] for part in ("real", "dual"))
    at_rest = dot(N, real)
    return at_rest, at_rest + dot(N, dual)
