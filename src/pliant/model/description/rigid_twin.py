"""The rigid twin of a robot: the model that a controller of a stiff robot would use."""

from __future__ import annotations

import numpy as np

from pliant.model.description.inertia import Rigid
from pliant.model.description.links import Link
from pliant.model.description.placement import Frame
from pliant.model.description.robot import Robot
from pliant.model.once import once_per_element


@once_per_element
def rigid_twin(robot: Robot) -> Robot:
    """The robot with links that do not bend; mass, inertia, joints and loads stay."""
    # of a robot that was checked; nothing that refers to its links changes, but for gauges on them
    return robot.model_copy(update={"links": tuple(_stiff(link) for link in robot.links), "sensors": ()})


def _stiff(link: Link) -> Link:
    if link.modal is not None:
        return _without_modes(link)
    if link.body is not None and link.is_flexible:
        return link.with_body(link.body.stiffened())
    return link


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
