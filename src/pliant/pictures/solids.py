"""Solids on the places of a robot: every vertex is fixed to one place, a section of a beam or a frame; end caps.

A solid knows nothing of a configuration. Where its vertices are follows from positions and axes of the places:
vertices = positions[place] + axes[place] @ offsets. Drawings, films, reports and the viewer all take them from here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.modal_body import Array
from pliant.bodies.outlines import Rings

Ints = NDArray[np.int_]
Kind = Literal["flexible", "rigid", "joint", "load", "looks", "ground"]

STEEL = 7850.0
"""kg/m^3: masses without inertia are drawn as balls of steel."""
ROUND = 16


@dataclass(frozen=True, slots=True)
class Solid:
    """Vertices on places, and the triangles between them.

    link     which it belongs to
    kind     what it is: flexible and rigid links, joints, loads (hubs and payloads), looks (meshes), ground
    places   numbers of the places (V,)
    offsets  from the places, in their axes, m (V, 3)
    faces    triangles (F, 3), outside to the right hand's thumb
    modulus  Young's, of a beam of one material, Pa; None where it is not known
    """

    link: str
    kind: Kind
    places: Ints
    offsets: Array
    faces: Ints
    modulus: float | None = None

    @property
    def is_stiff(self) -> bool:
        """Whether it is fixed to a single place."""
        return bool(np.all(self.places == self.places[0])) if len(self.places) else True

    def vertices(self, positions: Array, axes: Array) -> Array:
        """Vertices (..., V, 3) from positions (..., places, 3) and axes (..., places, 3, 3)."""
        turned = np.einsum("...vab,vb->...va", axes[..., self.places, :, :], self.offsets)
        return np.asarray(positions[..., self.places, :] + turned)

    def fibres(self, strains: Array) -> Array:
        """Strain (..., V) at the vertices of a beam, from u', u_y'' and u_z'' of the places (..., places, 3)."""
        at = strains[..., self.places, :]
        return np.asarray(at[..., 0] - self.offsets[:, 1] * at[..., 1] - self.offsets[:, 2] * at[..., 2])

    def within(self, half: float) -> Solid:
        """The solid about its place, no further than ``half`` along any of its axes; it keeps its form."""
        return replace(self, offsets=self.offsets * min(1.0, half / float(np.abs(self.offsets).max())))

    def on(self, place: int, position: Array | None = None, axes: Array | None = None) -> Solid:
        """The solid on another place, moved and turned there."""
        R, p = np.eye(3) if axes is None else axes, np.zeros(3) if position is None else position
        return replace(self, places=np.full(len(self.offsets), place), offsets=self.offsets @ R.T + p)


def swept(link: str, kind: Kind, places: Ints, rings: list[Rings], modulus: float | None = None) -> Solid:
    """A beam: outlines, of equal numbers of points, at one place after the other; closed at both ends."""
    sizes = [len(ring) for ring in rings[0]]
    count, starts = sum(sizes), np.cumsum([0, *sizes])
    flat = [np.concatenate(each) for each in rings]
    offsets = np.concatenate([np.column_stack([np.zeros(count), each]) for each in flat])
    walls = []
    for k in range(len(places) - 1):
        for start, size in zip(starts, sizes, strict=False):
            a = count * k + start + np.arange(size)
            b = count * k + start + (np.arange(size) + 1) % size
            walls += [np.stack([a, b, b + count], axis=1), np.stack([a, b + count, a + count], axis=1)]
    ends = [cap(rings[0])[:, ::-1], cap(rings[-1]) + count * (len(places) - 1)]
    return Solid(link, kind, np.repeat(places, count), offsets, np.concatenate([*walls, *ends]), modulus)


def shape(link: str, kind: Kind, triangles: Array) -> Solid:
    """From triangles (n, 3, 3) in the axes of a place; equal corners become one vertex."""
    corners, which = np.unique(np.round(triangles.reshape(-1, 3), 12), axis=0, return_inverse=True)
    faces = np.asarray(which).reshape(-1, 3)
    return Solid(link, kind, np.zeros(len(corners), dtype=int), corners, faces)


def bar(link: str, kind: Kind, ends: Array, radius: float, places: tuple[int, int]) -> Solid:
    """A round bar between two points (2, 3), each given in the axes of its own place, which are parallel there."""
    along = ends[1] - ends[0]
    length = float(np.linalg.norm(along))
    e = along / length
    helper = np.eye(3)[int(np.argmin(np.abs(e)))]
    u = np.cross(e, helper)
    u /= np.linalg.norm(u)
    v = np.cross(e, u)
    angle = 2 * np.pi * np.arange(ROUND) / ROUND
    ring = radius * (np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v)
    around, after = np.arange(ROUND), (np.arange(ROUND) + 1) % ROUND
    walls = [np.stack([around, after, after + ROUND], 1), np.stack([around, after + ROUND, around + ROUND], 1)]
    fan = np.stack([np.zeros(ROUND - 2, dtype=int), np.arange(1, ROUND - 1), np.arange(2, ROUND)], axis=1)
    faces = np.concatenate([*walls, fan[:, ::-1], fan + ROUND])
    offsets = np.concatenate([ends[0] + ring, ends[1] + ring])
    return Solid(link, kind, np.repeat(places, ROUND), offsets, faces)


def ball(link: str, kind: Kind, radius: float) -> Solid:
    """About the origin of its place."""
    around, rows = 2 * np.pi * np.arange(ROUND) / ROUND, ROUND // 2
    polar = np.pi * np.arange(1, rows) / rows
    rims = np.stack(
        [np.outer(np.sin(polar), np.cos(around)), np.outer(np.sin(polar), np.sin(around)),
         np.outer(np.cos(polar), np.ones(ROUND))], axis=-1
    ).reshape(-1, 3)  # fmt: skip
    points = np.concatenate([[[0.0, 0.0, 1.0]], rims, [[0.0, 0.0, -1.0]]])
    a, b = np.arange(ROUND), (np.arange(ROUND) + 1) % ROUND
    faces = [np.stack([np.zeros(ROUND, dtype=int), 1 + a, 1 + b], axis=1)]
    for k in range(rows - 2):
        top, low = 1 + ROUND * k, 1 + ROUND * (k + 1)
        faces += [np.stack([top + a, low + a, low + b], 1), np.stack([top + a, low + b, top + b], 1)]
    last = 1 + ROUND * (rows - 2)
    faces.append(np.stack([last + a, np.full(ROUND, len(points) - 1), last + b], axis=1))
    return Solid(link, kind, np.zeros(len(points), dtype=int), radius * points, np.concatenate(faces))


def block(link: str, kind: Kind, edges: Array) -> Solid:
    """A box about the origin of its place, edges along its axes."""
    signs = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    return Solid(link, kind, np.zeros(8, dtype=int), signs * edges, faces)


def weight(link: str, mass: float, inertia: Array, least: float) -> tuple[Solid, Array]:
    """A hub or a payload about its centre of mass: the uniform box of its inertia, or a ball of steel; and its axes."""
    moments, axes = np.linalg.eigh(inertia)
    # of a box, Ix = m (b^2 + c^2)/12
    squares = 6 * (moments.sum() - 2 * moments) / mass if mass > 0 else np.zeros(3)
    edges = np.sqrt(np.maximum(squares, 0.0))
    if edges.max() > 2 * least:
        return block(link, "load", np.maximum(edges, least)), axes * np.sign(np.linalg.det(axes))
    return ball(link, "load", max((3 * mass / (4 * np.pi * STEEL)) ** (1 / 3), least)), np.eye(3)


# ---------------------------------------------------------------- the triangles that close the end of a beam


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
