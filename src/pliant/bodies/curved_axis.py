"""Beams that are curved before any load acts: their curvature along the axis, and where its sections are."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.modal_body import Array, hat
from pliant.bodies.profile import beam_profile
from pliant.bodies.quadrature import gauss

if TYPE_CHECKING:
    from pliant.model.beams import Beam

Curve = Callable[[Array], Array]
"""Curvatures about x, y and z (places, 3) of the undeformed axis at places x, 1/m."""

# steps in which a curvature that varies along a piece is taken as constant
VARYING_STEPS = 200
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


def undeformed_pose(beam: Beam, x: float) -> tuple[Array, Array]:
    """Position (3,) and axes (3, 3) of the section at x of the unloaded beam."""
    p, R = np.zeros(3), np.eye(3)
    if not beam.is_curved:
        return np.array([x, 0.0, 0.0]), R
    for part, start in zip(beam.parts(), beam.breakpoints[:-1], strict=True):
        length = min(max(x - start, 0.0), part.length)
        if part.curvature is None or not length:
            p = p + length * R[:, 0]
            continue
        constant = part.curvature.is_constant
        steps = 1 if constant else max(1, ceil(VARYING_STEPS * length / part.length))
        h = length / steps
        for kappa in part.curvature.at((np.arange(steps) + 0.5) * h / part.length):
            turn, mean = _arc(h * kappa)
            p, R = p + h * R @ mean[:, 0], R @ turn
    return p, R


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


def _arc(theta: Array) -> tuple[Array, Array]:
    """exp(theta~), and its mean along the arc."""
    angle, K = float(np.linalg.norm(theta)), hat(theta)
    # sin(a)/a, (1 - cos a)/a^2 and (a - sin a)/a^3
    a = np.sinc(angle / np.pi)
    b = 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    c = (1 - a) / angle**2 if angle > 1e-4 else 1 / 6
    return np.eye(3) + a * K + b * K @ K, np.eye(3) + b * K + c * K @ K
