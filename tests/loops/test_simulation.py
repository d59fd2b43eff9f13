"""Loops over time: drift, projection, stabilisation, balance of energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from closed_robots import pendulum_ring, state
from pliant import Dynamics

CLOSED = 1e-9
"""Gap and rate that a simulation may have."""

BALANCE = 1e-8
"""Error of the energy balance, relative to the energy that was moved."""


def balanced(arm, tau):
    """State (q, v, work of the drives, dissipated energy)."""
    n = arm.size

    def rhs(t, x):
        q, v = x[:n], x[n : 2 * n]
        efforts = tau(t)
        return np.concatenate([v, arm.forward(q, v, efforts), [efforts @ v[driven], arm.lost_power(q, v)]])

    driven = [arm.names.index(name) for name in arm.inputs]
    return rhs


def run(arm, q, v, tau, until, pieces, *, project):
    """Integrate in pieces; the largest gap and rate before each projection, and the end of the state."""
    n = arm.size
    x = np.concatenate([q, v, [0.0, 0.0]])
    drift = rate = 0.0
    for start, stop in zip(np.linspace(0, until, pieces + 1)[:-1], np.linspace(0, until, pieces + 1)[1:], strict=True):
        part = solve_ivp(balanced(arm, tau), (start, stop), x, method="DOP853", rtol=1e-11, atol=1e-12)
        assert part.success
        x = part.y[:, -1]
        drift = max(drift, np.abs(arm.closure(x[:n])).max())
        rate = max(rate, np.abs(arm.closure_rate(x[:n], x[n : 2 * n])).max())
        if project:
            x[:n], x[n : 2 * n] = arm.project(x[:n], x[n : 2 * n])
    return x, drift, rate


@pytest.mark.parametrize(
    ("name", "until", "size"),
    [("four-bar-rigid", 1.0, 0.1), ("four-bar", 0.05, 0.0), ("five-bar", 0.02, 0.0), ("dualemps", 0.005, 0.0)],
)
def test_energy_and_drift(name, until, size):
    arm = Dynamics(name)
    rng = np.random.default_rng(0)
    q, v = state(arm, size=size, speed=0.3)
    amplitude = rng.uniform(0.5, 1.0, len(arm.inputs)) * (50.0 if name == "dualemps" else 0.5)

    def tau(t):
        return amplitude * np.sin(2 * np.pi * t / until)

    before = arm.energy(q, v)
    x, drift, rate = run(arm, q, v, tau, until, 10, project=True)
    after = arm.energy(x[: arm.size], x[arm.size : -2])
    assert drift < CLOSED
    assert rate < CLOSED
    assert np.abs(arm.closure(x[: arm.size])).max() < 1e-14
    moved = max(abs(x[-2]), x[-1], after.kinetic, before.kinetic)
    assert moved > 0
    assert x[-1] > 0
    assert after.total - before.total == pytest.approx(x[-2] - x[-1], rel=0, abs=BALANCE * moved)


def test_conserved_energy_of_a_ring_in_free_fall():
    """No drive, no friction: a closed chain of six rods swings for two seconds."""
    arm = Dynamics(pendulum_ring(friction=0.0))
    q, v = state(arm, size=0.1)
    before = arm.energy(q, v).total
    x, drift, _ = run(arm, q, v, lambda t: np.zeros(0), 2.0, 20, project=True)
    assert drift < CLOSED
    assert arm.energy(x[: arm.size], x[arm.size : -2]).total == pytest.approx(before, abs=1e-8 * abs(before) + 1e-9)


def test_stabilisation_lets_gaps_decay():
    """A ring that starts open closes itself at the given rate, and stays closed without any projection."""
    k = 30.0
    arm = Dynamics(pendulum_ring(), stabilise=k)
    q, v = state(arm)
    q = q + 1e-3 * np.random.default_rng(1).standard_normal(arm.size)
    open_at_first = np.abs(arm.closure(q)).max()
    assert open_at_first > 1e-5
    x, _, _ = run(arm, q, v, lambda t: np.zeros(0), 1.0, 2, project=False)
    assert np.abs(arm.closure(x[: arm.size])).max() < 1e-8
    assert np.abs(arm.closure_rate(x[: arm.size], x[arm.size : -2])).max() < 1e-6


def test_drift_without_any_remedy_is_small_but_there():
    """The acceleration level alone keeps the loop to the accuracy of the integrator."""
    arm = Dynamics("four-bar-rigid")
    q, v = state(arm, size=0.1)
    _, drift, _ = run(arm, q, v, lambda t: np.array([0.2]), 1.0, 4, project=False)
    assert 0 < drift < 1e-7
