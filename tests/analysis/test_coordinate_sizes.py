"""How much of a coordinate moves a robot as a whole."""

import numpy as np
import pytest

from pliant import Joint, Link, Rigid, Robot
from pliant.analysis.statics import coordinate_sizes
from pliant.dynamics import Dynamics


def test_a_slide_moves_by_the_reach_and_a_hinge_turns_by_a_radian():
    body = Rigid(mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.01, length=2.5)
    links = [
        Link(name="a", joint=Joint(name="slide", type="prismatic", axis="x"), rigid=body),
        Link(name="b", joint=Joint(name="hinge", axis="z"), rigid=body),
    ]
    arm = Dynamics(Robot(name="arm", links=links), compile="never")
    sizes = coordinate_sizes(arm, np.zeros(2))
    assert arm.reach > 2.5
    assert sizes == pytest.approx([arm.reach, 1.0], rel=1e-12)
