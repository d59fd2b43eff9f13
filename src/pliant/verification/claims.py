"""A claim: one number of ours, what it should be and how far apart they may be; and robots that only claims need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.model.description.beams import Beam, Properties
from pliant.model.description.inertia import RigidPart
from pliant.model.description.joints import Joint
from pliant.model.description.links import Link
from pliant.model.description.robot import Robot

Verdict = Literal["agrees", "differs", "known error"]


@dataclass(frozen=True)
class Claim:
    """One line of the verification.

    case       what it is called, PART.WHAT.NUMBER: other programs' results are put beside it by this name
    what       in words
    ours       our number
    theirs     the number that it is compared with; 0 for differences and identities
    tolerance  how far apart they may be: relative to ``theirs``, or in its unit where that is zero or ``absolute``
    source     where theirs is from
    unit       of both
    wrong      why a published number is wrong; ours must then differ from it
    robot      whose number it is, for other programs; none where our own methods are compared
    given      what acts on it: loads on frames (N, N m), rates or motions of joints (rad/s, formulas in t)
    """

    case: str
    what: str
    ours: float
    theirs: float
    tolerance: float
    source: str = ""
    unit: str = ""
    absolute: bool = False
    wrong: str = ""
    robot: Robot | None = None
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def deviation(self) -> float:
        """How far apart they are, in the sense of the tolerance."""
        away = abs(self.ours - self.theirs)
        return away if self.absolute or self.theirs == 0 else away / abs(self.theirs)

    @property
    def verdict(self) -> Verdict:
        """Whether ours is as it should be; a number that is not finite never is."""
        near = isfinite(self.deviation) and self.deviation <= self.tolerance
        if self.wrong:
            return "known error" if isfinite(self.ours) and not near else "differs"
        return "agrees" if near else "differs"

    def as_data(self) -> dict[str, Any]:
        """Plain data for a file."""
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "robot"}
        return {**plain, "deviation": self.deviation, "verdict": self.verdict}


class VerificationPart(NamedTuple):
    """A part of the verification: its name, what it shows, and what computes it."""

    name: str
    title: str
    claims: Callable[[], Iterator[Claim]]


# ---- case robots


Floats = NDArray[np.float64]

UNIT = {"mass_per_length": 1.0, "EIy": 1.0, "EIz": 1.0}
"""EI = rhoA = L = 1: frequencies are omega L^2 sqrt(rhoA/EI)."""
JOINT_SPREAD, ELASTIC_SPREAD, RATE_SPREAD, CLOSED_SPREAD = 0.6, 1e-2, 0.5, 0.1


def beam_robot(
    *,
    bending: str = "linear",
    length: float | None = 1.0,
    properties: dict[str, float] | None = None,
    payload: dict[str, Any] | None = None,
    joint: dict[str, Any] | None = None,
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    **discretisation: Any,
) -> Robot:
    """One beam along x, clamped to the ground or on a joint, with a payload at its tip or without.

    Constants that are given as {} are left out, as are lengths of None: segments have their own.
    """
    constants = UNIT if properties is None else properties
    given = {"length": length, "properties": Properties(**constants) if constants else None}
    beam = Beam.model_validate(
        {**{key: value for key, value in given.items() if value is not None}, "bending": bending, **discretisation}
    )
    seat = Joint.model_validate({"parent": "base", **(joint or {"type": "fixed"})})
    parts = (RigidPart(**payload),) if payload else ()
    return Robot(name="beam", gravity=gravity, links=(Link(name="beam", joint=seat, beam=beam, payloads=parts),))


def state(arm: Dynamics, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """q, v, a away from all symmetries: joints turned, links bent by about a hundredth of their length."""
    rng = np.random.default_rng(seed)
    joints = np.zeros(arm.size, dtype=bool)
    joints[list(arm.mechanism.joints)] = True
    spread = np.where(joints, JOINT_SPREAD, ELASTIC_SPREAD)
    q = arm.reference_pose() + spread * rng.uniform(-1.0, 1.0, arm.size)
    v = np.where(joints, 1.0, RATE_SPREAD) * spread * rng.uniform(-1.0, 1.0, arm.size)
    a = spread * rng.uniform(-1.0, 1.0, arm.size)
    if not arm.loops.rows:
        return q, v, a
    # loops leave little room: a tenth of the way, joints and links give way where it would not close
    near = arm.reference_pose() + CLOSED_SPREAD * (q - arm.reference_pose())
    return (*arm.project(arm.assemble(near, hold=(), bend=True), v), a)
