"""Natural frequencies over the speed of a joint, from exact tangents about the robot as the rotation bends it.

Every kind of link takes part as it is described: beams of any bending, modal data and finite elements. The lumped
nodes of ``analysis/lumped/frequencies.py`` have finer links, but know beams of linear and second-order bending only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.analysis.lumped.frequencies import SpeedFrequencies
from pliant.analysis.modes import vibration_modes
from pliant.bodies.words import stiffens_by_load, words_of
from pliant.dynamics import Dynamics
from pliant.errors import ModelError, did_you_mean, require_count

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot

Floats = NDArray[np.float64]


def frequencies_in_rotation(
    robot: Robot, joint: str, speeds: ArrayLike, *, count: int = 3, at: Mapping[str, float] | None = None
) -> SpeedFrequencies:
    """Frequencies about the steady rotation of one actuated joint, all others held, of the links as they are described.

    speeds  rad/s (m/s)
    count   how many of the lowest
    at      positions of the joints by name; default: the reference pose

    ``softened`` is what straight links of linear bending would have, no numbers where a link has no such form.
    Raises NoEquilibriumError where forces change as the robot turns, as gravity across the axis does.
    """
    arm = Dynamics(robot, compile="never")
    if joint not in arm.inputs:
        raise ModelError(
            f"robot '{robot.name}' has no actuated joint '{joint}'{did_you_mean(joint, arm.inputs)}; it has "
            f"{', '.join(arm.inputs) or 'none'}"
        )
    require_count("count", count)
    values = np.atleast_1d(np.asarray(speeds, dtype=float))
    if not np.isfinite(values).all():
        raise ModelError("speeds: they must be finite numbers, in rad/s or m/s")
    stiffened = [_frequencies(arm, {joint: float(speed)}, dict(at or {})) for speed in values]
    size = min([count, *map(len, stiffened)])
    softened = np.full((len(values), size), np.nan)
    if (plain := _linear(robot)) is not None:
        linear = Dynamics(plain, compile="never")
        q = linear.q({**(at or {})})
        found = [_frequencies(linear, {joint: float(speed)}, q) for speed in values]
        size = min([size, *map(len, found)])
        softened = np.array([each[:size] for each in found])
    return SpeedFrequencies(joint, values, softened[:, :size], np.array([each[:size] for each in stiffened]))


def _frequencies(arm: Dynamics, rates: dict[str, float], at: Mapping[str, float] | Floats) -> Floats:
    """rad/s, lowest first; 0: it does not swing."""
    turning = {name: rate for name, rate in rates.items() if rate}
    return np.sort(vibration_modes(arm, at, turning).frequencies)


def _linear(robot: Robot) -> Robot | None:
    """The robot with links of linear bending; None where one of them cannot be."""
    try:
        links = [
            words_of(link, robot).with_bending("linear") if stiffens_by_load(link) else link for link in robot.links
        ]
        return robot.with_changes(links=links)
    except ModelError:
        return None
