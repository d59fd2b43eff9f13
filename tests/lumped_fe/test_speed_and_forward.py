"""Frequencies of turning links, and the approximate forward dynamics with its two errors."""

import numpy as np
import pytest

from lumped_arms import two_link_arm
from pliant import Dynamics, GivenTorque, ModelError, Robot, Study
from pliant.formulations.lumped_fe.frequencies import frequencies_over_speed, natural_frequencies
from pliant.formulations.lumped_fe.model import LumpedModel
from pliant.formulations.lumped_fe.skeleton import JointMotion
from pliant.simulation.approximate_forward import approximate_forward

# Wright, Smith, Thresher, Wang, J. Appl. Mech. 49 (1982): out-of-plane frequency of a turning uniform cantilever, at
# eta = speed sqrt(rho A L^4 / EI), in the same unit
WRIGHT = {0.0: 3.5160, 2.0: 4.1373, 5.0: 6.4495}
ORDER = 0.2


def turning_bar(nodes, plane):
    """A bar of unit constants that turns about z."""
    beam = {
        "length": 1.0,
        "properties": {"mass_per_length": 1.0, "EIy": 1.0, "EIz": 1.0},
        "lumped": {"nodes": nodes, "bend_y": plane == "bend_y", "bend_z": plane == "bend_z"},
    }
    return Robot(
        name="bar", gravity=(0, 0, 0), links=[{"name": "bar", "joint": {"name": "hub", "axis": "z"}, "beam": beam}]
    )


@pytest.mark.parametrize("eta", WRIGHT)
def test_a_pulled_beam_stiffens_as_published(eta):
    found = np.array(
        [
            frequencies_over_speed(LumpedModel(turning_bar(n, "bend_z"), stiffening=True), "hub", np.array([eta]), 1)[
                0, 0
            ]
            for n in (8, 16, 32)
        ]
    )
    limit = found[2] + (found[2] - found[1]) / 3
    assert limit == pytest.approx(WRIGHT[eta], rel=2e-4)


def test_without_stiffening_the_speed_softens_in_the_plane():
    """The paper's dynamic stiffness alone: omega^2 = omega_0^2 - speed^2, which is right only for slow turning."""
    model = LumpedModel(turning_bar(16, "bend_y"))
    speeds = np.array([0.0, 1.0, 2.0])
    found = frequencies_over_speed(model, "hub", speeds, 1)[:, 0]
    np.testing.assert_allclose(found**2, found[0] ** 2 - speeds**2, rtol=2e-3)


def test_what_remains_beside_the_recursion_vanishes_with_the_bodies_of_the_nodes():
    """Both are linear in bending; left are the turning bodies of the nodes, smaller by four with every halving."""
    speed, gaps = 1.5, []
    for nodes in (4, 8, 16):
        robot = turning_bar(nodes, "bend_y")
        model, arm = LumpedModel(robot), Dynamics(robot, compile="never")
        motion = JointMotion(np.zeros((1, 1)), np.array([[speed]]), np.zeros((1, 1)))
        mine = natural_frequencies(model, motion, 1)[0]
        q, v = np.zeros(arm.size), np.zeros(arm.size)
        v[0] = speed
        by = arm.inverse_derivatives(q, v, np.zeros(arm.size))
        M, K = by.a[1:, 1:], by.q[1:, 1:]
        squares = np.linalg.eigvals(np.linalg.solve(M, K))
        gaps.append(mine - np.sqrt(squares.real.min()))
    assert abs(gaps[0]) > 1e-6
    np.testing.assert_allclose(np.log2(np.abs(gaps[:-1]) / np.abs(gaps[1:])), 2.0, atol=ORDER)


def test_links_that_carry_others_refuse_stiffening():
    with pytest.raises(ModelError, match="'upper': it bends and carries other links"):
        LumpedModel(two_link_arm(), stiffening=True)


def test_the_effort_check_does_not_bound_the_position():
    """Small effort errors beside a tip that is off by as much as the elastic displacement itself."""
    robot = two_link_arm(3, axial=False, damping={"ratio": 0.01})
    drive = GivenTorque(joints={"shoulder": "0.6*sin(pi*t)^2", "elbow": "0.2*sin(pi*t)^2"})
    found = approximate_forward(Study(name="push", robot=robot, until=0.8, drive=drive))
    assert found.effort_error < 0.2
    assert found.position_error > 0.1 * found.elastic_size
    assert found.needed.shape == found.given.shape
