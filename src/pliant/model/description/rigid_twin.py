"""The rigid twin of a robot: the model that a controller of a stiff robot would use."""

from __future__ import annotations

import numpy as np

from pliant.model.description.beams import Beam
from pliant.model.description.inertia import Rigid
from pliant.model.description.links import Link
from pliant.model.description.placement import Frame
from pliant.model.description.robot import Robot
from pliant.model.once import once_per_element


@once_per_element
def rigid_twin(robot: Robot) -> Robot:
    """The robot with links that do not bend; mass, inertia, joints and loads stay."""
    # of a robot that was checked; nothing that refers to its links changes
    return robot.model_copy(update={"links": tuple(_stiff(link) for link in robot.links)})


def _stiff(link: Link) -> Link:
    if link.beam is not None and link.beam.is_flexible:
        return link.model_copy(update={"beam": _stiff_beam(link.beam)})
    if link.modal is not None:
        return _without_modes(link)
    return link


@once_per_element
def _stiff_beam(beam: Beam) -> Beam:
    # torsion brings the inertia of the sections along, which the twin keeps
    sections = bool(beam.rotary_inertia) or "torsion" in beam.families
    dropped = ("modes", "elements", "lumped", "damping", "bending", "stations", "rotary_inertia")
    kept = {key: value for key, value in beam.given().items() if key not in dropped}
    return type(beam)(**kept, rigid=True, rotary_inertia=sections)


def _without_modes(link: Link) -> Link:
    modal = link.modal
    assert modal is not None
    mass, first, about_root = modal.mass, modal.array("first"), modal.array("I_rr")
    com = first / mass if mass else np.zeros(3)
    inertia = about_root - mass * (com @ com * np.eye(3) - np.outer(com, com))
    body = Rigid(mass=mass, com=com.tolist(), inertia=inertia.tolist())
    frames = tuple(
        Frame(name=name, position=given.position, rotation=given.rotation)
        for name, given in modal.frames.items()
        if name != "root"
    )
    kept = {key: value for key, value in link.given().items() if key not in ("modal", "frames")}
    return Link(**kept, rigid=body, frames=frames)
