"""Trajectories given in joint coordinates.

A profile tells how a motion from 0 to 1 develops in time: s(u) on 0 <= u <= 1 with its first two derivatives.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from pliant.model.element import Element, of_value, refuse, rule
from pliant.model.units import POSITIVE, Quantity, Time
from pliant.trajectories.path import Desired, Floats, Path, Rest, Surroundings, Trajectory
from pliant.trajectories.per_joint import Accelerations, Coordinates, SpeedLimits, Speeds, Times, numbers


class PathProgress(NamedTuple):
    """s, ds/du and d2s/du2: numbers, or arrays."""

    s: Any
    ds: Any
    dds: Any


@dataclass(frozen=True, slots=True)
class Profile:
    """A rest-to-rest profile; ``breaks`` are the places inside (0, 1) where its acceleration jumps."""

    function: Callable[[Any], PathProgress]
    breaks: tuple[float, ...] = ()

    def __call__(self, u: float) -> PathProgress:
        """The progress; it rests outside of 0 to 1."""
        if u <= 0.0:
            return PathProgress(0.0, 0.0, 0.0)
        return self.function(u) if u < 1.0 else PathProgress(1.0, 0.0, 0.0)

    def many(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """The progress at several places."""
        s, ds, dds = (u >= 1.0).astype(float), np.zeros_like(u), np.zeros_like(u)
        inside = (u > 0.0) & (u < 1.0)
        if inside.any():
            s[inside], ds[inside], dds[inside] = self.function(u[inside])
        return s, ds, dds


def _cycloidal(u: Any) -> PathProgress:
    w = 2 * np.pi
    sine = np.sin(w * u)
    return PathProgress(u - sine / w, 1 - np.cos(w * u), w * sine)


def _quintic(u: Any) -> PathProgress:
    s = u * u * u * (10 + u * (6 * u - 15))
    return PathProgress(s, 30 * (u * (1 - u)) ** 2, 60 * u * (1 - u) * (1 - 2 * u))


def _septic(u: Any) -> PathProgress:
    s = u**4 * (35 + u * (u * (70 - 20 * u) - 84))
    left = u * (1 - u)
    return PathProgress(s, 140 * left**3, 420 * left**2 * (1 - 2 * u))


def _nonic(u: Any) -> PathProgress:
    s = u**5 * (126 + u * (u * (540 + u * (70 * u - 315)) - 420))
    left = u * (1 - u)
    return PathProgress(s, 630 * left**4, 2520 * left**3 * (1 - 2 * u))


CYCLOIDAL = Profile(_cycloidal)
QUINTIC = Profile(_quintic)
SEPTIC = Profile(_septic)
NONIC = Profile(_nonic)
SMOOTH_PROFILES = {"cycloidal": CYCLOIDAL, "quintic": QUINTIC, "septic": SEPTIC, "nonic": NONIC}
"""Profiles without any number of their own."""


@lru_cache
def trapezoidal(ramp: float) -> Profile:
    """Constant acceleration during the fraction ``ramp`` (at most 1/2), constant rate, the same ramp down."""
    rate = 1 / (1 - ramp)
    acceleration = rate / ramp

    def function(u: Any) -> PathProgress:
        up, down, left = u < ramp, u >= 1 - ramp, 1 - u
        rising, falling = acceleration * u * u / 2, 1 - acceleration * left * left / 2
        s = np.where(up, rising, np.where(down, falling, rate * (u - ramp / 2)))
        ds = np.where(up, acceleration * u, np.where(down, acceleration * left, rate))
        dds = np.where(up, acceleration, np.where(down, -acceleration, 0.0))
        return PathProgress(s, ds, dds)

    return Profile(function, (ramp, 1 - ramp) if ramp < 0.5 else (0.5,))


Duration = Annotated[float, Quantity("s", POSITIVE)]
Ramp = Annotated[float, Quantity("", POSITIVE)]
# an end value that differs from the start by less moves no joint
STILL = 1e-12

MANY_KNOTS = 40
"""Knots of a spline up to which every one ends a step; among more of them the kinks of the jerk are small."""
EVEN = 1e-9
"""Relative differences of intervals that count as equal."""


def fitting_ramp(ramp: float) -> None:
    """Refuse ramps that take more than the whole duration."""
    if ramp > 0.5:
        rule = "it is the part of the duration that each ramp takes, and two fit only up to 0.5"
        refuse([of_value("ramp", message=f"is {ramp:g}; {rule}")])


@dataclass(frozen=True)
class ProfiledMove:
    """All inputs move together from q0 by ``delta`` along one profile."""

    q0: Floats
    delta: Floats
    profile: Profile
    start: float
    duration: float

    @property
    def breaks(self) -> tuple[float, ...]:
        inner = tuple(self.start + u * self.duration for u in self.profile.breaks)
        return (self.start, *inner, self.end)

    @property
    def end(self) -> float:
        return self.start + self.duration

    def at(self, t: float) -> Desired:
        T = self.duration
        s, ds, dds = self.profile((t - self.start) / T)
        return Desired(self.q0 + s * self.delta, ds / T * self.delta, dds / T**2 * self.delta)

    def many(self, times: Floats) -> Desired:
        """The motion at several times."""
        T = self.duration
        s, ds, dds = self.profile.many((times - self.start) / T)
        return Desired(
            self.q0 + np.outer(s, self.delta), np.outer(ds / T, self.delta), np.outer(dds / T**2, self.delta)
        )


class _Move(Trajectory):
    """From rest to rest."""

    to: Coordinates = Field(description="joint positions at the end; joints that are left out stay")
    start: Time = Field(default=0.0, description="time before the motion begins")

    @abstractmethod
    def _profile(self, delta: Floats, names: tuple[str, ...]) -> tuple[Profile, float]:
        """The profile of the motion by delta (inputs,), and its duration in s."""

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        delta = numbers(self.to, around.inputs, q0, "to") - q0
        profile, duration = self._profile(delta, around.inputs)
        return ProfiledMove(q0, delta, profile, t0 + self.start, duration)


class Cycloidal(_Move):
    """From rest to rest along a cycloid, s = t/T - sin(2 pi t/T)/(2 pi): no jump of the acceleration."""

    kind = "cycloidal"
    duration: Duration = Field(description="time from rest to rest")

    def _profile(self, delta: Floats, names: tuple[str, ...]) -> tuple[Profile, float]:
        return CYCLOIDAL, self.duration


class Quintic(_Move):
    """From rest to rest along the polynomial of fifth degree, s = 10 u^3 - 15 u^4 + 6 u^5."""

    kind = "quintic"
    duration: Duration = Field(description="time from rest to rest")

    def _profile(self, delta: Floats, names: tuple[str, ...]) -> tuple[Profile, float]:
        return QUINTIC, self.duration


class Septic(_Move):
    """From rest to rest along the polynomial of seventh degree: the jerk begins and ends at zero, too."""

    kind = "septic"
    duration: Duration = Field(description="time from rest to rest")

    def _profile(self, delta: Floats, names: tuple[str, ...]) -> tuple[Profile, float]:
        return SEPTIC, self.duration


class Nonic(_Move):
    """From rest to rest along s = 126 u^5 - 420 u^6 + 540 u^7 - 315 u^8 + 70 u^9: four derivatives end at zero."""

    kind = "nonic"
    duration: Duration = Field(description="time from rest to rest")

    def _profile(self, delta: Floats, names: tuple[str, ...]) -> tuple[Profile, float]:
        return NONIC, self.duration


class Trapezoidal(_Move):
    """Constant acceleration, constant rate, constant deceleration; all joints start and arrive together.

    Either ``duration`` with the fraction ``ramp`` of it for each ramp, or the largest ``velocity`` and
    ``acceleration`` of the joints, which are then used as fully as the slowest joint allows.
    """

    kind = "trapezoidal"
    duration: Duration | None = Field(default=None, description="time from rest to rest")
    ramp: Ramp = Field(default=1 / 3, description="part of the duration that each ramp takes, at most 1/2")
    velocity: SpeedLimits | None = Field(default=None, description="largest joint rates")
    acceleration: Accelerations | None = Field(default=None, description="largest joint accelerations")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.duration is None) == (self.velocity is None or self.acceleration is None):
            raise rule("give either duration, or both velocity and acceleration")
        fitting_ramp(self.ramp)
        return self

    def _profile(self, delta: Floats, names: tuple[str, ...]) -> tuple[Profile, float]:
        if self.duration is not None:
            return trapezoidal(self.ramp), self.duration
        moving = np.abs(delta) > STILL
        if not moving.any():
            return QUINTIC, STILL
        # limits of the common progress from 0 to 1
        V = float(np.min(numbers(self.velocity, names, inf)[moving] / np.abs(delta[moving])))
        A = float(np.min(numbers(self.acceleration, names, inf)[moving] / np.abs(delta[moving])))
        if not np.isfinite([V, A]).all():
            raise self.fault("velocity and acceleration are needed for a joint that moves")
        ramp_time = min(V / A, A**-0.5)
        duration = 1 / V + ramp_time if ramp_time < A**-0.5 else 2 * ramp_time
        return trapezoidal(min(ramp_time / duration, 0.5)), duration


class MohanSaha(Trajectory):
    """Eq. (44) of Mohan & Saha as printed: theta = k (t - T/pi sin(pi t/T)) on top of the start.

    It begins at rest and turns at the rate 2 k at t = T: it is not a motion from rest to rest, and it goes on.
    """

    kind = "mohan_saha"
    k: Speeds = Field(description="mean rates k; joints that are left out rest")
    T: Times = Field(description="half periods T")

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        k = numbers(self.k, around.inputs, 0.0, "k")
        T = numbers(self.T, around.inputs, 1.0, "T")

        def many(times: Floats) -> Desired:
            t = times[:, None] - t0
            phase = np.pi * t / T
            q = q0 + k * (t - T / np.pi * np.sin(phase))
            return Desired(q, k * (1 - np.cos(phase)), k * np.pi / T * np.sin(phase))

        return SmoothPath(many)


@dataclass(frozen=True)
class SmoothPath:
    """A path given by a function of times (k,), smooth but for its breaks.

    spacing  s: between its first and last break it is a spline whose knots are so far apart; 0: it is smooth there
    """

    function: Callable[[Floats], Desired]
    breaks: tuple[float, ...] = ()
    end: float = inf
    spacing: float = 0.0

    @classmethod
    def spline(cls, function: Callable[[Floats], Desired], knots: Floats, end: float) -> SmoothPath:
        """A curve with continuous accelerations through points; many even knots are stepped over, others are breaks."""
        spacing = float(knots[-1] - knots[0]) / (len(knots) - 1)
        if len(knots) > MANY_KNOTS and np.allclose(np.diff(knots), spacing, rtol=EVEN, atol=0.0):
            return cls(function, (float(knots[0]), float(knots[-1])), end, spacing)
        return cls(function, tuple(float(t) for t in knots), end)

    def knots_after(self, t: float) -> tuple[float, float]:
        """The first of its even knots after a time, and their distance; endless where there are none."""
        if not self.spacing or not self.breaks[0] <= t < self.breaks[-1]:
            return inf, inf
        passed = np.floor((t - self.breaks[0]) / self.spacing + EVEN)
        return float(self.breaks[0] + (passed + 1) * self.spacing), self.spacing

    def at(self, t: float) -> Desired:
        return Desired(*(x[0] for x in self.many(np.array([t]))))

    def many(self, times: Floats) -> Desired:
        """The motion at several times, (times, inputs) each."""
        return self.function(times)


class SetPoint(Element):
    """New desired positions from a time on."""

    time: Time = Field(description="when they are commanded")
    to: Coordinates = Field(description="joint positions; joints that are left out keep theirs")


class Steps(Trajectory):
    """Set points that jump: the desired positions are constant between the times."""

    kind = "steps"
    points: tuple[SetPoint, ...] = Field(description="the set points, in the order of their times")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for i in range(1, len(self.points)):
            if self.points[i].time <= self.points[i - 1].time:
                refuse([of_value("points", i, "time", message="must be later than the one before it")])
        return self

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        times = np.array([t0 + point.time for point in self.points])
        levels = [q0]
        for point in self.points:
            levels.append(numbers(point.to, around.inputs, levels[-1], "to"))

        def many(at: Floats) -> Desired:
            q = np.array(levels)[np.searchsorted(times, at, side="right")]
            return Desired(q, np.zeros_like(q), np.zeros_like(q))

        return SmoothPath(many, tuple(times), float(times[-1]) if len(times) else t0)


class Spline(Trajectory):
    """A smooth curve through points.

    ``cubic`` has continuous accelerations; ``quintic`` also starts and ends with acceleration zero and has continuous
    jerk. Both start and end with rate zero unless the rates are given.
    """

    kind = "spline"
    times: tuple[Time, ...] = Field(description="times of the points, the first is the start of the motion")
    points: tuple[Coordinates, ...] = Field(
        description="joint positions at the times; joints that are left out stay where they were"
    )
    degree: Literal["cubic", "quintic"] = Field(default="cubic", description="cubic or quintic")
    initial_rate: Speeds | None = Field(default=None, description="rates at the first point; default: at rest")
    final_rate: Speeds | None = Field(
        default=None, description="rates at the last point, with which the joints go on; default: at rest"
    )

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if len(self.times) < 2 or len(self.times) != len(self.points):
            raise rule(
                "a spline needs as many points as times, at least 2; it has {p} and {t}",
                p=len(self.points),
                t=len(self.times),
            )
        if any(b <= a for a, b in zip(self.times, self.times[1:], strict=False)):
            refuse([of_value("times", message="must increase")])
        return self

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        from scipy.interpolate import CubicSpline, make_interp_spline

        levels: list[Floats] = []
        for point in self.points:
            levels.append(numbers(point, around.inputs, levels[-1] if levels else q0, "points"))
        x, y = np.array(self.times) + t0, np.array(levels)
        first, last = (
            np.zeros_like(q0) if given is None else numbers(given, around.inputs, 0.0, name)
            for name, given in (("initial_rate", self.initial_rate), ("final_rate", self.final_rate))
        )
        if self.degree == "cubic":
            curve: Any = CubicSpline(x, y, bc_type=((1, first), (1, last)))
        else:
            still = (2, np.zeros_like(q0))
            curve = make_interp_spline(x, y, k=5, bc_type=([(1, first), still], [(1, last), still]))
        rate, acceleration = curve.derivative(1), curve.derivative(2)

        def many(times: Floats) -> Desired:
            inside = ((times >= x[0]) & (times < x[-1]))[:, None]
            kept = np.clip(times, x[0], x[-1])
            beyond = np.maximum(times - x[-1], 0.0)[:, None]
            outside = np.where((times >= x[-1])[:, None], last, 0.0)
            return Desired(
                curve(kept) + beyond * last,
                np.where(inside, rate(kept), outside),
                np.where(inside, acceleration(kept), 0.0),
            )

        return SmoothPath.spline(many, x, float(x[-1]) if not last.any() else inf)


class Hold(Trajectory):
    """Stay where the robot starts, or at given positions."""

    kind = "hold"
    to: Coordinates | None = Field(default=None, description="joint positions; default: those of the start")
    duration: Duration | None = Field(default=None, description="how long, within a sequence")

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        q = q0 if self.to is None else numbers(self.to, around.inputs, q0, "to")
        return Rest(q, end=t0 + (self.duration or 0.0))
