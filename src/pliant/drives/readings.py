"""What the sensors of a robot read, as one text on any scalars: laws call it at their ticks, results on whole columns.

A reading is gain (value) + bias, an encoder's value in steps of its resolution. Noise and delay are added by whoever
samples. Accelerometers and torque sensors need the accelerations, which follow from the efforts that act.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np

from pliant.control.output_rows import encoder_row, gauge_row
from pliant.drives.traced_model import TracedModel, are_own, as_columns, as_rows
from pliant.dynamics import Dynamics
from pliant.laws import Floats, applied
from pliant.model.description.sensors import Accelerometer, Encoder, Gyro, Sensor, StrainGauge, TorqueSensor
from pliant.spatial.scalars import Scalar, floor, tanh
from pliant.spatial.vectors import Vector
from pliant.tree.kinematics import MOTION_SIZE


class SensorReadings:
    """Readings of several sensors of a robot, without noise and delay.

    steps      whether encoders count steps; their readings are smooth without
    feels      names of those that see accelerations of the robot, and with them forces of loads
    """

    def __init__(self, arm: Dynamics, sensors: Sequence[Sensor], *, steps: bool = True) -> None:
        self.arm, self.sensors, self.steps = arm, tuple(sensors), steps
        measures = [sensor.measures for sensor in sensors]
        self.rows = [self._row(each) for each in measures]
        self.frames = [each for each in measures if isinstance(each, Accelerometer | Gyro)]
        self.feels = tuple(s.name for s in sensors if isinstance(s.measures, Accelerometer | TorqueSensor))
        self.needs_acceleration = bool(self.feels)

    def _row(self, own: object) -> Floats:
        """What of it is linear in the coordinates (n,), of a torque sensor in their rates and accelerations."""
        if isinstance(own, StrainGauge):
            return gauge_row(self.arm, own)
        if isinstance(own, Encoder):
            return encoder_row(self.arm, own)
        if isinstance(own, TorqueSensor):
            return np.asarray(self.arm.B[:, self.arm.inputs.index(own.joint)])
        return np.zeros(self.arm.size)

    @cached_property
    def _motion(self) -> TracedModel:
        """Motion of all frames from coordinates, rates and accelerations, less gravity."""
        return TracedModel(self.arm.frame_acceleration(self.frames[0].frame, weight=True)[1].traced)

    @cached_property
    def _forward(self) -> TracedModel:
        return TracedModel(self.arm.loops.traced_forward())

    @property
    def structure(self) -> Hashable:
        """What decides the code."""
        kinds = tuple((s.measures.key, row.astype(bool).tobytes(), self._place(s)) for s, row in self._with_rows())
        models = (self._motion.structure if self.frames else None, self._needed_forward)
        return kinds, models

    @property
    def _needed_forward(self) -> Hashable:
        return (self._forward.structure, self.arm.B.tobytes()) if self.needs_acceleration else None

    def _with_rows(self) -> list[tuple[Sensor, Floats]]:
        return list(zip(self.sensors, self.rows, strict=True))

    def _place(self, sensor: Sensor) -> Hashable:
        """What else decides the code of one sensor."""
        own = sensor.measures
        if isinstance(own, Encoder):
            return self._counts(own)
        if isinstance(own, TorqueSensor):
            return self.arm.inputs.index(own.joint), bool(self._friction(own)[1])
        if isinstance(own, Accelerometer | Gyro):
            where, _ = self.arm.frame_acceleration(own.frame, weight=True)
            return where.start, own.axis
        return None

    def _counts(self, own: Encoder) -> bool:
        return self.steps and bool(own.step)

    def _friction(self, own: TorqueSensor) -> tuple[float, float, float, float]:
        """Viscous and dry friction, smoothing of the latter, reflected inertia of the rotor."""
        joint = self.arm.robot.joint(own.joint)
        rotor = joint.motor.reflected_inertia if joint.motor is not None else 0.0
        friction = joint.friction
        return (0.0, 0.0, 1.0, rotor) if friction is None else (
            friction.viscous, friction.coulomb, friction.smoothing, rotor
        )  # fmt: skip

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Gains, biases, rows and constants of models, as the text takes them."""
        out: list[float] = []
        for sensor, row in self._with_rows():
            own = sensor.measures
            out += [sensor.gain, sensor.bias, *row[row.astype(bool)].tolist()]
            if isinstance(own, Encoder) and self._counts(own):
                out.append(own.step)
            if isinstance(own, TorqueSensor):
                out += self._friction(own)
        if self.frames:
            out += self._motion.numbers
        if self.needs_acceleration:
            out += self._forward.numbers
        return tuple(out)

    @property
    def motion_numbers(self) -> tuple[float, ...]:
        """Constants of the motion of frames that sensors sit on."""
        return self._motion.numbers if self.frames else ()

    def accelerations(self, q: Vector, v: Vector, tau: Vector, numbers: Vector) -> Vector:
        """Accelerations of all coordinates under efforts of the inputs; numbers are those of the forward dynamics."""
        f = applied(self.arm.B, tau)
        if are_own(numbers):
            return as_columns(self.arm.loops.forward(as_rows(q), as_rows(v), as_rows(f)))
        names = self._forward.traced.algorithm.inputs
        return self._forward(dict(zip(names, (q, v, f), strict=True)), numbers)

    def read(
        self, q: Vector, v: Vector, tau: Vector, numbers: Vector, a: Vector | None = None, *, traced: bool = False
    ) -> Vector:
        """The readings; a are accelerations, where they are known already; ``traced``: by the text, on floats too."""
        linear = sum(self._count(sensor, row) for sensor, row in self._with_rows())
        later = linear + (len(self._motion.numbers) if self.frames else 0)
        if a is None:
            a = self.accelerations(q, v, tau, numbers[later:]) if self.needs_acceleration else [0.0] * len(q)
        motion: Vector = []
        if self.frames and (traced or not are_own(numbers)):
            names = self._motion.traced.algorithm.inputs
            motion = self._motion(dict(zip(names, (q, v, a), strict=True)), numbers[linear:later])
        out: Vector = []
        place = 0
        for sensor, row in self._with_rows():
            count = self._count(sensor, row)
            own = numbers[place : place + count]
            place += count
            out.append(own[0] * self._value(sensor, row, own[2:], (q, v, a), tau, motion) + own[1])
        return out

    def _count(self, sensor: Sensor, row: Floats) -> int:
        own = sensor.measures
        more = 4 if isinstance(own, TorqueSensor) else int(isinstance(own, Encoder) and self._counts(own))
        return 2 + int(np.count_nonzero(row)) + more

    def _value(
        self,
        sensor: Sensor,
        row: Floats,
        numbers: Vector,
        state: tuple[Vector, Vector, Vector],
        tau: Vector,
        motion: Vector,
    ) -> Scalar:
        """What one sensor measures, before its gain."""
        own, places = sensor.measures, np.flatnonzero(row).tolist()
        q, v, a = state
        if isinstance(own, Accelerometer | Gyro):
            return self._of_frame(own, state, motion)
        if isinstance(own, TorqueSensor):
            rate, acceleration = (_sum(numbers, x, places) for x in (v, a))
            viscous, coulomb, smoothing, rotor = numbers[len(places) :]
            dry: Scalar = coulomb * tanh(rate / smoothing) if self._friction(own)[1] else 0.0
            return tau[self.arm.inputs.index(own.joint)] - rotor * acceleration - viscous * rate - dry
        value = _sum(numbers, q, places)
        if isinstance(own, Encoder) and self._counts(own):
            step = numbers[len(places)]
            return step * floor(value / step + 0.5)
        return value

    def _of_frame(self, own: Accelerometer | Gyro, state: tuple[Vector, Vector, Vector], motion: Vector) -> Scalar:
        """Rate of turn, or acceleration less gravity, along an axis of a frame."""
        where, function = self.arm.frame_acceleration(own.frame, weight=True)
        k = where.start + MOTION_SIZE + "xyz".index(own.axis) + (3 if isinstance(own, Accelerometer) else 0)
        return motion[k] if motion else function(*np.broadcast_arrays(*(as_rows(x) for x in state)))[..., k]


def _sum(numbers: Vector, x: Vector, places: Sequence[int]) -> Scalar:
    total: Scalar = 0.0
    for number, k in zip(numbers, places, strict=False):
        total = total + number * x[k]
    return total
