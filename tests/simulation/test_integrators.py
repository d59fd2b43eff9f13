"""Integrators: their order, their agreement, their energy balance, and which one is taken."""

import numpy as np
import pytest

import pliant
from pliant.dynamics import Dynamics
from pliant.simulation.choice import choose
from pliant.simulation.drives.controllers import PID
from pliant.simulation.drives.kinds import NoDrive
from pliant.simulation.equations import Equations
from pliant.simulation.integrators.integrator import Tolerance
from pliant.simulation.run import SimulationWarning, simulate
from pliant.simulation.study import IntegratorOptions
from pliant.simulation.trajectories.kinds import Quintic

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
        ("rk4", {"step": 2e-4}, 1e-7),
        ("semi-implicit", {"step": 1e-4}, 1e-3),
        ("generalised-alpha", {"tolerance": 1e-7}, 1e-4),
        ("scipy:LSODA", {}, 1e-6),
        ("scipy:Radau", {"tolerance": 1e-6}, 1e-6),
        ("scipy:RK45", {"tolerance": 1e-6}, 1e-5),
    ],
)
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


def test_energy_balance_with_friction_and_feedback(exact):
    assert np.abs(exact["energy.balance"]).max() < 1e-9 * exact["work"].max()
    assert exact["dissipated"][-1] > 0


def test_a_smaller_tolerance_is_more_exact(strip, exact):
    loose, tight = (
        error(simulate(strip, until=UNTIL, drive=DRIVE, method="dop853", tolerance=t), exact) for t in (1e-4, 1e-7)
    )
    assert tight < 1e-2 * loose


def test_max_step(strip):
    run = simulate(strip, until=UNTIL, drive=DRIVE, max_step=1e-4)
    assert run.info.statistics["largest_step"] <= 1e-4 * (1 + 1e-9)


def test_tolerance_of_groups(strip):
    equations = Equations(strip, NoDrive(1))
    tolerance = Tolerance.of(equations, 1e-6, None, {"elastic": 1e-4, "*.bend_y.3": 1e-2})
    assert tolerance.absolute[:4] == pytest.approx([1e-8, 1e-4, 1e-4, 1e-2])
    assert tolerance.absolute[4:8] == pytest.approx(tolerance.absolute[:4])
    with pytest.raises(pliant.ModelError, match="no coordinate has such a name"):
        Tolerance.of(equations, 1e-6, None, {"wrist*": 1e-4})


def test_auto_says_what_it_takes_and_why(strip):
    def picked(arm, until):
        state = np.zeros(arm.size), np.zeros(arm.size)
        return choose(IntegratorOptions(), Equations(arm, NoDrive(1)), *state, until)

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
        IntegratorOptions(), Equations(stiff, NoDrive(2)), np.zeros(stiff.size), np.zeros(stiff.size), 10.0
    )
    assert method == "generalised-alpha"
    assert "stiff" in reason
    assert choose(IntegratorOptions(method="rk4"), Equations(strip, NoDrive(1)), *np.zeros((2, 4)), 1.0)[0] == "rk4"


def test_a_step_that_is_too_large_is_said(strip):
    with pytest.warns(SimulationWarning, match="the step of 0.02 s is too large"):
        run = simulate(strip, until=1.0, drive=DRIVE, method="rk4", step=0.02, limits="ignore")
    assert 0 < run.time[-1] < 1.0
