"""Estimated errors of natural frequencies against those that finer models show."""

import numpy as np
import pytest

from closed_robots import five_bar, four_bar
from pliant import Beam, Dynamics, Joint, Link, Modes, RigidPart, Robot, load
from pliant.analysis.convergence import refined
from pliant.analysis.modes import vibration_modes

NEAR = 0.06
"""Of the error, of a mode whose neighbours are kept ..."""
LEFT_OUT = 0.25
"""... and of the last ones, beside which others are left out."""


def boom(family="bend_z", **modes):
    given = {"shape": "clamped-free", family: 1, **modes}
    beam = Beam(
        length=1.0, section={"rectangle": {"width": 0.02, "height": 0.03}}, material="steel", modes=Modes(**given)
    )
    link = Link(name="arm", joint=Joint(type="fixed"), beam=beam, payloads=[RigidPart(mass=1.0, inertia=1e-3)])
    return Robot(name="boom", gravity=(0, 0, 0), links=[link])


CASES = {
    "one shape": (boom(), 4, [NEAR]),
    "three shapes": (boom(bend_z=3), 4, [NEAR, NEAR, LEFT_OUT]),
    "strains of a rod": (boom(shape="legendre", bend_z=2), 4, [NEAR, LEFT_OUT]),
    "torsion": (boom("torsion", shape="legendre"), 4, [NEAR]),
    "a loop of four bars": (load("four-bar"), 4, [NEAR, NEAR, LEFT_OUT, LEFT_OUT]),
    "elements in loops": (four_bar(bend_y=True), 4, [NEAR, LEFT_OUT]),
    "two arms": (five_bar(bend_y=True), 3, [NEAR, NEAR, NEAR, NEAR]),
}


@pytest.mark.parametrize("name", CASES)
def test_estimates_are_what_finer_links_show(name):
    robot, level, near = CASES[name]
    found = vibration_modes(Dynamics(robot, compile="never"), count=len(near))
    fine = vibration_modes(Dynamics(refined(robot, level), compile="never"), count=len(near))
    true = found.hertz / fine.hertz - 1
    assert (true > 1e-4).all()
    estimate = found.errors()
    assert (np.abs(estimate / true - 1) < near).all(), (estimate, true)


def test_slowly_converging_shapes_are_told_at_once():
    """Clamped-free shapes under heavy tips: even ten refinements are 0.4 % above what the estimate says."""
    robot = load("canadarm")
    found = vibration_modes(Dynamics(robot, compile="never"), count=1)
    finer = [vibration_modes(Dynamics(refined(robot, level), compile="never"), count=1).hertz[0] for level in (3, 6)]
    told = found.hertz[0] / (1 + found.errors()[0])
    assert told < finer[1] < finer[0]
    assert told == pytest.approx(finer[1], rel=0.01)


def test_what_is_not_known_is_not_told():
    rigid = Robot(
        name="arm",
        links=[Link(name="arm", joint=Joint(name="j", spring={"stiffness": 5.0}), rigid={"mass": 1.0, "inertia": 0.1})],
    )
    found = vibration_modes(Dynamics(rigid, compile="never"), locked=False)
    assert np.isnan(found.errors()).all()
    turning = Dynamics(load("single-flexible-link"), compile="never")
    assert np.isnan(vibration_modes(turning, v={"shoulder": 5.0}).errors()).all()
    assert found.errors(count=0).shape == (0,)
