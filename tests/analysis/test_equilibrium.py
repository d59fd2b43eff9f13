"""States of rest under gravity and efforts."""

import numpy as np
import pytest

from pliant import Beam, Elements, Joint, Link, Modes, NoEquilibriumError, Properties, Rigid, RigidPart, Robot, Spring
from pliant.analysis.equilibrium import equilibrium
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


@pytest.mark.filterwarnings("ignore:the shapes of .boom. are too stiff")
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
    # where it hangs straight from the start all forces are rounding
    assert equilibrium(arm, [-np.pi / 2]).q == pytest.approx([-np.pi / 2])


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
    with pytest.raises(ValueError, match=r"tau has shape \(2,\); robot 'cantilever' needs \(1,\)"):
        equilibrium(arm, tau=[1.0, 2.0])


# ---------------------------------------------------------------- loads and steady rotation


def strip(count=6, **more):
    """One metre, EI 10 N m^2, in the plane x-y without gravity."""
    beam = Beam(
        length=1.0, properties=Properties(mass_per_length=0.4, EIz=10.0), elements=Elements(number=count, bend_z=False)
    )
    links = [Link(name="arm", joint=Joint(name="hub"), beam=beam, **more)]
    return Dynamics(Robot(name="cantilever", gravity=(0, 0, 0), links=links), compile="never")


def test_a_force_and_a_moment_at_the_tip():
    """F L^3 / 3 EI + M L^2 / 2 EI; the drive holds F L + M."""
    found = equilibrium(strip(), loads={"tip": [0, 0.3, 0, 0, 0, -0.1]})
    arm = strip()
    assert arm.pose("tip", found.q).position[1] == pytest.approx(0.3 / 30 - 0.1 / 20, rel=1e-9)
    assert found.tau == pytest.approx([-(0.3 - 0.1)], rel=1e-4)


def test_a_follower_force_turns_with_its_frame():
    """Across the tip it stays across: its part along the base axis falls with the cosine of the tip's turn."""
    arm = strip()
    follows, fixed = equilibrium(arm, followers={"tip": [0, 2.0, 0]}), equilibrium(arm, loads={"tip": [0, 2.0, 0]})
    turn = arm.pose("tip", follows.q).rotation
    assert follows.q != pytest.approx(fixed.q, rel=1e-6)
    # the same state under the fixed force that the follower is there
    same = equilibrium(arm, loads={"tip": turn @ [0, 2.0, 0]})
    assert same.q == pytest.approx(follows.q, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"loads": {"tip": [1, 2]}}, "it must be 3 numbers"),
        ({"loads": {"tipp": [0, 1, 0]}}, "no frame 'tipp'"),
        ({"rates": {"hubb": 1.0}}, "no joint 'hubb'; did you mean 'hub'"),
    ],
)
def test_wrong_loads(given, words):
    with pytest.raises((ValueError, KeyError), match=words):
        equilibrium(strip(), **given)


def test_a_steady_rotation_bends_the_links_and_needs_no_acceleration():
    """A load beside the axis pulls the turning beam aside; nothing accelerates, and the linear model is about that."""
    from pliant.control.linear_model import linearise

    arm = strip(payloads=[RigidPart(mass=0.2, com=(0, 0.1, 0), inertia=1e-3)])
    found = equilibrium(arm, rates={"hub": 2.0})
    assert found.v[0] == 2.0
    # m W^2 y across and the moment of m W^2 L on the lever y: F L^3 / 3 EI - F L y L^2 / 2 EI, to first order
    first_order = 0.2 * 4 * 0.1 / 30 - 0.2 * 4 * 0.1 / 20
    assert arm.pose("tip", found.q).position[1] == pytest.approx(first_order, rel=0.1)
    assert arm.forward(found.q, found.v, found.tau) == pytest.approx(np.zeros(arm.size), abs=1e-6)
    model = linearise(arm, found.q, found.v, tau=found.tau)
    assert model.a == pytest.approx(np.zeros(arm.size), abs=1e-6)
    # spinning up adds the centrifugal and Coriolis terms: the poles are not those at rest
    assert not np.allclose(np.sort(np.abs(model.poles)), np.sort(np.abs(linearise(arm).poles)), rtol=1e-3)


def test_a_rotation_through_gravity_is_not_steady():
    arm = strip().robot.with_changes(gravity=(0, -9.81, 0))
    with pytest.raises(NoEquilibriumError, match="cannot turn steadily"):
        equilibrium(Dynamics(arm, compile="never"), rates={"hub": 2.0})
