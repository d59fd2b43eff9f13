"""Natural frequencies while a joint turns: with dynamic stiffness alone, and with that of internal forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.analysis.limits import axial_limits
from pliant.dynamics import Dynamics
from pliant.formulations.lumped_fe.frequencies import turning_frequencies
from pliant.formulations.lumped_fe.model import LumpedModel

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class SpeedFrequencies:
    """The lowest frequencies over the speed of a joint; 0 where a displacement runs away instead of swinging.

    joint      its name
    speeds     rad/s (m/s)  (speeds,)
    softened   rad/s        (speeds, count)  dynamic stiffness alone, links of linear bending: Di Gregorio's equations
    stiffened  rad/s        (speeds, count)  with the geometric stiffness of internal forces, links of second order
    """

    joint: str
    speeds: Floats
    softened: Floats
    stiffened: Floats


def frequencies_over_speed(
    robot: Robot,
    joint: str,
    speeds: ArrayLike,
    *,
    count: int = 3,
    at: Mapping[str, float] | None = None,
    elements: int | Mapping[str, int] | None = None,
) -> SpeedFrequencies:
    """Frequencies about the steady motion of one actuated joint, all others held; links are lumped nodes.

    speeds    rad/s (m/s)
    count     how many of the lowest
    at        positions of the actuated joints by name; default: the reference pose
    elements  of every bending link, or of each by name; default: as described
    """
    values = np.atleast_1d(np.asarray(speeds, dtype=float))
    curves = [
        turning_frequencies(LumpedModel(robot, elements=elements, stiffening=stiffening), joint, values, count, pose=at)
        for stiffening in (False, True)
    ]
    return SpeedFrequencies(joint, values, curves[0], curves[1])


def turning_limits(robot: Robot, joint: str, speed: float, at: Mapping[str, float] | None = None) -> list[str]:
    """What the bending of the robot's links does not know while a joint turns at a speed, in words; none of loops."""
    arm = Dynamics(robot, compile="never")
    if arm.mechanism.is_closed:
        return []
    q, v = arm.reference_pose(), np.zeros(arm.size)
    for name, value in (at or {}).items():
        q[arm.names.index(name)] = value
    v[arm.names.index(joint)] = speed
    return list(axial_limits(arm, q, v, np.zeros(arm.size)))
