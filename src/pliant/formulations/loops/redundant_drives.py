"""Inverse dynamics of robots with more drives than motions: the loops let some follow from the others.

Accelerations a = a_p + Z_o y have given drives; Z are all motions that the loops leave, Z_o those with the drives held:

    Z^T (M (a_p + Z_o y) + h - f) = Z^T B tau

Motions of the others take what they can; of what is left for the drives, Q^T Z^T B tau = Q^T Z^T (M a_p + h - f) with
Q^T Z^T M Z_o = 0, there are fewer equations than efforts: those nearest to a preload are taken, in units of work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pliant.formulations.loops.loops import Loops

Floats = NDArray[np.float64]

RANK = 1e-9
"""Part of the largest singular value below which one is rounding."""
CONSISTENT = 1e-7
"""Part of the largest scaled acceleration by which given ones may contradict the loops."""


class DriveError(ValueError):
    """Motions or efforts of redundant drives that cannot be."""


def redundant_inverse(
    loops: Loops, q: Floats, v: Floats, a: Floats, force: Floats, preload: Floats
) -> tuple[Floats, Floats]:
    """Efforts (inputs,) nearest to a preload, and all accelerations (n,), from those of the drives at one state."""
    arm, size, driven = loops.arm, loops.column_scale, list(loops.driven)
    J, b = loops.used_rows(q, v)
    lengths = np.maximum(np.linalg.norm(J * size, axis=1), np.finfo(float).tiny)
    J, b = J * size / lengths[:, None], b / lengths
    held = np.vstack([J, np.eye(arm.size)[driven]])
    right = np.concatenate([-b, a / size[driven]])
    particular = np.linalg.lstsq(held, right, rcond=RANK)[0]
    _require_consistent(loops, held, right, particular)
    M = arm.mass_matrix(q) * np.outer(size, size)
    lacking = M @ particular + (arm.bias(q, v) - force) * size
    B = arm.B * size[:, None] / size[driven]
    Z, Z_o = kernel(J, arm.size), kernel(held, arm.size)
    Q = kernel((Z.T @ M @ Z_o).T, Z.shape[1])
    A, wanted, near = Q.T @ Z.T @ B, Q.T @ Z.T @ lacking, preload * size[driven]
    tau = near + np.linalg.pinv(A, rcond=RANK) @ (wanted - A @ near)
    y = np.linalg.lstsq(Z.T @ M @ Z_o, Z.T @ (B @ tau - lacking), rcond=RANK)[0]
    return tau / size[driven], size * (particular + Z_o @ y)


def internal_efforts(loops: Loops, q: Floats) -> Floats:
    """Efforts (inputs, k) that move nothing: what redundant drives can do against one another, in units of work."""
    size, driven = loops.column_scale, list(loops.driven)
    J = loops.used_rows(q, np.zeros_like(q))[0] * size
    Z = kernel(J / np.maximum(np.linalg.norm(J, axis=1, keepdims=True), np.finfo(float).tiny), loops.arm.size)
    B = loops.arm.B * size[:, None] / size[driven]
    return kernel(Z.T @ B, len(driven)) / size[driven][:, None]


def kernel(A: Floats, n: int) -> Floats:
    """Orthonormal x (n, k) with A x = 0."""
    if not A.size:
        return np.eye(n)
    _, sizes, Vt = np.linalg.svd(A)
    rank = int(np.count_nonzero(sizes > RANK * max(float(sizes[0]), np.finfo(float).tiny)))
    return np.asarray(Vt[rank:].T)


def _require_consistent(loops: Loops, held: Floats, right: Floats, found: Floats) -> None:
    """Raise where accelerations of the drives do not keep the loops closed."""
    left = np.abs(held @ found - right)
    if left.max(initial=0.0) <= CONSISTENT * max(float(np.abs(right).max(initial=0.0)), 1.0):
        return
    names = ", ".join(loops.arm.names[k] for k in loops.driven)
    raise DriveError(
        f"robot '{loops.arm.mechanism.name}': accelerations of {names} contradict its loops, which let "
        f"{loops.excess_drives} of them follow from the others; give those of a motion that keeps the loops closed"
    )
