"""Motions that are sums of delayed copies of another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pliant.control.shapers import Shaper
from pliant.trajectories.cartesian import STRIDES, Curve, InverseKinematics, JointCurve
from pliant.trajectories.path import Desired, Floats, Path

NEAR = 1e-9
"""Breaks that are closer, as a part of the whole duration, are one."""
FEWEST_STRIDES = 10
"""Of a segment of a curve in space, at which it must be in reach."""


@dataclass(frozen=True, eq=False)
class ShapedPath:
    """q = sum A_i q_m(t - t_i) of a motion q_m that rests at q0 before its start; rates and accelerations likewise.

    motion  what is shaped; it comes to rest
    shaper  impulses: t_i and A_i
    q0      positions before the motion begins
    start   when it begins, s
    words   what a user should know of it
    """

    motion: Path
    shaper: Shaper
    q0: Floats
    start: float
    words: str = ""

    @property
    def end(self) -> float:
        return max(self.motion.end, self.start) + self.shaper.duration

    @cached_property
    def _borders(self) -> Floats:
        """Times at which the motion is not smooth, its start the first (b,)."""
        return np.array(sorted({self.start, *(b for b in self.motion.breaks if b > self.start)}))

    @cached_property
    def _shifted(self) -> Floats:
        """Borders of all copies (copies, b); near ones, of any copies, are the same number."""
        every = np.add.outer(self.shaper.times, self._borders)
        flat = np.unique(every)
        new = np.concatenate([[True], np.diff(flat) > NEAR * (self.end - self.start)])
        first = flat[np.flatnonzero(new)]
        return np.asarray(first[np.searchsorted(first, every, side="right") - 1])

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        """Breaks of all copies; the start is none where the motion begins smoothly."""
        q, v, a = self.motion.at(self.start)
        smooth = not (v.any() or a.any()) and np.array_equal(q, self.q0) and self.start not in self.motion.breaks
        kept = self._shifted[:, 1:] if smooth else self._shifted
        return tuple(np.unique(kept).tolist())

    def at(self, t: float) -> Desired:
        return Desired(*(x[0] for x in self.many(np.array([t]))))

    def many(self, times: Floats) -> Desired:
        """The motion at several times."""
        size = (len(times), len(self.q0))
        out = Desired(*(np.zeros(size) for _ in range(3)))
        beyond = np.concatenate([self._borders, [np.inf]])
        for delay, amplitude, shifted in zip(self.shaper.times, self.shaper.amplitudes, self._shifted, strict=True):
            # on which side of a break a time lies is said by the break itself, not by what rounding leaves of t - t_i
            place = np.searchsorted(shifted, times, side="right")
            on = place > 0
            k = np.maximum(place, 1)
            first = np.where(times > shifted[k - 1], np.nextafter(beyond[k - 1], np.inf), beyond[k - 1])
            own = np.clip(times - delay, first, np.nextafter(beyond[k], -np.inf))
            q, v, a = self.motion.many(own)
            waiting = ~on[:, None]
            out.q[:] += amplitude * np.where(waiting, self.q0, q)
            out.v[:] += amplitude * np.where(waiting, 0.0, v)
            out.a[:] += amplitude * np.where(waiting, 0.0, a)
        return out


@dataclass(frozen=True, eq=False)
class SegmentedPath:
    """Joint positions along a motion in space, as polynomials between its breaks.

    borders  ends of the segments (k + 1,), s
    curves   joints of each segment over 0 to 1; None: they rest
    rests    joint positions at the borders (k + 1, inputs)
    words    what a user should know of it
    """

    borders: Floats
    curves: tuple[JointCurve | None, ...]
    rests: Floats
    words: str = ""

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(self.borders.tolist())

    @property
    def end(self) -> float:
        return float(self.borders[-1])

    def at(self, t: float) -> Desired:
        return Desired(*(x[0] for x in self.many(np.array([t]))))

    def many(self, times: Floats) -> Desired:
        """The motion at several times."""
        place = np.searchsorted(self.borders, times, side="right") - 1
        q = self.rests[np.clip(place, 0, len(self.rests) - 1)]
        out = Desired(q, np.zeros_like(q), np.zeros_like(q))
        for k in np.unique(place):
            curve = self.curves[k] if 0 <= k < len(self.curves) else None
            if curve is not None:
                own, T = place == k, self.borders[k + 1] - self.borders[k]
                found = curve((times[own] - self.borders[k]) / T)
                for target, values, factor in zip(out, found, (1.0, T, T**2), strict=True):
                    target[own] = values / factor
        return out


def joints_along(kinematics: InverseKinematics, space: ShapedPath, q0: Floats) -> SegmentedPath:
    """Joint positions that move a frame along a shaped motion in space, which begins where the frame is at q0."""
    borders = np.array(space.breaks)
    curves: list[JointCurve | None] = []
    rests = [q0]
    strides = max(STRIDES // len(borders), FEWEST_STRIDES)
    for begin, end in pairwise(borders):
        inner = np.linspace(begin, end, strides + 2)[1:-1]
        if not space.many(inner).v.any():
            curves.append(None)
            rests.append(rests[-1])
            continue
        curve = kinematics.follow(_segment(space, float(begin), float(end)), rests[-1], strides)
        curves.append(curve)
        rests.append(curve(np.ones(1))[0][0])
    return SegmentedPath(borders, tuple(curves), np.array(rests), space.words)


def _segment(space: ShapedPath, begin: float, end: float) -> Callable[[float], Curve]:
    """The part of a motion in space between two of its breaks, over 0 to 1."""
    first, last, T = np.nextafter(begin, end), np.nextafter(end, begin), end - begin

    def curve(s: float) -> Curve:
        p, v, a = space.at(float(np.clip(begin + s * T, first, last)))
        return Curve(p, v * T, a * T**2)

    return curve
