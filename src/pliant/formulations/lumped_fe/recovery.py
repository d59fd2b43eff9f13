"""From the independent displacements back to nodes, frames, reactions and efforts: Di Gregorio (15) and (17)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.formulations.lumped_fe.interface import carried_over, frame_map
from pliant.formulations.lumped_fe.mesh import FramePlace
from pliant.formulations.lumped_fe.model import AssembledMotion, LumpedModel
from pliant.formulations.lumped_fe.node_matrices import Floats, motion_weights, tilde
from pliant.formulations.lumped_fe.skeleton import BASE, cross


@dataclass(frozen=True, slots=True)
class ElasticState:
    """Displacements, rates and accelerations (times, n)."""

    z: Floats
    z_dot: Floats
    z_ddot: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Reactions:
    """What joints and closures carry.

    joints   joint -> wrench (times, 6) on its link, link axes, moment about the point of the axis nearest to the origin
    loops    row of a loop -> force or moment (times,) on its first frame
    efforts  of the actuated joints (times, inputs), N m or N
    """

    joints: dict[str, Floats]
    loops: dict[str, Floats]
    efforts: Floats


def with_loops(assembled: AssembledMotion, state: ElasticState) -> ElasticState:
    """All displacements y of the links, those included that the loops determine."""
    if assembled.Z is None:
        return state
    Z0, Z1, Z2 = assembled.Z

    def on(Z: Floats, x: Floats) -> Floats:
        return np.asarray(np.einsum("tij,tj->ti", Z, x))

    return ElasticState(
        on(Z0, state.z),
        on(Z0, state.z_dot) + on(Z1, state.z),
        on(Z0, state.z_ddot) + 2 * on(Z1, state.z_dot) + on(Z2, state.z),
    )


def link_state(model: LumpedModel, assembled: AssembledMotion, y: ElasticState, link: int) -> ElasticState:
    """Displacements s of one link: its root, then its own."""
    root, own = assembled.roots[link], model.numbering.own[link]
    X0, X1, X2 = root.X
    part = [x[:, root.columns] for x in (y.z, y.z_dot, y.z_ddot)]

    def on(X: Floats, x: Floats) -> Floats:
        return np.asarray(np.einsum("tij,tj->ti", X, x))

    top = (
        on(X0, part[0]),
        on(X0, part[1]) + on(X1, part[0]),
        on(X0, part[2]) + 2 * on(X1, part[1]) + on(X2, part[0]),
    )
    whole = (np.hstack([a, b[:, own]]) for a, b in zip(top, (y.z, y.z_dot, y.z_ddot), strict=True))
    return ElasticState(*whole)


def nodal_displacements(model: LumpedModel, assembled: AssembledMotion, state: ElasticState, link: str) -> Floats:
    """Displacements and turns (times, nodes, 6) of the nodes of a link, in base axes as in (11) to (13)."""
    i = model.robot.link_names.index(link)
    s = link_state(model, assembled, with_loops(assembled, state), i)
    return _in_base(model, assembled, i, s.z)


def _in_base(model: LumpedModel, assembled: AssembledMotion, i: int, s: Floats) -> Floats:
    nu = np.asarray(s @ model.links[i].spread.T).reshape(len(s), -1, 6)
    R = assembled.links[i].R
    return np.concatenate([np.einsum("tij,tnj->tni", R, nu[..., k : k + 3]) for k in (0, 3)], axis=2)


def frame_displacement(model: LumpedModel, assembled: AssembledMotion, state: ElasticState, frame: str) -> Floats:
    """Displacement and turn (times, 6) of a frame beside its nominal motion, base axes."""
    end = model.skeleton.frame(frame)
    columns, U = frame_map(model.skeleton, model.numbering, assembled.roots, assembled.links, end)
    y = with_loops(assembled, state)
    return np.asarray(np.einsum("tij,tj->ti", U[0], y.z[:, columns]))


def link_forces(model: LumpedModel, assembled: AssembledMotion, y: ElasticState, link: int) -> Floats:
    """(15): what acts from outside on the root and the own displacements of a link (times, 6 + own)."""
    s = link_state(model, assembled, y, link)
    constants, motion = model.links[link], assembled.links[link]
    weights = motion_weights(motion.w, motion.w_dot, motion.a)
    # matrices are symmetric or not, so that their transposes act from the right
    out = s.z_ddot @ constants.M.T + s.z_dot @ constants.D.T + s.z @ constants.K.T + weights @ constants.F_w
    for k, C in enumerate(constants.C_w):
        out += motion.w[:, [k]] * (s.z_dot @ C.T)
    for k, K in enumerate(constants.K_w):
        out += weights[:, [k]] * (s.z @ K.T)
    return np.asarray(out)


def reactions(model: LumpedModel, assembled: AssembledMotion, state: ElasticState) -> Reactions:
    """All constraint reactions and the efforts of the drives."""
    y = with_loops(assembled, state)
    forces = [link_forces(model, assembled, y, i) for i in range(len(model.links))]
    multipliers = _multipliers(model, assembled, y, forces)
    carried = [f[:, :6].copy() for f in forces]
    labels = [label for loop in model.loops for label in loop.labels]
    start = 0
    for loop in model.loops:
        rows = multipliers[:, start : start + loop.size]
        start += loop.size
        _, R_A = model.skeleton.pose(assembled.links, *loop.ends[0])
        wrench = np.einsum("tri,tr->ti", loop.directions(R_A), rows)
        for sign, (link, place) in zip((1.0, -1.0), loop.ends, strict=True):
            if link != BASE:
                # a closure's own wrench is not the joint's
                carried[link] -= sign * _on_root(model, assembled, link, place, wrench)
    joints: dict[str, Floats] = {}
    efforts: dict[str, Floats] = {}
    for i in reversed(range(len(model.links))):
        seat, w = model.skeleton.seats[i], carried[i]
        if seat.parent != BASE:
            mesh = model.meshes[seat.parent]
            A = carried_over(assembled.links[i].relative, seat.place, mesh.bodies.x[seat.place.node])[0]
            on_node = np.einsum("tji,tj->ti", A, w)
            carried[seat.parent] += on_node @ mesh.from_root(seat.place.node)
        if seat.is_actuated:
            efforts[seat.name] = w @ seat.column + model.joint_force(i, assembled.motion)
        joints[seat.name] = _at_axis(w, seat.column[3:], -(seat.R_JB.T @ seat.p_JB))
    return Reactions(
        {name: joints[name] for name in reversed(joints)},
        dict(zip(labels, multipliers.T, strict=True)),
        np.column_stack([efforts[name] for name in model.inputs]) if efforts else np.zeros((len(y.z), 0)),
    )


def _at_axis(w: Floats, axis: Floats, p_BJ: Floats) -> Floats:
    """A wrench at the link's origin, with its moment about the nearest point of the joint's axis."""
    nearest = p_BJ - axis * (axis @ p_BJ) if axis.any() else np.zeros(3)
    return np.hstack([w[:, :3], w[:, 3:] - cross(nearest, w[:, :3])])


def _on_root(model: LumpedModel, assembled: AssembledMotion, link: int, place: FramePlace, wrench: Floats) -> Floats:
    """A wrench on a frame (base axes) as forces on the displacement of the link's root."""
    mesh, R = model.meshes[link], assembled.links[link].R
    own = np.hstack([np.einsum("tji,tj->ti", R, wrench[:, k : k + 3]) for k in (0, 3)])
    lever = np.eye(6)
    lever[:3, 3:] = -tilde(place.p - mesh.bodies.x[place.node])
    return np.asarray(own @ lever @ mesh.from_root(place.node))


def _multipliers(model: LumpedModel, assembled: AssembledMotion, y: ElasticState, forces: list[Floats]) -> Floats:
    """Forces of the loops (times, rows): what the open tree lacks is J^T lambda."""
    times = len(y.z)
    rows = sum(loop.size for loop in model.loops)
    if assembled.J is None:
        return np.zeros((times, 0))
    lacking = np.zeros((times, model.numbering.size))
    for i, root in enumerate(assembled.roots):
        lacking[:, root.columns] += np.einsum("tij,ti->tj", root.X[0], forces[i][:, :6])
        lacking[:, model.numbering.own[i]] += forces[i][:, 6:]
        place = model.numbering.joint[i]
        if place is not None:
            rotor, stiffness, damping = model.joint_constants(i)
            lacking[:, place] += model.joint_force(i, assembled.motion)
            lacking[:, place] += rotor * y.z_ddot[:, place] + damping * y.z_dot[:, place] + stiffness * y.z[:, place]
    e = model.elimination
    assert e is not None
    J = assembled.J[0][:, e.rows][:, :, e.dependent]
    out = np.zeros((times, rows))
    out[:, e.rows] = np.linalg.solve(np.swapaxes(J, 1, 2), lacking[:, e.dependent][..., None])[..., 0]
    return out
