"""Along a bent beam: where its axis is, how it is strained, the largest stress of each section, and the robot unbent.

Deflections are told against the robot as it would be if nothing bent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.words import BodyWords, OutlinePiece, words_of
from pliant.errors import ModelError

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

STATIONS = 41
"""Places along a segment."""
INSIDE = 1e-9
"""How far stations at the ends of a segment stand inside it, as a part of its length: strains jump at steps."""


class AlongBeam(NamedTuple):
    """A beam at stations x (S,), m from its root, for one state or for each of a batch (first axis).

    position  of the axis in the link's own frame, m (..., S, 3)
    strain    u' (stretch), u_y'' and u_z'' (curvatures, 1/m) that bending adds to the unloaded beam (..., S, 3)
    stress    largest axial stress of each section, Pa (..., S); None where a section or material is not known
    """

    x: Floats
    position: Floats
    strain: Floats
    stress: Floats | None


def along(arm: Dynamics, link: str, q: States) -> AlongBeam:
    """Shape, strains and stress along a beam, at one configuration or at each of a batch.

    The stress is that of bending, and of stretch where the beam has such coordinates: E |u' - y u_y'' - z u_z''| at the
    outermost fibre. Normal forces of beams that do not stretch, shear and torsion are not part of it.

    link  name of the beam
    q     coordinates, or some of them by name
    """
    words = _words(arm, link)
    q_e = arm.labels.states("q", q)[..., arm.mechanism.member(link).elastic]
    parts, fractions = words.pieces(), np.linspace(0.0, 1.0, STATIONS)
    starts = np.concatenate([[0.0], np.cumsum([part.length for part in parts])])[:-1]
    x, inside = (
        np.concatenate([start + at * part.length for part, start in zip(parts, starts, strict=True)])
        for at in (fractions, np.clip(fractions, INSIDE, 1 - INSIDE))
    )
    bent = words.bent(inside)
    strain = bent.strains(q_e)
    stress = None
    if stress_known(arm, link):
        pieces = np.split(strain, len(parts), axis=-2)
        stress = np.concatenate([_stress(part, own) for part, own in zip(parts, pieces, strict=True)], axis=-1)
    return AlongBeam(x, bent.line(q_e), strain, stress)


def _stress(part: OutlinePiece, strains: Floats) -> Floats:
    """Largest axial stress of the sections of a piece (..., S), from strains (..., S, 3)."""
    assert part.modulus is not None
    if not part.tapers:
        return part.modulus * part.outermost_strain(0.0, strains)
    fractions = np.linspace(0.0, 1.0, STATIONS)
    sections = [part.outermost_strain(float(at), strains[..., k, :]) for k, at in enumerate(fractions)]
    return part.modulus * np.stack(sections, axis=-1)


def stress_known(arm: Dynamics, link: str) -> bool:
    """Whether every segment of a flexible beam has a material and an outline."""
    own = arm.robot.link(link)
    pieces = words_of(own, arm.robot).pieces() if own.is_flexible else ()
    return bool(pieces) and all(part.modulus is not None and part.has_outline() for part in pieces)


def _words(arm: Dynamics, link: str) -> BodyWords:
    names = [each.name for each in arm.robot.links if each.has_axis and each.is_flexible]
    if link not in names:
        known = ", ".join(names) or "none"
        raise ModelError(f"robot '{arm.robot.name}' has no flexible beam '{link}'; flexible beams: {known}")
    return words_of(arm.robot.link(link), arm.robot)


# ---- unbent


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
