"""Dual vectors and dual matrices as pairs of lists of scalars: the real part of order zero, the dual part of order one.

Products drop what is of order two (Cibicik & Egeland, section II-A). Structural zeros stay visible, as in plain ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pliant.spatial import vectors as plain
from pliant.spatial.rotations import FactoredRotation
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import ZERO3, Matrix, Vector


class DualVector(NamedTuple):
    """real + eps dual, 3-vectors."""

    real: Vector
    dual: Vector

    @property
    def total(self) -> Vector:
        """Its value to first order: eps is one."""
        return plain.add(self.real, self.dual)


class DualMatrix(NamedTuple):
    """real + eps dual, 3 x 3."""

    real: Matrix
    dual: Matrix


def constant(x: Sequence[Scalar]) -> DualVector:
    """A vector of order zero."""
    return DualVector(list(x), list(ZERO3))


def small(x: Sequence[Scalar]) -> DualVector:
    """A vector of order one."""
    return DualVector(list(ZERO3), list(x))


def add(*vectors: DualVector) -> DualVector:
    return DualVector(plain.add(*(x.real for x in vectors)), plain.add(*(x.dual for x in vectors)))


def scale(k: Scalar, a: DualVector) -> DualVector:
    """A plain multiple."""
    return DualVector(plain.scale(k, a.real), plain.scale(k, a.dual))


def cross(a: DualVector, b: DualVector) -> DualVector:
    return DualVector(plain.cross(a.real, b.real), plain.add(plain.cross(a.real, b.dual), plain.cross(a.dual, b.real)))


def times(m: DualMatrix, x: DualVector) -> DualVector:
    return DualVector(plain.times(m.real, x.real), plain.add(plain.times(m.real, x.dual), plain.times(m.dual, x.real)))


def dot(a: DualVector, b: DualVector) -> tuple[Scalar, Scalar]:
    """Real and dual part."""
    return plain.dot(a.real, b.real), plain.dot(a.real, b.dual) + plain.dot(a.dual, b.real)


def is_zero_vector(x: DualVector) -> bool:
    """Whether both parts are structurally zero."""
    return all(is_zero(k) for k in (*x.real, *x.dual))


class DualTurn(NamedTuple):
    """The dual rotation matrix (1 + eps theta~) R of (31): a rigid rotation, then small section angles before it.

    rotation  R, order zero: parent axes <- own axes
    theta     (3,) order one, parent axes; None where nothing turns
    """

    rotation: FactoredRotation
    theta: Vector | None

    def apply(self, x: DualVector) -> DualVector:
        """Own axes -> parent axes, (39)."""
        real, dual = self.rotation.apply(x.real), self.rotation.apply(x.dual)
        return DualVector(real, dual if self.theta is None else plain.add(dual, plain.cross(self.theta, real)))

    def back(self, x: DualVector) -> DualVector:
        """Parent axes -> own axes, (40): the inverse is not the transpose of (31), but of its dual parts."""
        real, dual = x
        if self.theta is not None:
            dual = plain.add(dual, plain.cross(real, self.theta))
        return DualVector(self.rotation.back(real), self.rotation.back(dual))

    def turned(self, m: DualMatrix) -> DualMatrix:
        """R M R^T of a symmetric tensor, own axes -> parent axes, as (41)."""
        real, dual = (_similar(self.rotation, part) for part in m)
        if self.theta is not None:
            # theta~ M - M theta~ of a symmetric M is X + X^T with X = theta~ M
            X = plain.transpose([plain.cross(self.theta, plain.column(real, j)) for j in range(3)])
            dual = symmetric([[dual[i][j] + (X[i][j] + X[j][i]) for j in range(3)] for i in range(3)])
        return DualMatrix(real, dual)


def _similar(rotation: FactoredRotation, m: Matrix) -> Matrix:
    zero = plain.zeros(3, 3)
    return rotation.inertia(m, zero, zero)[0] if not all(is_zero(x) for row in m for x in row) else zero


def symmetric(m: Matrix) -> Matrix:
    """The upper triangle mirrored, so that each pair of entries is computed once."""
    return [[m[min(i, j)][max(i, j)] for j in range(3)] for i in range(3)]
