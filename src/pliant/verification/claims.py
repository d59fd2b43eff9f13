"""Parts of the verification, and robots that only claims need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.model.description.beam_constants import Properties
from pliant.model.description.beams import Beam
from pliant.model.description.inertia import RigidPart
from pliant.model.description.joints import Joint
from pliant.model.description.links import Link
from pliant.model.description.robot import Robot
from pliant.reproduce.claim import Claim


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
