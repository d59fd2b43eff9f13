"""Efforts that do not exceed what the motors can give."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from pliant.drives.drive import DriveLaw, Tick
from pliant.laws import Action, Floats, LawState
from pliant.spatial.scalars import Scalar, ramp
from pliant.spatial.vectors import Vector


def cut(x: Scalar, limit: Scalar) -> Scalar:
    """x between -limit and limit; exactly that beyond them."""
    return ramp(limit - ramp(limit - x) + limit) - limit


class SaturatedLaw(DriveLaw):
    """Another law whose efforts are cut at limits (inputs,); those without a limit have an infinite one."""

    def __init__(self, inner: DriveLaw, limits: Floats) -> None:
        self.inner, self.limits = inner, limits
        self.feedback, self.path, self.channels = inner.feedback, inner.path, inner.channels
        self.in_python, self.may_refuse = inner.in_python, inner.may_refuse

    @property
    def within(self) -> DriveLaw:
        return self.inner.within

    @property
    def cautions(self) -> tuple[str, ...]:
        return self.inner.cautions

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.inner.breaks

    @property
    def states(self) -> tuple[LawState, ...]:  # type: ignore[override]
        return self.inner.states

    @property
    def state_count(self) -> int:
        return self.inner.state_count

    @property
    def structure(self) -> Hashable:
        return "saturated", np.isfinite(self.limits).tobytes(), self.inner.structure

    @property
    def gains(self) -> tuple[float, ...]:  # type: ignore[override]
        return (*self.limits.tolist(), *self.inner.gains)

    def signals(self, t: Floats) -> Floats:
        return self.inner.signals(t)

    def at_ticks(self, first: int, count: int, period: float) -> Floats:
        return self.inner.at_ticks(first, count, period)

    @property
    def sampled_states(self) -> tuple[LawState, ...]:
        return self.inner.sampled_states

    def computed(self, q: Vector, v: Vector, discrete: Vector, signals: Vector, gains: Vector, period: Vector) -> Tick:
        found = self.inner.computed(q, v, discrete, signals, gains[len(self.limits) :], period)
        return found._replace(command=self._cut(found.command, gains))

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        found = self.inner.efforts(q, v, z, signals, gains[len(self.limits) :])
        # what is supplied to the law itself is not what its limits let through
        return found._replace(efforts=self._cut(found.efforts, gains), supplied=None)

    def _cut(self, efforts: Vector, gains: Vector) -> Vector:
        known = zip(efforts, gains[: len(self.limits)], np.isfinite(self.limits), strict=True)
        return [cut(x, limit) if is_limited else x for x, limit, is_limited in known]
