"""Outputs of linear models by their names: coordinates, motors, frames, sensors of the robot and what those on any
frame would see.

An output y depends on coordinates, rates and accelerations of the robot, and on efforts of its drives; its row holds
dy/dq, dy/dv, dy/da and dy/dtau.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.words import strain_at
from pliant.errors import did_you_mean
from pliant.model.description.sensors import Encoder, Sensor, StrainGauge, TorqueSensor
from pliant.tree.kinematics import MOTION_SIZE

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.model.description.robot import Robot

Floats = NDArray[np.float64]

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
LEVELS = ("", "rate", "acceleration")
SENSORS = ("accelerometer", "gyro")


class OutputRow(NamedTuple):
    """How an output changes with coordinates, rates and accelerations (n,) each, and with efforts.

    tau  (inputs,); none of it where efforts act through accelerations alone
    """

    q: Floats
    v: Floats
    a: Floats
    tau: Floats | None = None

    def times(self, gain: float) -> OutputRow:
        """The row of gain times the output."""
        return OutputRow(*(None if x is None else gain * x for x in self))  # type: ignore[arg-type]


class State(NamedTuple):
    """Coordinates, rates and accelerations about which outputs are linear (n,) each."""

    q: Floats
    v: Floats
    a: Floats


def output_row(arm: Dynamics, state: State, name: str) -> OutputRow:
    """The row of a named output.

    COORDINATE                a joint or an elastic coordinate
    JOINT.motor               angle of the motor (with pinned shapes not the joint coordinate)
    JOINT.link                angle of the link's own frame behind the joint
    FRAME.x, .y, .z           position of a frame; .rx, .ry, .rz: its small turn; base axes
    ... .rate, .acceleration  of any of these
    FRAME.x.accelerometer     what an accelerometer on the section reads: section axes, acceleration less gravity
    FRAME.x.gyro              rate of turn about an axis of the section
    SENSOR                    reading of a sensor of the robot: its gain times what it measures, without its delay
    strain.SENSOR             strain that a gauge of the robot sees, without its gain
    """
    for sensor in arm.robot.sensors:
        if name == sensor.name:
            return measured_row(arm, state, sensor).times(sensor.gain)
        if name == f"strain.{sensor.name}" and isinstance(sensor.measures, StrainGauge):
            return measured_row(arm, state, sensor)
    base, _, last = name.rpartition(".")
    if last in SENSORS and (row := _sensor(arm, state, base, last)) is not None:
        return row
    level = LEVELS.index(last) if last in LEVELS[1:] and name not in arm.names else 0
    what = base if level else name
    if (along := _coordinate(arm, what)) is not None:
        nothing = np.zeros(arm.size)
        return OutputRow(*(along if level == k else nothing for k in range(3)))
    frame, _, direction = what.rpartition(".")
    if direction in DIRECTIONS and (motion := _frame(arm, frame, name)) is not None:
        return _moved(arm, state, frame, motion, DIRECTIONS.index(direction), level)
    raise ValueError(_unknown(arm, name))


def require_unfiltered(robot: Robot, names: Iterable[str], remedy: str) -> None:
    """Refuse sensors whose readings lag behind what they measure by states of their own."""
    for sensor in robot.sensors:
        if sensor.name in names and sensor.filter is not None:
            raise ValueError(
                f"sensor '{sensor.name}' has a low-pass filter of {sensor.filter.low_pass:g} Hz, whose states neither "
                f"regulators nor estimators know; {remedy}, or give the robot one without a filter"
            )


def measured_row(arm: Dynamics, state: State, sensor: Sensor) -> OutputRow:
    """The row of what a sensor of the robot measures, before its gain."""
    own, nothing = sensor.measures, np.zeros(arm.size)
    if isinstance(own, StrainGauge):
        return OutputRow(gauge_row(arm, own), nothing, nothing)
    if isinstance(own, Encoder):
        return OutputRow(encoder_row(arm, own), nothing, nothing)
    if isinstance(own, TorqueSensor):
        joint = arm.robot.joint(own.joint)
        seen = np.asarray(arm.B[:, arm.inputs.index(own.joint)])
        inertia = joint.motor.reflected_inertia if joint.motor is not None else 0.0
        friction = joint.friction.viscous if joint.friction is not None else 0.0
        return OutputRow(
            nothing, -friction * seen, -inertia * seen, np.eye(len(arm.inputs))[arm.inputs.index(own.joint)]
        )
    found = _sensor(arm, state, f"{own.frame}.{own.axis}", own.key)
    assert found is not None
    return found


def gauge_row(arm: Dynamics, gauge: StrainGauge) -> Floats:
    """What a gauge sees per unit of each coordinate (n,): strains are linear in them, whatever the kind of bending."""
    link, x = gauge.place(arm.robot)
    own = arm.mechanism.member(link.name).elastic
    row = np.zeros(arm.size)
    row[own] = strain_at(link, arm.robot, x, gauge.weights, np.eye(own.stop - own.start))
    return row


def encoder_row(arm: Dynamics, encoder: Encoder) -> Floats:
    """What an encoder sees per unit of each coordinate (n,)."""
    side = encoder.side or ("motor" if encoder.joint in arm.inputs else "link")
    found = _coordinate(arm, f"{encoder.joint}.{side}")
    assert found is not None
    return found


def _coordinate(arm: Dynamics, name: str) -> Floats | None:
    """Row of a coordinate, a motor angle or a link-side angle; None for all else."""
    joint, _, side = name.rpartition(".")
    if side == "motor" and joint in arm.inputs:
        return np.asarray(arm.B[:, arm.inputs.index(joint)])
    if side == "link" and joint in arm.robot.joint_coordinates:
        name = joint
    if name not in arm.names:
        return None
    row = np.zeros(arm.size)
    row[arm.names.index(name)] = 1.0
    return row


Numbers = Callable[[Floats, Floats, Floats], Floats]


class _FrameMotion(NamedTuple):
    """A frame's rotation (9,), linear and angular acceleration in its own axes (3,) each, and their slopes.

    numbers  of (q, v, a): R row by row, then both accelerations
    by       the same by "q", "v" or "a", a column a coordinate
    """

    numbers: Numbers
    by: dict[str, Numbers]


def _frame(arm: Dynamics, frame: str, name: str, *, weight: bool = False) -> _FrameMotion | None:
    """The motion of a frame; ``weight``: its acceleration less gravity."""
    if not frame:
        return None
    try:
        where, function = arm.frame_acceleration(frame, weight=weight)
    except KeyError as error:
        raise ValueError(f"output '{name}': {error.args[0]}") from None
    wanted = np.r_[where.start : where.start + 9, where.start + MOTION_SIZE + 3 : where.start + MOTION_SIZE + 9]

    def picked(evaluate: Callable[..., Floats]) -> Numbers:
        return lambda q, v, a: np.asarray(evaluate(q, v, a))[wanted]

    return _FrameMotion(picked(function), {seed: picked(function.by(seed)) for seed in "qva"})


def _moved(arm: Dynamics, state: State, frame: str, motion: _FrameMotion, direction: int, level: int) -> OutputRow:
    """Row of a frame's position, velocity or acceleration in base axes.

    J(q) w is the acceleration of a frame at rest whose coordinates have the accelerations w: so the change of a
    velocity J(q) v with q is that of such an acceleration.
    """
    J, nothing = arm.jacobian(frame, state.q)[direction], np.zeros(arm.size)
    still = np.zeros(arm.size)
    if level == 0:
        return OutputRow(J, nothing, nothing)
    if level == 1:
        by_q = _in_base_axes(motion, (state.q, still, state.v), "q", direction) if state.v.any() else nothing
        return OutputRow(by_q, J, nothing)
    if not (state.v.any() or state.a.any()):
        return OutputRow(nothing, nothing, J)
    at = (state.q, state.v, state.a)
    return OutputRow(_in_base_axes(motion, at, "q", direction), _in_base_axes(motion, at, "v", direction), J)


def _in_base_axes(motion: _FrameMotion, at: tuple[Floats, Floats, Floats], seed: str, direction: int) -> Floats:
    """Slope of R a of a frame, along a direction of the base (n,)."""
    numbers, slopes = motion.numbers(*at), motion.by[seed](*at)
    k = direction % 3
    own = slice(9, 12) if direction < 3 else slice(12, 15)
    R, dR = numbers[:9].reshape(3, 3), slopes[:9].reshape(3, 3, -1)
    return np.asarray(R[k] @ slopes[own] + np.einsum("j,jn->n", numbers[own], dR[k]))


def _sensor(arm: Dynamics, state: State, place: str, kind: str) -> OutputRow | None:
    """Row of an accelerometer or a gyro along an axis of its section; None if that is no such place."""
    frame, _, axis = place.rpartition(".")
    if axis not in DIRECTIONS[:3]:
        return None
    k = DIRECTIONS.index(axis)
    still, nothing = np.zeros(arm.size), np.zeros(arm.size)
    if kind == "gyro":
        motion = _frame(arm, frame, f"{place}.{kind}")
        if motion is None:
            return None
        # the rate of turn J_w v, seen in the axes of the section
        at = (state.q, still, state.v)
        by_q = motion.by["q"](*at)[12 + k] if state.v.any() else nothing
        return OutputRow(by_q, motion.by["a"](state.q, still, still)[12 + k], nothing)
    motion = _frame(arm, frame, f"{place}.{kind}", weight=True)
    if motion is None:
        return None
    at = (state.q, state.v, state.a)
    return OutputRow(*(motion.by[seed](*at)[9 + k] for seed in "qva"))


def _unknown(arm: Dynamics, name: str) -> str:
    """What to say of an output that a robot does not have."""
    sensors = [sensor.name for sensor in arm.robot.sensors]
    options = [*arm.names, *sensors, *(f"{joint}.motor" for joint in arm.inputs), "tip.x", "tip.y", "tip.z"]
    hint = did_you_mean(name, options) or (
        f"; there are {', '.join(options)} and FRAME.x of every frame, with .rate or .acceleration behind any of them, "
        "and FRAME.x.accelerometer and FRAME.x.gyro"
    )
    return f"robot '{arm.robot.name}' has no output '{name}'{hint}"
