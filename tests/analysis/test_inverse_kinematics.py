"""Ways of a frame to a pose, against plane geometry, and workspaces, against circles."""

import itertools

import numpy as np
import pytest

import pliant
from planar_platforms import rrr_joints, three_rrr
from pliant import Joint, Limits, Link, Pose, Rigid, Robot
from pliant.analysis.inverse_kinematics import PoseSolver, pose_errors
from pliant.analysis.task_map import AXES, TaskMap
from pliant.analysis.workspace import softest_stiffness
from pliant.dynamics import Dynamics

THERE = 1e-8
"""m and rad: Newton's method ends at rounding."""


def wrapped(angles):
    return (np.asarray(angles) + np.pi) % (2 * np.pi) - np.pi


def assert_same(found, expected):
    """The drives of all solutions are these, in any order."""
    drives = np.array([list(each.drives.values()) for each in found])
    apart = np.abs(wrapped(drives[:, None] - np.array(expected)[None])).max(axis=2)
    assert apart.shape[0] == apart.shape[1]
    assert apart.min(axis=0).max() < THERE
    assert apart.min(axis=1).max() < THERE


@pytest.fixture(scope="module")
def five_bar():
    return Dynamics("five-bar")


def legs(x, y):
    """Left and right cranks of the five-bar at a tool position: two each."""
    out = []
    for base in (-0.1, 0.1):
        d = np.array([x - base, y])
        inner = np.arccos((0.25**2 + d @ d - 0.3**2) / (2 * 0.25 * np.hypot(*d)))
        out.append([np.arctan2(d[1], d[0]) + sign * inner for sign in (1, -1)])
    return out


def test_all_four_ways_of_the_five_bar(five_bar):
    found = five_bar.inverse_kinematics({"x": 0.05, "y": "38 cm"})
    assert_same(found, list(itertools.product(*legs(0.05, 0.38))))
    assert found.axes == ("x", "y")
    for each in found:
        assert five_bar.pose("tip", each.q).position[:2] == pytest.approx([0.05, 0.38], abs=THERE)
        assert np.abs(five_bar.closure(each.q)).max() < THERE
    # the first is the way of the start, with elbows outside
    assert found[0].drives["left_motor"] > np.pi / 2
    # each of them is an assembly that the robot's file could name
    named = five_bar.robot.with_changes(assembly={"modes": found.modes()})
    again = Dynamics(named, compile="never").inverse_kinematics({"x": 0.05, "y": 0.38}, start=found[2].q)
    assert again[0].mode == found[2].mode
    assert len({each.mode for each in again}) == 4


def test_all_eight_ways_of_the_3_rrr():
    arm = Dynamics(three_rrr(rigid=True), compile="never")
    pose = {"x": 0.05, "y": -0.03, "rz": 0.2}
    found = pliant.inverse_kinematics(arm, pose, starts=32)
    assert len(found) == 8
    ways = [rrr_joints(0.05, -0.03, 0.2, elbows) for elbows in itertools.product((1, -1), repeat=3)]
    assert_same(found, [[way[name] for name in arm.inputs] for way in ways])


def test_a_pose_in_space_is_reached_by_position_and_rotation():
    arm = Dynamics("six-dof", compile="never")
    q = arm.q(dict(zip(arm.inputs, [0.3, -0.5, 0.8, 0.2, 0.6, -0.3], strict=True)))
    every = arm.inverse_kinematics(arm.pose("tip", q), limits=False)
    assert len(every) == 8
    # those within limits come first; of the others it is told how far they are beyond
    found = [each for each in every if not each.beyond]
    assert len(found) == 2
    assert all("its range" in text for each in every[2:] for text in each.beyond)
    away = [np.abs(each.q - q).max() for each in found]
    assert min(away) < THERE
    # a spherical wrist has a second way: joints 4 and 6 half a turn on, joint 5 the other way
    other = found[1 - int(np.argmin(away))].drives
    assert wrapped([other["joint_4"], other["joint_5"], other["joint_6"]]) == pytest.approx(
        wrapped([0.2 + np.pi, -0.6, -0.3 + np.pi]), abs=THERE
    )


def test_slopes_of_errors_are_their_differences():
    """Far from the pose, where the turn that is left is large."""
    arm = Dynamics("six-dof", compile="never")
    task = TaskMap(arm, axes=AXES)
    q = arm.q(dict(zip(arm.inputs, [0.3, -0.5, 0.8, 0.2, 0.6, -0.3], strict=True)))
    target = arm.pose("tip", arm.q(dict(zip(arm.inputs, [-0.4, 0.2, 0.1, 0.9, -0.2, 0.7], strict=True))))
    found = PoseSolver(task)._slopes(q[None], target)[0]
    h = 1e-6
    for k, joint in enumerate(task.joints):
        ends = np.array([q, q])
        ends[0, joint] += h * task.units[k]
        ends[1, joint] -= h * task.units[k]
        up, down = pose_errors(task, ends, target)
        assert found[:, k] == pytest.approx((up - down) / (2 * h), abs=1e-8)


def slider(**limits):
    links = [
        Link(name="turn", joint=Joint(name="j"), rigid=Rigid(mass=1, inertia=0.1, length=0.5)),
        Link(
            name="slide",
            joint=Joint(name="s", type="prismatic", axis="x", limits=Limits(position=(0.0, 0.3)) if limits else None),
            rigid=Rigid(mass=1, inertia=0.1),
        ),
    ]
    return Dynamics(Robot(name="slider", links=links, tip="slide.root"), compile="never")


def test_limits_are_kept_or_told():
    arm = slider(limits=True)
    inside = arm.inverse_kinematics({"x": 0.36, "y": 0.48})
    assert inside[0].drives == pytest.approx({"j": np.arctan2(4, 3), "s": 0.1}, abs=THERE)
    assert len(inside) == 1
    with pytest.raises(pliant.OutOfReachError, match="only beyond limits of its joints: s is at"):
        arm.inverse_kinematics({"x": 0.6, "y": 0.8})
    assert arm.inverse_kinematics({"x": 0.6, "y": 0.8}, limits=False)[0].beyond


def test_what_is_out_of_reach_says_how_near_it_comes(five_bar):
    with pytest.raises(pliant.OutOfReachError, match=r"does not reach \(0, 0.7, 0\) m along x, y; the nearest"):
        five_bar.inverse_kinematics({"x": 0, "y": 0.7})


def test_half_a_rotation_is_refused():
    with pytest.raises(ValueError, match="rz alone is no rotation of frame 'tip', which also turns about rx, ry"):
        Dynamics("six-dof", compile="never").inverse_kinematics({"x": 0.3, "y": 0.1, "z": 0.4, "rz": 0.1})
    with pytest.raises(ValueError, match="no component 'u'"):
        slider().inverse_kinematics({"u": 1})


def test_a_redundant_arm_stays_near_its_start():
    arm = Dynamics("seven-joint-arm", compile="never")
    start = arm.reference_pose()
    found = arm.inverse_kinematics(arm.pose("tip", start), start=start)
    assert found.free == 1
    assert len(found) == 1
    assert found.q == pytest.approx(start, abs=1e-9)


def test_the_bent_robot_comes_to_the_pose_too():
    """Two-link arm under its weight: straight links miss the pose by the sag, and bent ones do not."""
    arm = Dynamics("two-link-flexible", compile="never")
    pose = {"x": 0.4, "z": 0.3}
    straight, bent = (arm.inverse_kinematics(pose, bent=which).q for which in (False, True))
    rest = pliant.equilibrium(arm, bent).q
    assert arm.pose("tip", rest).position[[0, 2]] == pytest.approx([0.4, 0.3], abs=1e-8)
    sagged = pliant.equilibrium(arm, straight).q
    assert np.abs(arm.pose("tip", sagged).position[[0, 2]] - [0.4, 0.3]).max() > 1e-5


# ---- workspaces


def test_the_five_bar_reaches_what_two_rings_share(five_bar):
    """The tool is between 0.05 and 0.55 m from both motors; couplers in line tell the sides of type 2."""
    found = pliant.workspace(five_bar, {"x": (-0.58, 0.59, 27), "y": (-0.57, 0.6, 27)}, colour="stiffness")
    own = found.branches[0]
    x, y = np.meshgrid(*found.ticks, indexing="ij")
    near, far = (np.minimum, np.maximum)
    distances = [np.hypot(x - base, y) for base in (-0.1, 0.1)]
    inside = (near(*distances) > 0.05) & (far(*distances) < 0.55)
    assert (own.reached == inside).all()
    assert found.area == pytest.approx(inside.sum() * (1.17 / 26) ** 2)
    q = own.q[own.reached]
    left, right = (
        q[:, five_bar.names.index(f"{side}_motor")] + q[:, five_bar.names.index(f"{side}_elbow")]
        for side in ("left", "right")
    )
    # the elbows stay on their sides, and the determinant has the sign of the angle between the couplers
    assert (np.sin(q[:, five_bar.names.index("left_elbow")]) < 0).all()
    assert (np.sin(q[:, five_bar.names.index("right_elbow")]) > 0).all()
    ratio = own.parallel[own.reached] / np.sin(left - right)
    assert ratio == pytest.approx(ratio[0], rel=1e-6)
    regular = found.regular()
    assert 0 < regular.sum() < own.reached.sum()
    # a cell's stiffness is that of the call for one configuration
    k = np.unravel_index(int(np.nanargmax(own.dexterity)), own.reached.shape)
    one = five_bar.platform_stiffness(own.q[k]).principal()[0][0]
    assert own.stiffness[k] == pytest.approx(one, rel=1e-6)


def test_dexterity_is_that_of_the_jacobian_of_the_drives(five_bar):
    q = five_bar.assemble({"left_motor": 2.0, "right_motor": 0.9})
    h, columns = 1e-5, []
    for name in five_bar.inputs:
        ends = [five_bar.assemble({**five_bar.by_name(q), name: five_bar.by_name(q)[name] + s * h}) for s in (1, -1)]
        columns.append((five_bar.pose("tip", ends[0]).position - five_bar.pose("tip", ends[1]).position)[:2] / (2 * h))
    sizes = np.linalg.svd(np.column_stack(columns), compute_uv=False)
    task = TaskMap(five_bar)
    assert task.dexterity_of(q[None])[0] == pytest.approx(sizes[1] / sizes[0], rel=1e-6)


def test_what_nothing_holds_has_no_stiffness():
    """A rigid robot is stiff without end; the aligned five-bar's couplers hold nothing across them."""
    rigid = Dynamics(three_rrr(rigid=True), compile="never")
    assert np.isinf(softest_stiffness(TaskMap(rigid), rigid.reference_pose()[None])).all()


def test_ranges_are_checked(five_bar):
    with pytest.raises(ValueError, match="the second must be larger"):
        pliant.workspace(five_bar, {"x": (0.3, -0.3), "y": (0, 1)})
    with pytest.raises(ValueError, match="has 2 motions, and x determine 1"):
        pliant.workspace(five_bar, {"x": (-0.3, 0.3)})
    with pytest.raises(pliant.OutOfReachError, match="reaches no pose of the grid"):
        pliant.workspace(five_bar, {"x": (3, 4), "y": (3, 4)})
    with pytest.raises(ValueError, match="colour is 'blue'"):
        pliant.workspace(five_bar, {"x": (0, 1), "y": (0, 1)}, colour="blue")


def test_a_pose_may_be_given_as_it_is_found(five_bar):
    q = five_bar.assemble({"left_motor": 2.2})
    pose = five_bar.pose("tip", q)
    found = five_bar.inverse_kinematics(Pose(pose.position, pose.rotation), start=q)
    assert found.q == pytest.approx(q, abs=THERE)
    assert five_bar.inverse_kinematics(pose.position, start=q, axes=("x", "y")).q == pytest.approx(q, abs=THERE)
