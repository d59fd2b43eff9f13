"""Highest points of what moves: where to look on motions of many steps, and how to climb to the tops.

Steps are often far shorter than what they carry: a fast vibration limits them, and nothing of it is seen. A few step
ends are looked at first, and more of them wherever what is around may rise above all that is known. Parabolas then lead
from the highest ones to the tops between them. Motions of several runs are climbed side by side.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Generator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pliant.simulation.tracks import Floats, Ints, Track

T = TypeVar("T")


class Points(NamedTuple):
    """Times (points,) and states there (points, size), and the number of the motion of each, rising."""

    motion: Ints
    times: Floats
    states: Floats


Looks = Generator[Points, Floats, T]
"""Hands out points and is told the numbers there (points, columns)."""

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


class Seen(NamedTuple):
    """Points that were looked at: the motion of each (points,), times (points,) and heights (points, tops)."""

    motion: Ints
    times: Floats
    heights: Floats


class Tops:
    """The highest values of columns and when, as far as they are known, of one run or several.

    columns  which column of the values each is
    signs    1, or -1 where the lowest value is sought
    smooth   whether they are; of the others the ends of steps count
    best     the highest values, times their signs; ``when``: their times  (runs, tops)
    """

    def __init__(self, columns: Ints, signs: Floats, smooth: NDArray[np.bool_], best: Floats, when: Floats) -> None:
        self.columns, self.signs, self.smooth, self.best, self.when = columns, signs, smooth, best, when

    def climbing(self, track: Track, runs: Ints) -> Looks[None]:
        """Take note of motions, by a generator of what it looks at; runs: that of each motion, rising."""
        seen = yield from self._looked_at(track, runs)
        if not len(seen.times):
            return
        run = runs[seen.motion]
        starts = np.flatnonzero(np.diff(run, prepend=-1))
        self._take_highest(seen, run, starts)
        k, which, three = self._hills(seen)
        motion, row = seen.motion[k], run[k]
        t, h = seen.times[three], seen.heights[three, which]
        centre, top, has_top = _parabolas(t, h)
        doubt = DOUBT * (3 * h.max(axis=0) - h.sum(axis=0))
        spread = self.best[run[starts]] - np.minimum.reduceat(seen.heights, starts)
        worth = np.zeros_like(self.best)
        worth[run[starts]] = CLOSE * np.where(np.isfinite(spread), spread, 0.0)
        low, high = t[0], t[2]
        left = np.flatnonzero(has_top & (top + doubt > (self.best + worth)[row, which]))
        for _ in range(ROUNDS):
            if not len(left):
                return
            motion, row, which = motion[left], row[left], which[left]
            low, high, centre = low[left], high[left], centre[left]
            # three points close to each other: their parabola is as good as the motion
            t = np.clip(centre + NEAR * (high - low) * np.array([[-1.0], [0.0], [1.0]]), low, high)
            times, thrice = t.T.ravel(), np.repeat(motion, 3)
            found = self._heights((yield Points(thrice, times, track(times, thrice))))
            h = found[np.arange(t.size), np.repeat(which, 3)].reshape(-1, 3).T
            centre, top, has_top = _parabolas(t, h)
            self._take(row, which, top, centre)
            # those that still rise are followed on, if that may lead beyond
            left = np.flatnonzero(~has_top & (top + np.ptp(h, axis=0) > (self.best + worth)[row, which]))

    def _heights(self, seen: Floats) -> Floats:
        """Numbers of which the highest are sought (points, tops); where there are none -inf."""
        high = self.signs * seen[:, self.columns]
        return np.where(np.isfinite(high), high, -np.inf)

    def _take(self, run: Ints, which: Ints, heights: Floats, times: Floats) -> None:
        # the highest of each comes last
        order = heights.argsort(kind="stable")
        run, which, heights, times = run[order], which[order], heights[order], times[order]
        above = heights > self.best[run, which]
        place = run[above], which[above]
        self.best[place], self.when[place] = heights[above], times[above]

    def _take_highest(self, seen: Seen, run: Ints, starts: Ints) -> None:
        """Take note of the highest points of every run; the points of each begin at ``starts``."""
        highest = np.maximum.reduceat(seen.heights, starts)
        lengths = np.diff(starts, append=len(run))
        count = np.arange(len(run))[:, None]
        first = np.where(seen.heights == np.repeat(highest, lengths, axis=0), count, len(run))
        times = seen.times[np.minimum.reduceat(first, starts)]
        each, which = np.indices(highest.shape).reshape(2, -1)
        self._take(run[starts][each], which, highest.ravel(), times.ravel())

    def _looked_at(self, track: Track, runs: Ints) -> Looks[Seen]:
        """Points beside which nothing is beyond the best."""
        ends, times, motion = _ends(track)
        first, last = _bounds(motion)
        # how much finer a motion may still be looked at
        level = np.array([bisect(ENOUGH, n) for n in (last - first).tolist()], dtype=np.int64)
        spaced = [a + _spaced(b - a, STRIDES[n]) for a, b, n in zip(first, last, level, strict=True)]
        new = np.concatenate([np.zeros(0, dtype=np.int64), *spaced])
        known, every = np.zeros(len(ends), dtype=bool), np.empty((len(ends), len(self.columns)))
        of_end = np.repeat(np.arange(len(first)), last - first + 1)
        to_go = last[of_end] - np.arange(len(ends))
        while len(new):
            known[new] = True
            states, between = track.states(ends[new]), np.flatnonzero(ends[new] < 0)
            if len(between):
                states[between] = track(times[new[between]], motion[new[between]])
            every[new] = self._heights((yield Points(motion[new], times[new], states)))
            k = np.flatnonzero(known)
            if not level.any():
                break
            wide = np.append(np.repeat(self._may_rise(every[k], motion[k], runs), np.diff(k)), False)
            finer = np.where(level > 0, np.array(STRIDES)[level - 1], 0)[of_end]
            new = np.flatnonzero(wide & ~known & (finer > 0) & (to_go % np.maximum(finer, 1) == 0))
            goes_on = np.isin(np.arange(len(level)), of_end[new])
            level = np.where(goes_on, level - 1, 0)
        k = np.flatnonzero(known)
        return Seen(motion[k], times[k], every[k])

    def _may_rise(self, heights: Floats, motion: Ints, runs: Ints) -> NDArray[np.bool_]:
        """Whether there may be a new top in the gaps between heights; not in those between two motions."""
        apart, run = motion[1:] != motion[:-1], runs[motion]
        low, high = np.minimum(heights[1:], heights[:-1]), np.maximum(heights[1:], heights[:-1])
        best, starts = self.best.copy(), np.flatnonzero(np.diff(run, prepend=-1))
        best[run[starts]] = np.maximum(best[run[starts]], np.maximum.reduceat(heights, starts))
        for bound, widen, nothing in ((low, np.minimum, np.inf), (high, np.maximum, -np.inf)):
            for _ in range(ABOUT - 1):
                bound[apart] = nothing
                own = bound.copy()
                widen(bound[1:], own[:-1], out=bound[1:])
                widen(bound[:-1], own[1:], out=bound[:-1])
        return np.asarray(~(high + BEYOND * (high - low) <= best[run[1:]]).all(axis=1) & ~apart)

    def _hills(self, seen: Seen) -> tuple[Ints, Ints, Ints]:
        """Points that are no lower than their neighbours: each, which top, and the three points (3, n) about it."""
        heights, motion = seen.heights, seen.motion
        level, apart = np.ones((1, heights.shape[1]), dtype=bool), (motion[1:] != motion[:-1])[:, None]
        up, down = (heights[1:] >= heights[:-1]) | apart, (heights[:-1] >= heights[1:]) | apart
        k, which = np.nonzero(np.vstack([level, up]) & np.vstack([down, level]) & self.smooth)
        begins, ends = _bounds(motion)
        of_point = np.repeat(np.arange(len(begins)), ends - begins + 1)[k]
        first, last = begins[of_point], ends[of_point]
        return k, which, np.clip(k, first + 1, last - 1) + np.array([[-1], [0], [1]])


def _ends(track: Track) -> tuple[Ints, Floats, Ints]:
    """The ends of steps that are looked at, their times and motions; a point between two ends has the number -1."""
    ends = track.ends
    if len(ends) > 2 and not track.motion[-1]:
        return ends, track.times[ends], track.motion[ends]
    ends = ends[np.bincount(track.motion[ends])[track.motion[ends]] > 1] if len(ends) else ends
    times, motion = track.times[ends], track.motion[ends]
    first, last = _bounds(motion)
    # a parabola needs a third one
    alone = first[last - first == 1]
    after, middle = alone + 1, (times[alone] + times[alone + 1]) / 2
    return np.insert(ends, after, -1), np.insert(times, after, middle), np.insert(motion, after, motion[alone])


def _bounds(motion: Ints) -> tuple[Ints, Ints]:
    """First and last place of each motion."""
    first = np.flatnonzero(np.diff(motion, prepend=-1))
    return first, np.append(first[1:], len(motion))[: len(first)] - 1


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
