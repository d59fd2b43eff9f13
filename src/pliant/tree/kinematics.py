"""Positions, velocities and energies of the deformed links, in the base frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.terms import FrameTerms
from pliant.joints.kind import Resistance, is_still
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import (
    ZERO3,
    Matrix,
    Vector,
    add,
    cross,
    dot,
    identity3,
    product,
    scale,
    times,
    transpose_times,
)
from pliant.tree.bordered import moved
from pliant.tree.connection import joint_motion, orient, own_offset, seat_axes
from pliant.tree.link import LinkConstants, LinkKind


class Motion(NamedTuple):
    """Pose of a frame in the base (R_WB, p_WB) and its velocity in base axes."""

    R: Matrix
    p: Vector
    v: Vector
    w: Vector


MOTION_SIZE = 18
"""Numbers of a motion in a row: R row by row, p, v, w."""


def flat_motion(m: Motion) -> Vector:
    """A motion as numbers in a row."""
    return [x for row in m.R for x in row] + m.p + m.v + m.w


class MotionArrays(NamedTuple):
    """A motion, or those of many states, as arrays: R (..., 3, 3), p, v, w (..., 3)."""

    R: NDArray[np.float64]
    p: NDArray[np.float64]
    v: NDArray[np.float64]
    w: NDArray[np.float64]


def motion_arrays(flat: NDArray[np.float64]) -> MotionArrays:
    """Motions from their numbers in rows (..., MOTION_SIZE and more)."""
    R = flat[..., :9].reshape(*flat.shape[:-1], 3, 3)
    return MotionArrays(R, flat[..., 9:12], flat[..., 12:15], flat[..., 15:18])


def base_motion() -> Motion:
    return Motion(identity3(), list(ZERO3), list(ZERO3), list(ZERO3))


def move(kind: LinkKind, link: LinkConstants, q: Vector, v: Vector, frame: FrameTerms, parent: Motion) -> Motion:
    """One outward step of the pose and the velocity of a link's frame."""
    joint = joint_motion(kind, link, q, v)
    R = orient(link.seat, joint.place, frame.R).to_matrix()
    s = own_offset(link.seat, joint.place, frame.R)
    relative = add(frame.rate_v, cross(frame.rate_w, s), times(R, joint.v))
    if not is_still(joint.p_rate):
        relative = add(relative, times(seat_axes(link.seat, frame.R), joint.p_rate))
    spin = add(frame.rate_w, times(R, joint.w))
    arm = times(parent.R, add(frame.r, s))
    return Motion(
        R=product(parent.R, R),
        p=add(parent.p, arm),
        v=add(parent.v, cross(parent.w, arm), times(parent.R, relative)),
        w=add(parent.w, times(parent.R, spin)),
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
    q_e, v_e, body = kind.elastic(q), kind.elastic(v), link.body
    v_own, w_own = transpose_times(m.R, m.v), transpose_times(m.R, m.w)
    mass, (p_v, p_w, p_e), _ = moved(body, q_e, [0.0] * kind.size, [0.0] * 3, v_own, w_own, v_e)
    kinetic = 0.5 * (dot(v_own, p_v) + dot(w_own, p_w) + dot(v_e, p_e))
    strain = body.energy(q_e)
    first = times(m.R, body.first_moment(q_e))
    height = -dot(gravity, add(scale(mass, m.p), first))
    if kind.is_driven:
        angle, spin = (link.drive.on_motor(x[0], kind.elastic(x)) for x in (q, v))
        strain = strain + link.drive.energy(angle)
        kinetic = kinetic + 0.5 * link.drive.inertia * spin * spin
    else:
        by = Resistance(link.drive.stiffness, link.drive.damping)
        strain = strain + kind.joint.stored(by, q[: kind.held])
    linear = times(m.R, p_v)
    return Energy(kinetic, strain, height, linear, add(times(m.R, p_w), cross(m.p, linear)))
