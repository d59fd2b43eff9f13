"""Small vibrations M x'' + K x = 0: motions without stiffness by construction, and all others to their last digits.

A motion without stiffness strains no link and no spring, and gravity does not change along it. Both are read off the
mechanism: the first from the coordinates that have stiffness at all, the second from the force of gravity alone. The
size of a frequency says nothing: beside stiff coordinates a soft one may be ten orders of magnitude lower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]

UNSTRAINED = 1e-9
"""Movement of a strained coordinate, as a part of the whole motion, that rounding and loops may leave."""
LEVEL = 1e-9
"""Change of gravity's force along a motion, as a part of weight over the robot's reach, that is rounding."""
STILL = 1e-7
"""Size of a pole, as a part of the largest, that rounding makes of the double zero of a motion without stiffness."""
BELOW = 1.5
"""How far below the lowest square the shift lies that makes the stiffness positive definite."""


class IndefiniteMassError(ValueError):
    """A state so far beyond the limits of the model that nothing vibrates about it."""


class Vibrations(NamedTuple):
    """Squares of frequencies (k,), the lowest first, and shapes of unit modal mass (m, k)."""

    squares: Floats
    vectors: Floats


def rigid_motions(arm: Dynamics, motions: Floats, M: Floats, K: Floats) -> Floats:
    """Motions without stiffness (m, r).

    motions  all coordinates per coordinate of M and K (n, m)
    """
    if not len(M):
        return np.zeros((0, 0))
    size = 1.0 / np.sqrt(np.diag(M))
    strained = np.diag(arm.stiffness) != 0.0
    # parts of the motion, so that no coordinate has a unit
    parts = np.sqrt(np.einsum("ij,ij->i", motions @ M, motions))[strained]
    rows = motions[strained] * size
    free = _null_space(rows / np.where(parts > 0, parts, 1.0)[:, None], UNSTRAINED)
    force = (K * np.outer(size, size)) @ free
    weight = float(np.linalg.norm(arm.robot.gravity)) / arm.reach
    return np.asarray(size[:, None] * (free @ _null_space(force, LEVEL * weight)))


def vibrations(M: Floats, K: Floats, rigid: Floats) -> Vibrations:
    """All vibrations; the rigid motions come with the square zero, as every motion by its place in the order."""
    r, m = rigid.shape[1], len(M)
    if not m:
        return Vibrations(np.zeros(0), np.zeros((0, 0)))
    # x = rigid y + others z: K z is that of the others, M that of the others when the rigid motion gives way
    others = np.setdiff1d(np.arange(m), _pivots(rigid))
    elastic = np.eye(m)[:, others]
    if r:
        MR = M @ rigid
        elastic = elastic - rigid @ np.linalg.solve(rigid.T @ MR, MR[others].T)
        rigid = rigid @ np.linalg.inv(np.linalg.cholesky(rigid.T @ MR)).T
    squares, inner = _positive_first(elastic.T @ M @ elastic, K[np.ix_(others, others)])
    every = np.concatenate([np.zeros(r), squares])
    vectors = np.hstack([rigid, elastic @ inner])
    order = np.argsort(every, kind="stable")
    every, vectors = every[order], vectors[:, order]
    # the largest entry of a shape is positive
    largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(m)]
    return Vibrations(every, vectors * np.sign(largest))


class ComplexVibrations(NamedTuple):
    """Poles p (k,), 1/s, one of each conjugate pair, and complex shapes of unit modal mass (m, k)."""

    poles: NDArray[np.complex128]
    vectors: NDArray[np.complex128]


def complex_vibrations(M: Floats, D: Floats, K: Floats) -> ComplexVibrations:
    """Motions x e^(p t) of M x'' + D x' + K x = 0 with gyroscopic D or unsymmetric K, the slowest first.

    Of the two real poles of a motion that falls, the one that grows is kept, and one of the two zeros of a motion
    without stiffness.
    """
    from scipy.linalg import eig

    m = len(M)
    size = 1.0 / np.sqrt(np.diag(M))
    M, D, K = (x * np.outer(size, size) for x in (M, D, K))
    rate = float(np.sqrt(np.abs(K).max(initial=0.0))) or 1.0
    left = np.block([[np.zeros((m, m)), np.eye(m)], [-K / rate**2, -D / rate]])
    right = np.block([[np.eye(m), np.zeros((m, m))], [np.zeros((m, m)), M]])
    poles, vectors = eig(left, right)
    poles, vectors = rate * poles, vectors[:m]
    small = STILL * float(np.abs(poles).max(initial=0.0))
    zeros = [k for k in range(2 * m) if abs(poles[k]) <= small]
    real = [k for k in range(2 * m) if k not in zeros and abs(poles[k].imag) <= small]
    grow = [k for k in real if poles[k].real > 0]
    decay = sorted((k for k in real if poles[k].real < 0), key=lambda k: poles[k].real)
    swing = [k for k in range(2 * m) if poles[k].imag > small]
    # each motion that grows has a twin that decays; overdamped ones come in pairs, too
    kept = [*zeros[::2], *grow, *decay[: max(0, m - len(swing) - len(grow) - len(zeros[::2]))], *swing]
    poles[zeros] = 0.0
    kept.sort(key=lambda k: (poles[k].real <= 0 or poles[k].imag > 0, abs(poles[k])))
    shapes = vectors[:, kept]
    shapes = shapes / np.sqrt(np.einsum("ik,ij,jk->k", shapes.conj(), M, shapes).real)
    largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(len(kept))]
    return ComplexVibrations(poles[kept], size[:, None] * shapes * (np.abs(largest) / largest))


def _positive_first(M: Floats, K: Floats) -> Vibrations:
    """The inverse problem M x = x (K - s M) / (w^2 - s): it keeps the digits of the low frequencies."""
    from scipy.linalg import LinAlgError, eigh

    if not len(M):
        return Vibrations(np.zeros(0), np.zeros((0, 0)))
    # like coordinates, so that a stiff one does not hide a soft one
    size = 1.0 / np.sqrt(np.diag(M))
    M, K = M * np.outer(size, size), K * np.outer(size, size)
    shift = 0.0
    for _ in range(3):
        stiff = np.sqrt(np.abs(np.diag(K - shift * M)))
        stiff[stiff == 0.0] = 1.0
        both = np.outer(stiff, stiff)
        try:
            inverse, vectors = eigh(M / both, (K - shift * M) / both)
        except LinAlgError:
            # gravity topples it: a shift below the lowest square
            lowest = float(eigh(K, M, eigvals_only=True, subset_by_index=[0, 0])[0])
            shift = BELOW * min(lowest, shift) if min(lowest, shift) < 0 else -float(np.abs(np.diag(K)).max())
            continue
        # unit modal mass: vectors are normalised by the stiffness
        back = inverse[::-1]
        if back[-1] <= 0.0:
            raise IndefiniteMassError(
                "the mass matrix is not positive definite at this state: its links bend further than second-order "
                "bending holds; write bending: exact"
            )
        squares, shapes = 1.0 / back + shift, (vectors[:, ::-1] / stiff[:, None]) / np.sqrt(back)
        # the high ones lose digits in turn: their quotients of Rayleigh have them
        high = back < np.sqrt(back[0] * back[-1])
        squares[high] = np.einsum("ik,ij,jk->k", shapes[:, high], K, shapes[:, high])
        return Vibrations(squares, size[:, None] * shapes)
    squares, vectors = eigh(K, M)
    return Vibrations(squares, size[:, None] * vectors)


def _null_space(rows: Floats, tolerance: float) -> Floats:
    """Directions that a matrix takes to less than a tolerance (m, k), the unit ones among them as they are."""
    m = rows.shape[1]
    # columns that are zero give exact unit vectors
    none = np.abs(rows).max(axis=0, initial=0.0) <= tolerance
    unit = np.eye(m)[:, none]
    rest = np.flatnonzero(~none)
    if not len(rest):
        return unit
    _, values, V = np.linalg.svd(rows[:, rest])
    mixed = np.zeros((m, len(rest) - int(np.count_nonzero(values > tolerance))))
    mixed[rest] = V[len(rest) - mixed.shape[1] :].T
    return np.hstack([unit, mixed])


def _pivots(columns: Floats) -> NDArray[np.intp]:
    """One row for each column, such that the rows are independent."""
    from scipy.linalg import qr

    if not columns.shape[1]:
        return np.zeros(0, dtype=np.intp)
    return np.asarray(qr(columns.T, mode="r", pivoting=True)[1][: columns.shape[1]])
