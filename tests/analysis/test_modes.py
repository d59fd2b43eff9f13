"""Natural modes of whole robots."""

import numpy as np
import pytest

from pliant import Beam, Damping, Elements, Friction, Joint, Link, Modes, Properties, Rigid, RigidPart, Robot, Spring
from pliant.analysis.modes import modes
from pliant.dynamics import Dynamics

BEAM_ROOTS = np.array([1.8751040687, 4.6940911330, 7.8547574382])
"""betaL of a clamped-free beam."""

PINNED_FREE_ROOTS = np.array([3.9266023120, 7.0685827456])


def slewing(**discretisation):
    beam = Beam(length=1.0, properties=Properties(mass_per_length=1.0, EIz=1.0), **discretisation)
    return Dynamics(
        Robot(name="beam", gravity=(0, 0, 0), links=[Link(name="arm", joint=Joint(name="hub"), beam=beam)]),
        compile="never",
    )


def test_locked_frequencies_are_those_of_the_clamped_beam():
    found = modes(slewing(modes=Modes(bend_y=3)))
    assert found.frequencies == pytest.approx(BEAM_ROOTS**2, rel=1e-9)
    assert found.hertz == pytest.approx(BEAM_ROOTS**2 / (2 * np.pi), rel=1e-9)
    assert found.rigid == 0


def test_free_joint_has_a_motion_without_stiffness():
    found = modes(slewing(modes=Modes(shape="pinned-free", bend_y=2)), locked=False)
    assert found.rigid == 1
    assert found.squares[0] == 0.0
    assert found.frequencies[1:] == pytest.approx(PINNED_FREE_ROOTS**2, rel=1e-9)
    assert np.isnan(found.damping_ratios[0])


def test_a_pinned_root_is_locked_at_its_tangent():
    """With the motor angle held a pinned beam is a clamped one; its modes then converge from above."""
    errors = []
    for count in (4, 8, 16):
        first = modes(slewing(modes=Modes(shape="pinned-free", bend_y=count))).frequencies[0]
        errors.append(first / BEAM_ROOTS[0] ** 2 - 1)
    assert all(error > 0 for error in errors)
    assert errors[0] > 1.8 * errors[1] > 3.2 * errors[2]


def test_elements_converge_with_order_four():
    errors = [
        modes(slewing(elements=Elements(number=n, bend_z=False))).frequencies[1] / BEAM_ROOTS[1] ** 2 - 1
        for n in (4, 8)
    ]
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.1)


def test_shapes_have_unit_modal_mass_and_belong_to_their_frequencies():
    arm = Dynamics("two-link-flexible", compile="never")
    found = modes(arm)
    M = arm.mass_matrix(found.q)
    assert found.shapes.T @ M @ found.shapes == pytest.approx(np.eye(len(found)), abs=1e-9)
    K = arm.inverse_derivatives(found.q, np.zeros(6), np.zeros(6)).q
    free = [1, 2, 4, 5]
    residual = (K @ found.shapes - M @ found.shapes * found.squares)[free]
    assert np.abs(residual).max() < 1e-8 * np.abs(K).max()
    assert found.names == arm.names
    assert found.shares.sum(axis=0) == pytest.approx(np.ones(len(found)))
    # locked joints do not move
    assert np.abs(found.shapes[[0, 3]]).max() == 0.0


def test_canadarm():
    """The reference's locked frequencies at q = 0, rad/s; both planes bend alike."""
    arm = Dynamics("canadarm", compile="never")
    found = modes(arm, np.zeros(arm.size))
    assert found.frequencies[:6:2] == pytest.approx([0.976775650, 7.40791809, 21.7900242], rel=1e-8)
    assert found.frequencies[1:6:2] == pytest.approx(found.frequencies[:6:2], rel=1e-9)


def test_more_inertia_never_raises_a_frequency():
    def arm(load):
        beam = Beam(length=1.0, properties=Properties(mass_per_length=1.0, EIz=1.0), modes=Modes(bend_y=5))
        link = Link(name="arm", joint=Joint(name="hub"), beam=beam, payloads=load)
        return Dynamics(Robot(name="loaded", gravity=(0, 0, 0), links=[link]), compile="never")

    frequencies = [
        modes(arm(load)).frequencies for load in ((), (RigidPart(mass=0.5),), (RigidPart(mass=0.5, inertia=0.1),))
    ]
    assert np.all(frequencies[1] <= frequencies[0])
    assert np.all(frequencies[2] <= frequencies[1])


def test_damping_ratio_of_a_link_shows_in_its_modes():
    found = modes(slewing(modes=Modes(bend_y=3), damping=Damping(ratio=0.03)))
    assert found.damping_ratios == pytest.approx([0.03] * 3)


def test_a_sprung_joint_vibrates_and_dry_friction_does_not_damp():
    joint = Joint(name="j", actuated=False, spring=Spring(stiffness=8.0, damping=0.4), friction=Friction(coulomb=5.0))
    link = Link(name="a", joint=joint, rigid=Rigid(mass=1.0, inertia=2.0))
    found = modes(Dynamics(Robot(name="sprung", gravity=(0, 0, 0), links=[link]), compile="never"))
    assert found.frequencies == pytest.approx([2.0])
    assert found.damping_ratios == pytest.approx([0.4 / (2 * 2.0 * 2.0)])


@pytest.mark.parametrize(("angle", "sign"), [(-np.pi / 2, 1.0), (np.pi / 2, -1.0)])
def test_gravity_stiffens_a_hanging_pendulum_and_topples_a_standing_one(angle, sign):
    link = Link(name="a", joint=Joint(name="j"), rigid=Rigid(mass=2.0, com=(0.5, 0, 0), inertia=0.1))
    arm = Dynamics(Robot(name="pendulum", gravity=(0, -9.81, 0), links=[link]), compile="never")
    found = modes(arm, [angle], locked=False)
    assert found.squares == pytest.approx([sign * 9.81 * 2.0 * 0.5 / (0.1 + 2.0 * 0.25)])
    assert (found.frequencies[0] > 0) == (sign > 0)
    assert (found.growth[0] > 0) == (sign < 0)


def test_some_joints_held():
    arm = Dynamics("two-link-flexible", compile="never")
    q = arm.reference_pose()
    both, one = modes(arm, q), modes(arm, q, locked=["shoulder"])
    assert len(one) == len(both) + 1
    assert one.shapes[arm.names.index("shoulder")] == pytest.approx(np.zeros(len(one)))
    assert len(modes(arm, q, locked=False, count=3)) == 3
    with pytest.raises(ValueError, match="did you mean 'elbow'"):
        modes(arm, q, locked=["elbo"])


def test_closed_loops():
    """Briot & Khalil, table 3 with one element per beam and the drives locked (reference README)."""
    found = modes(Dynamics("dualemps", compile="never"))
    assert found.hertz[:6] == pytest.approx([14.207, 25.042, 48.156, 91.907, 110.326, 436.197], abs=6e-4)


@pytest.mark.parametrize(("name", "left"), [("dualemps", 6), ("five-bar", 12), ("four-bar-rigid", 0)])
def test_more_joints_held_than_the_loops_leave_free(name, left):
    """What the loops hold already adds nothing; the order of the names does not matter."""
    arm = Dynamics(name)
    joints = list(arm.robot.joint_coordinates)
    found = modes(arm, locked=joints)
    assert len(found) == left
    assert np.allclose(found.squares, modes(arm, locked=joints[::-1]).squares, rtol=1e-9)
    for member in arm.mechanism.driven_members:
        row = arm.mechanism.motor_row(member)
        assert np.abs(row @ found.shapes).max(initial=0.0) < 1e-9 * np.abs(found.shapes).max(initial=1.0)


def test_a_loaded_loop_has_the_stiffness_of_its_forces():
    """Under gravity in its plane the five-bar's locked modes equal those of small oscillations of its dynamics."""
    from pliant import load

    arm = Dynamics(load("five-bar").with_changes(gravity=(0.0, -9.81, 0.0)), compile="never")
    found = modes(arm)
    weightless = modes(Dynamics("five-bar", compile="never"))
    # the sag of thin strips changes the lowest frequencies a little, and only a little
    assert found.frequencies[:2] == pytest.approx(weightless.frequencies[:2], rel=0.05)
    assert not np.array_equal(found.frequencies, weightless.frequencies)


def test_its_text():
    assert repr(modes(slewing(modes=Modes(bend_y=1)))) == "ModeSet(1 modes: 0.5596 Hz)"
