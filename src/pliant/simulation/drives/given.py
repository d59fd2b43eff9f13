"""Torques that are known beforehand: numbers, expressions in t, arrays, CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from pliant.errors import ModelError
from pliant.model.element import of_value, refuse, rule
from pliant.model.units import Number
from pliant.simulation.drives.drive import NO_RATES, Action, ActiveDrive, Drive
from pliant.simulation.joint_table import read_joint_table
from pliant.simulation.per_joint import Efforts, spread
from pliant.simulation.signals import Signal, signal
from pliant.simulation.study_file import StudyFile
from pliant.simulation.trajectories.path import Floats, Surroundings

Interpolation = Literal["linear", "hold", "cubic"]


class GivenTorque(Drive):
    """Torques (forces of sliding joints) as functions of time; one of `joints`, `file`, or `time` with `torque`.

    A table is zero before its first and after its last time, but for ``hold``, which holds the last row.
    """

    kind = "given"
    joints: Efforts | None = Field(
        default=None, description="joint names to numbers or expressions in t; the others are zero"
    )
    file: StudyFile | None = Field(default=None, description="CSV file with a column 't' and one per joint")
    time: tuple[Number, ...] | None = Field(default=None, description="times of a table, increasing")
    torque: tuple[tuple[Number, ...], ...] | None = Field(
        default=None, description="one row per time, one column per input"
    )
    interpolation: Interpolation = Field(default="linear", description="linear, hold or cubic between the times")

    @field_validator("time", "torque", mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.time is None) != (self.torque is None):
            raise rule("a table needs both time and torque")
        if sum(x is not None for x in (self.joints, self.file, self.time)) != 1:
            raise rule("give one of joints, file, or time with torque")
        if self.time is not None and self.torque is not None:
            if len(self.time) != len(self.torque):
                raise rule("{t} times, but {r} rows of torque", t=len(self.time), r=len(self.torque))
            if len({len(row) for row in self.torque}) != 1:
                refuse([of_value("torque", message="has rows of different lengths")])
            if not np.all(np.diff(self.time) > 0):
                refuse([of_value("time", message="must increase")])
        return self

    @property
    def files(self) -> tuple[str, ...]:
        """What is read besides the study."""
        return () if self.file is None else (self.file,)

    def bind(self, around: Surroundings, q0: Floats) -> ActiveDrive:
        if self.joints is not None:
            signals = [signal(x) for x in spread(self.joints, around.inputs, 0.0, "joints")]
            return _Signals(signals)
        if self.file is not None:
            times, rows = read_joint_table(self.file, around.inputs, np.zeros(len(around.inputs)), "torques")
        else:
            assert self.time is not None
            assert self.torque is not None
            times, rows = np.array(self.time), np.array(self.torque)
            if rows.shape[1] != len(around.inputs):
                raise ModelError(
                    f"torque has {rows.shape[1]} columns; the robot has the inputs {', '.join(around.inputs)}"
                )
        return _Table(times, rows, self.interpolation)


class _Signals(ActiveDrive):
    feedback = False

    def __init__(self, signals: Sequence[Signal]) -> None:
        self.signals = signals

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(sorted({t for f in self.signals for t in f.breaks}))

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        return Action(np.array([f(t) for f in self.signals]), NO_RATES)


class _Table(ActiveDrive):
    feedback = False

    def __init__(self, times: Floats, rows: Floats, interpolation: Interpolation) -> None:
        self.times, self.rows, self.interpolation = times, rows, interpolation
        self.zero = np.zeros(rows.shape[1])
        if interpolation == "cubic":
            from scipy.interpolate import CubicSpline

            self.curve = CubicSpline(times, rows)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(float(t) for t in self.times)

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        times, rows = self.times, self.rows
        k = int(np.searchsorted(times, t, side="right")) - 1
        last = len(times) - 1
        if k < 0 or (t > times[-1] and self.interpolation != "hold"):
            tau = self.zero
        elif self.interpolation == "hold" or k == last:
            tau = rows[k]
        elif self.interpolation == "cubic":
            tau = self.curve(t)
        else:
            part = (t - times[k]) / (times[k + 1] - times[k])
            tau = rows[k] + part * (rows[k + 1] - rows[k])
        return Action(tau, NO_RATES)
