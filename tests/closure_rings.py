"""Rings that any kind of joint closes, and the same with this joint in the tree."""

import numpy as np

from pliant import Dynamics, Robot

PITCH, LENGTH = 0.4, 0.5
AXIS = (0.3, 1.0, -0.5)

DESCRIBED = {
    "weld": {},
    "revolute": {"axis": AXIS},
    "prismatic": {"axis": AXIS},
    "helical": {"axis": AXIS, "pitch": PITCH},
    "cylindrical": {"axis": AXIS},
    "spherical": {},
    "universal": {"axes": [(1.0, 0.2, 0.0), (0.4, 0.0, 1.0)]},
    "planar": {},
    "distance": {"length": LENGTH},
}
BEAM = {
    "length": 0.7,
    "properties": {"mass_per_length": 1.3, "EIy": 40.0, "EIz": 60.0, "GJ": 30.0, "rhoIy": 0.004, "rhoIz": 0.007},
    "modes": {"shape": "clamped-free", "bend_y": 1, "bend_z": 1, "torsion": 1},
}
BODY = {"mass": 1.3, "com": [0.1, -0.2, 0.05], "inertia": [0.05, 0.06, 0.055], "length": 0.4}


def joint(kind):
    """The joints of a tree that do what the closure does: (link without a body or None, joint of the link)."""
    if kind == "distance":
        # a massless rod that a cross holds, and a ball at its end
        rod = {"name": "rod", "joint": {"name": "rod", "type": "universal", "axes": ["y", "z"], "parent": "arm.tip"}}
        far = {"position": [LENGTH, 0, 0]}
        return [rod], {"name": "k", "type": "spherical", "parent": "rod.root", "placement": far}
    return [], {"name": "k", "type": "fixed" if kind == "weld" else kind, **DESCRIBED[kind], "parent": "arm.tip"}


def rotation_vector(R):
    angle = np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) * angle / (2 * np.sin(angle))


def ring(kind, *, cut):
    """A rod and a hand between two balls on the base; the joint between them, or the far ball, closes the loop."""
    arm = {"name": "arm", "joint": {"name": "arm", "type": "spherical"}, "beam": BEAM}
    others, own = joint(kind)
    tree = Robot.model_validate(
        {"name": "tree", "links": [arm, *others, {"name": "hand", "joint": own, "rigid": BODY}]}
    )
    start = Dynamics(tree, compile="never")
    rng = np.random.default_rng(4)
    q = 0.3 * rng.standard_normal(start.size)
    q[3:6] = 0.0
    pose, at = start.pose("hand.root", q), start.pose("hand.tip", q)
    pose_of = dict(zip(start.names, q.tolist(), strict=True))
    arm_pose = {name: pose_of[name] for name in start.names[:3]}
    if cut == "ball":
        loop = {
            "name": "ball",
            "type": "spherical",
            "frames": ["hand.tip", {"frame": "base", "position": list(at.position)}],
        }
        joints = {name: pose_of[name] for name in start.robot.joint_coordinates}
        return Robot.model_validate({**tree.model_dump(exclude_unset=True), "loops": [loop], "pose": joints})
    # the hand hangs on the ball by its tip
    held = {"position": [-BODY["length"], 0, 0]}
    ball = {"name": "ball", "type": "spherical", "parent": "base", "placement": {"position": list(at.position)}}
    hand = {"name": "hand", "joint": {**ball, "child_placement": held}, "rigid": BODY}
    theta = dict(zip(("ball.rx", "ball.ry", "ball.rz"), rotation_vector(pose.rotation).tolist(), strict=True))
    loop = {"name": "k", "type": kind, "frames": ["arm.tip", "hand.root"], **DESCRIBED[kind]}
    return Robot.model_validate({"name": "ring", "links": [arm, hand], "loops": [loop], "pose": {**arm_pose, **theta}})
