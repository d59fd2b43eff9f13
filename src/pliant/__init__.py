"""Pliant: dynamics of robots whose links bend. The public names, loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.bodies.build import build_body
    from pliant.bodies.carried import carried
    from pliant.bodies.modal_body import Attachment, ModalBody
    from pliant.dynamics import Dynamics, Energies, Momentum, Pose, Twist
    from pliant.model.beams import Beam, Properties, Segment
    from pliant.model.discretisation import Damping, Elements, Family, Lumped, Modes
    from pliant.model.errors import ModelError, Problem
    from pliant.model.inertia import Rigid, RigidPart
    from pliant.model.joints import Friction, Joint, Limits, Loop, Motor, Spring
    from pliant.model.library import load, robots
    from pliant.model.links import Link
    from pliant.model.materials import Material
    from pliant.model.modal import ModalData
    from pliant.model.placement import Frame, Placement, Rotation
    from pliant.model.robot import Robot
    from pliant.model.sections import GeneralSection, IBeam, Rectangle, Round, Tube
    from pliant.sensitivity import acceleration_sensitivity, force_sensitivity

__version__ = "0.1.0"

# where each public name lives
_HOMES = {
    "pliant.bodies.build": ("build_body",),
    "pliant.bodies.carried": ("carried",),
    "pliant.bodies.modal_body": ("Attachment", "ModalBody"),
    "pliant.dynamics": ("Dynamics", "Energies", "Momentum", "Pose", "Twist"),
    "pliant.model.beams": ("Beam", "Properties", "Segment"),
    "pliant.model.discretisation": ("Damping", "Elements", "Family", "Lumped", "Modes"),
    "pliant.model.errors": ("ModelError", "Problem"),
    "pliant.model.inertia": ("Rigid", "RigidPart"),
    "pliant.model.joints": ("Friction", "Joint", "Limits", "Loop", "Motor", "Spring"),
    "pliant.model.library": ("load", "robots"),
    "pliant.model.links": ("Link",),
    "pliant.model.materials": ("Material",),
    "pliant.model.modal": ("ModalData",),
    "pliant.model.placement": ("Frame", "Placement", "Rotation"),
    "pliant.model.robot": ("Robot",),
    "pliant.model.sections": ("GeneralSection", "IBeam", "Rectangle", "Round", "Tube"),
    "pliant.sensitivity": ("acceleration_sensitivity", "force_sensitivity"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Attachment",
    "Beam",
    "Damping",
    "Dynamics",
    "Elements",
    "Energies",
    "Family",
    "Frame",
    "Friction",
    "GeneralSection",
    "IBeam",
    "Joint",
    "Limits",
    "Link",
    "Loop",
    "Lumped",
    "Material",
    "ModalBody",
    "ModalData",
    "ModelError",
    "Modes",
    "Momentum",
    "Motor",
    "Placement",
    "Pose",
    "Problem",
    "Properties",
    "Rectangle",
    "Rigid",
    "RigidPart",
    "Robot",
    "Rotation",
    "Round",
    "Segment",
    "Spring",
    "Tube",
    "Twist",
    "__version__",
    "acceleration_sensitivity",
    "build_body",
    "carried",
    "force_sensitivity",
    "load",
    "robots",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'pliant' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
