"""Riccati equations beside solutions with sixty digits, of systems whose units and rates differ by many orders."""

import numpy as np
import pytest
from scipy.linalg import expm

from pliant import DesignError
from pliant.control.riccati import SampledCost, continuous_riccati, discrete_riccati

mpmath = pytest.importorskip("mpmath")

CLOSE = 1e-6
"""Of each entry, in the sizes of its row and column."""


def vibrating(seed):
    """A, B, Q, R of coordinates whose units, frequencies, weights and efforts differ by orders of magnitude; scales."""
    rng = np.random.default_rng(seed)
    m, inputs = 2, int(rng.integers(1, 3))
    unit = 10.0 ** rng.uniform(-4, 1, m)
    L = rng.normal(size=(m, m))
    M = (L @ L.T + 0.1 * np.eye(m)) * np.outer(unit, unit)
    back = np.linalg.cholesky(M)
    w = np.array([0.0, 10.0 ** rng.uniform(1, 5)])
    K, D = (back @ np.diag(x) @ back.T for x in (w**2, 2e-3 * w))
    B = np.vstack([np.zeros((m, inputs)), np.linalg.solve(M, rng.normal(size=(m, inputs)) * unit[:, None])])
    A = np.block([[np.zeros((m, m)), np.eye(m)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    c = rng.normal(size=(1, m))
    Q = np.zeros((2 * m, 2 * m))
    Q[:m, :m] = 10.0 ** rng.uniform(-6, 8) * c.T @ c + 10.0 ** rng.uniform(-2, 2) * np.eye(m)
    R = np.diag(10.0 ** rng.uniform(-6, 4, inputs))
    size = 1 / np.sqrt(np.diag(M))
    rate = float(np.sqrt(np.abs(K * np.outer(size, size)).max()))
    return (A, B, Q, R), (np.concatenate([size, rate * size]), rate)


def exact(A, B, Q, R):
    """P from the decaying motions of the Hamiltonian matrix with sixty digits."""
    n = len(A)
    with mpmath.workdps(60):
        A, B, Q, R = (mpmath.matrix(x.tolist()) for x in (A, B, Q, R))
        G = B * R**-1 * B.T
        H = mpmath.zeros(2 * n)
        for i in range(n):
            for k in range(n):
                H[i, k], H[i, n + k], H[n + i, k], H[n + i, n + k] = A[i, k], -G[i, k], -Q[i, k], -A[k, i]
        rates, motions = mpmath.eig(H)
        kept = sorted(range(2 * n), key=lambda k: mpmath.re(rates[k]))[:n]
        X, Y = (mpmath.matrix([[motions[o + i, k] for k in kept] for i in range(n)]) for o in (0, n))
        P = Y * X**-1
        return np.array([[float(mpmath.re(P[i, k])) for k in range(n)] for i in range(n)])


def apart(found, wanted):
    size = np.sqrt(np.abs(np.diag(wanted)))
    return np.abs((found - wanted) / np.outer(size, size)).max()


@pytest.mark.parametrize("seed", range(8))
def test_sixty_digits(seed):
    given, (size, rate) = vibrating(seed)
    A, B, *_ = given
    assert apart(continuous_riccati(*given, (size, rate)), exact(*given)) < CLOSE
    # of a filter, the dual problem
    dual = A.T, (np.eye(4)[:2] * size).T, B @ B.T + np.diag(size) ** 2, np.eye(2) * 1e-6
    assert apart(continuous_riccati(*dual, (1 / size, rate)), exact(*dual)) < CLOSE


def test_sampled_ever_closer_is_continuous():
    """Cost of a sampled regulator that hardly holds its commands; and the equation itself."""
    (A, B, Q, R), scales = vibrating(3)
    whole = continuous_riccati(A, B, Q, R, scales)
    period = 1e-4 / scales[1]
    n, m = B.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = A * period, B * period
    step = expm(block)
    cost = SampledCost(period * np.block([[Q, np.zeros((n, m))], [np.zeros((m, n)), R]]), n)
    found = discrete_riccati(step[:n, :n], step[:n, n:], cost)
    assert apart(found, whole) < 1e-2


def test_what_has_no_solution_is_refused():
    """A motion on the axis that is neither reached nor seen, and one that only grows."""
    still, one = np.zeros((2, 2)), np.eye(1)
    B = np.array([[0.0], [1.0]])
    scales = np.ones(2), 1.0
    swing = np.array([[0.0, 1.0], [-1.0, 0.0]])
    with pytest.raises(DesignError, match="no solution that can be told from rounding"):
        continuous_riccati(swing, 0 * B + 1e-12, still, one, scales)
    grows = np.diag([1.0, -1.0])
    with pytest.raises(DesignError, match="no solution that can be told from rounding"):
        continuous_riccati(grows, B, np.eye(2), one, scales)
    cost = SampledCost(np.diag([1.0, 1.0, 1.0]), 2)
    with pytest.raises(DesignError, match="no solution that can be told from rounding"):
        discrete_riccati(expm(grows), B, cost)
