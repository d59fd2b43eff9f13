"""Rank of the constraints and the choice of dependent coordinates, on a scaled constraint Jacobian.

The Jacobian is made dimensionless before any number of it is compared with another: rows by the size of the robot,
columns by how far a unit of the coordinate moves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RANK = 1e-8
"""Singular values below this part of the largest count as zero: an assembled loop is closed to about 1e-12."""

SINGULAR = 1e-12
"""Part of a constraint, squared, that the others must leave of it: below it counts as lost."""

WORST = SINGULAR**-0.5
"""Condition number from which a configuration counts as singular."""


class Selection(NamedTuple):
    """Rows of the constraints that are kept, those that follow from them, and the split of the coordinates."""

    kept: tuple[int, ...]
    redundant: tuple[int, ...]
    dependent: tuple[int, ...]
    independent: tuple[int, ...]


def rank_of(J: Floats) -> int:
    """Number of independent rows."""
    if not J.size:
        return 0
    sigma = np.linalg.svd(J, compute_uv=False)
    return int(np.sum(sigma > RANK * max(sigma[0], np.finfo(float).tiny)))


def condition_of(J: Floats, rank: int) -> float:
    """Ratio of the largest to the ``rank``-th singular value; infinite when that one is zero."""
    sigma = np.linalg.svd(J, compute_uv=False)
    if rank == 0:
        return 1.0
    return float(sigma[0] / sigma[rank - 1]) if rank <= len(sigma) and sigma[rank - 1] > 0 else float("inf")


def independent_rows(J: Floats, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """``rank`` rows that span all, in their order, and the others; the earlier of two equal rows is kept."""
    left = J.astype(float).copy()
    kept: list[int] = []
    for _ in range(rank):
        size = np.linalg.norm(left, axis=1)
        # ties go to the first row, also when rounding makes them unequal
        best = int(np.argmax(size >= size.max() * (1 - 1e-6)))
        kept.append(best)
        direction = left[best] / size[best]
        left -= np.outer(left @ direction, direction)
        left[kept] = 0.0
    return tuple(sorted(kept)), tuple(i for i in range(len(J)) if i not in kept)


def dependent_columns(J: Floats, weights: Floats, groups: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """As many columns as J has rows, forming a well-conditioned square; coordinates of a group go together.

    weights  preference of each coordinate; one of lower weight is taken only where the others cannot do
    groups   coordinates that play the same part in identical legs
    """
    rank = len(J)
    left = J * weights
    partner = {k: group for group in groups for k in group}
    chosen: list[int] = []
    while len(chosen) < rank:
        size = np.linalg.norm(left, axis=0)
        best = int(np.argmax(size >= size.max() * (1 - 1e-6)))
        wanted = [k for k in partner.get(best, [best]) if k not in chosen]
        if len(chosen) + len(wanted) > rank or not _adds(left, wanted, size[best]):
            wanted = [best]
        for k in wanted:
            direction = left[:, k] / np.linalg.norm(left[:, k])
            left = left - np.outer(direction, direction @ left)
            left[:, [*chosen, k]] = 0.0
            chosen.append(k)
    return tuple(sorted(chosen))


def _adds(left: Floats, columns: Sequence[int], size: float) -> bool:
    """Whether columns are independent of one another, and no weak ones."""
    sigma = np.linalg.svd(left[:, list(columns)], compute_uv=False)
    return len(sigma) == len(columns) and bool(sigma[-1] > 1e-2 * size)
