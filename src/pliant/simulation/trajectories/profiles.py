"""How a motion from 0 to 1 develops in time: s(u) on 0 <= u <= 1 with its first two derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, sin
from typing import NamedTuple


class Progress(NamedTuple):
    """s, ds/du and d2s/du2."""

    s: float
    ds: float
    dds: float


@dataclass(frozen=True, slots=True)
class Profile:
    """A rest-to-rest profile; ``breaks`` are the places inside (0, 1) where its acceleration jumps."""

    function: Callable[[float], Progress]
    breaks: tuple[float, ...] = ()

    def __call__(self, u: float) -> Progress:
        """The progress; it rests outside of 0 to 1."""
        if u <= 0.0:
            return Progress(0.0, 0.0, 0.0)
        return self.function(u) if u < 1.0 else Progress(1.0, 0.0, 0.0)


def _cycloidal(u: float) -> Progress:
    w = 2 * pi
    return Progress(u - sin(w * u) / w, 1 - cos(w * u), w * sin(w * u))


def _quintic(u: float) -> Progress:
    s = u * u * u * (10 + u * (6 * u - 15))
    return Progress(s, 30 * (u * (1 - u)) ** 2, 60 * u * (1 - u) * (1 - 2 * u))


CYCLOIDAL = Profile(_cycloidal)
QUINTIC = Profile(_quintic)


def trapezoidal(ramp: float) -> Profile:
    """Constant acceleration during the fraction ``ramp`` (at most 1/2), constant rate, the same ramp down."""
    rate = 1 / (1 - ramp)
    acceleration = rate / ramp

    def function(u: float) -> Progress:
        if u < ramp:
            return Progress(acceleration * u * u / 2, acceleration * u, acceleration)
        if u < 1 - ramp:
            return Progress(rate * (u - ramp / 2), rate, 0.0)
        left = 1 - u
        return Progress(1 - acceleration * left * left / 2, acceleration * left, -acceleration)

    return Profile(function, (ramp, 1 - ramp) if ramp < 0.5 else (0.5,))
