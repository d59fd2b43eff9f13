"""Natural modes of whole robots."""

from types import SimpleNamespace

import numpy as np
import pytest

from pliant import Beam, Damping, Elements, Friction, Joint, Link, Modes, Properties, Rigid, RigidPart, Robot, Spring
from pliant.analysis import modes as analysis
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


def steel_strip(count, gravity=(0.0, 0.0, 0.0), bending="second-order"):
    """0.6 m of spring steel, 30 x 0.5 mm, with 0.5 kg at the tip: soft in bending, stiff along its axis."""
    A, EI = 0.03 * 0.5e-3, 206e9 * 0.03 * 0.5e-3**3 / 12
    beam = Beam(
        length=0.6,
        properties=Properties(mass_per_length=7850 * A, EIz=EI, EA=206e9 * A),
        elements=Elements(number=count, bend_z=False, axial=True),
        bending=bending,
    )
    link = Link(name="strip", joint=Joint(name="hub"), beam=beam, payloads=[RigidPart(mass=0.5)])
    return Dynamics(Robot(name="strip", gravity=gravity, links=[link]), compile="never")


@pytest.mark.parametrize(("count", "bending"), [(20, "second-order"), (60, "linear")])
def test_a_soft_motion_beside_stiff_ones_is_not_one_without_stiffness(count, bending):
    """Squares of its frequencies span 12 to 13 orders of magnitude; the first is that of a massive tip."""
    found = modes(steel_strip(count, bending=bending))
    EI, beam = 206e9 * 0.03 * 0.5e-3**3 / 12, 7850 * 0.03 * 0.5e-3 * 0.6
    # Rayleigh's quotient of the static shape, whose error is of the second order in the beam's share of the mass
    expected = np.sqrt(3 * EI / (0.6**3 * (0.5 + 33 / 140 * beam))) / (2 * np.pi)
    assert found.hertz[0] == pytest.approx(expected, rel=1e-4)
    assert found.hertz[0] == pytest.approx(0.2094, abs=5e-5)
    assert found.rigid == 0


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.0, 0.0, -9.81)])
def test_a_joint_that_gravity_does_not_turn_has_no_stiffness(gravity):
    """Turning about the vertical is free whatever the frequencies of the rest; about a tilted axis it is not."""
    found = modes(steel_strip(20, gravity), locked=False)
    assert found.rigid == 1
    assert found.frequencies[1:].min() > 1.0
    tilt = 1e-4
    hanging = Robot(
        name="door",
        gravity=(9.81 * np.sin(tilt), 0.0, -9.81 * np.cos(tilt)),
        links=[Link(name="a", joint=Joint(name="hinge"), rigid=Rigid(mass=2.0, com=(0.5, 0, 0), inertia=0.1))],
    )
    door = modes(Dynamics(hanging, compile="never"), [0.0], locked=False)
    assert door.rigid == 0
    assert door.squares == pytest.approx([9.81 * np.sin(tilt) * 2.0 * 0.5 / (0.1 + 2.0 * 0.25)])


def test_a_loop_has_the_freedom_that_its_closure_leaves():
    """Without gravity in its plane a four-bar turns without stiffness once, a five-bar twice."""
    from pliant import load

    assert (
        modes(Dynamics(load("four-bar-rigid").with_changes(gravity=(0, 0, 0)), compile="never"), locked=False).rigid
        == 1
    )
    found = modes(Dynamics("five-bar"), locked=False)
    assert found.rigid == 2
    assert found.squares[2] > 1.0


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
    assert np.abs(found.shapes[[0, 3]]).max() < 1e-12 * np.abs(found.shapes).max()


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


@pytest.mark.parametrize("load", [0.3, 3.0, 30.0])
def test_the_default_shape_carries_the_load(load):
    """One mode has the frequency of many elements, where one bare clamped-free shape is 3 to 8 % too high."""

    def first(**discretisation):
        beam = Beam(length=1.0, properties=Properties(mass_per_length=1.0, EIz=10.0), **discretisation)
        payload = RigidPart(mass=load, inertia=0.3 * load)
        links = [Link(name="arm", joint=Joint(name="hub"), beam=beam, payloads=[payload])]
        return modes(Dynamics(Robot(name="loaded", gravity=(0, 0, 0), links=links), compile="never")).frequencies[0]

    true = first(elements=Elements(number=12, bend_z=False))
    assert first(modes=Modes(bend_y=1)) == pytest.approx(true, rel=1e-6)
    assert first(modes=Modes(shape="clamped-free", bend_y=1)) > 1.03 * true


def test_the_default_shape_of_a_bare_beam_is_clamped_free():
    same = [modes(slewing(modes=Modes(shape=shape, bend_y=3))).frequencies for shape in ("auto", "clamped-free")]
    assert same[0] == pytest.approx(same[1], rel=1e-10)


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
    rows = [arm.mechanism.motor_row(member) for member in arm.mechanism.driven_members]
    assert len(rows) == len(joints)
    assert np.abs(rows @ found.shapes).max(initial=0.0) < 1e-9 * np.abs(found.shapes).max(initial=1.0)


def test_its_text():
    assert repr(modes(slewing(modes=Modes(bend_y=1)))) == "ModeSet(1 modes: 0.5596 Hz)"


def test_held_joints_do_not_move_whatever_their_motors_see(monkeypatch):
    """Motor angles that all depend on all coordinates, one of them on those of two others only."""
    rows = np.random.default_rng(6).normal(size=(4, 6))
    rows[2] = 0.3 * rows[0] - 2.0 * rows[1]
    seen = dict(zip("abcd", rows, strict=True))
    monkeypatch.setattr(analysis, "_motor_row", lambda arm, name: seen[name])
    t = SimpleNamespace(N=np.eye(6), names=("a", "b", "c", "d", "e", "f"))
    Z = analysis.free_motions(SimpleNamespace(inputs="abcd"), t, locked=True)
    assert np.linalg.matrix_rank(Z) == Z.shape[1] == 3
    assert np.abs(rows @ Z).max() < 1e-12 * np.abs(rows).max() * np.abs(Z).max()
