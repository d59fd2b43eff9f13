"""Constrained dynamics in dense matrices: minimal, platform and redundant form, which must agree.

    M a + h = f + J^T lambda,    J a + b = 0

They explain and check the recursive elimination; they are not the fast path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
