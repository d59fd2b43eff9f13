"""The equations of motion linearised about a state: M x'' + D x' + K x = B tau in independent coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


STEP = 1e-6
"""Of differences of the loops' directions, which are smooth; their error is far below that of the constants."""


def tangent(arm: Dynamics, q: Floats, v: Floats, a: Floats, tau: Floats, *, dry_friction: bool) -> Tangent:
    """The linearised equations at a state whose accelerations are a; without loops tau drops out."""
    d = arm.inverse_derivatives(q, v, a)
    M, D, K, B, N, names = d.a, d.v, d.q, arm.B, np.eye(arm.size), arm.names
    if not dry_friction:
        D = D - _dry_slope(arm, v)
    if arm.loops is None:
        return Tangent(M, D, K, B, N, names)
    if v.any():
        raise ValueError(f"robot '{arm.robot.name}' has closed loops; it is linearised at rest, v must be zero")
    N, names = arm.reduced(q, v).N, arm.independent
    K = K - _closing_stiffness(arm, q, arm.bias(q, v) + M @ a - B @ tau, N)
    return Tangent(N.T @ M @ N, N.T @ D @ N, N.T @ K @ N, N.T @ B, N, names)


def _closing_stiffness(arm: Dynamics, q: Floats, forces: Floats, N: Floats) -> Floats:
    """Change of the closing forces J^T lambda with q at constant lambda (n, n), along the motions N."""
    assert arm.loops is not None
    J = arm.loops.jacobian(q)
    closing = np.linalg.lstsq(J.T, forces, rcond=1e-12)[0]
    change = np.zeros((arm.size, N.shape[1]))
    for k in range(N.shape[1]):
        ahead, behind = (arm.loops.jacobian(q + sign * STEP * N[:, k]).T @ closing for sign in (1.0, -1.0))
        change[:, k] = (ahead - behind) / (2 * STEP)
    # only its products with N count
    return np.asarray(change @ np.linalg.pinv(N))


def _dry_slope(arm: Dynamics, v: Floats) -> Floats:
    """Derivative of the smoothed dry friction by the velocities (n, n)."""
    out = np.zeros((arm.size, arm.size))
    for link in arm.tree.links:
        joint = link.constants.joint
        if link.kind.joint == "fixed" or not joint.coulomb:
            continue
        row = np.zeros(arm.size)
        row[link.own] = [link.kind.sign, *link.constants.motor_row]
        slope = joint.coulomb / joint.smoothing / np.cosh(min(abs(float(row @ v)) / joint.smoothing, 300.0)) ** 2
        out += slope * np.outer(row, row)
    return out
