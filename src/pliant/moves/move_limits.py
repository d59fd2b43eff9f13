"""Limits of a move: efforts and their rates, joint positions and rates, deflections and strains of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError, did_you_mean
from pliant.export.casadi import StrainPlace

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]
Range = Any
"""One number for both directions (-x to x), or lowest and highest; numbers in SI units, or texts with units."""


@dataclass(frozen=True)
class MoveLimits:
    """What a move may not exceed; what is not given is as the robot's description says, or free.

    effort       largest effort of the drives: a number for all, or by joint a number or (lowest, highest); N m or N
    position     joint -> (lowest, highest), or a number for both sides; rad or m
    rate         largest joint rate: a number for all, or by joint; rad/s or m/s
    effort_rate  how fast efforts may change: a number for all, or by joint; N m/s or N/s. Efforts are then lines
                 between instants, and begin and end with those that hold the robot; else they are held in between
    deflection   frame -> how far bending may move it on its own link, m
    strain       places of beams with the largest strain there: [((link, x, y, z), 1e-3), ...]
    """

    effort: Range | Mapping[str, Range] | None = None
    position: Mapping[str, Range] = field(default_factory=dict)
    rate: Range | Mapping[str, Range] | None = None
    effort_rate: Range | Mapping[str, Range] | None = None
    deflection: Mapping[str, float] = field(default_factory=dict)
    strain: Sequence[tuple[StrainPlace | tuple[Any, ...], float]] = ()

    @classmethod
    def of(cls, given: MoveLimits | Mapping[str, Any] | None) -> MoveLimits:
        """Limits as they are, or from a mapping of their names."""
        if given is None:
            return cls()
        if isinstance(given, MoveLimits):
            return given
        known = [each.name for each in fields(cls)]
        if not isinstance(given, Mapping):
            raise ModelError(f"limits is {given!r}; it must be MoveLimits, or a mapping such as {{'effort': 2.0}}")
        for name in given:
            if name not in known:
                raise ModelError(
                    f"limits: there is no limit '{name}'{did_you_mean(name, known) or f'; there are {_listed(known)}'}"
                )
        return cls(**given)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


class Bounds(NamedTuple):
    """Limits of a robot as arrays; infinite where there is none.

    effort       lowest and highest (2, inputs)
    position     of all coordinates (2, n)
    rate         of all coordinates (2, n)
    effort_rate  (inputs,)
    deflection   (frame, m)
    strain       (place, largest)
    """

    effort: Floats
    position: Floats
    rate: Floats
    effort_rate: Floats
    deflection: tuple[tuple[str, float], ...]
    strain: tuple[tuple[StrainPlace, float], ...]

    @property
    def ramps(self) -> bool:
        """Whether efforts may not jump."""
        return bool(np.isfinite(self.effort_rate).any())


def bounds_of(arm: Dynamics, limits: MoveLimits) -> Bounds:
    """The limits of a robot's description, replaced by those that are given."""
    n, m = arm.size, len(arm.inputs)
    effort = np.array([-1.0, 1.0])[:, None] * arm.effort_limits
    position, rate = (np.array([-np.inf, np.inf])[:, None] * np.ones(n) for _ in range(2))
    for k, (low, high) in arm.position_limits.items():
        position[:, k] = low, high
    for link in arm.robot.links:
        given = link.joint.limits
        if given is not None and given.velocity is not None:
            rate[:, arm.names.index(str(link.joint.name))] = -given.velocity, given.velocity
    joints = [arm.names[k] for k in arm.mechanism.joints]
    for j, low, high in _ranges(arm, "effort", limits.effort, arm.inputs):
        effort[:, arm.inputs.index(j)] = low, high
    for j, low, high in _ranges(arm, "position", limits.position, joints):
        position[:, arm.names.index(j)] = low, high
    for j, low, high in _ranges(arm, "rate", limits.rate, joints):
        rate[:, arm.names.index(j)] = low, high
    effort_rate = np.full(m, np.inf)
    for j, low, high in _ranges(arm, "effort_rate", limits.effort_rate, arm.inputs):
        if low != -high:
            raise ModelError(f"limits.effort_rate: {j} has {low:g} to {high:g}; give one positive number")
        effort_rate[arm.inputs.index(j)] = high
    for name, table in (("effort", effort), ("rate", rate)):
        wrong = np.flatnonzero((table[0] > 0) | (table[1] < 0))
        if len(wrong):
            own = (arm.inputs if name == "effort" else arm.names)[int(wrong[0])]
            low, high = table[:, int(wrong[0])]
            raise ModelError(f"limits.{name}: {own} has {low:g} to {high:g}; zero must be among them")
    deflection = tuple((frame, _positive(f"limits.deflection: {frame}", x)) for frame, x in limits.deflection.items())
    for frame, _ in deflection:
        try:
            arm.mechanism.frame(frame)
        except KeyError as error:
            raise ModelError(f"limits.deflection: {error.args[0]}") from None
    strain = tuple(
        (StrainPlace(*place), _positive(f"limits.strain: {place[0]} at x = {place[1]:g} m", largest))
        for place, largest in limits.strain
    )
    return Bounds(effort, position, rate, effort_rate, deflection, strain)


def _ranges(arm: Dynamics, name: str, given: Any, known: Sequence[str]) -> list[tuple[str, float, float]]:
    """(joint, lowest, highest) of what is given for all joints or by their names."""
    if given is None:
        return []
    by_name = given if isinstance(given, Mapping) else dict.fromkeys(known, given)
    found = []
    for joint, value in by_name.items():
        if joint not in known:
            what = "drive" if known is arm.inputs else "joint"
            hint = did_you_mean(joint, known) or f"; there are {_listed(known)}"
            raise ModelError(f"limits.{name}: robot '{arm.robot.name}' has no {what} '{joint}'{hint}")
        pair = tuple(value) if isinstance(value, list | tuple) else None
        if pair is not None and len(pair) != 2:
            raise ModelError(f"limits.{name}: {joint} has {len(pair)} numbers; give one, or lowest and highest")
        numbers = [_number(arm, name, joint, x) for x in pair or (value,)]
        low, high = numbers if pair is not None else (-numbers[0], numbers[0])
        if not low < high:
            raise ModelError(f"limits.{name}: {joint} has {low:g} to {high:g}; the first must be below the second")
        found.append((joint, low, high))
    return found


def _number(arm: Dynamics, name: str, joint: str, value: Any) -> float:
    """A number in SI units, or a text with a unit."""
    readers = {"effort": (arm.tau, arm.inputs), "position": (arm.q, arm.names), "rate": (arm.v, arm.names)}
    try:
        if isinstance(value, str) and name in readers:
            read, names = readers[name]
            return float(read({joint: value})[names.index(joint)])
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"limits.{name}: {joint} is {value!r}: {error}") from None
    if np.isnan(number):
        raise ModelError(f"limits.{name}: {joint} is no number")
    return number


def _positive(what: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 0 < number < np.inf:
        raise ModelError(f"{what} is {value!r}; it must be a positive number")
    return number
