"""Motions that do not begin and end at rest: constant rates, formulas in t, tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from pliant.model.element import of_value, refuse, rule
from pliant.model.expressions import FACTORIALS, SHAPES, parse_node
from pliant.model.units import Number, Time
from pliant.trajectories.joint_moves import Duration, SmoothPath
from pliant.trajectories.joint_table import read_joint_table
from pliant.trajectories.path import Desired, Floats, Path, Surroundings, Trajectory
from pliant.trajectories.per_joint import PerJoint, PerJointValue, Speeds, numbers, spread
from pliant.trajectories.signals import SignalForm
from pliant.trajectories.smoothing import Smoothing, filtered
from pliant.trajectories.study_file import StudyFile

MOTION = replace(SHAPES, variables={"t": SHAPES.variables["x"]})
"""The safe language of the mode shapes in the time t: a value comes with its exact rate and acceleration."""


@lru_cache(maxsize=256)
def parse_motion(text: str) -> Callable[[Floats], tuple[Floats, Floats, Floats]]:
    """Position, rate and acceleration at some times from a formula in t; raises ExpressionError."""
    node = parse_node(text, MOTION)

    def motion(times: Floats) -> tuple[Floats, Floats, Floats]:
        with np.errstate(all="ignore"):
            jet = node(np.asarray(times, dtype=float), 1.0)
        return jet[0], FACTORIALS[1] * jet[1], FACTORIALS[2] * jet[2]

    return motion


class MotionForm(SignalForm):
    """The reading of a position over time: a number (with a unit in files), or a formula in t."""

    parse = staticmethod(parse_motion)


Motions = Annotated[PerJointValue, PerJoint(MotionForm("rad", sliding="m"), single=False)]


class ConstantRate(Trajectory):
    """Joints that turn or slide on at a constant rate, reached smoothly during a ramp or there from the start.

    Without a ramp the desired rate jumps to its value; a start with that velocity makes it smooth.
    """

    kind = "rate"
    rate: Speeds = Field(description="rates of the joints; joints that are left out rest")
    ramp: Time = Field(default=0.0, description="time in which the rate rises from zero")
    start: Time = Field(default=0.0, description="time before the motion begins")
    duration: Duration | None = Field(default=None, description="how long, within a sequence; default: for ever")

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        rate = numbers(self.rate, around.inputs, 0.0, "rate")
        begin, T = t0 + self.start, self.ramp

        def many(times: Floats) -> Desired:
            t = np.maximum(times - begin, 0.0)[:, None]
            on = (times >= begin)[:, None]
            if not T:
                return Desired(q0 + rate * t, np.where(on, rate, 0.0), np.zeros((len(times), len(rate))))
            # the rate follows s = 10 u^3 - 15 u^4 + 6 u^5
            u = np.minimum(t / T, 1.0)
            s, ds = u**3 * (10 - 15 * u + 6 * u * u), 30 * (u * (1 - u)) ** 2
            way = T * u**4 * (2.5 - 3 * u + u * u) + np.maximum(t - T, 0.0)
            return Desired(q0 + rate * way, rate * s, rate * ds / T)

        breaks = (begin, begin + T) if T else (begin,)
        return _lasting(many, breaks, inf if self.duration is None else begin + self.duration)


class ExpressionMotion(Trajectory):
    """Joint positions as formulas in the time t from the start of the motion, such as ``0.3*sin(2*pi*t)``.

    Rates and accelerations are their exact derivatives. The motion begins where the formula says: start the robot
    there, and with its rate, where that matters.
    """

    kind = "expression"
    joints: Motions = Field(description="joint names to formulas in t, or numbers; joints that are left out stay")
    duration: Duration | None = Field(default=None, description="how long, within a sequence; default: for ever")

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        given = spread(self.joints, around.inputs, q0, "joints")
        motions = [parse_motion(x) if isinstance(x, str) else _still(float(x)) for x in given]

        def many(times: Floats) -> Desired:
            columns = [motion(times - t0) for motion in motions]
            return Desired(*(np.stack([column[k] for column in columns], axis=1) for k in range(3)))

        probe = many(np.array([t0]))
        if not all(np.isfinite(x).all() for x in probe):
            k = int(np.argwhere(~np.isfinite(np.vstack(probe)).all(axis=0))[0, 0])
            raise self.fault(f"joints: '{given[k]}' of joint '{around.inputs[k]}' has no value or no rate at t = 0")
        return _lasting(many, (), inf if self.duration is None else t0 + self.duration)


def _lasting(many: Callable[[Floats], Desired], breaks: tuple[float, ...], end: float) -> SmoothPath:
    """A motion that stops where it is at its end."""
    if end == inf:
        return SmoothPath(many, breaks)

    def stopped(times: Floats) -> Desired:
        q, v, a = many(np.minimum(times, end))
        on = (times < end)[:, None]
        return Desired(q, np.where(on, v, 0.0), np.where(on, a, 0.0))

    return SmoothPath(stopped, (*(b for b in breaks if b < end), end), end)


def _still(value: float) -> Callable[[Floats], tuple[Floats, Floats, Floats]]:
    def motion(times: Floats) -> tuple[Floats, Floats, Floats]:
        none = np.zeros_like(times)
        return np.full_like(times, value), none, none

    return motion


QUINTIC_ROWS = 6
FEW_ROWS = "a quintic curve needs at least {least} rows; the table has {rows}: write degree: cubic"


class TableMotion(Trajectory):
    """Joint positions at given times, from lists or a CSV file, with a smooth curve through them.

    The curve is a cubic spline whose ends are free (not at rest) unless ``ends`` says rest; beyond the table the first
    and the last position are held. A quintic one has continuous jerk, and rests with acceleration zero.
    """

    kind = "table"
    time: tuple[Number, ...] | None = Field(default=None, description="times, s, increasing")
    positions: tuple[tuple[Number, ...], ...] | None = Field(
        default=None, description="one row per time, one column per input, rad or m"
    )
    file: StudyFile | None = Field(default=None, description="CSV file with a column 't' and one per joint, rad or m")
    ends: Literal["free", "rest"] = Field(default="free", description="rates at both ends: those of the curve, or zero")
    smooth: Smoothing | None = Field(
        default=None, description="filter of measured positions: {cutoff: 20 Hz} or {noise: 1e-6}; default: none"
    )
    degree: Literal["cubic", "quintic"] = Field(default="cubic", description="of the curve: cubic or quintic")

    @field_validator("time", "positions", mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.time is None) != (self.positions is None) or (self.time is None) == (self.file is None):
            raise rule("give either file, or time with positions")
        if self.time is not None and self.positions is not None:
            if len(self.time) < 2 or len(self.time) != len(self.positions):
                raise rule(
                    "a table needs as many rows as times, at least 2; it has {r} and {t}",
                    r=len(self.positions),
                    t=len(self.time),
                )
            if len({len(row) for row in self.positions}) != 1:
                refuse([of_value("positions", message="has rows of different lengths")])
            if not np.all(np.diff(self.time) > 0):
                refuse([of_value("time", message="must increase")])
        if self.degree == "quintic" and self.time is not None and len(self.time) < QUINTIC_ROWS:
            raise rule(FEW_ROWS, rows=len(self.time), least=QUINTIC_ROWS)
        return self

    @property
    def files(self) -> tuple[str, ...]:
        """What is read besides the study."""
        return () if self.file is None else (self.file,)

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        from scipy.interpolate import CubicSpline, make_interp_spline

        if self.file is not None:
            x, y = read_joint_table(self.file, around.inputs, q0, "positions")
        else:
            x, y = np.array(self.time), np.array(self.positions)
        if y.shape[1] != len(around.inputs):
            names = ", ".join(around.inputs)
            raise self.fault(f"positions: there are {y.shape[1]} columns; the robot has the inputs {names}")
        if self.smooth is not None:
            try:
                x, y = filtered(x, y, cutoff=self.smooth.cutoff, noise=self.smooth.noise)[:2]
            except ValueError as error:
                raise self.fault(f"smooth: {error}") from None
        x = x + t0
        if self.degree == "quintic":
            if len(x) < QUINTIC_ROWS:
                raise self.fault(FEW_ROWS.format(rows=len(x), least=QUINTIC_ROWS))
            still = [(1, np.zeros(y.shape[1])), (2, np.zeros(y.shape[1]))]
            curve: Any = make_interp_spline(x, y, k=5, bc_type=(still, still) if self.ends == "rest" else None)
        else:
            curve = CubicSpline(x, y, bc_type="clamped" if self.ends == "rest" else "not-a-knot")
        rate, acceleration = curve.derivative(1), curve.derivative(2)

        def many(times: Floats) -> Desired:
            inside = ((times >= x[0]) & (times < x[-1]))[:, None]
            kept = np.clip(times, x[0], x[-1])
            return Desired(curve(kept), np.where(inside, rate(kept), 0.0), np.where(inside, acceleration(kept), 0.0))

        return SmoothPath.spline(many, x, float(x[-1]))
