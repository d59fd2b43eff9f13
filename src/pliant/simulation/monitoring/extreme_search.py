"""The largest values along motions of many steps: where to look, and what is between the ends of steps.

Steps are often far shorter than what they carry: a fast vibration limits them, and nothing of it is seen. A few step
ends are looked at first, and more of them wherever what is around may rise above all that is known. Parabolas then lead
from the highest ones to the maxima between them. Motions of several runs are searched side by side.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.simulation.integrators.integrator import hermite

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LONG, LARGE = 64, 1_000_000
"""Steps of a part, at the least on the average, that is not worth being copied, and numbers from which on it is not."""


class StepEnds(NamedTuple):
    """The ends of some steps: times (ends,), states and their rates (ends, size)."""

    times: Floats
    states: Floats
    rates: Floats


class Track:
    """Motions one after the other, in parts of many steps each.

    Where two parts of a motion meet the time stands twice, with the rates of either side. The first ``count`` entries
    of a state are positions, the next ones their rates.

    motions  the number of the motion that each part belongs to, rising; default: all parts are one motion
    """

    def __init__(self, parts: Sequence[StepEnds], count: int, motions: Sequence[int] | None = None) -> None:
        lengths = [len(part.times) for part in parts]
        self.motion: Ints = np.repeat(np.zeros(len(parts), dtype=np.int64) if motions is None else motions, lengths)
        self.finite = bool(np.isfinite(np.array([part.states[-1] for part in parts])).all())
        if len(parts) > 1 and (sum(lengths) < LONG * len(parts) or sum(part.states.size for part in parts) < LARGE):
            parts = [StepEnds(*(np.concatenate(x) for x in zip(*parts, strict=True)))]
        self.parts, self.count = parts, count
        self.times = parts[0].times if len(parts) == 1 else np.concatenate([part.times for part in parts])
        self._starts = np.cumsum([0, *(len(part.times) for part in parts)])
        # so far apart that no time of a motion lies in another one
        self._apart = 2 * float(np.ptp(self.times)) if self.motion[-1] else 0.0
        self._places = self.times + self._apart * self.motion
        self._bounds = np.searchsorted(self.motion, np.arange(int(self.motion[-1]) + 2))

    @cached_property
    def ends(self) -> Ints:
        """The ends of steps: where two parts meet one of the two, and nothing of a motion that diverged."""
        use = (np.diff(self.times, prepend=-np.inf) > 0) | (np.diff(self.motion, prepend=-1) > 0)
        # what is no number stays none
        if not self.finite:
            use &= np.isfinite(self.states(np.arange(len(use)))).all(axis=1)
        return np.flatnonzero(use)

    def states(self, ends: Ints) -> Floats:
        """States at some ends of steps."""
        return self._rows(ends)[0]

    def __call__(self, times: Floats, motion: Ints | int = 0) -> Floats:
        """States at times within a motion each."""
        k = np.searchsorted(self._places, times + self._apart * motion, side="right") - 1
        k = np.clip(k, self._bounds[motion], self._bounds[motion + 1] - 2)
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


class Points(NamedTuple):
    """Times (points,) and states there (points, size), and the number of the motion of each, rising."""

    motion: Ints
    times: Floats
    states: Floats


Look = Callable[[Points], Floats]
"""Gives the numbers at points (points, columns)."""

STRIDES, ENOUGH = (1, 4, 16), (512, 4096)
"""Of 512 steps and more every fourth end is looked at first, of 4096 every sixteenth."""
ABOUT, BEYOND = 3, 0.5
"""Values on either side of a gap from which follows how high it may rise: by this part of their range above them."""
ROUNDS, NEAR = 3, 0.05
"""Parabolas about a maximum, one after the other; its three points, in parts of the distance of those before."""
DOUBT = 0.1
"""Part of the fall from a highest point to its neighbours by which a maximum may miss that of their parabola."""
CLOSE = 1e-8
"""Part of the range by which it is not worth going higher."""


class Seen(NamedTuple):
    """Points that were looked at: the motion of each (points,), times (points,) and heights (points, maxima)."""

    motion: Ints
    times: Floats
    heights: Floats


class Maxima:
    """The highest values of columns and when, as far as they are known, of one run or several.

    columns  which column of the values each is
    signs    1, or -1 where the lowest value is sought
    smooth   whether they are; of the others the ends of steps count
    best     the highest values, times their signs; ``when``: their times  (runs, maxima)
    """

    def __init__(self, columns: Ints, signs: Floats, smooth: NDArray[np.bool_], best: Floats, when: Floats) -> None:
        self.columns, self.signs, self.smooth, self.best, self.when = columns, signs, smooth, best, when

    def search(self, track: Track, runs: Ints, look: Look) -> None:
        """Take note of the highest values along motions; runs: the run that each motion belongs to, rising."""
        seen = self._looked_at(track, runs, look)
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
            found = self._heights(look(Points(thrice, times, track(times, thrice))))
            h = found[np.arange(t.size), np.repeat(which, 3)].reshape(-1, 3).T
            centre, top, has_top = _parabolas(t, h)
            self._take(row, which, top, centre)
            # those that still rise are followed on, if that may lead beyond
            left = np.flatnonzero(~has_top & (top + np.ptp(h, axis=0) > (self.best + worth)[row, which]))

    def _heights(self, seen: Floats) -> Floats:
        """Numbers of which the highest are sought (points, maxima); where there are none -inf."""
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

    def _looked_at(self, track: Track, runs: Ints, look: Look) -> Seen:
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
            every[new] = self._heights(look(Points(motion[new], times[new], states)))
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
        """Whether there may be a new maximum in the gaps between heights; not in those between two motions."""
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
        """Points that are no lower than their neighbours: each, which maximum, and the three points (3, n) about it."""
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
    """Through three points (3, n): time and height of their maxima, and whether these are among the points.

    Where there is none: time and height of the highest point.
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
