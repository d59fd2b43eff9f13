"""Where a link is on its parent, to first order, and how motions and wrenches pass between the two."""

from __future__ import annotations

from typing import NamedTuple

from pliant.formulations.dual_screw.constants import DualConstants, DualSeat
from pliant.joints.kind import JointPlace, is_still
from pliant.spatial import vectors as plain
from pliant.spatial.dual_vectors import (
    DualTurn,
    DualVector,
    add,
    constant,
    cross,
    is_zero_vector,
)
from pliant.spatial.rotations import FactoredRotation, as_turn
from pliant.spatial.scalars import is_zero
from pliant.spatial.vectors import Matrix, Vector, column, dot, shared_times, times, transpose_times, turn_about
from pliant.tree.link import LinkKind

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
    theta = times(seat.angles, parent_q) if turns(seat) else None
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
    base = times(seat.angles, rates)
    out = constant(base) if at.spread is None else DualVector(base, times(at.spread, base))
    return out if at.wind is None else DualVector(base, plain.add(out.dual, times(at.wind, rates)))


def linear(at: DualPlace, seat: DualSeat, rates: Vector) -> DualVector:
    """The velocity of the section's point for elastic rates of order zero."""
    base = shared_times(seat.slides, rates)
    return constant(base) if at.curl is None else DualVector(base, times(at.curl, rates))


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
