"""States of rest under gravity and efforts."""

import numpy as np
import pytest

from pliant import Beam, Joint, Link, Modes, Properties, Rigid, RigidPart, Robot, Spring
from pliant.analysis.equilibrium import NoEquilibriumError, equilibrium
from pliant.dynamics import Dynamics

BALANCED = 1e-9
"""Of the largest force: what Newton's method leaves."""

G = 9.81


def cantilever(count, load=0.3, EI=200.0, **changes):
    beam = Beam(
        length=1.2, properties=Properties(mass_per_length=0.9, EIz=EI), modes=Modes(shape="clamped-free", bend_y=count)
    )
    link = Link(name="arm", joint=Joint(name="hub", **changes), beam=beam, payloads=(RigidPart(mass=load),))
    return Dynamics(Robot(name="cantilever", gravity=(0, -G, 0), links=[link]), compile="never")


@pytest.mark.parametrize("robot", ["two-link-flexible", "seven-joint-arm", "lin-lewis-rfr", "cibicik-4dof"])
def test_forces_balance_while_the_drives_hold(robot):
    arm = Dynamics(robot, compile="never")
    found = equilibrium(arm)
    forces = arm.bias(found.q, np.zeros(arm.size)) - arm.B @ found.tau
    assert np.abs(forces).max() <= BALANCED * np.abs(arm.gravity(found.q)).max()
    # the motor angles stay where they were
    assert arm.B.T @ found.q == pytest.approx(arm.B.T @ arm.reference_pose(), abs=1e-12)
    # the same efforts, given, lead back to it
    again = equilibrium(arm, found.q, tau=found.tau)
    assert again.q == pytest.approx(found.q, abs=1e-9)


def test_a_cantilever_hangs_as_the_beam_formula_says():
    """Tip of a clamped beam under its own weight and a load: w L^4/8EI + F L^3/3EI."""
    arm = cantilever(12, EI=2e5)
    tip = arm.pose("tip", equilibrium(arm).q).position
    w, F, L, EI = 0.9 * G, 0.3 * G, 1.2, 2e5
    assert tip[1] == pytest.approx(-(w * L**4 / 8 + F * L**3 / 3) / EI, rel=1e-4)


def test_the_holding_torque_is_the_moment_of_the_weights():
    arm = cantilever(3, EI=1e7)
    assert equilibrium(arm).tau == pytest.approx([G * (0.9 * 1.2**2 / 2 + 0.3 * 1.2)], rel=1e-6)


def test_a_pinned_root_is_held_at_its_tangent():
    beam = Beam(
        length=1.0, properties=Properties(mass_per_length=1.0, EIz=50.0), modes=Modes(shape="pinned-free", bend_y=6)
    )
    arm = Dynamics(Robot(name="pinned", gravity=(0, -G, 0), links=[Link(name="a", joint=Joint(name="j"), beam=beam)]))
    found = equilibrium(arm)
    assert arm.B[:, 0] @ found.q == pytest.approx(0.0, abs=1e-13)
    assert found.q[0] != 0.0
    assert found.tau == pytest.approx([G / 2], rel=1e-3)


def test_given_efforts_settle_a_sprung_arm():
    """k (theta - rest) + m g c cos theta = tau."""
    spring = Spring(stiffness=20.0, rest=0.2)
    link = Link(name="a", joint=Joint(name="j", spring=spring), rigid=Rigid(mass=1.0, com=(0.5, 0, 0), inertia=0.1))
    arm = Dynamics(Robot(name="sprung", gravity=(0, -G, 0), links=[link]), compile="never")
    (theta,) = equilibrium(arm, tau=[3.0]).q
    assert 20.0 * (theta - 0.2) + G * 0.5 * np.cos(theta) == pytest.approx(3.0, abs=1e-8)


def test_a_pendulum_finds_its_bottom():
    link = Link(name="a", joint=Joint(name="j", actuated=False), rigid=Rigid(mass=1.0, com=(0.5, 0, 0), inertia=0.1))
    arm = Dynamics(Robot(name="pendulum", gravity=(0, -G, 0), links=[link]), compile="never")
    assert equilibrium(arm, [-1.0]).q == pytest.approx([-np.pi / 2])


def test_loops_stay_closed():
    arm = Dynamics("five-bar", compile="never")
    found = equilibrium(arm)
    assert arm.closure(found.q) == pytest.approx(np.zeros(2), abs=1e-9)


def test_no_equilibrium_is_explained():
    """A torque that no weight can balance."""
    link = Link(name="a", joint=Joint(name="j"), rigid=Rigid(mass=1.0, com=(0.5, 0, 0), inertia=0.1))
    arm = Dynamics(Robot(name="spinning", gravity=(0, -G, 0), links=[link]), compile="never")
    with pytest.raises(NoEquilibriumError, match=r"unbalanced.*change the efforts"):
        equilibrium(arm, tau=[50.0])


def test_wrong_shapes_are_named():
    arm = cantilever(1)
    with pytest.raises(ValueError, match=r"q has shape \(3,\)"):
        equilibrium(arm, [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="has 1 inputs"):
        equilibrium(arm, tau=[1.0, 2.0])
