"""Disturbances: forces and moments on frames and joints, as functions of time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import inf
from typing import Annotated, Self

import numpy as np
from pydantic import BeforeValidator, Field, StrictBool, model_validator

from pliant.dynamics import Dynamics
from pliant.engine.trace.structure import constants_from, numbers_of, structure_key
from pliant.errors import ModelError, did_you_mean
from pliant.laws import Action, Floats
from pliant.loads.load import Load
from pliant.model.element import Element, rule, sequence
from pliant.model.units import Time
from pliant.spatial.vectors import Vector
from pliant.trajectories.signals import ForceSignal, MomentSignal, Signal, signal
from pliant.tree.frames import frame_forces, frame_link

three_signals = BeforeValidator(sequence(3, of="numbers or expressions"))


class Disturbance(Element):
    """A force and a moment on a frame, or an effort on a joint, within a window of time."""

    frame: str | None = Field(default=None, description="LINK.FRAME, LINK (its tip) or tip")
    force: Annotated[tuple[ForceSignal, ForceSignal, ForceSignal], three_signals] | None = Field(
        default=None, description="force along the axes of the base: numbers or expressions in t"
    )
    moment: Annotated[tuple[MomentSignal, MomentSignal, MomentSignal], three_signals] | None = Field(
        default=None, description="moment about the axes of the base: numbers or expressions in t"
    )
    follows: StrictBool = Field(
        default=False, description="true: force and moment are along the axes of the frame, with which they turn"
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
        if self.follows and on_joint:
            raise rule("follows belongs to forces on frames; an effort is that of its joint in any case")
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
            return FrameWrench(arm, self.frame, parts, self.start, end, follows=self.follows)
        name = self.joint or ""
        if name not in arm.names:
            raise ModelError(f"disturbance: the robot has no coordinate '{name}'{did_you_mean(name, arm.names)}")
        return JointEffort(arm.names.index(name), signal(self.effort or 0.0), self.start, end)


class Windowed(Load):
    """A load whose signals act within a window of time."""

    def __init__(self, parts: Sequence[Signal], start: float, end: float) -> None:
        self.parts, self.start, self.end = parts, start, end

    @property
    def breaks(self) -> tuple[float, ...]:
        inside = (t for part in self.parts for t in part.breaks if self.start < t < self.end)
        return tuple(t for t in (self.start, *inside, self.end) if 0 < t < inf)

    @property
    def channels(self) -> int:  # type: ignore[override]
        return len(self.parts)

    def acts(self, start: float, end: float) -> bool:
        return self.start < end and start < self.end

    def signals(self, times: Floats) -> Floats:
        """The parts at several times, zero outside the window."""
        out = np.zeros((len(times), self.channels))
        inside = (self.start <= times) & (times < self.end)
        for k, part in enumerate(self.parts):
            out[inside, k] = part.many(times[inside])
        return out


class FrameWrench(Windowed):
    """A force and a moment on a frame, along base axes or (follows) its own, as functions of time."""

    def __init__(
        self, arm: Dynamics, frame: str, parts: Sequence[Signal], start: float, end: float, *, follows: bool = False
    ) -> None:
        super().__init__(parts, start, end)
        self.arm, self.follows = arm, follows
        self.frame, self.place, self.frames = frame, frame_link(arm.mechanism, frame), (frame,)

    @property
    def gains(self) -> tuple[float, ...]:  # type: ignore[override]
        """The constants of the tree with frames: robots of one structure share the code."""
        return numbers_of(self.place.tree)

    @property
    def structure(self) -> Hashable:
        return "wrench", structure_key(self.place.tree), self.place.link, self.follows

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        numbers = constants_from(self.place.tree, gains)
        force, moment = list(signals[:3]), list(signals[3:])
        return Action(frame_forces(self.place, q, force, moment, numbers, follows=self.follows))

    def wrenches(self, q: Floats, v: Floats, z: Floats, signals: Floats) -> Floats:
        if not self.follows:
            return signals
        turned = np.einsum("kab,kcb->kca", self.arm.pose(self.frame, q).rotation, signals.reshape(-1, 2, 3))
        return np.asarray(turned.reshape(-1, 6))


class JointEffort(Windowed):
    """An effort on one coordinate as a function of time."""

    def __init__(self, index: int, effort: Signal, start: float, end: float) -> None:
        super().__init__([effort], start, end)
        self.index = index

    @property
    def structure(self) -> Hashable:
        return "effort", self.index

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        return Action([signals[0] if i == self.index else 0.0 for i in range(len(q))])
