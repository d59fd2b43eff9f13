"""How a robot vibrates at poses along a motion: with its joints held, or with the loops of its drives closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import settle
from pliant.analysis.modes import UNDAMPED, free_motions
from pliant.analysis.statics import NoEquilibriumError
from pliant.analysis.tangent import Tangent, tangent
from pliant.analysis.vibrations import rigid_motions, vibrations
from pliant.errors import ModelError
from pliant.formulations.loops.loops import LoopError

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

DAMPED = 0.5
"""Damping ratio from which a closed-loop pole counts as none that vibrates: it has swung out after one period."""
STILL = 1e-7
"""Size of a pole, as a part of the largest, that rounding makes of motions without stiffness."""


class UnstableLoopError(ModelError):
    """A drive with which the robot swings by itself."""


class Feedback(NamedTuple):
    """How a drive that holds a pose answers small changes: efforts and rates of its own states z.

    q, v, z                   changes of the efforts (inputs, n), (inputs, n), (inputs, states)
    rate_q, rate_v, rate_z    changes of the rates of z (states, n), (states, n), (states, states)
    """

    q: Floats
    v: Floats
    z: Floats
    rate_q: Floats
    rate_v: Floats
    rate_z: Floats


FeedbackAt = Callable[[Floats], Feedback | None]
"""The feedback of a drive that holds the robot at a configuration (n,); None: its joints do not give way."""


class PoseVibrations(NamedTuple):
    """Vibrations about a state of rest, the lowest first.

    q        the configuration (n,)
    omega    natural frequencies, rad/s (k,)
    damping  damping ratios (k,)
    shapes   motion of all coordinates (n, k), of any size
    answer   amount of each shape per unit of a slow acceleration of each input (k, inputs)
    """

    q: Floats
    omega: Floats
    damping: Floats
    shapes: Complexes
    answer: Complexes

    def moves(self, arm: Dynamics, frame: str) -> Floats:
        """m: deflection of a frame by each mode per unit of a slow acceleration of each input (k, inputs)."""
        way = np.linalg.norm(arm.jacobian(frame, self.q)[:3] @ self.shapes, axis=0)
        return np.asarray(way[:, None] * np.abs(self.answer))

    def ordered(self, order: NDArray[np.intp]) -> PoseVibrations:
        """Some of the modes, or all of them in another order."""
        return PoseVibrations(self.q, self.omega[order], self.damping[order], self.shapes[:, order], self.answer[order])


def rest_at(arm: Dynamics, inputs: Floats, near: Floats) -> Floats:
    """The configuration (n,) in which drives hold the inputs at positions, loops closed as near as they were."""
    q = near.copy()
    q[np.setdiff1d(np.arange(arm.size), arm.mechanism.joints)] = 0.0
    q[[arm.names.index(name) for name in arm.inputs]] = inputs
    try:
        return settle(arm, arm.assemble(q)).q
    except (NoEquilibriumError, LoopError) as error:
        raise ModelError(f"vibrations are those about a state of rest: {error}") from None


def pose_vibrations(
    arm: Dynamics, q: Floats, feedback: Feedback | None = None, *, dry_friction: bool = False
) -> PoseVibrations:
    """Vibrations about a configuration of rest; without feedback the drives hold their motor angles.

    dry_friction  whether the slope of the smoothed dry friction at rest is part of the damping
    """
    still, tau = np.zeros(arm.size), np.zeros(len(arm.inputs))
    if arm.loops.rows:
        tau = settle(arm, q).tau
    t = tangent(arm, q, still, still, tau, dry_friction=dry_friction)
    Z = free_motions(arm, t, locked=True)
    # where a slow motion of the inputs takes all coordinates: the rest follows without forces
    lead: Floats = np.asarray(np.linalg.pinv(arm.B.T @ t.N), dtype=float)
    lead = lead - Z @ (np.linalg.pinv(Z.T @ t.K @ Z) @ (Z.T @ t.K @ lead))
    if feedback is None:
        return _held(arm, q, t, Z, lead)
    return _driven(q, t, feedback, lead)


def _held(arm: Dynamics, q: Floats, t: Tangent, Z: Floats, lead: Floats) -> PoseVibrations:
    M, D, K = (Z.T @ x @ Z for x in (t.M, t.D, t.K))
    K = (K + K.T) / 2
    squares, vectors = vibrations(M, K, rigid_motions(arm, t.N @ Z, M, K))
    kept = squares > 0
    squares, vectors = squares[kept], vectors[:, kept]
    omega = np.sqrt(squares)
    damping = np.einsum("ik,ij,jk->k", vectors, D, vectors) / (2 * omega)
    # x'' + 2 z w x' + w^2 x = -phi^T M lead a
    answer = vectors.T @ (Z.T @ t.M @ lead) / squares[:, None]
    shapes = t.N @ (Z @ vectors)
    return PoseVibrations(q, omega, damping, shapes.astype(complex), answer.astype(complex))


def _driven(q: Floats, t: Tangent, feedback: Feedback, lead: Floats) -> PoseVibrations:
    from scipy.linalg import eig

    m, states = len(t.M), len(feedback.rate_z)
    A = np.zeros((2 * m + states, 2 * m + states))
    A[:m, m : 2 * m] = np.eye(m)
    rows = np.hstack([-t.K, -t.D, np.zeros((m, states))])
    given = np.hstack([feedback.q @ t.N + feedback.v @ t.P, feedback.v @ t.N, feedback.z])
    A[m : 2 * m] = np.linalg.solve(t.M, rows + t.B @ given)
    A[2 * m :] = np.hstack([feedback.rate_q @ t.N + feedback.rate_v @ t.P, feedback.rate_v @ t.N, feedback.rate_z])
    poles, left, right = eig(A, left=True)
    seen = np.flatnonzero((poles.imag > 0) & (np.abs(poles) > STILL * np.abs(poles).max(initial=0.0)))
    seen = seen[np.argsort(np.abs(poles[seen]), kind="stable")]
    p = poles[seen]
    damping = -p.real / np.abs(p)
    damping[np.abs(damping) < UNDAMPED] = 0.0
    if (damping < 0).any():
        k = int(np.argmin(damping))
        raise UnstableLoopError(
            f"the drive does not hold the robot: its loop vibrates by itself at {np.abs(p[k]) / (2 * pi):.4g} Hz and "
            f"grows by {p[k].real:.3g} 1/s; lower its gains, or raise kd"
        )
    kept = damping < DAMPED
    seen, p, damping = seen[kept], p[kept], damping[kept]
    left, right = left[:, seen].conj(), right[:, seen]
    answer = (left[m : 2 * m].T @ lead) / (p * np.einsum("ik,ik->k", left, right))[:, None]
    return PoseVibrations(q, np.abs(p), damping, t.N @ right[:m], answer)


@dataclass(frozen=True, eq=False)
class PathVibrations:
    """Vibrations at poses along a motion; every mode is followed from pose to pose.

    times    of the poses, s (p,)
    hertz    natural frequencies (p, k)
    damping  damping ratios (p, k)
    shares   part of the deflection of a frame, under a slow acceleration along the motion, that each mode has (p, k)
    driven   whether the loops of the drive are closed; False: joints are held
    dry      whether dry friction is part of the damping, without which these loops would not be stable
    """

    times: Floats
    hertz: Floats
    damping: Floats
    shares: Floats
    driven: bool
    dry: bool = False

    @property
    def omega(self) -> Floats:
        """Natural frequencies, rad/s (p, k)."""
        return 2 * pi * self.hertz

    def band(self, mode: int) -> tuple[float, float]:
        """Hz: lowest and highest frequency of a mode (counted from 1) along the motion."""
        column = self.hertz[:, mode - 1]
        return float(column.min()), float(column.max())

    @property
    def words(self) -> str:
        """How the frequencies were found."""
        if not self.driven:
            return "with held joints"
        return "with the loops of the drive closed" + (" and dry friction, which steadies them" if self.dry else "")


def path_vibrations(
    arm: Dynamics,
    times: Sequence[float],
    inputs: Floats,
    near: Floats,
    *,
    feedback: FeedbackAt | None = None,
    frame: str = "tip",
    first: int = 0,
) -> PathVibrations:
    """Vibrations at positions of the inputs (p, inputs) that a motion passes at times.

    near      a configuration (n,) with the loops closed as they are along the motion
    feedback  the drive's; None: joints are held
    frame     whose deflection tells how much a mode matters
    first     the pose whose lowest mode is number 1, and so on
    """
    states, q = [], near
    for each in inputs:
        q = rest_at(arm, each, q)
        states.append(q)
    answers = [None if feedback is None else feedback(q) for q in states]
    found, dry = _all_poses(arm, states, answers)
    if not len(found[first].omega):
        raise ModelError(_no_vibration(arm, driven=answers[first] is not None))
    found = _followed(arm, found, first)
    speeds = np.gradient(inputs, axis=0) if len(inputs) > 1 else np.ones_like(inputs)
    overall = np.abs(inputs - inputs[0]).max(axis=0)
    shares = []
    for each, speed in zip(found, speeds, strict=True):
        way = each.moves(arm, frame) @ (np.abs(speed) if speed.any() else overall)
        shares.append(way / (way.sum() or 1.0))
    return PathVibrations(
        np.asarray(times, dtype=float),
        np.array([each.omega for each in found]) / (2 * pi),
        np.array([each.damping for each in found]),
        np.array(shares),
        any(answer is not None for answer in answers),
        dry,
    )


def _all_poses(
    arm: Dynamics, states: Sequence[Floats], answers: Sequence[Feedback | None]
) -> tuple[list[PoseVibrations], bool]:
    """Vibrations at all poses; with dry friction only where the loops would not be stable without."""
    for dry in (False, True):
        try:
            pairs = zip(states, answers, strict=True)
            return [pose_vibrations(arm, q, answer, dry_friction=dry) for q, answer in pairs], dry
        except UnstableLoopError:
            if dry:
                raise
    raise AssertionError


def _no_vibration(arm: Dynamics, *, driven: bool) -> str:
    name = arm.robot.name
    if driven:
        return f"robot '{name}' with this drive does not vibrate: its poles are damped by {100 * DAMPED:.0f} % and more"
    return (
        f"robot '{name}' does not vibrate while its joints are held: its links do not bend and no spring yields; "
        "give it links that bend, or leave the shaper out"
    )


def _followed(arm: Dynamics, found: Sequence[PoseVibrations], first: int) -> list[PoseVibrations]:
    """The modes of all poses in the order of one of them, each by its likeness to that of the pose before."""
    out: dict[int, PoseVibrations] = {first: found[first]}
    for step, way in ((1, range(first + 1, len(found))), (-1, range(first - 1, -1, -1))):
        for k in way:
            out[k] = _like(arm, found[k], out[k - step])
    count = min(len(each.omega) for each in out.values())
    return [out[k].ordered(np.arange(count)) for k in range(len(found))]


def _like(arm: Dynamics, here: PoseVibrations, before: PoseVibrations) -> PoseVibrations:
    from scipy.optimize import linear_sum_assignment

    M = arm.mass_matrix(here.q)
    sizes = [np.sqrt(np.einsum("ik,ij,jk->k", x.shapes.conj(), M, x.shapes).real) for x in (before, here)]
    likeness = np.abs(before.shapes.conj().T @ M @ here.shapes) / np.outer(*sizes)
    # shapes alone cannot tell modes apart that exchange their parts; frequencies decide then
    near = np.abs(np.subtract.outer(np.log(before.omega), np.log(here.omega)))
    rows, order = linear_sum_assignment(near - likeness**2)
    return here.ordered(order[np.argsort(rows)])


def largest_left(remaining: Callable[[Floats, Floats], Floats], found: PathVibrations, modes: Iterable[int]) -> Floats:
    """The largest part of each mode (counted from 1) that a shaper leaves at any pose of a motion."""
    columns = [mode - 1 for mode in modes]
    left = remaining(found.omega[:, columns], found.damping[:, columns])
    return np.asarray(left.max(axis=0))
