"""Closing the loops: configurations that satisfy all constraints, from guesses.

Levenberg's method on the gaps, in scaled coordinates of which some are held: steps are least-norm, so that a guess is
changed as little as the loops allow, and loops that cannot close end at their smallest gap instead of wandering off.
Many guesses are taken side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLOSED = 1e-10
"""Largest gap of a closed loop, relative to the size of the robot (or in radians)."""

EXACT = 1e-15
"""Gap at which nothing is left to gain."""

STATIONARY = 1e-8
"""Change of a gap per scaled change of the coordinates, as a part of it, at which no smaller one is near."""

STEPS = 200

FIRST, MOST, LEAST = 1e-3, 1e8, 1e-24
"""Damping of the first step, that from which on no step helps, and the least."""


class Assembled(NamedTuple):
    """The configurations reached (count, n) and their largest scaled gaps (count,)."""

    q: Floats
    gap: Floats

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Which of them have closed loops (count,)."""
        return np.asarray(self.gap <= CLOSED)


def assemble(
    q: Floats, gaps: Callable[[Floats], Floats], jacobian: Callable[[Floats], Floats], columns: Floats
) -> Assembled:
    """Close the gaps of guesses (count, n); one that is not finite stays as it is.

    gaps      (count, n) -> scaled gaps (count, rows)
    jacobian  (count, n) -> their derivatives by the scaled coordinates that may change (count, rows, free)
    columns   the coordinates per scaled coordinate that may change (n, free)
    """
    q, count = q.copy(), len(q)
    g = gaps(q)
    damping = np.full(count, FIRST)
    left = np.isfinite(g).all(axis=1)
    for _ in range(STEPS):
        left &= np.abs(g).max(axis=1, initial=0.0) > EXACT
        at = np.flatnonzero(left)
        if not len(at):
            break
        U, sigma, Vt = np.linalg.svd(jacobian(q[at]), full_matrices=False)
        along = np.einsum("kij,ki->kj", U, g[at])
        size = np.linalg.norm(g[at], axis=1)
        # the smallest gap that is to be had here
        stuck = (np.linalg.norm(sigma * along, axis=1) <= STATIONARY * size) & (size > CLOSED)
        left[at[stuck]] = False
        at, sigma, Vt, along = at[~stuck], sigma[~stuck], Vt[~stuck], along[~stuck]
        while len(at):
            scaled = np.einsum("kji,kj->ki", Vt, sigma / (sigma**2 + damping[at, None]) * along)
            trial = q[at] - scaled @ columns.T
            moved = gaps(trial)
            # a gap that is no number is no smaller one
            better = np.linalg.norm(moved, axis=1) < np.linalg.norm(g[at], axis=1)
            q[at[better]], g[at[better]] = trial[better], moved[better]
            damping[at] = np.where(better, np.maximum(damping[at] * 1e-2, LEAST), damping[at] * 10.0)
            left[at[~better & (damping[at] >= MOST)]] = False
            again = ~better & left[at]
            at, sigma, Vt, along = at[again], sigma[again], Vt[again], along[again]
    return Assembled(q, np.abs(g).max(axis=1, initial=0.0))
