"""The robot as it would be if nothing bent: what deflections are told against."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]


def unbent(arm: Dynamics, q: Floats) -> Floats:
    """The rigid robot at the same joint positions; with loops at those of the drives (..., n).

    Loops that only close because links bend stay open by as little as the other joints can make it.
    """
    return unbending(arm)(q)


def unbending(arm: Dynamics) -> Callable[[Floats], Floats]:
    """``unbent`` of one robot, for many calls."""
    moved, driven = set(arm.robot.joint_coordinates), set(arm.inputs)
    joints = np.array([name in moved for name in arm.names], dtype=bool)
    passive = joints & np.array([name not in driven for name in arm.names], dtype=bool)
    if not passive.any():
        return lambda q: np.where(joints, q, 0.0)
    held = tuple(np.flatnonzero(~passive).tolist())
    return lambda q: arm.loops.closest(np.where(joints, q, 0.0), held)
