"""Loops in a plane keep its constraints only: what would leave the plane is refused, never left open in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.formulations.loops.closure import normal_of
from pliant.formulations.loops.errors import PlaneError
from pliant.joints.rows import AXES
from pliant.mechanism import BASE, LoopEnds

if TYPE_CHECKING:
    from pliant.formulations.loops.loops import OpenTree

Floats = NDArray[np.float64]

ALONG = 1e-6
"""Sine of the angle between directions that are the same, and part of the robot's size that is no distance."""

PLANES = {0: "yz", 1: "zx", 2: "xy"}


def end_names(arm: OpenTree, loop: LoopEnds) -> list[str]:
    """The frames of a loop as LINK.FRAME; of the base, empty."""
    members = arm.mechanism.members
    return ["" if member == BASE else f"{members[member].name}.{frame}" for member, frame in loop.frames]


def require_planes(arm: OpenTree, size: float) -> None:
    """Raise where a loop that is said to move in a plane has a pin, or joints, that move it out of the plane.

    Joints turn about the normal everywhere if they do so in the reference pose of the unbent robot.
    """
    q, joints = arm.reference_pose(), arm.mechanism.joints
    for loop in arm.mechanism.loops:
        if loop.planar is None:
            continue
        normal = normal_of(loop.planar)
        inside = [k for k in range(3) if k != normal]
        ends = end_names(arm, loop)
        J = [arm.jacobian(end, q)[:, joints] if end else np.zeros((6, len(joints))) for end in ends]
        turns = [(k, j[3:, k]) for j in J for k in range(len(joints)) if np.abs(j[3:, k]).max() > ALONG]
        axis = np.asarray((arm.pose(ends[0], q).rotation if ends[0] else np.eye(3)) @ loop.axis)
        if loop.has_axis and np.abs(axis[inside]).max() > ALONG:
            _refuse(arm, loop, f"its pin turns about {_direction(axis)}", axis)
        for k, w in turns:
            if np.abs(w[inside]).max() > ALONG * np.linalg.norm(w):
                name = arm.names[joints[k]]
                _refuse(arm, loop, f"joint '{name}' turns its frames about {_direction(w)}", axis)
        apart = np.abs((J[0] - J[1])[normal])
        if apart.max(initial=0.0) > ALONG * max(size, 1.0):
            name = arm.names[joints[int(np.argmax(apart))]]
            _refuse(arm, loop, f"joint '{name}' moves its frames apart along {AXES[normal]}", axis)


def _direction(axis: Floats) -> str:
    """A direction in words: a base axis, or a vector."""
    unit = axis / np.linalg.norm(axis)
    k = int(np.argmax(np.abs(unit)))
    if 1.0 - abs(unit[k]) < ALONG**2:
        return f"the base's {AXES[k]}"
    return f"({', '.join(f'{x:.3g}' for x in unit)})"


def _refuse(arm: OpenTree, loop: LoopEnds, why: str, pin: Floats) -> None:
    k = int(np.argmax(np.abs(pin)))
    fitting = loop.has_axis and 1.0 - abs(pin[k]) < ALONG**2 and PLANES[k] != loop.planar
    remedy = (
        f"write planar: {PLANES[k]}, or leave it out"
        if fitting
        else "leave planar out, and the loop is closed in space"
    )
    raise PlaneError(
        f"robot '{arm.mechanism.name}': loop '{loop.name}': planar is {loop.planar}, a plane of the base frame, but "
        f"{why}; {remedy}"
    )
