"""The elastic motion along a nominal one: a linear system with given, time-dependent coefficients.

Collocation of Radau IIA with three stages: order 5, and vibrations too fast for the steps die out instead of ringing.
The system is linear, so that every step is one solution of equations without iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import block_array, csc_array
from scipy.sparse.linalg import splu

from pliant.analysis.lumped.applied import NO_LOADS, Loading
from pliant.analysis.lumped.lumped_model import AssembledMotion, LumpedModel
from pliant.analysis.lumped.node_equations import Floats
from pliant.analysis.lumped.nominal_motion import JointMotion, cross
from pliant.analysis.lumped.recovery import ElasticState
from pliant.analysis.lumped.system import Matrices
from pliant.errors import ModelError

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
