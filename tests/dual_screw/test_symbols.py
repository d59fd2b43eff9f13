"""The linearised equations in symbols, `derive --order 1`, are those of the dual screws: two ways, one result."""

import numpy as np
import pytest

from pliant import Dynamics, load

pytest.importorskip("sympy")
ROUNDING = 1e-12
"""Of the largest entry: some hundred products."""


@pytest.mark.parametrize("name", ["single-flexible-link", "two-link-flexible", "lin-lewis-rfr"])
def test_first_order_equations_agree(name):
    """M, and h of rigid rates; with elastic rates the closed form keeps products of them with deflections."""
    from pliant.formulations.lagrange.equations import equations

    robot = load(name)
    closed = equations(robot, order=1).functions()
    dual, exact = (Dynamics(robot, method=method, compile="never") for method in ("dual_screw", "recursive"))
    rng = np.random.default_rng(5)
    elastic = np.array(["." in coordinate for coordinate in dual.names])
    q = rng.normal(size=dual.size) * np.where(elastic, 1e-2, 1.0)
    v = np.where(elastic, 0.0, rng.normal(size=dual.size))
    M, h = dual.mass_matrix(q), dual.bias(q, v)
    assert np.abs(closed.mass_matrix(q) - M).max() < ROUNDING * np.abs(M).max()
    assert np.abs(closed.bias(q, v) - h).max() < ROUNDING * np.abs(h).max()
    # the nonlinear model is another one
    assert np.abs(exact.mass_matrix(q) - M).max() > 1e-8 * np.abs(M).max()
