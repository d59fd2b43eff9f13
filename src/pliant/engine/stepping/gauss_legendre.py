"""Gauss's collocation with sixteen stages: nodes, weights, and what polynomials through the stages give.

Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section II.7. A step is the interval [0, 1]; a
polynomial in it is a sum of Legendre polynomials P_k of x = 2 s - 1, whose integrals from 0 to s are

    s = (P_1 + P_0) / 2,   (P_{k+1} - P_{k-1}) / (2 (2 k + 1)).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STAGES = 16
"""A whole number of vector registers everywhere; the order of a step is twice that."""


class Collocation(NamedTuple):
    """The coefficients.

    c            places of the stages in the step: those of its first half, then their mirror images
    b            weights of the step
    A            (stages, stages): integrals from the start to each stage
    AA           the same twice
    coefficients (stages, stages): of the Legendre polynomials, from values at the stages
    T, eigenvalues, inverse   A = T diag(eigenvalues) inverse; the eigenvalues come in conjugate pairs, of each pair one
                 is kept, and A is twice the real part
    """

    c: Floats
    b: Floats
    A: Floats
    AA: Floats
    coefficients: Floats
    T: NDArray[np.complex128]
    eigenvalues: NDArray[np.complex128]
    inverse: NDArray[np.complex128]


def legendre(x: Floats) -> Floats:
    """P_0 to P_stages (len(x), stages + 1)."""
    P = np.ones((len(x), STAGES + 1))
    P[:, 1] = x
    for k in range(1, STAGES):
        P[:, k + 1] = ((2 * k + 1) * x * P[:, k] - k * P[:, k - 1]) / (k + 1)
    return P


def integrals(s: Floats) -> Floats:
    """Integrals of P_0 to P_{stages - 1} from the start to places s in the step (len(s), stages)."""
    P = legendre(2 * s - 1)
    k = np.arange(1, STAGES)
    return np.hstack([s[:, None], (P[:, 2:] - P[:, :-2]) / (2 * (2 * k + 1))])


@cache
def gauss_legendre() -> Collocation:
    """The coefficients."""
    half = STAGES // 2
    x, weights = (np.concatenate([y[:half], y[: half - 1 : -1]]) for y in np.polynomial.legendre.leggauss(STAGES))
    c, b, k = (1 + x) / 2, weights / 2, np.arange(STAGES)
    P = legendre(x)[:, :-1]
    coefficients = (2 * k[:, None] + 1) * (b[:, None] * P).T
    A = integrals(c) @ coefficients
    # A in the normalised Legendre polynomials is tridiagonal, and its eigenvectors keep seven digits more than A's
    normalised = P * np.sqrt(2 * k + 1)
    beside = 1 / (2 * np.sqrt(4 * k[1:] ** 2 - 1.0))
    X = np.diag(beside, -1) - np.diag(beside, 1)
    X[0, 0] = 0.5
    eigenvalues, T = np.linalg.eig(X)
    one = eigenvalues.imag > 0
    eigenvalues, T = eigenvalues[one], T[:, one]
    # in real parts the two of a pair stay conjugate, however far the eigenvectors are from orthogonal
    real, imaginary = np.split(np.linalg.inv(np.hstack([T.real, T.imag])), 2)
    inverse = (real - 1j * imaginary) / 2 @ (normalised * b[:, None]).T
    return Collocation(c, b, A, A @ A, coefficients, normalised @ T, eigenvalues, inverse)
