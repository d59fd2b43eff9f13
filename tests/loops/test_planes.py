"""Loops in a plane: the plane must be the one in which pin and joints move."""

import numpy as np
import pytest

from closed_robots import four_bar
from pliant import Dynamics, ModelError, Robot, equilibrium, modes, simulate
from pliant.analysis.limits import state_limits
from pliant.formulations.loops.loops import LoopError


def boom(planar, **pin):
    """A boom in the plane z-x that a cylinder holds up."""
    upright = {"rotation": {"x": np.pi / 2}}
    links = [
        {
            "name": "boom",
            "joint": {"name": "lift", "actuated": False, "placement": {"position": [0, 0, 3.0], **upright}},
            "rigid": {"mass": 300.0, "com": [2.5, 0, 0], "inertia": [5, 600, 600], "length": 5.0},
            "frames": [{"name": "lug", "position": [1.2, -0.25, 0]}],
        },
        {
            "name": "barrel",
            "joint": {
                "name": "foot",
                "actuated": False,
                "parent": "base",
                "placement": {"position": [0.4, 0, 1.5], **upright},
            },
            "rigid": {"mass": 60.0, "com": [0.5, 0, 0], "inertia": [0.2, 8, 8]},
        },
        {
            "name": "rod",
            "joint": {"name": "cylinder", "type": "prismatic", "axis": "x", "parent": "barrel.root"},
            "rigid": {"mass": 30.0, "com": [-0.4, 0, 0], "inertia": [0.05, 3, 3]},
        },
    ]
    loop = {
        "name": "pin",
        "type": "revolute",
        "frames": ["rod.tip", "boom.lug"],
        **({"planar": planar} if planar else {}),
    }
    pose = {"lift": 0.0, "foot": 1.0, "cylinder": 1.484}
    return Robot.model_validate({"name": "boom", "links": links, "loops": [loop | pin], "pose": pose})


def weight_lifted(length):
    """Potential energy of the weights from the triangle of pivot, foot and lug, at a length of the cylinder."""
    pivot, foot, lug = np.array([0, 3.0]), np.array([0.4, 1.5]), np.array([1.2, -0.25])
    d, r = np.linalg.norm(foot - pivot), np.linalg.norm(lug)
    corner = np.arccos((r**2 + d**2 - length**2) / (2 * r * d))
    angle = np.arctan2(*(foot - pivot)[::-1]) + corner - np.arctan2(*lug[::-1])
    place = pivot[1] + np.sin(angle) * lug[0] + np.cos(angle) * lug[1]
    lean = (place - foot[1]) / length
    heights = (pivot[1] + 2.5 * np.sin(angle), foot[1] + 0.5 * lean, foot[1] + (length - 0.4) * lean)
    return 9.81 * np.dot([300.0, 60.0, 30.0], heights)


def test_the_right_plane_and_none_give_the_force_of_the_triangle():
    push = weight_lifted(1.484 + 1e-30j).imag / 1e-30
    for planar in ("zx", None):
        arm = Dynamics(boom(planar), compile="never")
        assert equilibrium(arm).tau[0] == pytest.approx(push, rel=1e-9)


WRONG = r"loop 'pin': planar is xy, a plane of the base frame, but its pin turns about the base's y; write planar: zx"


@pytest.mark.parametrize(
    "ask", [equilibrium, modes, lambda arm: arm.assemble(), lambda arm: simulate(arm.robot, until=0.01)]
)
def test_another_plane_is_refused(ask):
    with pytest.raises((LoopError, ModelError), match=WRONG):
        ask(Dynamics(boom("xy"), compile="never"))


def test_joints_that_leave_the_plane_are_refused():
    """A turret carries the boom: its plane turns, and planes are those of the base."""
    turret = {"name": "turret", "joint": {"name": "yaw"}, "rigid": {"mass": 10.0, "inertia": 1.0}}
    given = boom("zx")
    links = [turret] + [
        link.model_copy(update={"joint": link.joint.model_copy(update={"parent": "turret.root"})})
        if link.joint.name in ("lift", "foot")
        else link
        for link in given.links
    ]
    carried = Robot(name="crane", links=links, loops=given.loops, pose=given.pose)
    with pytest.raises(LoopError, match="joint 'yaw' turns its frames about the base's z; leave planar out"):
        Dynamics(carried, compile="never").assemble()
    free = Robot(name="crane", links=links, loops=boom(None).loops, pose=given.pose)
    arm = Dynamics(free, compile="never")
    assert np.abs(arm.closure(arm.assemble(arm.q(yaw=0.7)))).max() < 1e-9


def test_bending_out_of_the_plane_is_told():
    """Gravity across a flat four-bar: planar holds nothing there, and the pin opens by what the bars sag."""
    arm = Dynamics(four_bar(gravity=(0, 0, -9.81), bend_y=True, bend_z=True), compile="never")
    q = arm.assemble()
    q[arm.names.index("coupler.bend_z.1")] = 0.01
    assert any("loop 'closure' opens by" in text and "across its plane xy" in text for text in state_limits(arm, q))
    assert not state_limits(arm, arm.assemble())
