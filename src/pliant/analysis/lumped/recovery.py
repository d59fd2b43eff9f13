"""From the independent displacements back to nodes, frames, reactions and efforts: Di Gregorio (15) and (17)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.analysis.lumped.applied import generalised, placed
from pliant.analysis.lumped.displacements import carried_over, frame_map
from pliant.analysis.lumped.geometric_stiffness import lever_stiffness
from pliant.analysis.lumped.lumped_model import AssembledMotion, LumpedModel
from pliant.analysis.lumped.mesh import FramePlace
from pliant.analysis.lumped.node_equations import Floats, motion_weights
from pliant.analysis.lumped.nominal_motion import cross
from pliant.mechanism import BASE


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
    """Displacements and turns (times, places, 6) of the nodes of a link, in base axes as in (11) to (13).

    Behind the nodes come the places of frames that sit between them.
    """
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
    if assembled.forces is not None:
        out += np.einsum("tij,tj->ti", model.geometry[link].stiffness(assembled.forces.nodes[link]), s.z)
    return np.asarray(out)


def reactions(model: LumpedModel, assembled: AssembledMotion, state: ElasticState) -> Reactions:
    """All constraint reactions and the efforts of the drives."""
    y = with_loops(assembled, state)
    forces = [link_forces(model, assembled, y, i) for i in range(len(model.links))]
    multipliers = model.multipliers(assembled.J, _lacking(model, assembled, y, forces))
    carried = [f[:, :6].copy() for f in forces]
    turns = _turns(model, assembled, y)
    closed: dict[str, Floats] = {}
    for k, (loop, rows) in enumerate(zip(model.loops, multipliers, strict=True)):
        closed |= dict(zip(loop.labels, rows.T, strict=True))
        _, R_A = model.skeleton.pose(assembled.links, *loop.ends[0])
        wrench = np.einsum("tri,tr->ti", loop.directions(R_A), rows)
        for sign, (link, place) in zip((1.0, -1.0), loop.ends, strict=True):
            if link != BASE:
                on_node = _on_node(model, assembled, link, place, wrench)
                if assembled.forces is not None:
                    nominal = np.einsum("tji,tj->ti", assembled.links[link].R, assembled.forces.ends[k][:, :3])
                    lever = place.p - model.meshes[link].bodies.x[place.node]
                    on_node[:, 3:] += cross(cross(turns[link][:, place.node], lever[None]), nominal)
                # a closure's own wrench is not the joint's
                carried[link] -= sign * (on_node @ model.meshes[link].from_root(place.node))
    for load in placed(model, assembled.links, assembled.loads):
        on_node = load.wrench.copy()
        if assembled.forces is not None:
            on_node[:, 3:] += cross(cross(turns[load.link][:, load.place.node], load.lever[None]), on_node[:, :3])
        carried[load.link] -= on_node @ model.meshes[load.link].from_root(load.place.node)
    joints: dict[str, Floats] = {}
    efforts: dict[str, Floats] = {}
    for i in reversed(range(len(model.links))):
        seat, w = model.skeleton.seats[i], carried[i]
        if seat.parent != BASE:
            mesh, relative = model.meshes[seat.parent], assembled.links[i].relative
            x = mesh.bodies.x[seat.place.node]
            on_node = np.einsum("tji,tj->ti", carried_over(relative, seat.place, x)[0], w)
            if assembled.forces is not None:
                # the lever turns with the node
                force = np.einsum("tij,tj->ti", relative.R, assembled.forces.roots[i][:, :3])
                turned = cross(turns[seat.parent][:, seat.place.node], relative.p - x)
                on_node[:, 3:] += cross(turned, force)
            carried[seat.parent] += on_node @ mesh.from_root(seat.place.node)
        if assembled.forces is not None:
            # from nominal link axes to those that have turned
            back = np.hstack([cross(assembled.forces.roots[i][:, k : k + 3], turns[i][:, 0]) for k in (0, 3)])
            w = w + back
        if seat.is_actuated:
            own = assembled.loads.efforts.get(seat.coordinate, 0.0) if seat.coordinate is not None else 0.0
            efforts[seat.name] = w @ seat.column + model.joint_force(i, assembled.motion) - own
        joints[seat.name] = _at_axis(w, seat.column[3:], -(seat.R_JB.T @ seat.p_JB))
    return Reactions(
        {name: joints[name] for name in reversed(joints)},
        closed,
        np.column_stack([efforts[name] for name in model.inputs]) if efforts else np.zeros((len(y.z), 0)),
    )


def _turns(model: LumpedModel, assembled: AssembledMotion, y: ElasticState) -> list[Floats]:
    """Turns of all nodes of every link (times, n, 3), link axes; of no use where nominal forces stiffen nothing."""
    if assembled.forces is None:
        return []
    states = (link_state(model, assembled, y, i).z for i in range(len(model.links)))
    return [
        np.asarray(s @ link.spread.T).reshape(len(s), -1, 6)[..., 3:]
        for s, link in zip(states, model.links, strict=True)
    ]


def _at_axis(w: Floats, axis: Floats, p_BJ: Floats) -> Floats:
    """A wrench at the link's origin, with its moment about the nearest point of the joint's axis."""
    nearest = p_BJ - axis * (axis @ p_BJ) if axis.any() else np.zeros(3)
    return np.hstack([w[:, :3], w[:, 3:] - cross(nearest, w[:, :3])])


def _on_node(model: LumpedModel, assembled: AssembledMotion, link: int, place: FramePlace, wrench: Floats) -> Floats:
    """A wrench on a frame (base axes) as one on its node, link axes."""
    own = np.hstack([np.einsum("tji,tj->ti", assembled.links[link].R, wrench[:, k : k + 3]) for k in (0, 3)])
    lever = place.p - model.meshes[link].bodies.x[place.node]
    own[:, 3:] += cross(lever[None], own[:, :3])
    return own


def _lacking(model: LumpedModel, assembled: AssembledMotion, y: ElasticState, forces: list[Floats]) -> Floats:
    """What the open tree lacks (times, y)."""
    out = -generalised(model, assembled.links, assembled.roots, assembled.loads)
    for i, root in enumerate(assembled.roots):
        out[:, root.columns] += np.einsum("tij,ti->tj", root.X[0], forces[i][:, :6])
        out[:, model.numbering.own[i]] += forces[i][:, 6:]
        place = model.numbering.joint[i]
        if place is not None:
            rotor, stiffness, damping = model.joint_constants(i)
            out[:, place] += model.joint_force(i, assembled.motion)
            out[:, place] += rotor * y.z_ddot[:, place] + damping * y.z_dot[:, place] + stiffness * y.z[:, place]
    if assembled.forces is not None:
        for places, K in lever_stiffness(model, assembled.links, assembled.roots, assembled.forces, assembled.loads):
            out[:, places] += np.einsum("tij,tj->ti", K, y.z[:, places])
    return out
