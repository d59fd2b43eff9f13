"""The linearised equations of motion, of second order, about a state of a tree or of closed loops, at rest or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.line_forces import RestingLines
from pliant.analysis.statics import FrameLoad, wrench_force, wrench_stiffness
from pliant.errors import ModelError

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]


class Tangent(NamedTuple):
    """Small motions x of the independent coordinates, M x'' + D x' + K x = B u.

    M, D, K  inertia, damping and stiffness (m, m); gravity is in K
    B        input matrix (m, inputs)
    N        all coordinates per independent one (n, m), dq = N x; the identity without loops
    P        change of the dependent rates where the loops move: dv = N x' + P x (n, m)
    G, H     change of the dependent accelerations: da = N x'' + G x + H x' (n, m)
    names    the independent coordinates
    """

    M: Floats
    D: Floats
    K: Floats
    B: Floats
    N: Floats
    P: Floats
    G: Floats
    H: Floats
    names: tuple[str, ...]

    def scaled(self) -> tuple[Floats, Floats, Floats, Floats]:
        """M, D, K in coordinates of which each has unit inertia by itself, and the sizes (m,) of these in x."""
        size = 1.0 / np.sqrt(np.diag(self.M))
        M, D, K = (x * np.outer(size, size) for x in (self.M, self.D, self.K))
        return M, D, K, size


def tangent(
    arm: Dynamics,
    q: Floats,
    v: Floats,
    a: Floats,
    tau: Floats,
    *,
    dry_friction: bool,
    loads: Sequence[FrameLoad] = (),
    pushes: Mapping[str, float] | None = None,
) -> Tangent:
    """The linearised equations at a state whose accelerations are a, under loads; without loops tau drops out.

    pushes  of the actuators along lines that hold their length, N: those with oil give way as it does, valves shut
    """
    d = arm.inverse_derivatives(q, v, a)
    M, D, K = d.a, d.v, d.q - wrench_stiffness(arm, q, loads)
    pushed = np.zeros(arm.size)
    if arm.robot.actuators:
        lines = RestingLines(arm)
        lines.require_rest(q, v)
        if pushes is None and lines.holding:
            unknown = ", ".join(f"'{name}'" for name in lines.held_names)
            raise ModelError(
                f"robot '{arm.robot.name}': this linear model does not know the states of {unknown}; pliant.modes has "
                "the stiffness of their oil with shut valves, and pliant.simulate follows them"
            )
        at = lines.at(q)
        rest = lines.vibrating(at, np.array([(pushes or {})[name] for name in lines.held_names]))
        K, D, pushed = K - lines.stiffness(q, at, rest), D + lines.damping(at, rest), lines.force(at, rest)
    if not dry_friction:
        D = D - _dry_slope(arm, v)
    still = np.zeros((arm.size, arm.size))
    if not arm.loops.rows:
        return Tangent(M, D, K, arm.B, np.eye(arm.size), still, still, still, arm.names)
    model = arm.reduced(q, v)
    N, names = model.N, model.names
    # the closing forces J^T lambda turn with the frames that they act on
    forces = arm.B @ tau + wrench_force(arm, q, loads) + pushed
    K = K - arm.loops.closing_stiffness(q, arm.loops.kept_multipliers(q, v, a, forces))
    P, G, H = _turning(arm, q, v, a, N, names)
    stiffness, damping = K @ N + D @ P + M @ G, D @ N + M @ H
    return Tangent(N.T @ M @ N, N.T @ damping, N.T @ stiffness, N.T @ arm.B, N, P, G, H, names)


def _turning(
    arm: Dynamics, q: Floats, v: Floats, a: Floats, N: Floats, names: tuple[str, ...]
) -> tuple[Floats, Floats, Floats]:
    """P, G and H: how rates and accelerations that keep the loops closed change with x and x'.

    The closures J v = 0 and J a + J' v = 0 hold beside the state too; the independent coordinates take no part.
    """
    P, G, H = (np.zeros_like(N) for _ in range(3))
    if not (a.any() or v.any()):
        return P, G, H
    J, _ = arm.loops.used_rows(q, np.zeros_like(q))
    dependent = [k for k, name in enumerate(arm.names) if name not in names]
    slopes = arm.loops.closure_slopes(q, v, a)
    solve = np.linalg.inv(J[:, dependent])
    P[dependent] = -solve @ slopes.rate_by_q @ N
    G[dependent] = -solve @ (slopes.acceleration_by_q @ N + slopes.acceleration_by_v @ P)
    H[dependent] = -solve @ slopes.acceleration_by_v @ N
    return P, G, H


def _dry_slope(arm: Dynamics, v: Floats) -> Floats:
    """Derivative of the smoothed dry friction by the velocities (n, n)."""
    out = np.zeros((arm.size, arm.size))
    for member in arm.mechanism.driven_members:
        row = arm.mechanism.motor_row(member)
        out += member.joint.drive.dry_slope(float(row @ v)) * np.outer(row, row)
    return out
