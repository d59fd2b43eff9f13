"""Prescribed rates that jump strike everything that is free: links, passive joints, loops."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant
from pliant import ConstantRate, Dynamics, Hold, PrescribedMotion, Sequence, Steps
from pliant.simulation.monitoring.events import Event
from pliant.simulation.run import Run, simulate
from pliant.simulation.study import Study
from pliant.trajectories.joint_moves import SetPoint

RATE, STOP, UNTIL = 2.0, 0.1, 0.2


@pytest.fixture(scope="module")
def arm():
    """A soft bar that is driven, and one that hangs at its tip on a passive joint."""
    section = {"tube": {"outer": 0.02, "thickness": 0.002}}
    beam = {"length": 2.0, "material": "aluminium", "section": section, "modes": {"bend_y": 2, "bend_z": 1}}
    passive = {"name": "k", "axis": "z", "actuated": False, "friction": {"viscous": 0.1}}
    links = [
        {"name": "l", "joint": {"name": "j", "axis": "z"}, "beam": beam, "payloads": [{"mass": 1.0}]},
        {"name": "m", "joint": passive, "beam": {**beam, "length": 0.5}},
    ]
    return Dynamics(pliant.Robot.model_validate({"name": "r", "gravity": [0, 0, 0], "links": links}))


def jumping(rates):
    """On at a rate from the start, and off at once."""
    return PrescribedMotion(trajectory=Sequence(parts=[ConstantRate(rate=rates, duration=STOP), Hold()]))


def ramped(arm, ramp):
    """The free coordinates and rates at the end, by SciPy, where rates rise and fall in a short time."""
    n, free = arm.size, np.arange(1, arm.size)

    def path(t):
        if t < ramp:
            return RATE * t * t / 2 / ramp, RATE * t / ramp, RATE / ramp
        if t < STOP:
            return RATE * (t - ramp / 2), RATE, 0.0
        u = min(t - STOP, ramp)
        way = RATE * (STOP - ramp / 2) + RATE * u * (1 - u / 2 / ramp)
        return way, RATE * (1 - u / ramp), -RATE / ramp if u < ramp else 0.0

    y = np.zeros(2 * len(free))
    for begin, end in pairwise([0.0, ramp, STOP, STOP + ramp, UNTIL]):

        def rates(t, y, begin=begin, end=end):
            q, v, a = (np.full(n, x) for x in path(min(max(t, np.nextafter(begin, end)), np.nextafter(end, begin))))
            q[free], v[free], a[free] = *np.split(y, 2), 0.0
            M = arm.mass_matrix(q)[np.ix_(free, free)]
            return np.concatenate([v[free], -np.linalg.solve(M, arm.forces(q, v, a)[free])])

        y = solve_ivp(rates, (begin, end), y, method="DOP853", rtol=1e-8, atol=1e-10).y[:, -1]
    return y


def quietly(*given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simulate(*given, **options)


@pytest.fixture(scope="module")
def limit(arm):
    """What ever steeper ramps come to: their error is of first order in their duration."""
    long, short = (ramped(arm, ramp) for ramp in (2e-4, 1e-4))
    return 2 * short - long


@pytest.mark.parametrize(
    ("method", "within"),
    [("dop853", 1e-5), ("gauss", 1e-5), ("rk4", 1e-5), ("esdirk", 1e-4), ("generalised-alpha", 1e-3)],
)
def test_jumps_are_the_limit_of_steep_ramps(arm, limit, method, within):
    """Against an integration of our own: links and the passive joint go on swinging, and no energy is lost."""
    run = quietly(arm, until=UNTIL, drive=jumping({"j": RATE}), method=method)
    found = np.concatenate([run.q[-1, 1:], run.v[-1, 1:]])
    # second-order terms of the ramps are left in the limit, and the errors of the lower orders
    assert found == pytest.approx(limit, abs=within * np.abs(limit).max())
    assert np.abs(run["energy.balance"]).max() < within * run["energy.kinetic"].max()
    assert not any("energy balance" in text for text in run.warnings)


def test_energy_of_an_impulse(arm):
    """What the motor takes out at the stop is what the kinetic energy loses, by M before and after."""
    run = Run(Study(robot=arm.robot, until=UNTIL, drive=jumping({"j": RATE}), integrator={"method": "dop853"}), arm)
    run.equations.enter(0.0, STOP)
    y = np.zeros(run.equations.size)
    y[::3] = 0.01
    before = run.equations.prescribed_rates(STOP)
    q, v = run.equations.coordinates(STOP, y)
    run.equations.enter(STOP, UNTIL)
    after = run.equations.struck(STOP, y, before)
    q_after, v_after = run.equations.coordinates(STOP, after)
    assert before == pytest.approx([RATE])
    assert v_after[0] == 0.0
    assert q_after == pytest.approx(q)
    M = arm.mass_matrix(q)
    # no impulse acts on what is free
    assert (M @ (v_after - v))[1:] == pytest.approx(np.zeros(arm.size - 1), abs=1e-9 * np.abs(M).max())
    work = after[run.equations.layout.work] - y[run.equations.layout.work]
    assert work == pytest.approx((v_after @ M @ v_after - v @ M @ v) / 2, rel=1e-9)


def test_a_start_with_the_rate_is_smooth(arm):
    """Whoever moves along from the start is not struck."""
    drive, start = PrescribedMotion(trajectory=ConstantRate(rate={"j": RATE})), pliant.Start(velocity={"j": RATE})
    struck, smooth = (
        Run(Study(robot=arm.robot, until=UNTIL, drive=drive, start=s), arm) for s in (pliant.Start(), start)
    )
    v = [run.equations.start(run.q0, run.v0)[run.equations.layout.v] for run in (struck, smooth)]
    assert np.abs(v[0]).max() > 0.1
    assert not v[1].any()


@pytest.mark.parametrize(("method", "within"), [("dop853", 1e-5), ("esdirk", 1e-4)])
def test_loops_are_struck(method, within):
    """Couplers and passive joints of a five-bar, against ever steeper ramps, and without a gap."""
    five = Dynamics("five-bar")
    rates = {"left_motor": 1.0, "right_motor": -0.5}
    runs = [
        quietly(
            five,
            until=0.02,
            drive=PrescribedMotion(trajectory=ConstantRate(rate=rates, ramp=ramp)),
            method=method,
            tolerance=1e-9,
        )
        for ramp in (0.0, 2e-5, 1e-5)
    ]
    struck, long, short = runs
    # errors are of first order in the duration of a ramp
    wanted = 2 * short.q[-1] - long.q[-1]
    assert struck.q[-1] == pytest.approx(wanted, abs=within * np.ptp(struck.q, axis=0).max())
    assert np.abs(struck["loops.gap"]).max() < 1e-10
    assert np.abs(struck["energy.balance"]).max() < within * struck["energy.kinetic"].max()


def test_interrupted_at_the_jump(arm):
    """Right before the stop, and resumed: the same to the last bit."""
    study = Study(robot=arm.robot, until=UNTIL, drive=jumping({"j": RATE}), integrator={"method": "dop853"})
    whole, first, second = (Run(study, arm) for _ in range(3))
    whole.go()
    assert not first.go(lambda progress: progress.t >= STOP)
    assert first.t == STOP
    second.recall(first.memory(), first.recorder.samples())
    second.go()
    assert second.recorder.samples() == whole.recorder.samples()


def test_events_of_rates_that_jump(arm):
    """A threshold that is passed by a jump is passed at its instant."""
    event = Event(quantity="j.rate", below=1.0, action="record")
    run = quietly(arm, until=UNTIL, drive=jumping({"j": RATE}), events=[event])
    ((time, _, value),) = run.info.events
    assert time == STOP
    assert value == pytest.approx(0.0)


def test_positions_that_jump_are_refused(arm):
    drive = PrescribedMotion(trajectory=Steps(points=[SetPoint(time=0.05, to={"j": 0.5})]))
    with pytest.raises(pliant.ModelError, match=r"joint 'j' jumps by 0\.5 at 0\.05 s, which no force can do"):
        simulate(arm, until=UNTIL, drive=drive)
