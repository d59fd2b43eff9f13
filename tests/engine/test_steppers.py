"""Every integrator of the table can be asked for, is made, and has the order that stands there."""

import numpy as np
import pytest

from pliant import Joint, Link, Rigid, Robot, Spring, Start, simulate
from pliant.dynamics import Dynamics
from pliant.engine.stepping.called_system import CalledSystem
from pliant.engine.stepping.dormand_prince import dormand_prince_853
from pliant.engine.stepping.integrators import Clock, new_clock
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.stepper import Stepped, Wanted
from pliant.engine.stepping.steppers import STEPPERS
from pliant.simulation.study import METHODS, IntegratorOptions

RATE, UNTIL = 3.0, 2.0
ROUGH = 0.4
"""Of measured orders: steps are not yet small."""


def test_the_table_is_what_studies_and_runs_know():
    assert set(STEPPERS) == set(METHODS) - {"auto", "sundials"}
    for name, stepper in STEPPERS.items():
        assert stepper.name == name == IntegratorOptions(method=name).method
        assert stepper.words


@pytest.mark.filterwarnings("ignore:the energy balance is off")
@pytest.mark.parametrize("name", [name for name, stepper in STEPPERS.items() if stepper.order <= 8])
def test_orders(name):
    """A wheel on a spring, whose motion is known, in steps of two sizes."""
    joint = Joint(name="hub", axis="z", spring=Spring(stiffness=RATE**2))
    body = Rigid(mass=1.0, inertia=((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)))
    arm = Dynamics(Robot(name="wheel", gravity=(0.0, 0.0, 0.0), links=[Link(name="wheel", joint=joint, rigid=body)]))
    stepper, errors = STEPPERS[name], []
    # steps so long that errors are not yet rounding
    for count in (160, 320) if stepper.order < 8 else (10, 20):
        h = UNTIL / count
        # what chooses its steps itself is allowed any error, and is held to steps of one size
        held = {"step": h} if stepper.fixed else {"step": h, "max_step": h, "tolerance": 0.1, "absolute": 1e3}
        run = simulate(arm, until=UNTIL, start=Start(position={"hub": 1.0}), method=name, **held)
        assert run.info.statistics["steps"] == pytest.approx(count, abs=1)
        errors.append(abs(run.q[-1, 0] - np.cos(RATE * UNTIL)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(stepper.order, abs=ROUGH)


def test_the_dense_output_and_the_errors_of_dop853():
    """States that are polynomials of time: to degree 7 within a step, to 8 at its end; errors see none of them."""
    pair, degrees = dormand_prince_853(), np.arange(9)
    assert pair.A.sum(axis=1) == pytest.approx(pair.C, abs=1e-12)
    assert pair.A[12, :12] == pytest.approx(pair.B, abs=1e-15)
    assert (pair.A @ pair.C)[2:] == pytest.approx(pair.C[2:] ** 2 / 2, abs=1e-12)
    for weights, exact in ((pair.E5, 5), (pair.E3, 3)):
        moments = [weights @ pair.C[: len(weights)] ** k for k in range(exact + 1)]
        assert moments[:exact] == pytest.approx(np.zeros(exact), abs=1e-12)
        assert abs(moments[exact]) > 1e-4

    def rates(t, x):
        return np.array([k * t ** (k - 1) if k else 0.0 for k in degrees])

    layout = StateLayout(count=3)
    assert layout.size == len(degrees)
    stepped = Stepped(STEPPERS["dop853"], CalledSystem(rates, layout, ()))
    x, knots = np.zeros(9), np.zeros((2, 19))
    x[0] = 1.0
    clock = new_clock(0.0, 1.0, step=1.0, largest=1.0, relative=0.0)
    wanted = Wanted.at(np.linspace(0.1, 1.0, 10), 9)
    stepped.advance(stepped.steps(clock, x, np.full(9, 1e3), knots, wanted))
    assert clock[Clock.STEPS] == 1
    assert x == pytest.approx(np.ones(9), abs=1e-12)
    exact = wanted.grid[:, None] ** degrees
    assert wanted.found[:, :8] == pytest.approx(exact[:, :8], abs=1e-11)
    assert np.abs(wanted.found[:, 8] - exact[:, 8]).max() < 1e-2
