"""Forward and inverse dynamics as passes over the tree, and what joints transmit."""

from __future__ import annotations

from typing import Any

from pliant.algorithm import Pass, PassAlgorithm
from pliant.formulations.recursive.articulated import accelerate, articulate
from pliant.formulations.recursive.newton_euler import collect, inertial
from pliant.spatial.scalars import is_zero
from pliant.spatial.vectors import add, cross, subtract
from pliant.tree.kinematics import BEND, CONNECT, connect_step
from pliant.tree.tree import TreeView


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
