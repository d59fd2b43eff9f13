"""The robot as it would be if nothing bent: what deflections are told against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]


def unbent(arm: Dynamics, q: Floats) -> Floats:
    """The rigid robot at the same joint positions; with loops at those of the drives (..., n)."""
    joints = np.isin(arm.names, arm.robot.joint_coordinates)
    straight = np.where(joints, q, 0.0)
    passive = joints & ~np.isin(arm.names, arm.inputs)
    if not passive.any():
        return straight
    held = tuple(np.flatnonzero(~passive).tolist())
    return arm.loops.corrected(straight, np.zeros_like(straight), held)[0]
