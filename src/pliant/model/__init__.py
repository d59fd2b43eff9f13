"""The robot description: its classes, its files and their errors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.errors import ModelError, Problem, RepairWarning
    from pliant.model.description.beam_constants import LocalProperties, Properties
    from pliant.model.description.beams import Beam, Segment
    from pliant.model.description.discretisation import Damping, Elements, Family, Lumped, Modes, Rayleigh, Reduction
    from pliant.model.description.inertia import Rigid, RigidPart
    from pliant.model.description.joints import Friction, Joint, Limits, Loop, Mimic, Motor, Spring
    from pliant.model.description.links import Link
    from pliant.model.description.materials import MATERIALS, Material
    from pliant.model.description.modal import ModalData, ModalFrame
    from pliant.model.description.placement import Frame, Placement, Rotation
    from pliant.model.description.robot import Robot
    from pliant.model.sections.section_shapes import AngleProfile, Box, ChannelProfile, CProfile, Polygon, ZProfile
    from pliant.model.sections.sections import Ellipse, GeneralSection, IBeam, Rectangle, Round, Tube

# where each name lives; loaded on first use, because pydantic takes its time
_HOMES = {
    "description.beam_constants": ("LocalProperties", "Properties"),
    "description.beams": ("Beam", "Segment"),
    "description.discretisation": ("Damping", "Elements", "Family", "Lumped", "Modes", "Rayleigh", "Reduction"),
    "description.inertia": ("Rigid", "RigidPart"),
    "description.joints": ("Friction", "Joint", "Limits", "Loop", "Mimic", "Motor", "Spring"),
    "description.links": ("Link",),
    "description.materials": ("MATERIALS", "Material"),
    "description.modal": ("ModalData", "ModalFrame"),
    "description.placement": ("Frame", "Placement", "Rotation"),
    "description.robot": ("Robot",),
    "sections.section_shapes": ("AngleProfile", "Box", "CProfile", "ChannelProfile", "Polygon", "ZProfile"),
    "sections.sections": ("Ellipse", "GeneralSection", "IBeam", "Rectangle", "Round", "Tube"),
}
_ERRORS = ("ModelError", "Problem", "RepairWarning")
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "MATERIALS",
    "AngleProfile",
    "Beam",
    "Box",
    "CProfile",
    "ChannelProfile",
    "Damping",
    "Elements",
    "Ellipse",
    "Family",
    "Frame",
    "Friction",
    "GeneralSection",
    "IBeam",
    "Joint",
    "Limits",
    "Link",
    "LocalProperties",
    "Loop",
    "Lumped",
    "Material",
    "Mimic",
    "ModalData",
    "ModalFrame",
    "ModelError",
    "Modes",
    "Motor",
    "Placement",
    "Polygon",
    "Problem",
    "Properties",
    "Rayleigh",
    "Rectangle",
    "Reduction",
    "RepairWarning",
    "Rigid",
    "RigidPart",
    "Robot",
    "Rotation",
    "Round",
    "Segment",
    "Spring",
    "Tube",
    "ZProfile",
]


def __getattr__(name: str) -> Any:
    if name in _ERRORS:
        return getattr(import_module("pliant.errors"), name)
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pliant.model' has no attribute '{name}'")
    return getattr(import_module(f"pliant.model.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
