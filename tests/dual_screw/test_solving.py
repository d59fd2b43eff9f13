"""Elimination in a given order, against NumPy."""

import numpy as np
import pytest

from pliant.formulations.dual_screw.dual_methods import solve, solve_symmetric

ORDERS = ([0, 1, 2, 3, 4], [3, 0, 4, 2, 1])


@pytest.mark.parametrize("order", ORDERS)
def test_elimination(order):
    rng = np.random.default_rng(2)
    A, b = rng.normal(size=(5, 5)) + 4 * np.eye(5), rng.normal(size=5)
    assert solve(A.tolist(), b.tolist(), order) == pytest.approx(np.linalg.solve(A, b), rel=1e-10)
    S = A @ A.T
    assert solve_symmetric(S.tolist(), b.tolist()) == pytest.approx(np.linalg.solve(S, b), rel=1e-10)
