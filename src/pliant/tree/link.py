"""One link as the recursions see it, and how it hangs on its parent.

The structure of a link decides which operations exist at all. Its constants are nested lists of scalars: floats (the
readable reference), complex or batched numbers, or traced parameters. At the place where it hangs on its parent links
hand each other inertia, forces and accelerations; the outward step of positions, velocities and bias
accelerations is here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pliant.algorithm import Role
from pliant.bodies.terms import BendingBody, Blocks, Body, FrameTerms
from pliant.joints.kind import JointDrive, JointKind, JointPlace, Resistance, SeatMotion, combined, is_still, projected
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import (
    FactoredRotation,
    Matrix,
    Vector,
    add,
    as_turn,
    column,
    cross,
    dot,
    plus,
    plus_symmetric,
    product,
    scale,
    shared_times,
    subtract,
    times,
    turn_about,
    zeros,
)


@dataclass(frozen=True, slots=True)
class LinkKind:
    """The structure of a link: no numbers that a design sweep would change.

    joint  with its axis in the link's own frame
    size   number of elastic coordinates
    """

    joint: JointKind
    size: int
    on_base: bool

    @property
    def coordinates(self) -> int:
        """Number of coordinates of the link: its joint's, then its elastic ones."""
        return self.size + self.held

    @property
    def held(self) -> int:
        """Number of coordinates of the joint."""
        return len(self.joint.coordinates)

    @property
    def is_driven(self) -> bool:
        """Whether motor, spring and friction act along the single coordinate of the joint."""
        return self.joint.is_driven()

    def elastic(self, x: Vector) -> Vector:
        """The elastic part of a link's coordinates."""
        return list(x[self.held :])


class Seat(NamedTuple):
    """The place on the parent's body where a link's joint sits: a section of that body, and what is fixed to it.

    section  what the parent's body needs to know of the section
    offset   from the section's point to the joint frame, turning with the section; axes of the parent's body
    R0       axes of the joint frame in the undeformed parent
    angle    of the link's frame about the joint axis at zero joint coordinate
    """

    section: Any
    offset: Vector
    R0: Matrix
    angle: Scalar

    @staticmethod
    def roles() -> dict[str, Role]:
        """Axes that are at right angles are structure."""
        return {"R0": "exact", "angle": "alone"}


class LinkConstants(NamedTuple):
    """The terms of the body, its seat on the parent, what acts along the joint, and what couples it to other links.

    The body stands first, so that equal bodies have their values in equal places.

    joint  numbers of the joint's motion, such as the pitch of a screw
    drag   damping forces on the link's coordinates per unit rate of all of the robot's (own, n); empty without any
    """

    body: Body
    seat: Seat
    drive: JointDrive
    joint: Vector
    drag: Matrix

    @property
    def looped_part(self) -> str:
        """What steps of stations know of a link."""
        return "body"

    @property
    def looped(self) -> Sequence[Any]:
        """The stations of the body where compiled code is a loop over them."""
        return self.body.stations if isinstance(self.body, BendingBody) and self.body.looped else ()

    @property
    def chained(self) -> bool:
        """Whether a station of the body takes something from the one before it."""
        return isinstance(self.body, BendingBody) and self.body.chained

    @staticmethod
    def roles() -> dict[str, Role]:
        """Damping takes energy."""
        return {"drag": "loss"}


def lost_by(kind: LinkKind, link: LinkConstants, q: Vector, v: Vector, drag: Vector) -> Scalar:
    """Power that damping and friction of one link and its joint take, W.

    drag  forces against the motion of its coordinates by damping that couples links; empty without any
    """
    power = link.body.loss(kind.elastic(v))
    if drag:
        power = power + dot(v, drag)
    if kind.is_driven:
        return power + link.drive.power(link.drive.on_motor(v[0], kind.elastic(v)))
    by = Resistance(link.drive.stiffness, link.drive.damping)
    return power + kind.joint.lost(by, q[: kind.held], v[: kind.held])


# ---- connection


class Connection(NamedTuple):
    """Where a link is, relative to its parent, and what its motion adds.

    rotation  parent axes <- own axes
    frame     motion of the section of the parent that holds the link, parent axes
    s         own origin from the section's point, parent axes
    w         angular velocity, own axes
    h_v, h_w  acceleration of the own frame when all accelerations of coordinates and parent are zero, own axes
    joint     what the joint's maps between coordinates and columns need to know
    """

    rotation: FactoredRotation
    frame: FrameTerms
    s: Vector
    w: Vector
    h_v: Vector
    h_w: Vector
    joint: Any = None

    @property
    def R(self) -> Matrix:
        """The rotation as a matrix."""
        return self.rotation.to_matrix()

    @property
    def r(self) -> Vector:
        """The section's point from the parent's origin, parent axes."""
        return self.frame.r


def motor_force(kind: LinkKind, link: LinkConstants, q: Vector, v: Vector) -> Scalar:
    """Force of spring, dampers and friction on the motor angle, along the joint's own coordinate."""
    if not kind.is_driven:
        return 0.0
    drive = link.drive
    angle, rate = (drive.on_motor(x[0], kind.elastic(x)) for x in (q, v))
    return drive.force(angle, rate)


def joint_motion(kind: LinkKind, link: LinkConstants, q: Vector, v: Vector) -> SeatMotion:
    """How the joint moves the link's own frame in its seat."""
    return kind.joint.motion(q[: kind.held], v[: kind.held], link.seat.angle, link.joint)


def orient(seat: Seat, place: JointPlace, turned: Matrix | None) -> FactoredRotation:
    """The rotation parent axes <- own axes: section, seat, then joint."""
    if place.R is not None:
        return FactoredRotation(product(seat_axes(seat, turned), place.R), [])
    turns = [] if place.turn is None else [place.turn]
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


def own_offset(seat: Seat, place: JointPlace, turned: Matrix | None) -> Vector:
    """s: own origin from the section's point, turned with the section."""
    s = list(seat.offset) if turned is None else times(turned, seat.offset)
    return s if is_still(place.p) else add(s, times(seat_axes(seat, turned), place.p))


def connect(kind: LinkKind, link: LinkConstants, q: Vector, v: Vector, frame: FrameTerms, w: Vector) -> Connection:
    """One outward step: ``frame`` is the motion of the parent's section, w the parent's angular velocity."""
    joint = joint_motion(kind, link, q, v)
    rotation = orient(link.seat, joint.place, frame.R)
    s = own_offset(link.seat, joint.place, frame.R)
    w_seat = add(w, frame.rate_w)
    # Mohan & Saha (24b) needs the factor 2 of the Coriolis term; Briot & Khalil (19) that of a joint that slides
    h_v = add(cross(w, add(cross(w, frame.r), frame.twice_v)), frame.bias_v)
    h_w = add(frame.bias_w, cross(w, frame.rate_w))
    h_v = add(h_v, cross(h_w, s), cross(w_seat, cross(w_seat, s)))
    if not is_still(joint.p_rate):
        h_v = add(h_v, scale(2.0, cross(w_seat, times(seat_axes(link.seat, frame.R), joint.p_rate))))
    w_own = rotation.back(w_seat)
    h_v, h_w = rotation.back(h_v), rotation.back(h_w)
    h_v = add(h_v, joint.bias_v, scale(2.0, cross(w_own, joint.v)))
    h_w = add(h_w, joint.bias_w, cross(w_own, joint.w))
    return Connection(rotation, frame, s, add(w_own, joint.w), h_v, h_w, joint.state)


def joint_acceleration(kind: LinkKind, link: LinkConstants, c: Connection, a: Vector) -> tuple[Vector, Vector]:
    """Linear and angular acceleration of the own frame, own axes, that those of the joint's coordinates add."""
    joint = kind.joint
    return combined(joint.columns(link.joint), joint.along(c.joint, a[: kind.held]))


def joint_forces(kind: LinkKind, link: LinkConstants, c: Connection, force: Vector, moment: Vector) -> Vector:
    """Generalised forces on the joint's coordinates of a wrench on the own frame, own axes."""
    joint = kind.joint
    return joint.forces(c.joint, projected(joint.columns(link.joint), force, moment))


def joint_resistance(kind: LinkKind, link: LinkConstants, c: Connection) -> Vector:
    """Forces of springs and dampers along the columns of a joint, against its motion; those of motors are apart."""
    if kind.is_driven:
        return [0.0]
    return kind.joint.resistance(Resistance(link.drive.stiffness, link.drive.damping), c.joint)


def joint_efforts(kind: LinkKind, link: LinkConstants, c: Connection, f: Vector) -> Vector:
    """What acts along the columns of a joint, own axes: forces on its coordinates, springs, dampers."""
    return subtract(kind.joint.efforts(c.joint, f[: kind.held]), joint_resistance(kind, link, c))


def carried_acceleration(c: Connection, a_v: Vector, a_w: Vector, a_e: Vector) -> tuple[Vector, Vector]:
    """Acceleration of the own frame, own axes, from the parent's (a_v, a_w, a_e); the joint's not yet added."""
    frame, spin = c.frame, c.frame.spin
    seat_w = a_w if spin is None else add(a_w, times(spin.axes, times(spin.angles, a_e)))
    at_seat = add(a_v, cross(a_w, frame.r), shared_times(frame.J_v, a_e))
    own_v = add(at_seat, cross(seat_w, c.s))
    return add(c.rotation.back(own_v), c.h_v), add(c.rotation.back(seat_w), c.h_w)


# ---- what links hand to each other


class Handed(NamedTuple):
    """What a link hands to its parent: inertia and force of its subtree at the attachment point, parent axes."""

    A: Matrix
    B: Matrix
    C: Matrix
    p_v: Vector
    p_w: Vector


class Acceleration(NamedTuple):
    """Acceleration of the link's origin, angular acceleration (own axes) and of its elastic coordinates."""

    a_v: Vector
    a_w: Vector
    a_e: Vector


class Wrench(NamedTuple):
    """Force, moment about the link's origin (own axes), and elastic forces."""

    force: Vector
    moment: Vector
    elastic: Vector


def absorb(b: Blocks, child: Handed, frame: FrameTerms) -> Blocks:
    """Add to a body the inertia of a child that hangs at a frame of it: A_{i+1,i}^T M^ A_{i+1,i}."""
    E_v, E_w, M_e = ([list(row) for row in m] for m in (b.E_v, b.E_w, b.M_e))
    A, B, C = shifted(child, frame.r)
    # force and moment about the origin per unit motion of the frame: slides along d, turns by angle j
    turned, angles = turning_axes(frame), [] if frame.spin is None else frame.spin.angles
    force_turn = {j: times(child.B, t) for j, t in turned.items()}
    seat_moment = {j: times(child.C, t) for j, t in turned.items()}
    moment_turn = {j: add(seat_moment[j], cross(frame.r, force_turn[j])) for j in turned}
    gram = {(j, k): dot(turned[j], seat_moment[k]) for j in turned for k in turned if j <= k}
    n = len(M_e)
    for e in range(n):
        slides = {d: frame.J_v[d][e] for d in range(3) if not is_zero(frame.J_v[d][e])}
        spins = {j: angles[j][e] for j in turned if not is_zero(angles[j][e])}
        force: Vector = [0.0] * 3
        moment: Vector = [0.0] * 3
        for d, k in slides.items():
            force = add(force, scale(k, column(child.A, d)))
            moment = add(moment, scale(k, B[d]))
        for j, k in spins.items():
            force = add(force, scale(k, force_turn[j]))
            moment = add(moment, scale(k, moment_turn[j]))
        for d in range(3):
            E_v[d][e] = E_v[d][e] + force[d]
            E_w[d][e] = E_w[d][e] + moment[d]
        work = {}
        for j in turned:
            work[j] = dot(list(slides.values()), [force_turn[j][d] for d in slides]) + dot(
                list(spins.values()), [gram[min(j, k), max(j, k)] for k in spins]
            )
        for g in range(e + 1):
            x = M_e[g][e] + dot(column(frame.J_v, g), force)
            for j in turned:
                x = x + angles[j][g] * work[j]
            M_e[g][e] = M_e[e][g] = x
    return Blocks(plus_symmetric(b.A, A), plus(b.B, B), plus_symmetric(b.C, C), E_v, E_w, M_e)


def turning_axes(frame: FrameTerms) -> dict[int, Vector]:
    """The axes of a frame's spin for those angles that elastic coordinates really turn."""
    if frame.spin is None:
        return {}
    axes, angles = frame.spin
    return {j: column(axes, j) for j, row in enumerate(angles) if not all(is_zero(x) for x in row)}


def shifted(child: Handed, r: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """X^T [A1 B1; B1^T C1] X with X = [1 -r~; 0 1]: the inertia about a point at -r."""
    B = shift_coupling(child.A, child.B, r)
    left = [cross(r, column(B, j)) for j in range(3)]
    right = [cross(r, column(child.B, j)) for j in range(3)]
    C = zeros(3, 3)
    for i in range(3):
        for j in range(i, 3):
            C[i][j] = C[j][i] = child.C[i][j] + left[j][i] + right[i][j]
    return child.A, B, C


def shift_coupling(A: Matrix, B: Matrix, r: Vector) -> Matrix:
    """B - A r~."""
    out = zeros(3, 3)
    for i in range(3):
        levers = cross(A[i], r)
        for j in range(3):
            out[i][j] = B[i][j] - levers[j]
    return out


def gather_force(
    force: Vector, moment: Vector, generalised: Vector, p_v: Vector, p_w: Vector, frame: FrameTerms
) -> tuple[Vector, Vector, Vector]:
    """Add the force of a child at a frame to a body's force, moment and elastic forces (B & K (63), sign as (51))."""
    turned = {j: dot(t, p_w) for j, t in turning_axes(frame).items()}
    angles = [] if frame.spin is None else frame.spin.angles
    out = []
    for e, s in enumerate(generalised):
        s = s + dot(column(frame.J_v, e), p_v)
        for j, work in turned.items():
            s = s + angles[j][e] * work
        out.append(s)
    return add(force, p_v), add(moment, add(p_w, cross(frame.r, p_v))), out


def to_seat(c: Connection, force: Vector, moment: Vector) -> Wrench:
    """A wrench about the link's origin in own axes, brought to the attachment point in parent axes."""
    force, moment = c.rotation.apply(force), c.rotation.apply(moment)
    if not all(is_zero(x) for x in c.s):
        moment = add(moment, cross(c.s, force))
    return Wrench(force, moment, [])


def project(
    kind: LinkKind, link: LinkConstants, c: Connection, force: Vector, moment: Vector, generalised: Vector
) -> Vector:
    """The generalised forces on a link's coordinates of a wrench on its frame and forces on its elastic ones."""
    return [*joint_forces(kind, link, c, force, moment), *generalised]


def pass_down(c: Connection, size: int, force: Vector, moment: Vector) -> tuple[Vector, Vector, Vector]:
    """A wrench on a link, felt by its parent: force and moment about the parent's origin, and elastic forces."""
    handed = to_seat(c, force, moment)
    zero = [0.0] * 3
    return gather_force(zero, zero, [0.0] * size, handed.force, handed.moment, c.frame)
