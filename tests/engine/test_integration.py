"""Compiled integrators against scipy, by their order of convergence and by the energy balance."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pliant.dynamics import Dynamics
from pliant.engine.compile.jit import is_x86
from pliant.engine.stepping.driving import Driving
from pliant.engine.stepping.explicit_system import ExplicitSystem
from pliant.engine.stepping.implicit_system import ImplicitSystem
from pliant.engine.stepping.integrators import Clock, Status, new_clock
from pliant.engine.stepping.layout import BALANCES
from pliant.engine.stepping.signal_table import Signals
from pliant.engine.stepping.stepper import Stepped, Wanted
from pliant.engine.stepping.steppers import STEPPERS

END = 0.5


@pytest.fixture(scope="module")
def arm():
    return Dynamics("two-link-flexible")


def pushed(arm):
    """PD towards a pose, with a smooth push from a signal."""
    driven = [arm.names.index(name) for name in arm.inputs]

    def law(q, v, r, gains):
        f = [0.0] * len(q)
        for k, i in enumerate(driven):
            f[i] = gains[0] * (r[k] - q[i]) - gains[1] * v[i]
        return f

    return law


def signals():
    return Signals.fit(lambda t: np.stack([0.3 * np.sin(3 * t), 0.2 * np.cos(2 * t)], axis=1), 0.0, END, pieces=8)


@pytest.fixture(scope="module")
def explicit(arm):
    system = ExplicitSystem(arm.tree, Driving(pushed(arm), (20.0, 2.0), channels=2), arm.traced("forward"))
    system.set_signals(signals())
    return system


def run_explicit(system, relative, grid=()):
    x = np.zeros(system.states)
    clock = new_clock(0.0, END, step=1e-4, largest=1.0, relative=relative)
    grid = np.array(grid, dtype=float)
    samples, following = np.zeros((len(grid), system.states)), np.zeros(1, dtype=np.int64)
    knots = np.zeros((20001, 1 + 2 * system.states))
    tolerance = np.full(system.states, relative)
    stepped = Stepped(STEPPERS["dop853"], system)
    status, _ = stepped.advance(stepped.steps(clock, x, tolerance, knots, Wanted(grid, following, samples)))
    assert status is Status.FINISHED
    assert following[0] == len(grid)
    return x, clock, samples


@pytest.fixture(scope="module")
def converged(explicit):
    return run_explicit(explicit, 1e-12)[0]


def test_a_constant_signal_is_one_number():
    held = Signals.fit(lambda t: np.tile([1.5, -2.0], (len(t), 1)), 3.0, 3.002)
    assert held.coefficients.shape == (1, 2, 1)
    np.testing.assert_array_equal(held(np.array([3.0, 3.001, 3.002])), [[1.5, -2.0]] * 3)


def test_signals_follow_their_function():
    t = np.linspace(0, END, 57)
    wanted = np.stack([0.3 * np.sin(3 * t), 0.2 * np.cos(2 * t)], axis=1)
    # interpolation by degree 9 on eight pieces: rounding
    np.testing.assert_allclose(signals()(t), wanted, atol=1e-14)


def test_slope_is_the_robots(arm, explicit):
    rng = np.random.default_rng(3)
    x = 0.01 * rng.standard_normal(explicit.states)
    n, t = arm.size, 0.123
    a = arm.forward(x[:n], x[n : 2 * n], force=explicit.forces(t, x))
    slope = explicit.slope(t, x)
    np.testing.assert_allclose(slope[n : 2 * n], a, rtol=1e-10, atol=1e-10 * abs(a).max())
    np.testing.assert_array_equal(slope[:n], x[n : 2 * n])


def test_dop853_agrees_with_scipy(explicit, converged):
    def slope(t, x):
        return explicit.slope(t, x)

    peer = solve_ivp(slope, (0, END), np.zeros(explicit.states), method="DOP853", rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(converged, peer.y[:, -1], atol=1e-8)


def test_dense_output_is_as_good_as_the_steps(explicit, converged):
    grid = np.linspace(0.01, END, 23)
    x, _, samples = run_explicit(explicit, 1e-9, grid)
    np.testing.assert_allclose(samples[-1], x, atol=1e-12)
    _, _, fine = run_explicit(explicit, 1e-12, grid)
    np.testing.assert_allclose(samples, fine, atol=1e-6)


def test_energy_balance(arm, explicit, converged):
    n = arm.size
    start, end = arm.energy(np.zeros(n), np.zeros(n)), arm.energy(converged[:n], converged[n : 2 * n])
    work, lost = converged[2 * n], converged[2 * n + 2]
    assert abs(work) > 0.01
    assert end.total - start.total == pytest.approx(work - lost, abs=1e-9)


def fixed_steps(system, method, steps):
    x, clock = np.zeros(system.states), new_clock(0.0, END, step=END / steps, largest=1.0, relative=0.0)
    knots = np.zeros((steps + 2, 1 + 2 * system.states))
    stepped = Stepped(STEPPERS[method], system)
    assert stepped.advance(stepped.steps(clock, x, x, knots))[0] is Status.FINISHED
    assert clock[Clock.STEPS] == steps
    return x


@pytest.mark.parametrize(("method", "order", "steps"), [("rk4", 4, 4000), ("semi-implicit", 1, 8000)])
def test_order_of_fixed_steps(explicit, converged, method, order, steps):
    errors = [abs(fixed_steps(explicit, method, k) - converged).max() for k in (steps, 2 * steps)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


def test_vibrations_do_not_make_steps_fail(explicit):
    _, clock, _ = run_explicit(explicit, 1e-8)
    # without a calm control of the step it is every third
    assert clock[Clock.REJECTED] < 0.04 * clock[Clock.STEPS]


def test_a_pause_changes_nothing(explicit):
    tolerance = np.full(explicit.states, 1e-8)
    ends = []
    for steps in (20000, 7):
        stepped = Stepped(STEPPERS["dop853"], explicit)
        x = np.zeros(explicit.states)
        clock = new_clock(0.0, END, step=1e-4, largest=1.0, relative=1e-8)
        knots = np.zeros((steps + 1, 1 + 2 * explicit.states))
        status = Status.PAUSED
        while status is Status.PAUSED:
            status, _ = stepped.advance(stepped.steps(clock, x, tolerance, knots))
        assert status is Status.FINISHED
        ends.append((x, clock))
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_array_equal(ends[0][1], ends[1][1])


@pytest.mark.skipif(not is_x86(), reason="other processors are not slowed down by denormal numbers")
def test_denormals_are_flushed_inside_and_not_outside(explicit):
    x = np.full(explicit.states, 1e-310)
    stepped = Stepped(STEPPERS["semi-implicit"], explicit)
    slope = stepped.work[: explicit.states]
    knots = np.zeros((2, 1 + 2 * explicit.states))
    clock = new_clock(0.0, 1e-9, step=1e-9, largest=1.0, relative=0.0)
    stepped.advance(stepped.steps(clock, x, x, knots))
    tiny = np.abs(np.concatenate([x, slope]))
    assert not np.any((tiny > 0) & (tiny < np.finfo(float).tiny))
    # the caller's arithmetic is as before
    assert np.float64(1e-310) * 0.5 > 0


def test_generalised_alpha_has_order_two(arm, explicit, converged):
    driving = Driving(pushed(arm), (20.0, 2.0), channels=2)
    system = ImplicitSystem(arm.tree, driving, inverse=arm.traced("inverse"))
    system.set_signals(signals())
    n = arm.size
    a = explicit.slope(0.0, np.zeros(explicit.states))[n : 2 * n]
    errors = []
    for steps in (2000, 4000):
        x = np.concatenate([np.zeros(2 * n + BALANCES), a, a, np.zeros(3 * n)])
        clock = new_clock(0.0, 0.0, step=END / steps, largest=1.0, relative=0.0, radius=0.9, fixed=True)
        clock[Clock.END] = END
        knots = np.zeros((steps + 2, 1 + 2 * system.states))
        tolerance = np.full(system.states, 1e-9)
        tolerance[system.layout.balances] = np.inf
        stepped = Stepped(STEPPERS["generalised-alpha"], system)
        assert stepped.advance(stepped.steps(clock, x, tolerance, knots))[0] is Status.FINISHED
        errors.append(abs(x[:n] - converged[:n]).max())
    assert 1.7 < np.log2(errors[0] / errors[1]) < 2.3
    # the matrix is kept while it converges
    assert clock[Clock.MATRICES] < clock[Clock.STEPS] / 20
