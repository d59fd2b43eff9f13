"""How a link hangs on its parent: the outward step of positions, angular velocities and bias accelerations."""

from __future__ import annotations

from typing import NamedTuple

from pliant.formulations.recursive.link import LinkConstants, LinkKind, Seat
from pliant.spatial.attachment_rotation import Turn, section_turn
from pliant.spatial.rotations import AxisTurn, FactoredRotation, as_turn
from pliant.spatial.scalars import Scalar, cos, is_zero, sin, tanh
from pliant.spatial.vectors import (
    ZERO3,
    Matrix,
    Vector,
    add,
    cross,
    product,
    scale,
    shared_times,
    times,
    transpose,
    turn_about,
)


class Connection(NamedTuple):
    """Where a link is, relative to its parent, and what its motion adds.

    rotation  parent axes <- own axes
    r         attachment point from the parent's origin, parent axes
    s         own origin from the attachment point, parent axes
    T         angular Jacobian of the attachment's rotation, omega = T Phi_r v_e (None: does not turn)
    w         angular velocity, own axes
    h_v, h_w  acceleration of the own frame when all accelerations of coordinates and parent are zero, own axes
    """

    rotation: FactoredRotation
    r: Vector
    s: Vector
    T: Matrix | None
    w: Vector
    h_v: Vector
    h_w: Vector

    @property
    def R(self) -> Matrix:
        """The rotation as a matrix."""
        return self.rotation.to_matrix()


def turns(seat: Seat) -> bool:
    """Whether the seat turns with the parent's elastic coordinates (structurally)."""
    return not all(is_zero(x) for row in seat.Phi_r for x in row)


def seat_turn(kind: LinkKind, seat: Seat, q_e: Vector, v_e: Vector) -> Turn | None:
    """The rotation of the seat by the parent's deformation, in the parent's axes."""
    if not turns(seat):
        return None
    turn = section_turn(kind.rotation, seat.Phi_r, q_e, v_e)
    P = seat.axes
    if all(is_zero(P[i][j]) for i in range(3) for j in range(3) if i != j):
        return turn
    return Turn(
        product(product(P, turn.R), transpose(P)),
        product(P, turn.T),
        times(P, turn.omega),
        times(P, turn.bias),
    )


def joint_rates(kind: LinkKind, q: Vector, v: Vector) -> tuple[Scalar, Scalar]:
    """Joint coordinate and rate about the positive axis."""
    return (0.0, 0.0) if kind.joint == "fixed" else (kind.sign * q[0], kind.sign * v[0])


def elastic(kind: LinkKind, x: Vector) -> Vector:
    """The elastic part of a link's coordinates."""
    return list(x[kind.coordinates - kind.size :])


def orient(kind: LinkKind, link: LinkConstants, joint: Scalar, turn: Turn | None) -> FactoredRotation:
    """The rotation parent axes <- own axes: seat, then joint."""
    turns = []
    if kind.joint == "revolute":
        angle = joint + link.joint.offset
        turns.append(AxisTurn(kind.axis, cos(angle), sin(angle)))
    R0 = link.seat.R0
    if turn is None and (fixed := as_turn(R0)) is not None:
        straight = type(fixed.c) is float and fixed.c == 1.0
        return FactoredRotation(None, turns if straight else [fixed, *turns])
    R = [list(row) for row in R0] if turn is None else product(turn.R, R0)
    for axis, c, s in turns:
        R = turn_about(axis, c, s, R)
    return FactoredRotation(R, [])


def own_offset(kind: LinkKind, seat: Seat, slide: Scalar, turn: Turn | None, rotation: FactoredRotation) -> Vector:
    """s: own origin from the attachment point, turned with the seat."""
    s = list(seat.offset) if turn is None else times(turn.R, seat.offset)
    return add(s, scale(slide, rotation.column(kind.axis))) if kind.joint == "prismatic" else s


def connect(
    kind: LinkKind, link: LinkConstants, q: Vector, v: Vector, parent_q: Vector, parent_v: Vector, w: Vector
) -> Connection:
    """One outward step: parent_q, parent_v are the parent's elastic coordinates, w its angular velocity."""
    seat = link.seat
    joint, rate = joint_rates(kind, q, v)
    turn = seat_turn(kind, seat, parent_q, parent_v)
    rotation = orient(kind, link, joint, turn)
    r = add(seat.position, shared_times(seat.Phi_d, parent_q))
    s = own_offset(kind, seat, joint, turn, rotation)
    nu, nu_bias = (turn.omega, turn.bias) if turn is not None else (ZERO3, ZERO3)
    w_seat = add(w, nu)
    # Mohan & Saha (24b) needs the factor 2 of the Coriolis term; Briot & Khalil (19) the prismatic one below
    h_v = cross(w, add(cross(w, r), shared_times(seat.Phi_d, scale(2.0, parent_v))))
    h_w = add(nu_bias, cross(w, nu))
    h_v = add(h_v, cross(h_w, s), cross(w_seat, cross(w_seat, s)))
    w_own = rotation.back(w_seat)
    h_v, h_w = rotation.back(h_v), rotation.back(h_w)
    axis = [0.0, 0.0, 0.0]
    axis[kind.axis] = rate
    if kind.joint == "revolute":
        h_w = add(h_w, cross(w_own, axis))
        w_own = add(w_own, axis)
    elif kind.joint == "prismatic":
        h_v = add(h_v, scale(2.0, cross(w_own, axis)))
    return Connection(rotation, r, s, None if turn is None else turn.T, w_own, h_v, h_w)


def carried_acceleration(c: Connection, seat: Seat, a_v: Vector, a_w: Vector, a_e: Vector) -> tuple[Vector, Vector]:
    """Acceleration of the own frame, own axes, from the parent's (a_v, a_w, a_e); the joint's not yet added."""
    seat_w = a_w if c.T is None else add(a_w, times(c.T, times(seat.Phi_r, a_e)))
    at_seat = add(a_v, cross(a_w, c.r), shared_times(seat.Phi_d, a_e))
    own_v = add(at_seat, cross(seat_w, c.s))
    return add(c.rotation.back(own_v), c.h_v), add(c.rotation.back(seat_w), c.h_w)


def joint_force(link: LinkConstants, angle: Scalar, rate: Scalar) -> Scalar:
    """Force of spring, dampers and friction against the motion; Coulomb friction smoothed as tanh(v / smoothing)."""
    joint = link.joint
    force = joint.stiffness * (angle - joint.rest) + joint.damping * rate
    if is_zero(joint.coulomb):
        return force
    return force + joint.coulomb * tanh(rate / joint.smoothing)
