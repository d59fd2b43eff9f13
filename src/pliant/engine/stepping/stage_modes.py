"""The vibrations about a state, as the Newton steps of Gauss's collocation take them.

With accelerations a(q, v), the stages of a step of size h are zeros of a(q + h c v + h^2 A A a, v + h A a) - a. In the
eigenvectors of -da/dq this falls apart into the coordinates, as far as damping does:

    (1 + h d A + h^2 w^2 A A) change = residual,

a small matrix for every vibration of frequency w and damping d. What is left out makes Newton's method converge less
quickly, and changes nothing in what it converges to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.stepping.gauss_legendre import gauss_legendre

Floats = NDArray[np.float64]

LARGEST = 1e8
"""Entry in the inverse of unit eigenvectors that are still of use."""


class StageModes(NamedTuple):
    """Vibrations about a state: shapes (n, n) in columns, their inverse, squares of frequencies and damping (n,)."""

    shapes: Floats
    inverse: Floats
    squares: Floats
    damping: Floats

    @classmethod
    def of(cls, stiffness: Floats, damping: Floats) -> StageModes:
        """From -da/dq and -da/dv (n, n)."""
        n = len(stiffness)
        unknown = cls(np.eye(n), np.eye(n), np.zeros(n), np.zeros(n))
        if not np.isfinite(stiffness.sum() + damping.sum()):
            return unknown
        try:
            squares, shapes = np.linalg.eig(stiffness)
            if np.iscomplexobj(squares):
                # of a pair the two parts span the same plane
                shapes = np.where(squares.imag < 0, shapes.imag, shapes.real)
                squares = squares.real
            inverse = np.linalg.inv(shapes)
        except np.linalg.LinAlgError:
            return unknown
        if not np.abs(inverse).max() < LARGEST:
            return unknown
        return cls(shapes, inverse, squares, (inverse * (damping @ shapes).T).sum(axis=1))

    def filters(self, h: float) -> Floats:
        """Inverses of the matrices above (n, stages, stages)."""
        gauss = gauss_legendre()
        part = h * gauss.eigenvalues[:, None]
        scaled = 1.0 / (1.0 + part * self.damping + part * part * self.squares)
        return np.asarray(2.0 * np.einsum("ip,pm,pj->mij", gauss.T, scaled, gauss.inverse).real)
