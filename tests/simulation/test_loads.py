"""Loads: one law in numbers, in machine code and in derivatives; stops that are hard, and forces that arrive."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

import pliant
from pliant import Quintic
from pliant.drives.computed_torque import ComputedTorque
from pliant.drives.given import GivenTorque
from pliant.drives.pid import PID
from pliant.drives.saturated import SaturatedLaw
from pliant.dynamics import Dynamics
from pliant.engine.call.replay import python_function
from pliant.engine.stepping.driving import Driving, drive_program
from pliant.engine.trace.structure import constants_of
from pliant.loads.disturbance import Disturbance
from pliant.loads.stops import ElasticStops, Stops
from pliant.simulation.integrators import compiled
from pliant.simulation.run import simulate
from pliant.simulation.start import Start
from pliant.simulation.state_equations import StateEquations
from pliant.trajectories.path import Surroundings
from zoo import robot, state

ROUNDING = 1e-11
"""Of the largest generalised force: sums of a few dozen terms."""
DIFFERENCE = 1e-6
"""Step of the central differences; their error is its square and rounding over it, about 1e-8 of the largest."""


@pytest.mark.parametrize(
    "name", ["rigid-tree", "pinned", "branches-xyz", "prismatic", "satellite", "balls", "second-order", "rod-in-space"]
)
def test_forces_on_frames_from_link_to_link(name):
    """What is handed down to the base is J^T w of the frame's Jacobian, whatever joints and bodies are on the way."""
    arm = Dynamics(robot(name), compile="never")
    q, v = state(arm)[:2]
    for frame in (arm.frames[0], arm.frames[-1]):
        push = Disturbance(frame=frame, force=[1.0, -2.0, 0.5], moment=[0.3, 0.1, -0.7]).bind(arm)
        wanted = np.array([1.0, -2.0, 0.5, 0.3, 0.1, -0.7]) @ arm.jacobian(frame, q)
        close = ROUNDING * max(np.abs(wanted).max(), 1.0)
        assert push.at(0.1, q, v, np.zeros(0)).efforts == pytest.approx(wanted, abs=close)
        both = push.along(np.full(2, 0.1), np.stack([q, q]), np.stack([v, v]), np.zeros((2, 0))).efforts
        assert both == pytest.approx(np.stack([wanted, wanted]), abs=close)


def test_a_stop_pushes_back_and_never_pulls():
    """Hunt & Crossley: k d (1 + c d'), and nothing where that is negative or where the stop is not touched."""
    stops = ElasticStops({1: (-0.5, 0.25)}, 100.0, 2.0)
    q = np.array([[9.0, 0.2], [9.0, 0.35], [9.0, 0.35], [9.0, 0.35], [9.0, -0.7], [9.0, -0.7]])
    v = np.array([[9.0, 3.0], [9.0, 0.0], [9.0, 1.0], [9.0, -1.0], [9.0, 0.0], [9.0, -0.25]])
    found = stops.along(np.zeros(6), q, v, np.zeros((6, 0))).efforts
    assert found[:, 1] == pytest.approx([0.0, -10.0, -30.0, 0.0, 20.0, 30.0], abs=1e-12)
    assert not found[:, 0].any()


def acting(name):
    """A robot, what acts on it, and a state in which stops are touched and a motor is at its limit."""
    arm = Dynamics(name)
    q0 = arm.assemble()
    move = Quintic(to={each: q0[arm.names.index(each)] + 0.3 for each in arm.inputs}, duration=0.25)
    drive = ComputedTorque(trajectory=move, kp=400.0, kd=30.0, saturate=True) if arm.loops.rows else None
    drive = drive or PID(trajectory=move, kp=400.0, kd=30.0, ki=10.0, gravity="measured", saturate=True)
    active = drive.bind(Surroundings(arm, q0), q0 @ arm.B)
    rng = np.random.default_rng(3)
    q, v = q0 + 0.01 * rng.standard_normal(arm.size), 0.3 * rng.standard_normal(arm.size)
    first = arm.names.index(arm.inputs[0])
    stops = ElasticStops({first: (q[first] + 0.02, q[first] + 0.4), 2: (q[2] - 0.4, q[2] - 0.01)}, 1e3, 0.1)
    hit = Disturbance(frame="tip", force=[1.0, -2.0, 0.5], moment=[0.3, 0.1, -0.7]).bind(arm)
    return arm, active, (stops, hit), q, v


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("name", ["two-link-flexible", "four-bar"])
def test_derivatives_of_all_that_acts(name, is_cut):
    """Laws, models, closed twins, limits, stops and forces on frames: tangents against central differences."""
    arm, active, loads, q, v = acting(name)
    assert isinstance(active, SaturatedLaw)
    limit = np.abs(active.inner.at(0.1, q, v, active.initial()).efforts)
    active.limits = (0.5 if is_cut else 2.0) * limit
    equations = StateEquations(arm, active, loads)
    equations.enter(0.0, 0.25)
    law = equations.law
    driving = Driving(law.force, law.gains, law.channels, law.states, loads)
    times = np.array([0.1])
    r = np.hstack([law.signals(times), *(load.signals(times) for load in loads), np.zeros((1, law.states))])[0]
    given = np.array(driving.numbers), np.array(arm.tree.gravity)
    value = python_function(drive_program(arm.tree, driving))

    def forces(q, v):
        return np.array(value(*given, q, v, r, constants_of(arm.tree))[: arm.size], dtype=float)

    wanted = arm.B @ active.at(0.1, q, v, active.initial()).efforts + sum(
        np.array(load.at(0.1, q, v, np.zeros(0)).efforts) for load in loads
    )
    assert forces(q, v) == pytest.approx(wanted, abs=1e-10 * np.abs(wanted).max())
    slope = python_function(drive_program(arm.tree, driving, ("q", "v")))
    for k in range(2 * arm.size):
        d = np.eye(1, 2 * arm.size, k)[0]
        dq, dv = np.split(d, 2)
        found = np.array(slope(*given, q, v, r, constants_of(arm.tree), dq, dv), dtype=float)
        ahead, behind = (forces(q + h * dq, v + h * dv) for h in (DIFFERENCE, -DIFFERENCE))
        difference = (ahead - behind) / (2 * DIFFERENCE)
        assert found == pytest.approx(difference, abs=1e-6 * max(np.abs(difference).max(), np.abs(wanted).max()))


def bounced(method="dop853", stiffness=1e4, loss=0.2, until=0.1, **options):
    """An arm that runs into its stops, on which it rings, with a force on its tip."""
    arm = pliant.load("two-link-flexible").set("elbow.limits", {"position": (-2.0, -1.5)})
    hit = Disturbance(frame="tip", force=["2*sin(30*t)", -2.0, 0.0], start=0.01, end=0.05)
    start = Start(velocity={"elbow": 2.0})
    stops = Stops(stiffness=stiffness, loss=loss)
    return simulate(
        arm, until=until, start=start, stops=stops, disturbances=[hit], method=method, limits="ignore", **options
    )


def test_stops_in_machine_code_and_in_python(monkeypatch):
    """Kinks are found by step control: the same motion at a tight tolerance, with as many steps."""
    # to the stop and back
    fast = bounced(tolerance=1e-11, until=0.06)
    assert fast["elbow"].max() > -1.5 > fast["elbow"][-1]
    monkeypatch.setattr(compiled, "compilable", lambda equations: None)
    slow = bounced(tolerance=1e-11, until=0.06)
    assert np.abs(fast.q - slow.q).max() < 1e-9
    assert fast["work.loads"] == pytest.approx(slow["work.loads"], abs=1e-9)
    # springs of the stops hold energy and give it back but for what a bounce loses: the balance closes with them
    depth = np.maximum(np.maximum(fast["elbow"] + 1.5, -2.0 - fast["elbow"]), 0.0)
    for run in (fast, slow):
        assert run["energy.stored"] == pytest.approx(5e3 * depth**2, abs=1e-9)
        assert np.abs(run["energy.balance"]).max() < 1e-3 * run["energy.stored"].max()
    assert fast.info.statistics["evaluations"] < 2 * slow.info.statistics["evaluations"]


@pytest.mark.filterwarnings("ignore:the energy balance is off", "ignore:a stop is touched")
def test_hard_stops_by_explicit_and_implicit_steps():
    """A stop that rings a hundred times as fast as the arm: implicit steps come to the explicit motion."""
    exact = bounced(stiffness=1e8, tolerance=1e-10)
    errors = [
        np.abs(bounced("generalised-alpha", stiffness=1e8, tolerance=tolerance).q - exact.q).max()
        for tolerance in (1e-6, 1e-8)
    ]
    # the touch is a kink, which costs more than the tolerance of a step
    assert errors[0] < 1e-3
    assert errors[1] < 5e-5
    assert exact["dissipated"][-1] > bounced(stiffness=1e8, tolerance=1e-10, loss=0.0)["dissipated"][-1]


@pytest.mark.filterwarnings("ignore:the energy balance is off", "ignore:a stop is touched")
def test_an_arm_on_a_hard_stop_comes_to_rest_by_implicit_steps():
    """Pressed against a stop of 1e10 N m/rad, it rests where k d carries the motor's torque."""
    stiffness, torque = 1e10, 3.0
    arm = pliant.load("two-link-flexible").set("elbow.limits", {"position": (-2.0, -1.5)})
    arm = arm.set("gravity", [0.0, 0.0, 0.0])
    drive = pliant.PID(kp={"shoulder": 400.0, "elbow": 0.0}, kd={"shoulder": 40.0, "elbow": 5.0})
    push = Disturbance(joint="elbow", effort=torque)
    options = {"until": 6.0, "stops": Stops(stiffness=stiffness), "limits": "ignore", "disturbances": [push]}
    run = simulate(arm, drive=drive, start=Start(position={"elbow": -1.501}), **options)
    assert run.info.method == "esdirk"
    assert "a touched stop rings at" in run.info.reason
    assert "a hundred times as soft" in run.info.reason
    assert run["elbow"][-1] + 1.5 == pytest.approx(torque / stiffness, rel=1e-3)
    # explicit steps follow its ringing all the time, ten of them to a period
    assert run.info.statistics["steps"] < 0.1 * 6.0 * 1.8e5


def segments(arm, times, rates):
    """The end of a motion by SciPy's integrator, begun anew at every time; rates(t, q, v, middle) -> a."""
    from scipy.integrate import solve_ivp

    y, n = np.zeros(2 * arm.size), arm.size
    for a, b in pairwise(times):

        def slope(t, y, middle=(a + b) / 2):
            return np.concatenate([y[n:], rates(t, y[:n], y[n:], middle)])

        y = solve_ivp(slope, (a, b), y, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    return y[:n]


@pytest.mark.parametrize(
    ("method", "torque", "jump"),
    [
        ("dop853", "1.2*step(t-0.225)", 0.225),  # in the middle of a load that began from rest
        ("dop853", "1.2*step(sin(t-0.225))", 0.225),  # the same where nobody knows before; steps are taken in Python
        ("dop853", "1.2*step(t-0.195)", 0.195),  # together with it
        ("dop853", "1.2*step(3*t-0.585)", 0.195),  # one rounding beside it
        ("dop853", "1.2*(1-step(0.225-t))", 0.225),  # has its value of before at the instant itself
        ("dop853", "0.6+0.6*sign(t-0.225)", 0.225),  # has neither of its values at the instant itself
        ("scipy:DOP853", "0.6+0.6*sign(t-0.225)", 0.225),
        ("gauss", "1.2*(1-step(0.225-t))", 0.225),
        ("esdirk", "1.2*step(3*t-0.585)", 0.195),
    ],
)
def test_torques_that_jump_beside_loads_that_begin(method, torque, jump):
    """Nothing moves before the load begins, so that steps have grown without end; a jump is met exactly."""
    beam = {"length": 0.94, "material": "steel", "section": {"tube": {"outer": 0.0186, "thickness": 0.00186}}}
    link = {"name": "l0", "joint": {"name": "j0", "axis": "z"}, "beam": {**beam, "modes": {"bend_y": 1, "bend_z": 2}}}
    links = [{**link, "payloads": [{"mass": 0.9, "inertia": 0.01}]}]
    arm = Dynamics(pliant.Robot.model_validate({"name": "r", "gravity": [0, 0, 0], "links": links}))
    drive, push = GivenTorque(joints={"j0": torque}), Disturbance(frame="tip", force=[0, 0.5, 0], start=0.195)
    # steps in Python take their time
    tolerance, until = 1e-8, 0.29 if "sin" in torque or "scipy" in method else 0.459
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = simulate(arm, until=until, drive=drive, disturbances=[push], method=method, tolerance=tolerance)
    assert run.info.ended == "reached its end"

    def rates(t, q, v, middle):
        force = {"tip": [0, 0.5, 0, 0, 0, 0]} if middle > 0.195 else None
        return arm.forward(q, v, [1.2 if middle > jump else 0.0], wrenches=force)

    wanted = segments(arm, sorted({0.0, 0.195, jump, until}), rates)
    # esdirk damps what rings; the others follow it
    assert run.q[-1] == pytest.approx(wanted, abs=200 * tolerance * np.abs(wanted).max())


def test_pulses_too_short_for_the_polynomials_of_signals_are_felt():
    """Between two places at which a torque is asked for, and yet an impulse."""
    arm = Dynamics(pliant.Robot.model_validate({"name": "r", "gravity": [0, 0, 0], "links": [bar()]}))
    drive = GivenTorque(joints={"j": "step(t-0.3)*100 - 100*step(t-0.3001)"})
    run = simulate(arm, until=0.5, drive=drive)
    inertia = float(arm.mass_matrix([0.0])[0, 0])
    assert run.v[-1, 0] == pytest.approx(100 * 1e-4 / inertia, rel=1e-7)


def bar():
    """A rigid link on a joint."""
    return {
        "name": "bar",
        "joint": {"name": "j", "axis": "z"},
        "rigid": {"mass": 2.0, "com": [0.5, 0, 0], "inertia": 0.1},
    }
