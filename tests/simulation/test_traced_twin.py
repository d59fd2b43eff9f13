"""The rigid twin with closed loops as drives compute it, here on plain numbers, against the twin itself."""

import numpy as np
import pytest

from closed_robots import four_bar
from pliant import Dynamics
from pliant.drives.traced_model import TracedTwin
from pliant.trajectories.driven_twin import DrivenTwin
from pliant.trajectories.path import Surroundings

CLOSED = 1e-8
"""Relative: what is left by the Newton steps that close the twin."""

MOTION = np.array([1.59]), np.array([0.7]), np.array([1.3])
"""Position, rate and acceleration of the motor."""


@pytest.fixture(scope="module")
def model():
    arm = Dynamics(four_bar(), compile="never")
    return DrivenTwin(Surroundings(arm, arm.assemble()))


def found(model, away):
    """Efforts and weight, with passive joints of the robot that are away from those of its rigid twin."""
    twin, near = TracedTwin(model), model.twin.assemble()
    near[model.passive] += away * np.array([1.0, -1.0])
    numbers = [list(map(np.float64, each)) for each in (near, *MOTION, twin.numbers)]
    with np.errstate(divide="ignore", invalid="ignore"):
        return *twin.efforts(*numbers), *twin.gravity(*numbers[:2], numbers[-1])


@pytest.mark.parametrize("away", [0.0, 0.1, -0.2, 0.3])
def test_near_the_robot_it_is_closed(model, away):
    q, v, a = MOTION
    wanted = *model.efforts(q, v, a), *model.gravity(q)
    assert found(model, away) == pytest.approx(wanted, rel=CLOSED)


@pytest.mark.parametrize("away", [0.5, 1.0, 3.0])
def test_far_from_the_robot_it_has_no_numbers(model, away):
    """A loop that a few Newton steps leave open would give efforts of another mechanism."""
    assert np.isnan(found(model, away)).all()
