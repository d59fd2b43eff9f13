"""The solution over many steps of machine code."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pliant.simulation.integrators.integrator import Floats, Piece, hermite


class KnotPiece(Piece):
    """Many steps: exact samples at the times that were wanted, Hermite interpolation between the steps elsewhere."""

    def __init__(self, knots: Floats, count: int, grid: Floats, samples: Floats) -> None:
        m = (knots.shape[1] - 1) // 2
        self.times = knots[:, 0]
        self.start, self.end = float(self.times[0]), float(self.times[-1])
        self._y, self._f = knots[:, 1 : 1 + m], knots[:, 1 + m :]
        self._count = count
        self._grid, self._samples = grid, samples

    @property
    def knots(self) -> Floats:
        return self.times

    @property
    def knot_states(self) -> Floats:
        return self._y

    @property
    def knot_rates(self) -> Floats:
        return self._f

    def __call__(self, t: ArrayLike) -> Floats:
        times = np.atleast_1d(np.asarray(t, dtype=float))
        if np.array_equal(times, self._grid):
            # as samples are asked for, all of them
            return self._samples[0].copy() if np.ndim(t) == 0 else self._samples.copy()
        out = np.empty((len(times), self._y.shape[1]))
        place = np.clip(np.searchsorted(self._grid, times), 0, max(len(self._grid) - 1, 0))
        exact = self._grid[place] == times if len(self._grid) else np.zeros(len(times), dtype=bool)
        if exact.any():
            out[exact] = self._samples[place[exact]]
        if not exact.all():
            inside = times[~exact]
            k = np.clip(np.searchsorted(self.times, inside, side="right") - 1, 0, len(self.times) - 2)
            h = self.times[k + 1] - self.times[k]
            ends = self._y[k], self._y[k + 1], self._f[k], self._f[k + 1]
            out[~exact] = hermite(((inside - self.times[k]) / h)[:, None], h[:, None], *ends, self._count)
        return out[0] if np.ndim(t) == 0 else out
