"""Derivatives of dual projection matrices: screws against the chain rule in symbols, and against the printed arm."""

import numpy as np
import pytest

sympy = pytest.importorskip("sympy")

from pliant import Dynamics, PrintedArm  # noqa: E402
from pliant.reproduce import screw_derivatives as derivatives  # noqa: E402


def test_screws_and_the_chain_rule_have_the_same_derivatives():
    found = derivatives.derivative_costs()
    assert found.apart < 1e-12
    assert set(found.seconds) == set(found.operations) == set(derivatives.PAPER_SECONDS)


def test_the_matrices_are_those_of_the_printed_arm():
    """Numbers of the symbols with the arm's lengths and tip slopes, beside the procedure in NumPy."""
    printed, model = PrintedArm("cibicik-4dof"), Dynamics("cibicik-4dof", compile="never")
    arm = derivatives.symbolic_arm()
    rates = derivatives.by_screws(arm)
    rng = np.random.default_rng(4)
    q, u = rng.normal(size=16) * np.r_[np.ones(4), 0.01 * np.ones(12)], rng.normal(size=16)
    order = ["q1", "q2", "q3", "q4"] + [
        f"{link}.{family}.{k}" for link in ("boom", "jib") for family in ("torsion", "bend_y", "bend_z") for k in (1, 2)
    ]
    places = [model.names.index(name) for name in order]
    state, rate = np.zeros(16), np.zeros(16)
    state[places], rate[places] = q, u
    printed.set_state(state, rate)
    values = (
        dict(zip(arm.q, q, strict=True))
        | dict(zip(arm.u, u, strict=True))
        | {sympy.Symbol("L2"): 2.0, sympy.Symbol("L3"): 1.8}
    )
    for number, name in ((2, "boom"), (3, "jib")):
        J = model.jacobian(f"{name}.tip", model.q())
        R = model.pose(f"{name}.tip", model.q()).rotation
        for k in (1, 2):
            column = R.T @ J[3:, model.names.index(f"{name}.bend_y.{k}")]
            values[sympy.Symbol(f"s{number}_{k}")] = float(column[2])
    numbers = sympy.lambdify(list(values), [*arm.P, *rates], cse=True)(*values.values())
    for link, P, P_rate in zip(printed.links, numbers[:4], numbers[4:], strict=True):
        np.testing.assert_allclose(link.P[:, places], P, atol=1e-12)
        np.testing.assert_allclose(link.P_rate[:, places], P_rate, atol=1e-12)
