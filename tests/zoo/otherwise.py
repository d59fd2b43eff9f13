"""The same physics, described otherwise: other orders, axes, units, and rigid twins."""

import numpy as np

from pliant import Beam, Elements, Placement, Robot, Rotation
from pliant.model import MATERIALS


def with_parents(given):
    """The links of a robot with their parents written out."""
    links = []
    for link in given.links:
        parent, frame = given.parent_of(link.name)
        joint = link.joint.with_changes(parent="base" if parent == "base" else f"{parent}.{frame}")
        links.append(link.with_changes(joint=joint))
    return links


def reordered(given, number=0):
    """The links in another order."""
    links = with_parents(given)
    return given.with_changes(links=[links[i] for i in np.random.default_rng(number).permutation(len(links))])


def moved(given, R, p):
    """The whole robot elsewhere: base placements and gravity turned by R, placements shifted by p."""
    links = []
    for link in with_parents(given):
        joint = link.joint
        if joint.parent == "base":
            place = Placement(
                position=R @ joint.placement.vector() + p,
                rotation=Rotation(matrix=(R @ joint.placement.matrix()).tolist()),
            )
            link = link.with_changes(joint=joint.with_changes(placement=place))
        links.append(link)
    return given.with_changes(links=links, gravity=(R @ np.array(given.gravity)).tolist())


def rigid_twin(given):
    """The same robot with links that do not bend; the inertia of the sections stays where it was on."""
    links = []
    for link in given.links:
        if link.beam is not None:
            sections = bool(link.beam.rotary_inertia) or "torsion" in link.beam.families
            keep = {k: v for k, v in link.beam.given().items() if k not in ("modes", "elements", "lumped", "damping")}
            link = link.with_changes(beam=Beam(**{**keep, "rigid": True, "rotary_inertia": sections}))
        links.append(link)
    return given.with_changes(links=links)


# exponents of metre and kilogram in the keys of a description
DIMENSIONS = {
    **dict.fromkeys(
        ("length", "position", "com", "x", "gravity", "width", "height", "outer", "thickness", "pitch"), (1, 0)
    ),
    **dict.fromkeys(("mass", "tip_mass"), (0, 1)),
    **dict.fromkeys(("inertia", "tip_inertia", "rotor_inertia"), (2, 1)),
    "mass_per_length": (-1, 1),
    **dict.fromkeys(("EIy", "EIz", "GJ"), (3, 1)),
    **dict.fromkeys(("EA", "kGAy", "kGAz", "rhoIy", "rhoIz", "rhoJ"), (1, 1)),
    **dict.fromkeys(("E", "G"), (-1, 1)),
    "density": (-3, 1),
}
REVOLUTE = dict.fromkeys(("stiffness", "damping", "viscous", "coulomb"), (2, 1))
SLIDING = {
    **dict.fromkeys(("stiffness", "damping", "viscous"), (0, 1)),
    "coulomb": (1, 1),
    **dict.fromkeys(("smoothing", "rest"), (1, 0)),
    "gear_ratio": (-1, 0),
}


def in_units(given, metre, kilogram):
    """The description with its numbers in other units: a length of 1 m is written as ``metre``, and so on."""
    data = {**given.model_dump(exclude_unset=True), "gravity": given.gravity}

    def factor(dimension):
        return metre ** dimension[0] * kilogram ** dimension[1]

    def walk(value, key, known):
        if key in ("rotation", "rayleigh", "modal"):
            return value
        if key == "material" and isinstance(value, str):
            material = MATERIALS[value]
            value = {"E": material.E, "G": material.G, "density": material.density}
        if isinstance(value, dict):
            if "axis" in value or "actuated" in value or "type" in value:
                known = SLIDING if value.get("type") == "prismatic" else REVOLUTE
            return {k: walk(v, k, known) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [walk(v, key, known) for v in value]
        dimension = known.get(key, DIMENSIONS.get(key))
        number = isinstance(value, float | int) and not isinstance(value, bool)
        return value * factor(dimension) if number and dimension else value

    return Robot.model_validate(walk(data, "", {}))


def coordinate_units(arm, metre):
    """What 1 of each coordinate becomes in other units: lengths change, angles do not."""
    out = []
    kinds = {}
    for link in arm.robot.links:
        joint = link.joint
        for name in joint.coordinates:
            slides = joint.type == "prismatic" or name.endswith((".x", ".y", ".z"))
            kinds[name] = metre if slides else 1.0
        nodal = link.beam is not None and (link.beam.elements or link.beam.lumped)
        for name in arm.names:
            if not name.startswith(f"{link.name}.") or name in kinds:
                continue
            family, number = name.removeprefix(f"{link.name}.").rsplit(".", 1)
            turns = family == "torsion"
            if nodal and family.startswith("bend"):
                modes = nodal.reduce.modes if isinstance(nodal, Elements) else 0
                turns = int(number) > modes and (int(number) - modes) % 2 == 0
            kinds[name] = 1.0 if turns else metre
    for name in arm.names:
        out.append(kinds[name])
    return np.array(out)
