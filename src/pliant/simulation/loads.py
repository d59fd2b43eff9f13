"""Forces that no motor makes: disturbances on frames and joints, and joint stops."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from math import inf
from typing import Annotated, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from pliant.dynamics import Dynamics
from pliant.engine.stepping.driving import Acting
from pliant.engine.trace.structure import constants_from, numbers_of, structure_key
from pliant.errors import ModelError, did_you_mean
from pliant.model.element import Element, rule, sequence
from pliant.model.units import NON_NEGATIVE, POSITIVE, Quantity, Time
from pliant.simulation.signals import ForceSignal, MomentSignal, Signal, signal
from pliant.spatial.scalars import ramp
from pliant.spatial.vectors import Vector
from pliant.tree.frame_forces import frame_forces, frame_link

Floats = NDArray[np.float64]

three_signals = BeforeValidator(sequence(3, of="numbers or expressions"))


class Load(Acting, Protocol):
    """A force on a known robot; its law is the same on traced scalars."""

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which it begins, ends or is not smooth; without any it acts always."""

    def acts(self, start: float, end: float) -> bool:
        """Whether it does anything in an interval between breaks."""

    def forces(self, times: Floats, q: Floats, v: Floats) -> Floats:
        """Its generalised forces (times, n) at several instants and states."""

    def signals(self, times: Floats) -> Floats:
        """What of it depends on time alone (times, channels)."""


class Disturbance(Element):
    """A force and a moment on a frame (base axes), or an effort on a joint, within a window of time."""

    frame: str | None = Field(default=None, description="LINK.FRAME, LINK (its tip) or tip")
    force: Annotated[tuple[ForceSignal, ForceSignal, ForceSignal], three_signals] | None = Field(
        default=None, description="force along the axes of the base: numbers or expressions in t"
    )
    moment: Annotated[tuple[MomentSignal, MomentSignal, MomentSignal], three_signals] | None = Field(
        default=None, description="moment about the axes of the base: numbers or expressions in t"
    )
    joint: str | None = Field(default=None, description="or: a coordinate by its name")
    effort: MomentSignal | None = Field(default=None, description="effort on that coordinate")
    start: Time = Field(default=0.0, description="when it begins")
    end: Time | None = Field(default=None, description="when it ends; default: never")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        on_frame = self.frame is not None and (self.force is not None or self.moment is not None)
        on_joint = self.joint is not None and self.effort is not None
        if on_frame == on_joint:
            raise rule("give either frame with force or moment, or joint with effort")
        if self.end is not None and self.end <= self.start:
            raise rule("it ends at {end:g} s, before it begins at {start:g} s", end=self.end, start=self.start)
        return self

    def bind(self, arm: Dynamics) -> Load:
        """The disturbance of a robot."""
        end = inf if self.end is None else self.end
        if self.frame is not None:
            try:
                arm.mechanism.frame(self.frame)
            except KeyError as error:
                raise ModelError(f"disturbance: {error.args[0]}") from None
            zeros = (0.0, 0.0, 0.0)
            parts = [signal(x) for x in (*(self.force or zeros), *(self.moment or zeros))]
            return FrameWrench(arm, self.frame, parts, self.start, end)
        name = self.joint or ""
        if name not in arm.names:
            raise ModelError(f"disturbance: the robot has no coordinate '{name}'{did_you_mean(name, arm.names)}")
        return JointEffort(arm.names.index(name), signal(self.effort or 0.0), self.start, end)


class _Window:
    def __init__(self, parts: Sequence[Signal], start: float, end: float) -> None:
        self.parts, self.start, self.end = parts, start, end

    @property
    def breaks(self) -> tuple[float, ...]:
        inside = (t for part in self.parts for t in part.breaks if self.start < t < self.end)
        return tuple(t for t in (self.start, *inside, self.end) if 0 < t < inf)

    @property
    def channels(self) -> int:
        return len(self.parts)

    def acts(self, start: float, end: float) -> bool:
        return self.start < end and start < self.end

    def signals(self, times: Floats) -> Floats:
        """The parts at several times, zero outside the window."""
        rows = [[part(t) for part in self.parts] if self.start <= t < self.end else self._nothing for t in times]
        return np.array(rows, dtype=float).reshape(len(times), self.channels)

    @cached_property
    def _nothing(self) -> list[float]:
        return [0.0] * len(self.parts)


class FrameWrench(_Window):
    """A force and a moment on a frame, as functions of time."""

    def __init__(self, arm: Dynamics, frame: str, parts: Sequence[Signal], start: float, end: float) -> None:
        super().__init__(parts, start, end)
        self.arm, self.frame = arm, frame
        self.place = frame_link(arm.mechanism, frame)

    def forces(self, times: Floats, q: Floats, v: Floats) -> Floats:
        out: Floats = np.einsum("tki,tk->ti", self.arm.jacobian(self.frame, q), self.signals(times))
        return out

    @property
    def gains(self) -> tuple[float, ...]:
        """The constants of the tree with frames: robots of one structure share the code."""
        return numbers_of(self.place.tree)

    @property
    def structure(self) -> Hashable:
        return "wrench", structure_key(self.place.tree), self.place.link

    def law(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        return frame_forces(self.place, q, r[:3], r[3:], constants_from(self.place.tree, gains))


class JointEffort(_Window):
    """An effort on one coordinate as a function of time."""

    gains: tuple[float, ...] = ()

    def __init__(self, index: int, effort: Signal, start: float, end: float) -> None:
        super().__init__([effort], start, end)
        self.index = index

    def forces(self, times: Floats, q: Floats, v: Floats) -> Floats:
        out = np.zeros_like(q)
        out[:, self.index] = self.signals(times)[:, 0]
        return out

    @property
    def structure(self) -> Hashable:
        return "effort", self.index

    def law(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        return [r[0] if i == self.index else 0.0 for i in range(len(q))]


class Stops(Element):
    """Elastic stops at the position limits of the joints.

    At the depth d behind a limit a stop pushes back with ``stiffness d (1 + loss d_dot)``, never pulling
    (Hunt & Crossley): the force has no jump at the touch, and ``loss`` is what a hard bounce loses.
    """

    stiffness: Annotated[float, Quantity("", POSITIVE)] = Field(default=1e4, description="of the stops, N m/rad or N/m")
    loss: Annotated[float, Quantity("", NON_NEGATIVE)] = Field(
        default=0.5, description="damping of the stops, s/rad or s/m"
    )

    def bind(self, arm: Dynamics) -> Load:
        """The stops of a robot; joints without position limits have none."""
        limits = position_limits(arm)
        if not limits:
            raise ModelError(f"robot '{arm.robot.name}' has no joint with position limits, so it has no stops")
        return ElasticStops(limits, self.stiffness, self.loss)


def position_limits(arm: Dynamics) -> dict[int, tuple[float, float]]:
    """Coordinate -> lowest and highest position, where they are given."""
    found: dict[int, tuple[float, float]] = {}
    for link in arm.robot.links:
        joint: Any = link.joint
        if joint.limits is not None and joint.limits.position is not None:
            found[arm.names.index(joint.name)] = joint.limits.position
    return found


class ElasticStops:
    """Stops at limits of coordinates."""

    breaks: tuple[float, ...] = ()
    channels = 0

    def __init__(self, limits: dict[int, tuple[float, float]], stiffness: float, loss: float) -> None:
        self.limits = [(i, low, high) for i, (low, high) in limits.items()]
        self.stiffness, self.loss = stiffness, loss

    @property
    def gains(self) -> tuple[float, ...]:
        return (self.stiffness, self.loss, *(x for _, low, high in self.limits for x in (low, high)))

    @property
    def structure(self) -> Hashable:
        return "stops", tuple(i for i, _, _ in self.limits)

    def rate(self, mobility: Callable[[int], float]) -> float:
        """How fast the robot rings on the hardest stop that it may touch, rad/s; acceleration per force is given."""
        return max(float(np.sqrt(self.stiffness * max(mobility(i), 0.0))) for i, _, _ in self.limits)

    def acts(self, start: float, end: float) -> bool:
        return True

    def signals(self, times: Floats) -> Floats:
        return np.zeros((len(times), 0))

    def forces(self, times: Floats, q: Floats, v: Floats) -> Floats:
        return np.stack(np.broadcast_arrays(*self.law(list(q.T), list(v.T), [], list(self.gains)), q[:, 0])[:-1], -1)

    def law(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        stiffness, loss, *bounds = gains
        out: Vector = [0.0] * len(q)
        for k, (i, _, _) in enumerate(self.limits):
            low, high = bounds[2 * k : 2 * k + 2]
            below, above = ramp(low - q[i]), ramp(q[i] - high)
            out[i] = ramp(stiffness * below * (1.0 - loss * v[i])) - ramp(stiffness * above * (1.0 + loss * v[i]))
        return out
