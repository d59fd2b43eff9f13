"""Every integrator of the table can be asked for, is made, and has the order that stands there."""

import numpy as np
import pytest

from pliant import Joint, Link, Rigid, Robot, Spring, Start, simulate
from pliant.dynamics import Dynamics
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
@pytest.mark.parametrize("name", [name for name, stepper in STEPPERS.items() if stepper.order < 8])
def test_orders(name):
    """A wheel on a spring, whose motion is known, in steps of two sizes."""
    joint = Joint(name="hub", axis="z", spring=Spring(stiffness=RATE**2))
    body = Rigid(mass=1.0, inertia=((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)))
    arm = Dynamics(Robot(name="wheel", gravity=(0.0, 0.0, 0.0), links=[Link(name="wheel", joint=joint, rigid=body)]))
    stepper, errors = STEPPERS[name], []
    for count in (160, 320):
        h = UNTIL / count
        # what chooses its steps itself is allowed any error, and is held to steps of one size
        held = {"step": h} if stepper.fixed else {"step": h, "max_step": h, "tolerance": 0.1, "absolute": 1e3}
        run = simulate(arm, until=UNTIL, start=Start(position={"hub": 1.0}), method=name, **held)
        assert run.info.statistics["steps"] == pytest.approx(count, abs=1)
        errors.append(abs(run.q[-1, 0] - np.cos(RATE * UNTIL)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(stepper.order, abs=ROUGH)
