"""The places of a robot that carry its solids, at any configurations: sections along its beams, links, frames.

A configuration is told against the same robot without bending: where a place would be (its link's frame and its own
place there, which stays), and the shift and the turn from there to where it is. Both are multiplied to exaggerate the
bending, and both are all that a film has to keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.analysis.unbent import unbent
from pliant.bodies.carried import frame_pose
from pliant.bodies.centre_line import BentBeam
from pliant.bodies.modal_body import Array
from pliant.pictures.solids import Ints

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.model.description.links import Link

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
    """The opposite."""
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(matrices.reshape(-1, 3, 3)).as_rotvec()
    return np.asarray(flat).reshape(matrices.shape[:-1])


@dataclass(frozen=True, slots=True)
class BeamPlaces:
    """The places of a beam: its number among the links, elastic coordinates, and the numbers of each of its pieces."""

    link: Link
    index: int
    elastic: slice
    beam: BentBeam
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
            if link.beam is not None:
                self.beams[link.name] = self._beam(link, index)

    def __len__(self) -> int:
        return len(self.link_of)

    def _add(self, link: int, position: Array, axes: Array) -> int:
        self.link_of.append(link)
        self.local_p.append(position)
        self.local_R.append(axes)
        return len(self.link_of) - 1

    def _beam(self, link: Link, index: int) -> BeamPlaces:
        assert link.beam is not None
        member = self.arm.mechanism.member(link.name)
        breaks, bends = link.beam.breakpoints, link.is_flexible or link.beam.is_curved
        x, pieces, count = list[Array](), list[Ints](), len(self)
        for a, b in pairwise(breaks):
            part = round(self._stations * (b - a) / breaks[-1]) if bends else 2
            least = LEAST if len(breaks) <= self._stations / LEAST and bends else 2
            at = np.linspace(a, b, max(part, least))
            pieces.append(count + np.arange(len(at)))
            x.append(at)
            count += len(at)
        beam = BentBeam(link, self.arm.robot, np.concatenate(x))
        still = np.zeros(member.body.size)
        for position, axes in zip(beam.line(still), beam.axes(still), strict=True):
            self._add(index, position, axes)
        return BeamPlaces(link, index, member.elastic, beam, pieces)

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
                local = np.einsum("...ab,...b->...a", R, each.beam.line(q_e))
                positions[..., each.own, :] = links[0][..., each.index, None, :] + local
                axes[..., each.own, :, :] = R @ each.beam.axes(q_e)
        if self.frames:
            at, numbers = self.arm.poses(tuple(self.frames), q), list(self.frames.values())
            positions[..., numbers, :], axes[..., numbers, :, :] = at.position, at.rotation
        return positions, axes

    def strains(self, q: Array) -> Array:
        """u', u_y'' and u_z'' (..., places, 3) of the sections."""
        out = np.zeros((*q.shape[:-1], len(self), 3))
        for each in self.beams.values():
            if each.link.is_flexible:
                out[..., each.own, :] = each.beam.strains(q[..., each.elastic])
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
