"""Constrained dynamics in dense matrices: minimal, platform and redundant form, which must agree.

    M a + h = f + J^T lambda,    J a + b = 0

They explain and check the recursive elimination; they are not the fast path. Rows that are independent, and coordinates
that depend on the others, are found by pivoted factorisations of the scaled rows.
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


# ---- constrained dynamics in dense matrices


class Reduced(NamedTuple):
    """The minimal model ``M a_r + c = N^T f`` with ``a = N a_r + shift``; Briot & Khalil (36)-(44).

    M       (m, m)  mass matrix of the independent rates
    c       (m,)    all other forces, on the left-hand side
    N       (n, m)  rates of all coordinates per independent rate
    shift   (n,)    accelerations of the coordinates when the independent ones have none
    names   the independent rates: coordinates, or components of the platform's twist
    """

    M: Floats
    c: Floats
    N: Floats
    shift: Floats
    names: tuple[str, ...]


def complement(J: Floats, b: Floats, dependent: Sequence[int], independent: Sequence[int]) -> tuple[Floats, Floats]:
    """N and shift of the dependent coordinates' elimination, (33) and (39) with the sign of b_d corrected."""
    n = J.shape[1]
    N, shift = np.zeros((n, len(independent))), np.zeros(n)
    N[list(independent), np.arange(len(independent))] = 1.0
    solved = np.linalg.solve(J[:, list(dependent)], -np.column_stack([J[:, list(independent)], b]))
    N[list(dependent)], shift[list(dependent)] = solved[:, :-1], solved[:, -1]
    return N, shift


def platform_complement(
    J: Floats, b: Floats, J_p: Floats, b_p: Floats, dependent: Sequence[int], independent: Sequence[int]
) -> tuple[Floats, Floats]:
    """N and shift when the platform's rates J_p v are independent too, (30)-(40)."""
    A = np.vstack([J, J_p])
    m, k = len(independent), len(J_p)
    # right-hand sides: independent coordinates, rates of the platform, bias
    right = np.zeros((len(A), m + k + 1))
    right[:, :m] = -A[:, list(independent)]
    right[len(J) :, m:-1] = np.eye(k)
    right[:, -1] = -np.concatenate([b, b_p])
    solved = np.linalg.solve(A[:, list(dependent)], right)
    N, shift = np.zeros((J.shape[1], m + k)), np.zeros(J.shape[1])
    N[list(independent), np.arange(m)] = 1.0
    N[list(dependent)], shift[list(dependent)] = solved[:, :-1], solved[:, -1]
    return N, shift


def reduce(M: Floats, h: Floats, N: Floats, shift: Floats, names: tuple[str, ...]) -> Reduced:
    """Virtual power of all forces on the independent rates, (41)-(44)."""
    return Reduced(N.T @ M @ N, N.T @ (h + M @ shift), N, shift, names)


def solve_reduced(model: Reduced, f: Floats) -> Floats:
    """Accelerations of all coordinates."""
    a = np.linalg.solve(model.M, model.N.T @ f - model.c)
    out: Floats = model.N @ a + model.shift
    return out


def kkt_solve(M: Floats, J: Floats, top: Floats, bottom: Floats) -> tuple[Floats, Floats]:
    """x and mu with M x - J^T mu = top and J x = bottom; several right-hand sides as columns.

    Scaled to a unit diagonal first; M may be singular where J holds what it does not.
    """
    n, m = len(M), len(J)
    diagonal = np.diag(M)
    d = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = J * d
    e = 1.0 / np.maximum(np.linalg.norm(scaled, axis=1), np.finfo(float).tiny)
    K = np.zeros((n + m, n + m))
    K[:n, :n] = M * np.outer(d, d)
    K[n:, :n] = scaled * e[:, None]
    K[:n, n:] = -K[n:, :n].T
    right = np.concatenate([(top.T * d).T, (bottom.T * e).T])
    x = np.linalg.solve(K, right)
    return (x[:n].T * d).T, (x[n:].T * e).T
