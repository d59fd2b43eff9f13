"""The elastic motion along a nominal one, and what follows from it: Di Gregorio (15) and (17).

A linear system with given, time-dependent coefficients. Collocation of Radau IIA with three stages: order 5, and
vibrations too fast for the steps die out instead of ringing. Every step is one solution of equations without
iterations. Displacements of nodes and frames, reactions of joints and loops, and efforts are recovered from the
independent ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import block_array, csc_array
from scipy.sparse.linalg import splu

from pliant.analysis.lumped.displacements import NO_LOADS, Loading, carried_over, frame_map, generalised, placed
from pliant.analysis.lumped.geometric_stiffness import lever_stiffness
from pliant.analysis.lumped.lumped_model import AssembledMotion, LumpedModel
from pliant.analysis.lumped.mesh import FramePlace
from pliant.analysis.lumped.node_equations import Floats, Matrices, motion_weights
from pliant.analysis.lumped.nominal_motion import JointMotion, cross
from pliant.analysis.lumped.reduced_link import ReducedLink
from pliant.errors import ModelError
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
            own = assembled.loads.efforts.get(seat.coordinates[0], 0.0)
            efforts[seat.name] = w @ seat.columns[:, 0] + model.joint_force(i, assembled.motion)[:, 0] - own
        joints[seat.name] = _at_axis(w, seat.columns[3:], -(seat.R_JB.T @ seat.p_JB))
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


def _at_axis(w: Floats, turns: Floats, p_BJ: Floats) -> Floats:
    """A wrench at the link's origin, with its moment about the nearest point of a hinge's axis, or a ball's centre."""
    axes = turns[:, turns.any(axis=0)]
    nearest = p_BJ if axes.size else np.zeros(3)
    if axes.shape[1] == 1:
        axis = axes[:, 0]
        nearest = p_BJ - axis * (axis @ p_BJ)
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
        if len(place):
            rotor, stiffness, damping = model.joint_constants(i)
            out[:, place] += model.joint_force(i, assembled.motion)
            out[:, place] += rotor * y.z_ddot[:, place] + damping * y.z_dot[:, place] + stiffness * y.z[:, place]
    if assembled.forces is not None:
        for places, K in lever_stiffness(model, assembled.links, assembled.roots, assembled.forces, assembled.loads):
            out[:, places] += np.einsum("tij,tj->ti", K, y.z[:, places])
    return out


# ---- the elastic motion along a nominal one

_S6 = 6.0**0.5
# Hairer & Wanner, Solving Ordinary Differential Equations II, table 5.6
RADAU_C = np.array([(4 - _S6) / 10, (4 + _S6) / 10, 1.0])
RADAU_A = np.array(
    [
        [(88 - 7 * _S6) / 360, (296 - 169 * _S6) / 1800, (-2 + 3 * _S6) / 225],
        [(296 + 169 * _S6) / 1800, (88 + 7 * _S6) / 360, (-2 - 3 * _S6) / 225],
        [(16 - _S6) / 36, (16 + _S6) / 36, 1 / 9],
    ]
)
INSIDE = 1e-9
"""Part of a step by which its end is looked at from inside: what jumps there belongs to the next step."""
BATCH = 4_000_000
"""Entries of full matrices that are assembled in one go."""

Nominal = Callable[[Floats], JointMotion]
"""The nominal motion of all joints at times (k,)."""


@dataclass(frozen=True, eq=False, slots=True)
class ElasticMotion:
    """Displacements at the ends of the steps.

    times  (N,)
    state  z, z_dot, z_ddot (N, n)
    """

    times: Floats
    state: ElasticState


def assemble_at(model: LumpedModel, nominal: Nominal, times: Floats, loads: Loading | None) -> AssembledMotion:
    """The robot along its nominal motion, under what acts from outside."""
    return model.assemble(nominal(times), NO_LOADS if loads is None else loads(times))


def static(model: LumpedModel, motion: JointMotion) -> Floats:
    """z (n,) in equilibrium with the loads of one instant, inertia of the nominal motion included."""
    return solve_static(model, model.assemble(motion), 0)


def solve_static(model: LumpedModel, assembled: AssembledMotion, t: int) -> Floats:
    """K z = -f at an instant of an assembled motion."""
    _, _, K, f = model.equations_at(assembled, t)
    try:
        if isinstance(K, np.ndarray):
            return np.asarray(np.linalg.solve(K, -f))
        return np.asarray(splu(csc_array(K)).solve(-f))
    except (np.linalg.LinAlgError, RuntimeError):
        raise ModelError(_unheld(model, K)) from None


def _unheld(model: LumpedModel, K: Any) -> str:
    """Which displacement has no balance."""
    full = K if isinstance(K, np.ndarray) else K.toarray()
    name = model.names[int(np.argmax(np.abs(np.linalg.svd(full)[2][-1])))]
    return (
        f"robot '{model.robot.name}' has no balance along '{name}': nothing holds it there; give a passive joint a "
        "spring or a drive"
    )


class InterruptedMotionError(RuntimeError):
    """The user ended the computation of a motion."""


def elastic_motion(
    model: LumpedModel,
    nominal: Nominal,
    times: Floats,
    start: tuple[Floats, Floats] | None = None,
    *,
    loads: Loading | None = None,
    second_order: bool = False,
    report: Callable[[float], object] | None = None,
) -> ElasticMotion:
    """The elastic motion at ``times`` (N,), one step between each two; from rest in balance unless a start is given.

    loads         what acts from outside
    second_order  the centrifugal wrenches F_C(gamma) of (4.4) too: of all terms of second order the only ones in the
                  paper, which also says that they may be left out
    report        called with the time that is reached; ``True`` ends the motion with an InterruptedMotionError
    """
    if second_order and (reduced := [mesh.name for mesh in model.meshes if isinstance(mesh, ReducedLink)]):
        raise ModelError(
            f"link '{reduced[0]}': it is known by its own coordinates, without nodes whose turning rates could make "
            "F_C(gamma): leave second_order out"
        )
    first = assemble_at(model, nominal, times[:1], loads)
    z, v = start if start is not None else (solve_static(model, first, 0), np.zeros(model.size))
    M, C, K, f = model.equations_at(first, 0)
    rows = [(z, v, _solve(M, -(C @ v + K @ z + f)))]
    A2 = RADAU_A @ RADAU_A
    for k, stages, assembled, place in _stages(model, nominal, times, loads):
        h = times[k + 1] - times[k]
        solve, right = _step(stages, z, v, h, A2)
        a = solve(right).reshape(3, -1)
        if second_order:
            # they are so small that the motion without them tells their size
            z_i, v_i = z + h * np.outer(RADAU_C, v) + h * h * (A2 @ a), v + h * (RADAU_A @ a)
            a = solve(right - spin_load(model, assembled, place, z_i, v_i).ravel()).reshape(3, -1)
        if not np.isfinite(a).all():
            raise ModelError(
                f"robot '{model.robot.name}': its displacements have neither mass nor stiffness at {times[k]:.4g} s; "
                "give what passive joints carry a mass, or the joints springs"
            )
        z = z + h * v + h * h * (A2[2] @ a)
        v = v + h * (RADAU_A[2] @ a)
        rows.append((z, v, a[2]))
        if report is not None and report(float(times[k + 1])):
            raise InterruptedMotionError(f"the motion was interrupted at {times[k + 1]:.6g} s")
    columns = [np.array([row[i] for row in rows]) for i in range(3)]
    return ElasticMotion(times, ElasticState(*columns))


def _stages(
    model: LumpedModel, nominal: Nominal, times: Floats, loads: Loading | None
) -> Iterator[tuple[int, list[Matrices], AssembledMotion, int]]:
    """The equations at the three stages of each step, and where these stand in an assembled motion."""
    steps = len(times) - 1
    batch = max(1, BATCH // (3 * model.numbering.size**2)) if model.is_small else 8
    for start in range(0, steps, batch):
        which = np.arange(start, min(start + batch, steps))
        h = times[which + 1] - times[which]
        at = (times[which][:, None] + h[:, None] * np.minimum(RADAU_C, 1 - INSIDE)).ravel()
        assembled = assemble_at(model, nominal, at, loads)
        for j, k in enumerate(which):
            yield int(k), [model.equations_at(assembled, 3 * j + i) for i in range(3)], assembled, 3 * j


def _step(
    stages: list[Matrices], z: Floats, v: Floats, h: float, A2: Floats
) -> tuple[Callable[[Floats], Floats], Floats]:
    """The solver of a step's equations for the accelerations (3 n,) at its stages, and their right-hand side."""
    n = len(z)
    right = [-(s.f + s.K @ z + (s.C @ v) + h * c * (s.K @ v)) for s, c in zip(stages, RADAU_C, strict=True)]
    if isinstance(stages[0].M, np.ndarray):
        from scipy.linalg import lu_factor, lu_solve

        whole = np.empty((3, n, 3, n))
        for i, s in enumerate(stages):
            for j in range(3):
                whole[i, :, j] = h * RADAU_A[i, j] * s.C + h * h * A2[i, j] * s.K
            whole[i, :, i] += s.M
        factors = lu_factor(whole.reshape(3 * n, 3 * n), overwrite_a=True, check_finite=False)
        return lambda x: np.asarray(lu_solve(factors, x, check_finite=False)), np.concatenate(right)
    blocks = [
        [h * RADAU_A[i, j] * s.C + h * h * A2[i, j] * s.K + (s.M if i == j else 0 * s.M) for j in range(3)]
        for i, s in enumerate(stages)
    ]
    sparse = splu(csc_array(block_array(blocks)))
    return lambda x: np.asarray(sparse.solve(x)), np.concatenate(right)


def spin_load(model: LumpedModel, assembled: AssembledMotion, first: int, z: Floats, v: Floats) -> Floats:
    """F_C(gamma) of (4.4) on z at instants from the first on (k, n): what turning rates of the deformation need."""
    at = slice(first, first + len(z))
    if assembled.Z is not None:
        Z0, Z1 = (Z[at] for Z in assembled.Z[:2])
        z, v = np.einsum("tij,tj->ti", Z0, z), np.einsum("tij,tj->ti", Z0, v) + np.einsum("tij,tj->ti", Z1, z)
    load = np.zeros((len(z), model.numbering.size))
    for i, root in enumerate(assembled.roots):
        own, (X0, X1) = model.numbering.own[i], (X[at] for X in root.X[:2])
        of_root = np.einsum("tij,tj->ti", X0, v[:, root.columns]) + np.einsum("tij,tj->ti", X1, z[:, root.columns])
        bodies, spread = model.meshes[i].bodies, model.links[i].spread
        gamma = np.asarray(np.hstack([of_root, v[:, own]]) @ spread.T).reshape(len(z), -1, 6)[..., 3:]
        force = bodies.m[:, None] * cross(gamma, cross(gamma, bodies.G))
        moment = cross(gamma, np.einsum("nij,tnj->tni", bodies.I, gamma))
        on_link = np.concatenate([force, moment], axis=2).reshape(len(z), -1) @ spread
        load[:, root.columns] += np.einsum("tji,tj->ti", X0, on_link[:, :6])
        load[:, own] += on_link[:, 6:]
    return load if assembled.Z is None else np.asarray(np.einsum("tji,tj->ti", assembled.Z[0][at], load))


def _solve(M: object, right: Floats) -> Floats:
    if isinstance(M, np.ndarray):
        return np.asarray(np.linalg.lstsq(M, right, rcond=None)[0])
    try:
        return np.asarray(splu(csc_array(M)).solve(right))
    except RuntimeError:
        # something moves no mass
        from scipy.sparse.linalg import lsqr

        return np.asarray(lsqr(csc_array(M), right)[0])
