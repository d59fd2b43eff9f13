"""Pliant: dynamics of robots whose links bend. The public names, loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.analysis.equilibrium import Equilibrium, NoEquilibriumError, equilibrium
    from pliant.analysis.linearise import LinearModel, linearise
    from pliant.analysis.modes import ModeSet, modes
    from pliant.analysis.sensitivity import acceleration_sensitivity, force_sensitivity
    from pliant.analysis.zeros import zeros
    from pliant.bodies.build import build_body
    from pliant.bodies.carried import carried
    from pliant.bodies.modal_body import Attachment, ModalBody
    from pliant.dynamics import Dynamics, Energies, Momentum, Pose, Twist
    from pliant.export.c import generate_c
    from pliant.export.casadi import casadi_function
    from pliant.export.python import generate_python
    from pliant.formulations.lagrange.equations import Equations, equations
    from pliant.formulations.loops.errors import AssemblyError, LoopError, SingularConfigurationError
    from pliant.model.beams import Beam, Properties, Segment
    from pliant.model.discretisation import Damping, Elements, Family, Lumped, Modes
    from pliant.model.errors import ModelError, Problem, RepairWarning
    from pliant.model.inertia import Rigid, RigidPart
    from pliant.model.joints import Friction, Joint, Limits, Loop, Mimic, Motor, Spring
    from pliant.model.library import load, robots
    from pliant.model.links import Link
    from pliant.model.materials import Material
    from pliant.model.modal import ModalData
    from pliant.model.placement import Frame, Placement, Rotation
    from pliant.model.robot import Robot
    from pliant.model.section_shapes import AngleProfile, Box, ChannelProfile, CProfile, Polygon, ZProfile
    from pliant.model.sections import Ellipse, GeneralSection, IBeam, Rectangle, Round, Tube
    from pliant.results.result import Result
    from pliant.simulation.drives.callback import Callback
    from pliant.simulation.drives.controllers import PID, ComputedTorque
    from pliant.simulation.drives.drive import Sampling
    from pliant.simulation.drives.feed_forward import FeedForward
    from pliant.simulation.drives.given import GivenTorque
    from pliant.simulation.drives.prescribed import PrescribedMotion
    from pliant.simulation.events import Event
    from pliant.simulation.loads import Disturbance, Stops
    from pliant.simulation.run import SimulationWarning, run_study, simulate
    from pliant.simulation.start import Start
    from pliant.simulation.study import StrainPoint, Study, load_study
    from pliant.simulation.trajectories.cartesian import Circle, Line
    from pliant.simulation.trajectories.joint_moves import (
        Cycloidal,
        Hold,
        MohanSaha,
        Quintic,
        Spline,
        Steps,
        Trapezoidal,
    )
    from pliant.simulation.trajectories.kinds import Sequence

__version__ = "0.1.0"

# where each public name lives
_HOMES = {
    "pliant.analysis.equilibrium": ("Equilibrium", "NoEquilibriumError", "equilibrium"),
    "pliant.analysis.linearise": ("LinearModel", "linearise"),
    "pliant.analysis.modes": ("ModeSet", "modes"),
    "pliant.analysis.zeros": ("zeros",),
    "pliant.bodies.build": ("build_body",),
    "pliant.bodies.carried": ("carried",),
    "pliant.bodies.modal_body": ("Attachment", "ModalBody"),
    "pliant.dynamics": ("Dynamics", "Energies", "Momentum", "Pose", "Twist"),
    "pliant.export.c": ("generate_c",),
    "pliant.export.casadi": ("casadi_function",),
    "pliant.export.python": ("generate_python",),
    "pliant.formulations.lagrange.equations": ("Equations", "equations"),
    "pliant.formulations.loops.errors": ("AssemblyError", "LoopError", "SingularConfigurationError"),
    "pliant.model.beams": ("Beam", "Properties", "Segment"),
    "pliant.model.discretisation": ("Damping", "Elements", "Family", "Lumped", "Modes"),
    "pliant.model.errors": ("ModelError", "Problem", "RepairWarning"),
    "pliant.model.inertia": ("Rigid", "RigidPart"),
    "pliant.model.joints": ("Friction", "Joint", "Limits", "Loop", "Mimic", "Motor", "Spring"),
    "pliant.model.library": ("load", "robots"),
    "pliant.model.links": ("Link",),
    "pliant.model.materials": ("Material",),
    "pliant.model.modal": ("ModalData",),
    "pliant.model.placement": ("Frame", "Placement", "Rotation"),
    "pliant.model.robot": ("Robot",),
    "pliant.model.section_shapes": ("AngleProfile", "Box", "CProfile", "ChannelProfile", "Polygon", "ZProfile"),
    "pliant.model.sections": ("Ellipse", "GeneralSection", "IBeam", "Rectangle", "Round", "Tube"),
    "pliant.results.result": ("Result",),
    "pliant.analysis.sensitivity": ("acceleration_sensitivity", "force_sensitivity"),
    "pliant.simulation.drives.callback": ("Callback",),
    "pliant.simulation.drives.controllers": ("ComputedTorque", "PID"),
    "pliant.simulation.drives.drive": ("Sampling",),
    "pliant.simulation.drives.feed_forward": ("FeedForward",),
    "pliant.simulation.drives.given": ("GivenTorque",),
    "pliant.simulation.drives.prescribed": ("PrescribedMotion",),
    "pliant.simulation.events": ("Event",),
    "pliant.simulation.loads": ("Disturbance", "Stops"),
    "pliant.simulation.run": ("SimulationWarning", "run_study", "simulate"),
    "pliant.simulation.start": ("Start",),
    "pliant.simulation.study": ("StrainPoint", "Study", "load_study"),
    "pliant.simulation.trajectories.cartesian": ("Circle", "Line"),
    "pliant.simulation.trajectories.joint_moves": (
        *("Cycloidal", "Hold", "MohanSaha", "Quintic"),
        *("Spline", "Steps", "Trapezoidal"),
    ),
    "pliant.simulation.trajectories.kinds": ("Sequence",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "PID",
    "AngleProfile",
    "AssemblyError",
    "Attachment",
    "Beam",
    "Box",
    "CProfile",
    "Callback",
    "ChannelProfile",
    "Circle",
    "ComputedTorque",
    "Cycloidal",
    "Damping",
    "Disturbance",
    "Dynamics",
    "Elements",
    "Ellipse",
    "Energies",
    "Equations",
    "Equilibrium",
    "Event",
    "Family",
    "FeedForward",
    "Frame",
    "Friction",
    "GeneralSection",
    "GivenTorque",
    "Hold",
    "IBeam",
    "Joint",
    "Limits",
    "Line",
    "LinearModel",
    "Link",
    "Loop",
    "LoopError",
    "Lumped",
    "Material",
    "Mimic",
    "ModalBody",
    "ModalData",
    "ModeSet",
    "ModelError",
    "Modes",
    "MohanSaha",
    "Momentum",
    "Motor",
    "NoEquilibriumError",
    "Placement",
    "Polygon",
    "Pose",
    "PrescribedMotion",
    "Problem",
    "Properties",
    "Quintic",
    "Rectangle",
    "RepairWarning",
    "Result",
    "Rigid",
    "RigidPart",
    "Robot",
    "Rotation",
    "Round",
    "Sampling",
    "Segment",
    "Sequence",
    "SimulationWarning",
    "SingularConfigurationError",
    "Spline",
    "Spring",
    "Start",
    "Steps",
    "Stops",
    "StrainPoint",
    "Study",
    "Trapezoidal",
    "Tube",
    "Twist",
    "ZProfile",
    "__version__",
    "acceleration_sensitivity",
    "build_body",
    "carried",
    "casadi_function",
    "equations",
    "equilibrium",
    "force_sensitivity",
    "generate_c",
    "generate_python",
    "linearise",
    "load",
    "load_study",
    "modes",
    "robots",
    "run_study",
    "simulate",
    "zeros",
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
