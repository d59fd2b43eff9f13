"""How a link hangs on its parent: the outward step of positions, angular velocities and bias accelerations."""

from __future__ import annotations

from typing import NamedTuple

from pliant.bodies.terms import FrameTerms
from pliant.spatial.attitude import Attitude, attitude
from pliant.spatial.rotations import AxisTurn, FactoredRotation, as_turn
from pliant.spatial.scalars import Scalar, cos, sin
from pliant.spatial.vectors import (
    Matrix,
    Vector,
    add,
    cross,
    product,
    scale,
    shared_times,
    subtract,
    times,
    transpose_times,
    turn_about,
)
from pliant.tree.link import COORDINATES, LinkConstants, LinkKind, Seat


class Connection(NamedTuple):
    """Where a link is, relative to its parent, and what its motion adds.

    rotation  parent axes <- own axes
    frame     motion of the section of the parent that holds the link, parent axes
    s         own origin from the section's point, parent axes
    w         angular velocity, own axes
    h_v, h_w  acceleration of the own frame when all accelerations of coordinates and parent are zero, own axes
    attitude  of a joint that turns any way; None for all others
    """

    rotation: FactoredRotation
    frame: FrameTerms
    s: Vector
    w: Vector
    h_v: Vector
    h_w: Vector
    attitude: Attitude | None = None

    @property
    def R(self) -> Matrix:
        """The rotation as a matrix."""
        return self.rotation.to_matrix()

    @property
    def r(self) -> Vector:
        """The section's point from the parent's origin, parent axes."""
        return self.frame.r


def joint_rates(kind: LinkKind, q: Vector, v: Vector) -> tuple[Scalar, Scalar]:
    """Joint coordinate and rate about the positive axis."""
    return (kind.sign * q[0], kind.sign * v[0]) if kind.has_axis else (0.0, 0.0)


def joint_attitude(kind: LinkKind, q: Vector, v: Vector) -> Attitude | None:
    """The attitude of a joint that turns any way."""
    if not kind.turns_freely:
        return None
    first = COORDINATES[kind.joint] - 3
    return attitude(q[first : first + 3], v[first : first + 3])


def elastic(kind: LinkKind, x: Vector) -> Vector:
    """The elastic part of a link's coordinates."""
    return list(x[kind.coordinates - kind.size :])


def motor_force(kind: LinkKind, link: LinkConstants, q: Vector, v: Vector) -> Scalar:
    """Force of spring, dampers and friction on the motor angle, along the joint's own coordinate."""
    if not kind.has_axis:
        return 0.0
    drive = link.drive
    angle, rate = (drive.on_motor(x[0], elastic(kind, x)) for x in (q, v))
    return drive.force(angle, rate)


def attitude_moment(link: LinkConstants, at: Attitude) -> Vector:
    """Moment of the spring and the damper of a joint that turns any way, against its motion, own axes."""
    return add(scale(link.drive.stiffness, at.theta), scale(link.drive.damping, at.omega))


def orient(
    kind: LinkKind, seat: Seat, joint: Scalar, turned: Matrix | None, at: Attitude | None = None
) -> FactoredRotation:
    """The rotation parent axes <- own axes: section, seat, then joint."""
    if at is not None:
        return FactoredRotation(product(seat_axes(seat, turned), at.R), [])
    turns = []
    if kind.joint == "revolute":
        angle = joint + seat.angle
        turns.append(AxisTurn(kind.axis, cos(angle), sin(angle)))
    R0 = seat.R0
    if turned is None and (fixed := as_turn(R0)) is not None:
        straight = type(fixed.c) is float and fixed.c == 1.0
        return FactoredRotation(None, turns if straight else [fixed, *turns])
    R = seat_axes(seat, turned)
    for axis, c, s in turns:
        R = turn_about(axis, c, s, R)
    return FactoredRotation(R, [])


def seat_axes(seat: Seat, turned: Matrix | None) -> Matrix:
    """Parent axes <- axes of the seat."""
    return [list(row) for row in seat.R0] if turned is None else product(turned, seat.R0)


def own_offset(kind: LinkKind, seat: Seat, q: Vector, turned: Matrix | None, rotation: FactoredRotation) -> Vector:
    """s: own origin from the section's point, turned with the section."""
    s = list(seat.offset) if turned is None else times(turned, seat.offset)
    if kind.joint == "prismatic":
        return add(s, scale(kind.sign * q[0], rotation.column(kind.axis)))
    return add(s, times(seat_axes(seat, turned), q[:3])) if kind.joint == "free" else s


def connect(kind: LinkKind, link: LinkConstants, q: Vector, v: Vector, frame: FrameTerms, w: Vector) -> Connection:
    """One outward step: ``frame`` is the motion of the parent's section, w the parent's angular velocity."""
    joint, rate = joint_rates(kind, q, v)
    at = joint_attitude(kind, q, v)
    rotation = orient(kind, link.seat, joint, frame.R, at)
    s = own_offset(kind, link.seat, q, frame.R, rotation)
    w_seat = add(w, frame.rate_w)
    # Mohan & Saha (24b) needs the factor 2 of the Coriolis term; Briot & Khalil (19) the prismatic one below
    h_v = add(cross(w, add(cross(w, frame.r), frame.twice_v)), frame.bias_v)
    h_w = add(frame.bias_w, cross(w, frame.rate_w))
    h_v = add(h_v, cross(h_w, s), cross(w_seat, cross(w_seat, s)))
    if kind.joint == "free":
        h_v = add(h_v, scale(2.0, cross(w_seat, times(seat_axes(link.seat, frame.R), v[:3]))))
    w_own = rotation.back(w_seat)
    h_v, h_w = rotation.back(h_v), rotation.back(h_w)
    axis = [0.0, 0.0, 0.0]
    axis[kind.axis] = rate
    if kind.joint == "revolute":
        h_w = add(h_w, cross(w_own, axis))
        w_own = add(w_own, axis)
    elif kind.joint == "prismatic":
        h_v = add(h_v, scale(2.0, cross(w_own, axis)))
    elif at is not None:
        h_w = add(h_w, at.bias, cross(w_own, at.omega))
        w_own = add(w_own, at.omega)
    return Connection(rotation, frame, s, w_own, h_v, h_w, at)


def joint_acceleration(kind: LinkKind, c: Connection, a: Vector) -> tuple[Vector, Vector]:
    """Linear and angular acceleration of the own frame, own axes, that those of the joint's coordinates add."""
    linear: Vector = [0.0] * 3
    angular: Vector = [0.0] * 3
    if kind.has_axis:
        (angular if kind.joint == "revolute" else linear)[kind.axis] = kind.sign * a[0]
    elif c.attitude is not None:
        first = COORDINATES[kind.joint] - 3
        angular = times(c.attitude.T, a[first : first + 3])
        linear = transpose_times(c.attitude.R, a[:3]) if first else linear
    return linear, angular


def joint_forces(kind: LinkKind, c: Connection, force: Vector, moment: Vector) -> Vector:
    """Generalised forces on the joint's coordinates of a wrench on the own frame, own axes."""
    if kind.has_axis:
        return [kind.sign * (moment if kind.joint == "revolute" else force)[kind.axis]]
    if c.attitude is None:
        return []
    turns = transpose_times(c.attitude.T, moment)
    return times(c.attitude.R, force) + turns if kind.joint == "free" else turns


def joint_efforts(kind: LinkKind, link: LinkConstants, c: Connection, f: Vector) -> Vector:
    """What acts along the axes of a joint that turns any way, own axes: forces on coordinates, spring, damper."""
    at = c.attitude
    assert at is not None
    first = COORDINATES[kind.joint] - 3
    moment = subtract(at.solve_transposed(f[first : first + 3]), attitude_moment(link, at))
    return transpose_times(at.R, f[:3]) + moment if first else moment


def joint_coordinates(kind: LinkKind, c: Connection, along: Vector) -> Vector:
    """Accelerations of the joint's coordinates from those that it adds to its link along its axes."""
    if c.attitude is None:
        return [kind.sign * x for x in along]
    turns = c.attitude.solve(along[-3:])
    return times(c.attitude.R, along[:3]) + turns if kind.joint == "free" else turns


def carried_acceleration(c: Connection, a_v: Vector, a_w: Vector, a_e: Vector) -> tuple[Vector, Vector]:
    """Acceleration of the own frame, own axes, from the parent's (a_v, a_w, a_e); the joint's not yet added."""
    frame, spin = c.frame, c.frame.spin
    seat_w = a_w if spin is None else add(a_w, times(spin.axes, times(spin.angles, a_e)))
    at_seat = add(a_v, cross(a_w, frame.r), shared_times(frame.J_v, a_e))
    own_v = add(at_seat, cross(seat_w, c.s))
    return add(c.rotation.back(own_v), c.h_v), add(c.rotation.back(seat_w), c.h_w)
