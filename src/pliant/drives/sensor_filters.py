"""Low-pass filters of sensors as states of a run: y'' + 2 zeta w y' + w^2 y = w^2 x, or y' + w y = w x.

An accelerometer measures x = u' + f: the rate of the frame's velocity u in its own axes, and w x u less gravity. Both
filters can be put such that no acceleration is needed: with z = y - w u, z' = w (f - y), or with p = y' - w^2 u,
p' = w^2 (f - y) - 2 zeta w y'. So a filter follows from coordinates and rates alone, whatever drives and loads do.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np

from pliant.drives.readings import SensorReadings
from pliant.dynamics import Dynamics
from pliant.laws import Action, Floats, LawState
from pliant.loads.load import Load
from pliant.model.description.sensors import Accelerometer, Gyro, LowPass, Sensor, StrainGauge
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector, cross

FINE = 1e-4
"""Errors of strains that a filter may make, in those of coordinates: strains are small."""


class SensorFilters(Load):
    """The filters of all sensors of a robot that have one: states of a run that act on nothing."""

    prefix = "sensor."

    def __init__(self, arm: Dynamics, q: Floats, v: Floats) -> None:
        """q, v: where the run begins; filters have settled on what the sensors see there, but for accelerations."""
        self.arm = arm
        self.sensors = filtered_sensors(arm.robot.sensors)
        self.readings = [SensorReadings(arm, _seen(sensor), steps=False) for sensor in self.sensors]
        values = self._values(q.tolist(), v.tolist(), list(self._numbers))
        states: list[LawState] = []
        for sensor, (x, u) in zip(self.sensors, values, strict=True):
            low = _filter(sensor)
            scale = FINE if isinstance(sensor.measures, StrainGauge) else 1.0
            w, unit = low.rate, sensor.measures.unit if isinstance(sensor.measures, Gyro | Accelerometer) else ""
            first = float(x) - (w * float(u) if low.zeta is None else 0.0)
            states.append(LawState(f"{sensor.name}.filter", unit, first, scale))
            if low.zeta is not None:
                states.append(LawState(f"{sensor.name}.filter.rate", f"{unit}/s", -(w**2) * float(u), w * scale))
        self.states = tuple(states)

    @property
    def structure(self) -> Hashable:
        kinds = tuple((sensor.measures.key, _axis(sensor), _filter(sensor).zeta is None) for sensor in self.sensors)
        return "sensor filters", kinds, tuple(each.structure for each in self.readings)

    @cached_property
    def _numbers(self) -> tuple[float, ...]:
        return tuple(x for each in self.readings for x in each.numbers)

    @property
    def gains(self) -> tuple[float, ...]:  # type: ignore[override]
        own = [x for sensor in self.sensors for x in (_filter(sensor).rate, _filter(sensor).zeta or 0.0)]
        return (*own, *self._numbers)

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        count = 2 * len(self.sensors)
        rates: Vector = []
        place = 0
        for k, (x, u) in enumerate(self._values(q, v, gains[count:])):
            w, zeta = gains[2 * k : 2 * k + 2]
            if _filter(self.sensors[k]).zeta is None:
                rates.append(w * (x - (z[place] + w * u)))
                place += 1
                continue
            rate = z[place + 1] + w * w * u
            rates += [rate, w * w * (x - z[place]) - 2.0 * zeta * w * rate]
            place += 2
        return Action([0.0] * len(q), rates, supplied=0.0)

    def _values(self, q: Vector, v: Vector, numbers: Vector) -> list[tuple[Scalar, Scalar]]:
        """What each filter takes, and what it takes the rate of."""
        out: list[tuple[Scalar, Scalar]] = []
        place, still, efforts = 0, [0.0] * len(q), [0.0] * len(self.arm.inputs)
        for sensor, readings in zip(self.sensors, self.readings, strict=True):
            own = numbers[place : place + len(readings.numbers)]
            place += len(readings.numbers)
            seen = readings.read(q, v, efforts, own, still)
            if not isinstance(sensor.measures, Accelerometer):
                out.append((seen[0], 0.0))
                continue
            # at rest an accelerometer sees weight, and what accelerations of the coordinates add to it
            weight = readings.read(q, still, efforts, own, still)[:3]
            moved = readings.read(q, still, efforts, own, v)[:3]
            u = [x - y for x, y in zip(moved, weight, strict=True)]
            k = _axis(sensor)
            out.append((cross(seen[3:], u)[k] + weight[k], u[k]))
        return out

    def filtered(self, q: Floats, v: Floats, z: Floats) -> Floats:
        """What leaves the filters, before gains, at several instants (times, sensors)."""
        columns = [list(np.ascontiguousarray(x.T)) for x in (q, v)]
        out = np.empty((len(q), len(self.sensors)))
        place = 0
        for k, (sensor, (_, u)) in enumerate(
            zip(self.sensors, self._values(columns[0], columns[1], list(self._numbers)), strict=True)
        ):
            low = _filter(sensor)
            out[:, k] = z[:, place] + (low.rate * u if low.zeta is None else 0.0)
            place += low.order
        return out


def filtered_sensors(sensors: Sequence[Sensor]) -> tuple[Sensor, ...]:
    """Sensors that have a filter."""
    return tuple(sensor for sensor in sensors if sensor.filter is not None)


def _filter(sensor: Sensor) -> LowPass:
    assert sensor.filter is not None
    return sensor.filter


def _axis(sensor: Sensor) -> int:
    own = sensor.measures
    return "xyz".index(own.axis) if isinstance(own, Accelerometer | Gyro) else 0


def _seen(sensor: Sensor) -> tuple[Sensor, ...]:
    """What a filter needs: the value itself, or all axes of its frame."""
    own = sensor.measures
    if not isinstance(own, Accelerometer):
        return (sensor.with_changes(gain=1.0, bias=0.0),)
    return (
        *(Sensor(name=axis, accelerometer=Accelerometer(frame=own.frame, axis=axis)) for axis in "xyz"),
        *(Sensor(name=axis, gyro=Gyro(frame=own.frame, axis=axis)) for axis in "xyz"),
    )
