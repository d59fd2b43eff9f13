"""Forward kinematics of a description, written a second time and as plainly as possible."""

import numpy as np
import pytest


def turn(axis, angle):
    """The rotation about a vector (3,) by an angle (Rodrigues)."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def homogeneous(position, R=None):
    """The 4x4 matrix of a position and a rotation."""
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if R is None else R
    T[:3, 3] = position
    return T


def forward(robot, q, frame, tips=None):
    """The 4x4 pose of ``LINK.FRAME`` (``base``, ``LINK``: its tip) at joint values by name.

    ``tips`` gives the elastic motion of a link's tip, as a 4x4 matrix in the axes of the link.
    """
    name, _, which = frame.partition(".")
    if name == "base":
        return np.eye(4)
    link = robot.link(name)
    parent, at = robot.parent_of(name)
    joint, value = link.joint, q.get(link.joint.name, 0.0)
    motion = np.eye(4)
    if joint.type == "revolute":
        motion = homogeneous(np.zeros(3), turn(joint.axis_vector(), value))
    elif joint.type == "prismatic":
        motion = homogeneous(value * joint.axis_vector())
    elif joint.type == "free":
        motion = homogeneous([q.get(f"{joint.name}.{c}", 0.0) for c in "xyz"])
    if joint.type in ("free", "spherical"):
        theta = np.array([q.get(f"{joint.name}.r{c}", 0.0) for c in "xyz"])
        if theta.any():
            motion = motion @ homogeneous(np.zeros(3), turn(theta, np.linalg.norm(theta)))
    B = (
        forward(robot, q, f"{parent}.{at}", tips)
        @ homogeneous(joint.placement.vector(), joint.placement.matrix())
        @ motion
        @ homogeneous(joint.child_placement.vector(), joint.child_placement.matrix())
    )
    here = link.frame(which or "tip")
    position = here.vector() + np.array([here.x or 0.0, 0.0, 0.0])
    elastic = (tips or {}).get(name)
    if elastic is None or which == "root":
        return B @ homogeneous(position, here.matrix())
    assert np.allclose(position, [link.length, 0.0, 0.0]), "elastic motion is known at the tip only"
    return B @ homogeneous(position + elastic[:3, 3], elastic[:3, :3] @ here.matrix())


@pytest.fixture(name="forward", scope="session")
def _forward():
    return forward


@pytest.fixture(name="turn", scope="session")
def _turn():
    return turn


@pytest.fixture(name="homogeneous", scope="session")
def _homogeneous():
    return homogeneous
