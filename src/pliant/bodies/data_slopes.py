"""How a body that is known at some frames only bends between them: cubics through displacements and turns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.quadrature import gauss

POINTS = 4
"""Gauss points of a cubic: they integrate squares of its slope."""


class DataSlopes(NamedTuple):
    """Slopes along the x-axis of a body, per elastic coordinate.

    x, weights  places and weights of a rule of integration up to the last frame   m  (places,)
    planes      slopes of the displacements along y and along z                     (n, places) each
    """

    x: Array
    weights: Array
    planes: tuple[Array, ...]


def data_slopes(body: ModalBody) -> DataSlopes:
    """Of a body whose root does not move; without any frame beyond the root there is no place."""
    ahead = (frame for frame in body.frames.values() if frame.position[0] > 0)
    at = list({float(frame.position[0]): frame for frame in ahead}.values())
    at.sort(key=lambda frame: float(frame.position[0]))
    if not at:
        return DataSlopes(np.zeros(0), np.zeros(0), ())
    ends = np.array([0.0, *(float(frame.position[0]) for frame in at)])
    x, weights = gauss(ends.tolist(), POINTS)
    k = np.repeat(np.arange(len(at)), POINTS)
    h = np.diff(ends)[k]
    u = (x - ends[k]) / h
    rise, first, last = 6 * u * (1 - u) / h, (1 - u) * (1 - 3 * u), u * (3 * u - 2)
    planes = []
    # a section that turns about z leans towards y, one that turns about y away from z
    for along, about, sign in ((1, 2, 1.0), (2, 1, -1.0)):
        w = np.vstack([np.zeros(body.size), *(frame.Phi_d[along] for frame in at)])
        t = np.vstack([np.zeros(body.size), *(sign * frame.Phi_r[about] for frame in at)])
        planes.append((w[k + 1] - w[k]).T * rise + t[k].T * first + t[k + 1].T * last)
    return DataSlopes(x, weights, tuple(planes))
