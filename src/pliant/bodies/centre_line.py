"""How a beam looks from its own frame B: its bent centre line."""

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
