"""What the tip of a link carries: the mass and inertia of everything outboard, in the reference pose.

The bodies are taken undeformed and their joints locked. Only what sits on the tip section counts: own
payloads there, and the links attached to frames there. Closures of loops are not followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.families import FAMILIES
from pliant.bodies.modal_body import Array, ModalBody, hat
from pliant.bodies.words import words_of
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.model.description.discretisation import Family
    from pliant.model.description.inertia import RigidMass
    from pliant.model.description.joints import Joint
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

Pose = tuple[Array, Array]

UNIT = np.eye(3)
ROUNDING = 1e-13
"""Couplings of a load below this part of the masses they couple are rounding of its place."""


@dataclass(frozen=True, slots=True)
class CarriedMass:
    """Moments of a rigid mass in some frame: int r r^T dm (4, 4) of places r = (x, y, z, 1), kg m^2, kg m and kg."""

    moments: Array

    @classmethod
    def of(cls, mass: float, first: Array | float, second: Array) -> CarriedMass:
        """From mass, int r dm (3,) and int r r^T dm (3, 3)."""
        P = np.empty((4, 4))
        P[:3, :3], P[3, :3], P[:3, 3], P[3, 3] = second, first, first, mass
        return cls(P)

    @classmethod
    def from_inertia(cls, mass: float, first: Array | float, about_origin: Array) -> CarriedMass:
        """From mass, first moment and the inertia about the origin."""
        return cls.of(mass, first, about_origin.trace() / 2 * UNIT - about_origin)

    @property
    def mass(self) -> float:
        """m, kg."""
        return float(self.moments[3, 3])

    @property
    def first(self) -> Array:
        """int r dm, kg m (3,)."""
        return np.asarray(self.moments[:3, 3])

    @property
    def second(self) -> Array:
        """int r r^T dm, kg m^2 (3, 3)."""
        return np.asarray(self.moments[:3, :3])

    @property
    def inertia(self) -> Array:
        """Inertia about the origin, kg m^2 (3, 3)."""
        return np.asarray(self.second.trace() * UNIT - self.second)

    def inertia_about(self, axis: int) -> float:
        """Moment of inertia about x, y or z (0, 1 or 2) through the origin, kg m^2."""
        j, k = (axis + 1) % 3, (axis + 2) % 3
        return float(self.moments[j, j] + self.moments[k, k])

    def __add__(self, other: CarriedMass) -> CarriedMass:
        return CarriedMass(self.moments + other.moments)

    def seen_from(self, pose: Pose) -> CarriedMass:
        """The mass in a frame in which its own frame has this position and rotation."""
        p, R = pose
        T = np.zeros((4, 4))
        T[:3, :3], T[:3, 3], T[3, 3] = R, p, 1.0
        return CarriedMass(T @ self.moments @ T.T)

    def shifted(self, p: Array) -> CarriedMass:
        """The mass in a frame with the same axes, in which the origin of its own frame is at p."""
        return self.seen_from((p, UNIT))


NOTHING = CarriedMass(np.zeros((4, 4)))


def carried(robot: Robot, link_name: str) -> CarriedMass:
    """Mass (kg) and inertia (kg m^2) on the tip of the link ``link_name``, about the tip and in the axes of the link.

    ``inertia[2, 2]`` loads bending in y, ``inertia[1, 1]`` bending in z, ``inertia[0, 0]`` torsion.
    """
    return _carried(robot, link_name)


@once_per_element
def _carried(robot: Robot, link_name: str) -> CarriedMass:
    return _tip_load(robot.link(link_name), _mounted_by_frame(robot)[link_name])


def own_load(link: Link) -> CarriedMass:
    """Mass and inertia of the payloads on the tip section of a link, about the tip and in the axes of the link."""
    return _tip_load(link, _payloads(link))


def mounted(link: Link, robot: Robot | None) -> dict[str, CarriedMass]:
    """What each frame of a link carries, about the link's origin and in its axes: payloads and outboard links.

    Without a robot that has the link only its own payloads count.
    """
    known = robot is not None and link.name in robot.link_names
    return dict(_mounted_by_frame(robot)[link.name] if robot is not None and known else _payloads(link))


def mounted_in_pose(robot: Robot, pose: Mapping[str, float]) -> dict[str, dict[str, CarriedMass]]:
    """What each frame of each link carries, by their names, in another pose; coordinates without a value are zero."""
    return _mounted(robot, pose)


def tip_load(name: str, family: Family, load: CarriedMass | None) -> tuple[float, float]:
    """Mass and inertia at the tip of a beam as the modes of a family know them."""
    if load is None or family.shape != "clamped-mass":
        return 0.0, 0.0
    about = FAMILIES[name].turns_about
    mass, moment = family.tip_mass, family.tip_inertia
    return (
        mass if isinstance(mass, float) else load.mass,
        moment if isinstance(moment, float) else load.inertia_about(about),
    )


def frame_pose(link: Link, name: str) -> Pose:
    """Position (3,) and rotation (3, 3) of a frame in the undeformed link."""
    return _frame_pose(link, name)


@once_per_element
def _frame_pose(link: Link, name: str) -> Pose:
    return _held(*words_of(link).frame_pose(name))


def joint_pose(joint: Joint, values: Mapping[str, float]) -> Pose:
    """Link frame in the frame that carries the joint, at joint coordinates by name."""
    return _joint_pose(joint, tuple((name, values[name]) for name in joint.coordinates if name in values))


@once_per_element
def _joint_pose(joint: Joint, values: tuple[tuple[str, float], ...]) -> Pose:
    slide, turn = joint.moved(dict(values))
    R = joint.placement.matrix()
    p = joint.placement.vector() + R @ (slide + turn @ joint.child_placement.vector())
    return _held(p, R @ turn @ joint.child_placement.matrix())


def _held(p: Array, R: Array) -> Pose:
    """Whoever has the same link or joint has the same arrays."""
    p.flags.writeable = R.flags.writeable = False
    return p, R


@once_per_element
def _mounted_by_frame(robot: Robot) -> dict[str, dict[str, CarriedMass]]:
    return _mounted(robot, robot.reference_coordinates())


def _mounted(robot: Robot, at: Mapping[str, float]) -> dict[str, dict[str, CarriedMass]]:
    """Per link and frame: payloads and outboard links, in the link frame; one pass from the tips inwards."""
    mounted = {link.name: dict(_payloads(link)) for link in robot.links}
    links = {link.name: link for link in robot.links}
    for link in reversed(robot.links):
        parent, frame = robot.parent_of(link.name)
        if parent not in links:
            continue
        whole = sum(mounted[link.name].values(), _body(link))
        pose = joint_pose(link.joint, at)
        load = whole.seen_from(pose).seen_from(frame_pose(links[parent], frame))
        mounted[parent][frame] = mounted[parent].get(frame, NOTHING) + load
    return mounted


@once_per_element
def _payloads(link: Link) -> Mapping[str, CarriedMass]:
    loads: dict[str, CarriedMass] = {}
    for payload in link.payloads:
        frame = payload.frame or "tip"
        loads[frame] = loads.get(frame, NOTHING) + rigid_mass(payload).seen_from(frame_pose(link, frame))
    return loads


def _tip_load(link: Link, mounted: Mapping[str, CarriedMass]) -> CarriedMass:
    words = words_of(link)
    on_tip = (load for frame, load in mounted.items() if words.is_on_tip(frame))
    tip = frame_pose(link, "tip")[0]
    return sum(on_tip, NOTHING).shifted(-tip)


def _body(link: Link) -> CarriedMass:
    """The link itself with its hub, in the link frame."""
    load = NOTHING if link.hub is None else rigid_mass(link.hub)
    return load if link.body is None else load + words_of(link).rest()


@once_per_element
def rigid_mass(part: RigidMass) -> CarriedMass:
    """A rigid part in the frame that carries it."""
    about_com = CarriedMass.from_inertia(part.mass, 0.0, part.inertia_matrix())
    return about_com.shifted(part.com_vector()) if any(part.com) else about_com


def loaded_mass(body: ModalBody, loads: Mapping[str, CarriedMass]) -> Array:
    """Mass of the elastic coordinates (n, n) of a body that carries rigid loads on its frames."""
    M = body.straight_mass
    if not loads:
        return M
    on_frames = ((load, body.frames[name]) for name, load in loads.items())
    added = sum(load_mass(load, at.position, at.Phi_d, at.Phi_r) for load, at in on_frames)
    size = np.sqrt((M + added).diagonal())
    return M + np.where(np.abs(added) <= ROUNDING * (size[:, None] * size), 0.0, added)


def load_mass(load: CarriedMass, at: Array, Phi_d: Array, Phi_r: Array) -> Array:
    """Mass (n, n) of a rigid load on a section at a place, which shapes (3, n) move and turn; all in B."""
    # a shape moves a place r of the load by H (r, 1)
    n = Phi_d.shape[1]
    H = np.empty((n, 3, 4))
    H[:, :, :3] = turn = hat(Phi_r.T)
    H[:, :, 3] = Phi_d.T - turn @ at
    return np.asarray((H @ load.moments).reshape(n, 12) @ H.reshape(n, 12).T)
