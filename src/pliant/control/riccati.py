"""Riccati equations of regulators and filters, continuous and sampled, solved to rounding or refused."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEWTON = 12
"""Newton steps of a Riccati equation; two or three are usual."""
SOLVED = 1e-5
"""Relative change of the last of them, beyond which the solution is not known."""


class DesignError(ValueError):
    """A controller or observer that cannot be designed, with the motion that stands in the way."""


def symmetric(X: Floats) -> Floats:
    return np.asarray(0.5 * (X + X.T))


def continuous_riccati(A: Floats, B: Floats, Q: Floats, R: Floats, scales: tuple[Floats, float]) -> Floats:
    """The P of A^T P + P A - P B R^-1 B^T P + Q = 0 with which A - B R^-1 B^T P decays.

    scales  sizes of the states and a rate, in which A has entries of one size; without, all digits may be lost
    """
    from scipy.linalg import solve_continuous_are, solve_continuous_lyapunov

    size, rate = scales
    root = np.linalg.cholesky(R)
    A, B = A * size / size[:, None] / rate, np.linalg.solve(root, B.T).T / size[:, None] / rate
    Q = Q * np.outer(size, size)
    # a unit of cost in which efforts and states count alike
    cost = float(np.sqrt(np.linalg.norm(Q) / np.linalg.norm(B @ B.T))) or 1.0
    B, Q = B * np.sqrt(cost), Q / cost
    try:
        P = symmetric(solve_continuous_are(A, B, Q, np.eye(B.shape[1])))
    except (ValueError, np.linalg.LinAlgError):
        # its Schur form cannot always be put in order; what is lost here is found again below
        P = _by_eigenvectors(A, B, Q)
    last = np.inf
    # Newton's steps (Kleinman, 1968), until they are rounding
    for _ in range(NEWTON):
        K = B.T @ P
        if not np.linalg.eigvals(A - B @ K).real.max(initial=-1.0) < 0:
            last = np.inf
            break
        left = A.T @ P + P @ A + Q - K.T @ K
        step = symmetric(solve_continuous_lyapunov((A - B @ K).T, -symmetric(left)))
        change = float(np.linalg.norm(step)) / max(float(np.linalg.norm(P)), 1e-300)
        if not change < last / 2:
            break
        P, last = P + step, change
    _require_solved(last)
    return P * cost / np.outer(size, size) / rate


def _by_eigenvectors(A: Floats, B: Floats, Q: Floats) -> Floats:
    """The Riccati equation with R = 1 by the decaying motions of its Hamiltonian matrix."""
    n = len(A)
    rates, motions = np.linalg.eig(np.block([[A, -B @ B.T], [-Q, -A.T]]))
    kept = motions[:, np.argsort(rates.real)[:n]]
    return symmetric(np.linalg.lstsq(kept[:n].T, kept[n:].T, rcond=None)[0].T.real)


def _require_solved(change: float) -> None:
    if not change < SOLVED:
        raise DesignError(
            "the Riccati equation has no solution that can be told from rounding: a motion hardly decays and is hardly "
            "reached, or weights or noise differ by too many orders of magnitude; weigh coordinates and rates too, "
            "take weights nearer to each other, or give the links damping"
        )


class SampledCost:
    """Sum over periods of [x; u]^T [[Q, N], [N^T, R]] [x; u]."""

    def __init__(self, whole: Floats, states: int) -> None:
        self.Q, self.N, self.R = whole[:states, :states], whole[:states, states:], whole[states:, states:]


def discrete_riccati(A: Floats, B: Floats, cost: SampledCost) -> Floats:
    """The P of x^T P x = the least sum of a cost along x[k+1] = A x[k] + B u[k]."""
    from scipy.linalg import solve_discrete_are

    try:
        P = symmetric(solve_discrete_are(A, B, cost.Q, cost.R, s=cost.N))
    except (ValueError, np.linalg.LinAlgError):
        _require_solved(np.inf)
    change = np.inf
    # the cost of one sample and what follows: errors die out as the closed loop does
    for _ in range(2):
        seen = B.T @ P @ A + cost.N.T
        K = np.linalg.solve(cost.R + B.T @ P @ B, seen)
        following = symmetric(A.T @ P @ A + cost.Q - seen.T @ K)
        size = np.sqrt(np.abs(np.diag(following)).clip(1e-12 * np.abs(np.diag(following)).max(initial=1e-300)))
        change, P = float((np.abs(following - P) / np.outer(size, size)).max(initial=0.0)), following
    _require_solved(change if np.abs(np.linalg.eigvals(A - B @ K)).max(initial=0.0) < 1 else np.inf)
    return P
