"""Positions, velocities and energies of the deformed links, in the base frame."""

from __future__ import annotations

from typing import NamedTuple

from pliant.formulations.recursive.body_terms import apply, body_terms, first_moment
from pliant.formulations.recursive.connection import elastic, joint_rates, orient, own_offset, seat_turn
from pliant.formulations.recursive.link import LinkConstants, LinkKind, Seat
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import (
    ZERO3,
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    identity3,
    product,
    scale,
    times,
    transpose_times,
)


class Motion(NamedTuple):
    """Pose of a frame in the base (R_WB, p_WB) and its velocity in base axes."""

    R: Matrix
    p: Vector
    v: Vector
    w: Vector


def base_motion() -> Motion:
    return Motion(identity3(), list(ZERO3), list(ZERO3), list(ZERO3))


def move(
    kind: LinkKind,
    link: LinkConstants,
    q: Vector,
    v: Vector,
    parent_q: Vector,
    parent_v: Vector,
    parent: Motion,
) -> Motion:
    """One outward step of the pose and the velocity of a link's frame."""
    seat = link.seat
    joint, rate = joint_rates(kind, q, v)
    turn = seat_turn(kind, seat, parent_q, parent_v)
    rotation = orient(kind, link, joint, turn)
    R = rotation.to_matrix()
    r = add(seat.position, times(seat.Phi_d, parent_q))
    s = own_offset(kind, seat, joint, turn, rotation)
    nu = turn.omega if turn is not None else ZERO3
    relative = add(times(seat.Phi_d, parent_v), cross(nu, s))
    spin = list(nu)
    axis = scale(rate, column(R, kind.axis))
    if kind.joint == "revolute":
        spin = add(spin, axis)
    elif kind.joint == "prismatic":
        relative = add(relative, axis)
    arm = times(parent.R, add(r, s))
    return Motion(
        R=product(parent.R, R),
        p=add(parent.p, arm),
        v=add(parent.v, cross(parent.w, arm), times(parent.R, relative)),
        w=add(parent.w, times(parent.R, spin)),
    )


def frame_motion(kind: LinkKind, seat: Seat, q_e: Vector, v_e: Vector, body: Motion) -> Motion:
    """Pose and velocity of a frame that is fixed to a section of a (deformed) body."""
    turn = seat_turn(kind, seat, q_e, v_e)
    R = [list(row) for row in seat.R0] if turn is None else product(turn.R, seat.R0)
    s = list(seat.offset) if turn is None else times(turn.R, seat.offset)
    nu = turn.omega if turn is not None else ZERO3
    arm = times(body.R, add(seat.position, times(seat.Phi_d, q_e), s))
    relative = add(times(seat.Phi_d, v_e), cross(nu, s))
    return Motion(
        R=product(body.R, R),
        p=add(body.p, arm),
        v=add(body.v, cross(body.w, arm), times(body.R, relative)),
        w=add(body.w, times(body.R, nu)),
    )


class Energy(NamedTuple):
    """Kinetic energy, strain and spring energy, potential of gravity, linear and angular momentum (base frame)."""

    kinetic: Scalar
    elastic: Scalar
    gravity: Scalar
    linear: Vector
    angular: Vector


def energies(kind: LinkKind, link: LinkConstants, q: Vector, v: Vector, m: Motion, gravity: Vector) -> Energy:
    """Energies and momentum of one link with its joint's spring and motor."""
    q_e, v_e = elastic(kind, q), elastic(kind, v)
    b, _ = body_terms(kind, link.body, q_e, [0.0] * kind.size, [0.0] * 3)
    v_own, w_own = transpose_times(m.R, m.v), transpose_times(m.R, m.w)
    p_v, p_w, p_e = apply(b, v_own, w_own, v_e)
    kinetic = 0.5 * (dot(v_own, p_v) + dot(w_own, p_w) + dot(v_e, p_e))
    strain = 0.5 * dot(q_e, times(link.body.K_ee, q_e))
    first = times(m.R, first_moment(link.body, q_e))
    height = -dot(gravity, add(scale(link.body.mass, m.p), first))
    if kind.joint != "fixed":
        joint, rate = joint_rates(kind, q, v)
        stretch = joint + dot(link.motor_row, q_e) - link.joint.rest
        spin = rate + dot(link.motor_row, v_e)
        strain = strain + 0.5 * link.joint.stiffness * stretch * stretch
        kinetic = kinetic + 0.5 * link.joint.inertia * spin * spin
    linear = times(m.R, p_v)
    return Energy(kinetic, strain, height, linear, add(times(m.R, p_w), cross(m.p, linear)))
