"""Identities that hold for every robot at every state, whatever its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from pliant.dynamics import Dynamics
from pliant.model.readers.library import robots
from pliant.reproduce.claim import Claim
from pliant.verification.claims import Floats, state

ROUNDING = 1e-10
"""Of the largest entry: double precision, some thousand operations, condition numbers of M about 1e5."""
STEP, DIFFERENCE = 1e-6, 1e-7
"""Step of central differences, and what they are good to: (step^2 + rounding / step) times the third derivative."""


def claims() -> Iterator[Claim]:
    """Robot by robot."""
    for name, _ in robots():
        yield from _of(name)


def _of(name: str) -> Iterator[Claim]:
    arm = Dynamics(name)
    q, v, a = state(arm)
    tau = np.linspace(-1.0, 2.0, len(arm.inputs))
    M = arm.mass_matrix(q)
    # coordinates of closed loops may have no mass of their own
    own = np.where(np.diag(M) > 0, np.diag(M), 1.0)
    size = np.sqrt(np.outer(own, own))

    def row(key: str, what: str, apart: float, within: float) -> Claim:
        return Claim(f"identities.{name}.{key}", what, apart, 0.0, within)

    yield row("symmetry", "M is symmetric", float(np.abs((M - M.T) / size).max()), ROUNDING)
    least = float(np.linalg.eigvalsh(M / size)[0])
    yield row("positive", "M has no negative eigenvalue", max(-least, 0.0), ROUNDING)
    forces = arm.forces(q, v, a)
    yield row("equation", "forces are M a + h", _apart(M @ a + arm.bias(q, v), forces), ROUNDING)
    C = arm.coriolis(q, v)
    rate = _along(lambda s: arm.mass_matrix(q + s * v))
    skew = rate - 2 * C
    yield row("skew", "M' - 2 C is skew-symmetric", float(np.abs((skew + skew.T) / size).max()), DIFFERENCE)
    # actuators along lines act as loads: the identities are those of the robot without them
    found = arm.forward(q, v, tau, force=np.zeros(arm.size))
    if arm.loops.rows:
        J = arm.loops.jacobian(q)
        left = J @ found + arm.loops.bias(q, v)
        scale = max(float(np.abs(J @ np.diag(np.abs(found))).max()), 1e-12)
        yield row("closure", "accelerations keep the loops closed", float(np.abs(left).max() / scale), 1e-8)
    else:
        unbalanced = arm.forces(q, v, found) - arm.B @ tau
        yield row(
            "consistency", "forward dynamics undo the inverse ones", _apart(unbalanced, 0 * unbalanced, forces), 1e-8
        )
    # what the motors do is stored or lost
    energy = float(_along(lambda s: np.array([arm.energy(q + s * v, v).total]))[0])
    kinetic = float(v @ M @ found)
    motors = float(tau @ (arm.B.T @ v))
    lost = float(v @ (arm.forces(q, v, 0 * a) - _lossless(arm, q, v)))
    power = max(abs(motors), abs(energy), abs(kinetic), abs(lost), 1e-12)
    apart = abs(energy + kinetic - motors + lost) / power
    yield row("power", "energy rate = power of motors - losses", apart, DIFFERENCE)
    jacobian = arm.jacobian("tip", q)[:3]
    moved = np.stack([_along(partial(_tip, arm, q, e)) for e in np.eye(arm.size)], axis=1)
    yield row("jacobian", "Jacobian of the tip is the derivative of its place", _apart(jacobian, moved), DIFFERENCE)


def _tip(arm: Dynamics, q: Floats, direction: Floats, s: float) -> Floats:
    return arm.pose("tip", q + s * direction).position


def _lossless(arm: Dynamics, q: Floats, v: Floats) -> Floats:
    """Bias forces without friction and damping: M' v - 1/2 d(v^T M v)/dq + g by the Christoffel matrix."""
    return arm.coriolis(q, v) @ v + arm.gravity(q) + _potential(arm, q)


def _potential(arm: Dynamics, q: Floats) -> Floats:
    """Forces of strain and joint springs at rest, without gravity."""
    still = np.zeros(arm.size)
    return arm.bias(q, still) - arm.gravity(q)


def _along(f: Callable[[float], Floats]) -> Floats:
    """Derivative at zero."""
    return (f(STEP) - f(-STEP)) / (2 * STEP)


def _apart(ours: Floats, theirs: Floats, scale: Floats | None = None) -> float:
    size = float(np.abs(theirs if scale is None else scale).max(initial=0.0))
    return float(np.abs(ours - theirs).max(initial=0.0) / max(size, 1e-300))
