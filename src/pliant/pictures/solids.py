"""Solids on the places of a robot: every vertex is fixed to one place, a section of a beam or a frame; end caps.

A solid knows nothing of a configuration. Where its vertices are follows from positions and axes of the places:
vertices = positions[place] + axes[place] @ offsets. Drawings, films, reports and the viewer all take them from here.

Places are sections along beams, links and frames. A configuration is given against the same robot without bending:
where a place would be (its link's frame and its own place there, which stays), and the shift and the turn from there
to where it is. Both are multiplied to exaggerate the bending, and both are all that a film has to keep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.along import unbent
from pliant.bodies.carried import frame_pose
from pliant.bodies.modal_body import Array
from pliant.bodies.words import BentAxis, words_of
from pliant.model.sections.section_shapes import Rings

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.model.description.links import Link

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


# ---- skeleton


STATIONS = 21
"""Sections along a flexible beam."""
LEAST = 3
"""Sections of a piece of a flexible beam."""


class Posed(NamedTuple):
    """Places at configurations (...): as of the rigid robot, and what bending does to them, base axes.

    links      positions (..., links, 3) and axes (..., links, 3, 3) of its links, the last is the base
    positions  of the places of the rigid robot, m (..., places, 3)
    axes       (..., places, 3, 3)
    shifts     displacements, m (..., places, 3)
    turns      rotation vectors, rad (..., places, 3)
    strains    u', u_y'', u_z'' (..., places, 3); zero where there is no beam
    """

    links: tuple[Array, Array]
    positions: Array
    axes: Array
    shifts: Array
    turns: Array
    strains: Array

    def moved(self, by: float = 1.0) -> tuple[Array, Array]:
        """Positions and axes of the places with the bending multiplied."""
        return self.positions + by * self.shifts, rotations(by * self.turns) @ self.axes

    def swinging(self, shifts: Array, turns: Array, strains: Array) -> Posed:
        """About where the places are now, by other displacements."""
        positions, axes = self.moved()
        return Posed(self.links, positions, axes, shifts, turns, strains)


def rotations(vectors: Array) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix()).reshape(*vectors.shape, 3)


def rotation_vectors(matrices: Array) -> Array:
    """Rotation vectors (..., 3) of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(matrices.reshape(-1, 3, 3)).as_rotvec()
    return np.asarray(flat).reshape(matrices.shape[:-1])


@dataclass(frozen=True, slots=True)
class BeamPlaces:
    """The places of a beam: its number among the links, elastic coordinates, and the numbers of each of its pieces."""

    link: Link
    index: int
    elastic: slice
    bent: BentAxis
    pieces: list[Ints]

    @property
    def own(self) -> slice:
        """Its places."""
        return slice(int(self.pieces[0][0]), int(self.pieces[-1][-1]) + 1)


class Places:
    """Numbers the places of a robot and knows where they are."""

    def __init__(self, arm: Dynamics, stations: int = STATIONS) -> None:
        self.arm, self._stations = arm, stations
        robot = arm.robot
        self.link_numbers = {link.name: k for k, link in enumerate(robot.links)}
        self.base = len(robot.links)
        # every link, then the base
        self.link_of = list(range(self.base + 1))
        self.local_p, self.local_R = [np.zeros(3)] * (self.base + 1), [np.eye(3)] * (self.base + 1)
        self.beams: dict[str, BeamPlaces] = {}
        self.frames: dict[str, int] = {}
        for index, link in enumerate(robot.links):
            if link.has_axis:
                self.beams[link.name] = self._beam(link, index)

    def __len__(self) -> int:
        return len(self.link_of)

    def _add(self, link: int, position: Array, axes: Array) -> int:
        self.link_of.append(link)
        self.local_p.append(position)
        self.local_R.append(axes)
        return len(self.link_of) - 1

    def _beam(self, link: Link, index: int) -> BeamPlaces:
        member, words = self.arm.mechanism.member(link.name), words_of(link, self.arm.robot)
        breaks = np.concatenate([[0.0], np.cumsum([part.length for part in words.pieces()])])
        bends = link.is_flexible or words.is_curved
        x, pieces, count = list[Array](), list[Ints](), len(self)
        for a, b in pairwise(breaks):
            part = round(self._stations * (b - a) / breaks[-1]) if bends else 2
            least = LEAST if len(breaks) <= self._stations / LEAST and bends else 2
            at = np.linspace(a, b, max(part, least))
            pieces.append(count + np.arange(len(at)))
            x.append(at)
            count += len(at)
        bent = words.bent(np.concatenate(x))
        still = np.zeros(member.body.size)
        for position, axes in zip(bent.line(still), bent.axes(still), strict=True):
            self._add(index, position, axes)
        return BeamPlaces(link, index, member.elastic, bent, pieces)

    def link_place(self, name: str) -> int:
        """The number of a link's own frame B."""
        return self.link_numbers[name]

    def frame_place(self, link: Link, name: str) -> int:
        """The number of a frame of a link; of a rigid one, frames that only turn and shift are places too."""
        full = f"{link.name}.{name}"
        if full not in self.frames:
            self.frames[full] = self._add(self.link_numbers[link.name], *frame_pose(link, name))
        return self.frames[full]

    # ---- at configurations

    def at(self, q: Array) -> Posed:
        """The places at configurations q (..., n)."""
        q = np.asarray(q, dtype=float)
        links = self._links(unbent(self.arm, q))
        positions, axes = self._carried(*links)
        now, turned = self.places(q)
        turns = rotation_vectors(turned @ np.swapaxes(axes, -1, -2))
        return Posed(links, positions, axes, now - positions, turns, self.strains(q))

    def places(self, q: Array) -> tuple[Array, Array]:
        """Positions (..., places, 3) and axes (..., places, 3, 3) of the bent robot."""
        links = self._links(q)
        positions, axes = (np.array(x) for x in self._carried(*links))
        for each in self.beams.values():
            if each.link.is_flexible:
                q_e, R = q[..., each.elastic], links[1][..., each.index, None, :, :]
                local = np.einsum("...ab,...b->...a", R, each.bent.line(q_e))
                positions[..., each.own, :] = links[0][..., each.index, None, :] + local
                axes[..., each.own, :, :] = R @ each.bent.axes(q_e)
        if self.frames:
            at, numbers = self.arm.poses(tuple(self.frames), q), list(self.frames.values())
            positions[..., numbers, :], axes[..., numbers, :, :] = at.position, at.rotation
        return positions, axes

    def strains(self, q: Array) -> Array:
        """u', u_y'' and u_z'' (..., places, 3) of the sections."""
        out = np.zeros((*q.shape[:-1], len(self), 3))
        for each in self.beams.values():
            if each.link.is_flexible:
                out[..., each.own, :] = each.bent.strains(q[..., each.elastic])
        return out

    def _links(self, q: Array) -> tuple[Array, Array]:
        """Frames of the links, and the base."""
        at = self.arm.link_poses(q)
        lanes = q.shape[:-1]
        origin, eye = np.zeros((*lanes, 1, 3)), np.broadcast_to(np.eye(3), (*lanes, 1, 3, 3))
        return np.concatenate([at.position, origin], axis=-2), np.concatenate([at.rotation, eye], axis=-3)

    def _carried(self, p: Array, R: Array) -> tuple[Array, Array]:
        """The places of undeformed links."""
        own, local = np.array(self.link_of), np.array(self.local_p)
        positions = p[..., own, :] + np.einsum("...ab,...b->...a", R[..., own, :, :], local)
        return positions, R[..., own, :, :] @ np.array(self.local_R)
