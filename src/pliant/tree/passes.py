"""Kinematics and energies as passes over the tree: where links are, how they move, what their bodies are at a state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pliant.algorithm import Pass, PassAlgorithm, StationStep, StationView, Step
from pliant.bodies.terms import BendingBody
from pliant.spatial.vectors import ZERO3, add
from pliant.tree.connection import Acceleration, carried_acceleration, connect, joint_acceleration
from pliant.tree.kinematics import Motion, base_motion, energies, flat_motion, move
from pliant.tree.link import lost_by
from pliant.tree.tree import TreeView


def _bend(view: StationView) -> dict[str, Any]:
    link, structure = view.link, view.link.structure.body
    assert isinstance(structure, BendingBody)
    if not structure.holds_frames:
        return {"bent": None}
    body = link.link.body
    assert isinstance(body, BendingBody)
    before = None if view.before is None else view.before["bent"]
    return {"bent": body.bend(view.station, before, link.kind.elastic(link.q), link.kind.elastic(link.v))}


def _load(view: StationView) -> dict[str, Any]:
    link, body = view.link, view.link.link.body
    assert isinstance(body, BendingBody)
    before = None if view.before is None else view.before["sums"]
    state = link.kind.elastic(link.q), link.kind.elastic(link.v)
    return {"sums": body.load(view.station, view.here["bent"], link.store["bent"], before, *state)}


def follow(steps: Sequence[StationStep]) -> Step:
    """Steps of stations as one of the link: all stations in turn, for each step."""

    def step(view: TreeView) -> dict[str, Any]:
        body = view.link.body
        if not isinstance(body, BendingBody):
            return {}
        stores: list[dict[str, Any]] = [{} for _ in range(len(body.stations))]
        for each in steps:
            for k, here in enumerate(stores):
                here.update(each(StationView(view, body.stations, k, here, stores[k - 1] if k else None)))
            view.store.update({name: [here[name] for here in stores] for name in stores[0]})
        return {name: view.store[name] for name in stores[0]}

    return step


def _stations(name: str, *steps: StationStep) -> Pass:
    return Pass(name, "outward", follow(steps), stations=steps)


def connect_step(view: TreeView) -> dict[str, Any]:
    w = list(ZERO3) if view.parent is None else view.parent.connection.w
    return {"connection": connect(view.kind, view.link, view.q, view.v, view.seat_motion, w)}


def _move_out(view: TreeView) -> dict[str, Any]:
    return {"result": flat_motion(view.store["motion"])}


def _carry(view: TreeView) -> dict[str, Any]:
    """The acceleration of a link whose coordinates have the accelerations a."""
    a = view.inputs["a"]
    a_v, a_w = carried_acceleration(view.connection, *view.parent_acceleration)
    linear, angular = joint_acceleration(view.kind, view.link, view.connection, a)
    return {"acceleration": Acceleration(add(a_v, linear), add(a_w, angular), view.kind.elastic(a))}


def _carry_out(view: TreeView) -> dict[str, Any]:
    m, a = view.store["motion"], view.store["acceleration"]
    return {"result": [*flat_motion(m), *view.connection.w, *a.a_v, *a.a_w]}


def _move(view: TreeView) -> dict[str, Any]:
    up: Motion = base_motion() if view.parent is None else view.parent.store["motion"]
    return {"motion": move(view.kind, view.link, view.q, view.v, view.seat_motion, up)}


def _energies(view: TreeView) -> dict[str, Any]:
    e = energies(view.kind, view.bent, view.q, view.v, view.store["motion"], view.gravity)
    return {"result": [e.kinetic, e.elastic, e.gravity, *e.linear, *e.angular]}


def _losses(view: TreeView) -> dict[str, Any]:
    return {"result": [lost_by(view.kind, view.link, view.q, view.v, view.drag)]}


FOLLOW = _stations("follow", _bend)
"""What frames need of bodies that have stations; for others it is empty, and costs nothing."""
BEND = _stations("bend", _bend, _load)
"""What inertia needs of them too."""
CONNECT = Pass("connect", "outward", connect_step, reads=("connection", "bent"))
MOVE = Pass("move", "outward", _move, reads=("motion", "bent"))
ENERGY = PassAlgorithm(
    "energy",
    ("q", "v"),
    (
        BEND,
        MOVE,
        Pass("energies", "outward", _energies, own=("motion", "bent", "sums")),
    ),
    "result",
)
LOSS = PassAlgorithm("loss", ("q", "v"), (Pass("losses", "outward", _losses),), "result")
"""Power that damping and friction take, of every link with its joint."""

MOTION = PassAlgorithm(
    "motion",
    ("q", "v"),
    (
        FOLLOW,
        MOVE,
        Pass("output", "outward", _move_out, own=("motion",)),
    ),
    "result",
)
FRAMES = PassAlgorithm(
    "frames",
    ("q", "v", "a"),
    (
        FOLLOW,
        CONNECT,
        Pass("carry", "outward", _carry, reads=("acceleration",), own=("connection",)),
        MOVE,
    ),
    "motion",
)
"""Motion and acceleration of every link for given q, v and a; gravity is an acceleration of the base."""
ACCELERATION = PassAlgorithm(
    "acceleration",
    ("q", "v", "a"),
    (*FRAMES.passes, Pass("output", "outward", _carry_out, own=("connection", "motion", "acceleration"))),
    "result",
)
