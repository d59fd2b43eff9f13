"""How far the frames of a rod are from where they are in the undeformed one, for many states at once."""

from __future__ import annotations

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.bodies.rod import Rod, RodFrame


def rod_deflection(rod: Rod, frame: str, q_e: Array) -> tuple[Array, Array]:
    """Displacement and rotation vector (..., 3) of a frame.

    In a plane the angle counts whole turns, as a strip that is rolled up makes them.
    """
    at, lanes = rod.frames[frame], q_e.shape[:-1]
    if not at.moves:
        return np.zeros((*lanes, 3)), np.zeros((*lanes, 3))
    # the undeformed rod is the last state
    states = np.vstack([q_e.reshape(-1, q_e.shape[-1]), np.zeros(q_e.shape[-1])])
    if rod.plane:
        place, turns = _in_plane(rod, at, states)
    else:
        from scipy.spatial.transform import Rotation

        place, R = rod.place(frame, states)
        turns = np.asarray(Rotation.from_matrix(R).as_rotvec())
    moved = place[:-1] - place[-1]
    if at.offset.any():
        from scipy.spatial.transform import Rotation

        moved = moved + Rotation.from_rotvec(turns[:-1]).apply(at.offset) - at.offset
    return moved.reshape(*lanes, 3), turns[:-1].reshape(*lanes, 3)


def _in_plane(rod: Rod, at: RodFrame, q_e: Array) -> tuple[Array, Array]:
    """Place of a section (states, 3) and its rotation vector: one angle per station, no products of rotations."""
    k = "xyz".index(rod.plane)
    i, j = (k + 1) % 3, (k + 2) % 3
    angles = q_e @ np.cumsum(rod.moments[:, 0, k], axis=0).T + np.cumsum(rod.reference[:, 0, k])
    c, s = np.cos(angles), np.sin(angles)
    if rod.strains.any():
        strain = np.einsum("jak,...k->...ja", rod.strains, q_e) + np.eye(3)[0]
    else:
        strain = np.eye(3)[0]
    place = np.empty((len(q_e), 3))
    place[:, i] = (c * strain[..., i] - s * strain[..., j]) @ at.row
    place[:, j] = (s * strain[..., i] + c * strain[..., j]) @ at.row
    place[:, k] = np.broadcast_to(strain[..., k], angles.shape) @ at.row
    # curvatures of the undeformed rod turn it as well, and are not counted
    turn = q_e @ (rod.moments[: at.before, 0, k].sum(axis=0) + at.moments[0, k])
    return place @ rod.root_R.T, turn[:, None] * rod.root_R[:, k]
