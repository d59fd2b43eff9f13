"""Beams that are curved before any load acts: their curvature along the axis, and where its sections are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.modal_body import Array, hat
from pliant.bodies.profile import beam_profile
from pliant.bodies.quadrature import gauss
from pliant.model.description.curvature import undeformed_pose

if TYPE_CHECKING:
    from pliant.model.description.beams import Beam

Curve = Callable[[Array], Array]
"""Curvatures about x, y and z (places, 3) of the undeformed axis at places x, 1/m."""

# Gauss points per piece of the mass integrals
MASS_POINTS = 16


def curve_of(beam: Beam) -> Curve | None:
    """The curvature of a described beam; None if it is straight."""
    if not beam.is_curved:
        return None
    parts, breaks = beam.parts(), beam.breakpoints

    def curve(x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        out = np.zeros((len(x), 3))
        index = np.searchsorted(breaks[1:-1], x, side="right")
        for k, part in enumerate(parts):
            here = index == k
            if part.curvature is not None and here.any():
                out[here] = part.curvature.at((x[here] - breaks[k]) / part.length)
        return out

    return curve


def curved_inertia(beam: Beam, *, section_inertia: bool) -> tuple[float, Array, Array]:
    """Mass, first moment and inertia about the root of the unloaded beam."""
    profile = beam_profile(beam)
    x, weights = gauss(profile.breaks, MASS_POINTS)
    section = profile.at(x)
    masses = weights * section.rhoA
    moments = section.discs(weights) * float(section_inertia)
    first, about = np.zeros(3), np.zeros((3, 3))
    for place, mass, discs in zip(x.tolist(), masses.tolist(), moments, strict=True):
        p, R = undeformed_pose(beam, place)
        first = first + mass * p
        about = about - mass * hat(p) @ hat(p) + R @ np.diag(discs) @ R.T
    return float(masses.sum()), first, about
