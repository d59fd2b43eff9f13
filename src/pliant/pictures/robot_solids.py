"""A robot as solids on its places: beams with their true sections, other links, joints, hubs, payloads, looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.carried import frame_pose
from pliant.bodies.modal_body import Array
from pliant.bodies.words import words_of
from pliant.joints import KINDS
from pliant.model.description.outline import BASE as GROUND
from pliant.model.sections.section_shapes import finer
from pliant.pictures.meshes import MOST_TRIANGLES, coarser, link_triangles
from pliant.pictures.solids import STATIONS, Ints, Kind, Places, Solid, ball, bar, block, shape, swept, weight

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.mechanism import Member
    from pliant.model.description.links import Link

SYMBOL = 0.014
"""Radius of what has no size of its own, as a part of the size of the robot."""
LARGEST_DRUM = 0.2
"""Part of a beam that the drum of its joint may hide, and as much the hubs and payloads on it together."""
NEAR = 1e-9


class RobotSolids:
    """All solids of a robot and the places that carry them.

    stations   sections along a flexible beam
    triangles  the most of the meshes of a link
    corners    the least points around a section, for colours that change from corner to corner
    unit  radius of what has no size of its own (rigid links, joints), m
    size  of the robot in its reference pose, m
    """

    def __init__(
        self, arm: Dynamics, stations: int = STATIONS, triangles: int = MOST_TRIANGLES, corners: int = 1
    ) -> None:
        self.arm, self.skeleton = arm, Places(arm, stations)
        self._triangles, self._corners = triangles, corners
        self.size = self._extent()
        self.unit = SYMBOL * self.size
        robot = arm.robot
        self.solids: list[Solid] = [block("", "ground", np.full(3, 2.4 * self.unit)).on(self.skeleton.base)]
        for link, member in zip(robot.links, self._members(), strict=True):
            looks = [*self._looks(link)]
            self.solids += [*self._beams(link), *looks, *self._carried(link, member), *self._joint(link, member)]
            # what a mesh shows needs no bars
            if not looks:
                self.solids += [*self._offsets(link), *(self._bars(link) if not link.has_axis else ())]

    @property
    def stressed(self) -> bool:
        """Whether the stress of some beam is known."""
        return any(solid.modulus is not None for solid in self.solids)

    def _members(self) -> list[Member]:
        found = {member.name: member for member in self.arm.mechanism.members}
        return [found[link.name] for link in self.arm.robot.links]

    def _extent(self) -> float:
        positions, _ = self.skeleton.places(self.arm.reference_pose())
        return float(np.linalg.norm(np.ptp(positions, axis=0))) or 1.0

    # ---- links

    def _beams(self, link: Link) -> Iterator[Solid]:
        """The sections of every piece, swept along it."""
        kind: Kind = "flexible" if link.is_flexible else "rigid"
        pieces = words_of(link, self.arm.robot).pieces()
        places = self.skeleton.beams[link.name].pieces if pieces else []
        for part, own in zip(pieces, places, strict=True):
            fractions = np.linspace(0.0, 1.0, len(own))
            rings = [finer(part.rings(float(s)), self._corners) for s in (fractions if part.tapers else [0.0])]
            modulus = part.modulus if link.is_flexible else None
            yield swept(link.name, kind, own, rings if len(rings) > 1 else rings * len(own), modulus)

    def _looks(self, link: Link) -> Iterator[Solid]:
        triangles = coarser(link_triangles(link), self._triangles)
        if len(triangles):
            yield shape(link.name, "looks", triangles).on(self.skeleton.link_place(link.name))

    def _bars(self, link: Link) -> Iterator[Solid]:
        """A link without sections: bars from its root to what hangs on it, each end moving with its frame."""
        robot = self.arm.robot
        used = [robot.parent_of(child)[1] for child in robot.children_of(link.name)]
        ends = [robot.resolve_frame(frame) for loop in robot.loops for frame in loop.frames]
        used += [frame for on, frame in ends if on == link.name]
        used += words_of(link, robot).frames_drawn()
        kind: Kind = "flexible" if link.is_flexible else "rigid"
        for name in dict.fromkeys(used or ["tip"]):
            p, R = frame_pose(link, name)
            if np.linalg.norm(p) < NEAR:
                continue
            root = self.skeleton.link_place(link.name)
            if not link.is_flexible:
                yield bar(link.name, kind, np.array([np.zeros(3), p]), self.unit, (root, root))
                continue
            # in the axes of the link; what belongs to the frame is then given in those of the frame
            drawn = bar(link.name, kind, np.array([np.zeros(3), p]), self.unit, (root, self._place(link, name)))
            far = drawn.places != root
            offsets = np.where(far[:, None], (drawn.offsets - p) @ R, drawn.offsets)
            yield Solid(link.name, kind, drawn.places, offsets, drawn.faces)

    def _place(self, link: Link, frame: str) -> int:
        return self.skeleton.frame_place(link, frame)

    def _offsets(self, link: Link) -> Iterator[Solid]:
        """What leads from the axis of a beam to frames beside it, and from frames to the joints that they carry."""
        robot, radius = self.arm.robot, 0.7 * self.unit
        children = [robot.link(child) for child in robot.children_of(link.name)]
        busy = {robot.parent_of(child.name)[1] for child in children}
        for frame in link.frames if link.has_axis else ():
            if np.linalg.norm(frame.vector()) > NEAR and (frame.name in busy or self._is_end(link.name, frame.name)):
                p, R = frame_pose(link, frame.name)
                foot = (link.section_pose(frame.x or 0.0)[0] - p) @ R
                yield self._bar(link.name, self._place(link, frame.name), foot, np.zeros(3), radius)
        for child in children:
            yield from self._post(link.name, self._place(link, robot.parent_of(child.name)[1]), child)
        if robot.parent_of(link.name)[0] == GROUND:
            yield from self._post("", self.skeleton.base, link)

    def _is_end(self, link: str, frame: str) -> bool:
        robot = self.arm.robot
        return any(robot.resolve_frame(end) == (link, frame) for loop in robot.loops for end in loop.frames)

    def _post(self, link: str, place: int, child: Link) -> Iterator[Solid]:
        """From a place to the joint of a link, and the rail of a sliding one."""
        joint, radius = child.joint, 0.7 * self.unit
        at = joint.placement.vector()
        symbol = KINDS[joint.type].symbol
        if not symbol.floats and np.linalg.norm(at) > NEAR:
            yield self._bar(link, place, np.zeros(3), at, radius)
        if symbol.rail:
            way = joint.limits.position if joint.limits is not None and KINDS[joint.type].slides() else None
            low, high = way or (-0.5 * self.size, 0.5 * self.size)
            low, high = max(low, -self.size), min(high, self.size)
            axis = joint.placement.matrix() @ joint.axis_vector()
            yield self._bar(link, place, at + low * axis, at + high * axis, 0.5 * self.unit, "joint")

    def _bar(self, link: str, place: int, a: Array, b: Array, radius: float, kind: Kind = "rigid") -> Solid:
        return bar(link, kind, np.array([a, b]), radius, (place, place))

    # ---- what they carry

    def _carried(self, link: Link, member: Member) -> Iterator[Solid]:
        """Hubs and payloads about their centres of mass, smaller than they are where they would hide their beam."""
        largest = self._largest_load(link) / max(len(member.parts), 1)
        for part in member.parts:
            place = self._place(link, part.frame)
            drawn, axes = weight(link.name, part.mass, part.inertia, min(self.unit, largest))
            drawn = drawn.within(max(largest, 1.1 * self._thickness(link)))
            yield drawn.on(place, part.com, axes)
            if np.linalg.norm(part.com) > np.linalg.norm(drawn.offsets, axis=1).max():
                yield self._bar(link.name, place, np.zeros(3), part.com, 0.4 * self.unit, "load")

    def _largest_load(self, link: Link) -> float:
        """Half the size of what may stand on a link; without an axis it hides those of others."""
        return LARGEST_DRUM / 2 * (link.length if link.has_axis else self.size)

    def _joint(self, link: Link, member: Member) -> Iterator[Solid]:
        """A drum about the axis, a block on its rail, or a ball; as large as what it holds."""
        joint, place = member.joint, self.skeleton.link_place(link.name)
        origin = -joint.R_JB.T @ joint.p_JB
        size = max(1.5 * self.unit, 1.1 * self._thickness(link))
        if link.has_axis:
            # a short beam is seen beside its joint
            size = min(size, LARGEST_DRUM * link.length)
        symbol = joint.kind.symbol
        if symbol.drum:
            half = 1.15 * size * joint.axis_B
            yield bar(link.name, "joint", np.array([origin - half, origin + half]), size, (place, place))
        elif symbol.rail:
            yield block(link.name, "joint", np.full(3, 2 * size)).on(place, origin, joint.R_JB.T)
        elif symbol.plate:
            yield block(link.name, "joint", size * np.array([3.0, 3.0, 0.5])).on(place, origin, joint.R_JB.T)
        elif symbol.ball:
            yield ball(link.name, "joint", 1.2 * size).on(place, origin)

    def _thickness(self, link: Link) -> float:
        """Half the size of a link's outline at its root."""
        pieces = words_of(link, self.arm.robot).pieces()
        return float(np.linalg.norm(pieces[0].rings(0.0)[0], axis=1).max()) if pieces else 0.0


def joined(solids: list[Solid], kinds: tuple[Kind, ...]) -> Solid:
    """The solids of some kinds as one."""
    chosen = [solid for solid in solids if solid.kind in kinds]
    starts = np.cumsum([0, *(len(solid.offsets) for solid in chosen)])
    none: Ints = np.zeros(0, dtype=int)
    return Solid(
        "",
        kinds[0],
        np.concatenate([none, *(solid.places for solid in chosen)]),
        np.concatenate([np.zeros((0, 3)), *(solid.offsets for solid in chosen)]),
        np.concatenate([np.zeros((0, 3), dtype=int), *(s.faces + n for s, n in zip(chosen, starts, strict=False))]),
    )
