"""Closing the loops: a configuration that satisfies all constraints, from a guess.

Levenberg's method on the gaps, in scaled coordinates of which some are held: steps are least-norm, so that a guess is
changed as little as the loops allow, and a loop that cannot close ends at its smallest gap instead of wandering off.
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

STEPS = 200


class Assembled(NamedTuple):
    """The configuration reached and its largest scaled gap."""

    q: Floats
    gap: float

    @property
    def closed(self) -> bool:
        return self.gap <= CLOSED


def assemble(
    q: Floats,
    gaps: Callable[[Floats], Floats],
    jacobian: Callable[[Floats], Floats],
    rows: Floats,
    columns: Floats,
) -> Assembled:
    """Close the gaps; ``rows`` and ``columns`` are scales, a column scale of zero holds its coordinate."""
    q = q.copy()
    g = gaps(q) / rows
    damping = 1e-3
    for _ in range(STEPS):
        if np.abs(g).max(initial=0.0) <= EXACT:
            break
        J = jacobian(q) * columns / rows[:, None]
        left, sigma, right = np.linalg.svd(J, full_matrices=False)
        along = left.T @ g
        improved = False
        while not improved and damping < 1e8:
            step = -columns * (right.T @ (sigma / (sigma**2 + damping) * along))
            trial = gaps(q + step) / rows
            improved = bool(np.linalg.norm(trial) < np.linalg.norm(g))
            if improved:
                q, g = q + step, trial
                damping = max(damping * 1e-2, 1e-24)
            else:
                damping *= 10.0
        if not improved:
            break
    return Assembled(q, float(np.abs(g).max(initial=0.0)))
