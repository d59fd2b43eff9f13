"""The equations of motion linearised about a state: M x'' + D x' + K x = B tau in independent coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.statics import FrameLoad, wrench_force, wrench_stiffness

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]


class Tangent(NamedTuple):
    """Small motions x of the independent coordinates; all coordinates move by N x.

    M, D, K  inertia, damping and stiffness (m, m); gravity is in K
    B        input matrix (m, inputs)
    N        all coordinates per independent one (n, m); the identity without loops
    names    the independent coordinates
    """

    M: Floats
    D: Floats
    K: Floats
    B: Floats
    N: Floats
    names: tuple[str, ...]


def tangent(
    arm: Dynamics,
    q: Floats,
    v: Floats,
    a: Floats,
    tau: Floats,
    *,
    dry_friction: bool,
    loads: Sequence[FrameLoad] = (),
) -> Tangent:
    """The linearised equations at a state whose accelerations are a, under loads; without loops tau drops out."""
    d = arm.inverse_derivatives(q, v, a)
    M, D, K, B, N, names = d.a, d.v, d.q - wrench_stiffness(arm, q, loads), arm.B, np.eye(arm.size), arm.names
    if not dry_friction:
        D = D - _dry_slope(arm, v)
    if not arm.loops.rows:
        return Tangent(M, D, K, B, N, names)
    if v.any():
        raise ValueError(f"robot '{arm.robot.name}' has closed loops; it is linearised at rest, v must be zero")
    model = arm.reduced(q, v)
    N, names = model.N, model.names
    # the closing forces J^T lambda turn with the frames that they act on
    forces = B @ tau + wrench_force(arm, q, loads)
    K = K - arm.loops.closing_stiffness(q, arm.loops.kept_multipliers(q, v, a, forces))
    stiffness = K @ N + M @ _turning(arm, q, a, N, names)
    return Tangent(N.T @ M @ N, N.T @ D @ N, N.T @ stiffness, N.T @ B, N, names)


def _turning(arm: Dynamics, q: Floats, a: Floats, N: Floats, names: tuple[str, ...]) -> Floats:
    """Change (n, m) of accelerations a that keep the loops closed, per unit motion x, at constant independent ones."""
    change = np.zeros_like(N)
    if not a.any():
        return change
    J, _ = arm.loops.used_rows(q, np.zeros_like(q))
    dependent = [k for k, name in enumerate(arm.names) if name not in names]
    change[dependent] = np.linalg.solve(J[:, dependent], -arm.loops.acceleration_slope(q, a) @ N)
    return change


def _dry_slope(arm: Dynamics, v: Floats) -> Floats:
    """Derivative of the smoothed dry friction by the velocities (n, n)."""
    out = np.zeros((arm.size, arm.size))
    for member in arm.mechanism.driven_members:
        row = arm.mechanism.motor_row(member)
        out += member.joint.drive.dry_slope(float(row @ v)) * np.outer(row, row)
    return out
