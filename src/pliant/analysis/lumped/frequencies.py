"""Natural frequencies about a nominal motion: gyroscopic and dynamic-stiffness terms shift them with the speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from pliant.analysis.limits import axial_limits
from pliant.analysis.lumped.displacements import NO_LOADS, AppliedLoads, Loading
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.node_equations import Floats
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.analysis.lumped.reduced_link import is_reduced
from pliant.dynamics import Dynamics
from pliant.errors import ModelError, did_you_mean, require_count

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot

MASSLESS = 1e-13
"""Mass, relative to the largest and to what holds it, that is none."""
TINY = 1e-300
SLOW = 1e-9
"""Nominal rates (rad/s) and accelerations below which nothing turns."""


def natural_frequencies(
    model: LumpedModel, motion: JointMotion, count: int | None = None, loads: AppliedLoads = NO_LOADS
) -> Floats:
    """Frequencies (rad/s) of small vibrations at one instant of a nominal motion, coefficients frozen; lowest first.

    At rest of M z_ddot + K z = 0; of a moving robot the imaginary parts of the eigenvalues of the whole equation, and 0
    for what runs away or creeps instead of swinging.
    count  how many; default: all of a robot with full matrices, ten of one with sparse ones
    loads  what acts from outside at the instant, and stiffens beams of second order
    """
    if count is not None:
        require_count("count", count)
    assembled = model.assemble(JointMotion(*(x[:1] for x in motion)), loads)
    M, C, K, _ = model.equations_at(assembled, 0)
    if not model.size:
        return np.zeros(0)
    moving = any(bool(np.abs(x[0]).max(initial=0.0) > SLOW) for x in (motion.v, motion.a))
    if not isinstance(M, np.ndarray):
        return _sparse(M, K, count or 10) if not moving else _turning_sparse(M, C, K, count or 10)
    massless = _massless(model, M, K)
    found = _turning(M, C, K, massless) if moving else _still(M, K, massless)
    return found[:count] if count else found


def _massless(model: LumpedModel, M: Floats, K: Floats) -> bool:
    """Whether some displacement moves no mass; one that nothing holds either is refused by its name."""
    sizes = np.sqrt(np.abs(np.diag(M)) + np.abs(np.diag(K)) / max(float(np.abs(np.diag(K)).max()), TINY))
    sizes[sizes == 0] = 1.0
    scaled = M / np.outer(sizes, sizes)
    least, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    if least[0] > MASSLESS * least[-1]:
        return False
    shape = vectors[:, least <= MASSLESS * least[-1]] / sizes[:, None]
    held = np.linalg.norm(K @ shape, axis=0)
    if held.min() <= MASSLESS * float(np.abs(K).max(initial=0.0)):
        name = model.names[int(np.argmax(np.abs(shape[:, int(np.argmin(held))] * sizes)))]
        raise ModelError(
            f"robot '{model.robot.name}': '{name}' moves no mass and nothing holds it; give what it carries a mass, or "
            "the joint a spring"
        )
    return True


def _still(M: Floats, K: Floats, massless: bool) -> Floats:
    from scipy.linalg import LinAlgError, eigh

    K = (K + K.T) / 2
    if not massless:
        return np.asarray(np.sqrt(np.maximum(eigh(K, M, eigvals_only=True), 0.0)))
    try:
        # of the inverse problem what moves no mass is zero
        inverse = eigh(M, K, eigvals_only=True)[::-1]
    except LinAlgError:
        return _turning(M, 0 * M, K, massless)
    return np.asarray(1 / np.sqrt(inverse[inverse > MASSLESS * inverse[0]]))


def _turning(M: Floats, C: Floats, K: Floats, massless: bool) -> Floats:
    from scipy.linalg import cho_factor, cho_solve, eig

    n = len(M)
    if massless:
        one, none = np.eye(n), np.zeros((n, n))
        numerators, denominators = eig(
            np.block([[none, one], [-K, -C]]), np.block([[one, none], [none, M]]), right=False, homogeneous_eigvals=True
        )
        finite = np.abs(denominators) > MASSLESS * np.abs(numerators)
        return _swings(numerators[finite] / denominators[finite])
    factor = cho_factor(M)
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:, :n], A[n:, n:] = -cho_solve(factor, K), -cho_solve(factor, C)
    return _swings(np.linalg.eigvals(A))


def _swings(values: NDArray[Any]) -> Floats:
    """Frequencies of pairs of eigenvalues, lowest first; pairs of real ones do not swing."""
    pairs = np.sort(values.imag[values.imag > 0])
    return np.concatenate([np.zeros(len(values) // 2 - len(pairs)), pairs])


def _sparse(M: csc_array, K: csc_array, count: int) -> Floats:
    from scipy.sparse.linalg import eigsh

    whole = csc_array((K + K.T) / 2)
    squares = eigsh(whole, count, csc_array(M), sigma=0.0, return_eigenvectors=False)
    return np.sort(np.sqrt(np.maximum(squares, 0.0)))


def _turning_sparse(M: csc_array, C: csc_array, K: csc_array, count: int) -> Floats:
    from scipy.sparse import block_array, eye_array
    from scipy.sparse.linalg import eigs

    one = eye_array(M.shape[0], format="csc")
    A = csc_array(block_array([[None, one], [-K, -C]]))
    B = csc_array(block_array([[one, None], [None, M]]))
    values = eigs(A, 2 * count, B, sigma=0.0, return_eigenvectors=False)
    return _swings(values)[:count]


def turning_frequencies(
    model: LumpedModel, joint: str, speeds: Floats, count: int, *, pose: Floats | Mapping[str, float] | None = None
) -> Floats:
    """The lowest frequencies (speeds, count), rad/s, while an actuated joint turns steadily at each speed (rad/s).

    pose  positions of the actuated joints, or by name; default: the reference pose
    """
    if joint not in model.inputs:
        raise ModelError(
            f"robot '{model.robot.name}' has no actuated joint '{joint}'{did_you_mean(joint, model.inputs)}; it has "
            f"{', '.join(model.inputs) or 'none'}"
        )
    require_count("count", count)
    if not np.isfinite(speeds).all():
        raise ModelError("speeds: they must be finite numbers, in rad/s or m/s")
    k = model.inputs.index(joint)
    q = model.at_rest(pose).q[:, model.skeleton.driven]
    out = np.empty((len(speeds), min(count, model.size)))
    for i, speed in enumerate(speeds):
        v = np.zeros_like(q)
        v[0, k] = speed
        found = natural_frequencies(model, model.nominal(JointMotion(q, v, 0 * v)), count)
        # what moves no mass has no frequency
        out = out[:, : len(found)]
        out[i] = found[: out.shape[1]]
    return out


# ---- natural frequencies along a motion


@dataclass(frozen=True, eq=False, slots=True)
class PathFrequencies:
    """The lowest frequencies along a nominal motion; 0 where a displacement runs away instead of swinging.

    times   s      (k,)
    moving  rad/s  (k, count)  with the speed and acceleration of each instant, and what acts from outside there
    rest    rad/s  (k, count)  at rest in the same poses
    """

    times: Floats
    moving: Floats
    rest: Floats


def frequencies_along(
    model: LumpedModel,
    nominal: Callable[[Floats], JointMotion],
    times: ArrayLike,
    count: int = 4,
    *,
    loads: Loading | None = None,
) -> PathFrequencies:
    """Frequencies about a nominal motion at some times, coefficients frozen.

    model    of the robot
    nominal  positions, rates and accelerations of all joints at times (k,)
    times    s (k,)
    count    how many of the lowest
    loads    what acts from outside at times (k,)
    """
    require_count("count", count)
    at = np.atleast_1d(np.asarray(times, dtype=float))
    motion = nominal(at)
    acting = NO_LOADS if loads is None else loads(at)
    moving: list[Floats] = []
    rest: list[Floats] = []
    for t in range(len(at)):
        q, v, a = (x[t : t + 1] for x in motion)
        moving.append(natural_frequencies(model, JointMotion(q, v, a), count, acting.at(t)))
        rest.append(natural_frequencies(model, JointMotion(q, 0 * v, 0 * a), count))
    # what moves no mass has no frequency
    least = min(len(x) for x in (*moving, *rest))
    return PathFrequencies(at, np.array([x[:least] for x in moving]), np.array([x[:least] for x in rest]))


# ---- natural frequencies while a joint turns


@dataclass(frozen=True, eq=False, slots=True)
class SpeedFrequencies:
    """The lowest frequencies over the speed of a joint; 0 where a displacement runs away instead of swinging.

    joint      its name
    speeds     rad/s (m/s)  (speeds,)
    softened   rad/s        (speeds, count)  dynamic stiffness alone, links of linear bending: Di Gregorio's equations
    stiffened  rad/s        (speeds, count)  with the geometric stiffness of internal forces, links of second order
    """

    joint: str
    speeds: Floats
    softened: Floats
    stiffened: Floats


def frequencies_over_speed(
    robot: Robot,
    joint: str,
    speeds: ArrayLike,
    *,
    count: int = 3,
    at: Mapping[str, float] | None = None,
    elements: int | Mapping[str, int] | None = None,
) -> SpeedFrequencies:
    """Frequencies about the steady motion of one actuated joint, all others held; links are lumped nodes.

    speeds    rad/s (m/s)
    count     how many of the lowest
    at        positions of the actuated joints by name; default: the reference pose
    elements  of every bending link, or of each by name; default: as described
    """
    for link in robot.links:
        if is_reduced(link, robot):
            raise ModelError(
                f"link '{link.name}': it is known by its own coordinates, whose dynamic stiffness stands not alone; "
                "`pliant modes --rate JOINT=SPEED` tells frequencies at a speed"
            )
    values = np.atleast_1d(np.asarray(speeds, dtype=float))
    curves = [
        turning_frequencies(LumpedModel(robot, elements=elements, stiffening=stiffening), joint, values, count, pose=at)
        for stiffening in (False, True)
    ]
    return SpeedFrequencies(joint, values, curves[0], curves[1])


def turning_limits(robot: Robot, joint: str, speed: float, at: Mapping[str, float] | None = None) -> list[str]:
    """What the bending of the robot's links does not know while a joint turns at a speed, in words; none of loops."""
    arm = Dynamics(robot, compile="never")
    if arm.mechanism.is_closed:
        return []
    q, v = arm.reference_pose(), np.zeros(arm.size)
    for name, value in (at or {}).items():
        q[arm.names.index(name)] = value
    v[arm.names.index(joint)] = speed
    return list(axial_limits(arm, q, v, np.zeros(arm.size)))
