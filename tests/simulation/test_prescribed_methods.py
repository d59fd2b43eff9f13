"""Prescribed motion with every implicit solver of others, on a tree and through a loop."""

from functools import cache

import numpy as np
import pytest

import pliant
from pliant import Dynamics
from pliant.drives.given import NoDrive
from pliant.simulation.integrators.integrator import Settings, Tolerance
from pliant.simulation.integrators.scipy_solver import ScipySolver
from pliant.simulation.run import simulate
from pliant.simulation.state_equations import StateEquations

UNTIL = 0.01
MOVES = {"single-flexible-link": {"shoulder": 0.002}, "four-bar": {"motor": 0.002}}
AGREE = 1e-4
"""Of the largest way of a coordinate, at a relative tolerance of 1e-7 beside 1e-11."""
METHODS = ("scipy:Radau", "scipy:BDF", "scipy:LSODA", "sundials")


@cache
def moved(name, method, tolerance):
    arm = Dynamics(name)
    to = {joint: arm.robot.reference_coordinates()[joint] + by for joint, by in MOVES[name].items()}
    drive = pliant.PrescribedMotion(trajectory=pliant.Quintic(to=to, duration=0.8 * UNTIL))
    return simulate(arm, until=UNTIL, drive=drive, method=method, tolerance=tolerance)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MOVES)
def test_prescribed_motion_reaches_its_end(name, method):
    if method == "sundials":
        pytest.importorskip("sksundae")
    exact, run = moved(name, "dop853", 1e-11), moved(name, method, 1e-7)
    assert run.finished
    assert run.time[-1] == pytest.approx(UNTIL)
    way = np.ptp(exact.q, axis=0).max()
    assert way > 0.0005
    assert np.abs(run.q - exact.q).max() < AGREE * way
    # the joints are where they are told to be, and the motors did it
    for joint, by in MOVES[name].items():
        assert run[joint][-1] - run[joint][0] == pytest.approx(by, abs=1e-9)
    tau = np.abs(exact.tau).max()
    assert np.abs(run.tau - exact.tau).max() < 100 * AGREE * tau


@pytest.mark.parametrize("kind", ["Radau", "BDF"])
def test_slopes_stay_what_they_are_however_often_they_are_asked_for(kind):
    """Nothing depends on the balances of energy; differences that grow there without end overflowed after a while."""
    arm = Dynamics("single-flexible-link", compile="never")
    equations = StateEquations(arm, NoDrive(len(arm.inputs)))
    rng = np.random.default_rng(0)
    y = equations.start(
        arm.reference_pose() + 1e-3 * rng.standard_normal(arm.size), 0.01 * rng.standard_normal(arm.size)
    )
    equations.enter(0.0, 1.0)
    solver = ScipySolver(equations, 0.0, y, Settings(Tolerance.of(equations, 1e-6)), kind)
    solver._begin(1.0)
    first = np.array(solver.solver.J)
    for _ in range(30):
        again = solver.solver.jac(0.0, y) if kind == "BDF" else solver.solver.jac(0.0, y, equations.rates(0.0, y))
    np.testing.assert_array_equal(again, first)
    n = arm.size
    np.testing.assert_allclose(first[:n, n : 2 * n], np.eye(n), rtol=1e-6, atol=1e-6)
    assert not first[:, equations.layout.balances].any()
    # central differences of the accelerations with wider steps
    for k in range(2 * n):
        step = 1e-6 * np.eye(len(y))[k]
        slope = (equations.rates(0.0, y + step) - equations.rates(0.0, y - step))[n : 2 * n] / 2e-6
        size = max(np.abs(slope).max(), 1.0)
        np.testing.assert_allclose(first[n : 2 * n, k], slope, rtol=0, atol=1e-4 * size)
