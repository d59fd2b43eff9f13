"""Highest points of what moves: where to look on a motion of many steps, and how to climb to the tops.

Steps are often far shorter than what they carry: a fast vibration limits them, and nothing of it is seen. A few step
ends are looked at first, and more of them wherever what is around may rise above all that is known. Parabolas then lead
from the highest ones to the tops between them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pliant.simulation.integrators.integrator import hermite

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

T = TypeVar("T")
Looks = Generator[tuple[Floats, Floats], Floats, T]
"""Hands out times and states and is told the numbers there (times, columns)."""

LONG = 64
"""Steps of a part, at the least on the average, that is not worth being copied."""
STRIDES, ENOUGH = (1, 4, 16), (512, 4096)
"""Of 512 steps and more every fourth end is looked at first, of 4096 every sixteenth."""
ABOUT, BEYOND = 3, 0.5
"""Values on either side of a gap from which is told how high it may rise: by this part of their range above them."""
ROUNDS, NEAR = 3, 0.05
"""Parabolas about a top, one after the other; its three points, in parts of the distance of those before."""
DOUBT = 0.1
"""Part of the fall from a highest point to its neighbours by which a top may miss that of their parabola."""
CLOSE = 1e-8
"""Part of the range by which it is not worth going higher."""


class StepEnds(NamedTuple):
    """The ends of some steps: times (ends,), states and their rates (ends, size)."""

    times: Floats
    states: Floats
    rates: Floats


class Track:
    """A motion as its integrator leaves it, in parts of many steps each.

    Where two parts meet the time stands twice, with the rates of either side. The first ``count`` entries of a state
    are positions, the next ones their rates.
    """

    def __init__(self, parts: Sequence[StepEnds], count: int) -> None:
        if len(parts) > 1 and sum(len(part.times) for part in parts) < LONG * len(parts):
            parts = [StepEnds(*(np.concatenate(x) for x in zip(*parts, strict=True)))]
        self.parts, self.count = parts, count
        self.times = parts[0].times if len(parts) == 1 else np.concatenate([part.times for part in parts])
        self._starts = np.cumsum([0, *(len(part.times) for part in parts)])

    @cached_property
    def ends(self) -> Ints:
        """The ends of steps: where two parts meet one of the two, and nothing of a motion that diverged."""
        use = np.diff(self.times, prepend=-np.inf) > 0
        # what is no number stays none
        if not all(np.isfinite(part.states[-1]).all() for part in self.parts):
            use &= np.isfinite(self.states(np.arange(len(use)))).all(axis=1)
        return np.flatnonzero(use)

    def states(self, ends: Ints) -> Floats:
        """States at some ends of steps."""
        return self._rows(ends)[0]

    def __call__(self, times: Floats) -> Floats:
        """States at times within."""
        k = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(self.times) - 2)
        start, h = self.times[k], self.times[k + 1] - self.times[k]
        (y0, f0), (y1, f1) = (self._rows(x, "states", "rates") for x in (k, k + 1))
        return hermite(((times - start) / h)[:, None], h[:, None], y0, y1, f0, f1, self.count)

    def _rows(self, ends: Ints, *what: str) -> list[Floats]:
        """Rows of arrays of the parts."""
        names = what or ("states",)
        if len(self.parts) == 1:
            return [getattr(self.parts[0], name)[ends] for name in names]
        out = [np.empty((len(ends), self.parts[0].states.shape[1])) for _ in names]
        of_part = np.searchsorted(self._starts, ends, side="right") - 1
        order = of_part.argsort(kind="stable")
        bounds = np.searchsorted(of_part[order], np.arange(len(self.parts) + 1))
        for p, part in enumerate(self.parts):
            rows = order[bounds[p] : bounds[p + 1]]
            if len(rows):
                for target, name in zip(out, names, strict=True):
                    target[rows] = getattr(part, name)[ends[rows] - self._starts[p]]
        return out


class Tops:
    """The highest values of columns and when, as far as they are known.

    columns  which column of the values each is
    signs    1, or -1 where the lowest value is sought
    smooth   whether they are; of the others the ends of steps count
    best     the highest values, times their signs; ``when``: their times
    """

    def __init__(self, columns: Ints, signs: Floats, smooth: NDArray[np.bool_], best: Floats, when: Floats) -> None:
        self.columns, self.signs, self.smooth, self.best, self.when = columns, signs, smooth, best, when

    def climb(self, track: Track, values: Callable[[Floats, Floats], Floats]) -> None:
        """Take note of a motion; values: (times, states) -> numbers (times, columns)."""
        looks = self.climbing(track)
        try:
            wanted = next(looks)
            while True:
                wanted = looks.send(values(*wanted))
        except StopIteration:
            return

    def climbing(self, track: Track) -> Looks[None]:
        """The same by a generator of what it looks at."""
        if len(track.ends) < 2:
            return
        times, heights = yield from self._looked_at(track)
        highest, every = heights.argmax(axis=0), np.arange(len(self.columns))
        self._take(every, heights[highest, every], times[highest])
        which, t, h = self._hills(times, heights)
        centre, top, has_top = _parabolas(t, h)
        doubt = DOUBT * (3 * h.max(axis=0) - h.sum(axis=0))
        spread = self.best - heights.min(axis=0)
        low, high, worth = t[0], t[2], CLOSE * np.where(np.isfinite(spread), spread, 0.0)
        left = np.flatnonzero(has_top & (top + doubt > (self.best + worth)[which]))
        for _ in range(ROUNDS):
            if not len(left):
                return
            which, low, high, centre = which[left], low[left], high[left], centre[left]
            # three points close to each other: their parabola is as good as the motion
            t = np.clip(centre + NEAR * (high - low) * np.array([[-1.0], [0.0], [1.0]]), low, high)
            found = self._heights((yield t.ravel(), track(t.ravel())))
            h = found[np.arange(t.size), np.tile(which, 3)].reshape(t.shape)
            centre, top, has_top = _parabolas(t, h)
            self._take(which, top, centre)
            # those that still rise are followed on, if that may lead beyond
            left = np.flatnonzero(~has_top & (top + np.ptp(h, axis=0) > (self.best + worth)[which]))

    def _heights(self, seen: Floats) -> Floats:
        """Numbers of which the highest are sought (times, tops); where there are none -inf."""
        high = self.signs * seen[:, self.columns]
        return np.where(np.isfinite(high), high, -np.inf)

    def _take(self, which: Ints, heights: Floats, times: Floats) -> None:
        # the highest of each comes last
        order = heights.argsort(kind="stable")
        which, heights, times = which[order], heights[order], times[order]
        above = heights > self.best[which]
        self.best[which[above]], self.when[which[above]] = heights[above], times[above]

    def _looked_at(self, track: Track) -> Looks[tuple[Floats, Floats]]:
        """Times and heights (times, tops) beside which nothing is beyond the best."""
        ends = track.ends
        times, last = track.times[ends], len(ends) - 1
        if last == 1:
            # a parabola needs a third one
            times = np.array([times[0], times.mean(), times[1]])
            return times, self._heights((yield times, track(times)))
        strides = STRIDES[bisect(ENOUGH, last) :: -1]
        k, known = _spaced(last, strides[0]), np.zeros(last + 1, dtype=bool)
        known[k] = True
        every = np.empty((last + 1, len(self.columns)))
        new = k
        for stride in strides[1:]:
            every[new] = self._heights((yield times[new], track.states(ends[new])))
            wide = np.repeat(self._may_rise(every[k]), np.diff(k))
            new = np.flatnonzero(wide & ~known[:-1])
            new = new[(last - new) % stride == 0]
            if not len(new):
                return times[k], every[k]
            known[new] = True
            k = np.flatnonzero(known)
        every[new] = self._heights((yield times[new], track.states(ends[new])))
        return times[k], every[k]

    def _may_rise(self, heights: Floats) -> NDArray[np.bool_]:
        """Whether there may be a new top in the gaps between heights."""
        low, high = np.minimum(heights[1:], heights[:-1]), np.maximum(heights[1:], heights[:-1])
        best = np.maximum(self.best, high.max(axis=0))
        for bound, widen in ((low, np.minimum), (high, np.maximum)):
            for _ in range(ABOUT - 1):
                own = bound.copy()
                widen(bound[1:], own[:-1], out=bound[1:])
                widen(bound[:-1], own[1:], out=bound[:-1])
        return np.asarray(~(high + BEYOND * (high - low) <= best).all(axis=1))

    def _hills(self, times: Floats, heights: Floats) -> tuple[Ints, Floats, Floats]:
        """Points that are no lower than their neighbours: which top, and three times and heights (3, n) about each."""
        level = np.ones((1, heights.shape[1]), dtype=bool)
        up, down = heights[1:] >= heights[:-1], heights[:-1] >= heights[1:]
        k, which = np.nonzero(np.vstack([level, up]) & np.vstack([down, level]) & self.smooth)
        three = np.clip(k, 1, len(times) - 2) + np.array([[-1], [0], [1]])
        return which, times[three], heights[three, which]


def _parabolas(t: Floats, h: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Through three points (3, n): time and height of their tops, and whether they have one among them.

    Where there is none: those of the highest point.
    """
    with np.errstate(all="ignore"):
        before, after = t[1] - t[0], t[2] - t[1]
        first, second = (h[1] - h[0]) / before, (h[2] - h[1]) / after
        bend, slope = second - first, first * after + second * before
        vertex = t[1] - slope / (2 * bend)
        top = h[1] - slope**2 / (4 * bend * (before + after))
        inside = (bend < 0) & (vertex >= t[0]) & (vertex <= t[2])
    highest = h.argmax(axis=0), np.arange(h.shape[1])
    return np.where(inside, vertex, t[highest]), np.where(inside, top, h[highest]), inside


def _spaced(last: int, stride: int) -> Ints:
    """Numbers from 0 to the last about a stride apart, with which no vibration keeps step."""
    if stride == 1:
        return np.arange(last + 1)
    k = np.arange(0, last, stride)
    k[1:] += (7 * np.arange(1, len(k)) % 5 - 2) * stride // 8
    return np.append(k[k < last], last)
