"""The triangles that close the end of a beam."""

from __future__ import annotations

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.bodies.outlines import Rings

FLAT = 1e-12


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
