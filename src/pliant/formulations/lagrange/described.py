"""The words of a robot's description in the equations: names of coordinates, numbers as they were written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.modal_body import ModalBody
from pliant.formulations.lagrange.bodies import LATEX_LETTERS, LETTERS, LinkNames
from pliant.formulations.lagrange.names import Coordinate
from pliant.formulations.lagrange.sections import WHOLE
from pliant.mechanism import Member, Part

if TYPE_CHECKING:
    from pliant.model.description.links import Link


def attitude_coordinates(member: Member, own: LinkNames) -> list[Coordinate]:
    """Those of a joint that turns any way: the shifts of a free one, then the rotation vector."""
    out = []
    for robot_name in member.coordinates[: len(member.coordinates) - member.body.size]:
        letter = robot_name.rpartition(".")[2]
        slides = len(letter) == 1
        unit, word = ("m", "position") if slides else ("rad", "rotation vector")
        name, latex = (f"p{letter}", f"p_{{{letter}") if slides else (letter, f"r_{{{letter[1:]}")
        meaning = f"{word} of joint '{member.joint.name}' along {letter[-1]}"
        out.append(Coordinate(robot_name, f"{name}_{own.number}", f"{latex}{own.number}}}", unit, meaning))
    return out


def elastic_coordinates(member: Member, own: LinkNames) -> list[Coordinate]:
    """Those of a member's body."""
    out = []
    names = member.coordinates[len(member.coordinates) - member.body.size :]
    for name, robot_name in zip(member.body.names, names, strict=True):
        family, _, number = name.rpartition(".")
        letter, label = LETTERS.get(family, "e"), number
        if not number.isdigit() or family not in (*LETTERS, "mode"):
            label = name.replace(".", "_")
        latex = f"{LATEX_LETTERS.get(letter, letter)}_{{{own.number},{label.replace('_', '.')}}}"
        unit = "rad" if family == "torsion" else "m"
        meaning = f"elastic coordinate {name} of {own.link}"
        out.append(Coordinate(robot_name, f"{letter}_{own.number}_{label}", latex, unit, meaning))
    return out


def rigid_part(body: ModalBody, link: Link) -> Part:
    """Mass, centre of mass and inertia about it of a rigid link: as written down where that is this body."""
    com = body.first / body.mass if body.mass else np.zeros(3)
    at_com = body.I_rr - body.mass * (com @ com * np.eye(3) - np.outer(com, com))
    given = link.rigid
    if given is not None and given.mass == body.mass:
        # going to the origin and back leaves rounding beside round numbers
        written, size = given.inertia_matrix(), np.abs(body.I_rr).max(initial=0.0)
        same_com = np.abs(given.com_vector() - com).max() <= WHOLE * max(np.abs(com).max(), WHOLE)
        if same_com and np.abs(written - at_com).max() <= WHOLE * size:
            return Part("", "", body.mass, given.com_vector(), written)
    return Part("", "", body.mass, com, at_com)
