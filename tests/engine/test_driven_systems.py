"""Compiled systems beyond the tree with free coordinates: closed loops, and coordinates whose motion is given."""

import numpy as np
import pytest

from closed_robots import state
from pliant.drives.prescribed import PrescribedDynamics
from pliant.dynamics import Dynamics
from pliant.engine.call.evaluator import Program
from pliant.engine.compile import jit
from pliant.engine.stepping.driving import Driving
from pliant.engine.stepping.explicit_system import ExplicitSystem
from pliant.engine.stepping.implicit_system import ImplicitSystem
from pliant.engine.stepping.integrators import Clock, Status, new_clock
from pliant.engine.stepping.layout import BALANCES
from pliant.engine.stepping.signal_table import Signals
from pliant.engine.stepping.stepper import Stepped
from pliant.engine.stepping.steppers import STEPPERS

END = 0.1


def motion(t, driven):
    """Smooth positions, rates and accelerations of the driven coordinates."""
    phases = np.arange(1, driven + 1)
    w = 20.0
    angle = w * t[:, None] + phases
    level = 0.01 * phases
    return np.hstack([level * np.sin(angle), level * w * np.cos(angle), -level * w * w * np.sin(angle)])


def given(driven):
    def law(q, v, r, gains):
        f = [0.0] * len(q)
        for k, i in enumerate(driven):
            f[i] = r[2 * len(driven) + k]
        return f

    return law


def driven_system(arm, kind):
    model = PrescribedDynamics(arm)
    driven = tuple(model.driven.tolist())
    by = {"forward": model.loops.traced_forward(driven)}
    if kind is ImplicitSystem and not arm.loops.rows:
        by = {"inverse": arm.traced("inverse")}
    system = kind(arm.tree, Driving(given(driven), channels=3 * len(driven), driven=driven), **by)
    system.set_signals(Signals.fit(lambda t: motion(t, len(driven)), 0.0, END, pieces=8))
    return system, model


@pytest.mark.parametrize("name", ["four-bar", "dualemps"])
def test_slope_of_a_closed_loop(name):
    arm = Dynamics(name)
    n, inputs = arm.size, [arm.names.index(x) for x in arm.inputs]

    def law(q, v, r, gains):
        f = [0.0] * len(q)
        for i in inputs:
            f[i] = gains[0] - gains[1] * v[i]
        return f

    system = ExplicitSystem(arm.tree, Driving(law, (3.0, 0.5)), forward=arm.loops.traced_forward())
    q, v = state(arm, size=1e-3)
    slope = system.slope(0.0, np.concatenate([q, v, np.zeros(BALANCES)]))
    tau = 3.0 - 0.5 * v[inputs]
    a = arm.forward(q, v, tau)
    np.testing.assert_allclose(slope[n : 2 * n], a, rtol=0, atol=1e-11 * np.abs(a).max())
    np.testing.assert_array_equal(slope[:n], v)
    assert slope[2 * n] == pytest.approx(tau @ v[inputs], rel=1e-12)


@pytest.mark.parametrize("name", ["two-link-flexible", "dualemps", "five-bar"])
def test_slope_with_driven_coordinates(name):
    arm = Dynamics(name)
    system, model = driven_system(arm, ExplicitSystem)
    t, count = 0.037, len(model.free)
    rng = np.random.default_rng(0)
    x = np.concatenate([1e-4 * rng.standard_normal(count), 0.1 * rng.standard_normal(count), np.zeros(BALANCES)])
    q_d, v_d, a_d = np.split(motion(np.array([t]), len(model.driven))[0], 3)
    q, v = model.expand(q_d, x[:count]), model.expand(v_d, x[count : 2 * count])
    slope = system.slope(t, x)
    tau, a = model.solve(q, v, a_d)
    np.testing.assert_allclose(slope[count : 2 * count], a, rtol=0, atol=1e-9 * np.abs(a).max())
    np.testing.assert_array_equal(slope[:count], x[count : 2 * count])
    assert slope[2 * count] == pytest.approx(tau @ v_d, rel=1e-8)


@pytest.mark.parametrize("name", ["two-link-flexible", "dualemps"])
def test_generalised_alpha_of_driven_coordinates_has_order_two(name):
    """Trees by their inverse dynamics, loops by their forward dynamics, both against explicit steps."""
    arm = Dynamics(name)
    explicit, model = driven_system(arm, ExplicitSystem)
    implicit, _ = driven_system(arm, ImplicitSystem)
    count = len(model.free)
    q_d, v_d, _ = np.split(motion(np.zeros(1), len(model.driven))[0], 3)
    start = arm.reference_pose()
    start[model.driven], rates = q_d, np.zeros(arm.size)
    rates[model.driven] = v_d
    start, rates = arm.loops.corrected(start, rates, tuple(model.driven.tolist()))
    x0 = np.concatenate([start[model.free], rates[model.free], np.zeros(BALANCES)])
    exact, clock = x0.copy(), new_clock(0.0, END, step=1e-5, largest=1.0, relative=1e-11)
    knots = np.zeros((60001, 1 + 2 * explicit.states))
    stepped = Stepped(STEPPERS["dop853"], explicit)
    steps = stepped.steps(clock, exact, np.full(explicit.states, 1e-12), knots)
    assert stepped.advance(steps)[0] is Status.FINISHED
    a = explicit.slope(0.0, x0)[count : 2 * count]
    errors = []
    for steps in (8000, 16000):
        x = np.concatenate([x0, a, a, np.zeros(3 * count)])
        clock = new_clock(0.0, 0.0, step=END / steps, largest=1.0, relative=0.0, radius=0.9, fixed=True)
        clock[Clock.END] = END
        knots = np.zeros((steps + 2, 1 + 2 * implicit.states))
        tolerance = np.full(implicit.states, 1e-12)
        tolerance[implicit.layout.balances] = np.inf
        stepped = Stepped(STEPPERS["generalised-alpha"], implicit)
        assert stepped.advance(stepped.steps(clock, x, tolerance, knots))[0] is Status.FINISHED
        errors.append(np.abs(x[:count] - exact[:count]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("kind", [ExplicitSystem, ImplicitSystem])
def test_dynamics_that_are_compiled_are_not_compiled_again(kind, monkeypatch, tmp_path):
    texts = []
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    monkeypatch.setattr("pliant.engine.call.evaluator._RECENT", {})
    compiled = jit.machine_code
    monkeypatch.setattr(jit, "machine_code", lambda text, **options: (texts.append(text), compiled(text, **options))[1])
    arm = Dynamics("single-flexible-link")
    what = "forward" if kind is ExplicitSystem else "inverse"
    Program(*arm.traced(what)).load("single")
    kind(arm.tree, Driving(given(())), **{what: arm.traced(what)})
    assert [f"@{what}_1(" in text for text in texts] == [True, False]
