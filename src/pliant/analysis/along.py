"""Along a bent beam: where its axis is, how it is strained, and the largest stress of each section."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.centre_line import BentBeam
from pliant.bodies.outlines import has_outline, outermost_strain
from pliant.errors import ModelError
from pliant.model.description.materials import Material

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.model.description.beams import Beam, Segment
    from pliant.states import States

Floats = NDArray[np.float64]

STATIONS = 41
"""Of a segment."""
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
    beam = _beam(arm, link)
    q_e = arm.labels.states("q", q)[..., arm.mechanism.member(link).elastic]
    parts, starts, fractions = beam.parts(), beam.breakpoints[:-1], np.linspace(0.0, 1.0, STATIONS)
    x, inside = (
        np.concatenate([start + at * part.length for part, start in zip(parts, starts, strict=True)])
        for at in (fractions, np.clip(fractions, INSIDE, 1 - INSIDE))
    )
    bent = BentBeam(arm.robot.link(link), arm.robot, inside)
    strain = bent.strains(q_e)
    stress = None
    if stress_known(arm, link):
        pieces = np.split(strain, len(parts), axis=-2)
        stress = np.concatenate([_stress(part, own) for part, own in zip(parts, pieces, strict=True)], axis=-1)
    return AlongBeam(x, bent.line(q_e), strain, stress)


def _stress(part: Segment, strains: Floats) -> Floats:
    """Largest of the sections of a segment whose material and outline are known (..., S), from strains (..., S, 3)."""
    assert isinstance(part.material, Material)
    if part.taper_to is None:
        return part.material.E * outermost_strain(part, 0.0, strains)
    fractions = np.linspace(0.0, 1.0, STATIONS)
    sections = [outermost_strain(part, float(at), strains[..., k, :]) for k, at in enumerate(fractions)]
    return part.material.E * np.stack(sections, axis=-1)


def stress_known(arm: Dynamics, link: str) -> bool:
    """Whether every segment of a flexible beam has a material and an outline."""
    own = arm.robot.link(link)
    if own.beam is None or not own.is_flexible:
        return False
    parts = own.beam.with_materials(arm.robot.materials).parts()
    return all(isinstance(part.material, Material) and has_outline(part) for part in parts)


def _beam(arm: Dynamics, link: str) -> Beam:
    names = [each.name for each in arm.robot.links if each.beam is not None and each.is_flexible]
    if link not in names:
        known = ", ".join(names) or "none"
        raise ModelError(f"robot '{arm.robot.name}' has no flexible beam '{link}'; flexible beams: {known}")
    beam = arm.robot.link(link).beam
    assert beam is not None
    return beam.with_materials(arm.robot.materials)
