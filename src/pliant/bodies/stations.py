"""Places along a link with their mass and their motion: what procedures need that go section by section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.build import shape_sets
from pliant.bodies.invariants import attachment
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.profile import beam_profile
from pliant.bodies.quadrature import TAPER_POINTS, gauss, merge_breaks

if TYPE_CHECKING:
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot


@dataclass(frozen=True, slots=True)
class Station:
    """A section of a beam, or the centre of mass of a rigid link: where it is, how it moves, and what it weighs.

    mass      kg      of the piece that it stands for
    J         kg m^2  (3, 3), link axes
    position  m       (3,) in the link frame
    slides            (3, n) displacement per elastic coordinate
    turns     rad     (3, n) section angles per elastic coordinate
    """

    mass: float
    J: Array
    position: Array
    slides: Array
    turns: Array


GROUND_STATION = Station(0.0, np.zeros((3, 3)), np.zeros(3), np.zeros((3, 0)), np.zeros((3, 0)))
"""A place on the base."""


def station_of(body: ModalBody, frame: str) -> tuple[Station, Array, Array]:
    """The section that carries a frame of a body, without mass; place (3,) and axes (3, 3) of the frame on it."""
    at = body.frames[frame]
    return Station(0.0, np.zeros((3, 3)), at.point, at.slides, at.Phi_r), at.offset, at.rotation


def rigid_station(body: ModalBody) -> Station:
    """The centre of mass of a rigid body."""
    com = body.first / body.mass
    J = body.I_rr - body.mass * (com @ com * np.eye(3) - np.outer(com, com))
    return Station(body.mass, J, com, np.zeros((3, 0)), np.zeros((3, 0)))


def beam_station(link: Link, robot: Robot, x: float) -> Station:
    """The section at x of a beam, without mass."""
    at = attachment(shape_sets(link, robot), x)
    return Station(0.0, np.zeros((3, 3)), at.position, at.Phi_d, at.Phi_r)


def beam_stations(link: Link, robot: Robot) -> list[Station]:
    """Sections of a beam at the Gauss points of its integrals; their inertia where the beam has rotary inertia."""
    assert link.beam is not None
    sets, profile = shape_sets(link, robot), beam_profile(link.beam.with_materials(robot.materials))
    breaks = merge_breaks(profile.breaks, *(shapes.breaks for shapes in sets), length=profile.length)
    x, weights = gauss(breaks, max((shapes.points for shapes in sets), default=2) + TAPER_POINTS)
    section = profile.at(x)
    turning = bool(link.beam.rotary_inertia) or "torsion" in link.beam.families
    masses, moments = weights * section.rhoA, section.discs(weights) * float(turning)
    places = [attachment(sets, each) for each in x]
    return [
        Station(float(m), np.diag(J), at.position, at.Phi_d, at.Phi_r)
        for m, J, at in zip(masses, moments, places, strict=True)
    ]
