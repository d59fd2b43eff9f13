"""States of a drive's law in implicit steps: exact tangents, order, stiff states in few steps, peers of other make."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from pliant import Joint, Link, Rigid, Robot
from pliant.drives.prescribed import PrescribedDynamics
from pliant.dynamics import Dynamics
from pliant.engine.stepping.driving import DriveKernel, Driving
from pliant.engine.stepping.explicit_system import ExplicitSystem
from pliant.engine.stepping.gauss_system import GaussSystem
from pliant.engine.stepping.generalised_alpha import filtered_size
from pliant.engine.stepping.implicit_system import ImplicitSystem
from pliant.engine.stepping.integrators import Clock, Status, new_clock
from pliant.engine.stepping.layout import BALANCES
from pliant.engine.stepping.signal_table import Signals
from pliant.engine.stepping.stepper import Stepped
from pliant.engine.stepping.steppers import STEPPERS
from pliant.simulation.integrators.compiled_systems import system_matrix

IMPLICIT = ("esdirk", "generalised-alpha")
METHODS = (*IMPLICIT, "gauss")
TANGENT = 1e-7
"""Central differences of the slope at steps of 2e-6, of the largest entry of a row."""


def wheel():
    """A wheel of unit inertia about z: its equation of motion is linear."""
    joint = Joint(name="hub", axis="z")
    body = Rigid(mass=1.0, inertia=((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)))
    return Dynamics(Robot(name="wheel", gravity=(0.0, 0.0, 0.0), links=[Link(name="wheel", joint=joint, rigid=body)]))


def systems(arm, driving):
    """The same equations for explicit, implicit and collocated steps."""
    forward = arm.loops.traced_forward(driving.driven)
    by = {"forward": forward} if arm.loops.rows else {"inverse": arm.traced("inverse")}
    kinds = ExplicitSystem(arm.tree, driving, forward), ImplicitSystem(arm.tree, driving, **by)
    return *kinds, GaussSystem(arm.tree, driving, forward)


def run(arm, driving, method, x, until, tolerance, *, largest=1.0, step=1e-4, relative=None):
    """The states at the end, and what was counted."""
    system = GaussSystem if method == "gauss" else ImplicitSystem
    by = {"forward": arm.traced("forward")} if method == "gauss" else {"inverse": arm.traced("inverse")}
    system = system(arm.tree, driving, **by)
    layout, relative = system.layout, tolerance if relative is None else relative
    allowed = np.full(system.states, tolerance)
    allowed[layout.balances] = np.inf
    knots, stepped = np.zeros((80_001, 1 + 2 * system.states)), Stepped(STEPPERS[method], system)
    if method == "gauss":
        x, clock = x.copy(), new_clock(0.0, until, step=step, largest=largest, relative=relative)
        status, _ = stepped.advance(stepped.steps(clock, x, allowed, knots))
    else:
        explicit = ExplicitSystem(arm.tree, driving, arm.traced("forward"))
        a = explicit.slope(0.0, x)[layout.v]
        filtered = np.zeros(filtered_size(layout) if method == "generalised-alpha" else 0)
        filtered[: len(a)] = a[: len(filtered)]
        x = np.concatenate([x, a, filtered, np.zeros(3 * layout.count + layout.states)])
        clock = new_clock(0.0, 0.0, step=step, largest=largest, relative=relative, radius=0.8, fixed=False)
        clock[Clock.END] = until
        status, _ = stepped.advance(stepped.steps(clock, x, allowed, knots))
    assert status is Status.FINISHED
    return x[: system.states], {name: int(clock[Clock[name]]) for name in ("STEPS", "REJECTED", "CALLS", "MATRICES")}


# ---------------------------------------------------------------- tangents


def mixed(inputs, states):
    """Forces and rates that depend on everything, in every block differently."""

    def law(q, v, r, gains):
        z = r[-states:]
        f = [0.0] * len(q)
        for k, i in enumerate(inputs):
            f[i] = gains[0] * z[k % states] * z[k % states] - gains[1] * q[i] * z[-1] - 0.3 * v[i]
        rates = [gains[1] * q[inputs[k % len(inputs)]] - 3.0 * z[k] + z[k] * z[(k + 1) % states] for k in range(states)]
        rates[0] = rates[0] + 0.7 * v[inputs[0]] * z[0]
        return [*f, *rates]

    return law


@pytest.mark.parametrize("robot", ["two-link-flexible", "five-bar", "four-bar"])
@pytest.mark.parametrize("states", [1, 3, 9])
def test_tangents_by_states_of_the_law(robot, states):
    """In trees and loops, for fewer and more states than there are lanes, against differences of the slope."""
    arm, rng = Dynamics(robot), np.random.default_rng(states)
    inputs = [arm.names.index(name) for name in arm.inputs]
    explicit, implicit, _ = systems(arm, Driving(mixed(inputs, states), (2.0, 5.0), states=states))
    n = arm.size
    q = arm.loops.corrected(arm.assemble(), np.zeros(n))[0]
    x = np.concatenate([q, np.zeros(n), rng.standard_normal(states), np.zeros(BALANCES)])
    _compare(explicit, implicit, 0.0, x)


@pytest.mark.parametrize("robot", ["two-link-flexible", "five-bar"])
def test_tangents_beside_prescribed_motion(robot):
    arm = Dynamics(robot)
    model = PrescribedDynamics(arm)
    driven, free = tuple(model.driven.tolist()), model.free.tolist()

    def law(q, v, r, gains):
        f, z = [0.0] * len(q), r[-2:]
        for k, i in enumerate(driven):
            f[i] = r[2 * len(driven) + k]
        f[free[0]] = gains[0] * z[0] * z[1]
        return [*f, gains[1] * q[free[0]] - z[0], v[free[-1]] - z[0] * z[1] + r[0]]

    driving = Driving(law, (2.0, 5.0), channels=3 * len(driven), states=2, driven=driven)
    explicit, implicit, _ = systems(arm, driving)
    q = arm.assemble()
    start = np.concatenate([q[list(driven)], np.zeros(2 * len(driven))])
    for system in (explicit, implicit):
        system.set_signals(Signals.fit(lambda t: np.tile(start, (len(t), 1)), 0.0, 1.0, pieces=1))
    x = np.concatenate([q[free], np.zeros(len(free)), [0.4, -0.7], np.zeros(BALANCES)])
    _compare(explicit, implicit, 0.2, x)


def _compare(explicit, implicit, t, x):
    layout = implicit.layout
    size, a = layout.controlled, explicit.slope(t, x)[layout.v].copy()
    found = system_matrix(implicit, t, x, a)
    steps = 2e-6 * np.eye(size, len(x))
    wanted = np.array([(explicit.slope(t, x + e)[:size] - explicit.slope(t, x - e)[:size]) / 4e-6 for e in steps]).T
    scale = np.abs(wanted).max(axis=1, keepdims=True)
    np.testing.assert_allclose(found / np.maximum(scale, 1.0), wanted / np.maximum(scale, 1.0), rtol=0, atol=TANGENT)


# ---------------------------------------------------------------- order


def oscillating(q, v, r, gains):
    """A linear loop through two states: the wheel is held by what follows it."""
    z = r[-2:]
    return [-4.0 * q[0] - 3.0 * z[0] - 0.2 * v[0], 2.0 * (q[0] - z[0]) + z[1], v[0] - 5.0 * z[1]]


LOOP = np.array([[0, 1, 0, 0], [-4, -0.2, -3, 0], [2, 0, -2, 1], [0, 1, 0, -5.0]])
"""The same as a matrix."""


@pytest.mark.parametrize(("method", "order", "steps"), [("esdirk", 4, 40), ("generalised-alpha", 2, 100)])
def test_order_with_states(method, order, steps):
    """Of a linear loop, which Newton's method solves at once: with a tolerance that allows any step of a given size."""
    arm, until = wheel(), 2.0
    start = np.array([1.0, -0.5, 0.3, 0.2])
    exact = expm(LOOP * until) @ start
    errors = []
    for count in (steps, 2 * steps):
        h = until / count
        x = np.concatenate([start, np.zeros(BALANCES)])
        found, counted = run(
            arm, Driving(oscillating, states=2), method, x, until, 1e6, largest=h, step=h, relative=0.0
        )
        assert counted["STEPS"] == count
        errors.append(np.abs(found[:4] - exact))
    rate = np.log2(errors[0] / errors[1])
    assert rate == pytest.approx(np.full(4, order), abs=0.35)


def test_a_collocated_step_has_the_states_to_rounding():
    arm, until = wheel(), 2.0
    start = np.array([1.0, -0.5, 0.3, 0.2])
    x, counted = run(
        arm, Driving(oscillating, states=2), "gauss", np.concatenate([start, np.zeros(BALANCES)]), until, 1e-9
    )
    assert x[:4] == pytest.approx(expm(LOOP * until) @ start, abs=1e-12)
    assert counted["STEPS"] < 12


# ---------------------------------------------------------------- stiff states


def lagging(tau):
    """A PD law on a measured angle that lags behind the true one."""

    def law(q, v, r, gains):
        z = r[-1]
        return [-50.0 * z - 5.0 * v[0], (q[0] - z) * (1.0 / tau)]

    return law


@pytest.mark.parametrize(("method", "most"), [("esdirk", 1.6), ("generalised-alpha", 1.6), ("gauss", 3.0)])
def test_a_fast_lag_takes_no_more_steps(method, most):
    """Of a microsecond, in steps of hundredths of a second; a tangent of a wrong sign takes thousands."""
    arm, until, tolerance = wheel(), 2.0, 1e-6

    def direct(q, v, r, gains):
        return [-50.0 * q[0] - 5.0 * v[0]]

    plain, few = run(arm, Driving(direct), method, np.array([1.0, 0.0, 0, 0, 0]), until, tolerance)
    lag, counted = run(
        arm, Driving(lagging(1e-6), states=1), method, np.array([1.0, 0.0, 1.0, 0, 0, 0]), until, tolerance
    )
    assert counted["STEPS"] < most * few["STEPS"]
    assert counted["REJECTED"] < 12
    # q - z = v tau, and it acts on the wheel as so much less damping does
    assert lag[:2] == pytest.approx(plain[:2], abs=1e-4)
    assert lag[2] == pytest.approx(lag[0] - 1e-6 * lag[1], abs=1e-8)


def relaxing(mu):
    """Van der Pol's oscillator as two states of a law, pushing the wheel and pushed by it."""

    def law(q, v, r, gains):
        z = r[-2:]
        return [0.5 * z[0] - 2.0 * q[0] - 0.3 * v[0], z[1], mu * ((1.0 - z[0] * z[0]) * z[1] - z[0]) + 0.1 * mu * q[0]]

    return law


@pytest.mark.parametrize(("method", "most"), [("esdirk", 700), ("generalised-alpha", 7000)])
def test_a_relaxation_oscillator(method, most):
    """Against scipy's Radau; explicit steps would take a million."""
    mu, until, tolerance = 1e6, 2.0, 1e-6
    law = relaxing(mu)
    start = np.array([0.2, 0.0, 2.0, -0.66])

    def slope(t, x):
        return np.array([x[1], *law(x[:1], x[1:2], x[2:], ())])

    peer = solve_ivp(slope, (0.0, until), start, method="Radau", rtol=1e-9, atol=1e-11)
    x = np.concatenate([start, np.zeros(BALANCES)])
    found, counted = run(wheel(), Driving(law, states=2), method, x, until, tolerance)
    assert counted["STEPS"] < most
    assert found[:3] == pytest.approx(peer.y[:3, -1], abs=200 * tolerance)


@pytest.mark.parametrize("method", METHODS)
def test_a_flexible_arm_with_states_meets_radau(method):
    """A filtered PD law, whose filters are coupled with the bending of the links."""
    arm, until, tolerance = Dynamics("two-link-flexible"), 0.2, 1e-7
    inputs = [arm.names.index(name) for name in arm.inputs]

    def law(q, v, r, gains):
        f, z = [0.0] * len(q), r[-len(inputs) :]
        for k, i in enumerate(inputs):
            f[i] = -300.0 * z[k] - 20.0 * v[i]
        return [*f, *((q[i] - z[k]) * 400.0 for k, i in enumerate(inputs))]

    driving = Driving(law, states=2)
    explicit = ExplicitSystem(arm.tree, driving, arm.traced("forward"))
    x = np.zeros(explicit.states)
    x[inputs] = 0.3, -0.2
    peer = solve_ivp(lambda t, y: explicit.slope(t, y).copy(), (0.0, until), x, method="Radau", rtol=1e-9, atol=1e-11)
    found, counted = run(arm, driving, method, x, until, tolerance)
    size = explicit.layout.controlled
    assert found[: arm.size] == pytest.approx(peer.y[: arm.size, -1], abs=500 * tolerance)
    assert found[2 * arm.size : size] == pytest.approx(peer.y[2 * arm.size : size, -1], abs=500 * tolerance)
    assert counted["STEPS"] < {"esdirk": 500, "generalised-alpha": 6000, "gauss": 60}[method]
    assert counted["MATRICES"] < {"esdirk": 60, "generalised-alpha": 500, "gauss": 8}[method]


# ---------------------------------------------------------------- what counts


def test_states_that_are_rates_of_others():
    """They are found in the law's tape: z_0' = z_2 and z_1' = z_3."""

    def law(q, v, r, gains):
        z = r[-4:]
        return [z[0], z[2], z[3], -z[0], -z[1] * gains[0]]

    arm = wheel()
    assert DriveKernel.of(arm.tree, Driving(law, (2.0,), channels=1, states=4), ()).rate_states == (2, 3)
    assert DriveKernel.of(arm.tree, Driving(oscillating, states=2), ()).rate_states == ()


@pytest.mark.parametrize("method", METHODS)
def test_states_steer_the_steps(method):
    """A state that swings beside a wheel at rest is followed to its tolerance."""

    def law(q, v, r, gains):
        z = r[-2:]
        return [-q[0], 30.0 * z[1], -30.0 * z[0]]

    arm, until = wheel(), 2.0
    errors = []
    for tolerance in (1e-5, 1e-8):
        x, _ = run(arm, Driving(law, states=2), method, np.array([0, 0, 1.0, 0, 0, 0, 0]), until, tolerance)
        errors.append(np.abs(x[2:4] - [np.cos(30 * until), -np.sin(30 * until)]).max())
    assert errors[0] < 0.1
    assert errors[1] < 1e-2 * errors[0]
