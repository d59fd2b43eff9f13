"""A rotation as one full matrix, or as a few turns about coordinate axes.

A turn about an axis costs 4 multiplications on a vector and 28 on a 6 x 6 inertia, a full matrix 9 and up to 144:
links that are joined without bending in between use turns.
"""

from __future__ import annotations

from typing import NamedTuple

from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import (
    AFTER,
    Matrix,
    Vector,
    column,
    identity3,
    similar,
    similar_symmetric,
    times,
    transpose_times,
    turn_about,
)


class AxisTurn(NamedTuple):
    """A turn about a coordinate axis, by the angle with this cosine and sine."""

    axis: int
    c: Scalar
    s: Scalar


class FactoredRotation(NamedTuple):
    """R = matrix, or the product of the turns from left to right (none: identity)."""

    matrix: Matrix | None
    turns: list[AxisTurn]

    def to_matrix(self) -> Matrix:
        if self.matrix is not None:
            return self.matrix
        out = identity3()
        for axis, c, s in self.turns:
            out = turn_about(axis, c, s, out)
        return out

    def column(self, k: int) -> Vector:
        """R e_k."""
        return column(self.matrix, k) if self.matrix is not None else self.apply(column(identity3(), k))

    def apply(self, v: Vector) -> Vector:
        """R v."""
        if self.matrix is not None:
            return times(self.matrix, v)
        out = list(v)
        for axis, c, s in reversed(self.turns):
            i, j = AFTER[axis]
            out[i], out[j] = c * out[i] - s * out[j], s * out[i] + c * out[j]
        return out

    def back(self, v: Vector) -> Vector:
        """R^T v."""
        if self.matrix is not None:
            return transpose_times(self.matrix, v)
        out = list(v)
        for axis, c, s in self.turns:
            i, j = AFTER[axis]
            out[i], out[j] = c * out[i] + s * out[j], c * out[j] - s * out[i]
        return out

    def inertia(self, A: Matrix, B: Matrix, C: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """R A R^T, R B R^T, R C R^T with A and C symmetric."""
        if self.matrix is not None:
            return similar_symmetric(self.matrix, A), similar(self.matrix, B), similar_symmetric(self.matrix, C)
        for axis, c, s in reversed(self.turns):
            squares = c * c, c * s, s * s
            A, B, C = (_turned(axis, c, s, squares, m, m is not B) for m in (A, B, C))
        return A, B, C


def _turned(
    axis: int, c: Scalar, s: Scalar, squares: tuple[Scalar, Scalar, Scalar], m: Matrix, symmetric: bool
) -> Matrix:
    """R M R^T for a turn about a coordinate axis."""
    cc, cs, ss = squares
    i, j = AFTER[axis]
    k = axis
    out = [list(row) for row in m]
    t, u = m[i][i] - m[j][j], m[i][j] + m[j][i]
    w, z = cc * t - cs * u, cs * t - ss * u
    out[i][i], out[j][j] = m[j][j] + w, m[i][i] - w
    out[i][j] = m[i][j] + z
    out[j][i] = out[i][j] if symmetric else m[j][i] + z
    out[i][k], out[j][k] = c * m[i][k] - s * m[j][k], s * m[i][k] + c * m[j][k]
    if symmetric:
        out[k][i], out[k][j] = out[i][k], out[j][k]
    else:
        out[k][i], out[k][j] = c * m[k][i] - s * m[k][j], s * m[k][i] + c * m[k][j]
    return out


def as_turn(R: Matrix) -> AxisTurn | None:
    """The turn that a constant matrix is, judged by its structural zeros and ones; None if it is not one."""
    for k in range(3):
        i, j = AFTER[k]
        off = (R[k][i], R[k][j], R[i][k], R[j][k])
        if type(R[k][k]) is float and R[k][k] == 1.0 and all(is_zero(x) for x in off):
            return AxisTurn(k, R[i][i], R[j][i])
    return None
