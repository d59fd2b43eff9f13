"""The outlines of cross-sections as points (y, z), and the triangles that close the end of a beam.

An outline is a list of rings: the outer one counter-clockwise about x, holes clockwise. Along a taper every ring keeps
its number of points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.model.section_shapes import Outlined, moments, principal_angle

if TYPE_CHECKING:
    from pliant.model.beams import Segment
    from pliant.model.sections import Section

ROUND = 20
"""Corners of what is round."""
SLENDER = 1 / 100
"""Radius per length of a beam of which nothing tells how thick it is."""
FLAT = 1e-12
Rings = list[Array]


def segment_rings(part: Segment, fraction: float) -> Rings:
    """The outline at a fraction of a segment.

    Of constants, the ellipse that has their radii of gyration; where these are not known, a slender round bar.
    """
    if part.section is None:
        return [_ellipse(*_gyration(part))]
    start, end = part.section.dimensions(), (part.taper_to or part.section).dimensions()
    between = {
        key: (1 - fraction) * np.asarray(a) + fraction * np.asarray(end[key])
        for key, a in start.items()
        if a is not None and end[key] is not None
    }
    return section_rings(part.section, between)


def section_rings(section: Section, given: dict[str, Array]) -> Rings:
    """The outline of a section with these dimensions."""
    if isinstance(section, Outlined):
        return _principal([np.array(ring) for ring in section.rings(given)])
    d = {key: float(value) for key, value in given.items()}
    if section.kind == "rectangle":
        return [_rectangle(d["width"], d["height"])]
    if section.kind == "round":
        return [_ellipse(d["diameter"] / 2, d["diameter"] / 2)]
    if section.kind == "tube":
        outer, inner = d["outer"] / 2, d["inner"] / 2
        return [_ellipse(outer, outer), _ellipse(inner, inner)[::-1]]
    if section.kind == "ellipse":
        return [_ellipse(d["width"] / 2, d["height"] / 2)]
    if section.kind == "i_beam":
        return [_i_beam(d["width"] / 2, d["height"] / 2, d["flange"], d["web"] / 2)]
    constants = section.formulas(given)
    return [_ellipse(2 * float(constants.Iz / constants.A) ** 0.5, 2 * float(constants.Iy / constants.A) ** 0.5)]


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


# ---------------------------------------------------------------- ends


def cap(rings: Rings) -> Array:
    """Triangles (n, 3) that fill an outline, numbers of its points ring after ring; they look along +x."""
    points = np.concatenate(rings)
    if len(rings) == 2 and len(rings[0]) == len(rings[1]):
        # a wall all around, where the hole is like the outline; it runs the other way
        outer, n = np.arange(len(rings[0])), len(rings[0])
        after = np.roll(outer, -1)
        nearest = int(np.argmin(np.linalg.norm(rings[1] - rings[0][0], axis=1)))
        inner = n + (nearest - outer) % n
        wall = np.concatenate([np.stack([outer, after, inner], 1), np.stack([after, inner[after], inner], 1)])
        a, b, c = np.moveaxis(points[wall], 1, 0)
        if np.all(_cross(b - a, c - b) > 0):
            return wall
    return _ears(points, _one_line(rings))


def _one_line(rings: Rings) -> list[int]:
    """Numbers along one closed line: cuts lead from the outline into its holes and back."""
    points, starts = np.concatenate(rings), np.cumsum([0, *map(len, rings)])
    line = list(range(len(rings[0])))
    for k in sorted(range(1, len(rings)), key=lambda k: -float(rings[k][:, 0].max())):
        hole = list(range(starts[k], starts[k + 1]))
        first = int(np.argmax(points[hole, 0]))
        hole = hole[first:] + hole[:first]
        seen = sorted(range(len(line)), key=lambda i: float(np.linalg.norm(points[line[i]] - points[hole[0]])))
        at = next((i for i in seen if not _crosses(points, points[line[i]], points[hole[0]], line)), seen[0])
        line = line[: at + 1] + hole + [hole[0], line[at]] + line[at + 1 :]
    return line


def _crosses(points: Array, a: Array, b: Array, line: list[int]) -> bool:
    c, d = points[line], points[np.roll(line, -1)]
    sides = [_cross(b - a, x - a) for x in (c, d)], [_cross(d - c, x - c) for x in (a, b)]
    return bool(np.any((sides[0][0] * sides[0][1] < -(FLAT**2)) & (sides[1][0] * sides[1][1] < -(FLAT**2))))


def _cross(u: Array, v: Array) -> Array:
    return np.asarray(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0])


def _ears(points: Array, line: list[int]) -> Array:
    """Cut off one convex corner after the other in which no other point lies."""
    line, triangles = list(line), []
    while len(line) > 3:
        found = (i for i in range(len(line)) if _is_ear(points, line, i))
        # without an ear, as of an outline that touches itself, any corner goes
        i = next(found, 0)
        triangles.append([line[i - 1], line[i], line[(i + 1) % len(line)]])
        del line[i]
    return np.array([*triangles, line], dtype=int)


def _is_ear(points: Array, line: list[int], i: int) -> bool:
    a, b, c = points[[line[i - 1], line[i], line[(i + 1) % len(line)]]]
    if _cross(b - a, c - b) <= 0:
        return False
    others = points[line]
    corner = np.any([(others == x).all(axis=1) for x in (a, b, c)], axis=0)
    inside = np.all([_cross(q - p, others - p) >= 0 for p, q in ((a, b), (b, c), (c, a))], axis=0)
    return not np.any(inside & ~corner)
