"""Motions as integrators leave them: the ends of many steps, and what is between them."""

from __future__ import annotations

from collections.abc import Sequence
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
