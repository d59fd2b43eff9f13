"""One damping ratio for all vibrations of a whole robot: modal damping of the assembled robot in its reference pose.

The drives hold their motor angles, passive joints follow, sprung ones vibrate, loops stay closed, gravity is away. With
mass-normalised modes phi_k of these motions, D = sum_k 2 zeta omega_k p_k p_k^T with momenta p_k = K phi_k / omega_k^2,
which is M Phi diag(2 zeta omega) Phi^T M of an open tree. Written with K it acts on what is strained alone: joints
without springs, and with them all rigid motions, meet no resistance in any pose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.algorithm import Traced
from pliant.bodies.modal_body import Array
from pliant.bodies.words import words_of
from pliant.errors import ModelError, Problem
from pliant.formulations.loops.constraints import Constraints
from pliant.mechanism import Mechanism, assemble
from pliant.model.once import once_per_element
from pliant.tree.composite import mass_matrix
from pliant.tree.lowering import lower

if TYPE_CHECKING:
    from pliant.model import Robot

RANK = 1e-9
"""Scaled singular values below this part of the largest are none: a motion that is held, or one without strain."""

ROUNDING = 1e-12
"""Couplings below this part of the damping of the two coordinates are rounding of the modes."""
MODE_ROUNDING = 1e-12
"""The same as a part of the damping that the fastest vibration would give the masses of the two coordinates: shapes of
slow vibrations are found beside it, and are wrong by rounding times its frequency over theirs."""

WATCHED = 3
"""Vibrations, the lowest, whose damping is looked at in other poses."""
LARGEST = 150
"""Coordinates up to which damping that couples all of them, and code that knows them all at once, is worth it."""


class RobotModes(NamedTuple):
    """The vibrations of a straight robot, lowest first.

    omega   rad/s                                       (count,)
    shapes  all coordinates, of unit modal mass         (n, count)
    masses  diagonal of the mass matrix                 (n,)
    """

    omega: Array
    shapes: Array
    masses: Array

    def ratios(self, D: Array) -> Array:
        """Damping ratios (count,) that a damping matrix (n, n) gives them."""
        return np.asarray(np.einsum("ik,ij,jk->k", self.shapes, D, self.shapes) / (2 * self.omega))


def damped(robot: Robot) -> Mechanism:
    """The mechanism of a robot, also where a damping ratio is asked of the whole robot."""
    ratio = robot.damping.ratio if robot.damping is not None else None
    return _damped(robot, ratio) if ratio else assemble(robot)


@once_per_element
def _damped(robot: Robot, ratio: float) -> Mechanism:
    mechanism = assemble(robot)
    shared = _shared(robot, mechanism)
    if not shared.any():
        return mechanism
    if mechanism.size > LARGEST:
        raise ModelError(
            Problem(
                "damping",
                f"robot '{robot.name}' has {mechanism.size} coordinates, and a ratio of the whole couples all of them; "
                f"{LARGEST} are the most: give the ratio to its beams, or take fewer elements or modes",
            )
        )
    omega, shapes, masses = vibrations(mechanism)
    p = mechanism.stiffness @ shapes / omega**2
    drag = (p * (2 * ratio * omega)) @ p.T
    drag = np.where(np.outer(shared, shared), (drag + drag.T) / 2, 0.0)
    # a structure that changes with the last digits of a number would be compiled again
    least = ROUNDING * np.maximum(np.diag(drag), 0.0) + MODE_ROUNDING * 2 * ratio * omega.max() * masses
    return replace(mechanism, drag=np.where(np.abs(drag) > np.sqrt(np.outer(least, least)), drag, 0.0))


def obtained(robot: Robot) -> tuple[Array, Array]:
    """Frequencies (rad/s) and damping ratios of the vibrations that the whole robot's ratio speaks of."""
    mechanism = damped(robot)
    found = vibrations(mechanism)
    return found.omega, found.ratios(mechanism.damping)


def ratios_at(robot: Robot, q: Array) -> Array:
    """The ratios of the lowest vibrations of the straight robot elsewhere, its joints as they are at q (n,).

    The damping matrix is that of the reference pose: it does not follow the vibrations.
    """
    mechanism = damped(robot)
    pose = np.zeros(mechanism.size)
    pose[mechanism.joints] = q[mechanism.joints]
    found = vibrations(mechanism, pose)
    own = mechanism.drag if mechanism.drag is not None else np.zeros((mechanism.size, mechanism.size))
    return found.ratios(own)[:WATCHED]


def vibrations(mechanism: Mechanism, pose: Array | None = None) -> RobotModes:
    """Vibrations of the straight robot in a pose, by default that of reference, motor angles held and loops closed."""
    from scipy.linalg import LinAlgError, eigh, svd

    K = mechanism.stiffness
    held = np.array([mechanism.B[:, k] for k in range(mechanism.B.shape[1])]).reshape(-1, mechanism.size)
    q, scale = mechanism.pose if pose is None else pose, np.ones(mechanism.size)
    if mechanism.is_closed:
        # of an open tree only what closes it is needed
        numbers: Any = _Numbers(mechanism)
        constraints = Constraints(numbers)
        q, scale = constraints.reference if pose is None else q, constraints.column_scale
        held = np.vstack([held * scale, constraints.scaled(q)])
    N = scale[:, None] * _null(held)
    M = np.array(mass_matrix(lower(mechanism), q.tolist()), dtype=float)
    # what has no strain has no frequency: by construction, not by its size
    strained = svd((N / scale[:, None])[np.any(K != 0, axis=1)], compute_uv=False)
    count = int(np.count_nonzero(strained > RANK))
    try:
        squares, V = eigh(N.T @ K @ N, N.T @ M @ N)
    except LinAlgError:
        raise ModelError(
            Problem("damping", f"robot '{mechanism.name}' has a coordinate that moves no inertia, so it has no modes")
        ) from None
    last = slice(len(squares) - count, None)
    return RobotModes(np.sqrt(squares[last]), N @ V[:, last], np.diag(M))


def _shared(robot: Robot, mechanism: Mechanism) -> Array:
    """Which coordinates (n,) have no damping of their own: bending links, and joints with a spring but no damper."""
    shared = np.zeros(mechanism.size, dtype=bool)
    for link, member in zip(robot.links, mechanism.members, strict=True):
        shared[member.elastic] = not words_of(link).is_damped(member.body)
        spring = link.joint.spring
        if spring is not None and not spring.damping and not link.joint.actuated:
            shared[member.start] = True
    return shared


def _null(rows: Array) -> Array:
    """Motions (n, k) that rows (any number, n) leave free, orthonormal."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, sizes, right = np.linalg.svd(rows)
    rank = int(np.count_nonzero(sizes > RANK * sizes.max(initial=0.0)))
    return np.asarray(right[rank:].T)


class _Numbers:
    """An open tree on plain numbers: enough to close its loops once, before anything is compiled."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self.tree = mechanism, lower(mechanism)
        self.size, self.names, self.inputs = mechanism.size, mechanism.coordinates, mechanism.actuated

    def reference_pose(self) -> Array:
        """Coordinates of the reference pose."""
        return self.mechanism.pose.copy()

    def evaluator(self, traced: Traced, seed: str = "") -> Callable[..., Array]:
        """A function; with a seed its derivative by an input in which it is linear."""
        names = traced.algorithm.inputs

        def value(*inputs: Array) -> Array:
            given = {name: x.tolist() for name, x in zip(names, inputs, strict=True)}
            return np.array(traced.algorithm.evaluate(traced.carrier, given), dtype=float)

        def slope(*inputs: Array) -> Array:
            k, start = names.index(seed), value(*inputs)
            columns = [
                value(*inputs[:k], inputs[k] + unit, *inputs[k + 1 :]) - start for unit in np.eye(len(inputs[k]))
            ]
            return np.array(columns).T

        return slope if seed else value
