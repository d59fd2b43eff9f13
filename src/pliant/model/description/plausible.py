"""What the description of a robot alone tells about its sense: numbers that no real robot has.

They are allowed, since a study may want them, but they are nearly always a wrong unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import pi, sqrt

import numpy as np

from pliant.model.description.beam_constants import LocalProperties
from pliant.model.description.beams import PROBES, Beam
from pliant.model.description.discretisation import user_shape
from pliant.model.description.links import Link
from pliant.model.description.materials import Material
from pliant.model.description.outline import BASE
from pliant.model.description.robot import Robot
from pliant.model.once import once_per_element

SOFTEST, STIFFEST = 1e4, 1.3e12
"""Young's moduli of solids, Pa: from soft gels to diamond."""
LIGHTEST, HEAVIEST = 1.0, 23e3
"""Densities of solids, kg/m^3: from aerogels to osmium."""
MOST_TURNS = 2
"""Turns of a joint in a reference pose."""
STRONGEST_GRAVITY = 300.0
"""m/s^2; that of the sun is 274."""
THINNEST = 1e4
"""Length over height of a beam above which it is a thread: a strip of 0.5 mm would be 5 m long."""
AT_JOINT = 1e-9
"""Part of its largest value that a shape may have at the joint: what rounding leaves of zero."""
INSIDE = 1e-6
"""Part of a beam at each end that is no inside of its span."""
SLENDER = 4.0
"""Length over height of a beam below which shear adds 5 % and more to its bending."""


def description_limits(robot: Robot) -> list[str]:
    """What in the description is beyond the limits of the model or of real things, in words."""
    joints = (text for link in robot.links for text in _drive(link))
    return [*_gravity(robot), *_pose(robot), *joints, *(text for link in robot.links for text in _link(link))]


def cuts_proposed(robot: Robot, pushed: Mapping[str, str] | None = None) -> Iterator[str]:
    """Beams with smooth shapes on which something acts inside their span, where they should be cut.

    pushed  frame -> what acts there, in words; actuators along lines are known
    """
    acting = {
        place: f"actuator '{actuator.name}'"
        for actuator in robot.actuators
        for place in actuator.places
        if isinstance(place, str)
    }
    found: dict[str, dict[float, str]] = {}
    for reference, what in {**acting, **(pushed or {})}.items():
        name, frame = robot.resolve_frame(robot.tip or robot.links[-1].name if reference == "tip" else reference)
        link = None if name == BASE else robot.link(name)
        if link is None or link.beam is None or not link.is_flexible or link.beam.elements or link.beam.lumped:
            continue
        x = link.frame(frame).x
        if x is not None and INSIDE * link.length < x < (1 - INSIDE) * link.length:
            found.setdefault(name, {})[x] = what
    for name, places in found.items():
        listed = ", ".join(f"{x:g} m" for x in sorted(places))
        yield (
            f"link '{name}': {' and '.join(dict.fromkeys(places.values()))} acts inside its span, where smooth shapes "
            f"follow slowly: write pieces: {{at: [{listed}]}}, or elements"
        )


def _gravity(robot: Robot) -> Iterator[str]:
    size = sqrt(sum(x * x for x in robot.gravity))
    if size > STRONGEST_GRAVITY:
        yield f"gravity is {size:.4g} m/s²; above {STRONGEST_GRAVITY:g} it is nowhere: is it in another unit?"


def _pose(robot: Robot) -> Iterator[str]:
    revolute = {link.joint.name for link in robot.links if link.joint.mechanics.turns()}
    for joint in (link.joint for link in robot.links if link.joint.mechanics.rotation_vector is not None):
        turn = sqrt(sum(robot.pose.get(name, 0.0) ** 2 for name in joint.coordinates[-3:]))
        if turn > pi:
            yield (
                f"joint '{joint.name}': the rotation vector of its reference pose is {turn:.4g} rad long, more than "
                "half a turn; give the shorter one of the same rotation, or write deg if degrees are meant"
            )
    for name, value in robot.pose.items():
        if name in revolute and abs(value) > MOST_TURNS * 2 * pi:
            yield f"joint '{name}': its reference pose is {turn_words(value)}"


def turn_words(value: float) -> str:
    """An angle of many turns, and what it may have been meant to be."""
    return f"{value:g} rad, which is {abs(value) / (2 * pi):.3g} turns; write '{value:g} deg' if degrees are meant"


def _drive(link: Link) -> Iterator[str]:
    joint = link.joint
    if joint.motor is not None and joint.spring is not None and joint.spring.stiffness:
        yield (
            f"joint '{joint.name}': its spring acts beside its motor, between the same two links, as one that carries "
            "weight does; while the motor holds the joint it does nothing. Of a joint that twists behind its gear, "
            "leave the motor on the joint of a link without a body, and give the spring to a passive joint between it "
            f"and '{link.name}'"
        )


def _link(link: Link) -> Iterator[str]:
    if link.beam is None or not link.beam.is_flexible:
        return
    for material in dict.fromkeys(part.material for part in link.beam.parts()):
        if isinstance(material, Material):
            yield from _material(link, material)
    yield from _slenderness(link, link.beam)
    yield from _roots(link, link.beam)


def _roots(link: Link, beam: Beam) -> Iterator[str]:
    """Shapes of a user that do not vanish at the joint."""
    for name, family in (beam.modes.families() if beam.modes is not None else {}).items():
        for text in family.expressions or ():
            values = np.abs(np.broadcast_to(user_shape(text)(PROBES * beam.length, beam.length)[0], PROBES.shape))
            if values[0] > AT_JOINT * values.max():
                what = f"'{text}'" if isinstance(text, str) else "a function"
                yield (
                    f"link '{link.name}': the {name} shape {what} is {values[0]:.3g} at x = 0, where it must vanish: "
                    "the link would leave its joint; subtract its value there"
                )


def _material(link: Link, material: Material) -> Iterator[str]:
    if not SOFTEST <= material.E <= STIFFEST:
        yield (
            f"link '{link.name}': E is {material.E:.4g} Pa; solids have {SOFTEST:.0e} to {STIFFEST:.1e} Pa"
            + (f": write '{material.E:g} GPa' if that is meant" if material.E < SOFTEST else "")
        )
    if not LIGHTEST <= material.density <= HEAVIEST:
        yield (
            f"link '{link.name}': its density is {material.density:.4g} kg/m³; solids have {LIGHTEST:g} to "
            f"{HEAVIEST:g}: write '{material.density:g} g/cm^3' if that is meant"
        )


@once_per_element
def _root(beam: Beam) -> LocalProperties:
    return beam.at(0.0)


def _slenderness(link: Link, beam: Beam) -> Iterator[str]:
    """Beam theory needs a beam: its height, that of the rectangle of the same EI/EA, against its length."""
    shear = beam.elements is not None and beam.elements.timoshenko
    root = _root(beam)
    for family, EI in (("bend_y", root.EIz), ("bend_z", root.EIy)):
        if family not in beam.families or EI is None or root.EA is None:
            continue
        height = sqrt(12 * float(EI) / float(root.EA))
        if height > beam.length:
            yield (
                f"link '{link.name}': its section is {height:.3g} m high for {family}, more than its length of "
                f"{beam.length:g} m; that is no beam: make the link rigid, or check the units of the section"
            )
        elif beam.length > THINNEST * height:
            yield (
                f"link '{link.name}': its length of {beam.length:g} m is {beam.length / height:.2g} times its height "
                f"for {family}; check the units of the length and of the section"
            )
        elif beam.length < SLENDER * height and not shear:
            yield (
                f"link '{link.name}': its length of {beam.length:g} m is only {beam.length / height:.2g} times its "
                f"height for {family}; shear counts there: use elements with timoshenko: true, or make it rigid"
            )
