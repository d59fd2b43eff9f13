"""Positions, velocities, energies and losses of the deformed links in the base frame, as passes over the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Pass, PassAlgorithm, StationStep, StationView, Step
from pliant.bodies.terms import BendingBody, FrameTerms
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
from pliant.tree.link import (
    Acceleration,
    LinkConstants,
    LinkKind,
    carried_acceleration,
    connect,
    joint_acceleration,
    joint_motion,
    lost_by,
    orient,
    own_offset,
    seat_axes,
)
from pliant.tree.tree import TreeView


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


# ---- passes


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
