"""What bending does to a link, seen from its own frame B: motion of its frames, strain of a beam."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.build import shape_sets
from pliant.bodies.modal_body import Array, ModalBody

if TYPE_CHECKING:
    from pliant.model.links import Link
    from pliant.model.robot import Robot


def deflection(body: ModalBody, frame: str, q_e: Array) -> Array:
    """Displacement (..., 3) of a frame's section for elastic coordinates (..., n)."""
    return np.asarray(q_e @ body.frames[frame].Phi_d.T)


def slope(body: ModalBody, frame: str, q_e: Array) -> Array:
    """Section angles (..., 3) of a frame, from which its rotation follows."""
    return np.asarray(q_e @ body.frames[frame].Phi_r.T)


def axial_strain(link: Link, robot: Robot, place: tuple[float, float, float], q_e: Array) -> Array:
    """u' - y u_y'' - z u_z'' (...) at a place (x, y, z) of a beam."""
    x, y, z = place
    levers = {"bend_y": -y, "bend_z": -z, "axial": 1.0}
    rows = [levers.get(s.family, 0.0) * s.sample(np.array([x])).strain[:, 0] for s in shape_sets(link, robot)]
    return np.asarray(q_e @ np.concatenate(rows))
