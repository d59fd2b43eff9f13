"""The mass of a URDF's link that bends: a beam, and rigid parts at its root and tip for what the beam does not weigh.

The link of the URDF and the beam have masses m, m_b and second moments of mass ``S = int r r^T dm``. The rest has mass
m - m_b, its centre of mass c and, about it, the second moments S_r = S - S_b - (shifts). It is put on the two ends of
the beam by the rule of the lever, as far out as S_r allows, so that mass, centre of mass and inertia of the whole link
are those of the URDF. Where S_r is negative in some direction (the beam alone has more inertia), it is zero there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.model.attach import Plain
from pliant.model.beams import MASS_POINTS, Beam
from pliant.model.element import Array
from pliant.model.inertia import Rigid

# a rest of this fraction of the link is rounding
NOTHING = 1e-9
# second moments below this fraction of the largest are none
SMALLEST = 1e-15
# change of the largest moment of inertia that is told
TOLD = 1e-3


class Remainder(NamedTuple):
    """Rigid parts that complete a beam to the link of a URDF.

    parts   payloads at the frames root and tip
    missed  part of the link's inertia that could not be kept, as a fraction of its largest moment
    """

    parts: list[Plain]
    missed: float


def remainder(rigid: Plain, beam: Beam) -> Remainder:
    """What is left of a link's body when a beam along x is taken out of it; the beam must not weigh more."""
    m, c_link, S_link = _moments(Rigid(**rigid))
    m_b, c_b, S_b = beam_moments(beam)
    rest = m - m_b
    largest = float(np.linalg.eigvalsh(_inertia(S_link)).max()) or 1.0
    if rest <= NOTHING * m:
        return Remainder([], float(np.abs(S_link - S_b).max()) / largest)
    c = (m * c_link - m_b * c_b) / rest
    # about the base of the link first, then about the centre of mass of the rest
    about_root = S_link + m * np.outer(c_link, c_link) - S_b - m_b * np.outer(c_b, c_b)
    wanted = about_root - rest * np.outer(c, c)
    sizes, axes = np.linalg.eigh((wanted + wanted.T) / 2)
    S = axes * np.maximum(sizes, 0.0) @ axes.T
    return Remainder(_ends(rest, c, S, beam.length), float(np.abs(S - wanted).max()) / largest)


def _ends(mass: float, c: Array, S: Array, length: float) -> list[Plain]:
    """Two parts, or one where the centre of mass lies beyond an end."""
    share = float(np.clip(c[0] / length, 0.0, 1.0))
    if share in (0.0, 1.0):
        frame, x = ("root", 0.0) if share == 0.0 else ("tip", length)
        return [_part(frame, mass, c - [x, 0.0, 0.0], S)]
    # as far apart as the second moments allow: S - t e_x e_x^T stays positive up to t = 1 / (S^-1)_xx
    sizes, axes = np.linalg.eigh(S)
    most = 1.0 / float(np.sum(axes[0] ** 2 / np.maximum(sizes, SMALLEST * max(sizes.max(), SMALLEST))))
    spread = mass * c[0] * (length - c[0])
    reach = min(1.0, float(np.sqrt(most / spread)))
    along = c * [1.0 - reach, 1.0, 1.0], c + [reach * (length - c[0]), 0.0, 0.0]
    left = S.copy()
    left[0, 0] -= reach**2 * spread
    return [
        _part("root", mass * (1 - share), along[0], (1 - share) * left),
        _part("tip", mass * share, along[1] - [length, 0.0, 0.0], share * left),
    ]


def _part(frame: str, mass: float, com: Array, S: Array) -> Plain:
    sizes, axes = np.linalg.eigh((S + S.T) / 2)
    inertia = _inertia(axes * np.maximum(sizes, 0.0) @ axes.T)
    inertia = (inertia + inertia.T) / 2
    return {"frame": frame, "mass": float(mass), "com": com.tolist(), "inertia": inertia.tolist()}


def beam_moments(beam: Beam) -> tuple[float, Array, Array]:
    """Mass, centre of mass and second moments about it of a straight beam; sections count where they do in its body."""
    points, weights = np.polynomial.legendre.leggauss(2 * MASS_POINTS)
    sections = bool(beam.rotary_inertia) or "torsion" in beam.families
    m, first, S = 0.0, 0.0, np.zeros((3, 3))
    for part, start in zip(beam.parts(), beam.breakpoints[:-1], strict=True):
        x = part.length * (points + 1) / 2
        w = weights * part.length / 2
        at = part.at(x)
        density = np.asarray(at["mass_per_length"])
        m += float(w @ density)
        first += float(w @ (density * (start + x)))
        S[0, 0] += float(w @ (density * (start + x) ** 2))
        for k, key in ((1, "rhoIz"), (2, "rhoIy")):
            moment = at[key]
            if sections and moment is not None:
                S[k, k] += float(w @ np.asarray(moment))
    S[0, 0] -= first**2 / m
    return m, np.array([first / m, 0.0, 0.0]), S


def _moments(rigid: Rigid) -> tuple[float, Array, Array]:
    inertia = rigid.inertia_matrix()
    return rigid.mass, rigid.com_vector(), np.trace(inertia) / 2 * np.eye(3) - inertia


def _inertia(S: Array) -> Array:
    return np.asarray(np.trace(S) * np.eye(3) - S)
