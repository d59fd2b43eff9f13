"""Forward and inverse dynamics as passes over the tree, and what joints transmit.

Inverse dynamics are the generalised Newton-Euler equations, outward accelerations and inward forces: Briot & Khalil
(5)-(24) with (19) completed by the Coriolis acceleration behind a moving prismatic joint.
"""

from __future__ import annotations

from typing import Any

from pliant.algorithm import Pass, PassAlgorithm
from pliant.bodies.terms import FrameTerms
from pliant.formulations.recursive.articulated import accelerate, articulate
from pliant.joints.kind import projected
from pliant.spatial.scalars import is_zero
from pliant.spatial.vectors import Vector, add, cross, subtract
from pliant.tree.bordered import moved
from pliant.tree.kinematics import BEND, CONNECT, connect_step
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
from pliant.tree.tree import TreeView


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


class NoInertiaError(ValueError):
    """The forward dynamics of a robot are not determined."""


def _articulate(view: TreeView) -> dict[str, Any]:
    try:
        handed, factors = articulate(
            view.kind, view.bent, view.q, view.v, view.force, view.connection, view.handed("handed")
        )
    except ZeroDivisionError:
        raise NoInertiaError(
            f"link '{view.name}': a coordinate of it moves no inertia, so its acceleration is not determined; "
            "give the link, its payload or its motor some"
        ) from None
    return {"handed": handed, "factors": factors}


def _accelerate(view: TreeView) -> dict[str, Any]:
    out, acceleration = accelerate(
        view.kind, view.link, view.connection, view.store["factors"], view.parent_acceleration
    )
    return {"result": out, "acceleration": acceleration}


def _inertial(view: TreeView) -> dict[str, Any]:
    connection = connect_step(view)["connection"]
    wrench, acceleration = inertial(
        view.kind, view.bent, view.q, view.v, view.inputs["a"], connection, view.parent_acceleration
    )
    return {"connection": connection, "wrench": wrench, "acceleration": acceleration}


def _collect(view: TreeView) -> dict[str, Any]:
    out, reaction = collect(
        view.kind,
        view.link,
        view.q,
        view.v,
        view.inputs["a"],
        view.connection,
        view.store["wrench"],
        view.handed("reaction"),
    )
    if drag := view.drag:
        out = add(out, drag)
    return {"result": out, "reaction": reaction}


def _joint_wrench(view: TreeView) -> dict[str, Any]:
    """What the joint transmits, force and moment on the link at its origin, and how that moves, all in own axes."""
    c, reaction, a = view.connection, view.store["reaction"], view.store["acceleration"]
    moment = reaction.moment
    if not all(is_zero(x) for x in c.s):
        moment = subtract(moment, cross(c.s, reaction.force))
    return {"result": [*c.rotation.back(reaction.force), *c.rotation.back(moment), *c.w, *a.a_v, *a.a_w]}


def _gather(view: TreeView) -> dict[str, Any]:
    values = _collect(view)
    return {"reaction": values["reaction"]}


FORWARD = PassAlgorithm(
    "forward",
    ("q", "v", "f"),
    (
        BEND,
        CONNECT,
        Pass("articulate", "inward", _articulate, reads=("handed", "connection"), own=("connection", "bent", "sums")),
        Pass("accelerate", "outward", _accelerate, reads=("acceleration",), own=("connection", "factors")),
    ),
    "result",
)
INVERSE = PassAlgorithm(
    "inverse",
    ("q", "v", "a"),
    (
        BEND,
        Pass("inertial", "outward", _inertial, reads=("connection", "acceleration", "bent"), own=("bent", "sums")),
        Pass("collect", "inward", _collect, reads=("reaction", "connection"), own=("connection", "wrench")),
    ),
    "result",
)
REACTION = PassAlgorithm(
    "reaction",
    ("q", "v", "a"),
    (
        *INVERSE.passes[:2],
        Pass("gather", "inward", _gather, reads=("reaction", "connection"), own=("connection", "wrench")),
        Pass("output", "outward", _joint_wrench, own=("connection", "reaction", "acceleration")),
    ),
    "result",
)
HANDED = 15
"""Results of REACTION for a link: force and moment of its joint, rate of turning, accelerations; gravity is an
acceleration of the base."""
