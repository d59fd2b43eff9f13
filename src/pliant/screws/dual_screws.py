"""Dual screws in R^12 (Cibicik & Egeland, section IV): lines, elastic screws, transformations, inertia, projections.

A dual screw is (angular real, angular dual, linear real, linear dual); dual vectors in R^6 are (real, dual), and
``DualRotation.hat(a) @ b`` is their cross product, (13).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pliant.screws.checked_input import Array, numbers
from pliant.screws.groups import DualRotation
from pliant.screws.screw_vectors import columns_of, filled
from pliant.spatial.dual_numbers import Dual

SWAP = np.block([[np.zeros((3, 3)), np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
INTERCHANGE = np.block([[SWAP, np.zeros((6, 6))], [np.zeros((6, 6)), SWAP]])
"""Interchanges real and dual parts of a screw, (70)."""

TO_FIRST_ORDER = np.block([[np.eye(3), np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
"""The matrix I^ of (99): a^T I^ b of two dual vectors is real.real + real.dual + dual.real."""


def dual_vector(real: ArrayLike, dual: ArrayLike | None = None) -> Array:
    """(real, dual) in R^6, (37); without a dual part one of order zero."""
    small = np.zeros(3) if dual is None else numbers("dual", dual, (3,))
    return np.concatenate([numbers("real", real, (3,)), small])


def dual_form(a: ArrayLike) -> Dual:
    """real + eps dual of a vector or matrix in R^6 or R^12, whose parts alternate in blocks of three rows."""
    a = np.asarray(a, dtype=float)
    if a.ndim < 1 or a.shape[0] not in (6, 12):
        raise ValueError(f"a has shape {a.shape}; it must have 6 or 12 rows")
    blocks = np.split(a, a.shape[0] // 3)
    return Dual(np.concatenate(blocks[::2]), np.concatenate(blocks[1::2]))


def dual_line(direction: ArrayLike, moment: ArrayLike) -> Array:
    """A dual line (12,) without dual parts, (58): its direction, and its moment about the reference point."""
    return np.concatenate([dual_vector(direction), dual_vector(moment)])


def elastic_screws(slides: ArrayLike, turns: ArrayLike) -> Array:
    """S = E Psi (12, n), (67)-(69): elastic rates are of order one, so the screws fill the dual parts.

    slides, turns  (3, n) displacement and turn of a section per unit of each elastic coordinate
    """
    n = np.asarray(slides).shape[-1]
    slides, turns = numbers("slides", slides, (3, n)), numbers("turns", turns, (3, n))
    none = np.zeros((3, n))
    return np.asarray(INTERCHANGE @ np.vstack([turns, none, slides, none]))


def dual_reference_change(p: ArrayLike) -> Array:
    """U (12, 12), (60): the reference point moves to where the old one is seen at the dual vector p."""
    return np.block([[np.eye(6), np.zeros((6, 6))], [DualRotation.hat(p), np.eye(6)]])


def dual_coordinate_change(R: DualRotation) -> Array:
    """(12, 12), (63): components in axes in which the old ones are turned by R."""
    X = R.matrix
    return np.block([[X, np.zeros((6, 6))], [np.zeros((6, 6)), X]])


def dual_screw_transformation(R: DualRotation, p: ArrayLike) -> Array:
    """V = R U (12, 12), (66): from axes turned by R, with the old reference point at p (6,) in the old axes.

    ``DualTransform(R, v).adjoint`` is the same with p = R^-1 v.
    """
    return dual_coordinate_change(R) @ dual_reference_change(p)


def dual_differentiation(twist: ArrayLike) -> Array:
    """[d] (12, 12), (77): the rate of a screw fixed in a frame, seen from one that moves with a twist against it.

    With the angular velocity of the old frame seen from the new one, which is minus that of the twist.
    """
    w, v = (DualRotation.hat(part) for part in np.split(numbers("twist", twist, (12,)), 2))
    return -np.block([[w, np.zeros((6, 6))], [v, w]])


def lambda_matrix(w: ArrayLike) -> Array:
    """[w]_Lambda (6, 6), (100): I^ [w]^ = [w]_Lambda I^."""
    real, dual = DualRotation.hat(w)[:3, :3], DualRotation.hat(w)[3:, :3]
    return np.block([[real, dual], [np.zeros((3, 3)), real]])


def dual_inertia(mass: float, J: ArrayLike) -> Array:
    """D (12, 12), (102) and (107), of a body or a section with its inertia J (3, 3) about its centre."""
    J = numbers("J", J, (3, 3))
    none = np.zeros((6, 6))
    weighted = np.kron(np.array([[1.0, 1.0], [1.0, 0.0]]), J)
    return np.block([[weighted, none], [none, mass * TO_FIRST_ORDER]])


def wrench_projection() -> Array:
    """The matrix II of (102), which pairs the force of a wrench with velocities and its moment with spins."""
    none = np.zeros((6, 6))
    return np.block([[none, TO_FIRST_ORDER], [TO_FIRST_ORDER, none]])


def dual_projection_matrix(screws: Sequence[ArrayLike], count: int | None = None) -> Array:
    """P (12, count), (92): dual screws (12,) or blocks of them (12, n) side by side, zeros behind them."""
    columns = [np.zeros((12, 0)), *(columns_of("a dual screw", each, 12) for each in screws)]
    return filled(np.hstack(columns), count)
