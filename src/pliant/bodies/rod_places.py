"""Where the frames of a bent rod are, for many states at once and without any derivative."""

from __future__ import annotations

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.bodies.rod import Rod


def rod_deflection(rod: Rod, frame: str, q_e: Array) -> tuple[Array, Array]:
    """Displacement and rotation vector (..., 3) of a frame against where it is in the undeformed rod.

    In a plane the angle counts whole turns, as a strip that is rolled up makes them.
    """
    at, lanes = rod.frames[frame], q_e.shape[:-1]
    if not at.moves:
        return np.zeros((*lanes, 3)), np.zeros((*lanes, 3))
    # the undeformed rod is the last state
    states = np.vstack([q_e.reshape(-1, q_e.shape[-1]), np.zeros(q_e.shape[-1])])
    tangents, turns = (_in_plane if rod.plane else _in_space)(rod, frame, states)
    place = at.row @ tangents @ rod.root_R.T
    moved = place[:-1] - place[-1]
    if at.offset.any():
        from scipy.spatial.transform import Rotation

        moved = moved + Rotation.from_rotvec(turns[:-1]).apply(at.offset) - at.offset
    return moved.reshape(*lanes, 3), turns[:-1].reshape(*lanes, 3)


def _in_plane(rod: Rod, frame: str, q_e: Array) -> tuple[Array, Array]:
    """Tangents at the stations in the axes of the root (states, N, 3), turns of the frame in those of the body."""
    at, k = rod.frames[frame], "xyz".index(rod.plane)
    i, j = (k + 1) % 3, (k + 2) % 3
    angles = q_e @ np.cumsum(rod.moments[:, 0, k], axis=0).T + np.cumsum(rod.reference[:, 0, k])
    c, s = np.cos(angles), np.sin(angles)
    tangents = np.empty((*angles.shape, 3))
    if rod.strains.any():
        strain = np.einsum("jak,...k->...ja", rod.strains, q_e) + np.eye(3)[0]
    else:
        strain = np.eye(3)[0]
    tangents[..., i] = c * strain[..., i] - s * strain[..., j]
    tangents[..., j] = s * strain[..., i] + c * strain[..., j]
    tangents[..., k] = strain[..., k]
    # curvatures of the undeformed rod turn it as well, and are not counted
    turn = q_e @ (rod.moments[: at.before, 0, k].sum(axis=0) + at.moments[0, k])
    return tangents, turn[:, None] * rod.root_R[:, k]


def _in_space(rod: Rod, frame: str, q_e: Array) -> tuple[Array, Array]:
    """The same where sections turn about several axes."""
    from scipy.spatial.transform import Rotation

    at, count = rod.frames[frame], len(q_e)
    b0, b1 = np.moveaxis(np.concatenate([rod.moments, at.moments[None]]), 1, 0)
    c0, c1 = np.moveaxis(np.concatenate([rod.reference, at.reference[None]]), 1, 0)
    u0, u1 = (np.einsum("jak,sk->sja", b, q_e) + c for b, c in ((b0, c0), (b1, c1)))
    theta = u0 + np.cross(u0, u1)
    turns = Rotation.from_rotvec(theta.reshape(-1, 3)).as_matrix().reshape(*theta.shape, 3)
    axes = [np.broadcast_to(np.eye(3), (count, 3, 3))]
    for step in range(len(rod.x)):
        axes.append(axes[-1] @ turns[:, step])
    strain = np.einsum("jak,sk->sja", rod.strains, q_e) + np.eye(3)[0]
    tangents = np.einsum("sjab,sjb->sja", np.stack(axes[1:], axis=1), strain)
    R = rod.root_R @ axes[at.before] @ turns[:, -1] @ at.turned.T
    return tangents, np.asarray(Rotation.from_matrix(R).as_rotvec())
