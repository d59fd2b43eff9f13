"""Inverse dynamics: the generalised Newton-Euler equations, outward accelerations and inward forces.

Briot & Khalil (5)-(24) with (19) completed by the Coriolis acceleration behind a moving prismatic joint.
"""

from __future__ import annotations

from pliant.bodies.terms import FrameTerms
from pliant.joints.kind import projected
from pliant.spatial.vectors import Vector, add
from pliant.tree.bordered import moved
from pliant.tree.link import (
    Acceleration,
    Connection,
    LinkConstants,
    LinkKind,
    Wrench,
    carried_acceleration,
    gather_force,
    joint_acceleration,
    joint_forces,
    joint_resistance,
    motor_force,
    to_seat,
)


def inertial(
    kind: LinkKind,
    link: LinkConstants,
    q: Vector,
    v: Vector,
    a: Vector,
    c: Connection,
    parent: Acceleration,
) -> tuple[Wrench, Acceleration]:
    """One outward step: the link's acceleration and the wrench that gives its body this acceleration."""
    a_v, a_w = carried_acceleration(c, *parent)
    linear, angular = joint_acceleration(kind, link, c, a)
    a_v, a_w = add(a_v, linear), add(a_w, angular)
    a_e = kind.elastic(a)
    q_e, v_e = kind.elastic(q), kind.elastic(v)
    _, inertia, bias = moved(link.body, q_e, v_e, c.w, a_v, a_w, a_e)
    wrench = Wrench(*(add(x, y) for x, y in zip(inertia, bias, strict=True)))
    return wrench, Acceleration(a_v, a_w, a_e)


def collect(
    kind: LinkKind,
    link: LinkConstants,
    q: Vector,
    v: Vector,
    a: Vector,
    c: Connection,
    wrench: Wrench,
    children: list[tuple[Wrench, FrameTerms]],
) -> tuple[Vector, Wrench]:
    """One inward step: generalised forces of the link, and the wrench at its attachment point in parent axes."""
    force, moment, generalised = wrench
    for handed, frame in children:
        force, moment, generalised = gather_force(force, moment, generalised, handed.force, handed.moment, frame)
    out: Vector = []
    generalised = list(generalised)
    if kind.held and not kind.is_driven:
        along = projected(kind.joint.columns(link.joint), force, moment)
        out = kind.joint.forces(c.joint, add(along, joint_resistance(kind, link, c)))
    if kind.is_driven:
        drive = motor_force(kind, link, q, v) + link.drive.inertia * link.drive.on_motor(a[0], kind.elastic(a))
        generalised = [s + b * drive for s, b in zip(generalised, link.drive.row, strict=True)]
        out = [joint_forces(kind, link, c, force, moment)[0] + drive]
    return out + generalised, to_seat(c, force, moment)
