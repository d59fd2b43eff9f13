"""Dual screws in R^12 and what they are made of: lines, transformations, derivatives, Cibicik & Egeland section IV.

A dual screw is (angular real, angular dual, linear real, linear dual). Dual vectors in R^6 are (real, dual), and
``hat1(a) @ b`` is their cross product, (13).
"""

from __future__ import annotations

import numpy as np

from pliant.spatial.dual_groups import Array, DualRotation, hat1

SWAP = np.block([[np.zeros((3, 3)), np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
N = np.block([[SWAP, np.zeros((6, 6))], [np.zeros((6, 6)), SWAP]])
"""Interchanges real and dual parts of a screw, (70)."""

TO_FIRST_ORDER = np.block([[np.eye(3), np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
"""The matrix I^ of (99): a^T I^ b of two dual vectors is real.real + real.dual + dual.real."""


def dual_vector(real: Array, dual: Array | None = None) -> Array:
    """(37)."""
    return np.concatenate([real, np.zeros(3) if dual is None else dual])


def line(direction: Array, moment: Array) -> Array:
    """A dual line without dual parts, (58)."""
    return np.concatenate([dual_vector(direction), dual_vector(moment)])


def elastic_screws(slides: Array, turns: Array) -> Array:
    """S = E Psi (12, n), (67)-(69): elastic rates are of order one, so the screws fill the dual parts."""
    n = slides.shape[1]
    none = np.zeros((3, n))
    return np.asarray(N @ np.vstack([turns, none, slides, none]))


def reference_change(p: Array) -> Array:
    """U, (60): the reference point moves to where the old one is seen at the dual vector p."""
    return np.block([[np.eye(6), np.zeros((6, 6))], [hat1(p), np.eye(6)]])


def coordinate_change(R: DualRotation) -> Array:
    """(63): components in axes in which the old ones are turned by R."""
    X = R.matrix
    return np.block([[X, np.zeros((6, 6))], [np.zeros((6, 6)), X]])


def screw_transformation(R: DualRotation, p: Array) -> Array:
    """V = R U, (66)."""
    return coordinate_change(R) @ reference_change(p)


def differentiation(twist: Array) -> Array:
    """[d], (77): the rate of a screw that is fixed in a frame and seen from one that moves with a twist against it.

    With the angular velocity of the old frame seen from the new one, which is minus that of the twist.
    """
    w, v = hat1(twist[:6]), hat1(twist[6:])
    return -np.block([[w, np.zeros((6, 6))], [v, w]])


def lambda_matrix(w: Array) -> Array:
    """[w]_Lambda, (100): I^ [w]^ = [w]_Lambda I^."""
    real, dual = hat1(w)[:3, :3], hat1(w)[3:, :3]
    return np.block([[real, dual], [np.zeros((3, 3)), real]])


def inertia(mass: float, J: Array) -> Array:
    """D, (102) and (107), 12 x 12."""
    none = np.zeros((6, 6))
    weighted = np.kron(np.array([[1.0, 1.0], [1.0, 0.0]]), J)
    return np.block([[weighted, none], [none, mass * TO_FIRST_ORDER]])


def wrench_projection() -> Array:
    """The matrix II of (102), which pairs the force of a wrench with velocities and its moment with spins."""
    none = np.zeros((6, 6))
    return np.block([[none, TO_FIRST_ORDER], [TO_FIRST_ORDER, none]])
