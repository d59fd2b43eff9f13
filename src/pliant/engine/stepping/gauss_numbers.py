"""Numbers that decide how steps of Gauss's collocation go, and the memory of a step."""

from __future__ import annotations

from enum import IntEnum
from itertools import accumulate
from typing import NamedTuple

from pliant.engine.stepping.gauss_legendre import STAGES
from pliant.engine.stepping.layout import StateLayout

ITERATIONS = 10
"""Newton steps after which a step is given up ..."""
SLOW = 0.5
"""... or if one is not this much smaller than the one before it."""
CONVERGED = 0.005
"""Error of the stages, in units of the tolerance, that Newton's method may leave ..."""
FOUND = 1e-3
"""... and a change that is that small, if only it is smaller than the one before."""
SMALL = 3.0
"""The largest change after which nothing more need be done: what converges slowly hides behind what does not."""
MEMORY = 0.8
"""Power of the last rate of convergence that the first Newton step of a step is judged by."""
SLOWEST, FASTEST, SAFETY = 0.2, 4.0, 0.85
SHRINK, MARGIN, RELAXED = 0.5, 0.7, 1.02
"""Factor of a step whose stages were not found, the part of it that later steps may reach, and how that part grows."""
YOUNG = 2
"""Steps up to which vibrations are not to blame if Newton's method does not converge."""
JUMP = 0.25
"""Part of a jump of the accelerations between two steps that counts as error. Where they are smooth it is twice the
error, and it is all that is seen of a kink before the first stage or behind the last one."""
KEEP_FROM, KEEP_TO = 0.95, 1.15
"""Factors by which a step is not worth to be changed: other sizes need other matrices."""
ORDER = STAGES + 1
"""With which the error between the stages falls."""
UPDATE, RENEWAL = 8, 36
"""Newton steps that bringing the vibrations up to date takes the time of, and that finding them anew does."""
LARGEST_TURN = 0.2
"""Part of one vibration in another one up to which perturbation mixes them ..."""
APART = 1e-6
"""... if their squared frequencies differ by so much of the largest one: rounding mixes motions without stiffness."""
GUESS = 4
"""Legendre coefficients by which forces are foretold for the next step."""
SUBSTEPS = 8
"""Parts of a step at whose ends state and slope are handed out: one of its own is longer than a vibration."""
LAST = 4
"""Legendre coefficients of the accelerations that tell the error."""
DIFFERENCE = 1e-6
"""Step of the difference quotients of accelerations; derivatives only speed up convergence."""


class Own(IntEnum):
    """Numbers that a step hands on to the next one.

    AGE      steps since the vibrations were brought up to date; negative: they must be found
    CHANGED  whether they were brought up to date since they were found
    RATE     rate of convergence
    OWED     Newton steps more than needed after they were found, since they were brought up to date
    FEWEST   Newton steps that were needed after they were found
    LOST     those that were still too many right after they were brought up to date
    FILTER   size of the step that the filters are for
    BEFORE   size of the step before; zero: nothing is known of it
    LIMIT    size that steps may reach, for Newton's method to converge
    """

    AGE = 0
    RATE = 1
    OWED = 2
    FEWEST = 3
    LOST = 4
    FILTER = 5
    BEFORE = 6
    LIMIT = 7
    CHANGED = 8


FORGOTTEN = {Own.AGE: -1.0, Own.RATE: 1.0, Own.BEFORE: 0.0, Own.LIMIT: 1e100}
"""What they are where nothing is known of the motion before; the size of a step is then not limited."""


class GaussWork(NamedTuple):
    """Where the arrays of a step begin, in doubles.

    Arrays of stages hold vectors of lanes, coordinate by coordinate, for one group of stages after the other.
    """

    shapes: int
    inverse: int
    squares: int
    damping: int
    own: int
    slope: int
    weights: int
    at_rest: int
    filters: int
    places: int
    rates: int
    found: int
    accelerations: int
    remainder: int
    foretold: int
    residual: int
    change: int
    trial_places: int
    trial_rates: int
    trial_found: int
    drive_states: int
    signals: int
    differences: int
    products: int
    drive_weights: int
    drive_slopes: int
    drive_change: int
    drive_residual: int
    jacobian: int
    systems: int
    system_pivots: int
    system_sides: int
    end: int

    @classmethod
    def of(cls, layout: StateLayout, channels: int) -> GaussWork:
        n, stages = layout.count, layout.count * STAGES
        sizes = [n * n, n * n, n, n, len(Own), layout.size, n, 2 * n, stages * STAGES, *[stages] * 11]
        sizes += [layout.states * STAGES, channels + 1, 2 * n * n, 2 * n * n]
        if m := layout.states:
            sizes += [m, *[m * STAGES] * 3, (2 * n + m) * (n + m), STAGES // 2 * 4 * (n + m) ** 2]
            sizes += [STAGES * (n + m), 2 * (n + m)]
        else:
            sizes += [0] * 8
        return cls(*accumulate((-(-size // 8) * 8 for size in sizes), initial=0))
