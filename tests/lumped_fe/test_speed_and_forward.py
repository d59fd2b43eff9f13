"""Frequencies of turning links, and the approximate forward dynamics with its two errors."""

import numpy as np
import pytest

from lumped_arms import two_link_arm
from pliant import Dynamics, GivenTorque, ModelError, Robot, Study, frequencies_over_speed
from pliant.analysis.lumped.frequencies import natural_frequencies
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.simulation.inverse.approximate_forward import approximate_forward

# Wright, Smith, Thresher, Wang, J. Appl. Mech. 49 (1982): out-of-plane frequencies of a turning uniform cantilever, at
# eta = speed sqrt(rho A L^4 / EI), in the same unit
WRIGHT = {0.0: (3.5160, 22.0345), 2.0: (4.1373, 22.6149), 6.0: (7.3604, 26.8091), 12.0: (13.1702, 37.6031)}
SOFT = 1e-2
"""Bodies of 20 nodes at the highest speed."""


def turning_bar(nodes, plane="bend_y"):
    """A bar of unit constants that turns about z."""
    beam = {
        "length": 1.0,
        "properties": {"mass_per_length": 1.0, "EIy": 1.0, "EIz": 1.0},
        "lumped": {"nodes": nodes, "bend_y": plane == "bend_y", "bend_z": plane == "bend_z"},
    }
    return Robot(
        name="bar", gravity=(0, 0, 0), links=[{"name": "bar", "joint": {"name": "hub", "axis": "z"}, "beam": beam}]
    )


@pytest.fixture(scope="module")
def turning():
    """Frequencies of bars of 10 and 20 elements in and out of the plane, (planes, bars, kinds, speeds, 2)."""
    bars = [[turning_bar(n, plane) for n in (10, 20)] for plane in ("bend_y", "bend_z")]
    found = [[frequencies_over_speed(bar, "hub", list(WRIGHT), count=2) for bar in row] for row in bars]
    return np.array([[(bar.softened, bar.stiffened) for bar in row] for row in found])


def test_second_order_links_stiffen_as_published(turning):
    """Out of the plane the values are published, in it their squares are smaller by that of the speed."""
    coarse, fine = turning[:, 0, 1], turning[:, 1, 1]
    flap, eta = np.array(list(WRIGHT.values())), np.array(list(WRIGHT))[:, None]
    known = np.stack([np.sqrt(flap**2 - eta**2), flap])
    np.testing.assert_allclose(fine + (fine - coarse) / 3, known, rtol=2e-4)


def test_without_stiffening_the_speed_softens_in_the_plane(turning):
    """The paper's dynamic stiffness alone: omega^2 = omega_0^2 - speed^2 in the plane, until nothing swings; out of it
    nothing changes."""
    rest, eta = turning[:, 1, 0, :1], np.array(list(WRIGHT))[:, None]
    squares = rest**2 - np.stack([eta**2, 0 * eta])
    np.testing.assert_allclose(turning[:, 1, 0], np.sqrt(np.maximum(squares, 0.0)), rtol=SOFT)


def test_the_stiffening_is_that_of_second_order_links():
    """The frequencies of a turning arm of two links by the recursive method."""
    speed, robot = 4.0, two_link_arm(2, pose=(0.0, 0.7), bending="second-order")
    model, arm = LumpedModel(robot), Dynamics(robot, compile="never")
    found = natural_frequencies(model, JointMotion(*np.array([[0.0, 0.7], [speed, 0.0], [0.0, 0.0]])[:, None]))
    q, v = np.array([arm.reference_pose(), speed * (np.array(arm.names) == "shoulder")])
    by = arm.inverse_derivatives(q, v, 0 * q)
    free = [k for k, name in enumerate(arm.names) if name not in model.joints]
    M, C, K = (A[np.ix_(free, free)] for A in (by.a, by.v, by.q))
    A = np.block([[np.zeros_like(M), np.eye(len(M))], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    wanted = np.linalg.eigvals(A).imag
    np.testing.assert_allclose(found[:4], np.sort(wanted[wanted > 0])[:4], rtol=1e-7)


def test_a_joint_that_does_not_exist_is_named():
    with pytest.raises(ModelError, match="has no actuated joint 'hup'; did you mean 'hub'"):
        frequencies_over_speed(turning_bar(2), "hup", [1.0])


def test_the_effort_check_does_not_bound_the_position():
    """Small effort errors beside a tip that is off by as much as the elastic displacement itself."""
    robot = two_link_arm(3, axial=False, damping={"ratio": 0.01})
    drive = GivenTorque(joints={"shoulder": "0.6*sin(pi*t)^2", "elbow": "0.2*sin(pi*t)^2"})
    found = approximate_forward(Study(name="push", robot=robot, until=0.8, drive=drive))
    assert found.effort_error < 0.2
    assert found.position_error > 0.1 * found.elastic_size
    assert found.needed.shape == found.given.shape
