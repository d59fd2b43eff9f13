"""How a motion from 0 to 1 develops in time: s(u) on 0 <= u <= 1 with its first two derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
