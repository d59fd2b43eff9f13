"""Vector functions of time as B-splines, and least squares of residuals along them by banded normal equations.

Every spline has local support: residuals between two knots depend on few coefficients, so that the normal equations of
Gauss and Newton are banded and are solved in time proportional to the duration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DEGREE = 7
SUPPORT = DEGREE + 1
"""Splines that are not zero between two knots."""
GAUSS = 1 / np.sqrt(3)
"""Gauss points of an interval, at both sides of its middle."""
TOGETHER = 4_000_000
"""Entries of local normal matrices that are made at once."""
WEAK = 1e-10
"""Weight of what draws unknowns, beside that of residuals."""
RIDGE = 1e-15
"""Part of the diagonal that is added where rounding makes the normal equations indefinite, times ten each time ..."""
MOST_RIDGE = 1e-9
"""... up to this."""


class Levels(NamedTuple):
    """Values, rates and accelerations at some times, each (times, n)."""

    q: Floats
    v: Floats
    a: Floats


class Basis(NamedTuple):
    """B-splines at some times: first (times,) of those that are not zero, levels (3, times, SUPPORT)."""

    first: NDArray[np.int_]
    levels: Floats


class SplineSpace:
    """Splines of degree 7 on knots, whose ends are clamped.

    knots  (intervals + 1,) increasing; a knot that stands several times lets so many more derivatives jump
    """

    def __init__(self, knots: Floats) -> None:
        self.knots = knots
        self.full = np.concatenate([[knots[0]] * DEGREE, knots, [knots[-1]] * DEGREE])
        self.size = len(self.full) - SUPPORT
        self.edges = np.unique(knots)

    @cached_property
    def points(self) -> Floats:
        """Two Gauss points in every interval (2 intervals,)."""
        middle, half = (self.edges[1:] + self.edges[:-1]) / 2, np.diff(self.edges) / 2
        return np.asarray((middle[:, None] + half[:, None] * np.array([-GAUSS, GAUSS])).ravel())

    @cached_property
    def weights(self) -> Floats:
        """Roots of the parts of the whole time for which the Gauss points stand (2 intervals,)."""
        lengths = np.repeat(np.diff(self.edges) / 2, 2)
        return np.asarray(np.sqrt(lengths / lengths.sum()))

    def basis(self, times: Floats) -> Basis:
        """The splines that are not zero at some times, with two derivatives."""
        last = len(self.full) - SUPPORT - 1
        place = np.clip(np.searchsorted(self.full, times, side="right") - 1, DEGREE, last)
        return Basis(place - DEGREE, np.stack([self._nonzero(place, times, nu) for nu in range(3)]))

    def _nonzero(self, place: NDArray[np.int_], times: Floats, nu: int) -> Floats:
        """Derivatives of order nu of the splines between knots (times, SUPPORT), by Cox and de Boor."""
        out = np.ones((len(times), 1))
        for p in range(1, DEGREE + 1):
            # splines of degree p from those of p - 1, of which there is none at either side
            k = place[:, None] + np.arange(-p, 1)
            inner = np.pad(out, ((0, 0), (1, 1)))
            wide = self.full[k + p] - self.full[k]
            next_wide = self.full[k + p + 1] - self.full[k + 1]
            left, right = (
                np.divide(inner[:, i : i + p + 1], w, out=np.zeros(w.shape), where=w > 0)
                for i, w in ((0, wide), (1, next_wide))
            )
            if p > DEGREE - nu:
                out = p * (left - right)
            else:
                t = times[:, None]
                out = (t - self.full[k]) * left + (self.full[k + p + 1] - t) * right
        return out

    def levels(self, basis: Basis, coefficients: Floats) -> Levels:
        """Values and two derivatives of splines with coefficients (size, n)."""
        local = coefficients[basis.first[:, None] + np.arange(SUPPORT)]
        return Levels(*np.einsum("ltk,tkn->ltn", basis.levels, local))

    def fitted(self, function: Callable[[Floats], Floats]) -> Floats:
        """Coefficients (size, n) of the spline through a function at the means of its knots (Greville)."""
        from scipy.interpolate import make_interp_spline

        sites = np.array([self.full[k + 1 : k + SUPPORT].mean() for k in range(self.size)])
        # means of equal numbers are rounded
        sites = np.clip(sites, self.full[0], self.full[-1])
        curve: Any = make_interp_spline(sites, function(sites), k=DEGREE, t=self.full)
        return np.asarray(curve.c)


class BandedNormal:
    """Normal equations ``sum_p G_p^T G_p x = -sum_p G_p^T r_p`` of residuals at points of a spline space.

    fixed   (splines, width) whether an unknown keeps its value
    drawn   (splines, width) whether an unknown is drawn, very weakly, to a value of its own
    """

    def __init__(self, space: SplineSpace, basis: Basis, fixed: NDArray[np.bool_], drawn: NDArray[np.bool_]) -> None:
        self.space, self.basis, self.fixed, self.drawn = space, basis, fixed, drawn
        self.width = fixed.shape[1]

    def step(self, residuals: Floats, slopes: tuple[Floats, Floats, Floats], away: Floats) -> Floats:
        """The step (splines, width) to the least squares of linearised residuals.

        residuals  (points, rows), weighted
        slopes     their derivatives by values, rates and accelerations, each (points, rows, width), weighted
        away       (splines, width) how far drawn unknowns are from their own values
        """
        from scipy.linalg import LinAlgError, solveh_banded

        size, w = self.space.size, self.width
        blocks, right = np.zeros((size, SUPPORT, w, w)), np.zeros((size, w))
        for part in self._parts(residuals.shape[1]):
            self._add(part, residuals, slopes, blocks, right)
        own = np.einsum("sww->sw", blocks[:, 0])
        weak = np.where(self.drawn, WEAK * np.median(own, axis=0), 0.0)
        own += weak
        right += weak * away
        right[self.fixed] = 0.0
        free = ~self.fixed
        for d in range(SUPPORT):
            blocks[: size - d, d] *= free[: size - d, :, None] & free[d:, None, :]
        i, k = np.nonzero(self.fixed)
        blocks[i, 0, k, k] = 1.0
        band, diagonal = self._banded(blocks), np.einsum("sww->sw", blocks[:, 0]).ravel()
        # without units: entries of a unit diagonal
        scale = 1.0 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
        beyond = np.concatenate([scale, np.zeros(len(band))])
        for d in range(len(band)):
            band[d] *= scale * beyond[d : d + len(scale)]
        ridge = 0.0
        while True:
            try:
                scaled = solveh_banded(band, -right.ravel() * scale, lower=True, check_finite=False)
                return np.asarray((scaled * scale).reshape(size, w))
            except LinAlgError:
                ridge = max(10 * ridge, RIDGE)
                if ridge > MOST_RIDGE:
                    raise
                band[0] += ridge

    def _parts(self, rows: int) -> Iterator[slice]:
        """Intervals whose local matrices are made at once."""
        count = len(self.space.edges) - 1
        some = max(TOGETHER // (SUPPORT * self.width * (SUPPORT * self.width + 2 * rows)), 1)
        for k in range(0, count, some):
            yield slice(k, min(k + some, count))

    def _add(
        self, part: slice, residuals: Floats, slopes: tuple[Floats, Floats, Floats], blocks: Floats, right: Floats
    ) -> None:
        """Add what some intervals give to the blocks (splines, SUPPORT, width, width) and right-hand sides."""
        points, count, w = slice(2 * part.start, 2 * part.stop), part.stop - part.start, self.width
        rows = residuals.shape[1]
        G = np.zeros((2 * count, rows, SUPPORT, w))
        for level, slope in zip(self.basis.levels[:, points], slopes, strict=True):
            G += slope[points][:, :, None, :] * level[:, None, :, None]
        G = G.reshape(count, 2 * rows, SUPPORT * w)
        turned = np.swapaxes(G, 1, 2)
        local = (turned @ G).reshape(count, SUPPORT, w, SUPPORT, w)
        pull = (turned @ residuals[points].reshape(count, 2 * rows, 1)).reshape(count, SUPPORT, w)
        first = self.basis.first[points][::2]
        # no two intervals have the same first spline
        for a in range(SUPPORT):
            right[first + a] += pull[:, a]
            for b in range(a, SUPPORT):
                blocks[first + a, b - a] += local[:, a, :, b]

    def _banded(self, blocks: Floats) -> Floats:
        """Blocks (splines, SUPPORT, w, w) above the diagonal as the lower band that LAPACK takes."""
        size, w = len(blocks), self.width
        out = np.zeros((SUPPORT * w, size, w))
        for b in range(w):
            column = blocks[:, :, b, :].reshape(size, SUPPORT * w)
            out[: SUPPORT * w - b, :, b] = column[:, b:].T
        return out.reshape(SUPPORT * w, size * w)
