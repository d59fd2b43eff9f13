"""Integrators: their order, their agreement, their energy balance, and which one is taken."""

from functools import cache

import numpy as np
import pytest

import pliant
from pliant import Quintic
from pliant.drives.drive import Sampling
from pliant.drives.given import NoDrive
from pliant.drives.pid import PID
from pliant.drives.prescribed import PrescribedMotion
from pliant.dynamics import Dynamics
from pliant.engine.stepping.esdirk import DIAGONAL, esdirk4
from pliant.loads.disturbance import Disturbance
from pliant.simulation.choice import choose
from pliant.simulation.integrators import compiled
from pliant.simulation.integrators.integrator import Tolerance
from pliant.simulation.run import Run, SimulationWarning, simulate
from pliant.simulation.start import Start
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import IntegratorOptions, Study, load_study

# tolerances of these tests are their own
pytestmark = pytest.mark.filterwarnings("ignore:the run is off by")

UNTIL = 0.1
DRIVE = PID(trajectory=Quintic(to={"shoulder": 0.03}, duration=0.08), kp=40.0, kd=1.0, ki=20.0)


@pytest.fixture(scope="module")
def strip():
    return Dynamics("single-flexible-link")


@pytest.fixture(scope="module")
def exact(strip):
    return simulate(strip, until=UNTIL, drive=DRIVE, method="dop853", tolerance=1e-12)


# steps that are coarse on purpose lose energy, and the run says so
coarse_steps = pytest.mark.filterwarnings("ignore:the energy balance is off")


def error(run, exact):
    return np.abs(run.q - exact.q).max()


@pytest.mark.parametrize(
    ("method", "options", "largest"),
    [
        ("auto", {}, 1e-9),
        ("dop853", {"tolerance": 1e-6}, 1e-7),
        ("gauss", {"tolerance": 1e-6}, 1e-7),
        ("rk4", {"step": 2e-4}, 1e-7),
        ("semi-implicit", {"step": 1e-4}, 1e-3),
        ("generalised-alpha", {"tolerance": 1e-7}, 1e-4),
        ("esdirk", {"tolerance": 1e-8}, 1e-7),
        ("scipy:LSODA", {}, 1e-6),
        ("scipy:Radau", {"tolerance": 1e-6}, 1e-6),
        ("scipy:RK45", {"tolerance": 1e-6}, 1e-5),
    ],
)
@pytest.mark.filterwarnings("ignore:gauss is for smooth motion")
def test_all_methods_agree(strip, exact, method, options, largest):
    run = simulate(strip, until=UNTIL, drive=DRIVE, method=method, **options)
    assert error(run, exact) < largest
    assert run.finished
    assert run.info.statistics["steps"] > 0


def test_sundials_agrees(strip, exact):
    pytest.importorskip("sksundae")
    assert error(simulate(strip, until=UNTIL, drive=DRIVE, method="sundials"), exact) < 1e-6


@coarse_steps
@pytest.mark.parametrize(("method", "order", "step"), [("rk4", 4, 4e-4), ("semi-implicit", 1, 2e-4)])
def test_order_of_fixed_steps(strip, exact, method, order, step):
    coarse, fine = (
        error(simulate(strip, until=UNTIL, drive=DRIVE, method=method, step=h), exact) for h in (step, step / 2)
    )
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.35)


@coarse_steps
@pytest.mark.parametrize("radius", [1.0, 0.8, 0.2])
def test_generalised_alpha_is_of_second_order(strip, exact, radius):
    # with a loose tolerance the largest step decides
    options = {"method": "generalised-alpha", "radius": radius, "tolerance": 1e-3, "absolute": 1e-3}
    coarse, fine = (
        error(simulate(strip, until=UNTIL, drive=DRIVE, max_step=h, **options), exact) for h in (1e-3, 5e-4)
    )
    assert np.log2(coarse / fine) == pytest.approx(2, abs=0.35)


def test_the_coefficients_of_esdirk_satisfy_the_order_conditions():
    """All trees up to order 4 for the weights, up to 3 for the embedded ones; stage order 2; L-stable."""
    A, c, error, guess = esdirk4()
    b = A[-1]
    embedded = b - error

    def trees(b):
        third = [(b @ c**2, 1 / 3), (b @ A @ c, 1 / 6)]
        fourth = [(b @ c**3, 1 / 4), (b @ (c * (A @ c)), 1 / 8), (b @ A @ c**2, 1 / 12), (b @ A @ A @ c, 1 / 24)]
        return [(b.sum(), 1.0), (b @ c, 1 / 2), *third], fourth

    low, high = trees(b)
    for value, wanted in (*low, *high, *trees(embedded)[0]):
        assert value == pytest.approx(wanted, abs=1e-14)
    assert all(abs(value - wanted) > 1e-4 for value, wanted in trees(embedded)[1])
    assert A @ c == pytest.approx(c**2 / 2, abs=1e-14)
    assert np.diag(A)[1:] == pytest.approx(DIAGONAL, abs=0)

    def growth(z):
        return 1 + z * b @ np.linalg.solve(np.eye(6) - z * A, np.ones(6))

    assert abs(growth(-1e9)) < 1e-6
    assert max(abs(growth(1j * y)) for y in np.geomspace(1e-2, 1e6, 200)) <= 1.0
    # guesses are exact for what changes linearly in time
    for s in range(2, 6):
        assert guess[s].sum() == pytest.approx(1.0, abs=1e-14)
        assert guess[s] @ c == pytest.approx(c[s], abs=1e-14)


def test_esdirk_is_of_fourth_order_on_a_flexible_arm():
    """With its integral, its energies and moving references; the largest step decides, Newton's iterations do not."""
    # without compensation the arm sags, which is motion enough to be far from rounding
    drive = PULL.model_copy(update={"gravity": "none"})
    options = {"until": 0.06, "drive": drive, "start": Start(links="equilibrium"), "limits": "ignore"}
    arm = Dynamics("two-link-flexible")
    exact = simulate(arm, method="dop853", tolerance=1e-12, **options)
    runs = [simulate(arm, method="esdirk", tolerance=4e-9, max_step=h, step=h, **options) for h in (2e-4, 1e-4)]
    coarse, fine = (error(run, exact) for run in runs)
    assert np.log2(coarse / fine) == pytest.approx(4, abs=0.3)
    assert all(np.abs(run["energy.balance"]).max() < 1e-9 for run in runs)


@pytest.mark.parametrize(("limit", "value"), [("LONGEST_SPAN", 0.013), ("MOST_SAMPLES", 7), ("STEPS_PER_CALL", 5)])
@pytest.mark.parametrize("method", ["dop853", "gauss", "esdirk", "generalised-alpha"])
@pytest.mark.filterwarnings("ignore:gauss is for smooth motion")
def test_long_runs_come_back_to_python_without_harm(strip, method, limit, value, monkeypatch):
    """Signals, samples and steps of one call are limited; the motion is the same."""
    options = {"until": UNTIL, "drive": DRIVE, "method": method, "tolerance": 1e-8, "output_step": 1e-3}
    at_once = simulate(strip, **options)
    monkeypatch.setattr(compiled, limit, value)
    in_parts = simulate(strip, **options)
    assert np.array_equal(in_parts.time, at_once.time)
    assert error(in_parts, at_once) < 1e-7


def test_energy_balance_with_friction_and_feedback(exact):
    assert np.abs(exact["energy.balance"]).max() < 1e-9 * exact["work"].max()
    assert exact["dissipated"][-1] > 0


def test_a_smaller_tolerance_is_more_exact(strip, exact):
    loose, tight = (
        error(simulate(strip, until=UNTIL, drive=DRIVE, method="dop853", tolerance=t), exact) for t in (1e-4, 1e-8)
    )
    assert tight < 1e-2 * loose


def test_max_step(strip):
    run = simulate(strip, until=UNTIL, drive=DRIVE, max_step=1e-4)
    assert run.info.statistics["largest_step"] <= 1e-4 * (1 + 1e-9)


def test_tolerance_of_groups(strip):
    equations = StateEquations(strip, NoDrive(1))
    tolerance = Tolerance.of(equations, 1e-6, None, {"elastic": 1e-4, "*.bend_y.3": 1e-2})
    assert tolerance.absolute[:4] == pytest.approx([1e-8, 1e-4, 1e-4, 1e-2])
    assert tolerance.absolute[4:8] == pytest.approx(tolerance.absolute[:4])
    with pytest.raises(pliant.ModelError, match="no coordinate has such a name"):
        Tolerance.of(equations, 1e-6, None, {"wrist*": 1e-4})


def test_auto_says_what_it_takes_and_why(strip):
    def picked(arm, until):
        state = np.zeros(arm.size), np.zeros(arm.size)
        return choose(IntegratorOptions(), StateEquations(arm, NoDrive(1)), *state, until)

    method, reason = picked(strip, 1.0)
    assert method == "dop853"
    assert "rad/s" in reason
    # one link much stiffer than the other
    two = pliant.load("two-link-flexible")
    second = two.links[1]
    hard = pliant.Material(E=70e9 * 1e6, G=26e9, density=2700.0)
    robot = two.with_changes(links=[two.links[0], second.with_changes(beam=second.beam.with_changes(material=hard))])
    stiff = Dynamics(robot)
    method, reason = choose(
        IntegratorOptions(), StateEquations(stiff, NoDrive(2)), np.zeros(stiff.size), np.zeros(stiff.size), 10.0
    )
    assert method == "esdirk"
    assert "stiff" in reason
    assert (
        choose(IntegratorOptions(method="rk4"), StateEquations(strip, NoDrive(1)), *np.zeros((2, 4)), 1.0)[0] == "rk4"
    )


def test_a_step_that_is_too_large_is_said(strip):
    with pytest.warns(SimulationWarning, match="the step of 0.02 s is too large"):
        run = simulate(strip, until=1.0, drive=DRIVE, method="rk4", step=0.02, limits="ignore")
    assert 0 < run.time[-1] < 1.0
    # wherever the run was to end, also right there: what is handed out is finite
    last = round(run.time[-1] / 0.02)
    for steps in range(last - 1, last + 4):
        with pytest.warns(SimulationWarning):
            ended = simulate(strip, until=0.02 * steps, drive=DRIVE, method="rk4", step=0.02, limits="ignore")
        assert np.isfinite(ended.q).all()
        assert np.isfinite(ended.v).all()


# ---------------------------------------------------------------- machine code and Python

METHODS = {
    "dop853": {"tolerance": 1e-8},
    "gauss": {"tolerance": 1e-8},
    "esdirk": {"tolerance": 1e-7},
    "generalised-alpha": {"tolerance": 1e-6},
    "rk4": {"step": 4e-4},
    "semi-implicit": {"step": 3e-4},
}
PUSH = Disturbance(joint="elbow", effort="2*sin(20*t)", start=0.01, end=0.04)
HIT = Disturbance(frame="tip", force=[1.0, -2.0, 0.0], start=0.02, end=0.03)
PULL = PID(
    trajectory=Quintic(to={"shoulder": 1.15, "elbow": -1.4}, duration=0.25),
    kp=[400.0, 120.0],
    kd=[40.0, 8.0],
    ki=[4000.0, 0.0],
    gravity="measured",
)


def pulled(method="dop853", drive=PULL, disturbances=(PUSH, HIT), **options):
    integrator = IntegratorOptions(method=method, **(options or METHODS[method]))
    robot = pliant.load("two-link-flexible")
    start = Start(links="equilibrium")
    study = {"robot": robot, "until": 0.06, "drive": drive, "start": start, "disturbances": disturbances}
    return Study(name="pulled", integrator=integrator, **study)


@cache
def dynamics(robot):
    return Dynamics(robot)


def finish(study, report=None):
    run = Run(study, dynamics(study.robot))
    run.go(report)
    return run


@cache
def in_small_calls(method):
    """The samples and statistics of a whole run; the number of steps of a call is that of the test that asks."""
    run = finish(pulled(method))
    return run.recorder.samples(), run.integrator.statistics


def in_python(monkeypatch):
    monkeypatch.setattr(compiled, "compilable", lambda equations: None)


@pytest.mark.parametrize(
    ("method", "largest"),
    [
        ("dop853", 1e-9),
        ("gauss", 1e-9),
        ("esdirk", 1e-6),
        ("generalised-alpha", 2e-5),
        ("rk4", 1e-9),
        ("semi-implicit", 1e-9),
    ],
)
@coarse_steps
def test_machine_code_and_python_agree(method, largest, monkeypatch):
    fast = finish(pulled(method))
    assert not fast.integrator.steps_in_python
    in_python(monkeypatch)
    slow = finish(pulled(method))
    assert slow.integrator.steps_in_python
    one, other = fast.recorder.samples(), slow.recorder.samples()
    for name in ("q", "v", "tau", "force", "work"):
        a, b = getattr(one, name), getattr(other, name)
        assert np.abs(a - b).max() < largest * max(np.abs(b).max(), 1.0) * (50 if name != "q" else 1), name
    assert np.array_equal(one.force.any(axis=1), other.force.any(axis=1))


@pytest.mark.parametrize("disturbances", [(), (PUSH,), (HIT,), (PUSH, HIT)])
def test_energy_balance_with_loads(disturbances):
    result = finish(pulled(tolerance=1e-9, disturbances=disturbances)).result()
    assert np.abs(result["energy.balance"]).max() < 1e-8 * np.abs(result["work"]).max()
    assert (result["work.loads"][-1] != 0) == bool(disturbances)


def test_only_kinks_step_in_python(monkeypatch):
    seen = []

    class Watched(compiled.CompiledIntegrator):
        def advance(self, until, wanted=()):
            if self.law is None:
                seen.append(self.t)
            return super().advance(until, wanted)

    monkeypatch.setattr(compiled, "CompiledIntegrator", Watched)
    finish(pulled())
    assert not seen
    bent = Disturbance(joint="elbow", effort="2*abs(sin(300*t))", start=0.02, end=0.03)
    run = finish(pulled(disturbances=(PUSH, bent)))
    assert bent.start == min(seen)
    assert max(seen) < bent.end
    work = run.result()["work.loads"]
    assert work[-1] == work[run.recorder.samples().time > PUSH.end][0] != 0


@pytest.mark.parametrize("method", ["dop853", "gauss", "generalised-alpha"])
@pytest.mark.parametrize(
    ("robot", "drive", "disturbance"),
    [
        ("two-link-flexible", PULL, {"joint": "elbow", "effort": "abs(sin(200*t))", "start": 0.01, "end": 0.03}),
        ("two-link-flexible", PrescribedMotion(trajectory=PULL.trajectory), PUSH),
        ("two-link-flexible", PrescribedMotion(trajectory=PULL.trajectory), HIT),
        # its steps in Python are dear: a shorter run, with the same parts before, during and after the disturbance
        ("dualemps", PID(kp=1e5, kd=1e4, ki=1e6), {"joint": "q11", "effort": 20.0, "start": 0.004, "end": 0.012}),
    ],
    ids=["kinks", "effort on a prescribed joint", "force on a prescribed robot", "closed loops"],
)
@pytest.mark.filterwarnings("ignore:gauss is for smooth motion")
def test_machine_code_and_python_take_turns(robot, drive, disturbance, method, monkeypatch):
    until = 0.016 if robot == "dualemps" else 0.04
    options = {"drive": drive, "disturbances": [disturbance], "until": until, "method": method, "tolerance": 1e-6}
    options["start"] = Start(links="equilibrium")
    arm = dynamics(pliant.load(robot))
    fast = simulate(arm, **options)
    in_python(monkeypatch)
    slow = simulate(arm, **options)
    assert np.abs(fast.q - slow.q).max() < (1e-5 if method == "generalised-alpha" else 1e-7)
    assert fast["work.loads"][-1] == pytest.approx(slow["work.loads"][-1], rel=1e-3) != 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pause", [0.005, 0.0225, 0.0275, 0.045])
@coarse_steps
def test_a_resumed_run_with_loads_is_the_same_to_the_last_bit(method, pause, monkeypatch):
    monkeypatch.setattr(compiled, "STEPS_PER_CALL", 5)
    samples, statistics = in_small_calls(method)
    study = pulled(method)
    first, second = finish(study, lambda at: at.t > pause), Run(study, dynamics(study.robot))
    second.recall(first.memory(), first.recorder.samples())
    assert second.go()
    assert second.recorder.samples() == samples
    assert second.integrator.statistics == statistics


def test_a_sampled_drive_stays_in_machine_code(monkeypatch):
    sampled = PULL.model_copy(update={"sampling": Sampling(period=0.002, delay=0.001)})
    fast = finish(pulled(drive=sampled))
    assert not fast.integrator.steps_in_python
    in_python(monkeypatch)
    slow = finish(pulled(drive=sampled))
    assert np.abs(fast.recorder.samples().q - slow.recorder.samples().q).max() < 1e-9


def test_computed_torque_in_machine_code(monkeypatch):
    changes = {"until": 0.03, "integrator": {"tolerance": 1e-9}}
    fast = finish(load_study("seven-joint", changes=changes))
    assert not fast.integrator.steps_in_python
    in_python(monkeypatch)
    slow = finish(load_study("seven-joint", changes=changes))
    one, other = fast.recorder.samples(), slow.recorder.samples()
    assert np.abs(one.q - other.q).max() < 1e-9
    assert np.abs(one.tau - other.tau).max() < 1e-5 * np.abs(other.tau).max()
