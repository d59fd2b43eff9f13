"""Spherical and universal joints in descriptions: what they are made of, their names, what is refused."""

import numpy as np
import pytest

from pliant import Dynamics, Friction, Joint, Limits, Link, Mimic, ModelError, Motor, Rigid, Robot, Spring
from pliant.model.description.derived_links import frame_in_base
from pliant.model.description.plausible import description_limits

ROUNDING = 1e-13


def body(link, **joint):
    given = Rigid(mass=1.0, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.2, 0.25), length=0.5)
    return Link(name=link, joint=Joint(**joint), rigid=given)


def ball(**more):
    return Joint(name="ball", type="spherical", **more)


def test_coordinates():
    assert ball().coordinates == ("ball.rx", "ball.ry", "ball.rz")
    assert Joint(name="cross", type="universal").coordinates == ("cross_1", "cross_2")
    robot = Robot(name="r", links=[body("a", type="universal", name="cross"), body("b", type="spherical", name="ball")])
    assert robot.joint_coordinates == ("cross_1", "cross_2", "ball.rx", "ball.ry", "ball.rz")
    assert Dynamics(robot, compile="never").mechanism.units == ("rad",) * 5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ball(actuated=True), "a spherical joint cannot be actuated; hold it by its spring"),
        (lambda: ball(axis="x"), "a spherical joint has no axis; leave it out"),
        (
            lambda: ball(motor=Motor(gear_ratio=2)),
            "a spherical joint has no motor; hold it by its spring, .* or use three revolute joints",
        ),
        (lambda: ball(limits=Limits(velocity=1)), "a spherical joint has no limits"),
        (lambda: ball(mimic=Mimic(joint="a")), "a spherical joint has no mimic"),
        (lambda: ball(friction=Friction(coulomb=1)), "a spherical joint has viscous friction only"),
        (lambda: ball(spring=Spring(stiffness=1, rest=0.1)), "rests at zero; turn its placement instead"),
        (lambda: Joint(type="universal", axis="x"), "a universal joint has no axis; leave it out"),
        (lambda: Joint(type="universal", axes=("x", (2, 0, 0))), "axes are parallel"),
        (lambda: Joint(type="universal", axes=("x",)), "must be a list of 2 axes"),
        (lambda: Joint(axes=("x", "y")), "a revolute joint has one axis; write axis"),
    ],
)
def test_what_has_no_meaning_is_refused(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_a_universal_joint_is_a_cross_with_two_turns():
    place, inner = {"position": [0, 0, 1], "rotation": {"z": 0.3}}, {"position": [0.1, 0, 0]}
    links = [body("a"), body("b", type="universal", name="u", axes=("y", "z"), placement=place, child_placement=inner)]
    robot = Robot(name="r", links=[*links, body("c")], pose={"a": 0.2, "u_1": 0.4, "u_2": -0.7})
    assert robot.link_names == ("a", "b_cross", "b", "c")
    assert robot.parent_of("b_cross") == ("a", "tip")
    assert robot.parent_of("c") == ("b", "tip")
    assert not robot.joint("u_1").actuated
    # the same as the product of the two turns before it was taken apart
    position, R = links[1].joint.moved(robot.pose)
    assert not position.any()
    p, Q = frame_in_base(robot, "b.root")
    held, axes = frame_in_base(robot, "a.tip")
    around = axes @ links[1].joint.placement.matrix() @ R
    assert pytest.approx(around, abs=ROUNDING) == Q
    assert pytest.approx(held + axes @ [0, 0, 1] + around @ [0.1, 0, 0], abs=ROUNDING) == p


def test_what_acts_along_a_universal_joint_acts_along_both_axes():
    given = {"friction": Friction(viscous=0.3), "limits": Limits(position=(-1, 1)), "actuated": True}
    robot = Robot(name="r", links=[body("a", type="universal", **given)])
    assert Dynamics(robot, compile="never").inputs == ("a_1", "a_2")
    for name in robot.joint_coordinates:
        joint = robot.joint(name)
        assert (joint.friction, joint.limits, joint.actuated) == (given["friction"], given["limits"], True)


def test_a_joint_may_follow_one_turn_of_a_universal_joint():
    """The same as a cross that is written by hand."""
    follower = body("b", name="j", axis="y", mimic=Mimic(joint="u_1", ratio=2.0))
    robot = Robot(name="r", links=[body("a", type="universal", name="u"), follower])
    cross = Link(name="a_cross", joint=Joint(name="u_1", axis="x", actuated=False))
    hand = [cross, body("a", name="u_2", axis="y", parent="a_cross.root", actuated=False), follower]
    arms = [Dynamics(each, compile="never") for each in (robot, Robot(name="hand", links=hand))]
    assert robot.ties["j"].leader == "u_1"
    q, v = np.array([0.3, -0.4, 0.6]), np.array([0.5, -0.2, 1.0])
    assert np.abs(arms[0].closure(q)).max() <= ROUNDING
    assert arms[0].forward(q, v) == pytest.approx(arms[1].forward(q, v), rel=ROUNDING)
    for name, words in (("u", r"a universal joint; .* followed: u_1 or u_2"), ("u_3", "there is no joint")):
        with pytest.raises(ModelError, match=words):
            Robot(name="r", links=[body("a", type="universal", name="u"), body("b", mimic=Mimic(joint=name))])


def test_names_that_a_cross_needs_must_be_there():
    with pytest.raises(ModelError, match="two links 'a_cross' now that universal joints are taken apart"):
        Robot(name="r", links=[body("a_cross"), body("a", type="universal")])
    with pytest.raises(ModelError, match="two joints 'a_1' now that universal joints are taken apart"):
        Robot(name="r", links=[body("a_1"), body("a", type="universal")])


def test_a_robot_with_ball_joints_is_written_and_read(tmp_path):
    links = [body("a", type="universal", name="u"), body("b", type="spherical", spring=Spring(stiffness=2.0))]
    robot = Robot(name="r", links=links, pose={"u_1": 0.2, "b.rz": 0.5})
    robot.save(tmp_path / "r.yaml")
    from pliant import load

    assert load(tmp_path / "r.yaml") == robot


def test_a_pose_of_more_than_half_a_turn_is_told():
    robot = Robot(name="r", links=[body("a", type="spherical", name="ball")], pose={"ball.rx": 3.0, "ball.ry": 1.2})
    assert any("rotation vector of its reference pose is 3.231 rad long" in text for text in description_limits(robot))


def test_states_by_the_name_of_the_joint():
    links = [body("a", type="free", name="base"), body("b", type="spherical", name="ball")]
    arm = Dynamics(Robot(name="r", links=links), compile="never")
    theta = [0.1, -0.2, 0.3]
    assert arm.q(ball=theta)[6:].tolist() == theta
    assert arm.q(ball=["10 deg", 0, 0])[6] == pytest.approx(np.radians(10))
    assert arm.q(base=[1, 2, 3, *theta])[:6].tolist() == [1, 2, 3, *theta]
    assert arm.v(ball=np.array([theta, theta])).shape == (2, 9)
    with pytest.raises(ValueError, match=r"q of 'ball' has 2 entries; it needs 3: ball\.rx, ball\.ry, ball\.rz"):
        arm.q(ball=[1, 2])
    long = arm.q(ball=[4.0, 0, 0]), arm.v(ball=[1.0, 0.5, 0])
    q, v = arm.recentred(*long)
    assert q[6:] == pytest.approx([4.0 - 2 * np.pi, 0, 0])
    assert arm.energy(q, v).kinetic == pytest.approx(arm.energy(*long).kinetic, rel=ROUNDING)


def test_a_motion_without_inertia_is_named():
    """A rod without any inertia about its own axis, which is no axis of the joint frame."""
    joint = ball(child_placement={"rotation": {"z": 0.5}})
    rod = Link(name="rod", joint=joint, rigid=Rigid(mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1)))
    arm = Dynamics(Robot(name="r", links=[rod]), compile="never")
    assert arm.without_inertia(arm.q()).startswith(
        "ball.rx and ball.ry move together without any inertia; give the link"
    )
    assert arm.without_inertia(arm.q(ball=[0, 0, 2 * np.pi])) != ""
    held = rod.model_copy(update={"rigid": Rigid(mass=1.0, com=(0.5, 0, 0), inertia=(1e-6, 0.1, 0.1))})
    arm = Dynamics(Robot(name="r", links=[held]), compile="never")
    assert arm.without_inertia(arm.q()) == ""
