"""The straight robot in its reference pose as one vibrating system, while its drives hold their motor angles.

Only what small vibrations need: mass and stiffness of the elastic coordinates and of sprung passive joints; passive
joints without a spring follow freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.bodies.carried import CarriedMass, joint_pose, own_masses
from pliant.bodies.modal_body import Array, Attachment, ModalBody, hat
from pliant.spatial.attachment_rotation import exponential

if TYPE_CHECKING:
    from pliant.model.joints import Joint
    from pliant.model.links import Link
    from pliant.model.robot import Robot


class ElasticSystem(NamedTuple):
    """M x'' + K x = 0 of sprung joints and elastic coordinates, links one after the other.

    M    mass, joints without stiffness eliminated   kg     (n, n)
    K    stiffness                                   N/m    (n, n)
    own  link -> its elastic coordinates
    """

    M: Array
    K: Array
    own: dict[str, slice]


class _Placed(NamedTuple):
    """A link frame B in the base, and its twist (linear, angular; base axes) per coordinate (6, columns)."""

    p: Array
    R: Array
    J: Array


def assemble_elastic(robot: Robot, bodies: Mapping[str, ModalBody]) -> ElasticSystem:
    """Mass and stiffness of a tree; loops are not closed."""
    passive = _passive_coordinates(robot)
    own, start = dict[str, slice](), len(passive)
    for link in robot.links:
        own[link.name] = slice(start, start + bodies[link.name].size)
        start += bodies[link.name].size
    M, K = np.zeros((start, start)), np.zeros((start, start))
    placed: dict[str, _Placed] = {}
    for link in robot.links:
        body, mine = bodies[link.name], own[link.name]
        parent, frame = robot.parent_of(link.name)
        seat = _Placed(np.zeros(3), np.eye(3), np.zeros((6, start)))
        if parent in placed:
            seat = _frame(placed[parent], bodies[parent].frames[frame], own[parent])
        here = _moved(seat, link, robot, body, mine, passive)
        placed[link.name] = here
        # columns: twist of B in its own axes, then the elastic coordinates
        columns = np.zeros((6 + body.size, start))
        columns[:3], columns[3:6] = here.R.T @ here.J[:3], here.R.T @ here.J[3:]
        columns[6:, mine] = np.eye(body.size)
        M += columns.T @ body_mass(body) @ columns
        K[mine, mine] += body.K_ee
        own_frame = _Placed(np.zeros(3), np.eye(3), columns[:6])
        for name, load in own_masses(link).items():
            at = _frame(own_frame, body.frames[name], mine)
            M += at.J.T @ load_mass(load, at.p) @ at.J
        for name in link.joint.coordinates:
            if link.joint.spring is not None and name in passive:
                K[passive[name], passive[name]] += link.joint.spring.stiffness
    return _kept(M, K, own)


def body_mass(body: ModalBody) -> Array:
    """Mass of an undeformed body on (v_B, w_B, v_e), in its own axes (6 + n, 6 + n)."""
    n = body.size
    M = np.zeros((6 + n, 6 + n))
    M[:3, :3] = body.mass * np.eye(3)
    M[:3, 3:6] = -hat(body.first)
    M[:3, 6:] = body.first_modal
    M[3:6, 3:6] = body.I_rr
    M[3:6, 6:] = body.beta
    M[6:, 6:] = body.M_ee
    if len(body.section_turn):
        # discs about the axes of the link's own frame
        wide = np.zeros((len(body.section_turn), 3, 6 + n))
        wide[:, :, 3:6], wide[:, :, 6:] = np.eye(3), body.section_turn
        M += np.einsum("sa,sai,sak->ik", body.section_inertia, wide, wide)
    upper = np.triu(M, 1)
    return np.diag(np.diag(M)) + upper + upper.T


def load_mass(load: CarriedMass, at: Array) -> Array:
    """Mass of a rigid load (moments about B's origin) on the twist of a frame at a position, B's axes (6, 6)."""
    here = load.seen_from((-at, np.eye(3)))
    first = hat(here.first)
    return np.block([[here.mass * np.eye(3), -first], [first, here.inertia]])


def _passive_coordinates(robot: Robot) -> dict[str, int]:
    names = [name for link in robot.links if not link.joint.actuated for name in link.joint.coordinates]
    return {name: k for k, name in enumerate(names)}


def _frame(base: _Placed, at: Attachment, mine: slice) -> _Placed:
    """A frame of a body whose link frame is placed."""
    lever = base.R @ at.position
    J = base.J.copy()
    J[:3] -= hat(lever) @ base.J[3:]
    J[:3, mine] += base.R @ at.Phi_d
    J[3:, mine] += base.R @ at.Phi_r
    return _Placed(base.p + lever, base.R @ at.rotation, J)


def _moved(
    seat: _Placed, link: Link, robot: Robot, body: ModalBody, mine: slice, passive: Mapping[str, int]
) -> _Placed:
    """The link frame behind a joint at its reference coordinate."""
    joint = link.joint
    p, R = joint_pose(joint, robot.pose)
    lever = seat.R @ p
    J = seat.J.copy()
    J[:3] -= hat(lever) @ seat.J[3:]
    here = _Placed(seat.p + lever, seat.R @ R, J)
    if joint.type not in ("revolute", "prismatic"):
        for name, twist in zip(joint.coordinates, _turning_twists(seat, joint, robot.pose, R), strict=True):
            J[:, passive[name]] += twist
        return here
    axis = seat.R @ joint.placement.matrix() @ joint.axis_vector()
    if joint.type == "prismatic":
        twist = np.concatenate([axis, np.zeros(3)])
    else:
        # from the joint's point to the link frame
        arm = lever - seat.R @ joint.placement.vector()
        twist = np.concatenate([np.cross(axis, arm), axis])
    if (name := joint.name or "") in passive:
        J[:, passive[name]] += twist
    elif joint.type == "revolute":
        # a held motor: the root's tangent stays, the floating frame of pinned shapes gives way
        root = here.R.T @ axis @ body.frames["root"].Phi_r
        J[:, mine] -= np.outer(twist, root)
    return here


def _turning_twists(seat: _Placed, joint: Joint, pose: Mapping[str, float], R: Array) -> Array:
    """Twists (coordinates, 6) of the link frame per rate of the coordinates of a joint that turns any way."""
    if not joint.coordinates:
        return np.zeros((0, 6))
    theta = [pose.get(name, 0.0) for name in joint.coordinates[-3:]]
    axes = seat.R @ joint.placement.matrix()
    turns = axes @ np.array(exponential(theta, [0.0] * 3).T)
    arm = seat.R @ R @ joint.child_placement.matrix().T @ joint.child_placement.vector()
    twists = np.vstack([-hat(arm) @ turns, turns]).T
    slides = np.hstack([axes.T, np.zeros((3, 3))])
    return np.vstack([slides, twists]) if joint.type == "free" else twists


def _kept(M: Array, K: Array, own: Mapping[str, slice]) -> ElasticSystem:
    """Without the joints that have no stiffness: they follow freely."""
    free = np.array([k for k in range(min(s.start for s in own.values())) if K[k, k] == 0.0], dtype=int)
    kept = np.setdiff1d(np.arange(len(M)), free)
    own = {name: slice(place.start - len(free), place.stop - len(free)) for name, place in own.items()}
    give = np.linalg.solve(M[np.ix_(free, free)], M[np.ix_(free, kept)])
    return ElasticSystem(M[np.ix_(kept, kept)] - M[np.ix_(kept, free)] @ give, K[np.ix_(kept, kept)], own)
