"""Torques that are known beforehand: numbers, expressions in t, arrays, CSV files; or none, of motors that are off."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from pliant.drives.drive import Drive, DriveLaw
from pliant.errors import ModelError
from pliant.laws import Action, Floats
from pliant.model.element import of_value, refuse, rule
from pliant.model.units import Number
from pliant.spatial.vectors import Vector
from pliant.trajectories.joint_table import read_joint_table
from pliant.trajectories.path import Surroundings
from pliant.trajectories.per_joint import Efforts, spread
from pliant.trajectories.signals import Signal, signal
from pliant.trajectories.study_file import StudyFile

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

    def bind(self, around: Surroundings, q0: Floats) -> DriveLaw:
        if self.joints is not None:
            signals = [signal(x) for x in spread(self.joints, around.inputs, 0.0, "joints")]
            return GivenSignals(signals)
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
        return GivenTable(times, rows, self.interpolation)


class GivenLaw(DriveLaw):
    """Efforts that depend on time alone: the signals themselves."""

    feedback = False

    @property
    def structure(self) -> Hashable:
        return "given", self.channels

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        return Action(list(signals))


class GivenSignals(GivenLaw):
    """Efforts by numbers and expressions, one for each input."""

    def __init__(self, parts: Sequence[Signal]) -> None:
        self.parts, self.channels = parts, len(parts)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(sorted({t for f in self.parts for t in f.breaks}))

    def signals(self, t: Floats) -> Floats:
        return np.column_stack([np.zeros((len(t), 0)), *(part.many(t) for part in self.parts)])


class GivenTable(GivenLaw):
    """Efforts between the rows of a table."""

    def __init__(self, times: Floats, rows: Floats, interpolation: Interpolation) -> None:
        self.times, self.rows, self.interpolation = times, rows, interpolation
        self.channels = rows.shape[1]
        if interpolation == "cubic":
            from scipy.interpolate import CubicSpline

            self.curve = CubicSpline(times, rows)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(float(t) for t in self.times)

    def signals(self, t: Floats) -> Floats:
        times, rows, last = self.times, self.rows, len(self.times) - 1
        k = np.searchsorted(times, t, side="right") - 1
        at, inside = np.clip(k, 0, last), np.clip(k, 0, max(last - 1, 0))
        if self.interpolation == "hold":
            out = rows[at]
        elif self.interpolation == "cubic":
            out = np.where((k == last)[:, None], rows[at], self.curve(np.clip(t, times[0], times[-1])))
        else:
            # the last row is met exactly
            ahead = np.minimum(inside + 1, last)
            width = np.where(ahead > inside, times[ahead] - times[inside], 1.0)
            part = ((t - times[inside]) / width)[:, None]
            out = np.where((k == last)[:, None], rows[at], rows[inside] + part * (rows[ahead] - rows[inside]))
        outside = (k < 0) | ((t > times[-1]) & (self.interpolation != "hold"))
        return np.where(outside[:, None], 0.0, out)


# ---- off


class NoDrive(GivenLaw):
    """All motors off: no effort at any time."""

    def __init__(self, inputs: int) -> None:
        self.channels = inputs
