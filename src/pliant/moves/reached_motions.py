"""Which motions about the end of a move efforts reach: the others rest by themselves, and cannot be prescribed.

A robot that moves in a plane has vibrations out of it that no drive excites. To demand that they rest at the end would
be an equation between rounding errors, which a solver obeys at the cost of everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.tangent import Tangent, tangent

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]

NOTHING = 1e-8
"""Part of a motion outside of those that are reached already, that is rounding."""


def reached_motions(tangents: Sequence[Tangent], motions: Floats, rates: Floats) -> Floats:
    """The smallest space of states that contains what efforts do at once, and that no motion leaves (2 m, reached).

    tangents  of the robot along its way
    motions   natural motions about the end (m, m), of unit inertia; states are their amplitudes times rates, and rates
    rates     by which amplitudes are multiplied (m,), rad/s
    """
    m = len(motions)
    back = np.linalg.inv(motions)
    matrices, columns = [], []
    for t in tangents:
        lower = back @ np.linalg.solve(t.M, np.hstack([-t.K @ motions / rates, -t.D @ motions]))
        matrices.append(np.vstack([np.hstack([np.zeros((m, m)), np.diag(rates)]), lower]))
        columns.append(np.vstack([np.zeros_like(t.B), back @ np.linalg.solve(t.M, t.B)]))
    basis = np.zeros((2 * m, 0))
    fresh = np.hstack(columns)
    while fresh.shape[1]:
        found = _beyond(basis, fresh)
        basis = np.hstack([basis, found])
        fresh = np.hstack([A @ found for A in matrices])
    return basis


def _beyond(basis: Floats, columns: Floats) -> Floats:
    """Orthonormal directions of columns that a basis does not contain."""
    sizes = np.linalg.norm(columns, axis=0)
    columns = columns[:, sizes > 0] / sizes[sizes > 0]
    rest = columns - basis @ (basis.T @ columns)
    U, s, _ = np.linalg.svd(rest, full_matrices=False)
    found = U[:, s > NOTHING]
    # once more: what was subtracted leaves rounding of its own size
    found = found - basis @ (basis.T @ found)
    return np.asarray(np.linalg.qr(found)[0])


def tangents_along(arm: Dynamics, q: Floats, v: Floats, tau: Floats) -> list[Tangent]:
    """Linearised equations at states (count, n) of a motion; loops have the same independent coordinates in all."""
    still = np.zeros(arm.size)
    found = [tangent(arm, at, rate, still, u, dry_friction=False) for at, rate, u in zip(q, v, tau, strict=True)]
    return [t for t in found if t.names == found[-1].names]
