"""The outlines of cross-sections as points (y, z), and the fibres that bending stretches most.

An outline is a list of rings: the outer one counter-clockwise about x, holes clockwise. Along a taper every ring keeps
its number of points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.model.sections.section_shapes import Outlined, moments, principal_angle
from pliant.model.sections.sections import GeneralSection

if TYPE_CHECKING:
    from pliant.model.description.beams import Segment
    from pliant.model.sections.sections import Section

ROUND = 20
"""Corners of what is round."""
SLENDER = 1 / 100
"""Radius per length of a beam of which nothing tells how thick it is."""
Rings = list[Array]


def segment_rings(part: Segment, fraction: float) -> Rings:
    """The outline at a fraction of a segment.

    Of constants, the ellipse that has their radii of gyration; where these are not known, a slender round bar.
    """
    if part.section is None:
        return [_ellipse(*_gyration(part))]
    return section_rings(part.section, _between(part.section, part.taper_to or part.section, fraction))


def has_outline(part: Segment) -> bool:
    """Whether it is known, not only constants of the section."""
    return part.section is not None and not isinstance(part.section, GeneralSection)


def outermost_strain(part: Segment, fraction: float, strains: Array) -> Array:
    """The largest |u' - y u_y'' - z u_z''| of a section with an outline, from u', u_y'', u_z'' (..., 3): (...).

    On straight sides it is at their ends.
    """
    assert part.section is not None
    given = _between(part.section, part.taper_to or part.section, fraction)
    axes = _half_axes(part.section, given)
    if axes is not None:
        return np.asarray(np.abs(strains[..., 0]) + np.hypot(axes[0] * strains[..., 1], axes[1] * strains[..., 2]))
    corners = section_rings(part.section, given)[0]
    fibres = np.column_stack([np.ones(len(corners)), -corners])
    return np.asarray(np.abs(strains @ fibres.T).max(axis=-1))


def _between(start: Section, end: Section, fraction: float) -> dict[str, Array]:
    """Dimensions at a fraction of a taper."""
    last = end.dimensions()
    return {
        key: (1 - fraction) * np.asarray(a) + fraction * np.asarray(last[key])
        for key, a in start.dimensions().items()
        if a is not None and last[key] is not None
    }


def section_rings(section: Section, given: dict[str, Array]) -> Rings:
    """The outline of a section with these dimensions."""
    if isinstance(section, Outlined):
        return _principal([np.array(ring) for ring in section.rings(given)])
    d = {key: float(value) for key, value in given.items()}
    if section.kind == "rectangle":
        return [_rectangle(d["width"], d["height"])]
    axes = _half_axes(section, given)
    if axes is not None:
        hole = [_ellipse(d["inner"] / 2, d["inner"] / 2)[::-1]] if section.kind == "tube" else []
        return [_ellipse(*axes), *hole]
    if section.kind == "i_beam":
        return [_i_beam(d["width"] / 2, d["height"] / 2, d["flange"], d["web"] / 2)]
    constants = section.formulas(given)
    return [_ellipse(2 * float(constants.Iz / constants.A) ** 0.5, 2 * float(constants.Iy / constants.A) ** 0.5)]


def _half_axes(section: Section, given: dict[str, Array]) -> tuple[float, float] | None:
    """Of a round outline, along y and z."""
    widths = {"round": ("diameter", "diameter"), "tube": ("outer", "outer"), "ellipse": ("width", "height")}
    if section.kind not in widths:
        return None
    y, z = widths[section.kind]
    return float(given[y]) / 2, float(given[z]) / 2


def finer(rings: Rings, least: int) -> Rings:
    """The same outline with sides divided evenly, so that every ring has at least so many points."""
    out = []
    for ring in rings:
        parts = np.arange(-(-least // len(ring))) / -(-least // len(ring))
        after = np.roll(ring, -1, axis=0)
        out.append((ring[:, None] + parts[:, None] * (after - ring)[:, None]).reshape(-1, 2))
    return out


def _gyration(part: Segment) -> tuple[float, float]:
    """Half axes of the ellipse of a segment by its constants: of a solid one they are two radii of gyration."""
    p, out = part.properties, []
    assert p is not None
    for EI, rhoI in ((p.EIz, p.rhoIz), (p.EIy, p.rhoIy)):
        if EI and p.EA:
            out.append(2 * (EI / p.EA) ** 0.5)
        elif rhoI:
            out.append(2 * (rhoI / p.mass_per_length) ** 0.5)
    radii = out or [SLENDER * part.length]
    return radii[0], radii[-1]


def _rectangle(width: float, height: float) -> Array:
    return np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * (width / 2, height / 2)


def _ellipse(y: float, z: float) -> Array:
    angle = 2 * np.pi * np.arange(ROUND) / ROUND
    return np.stack([y * np.cos(angle), z * np.sin(angle)], axis=1)


def _i_beam(w: float, h: float, f: float, t: float) -> Array:
    """From half the width and height, the flange and half the web."""
    right = [(w, -h), (w, f - h), (t, f - h), (t, h - f), (w, h - f), (w, h)]
    return np.array(right + [(-y, -z) for y, z in right])


def _principal(rings: Rings) -> Rings:
    """Centred, with principal axes along y and z, each ring in its sense."""
    listed = [tuple((float(y), float(z)) for y, z in ring) for ring in rings]
    _, centre, second = moments(listed)
    angle = principal_angle(second)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    out = [(ring - centre) @ turn.T for ring in rings]
    return [ring if (_area(ring) > 0) == (k == 0) else ring[::-1] for k, ring in enumerate(out)]


def _area(ring: Array) -> float:
    after = np.roll(ring, -1, axis=0)
    return float(np.sum(ring[:, 0] * after[:, 1] - after[:, 0] * ring[:, 1])) / 2
