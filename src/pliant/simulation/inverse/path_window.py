"""When a path moves and how smooth it is: what no effort can do is refused, an end in motion is braked along itself."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError
from pliant.trajectories.path import Desired, Path

Floats = NDArray[np.float64]

SIDE = 1e-9
"""Part of the time at which a path is looked at on both sides of a break."""
JUMP = 1e-6
"""Part of its size by which a position or a rate jumps ..."""
BLOW = 1e-3
"""... and by which an acceleration does, of the largest along the path."""
STILL = 1e-9
"""Part of the largest rate at which a path rests."""
LOOKS = 16
"""Instants between two breaks at which a path is looked at."""


def require_smooth(study: str, inputs: tuple[str, ...], path: Path, until: float) -> None:
    """Refuse paths whose positions or rates jump."""
    near = SIDE * until
    for t in (b for b in path.breaks if 0 < b < until):
        before, after = path.at(t - near), path.at(t + near)
        for what, left, right, size in (
            ("position", before.q, after.q, near * (np.abs(before.v) + np.abs(after.v)).max()),
            ("rate", before.v, after.v, near * (np.abs(before.a) + np.abs(after.a)).max()),
        ):
            jump = np.abs(right - left)
            if jump.max() > JUMP * max(float(np.abs(right).max()), float(np.abs(left).max())) + 2 * size:
                k = int(np.argmax(jump))
                raise ModelError(
                    f"study '{study}': the {what} of joint '{inputs[k]}' jumps by {jump[k]:.3g} at {t:.4g} s; "
                    "no effort does that: take a smoother trajectory"
                )


def require_soft(study: str, inputs: tuple[str, ...], path: Path, window: tuple[float, float]) -> None:
    """Refuse paths whose accelerations jump: no bounded motion of the drives keeps a flexible robot on them."""
    begin, end = window
    near = SIDE * max(end - begin, end, 1e-3)
    most = np.abs(path.many(np.linspace(begin, end, 20 * LOOKS)).a).max(initial=0.0)
    for t in sorted({begin, end, *(b for b in path.breaks if begin <= b <= end)}):
        jump = np.abs(path.at(t + near).a - path.at(t - near).a)
        k = int(np.argmax(jump))
        if jump[k] > BLOW * most:
            raise ModelError(
                f"study '{study}': the acceleration of joint '{inputs[k]}' jumps by {jump[k]:.3g} at {t:.4g} s; links "
                "that bend cannot follow that exactly: take a smoother trajectory (profile: quintic, a quintic "
                "spline), or method 'successive', which comes near"
            )


def moving(path: Path, until: float) -> tuple[float, float]:
    """When a path begins to move, and when it rests for good (infinite if never); both zero if it only rests."""
    last = path.end if isfinite(path.end) else until
    marks = sorted({0.0, *(b for b in path.breaks if 0 < b < last), max(last, 0.0)})
    rates, spans = [], list(pairwise(marks))
    for a, b in spans:
        inner = a + (b - a) * (np.arange(LOOKS) + 0.5) / LOOKS
        rates.append(float(np.abs(path.many(inner).v).max(initial=0.0)))
    on = [k for k, rate in enumerate(rates) if rate > STILL * max(rates)]
    if not on:
        return 0.0, 0.0
    return spans[on[0]][0], spans[on[-1]][1] if isfinite(path.end) else inf


def require_rest(study: str, inputs: tuple[str, ...], path: Path) -> None:
    """Refuse a path that moves at its first instant."""
    first = path.at(0.0)
    k = int(np.argmax(np.abs(first.v)))
    if abs(float(first.v[k])) > STILL * max(1.0, float(np.abs(first.a).max(initial=0.0))):
        raise ModelError(
            f"study '{study}': the path begins with joint '{inputs[k]}' at the rate {first.v[k]:.3g}, and stable "
            "inversion begins at rest; let it begin at rest (a ramp, a quintic), or take method 'successive'"
        )


@dataclass(frozen=True)
class StartedPath:
    """A path that rests before time zero, where its formulas may say something else."""

    path: Path

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.path.breaks

    @property
    def end(self) -> float:
        return self.path.end

    def at(self, t: float) -> Desired:
        return Desired(*(x[0] for x in self.many(np.array([t]))))

    def many(self, times: Floats) -> Desired:
        """The motion at several times."""
        q, v, a = self.path.many(np.maximum(times, 0.0))
        on = (times >= 0.0)[:, None]
        return Desired(q, np.where(on, v, 0.0), np.where(on, a, 0.0))


@dataclass(frozen=True)
class BrakedPath:
    """A path that goes on along itself after a time and comes to rest there.

    Its own time runs slower and slower: by 1 - s(u), s = 126 u^5 - 420 u^6 + 540 u^7 - 315 u^8 + 70 u^9.
    """

    path: Path
    after: float
    duration: float

    @property
    def breaks(self) -> tuple[float, ...]:
        return (*(b for b in self.path.breaks if b < self.after), self.after, self.end)

    @property
    def end(self) -> float:
        return self.after + self.duration

    def at(self, t: float) -> Desired:
        return Desired(*(x[0] for x in self.many(np.array([t]))))

    def many(self, times: Floats) -> Desired:
        """The motion at several times."""
        T = self.duration
        u = np.clip((times - self.after) / T, 0.0, 1.0)
        passed = u**6 * (21 + u * (-60 + u * (67.5 + u * (-35 + 7 * u))))
        rate = 1 - u**5 * (126 + u * (-420 + u * (540 + u * (-315 + 70 * u))))
        slower = -630 * (u * (1 - u)) ** 4 / T
        own = np.where(times <= self.after, times, self.after + T * (u - passed))
        q, v, a = self.path.many(own)
        rate, slower = rate[:, None], slower[:, None]
        return Desired(q, v * rate, a * rate**2 + v * slower)
