"""Natural frequencies about a nominal motion: gyroscopic and dynamic-stiffness terms shift them with the speed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from pliant.formulations.lumped_fe.model import LumpedModel
from pliant.formulations.lumped_fe.node_matrices import Floats
from pliant.formulations.lumped_fe.skeleton import JointMotion
from pliant.model.errors import ModelError, did_you_mean

SLOW = 1e-9
"""Nominal rates (rad/s) below which nothing turns."""


def natural_frequencies(model: LumpedModel, motion: JointMotion, count: int | None = None) -> Floats:
    """Frequencies (rad/s) of small vibrations at one instant of a nominal motion, coefficients frozen; lowest first.

    At rest of M z_ddot + K z = 0; of a moving robot the imaginary parts of the eigenvalues of the whole equation, and 0
    for what runs away or creeps instead of swinging.
    count  how many; default: all of a robot with full matrices, ten of one with sparse ones
    """
    assembled = model.assemble(JointMotion(*(x[:1] for x in motion)))
    M, C, K, _ = model.equations_at(assembled, 0)
    moving = bool(np.abs(motion.v[0]).max(initial=0.0) > SLOW)
    if not isinstance(M, np.ndarray):
        return _sparse(M, K, count or 10) if not moving else _turning_sparse(M, C, K, count or 10)
    found = _turning(M, C, K) if moving else _still(M, K)
    return found[:count] if count else found


def _still(M: Floats, K: Floats) -> Floats:
    from scipy.linalg import eigh

    squares, _ = eigh((K + K.T) / 2, M)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _turning(M: Floats, C: Floats, K: Floats) -> Floats:
    from scipy.linalg import cho_factor, cho_solve

    n = len(M)
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
            f"{', '.join(model.inputs)}"
        )
    k = model.inputs.index(joint)
    q = model.at_rest(pose).q[:, model.skeleton.driven]
    out = np.empty((len(speeds), min(count, model.size)))
    for i, speed in enumerate(speeds):
        v = np.zeros_like(q)
        v[0, k] = speed
        out[i] = natural_frequencies(model, model.nominal(JointMotion(q, v, 0 * v)), count)
    return out
