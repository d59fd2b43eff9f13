"""Lengths, places and encoder zeros from measured positions, of an arm and of a robot with loops."""

import numpy as np
import pytest

import pliant
from closed_robots import five_bar
from pliant import Joint, Link, Placement, Rigid, Robot
from pliant.dynamics import Dynamics


def arm():
    links = [
        Link(
            name="a", joint=Joint(name="j1", placement=Placement(position=(0, 0, 0.2))), rigid=Rigid(mass=1, length=0.5)
        ),
        Link(name="b", joint=Joint(name="j2", axis="y"), rigid=Rigid(mass=1, length=0.4)),
    ]
    return Robot(name="arm", links=links)


NAMES = ("a.rigid.length", "b.rigid.length", "j1.placement.position[2]", "offset.j1", "offset.j2")
TRUE = np.array([0.503, 0.397, 0.201, 0.01, -0.02])


def measured(robot, names, values, drives, noise=0.0):
    """Positions of the true robot, whose encoders read less by their offsets."""
    shifted = drives.copy()
    for name, value in zip(names, values, strict=True):
        if name.startswith("offset."):
            shifted[:, Dynamics(robot, compile="never").inputs.index(name[7:])] += value
        else:
            robot = robot.set(name, float(value))
    true = Dynamics(robot, compile="never")
    q = np.tile(true.reference_pose(), (len(drives), 1))
    q[:, [true.names.index(name) for name in true.inputs]] = shifted
    exact = true.pose("tip", true.assemble(q)).position
    return exact + noise * np.random.default_rng(0).standard_normal(exact.shape)


def test_an_arm_is_found_again():
    drives = np.random.default_rng(1).uniform(-1, 1, (40, 2))
    found = pliant.calibrate(arm(), NAMES, drives, measured(arm(), NAMES, TRUE, drives))
    assert found.values == pytest.approx(TRUE, abs=1e-9)
    assert found.residual < 1e-9 < found.before
    assert found.robot.get("a.rigid.length") == pytest.approx(0.503, abs=1e-9)


def test_intervals_hold_what_is_true():
    drives = np.random.default_rng(1).uniform(-1, 1, (60, 2))
    found = pliant.calibrate(arm(), NAMES, drives, measured(arm(), NAMES, TRUE, drives, noise=1e-4))
    assert found.residual == pytest.approx(1e-4, rel=0.15)
    # five intervals of 95 %, one of which may miss by a little
    assert (np.abs(found.values - TRUE) < 1.5 * found.intervals).all()
    assert found.intervals.max() < 2e-4


def test_a_robot_with_loops_is_found_again():
    names = ("left_crank.beam.length", "right_coupler.beam.length", "offset.left_motor")
    values = np.array([0.251, 0.299, 0.005])
    drives = np.array([[2.0944, 1.0472]]) + np.random.default_rng(2).uniform(-0.3, 0.3, (12, 2))
    found = pliant.calibrate(five_bar(), names, drives, measured(five_bar(), names, values, drives))
    assert found.values == pytest.approx(values, abs=1e-8)


def test_what_poses_do_not_tell_apart_is_named():
    drives = np.random.default_rng(1).uniform(-1, 1, (20, 2))
    poses = measured(arm(), NAMES, TRUE, drives)
    # all of these lift the frame alike
    with pytest.raises(pliant.UnidentifiableError, match="do not tell"):
        pliant.calibrate(arm(), ("j1.placement.position[2]", "j2.placement.position[2]"), drives, poses)
    with pytest.raises(pliant.UnidentifiableError, match=r"offset.j2 does not move"):
        pliant.calibrate(arm(), ("offset.j2",), drives, poses, frame="a.tip")
    with pytest.raises(ValueError, match="the actuated joints of robot 'arm' are j1, j2"):
        pliant.calibrate(arm(), ("offset.j3",), drives, poses)
