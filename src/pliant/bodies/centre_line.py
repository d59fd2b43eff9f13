"""A bent beam in its own frame B: its centre line, and the strain beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.build import shape_sets
from pliant.bodies.families import MOTIONS, X
from pliant.bodies.modal_body import Array

if TYPE_CHECKING:
    from pliant.model.links import Link
    from pliant.model.robot import Robot


def centre_line(link: Link, robot: Robot, q_e: Array, x: Array) -> Array:
    """Points (..., stations, 3) of a beam's axis at stations x (stations,) for elastic coordinates (..., n), in B."""
    sets = shape_sets(link, robot)
    shapes = np.zeros((len(x), 3, sum(family.size for family in sets)))
    start = 0
    for family in sets:
        axis = MOTIONS[family.family].value
        if axis is not None:
            shapes[:, axis, start : start + family.size] = family.sample(x).value.T
        start += family.size
    points = np.einsum("sdk,...k->...sd", shapes, q_e)
    points[..., X] += x
    return np.asarray(points)


def axial_strain(link: Link, robot: Robot, place: tuple[float, float, float], q_e: Array) -> Array:
    """u' - y u_y'' - z u_z'' (...) at a place (x, y, z) of a beam."""
    x, y, z = place
    levers = {"bend_y": -y, "bend_z": -z, "axial": 1.0}
    rows = [levers.get(s.family, 0.0) * s.sample(np.array([x])).strain[:, 0] for s in shape_sets(link, robot)]
    return np.asarray(q_e @ np.concatenate(rows))
