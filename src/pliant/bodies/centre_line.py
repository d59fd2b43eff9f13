"""A bent beam in its own frame B: its centre line, and the strain beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.build import shape_sets
from pliant.bodies.curved_axis import curve_of
from pliant.bodies.families import MOTIONS, X
from pliant.bodies.foreshortening import shortening_of
from pliant.bodies.modal_body import Array
from pliant.bodies.profile import beam_profile
from pliant.bodies.rod_build import rod_line

if TYPE_CHECKING:
    from pliant.model.links import Link
    from pliant.model.robot import Robot


def centre_line(link: Link, robot: Robot, q_e: Array, x: Array) -> Array:
    """Points (..., stations, 3) of a beam's axis at stations x (stations,) for elastic coordinates (..., n), in B."""
    sets = shape_sets(link, robot)
    beam = link.beam
    bends = beam is not None and any(MOTIONS[s.family].shear is not None for s in sets)
    if beam is not None and bends and beam.bending == "exact":
        profile = beam_profile(beam.with_materials(robot.materials))
        return rod_line(sets, profile, q_e, x, stations=beam.stations, curvature=curve_of(beam))
    shapes = np.zeros((len(x), 3, sum(family.size for family in sets)))
    start = 0
    for family in sets:
        axis = MOTIONS[family.family].value
        if axis is not None:
            shapes[:, axis, start : start + family.size] = family.sample(x).value.T
        start += family.size
    points = np.einsum("sdk,...k->...sd", shapes, q_e)
    points[..., X] += x
    if beam is not None and bends and beam.bending == "second-order":
        G = shortening_of(sets, beam_profile(beam.with_materials(robot.materials)), x)
        points[..., X] += 0.5 * np.einsum("sik,...i,...k->...s", G, q_e, q_e)
    return np.asarray(points)


def axial_strain(link: Link, robot: Robot, place: tuple[float, float, float], q_e: Array) -> Array:
    """u' - y u_y'' - z u_z'' (...) at a place (x, y, z) of a beam."""
    x, y, z = place
    levers = {"bend_y": -y, "bend_z": -z, "axial": 1.0}
    rows = [levers.get(s.family, 0.0) * s.sample(np.array([x])).strain[:, 0] for s in shape_sets(link, robot)]
    return np.asarray(q_e @ np.concatenate(rows))
