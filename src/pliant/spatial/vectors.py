"""3-vectors, 3x3 matrices and rotations as lists of scalars.

Plain lists keep structural zeros visible: a traced product with the float 0.0 folds away, so a planar or a
straight link costs only what it needs. Symmetric matrices are filled once and mirrored.

A rotation is one full matrix, or a few turns about coordinate axes. A turn about an axis costs 4 multiplications on a
vector and 28 on a 6 x 6 inertia, a full matrix 9 and up to 144: links that are joined without bending in between use
turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pliant.spatial.scalars import Scalar, is_zero

Vector = list[Scalar]
Matrix = list[list[Scalar]]

ZERO3: Vector = [0.0, 0.0, 0.0]
AFTER = ((1, 2), (2, 0), (0, 1))
"""The two axes that follow axis k in cyclic order."""


def zeros(rows: int, columns: int) -> Matrix:
    return [[0.0] * columns for _ in range(rows)]


def identity3() -> Matrix:
    return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def add(*vectors: Sequence[Scalar]) -> Vector:
    first, *rest = vectors
    out = list(first)
    for vector in rest:
        out = [x + y for x, y in zip(out, vector, strict=True)]
    return out


def subtract(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vector:
    return [x - y for x, y in zip(a, b, strict=True)]


def scale(k: Scalar, a: Sequence[Scalar]) -> Vector:
    return [k * x for x in a]


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    out: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        out = out + x * y
    return out


def sparse_dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Scalar product with a row that is mostly structural zeros: only what is not zero is multiplied."""
    out: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if type(x) is not float or x:
            out = out + x * y
    return out


def cross(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def column(m: Sequence[Sequence[Scalar]], j: int) -> Vector:
    return [row[j] for row in m]


def times(m: Sequence[Sequence[Scalar]], x: Sequence[Scalar]) -> Vector:
    return [dot(row, x) for row in m]


def shared_times(m: Sequence[Sequence[Scalar]], x: Sequence[Scalar]) -> Vector:
    """M x where entries of a row are often equal up to sign, as tip values of modes are: each is multiplied once."""
    return [_shared_dot(row, x) for row in m]


def _shared_dot(row: Sequence[Scalar], x: Sequence[Scalar]) -> Scalar:
    groups: dict[object, tuple[Scalar, Scalar]] = {}
    for entry, value in zip(row, x, strict=True):
        if is_zero(entry):
            continue
        if hasattr(entry, "signed"):
            factor, sign = entry.signed()
        elif type(entry) is float:
            factor, sign = abs(entry), 1.0 if entry > 0 else -1.0
        else:
            factor, sign = entry, 1.0
        key = factor if type(factor) is float else id(factor)
        total = groups[key][1] if key in groups else 0.0
        groups[key] = (factor, total + sign * value)
    return dot([factor for factor, _ in groups.values()], [total for _, total in groups.values()])


def transpose_times(m: Sequence[Sequence[Scalar]], x: Sequence[Scalar]) -> Vector:
    return [dot(column(m, j), x) for j in range(len(m[0]))] if m else []


def product(a: Matrix, b: Matrix) -> Matrix:
    columns = [column(b, j) for j in range(len(b[0]))]
    return [[dot(row, c) for c in columns] for row in a]


def transpose(m: Matrix) -> Matrix:
    return [list(row) for row in zip(*m, strict=True)]


def turn_about(axis: int, c: Scalar, s: Scalar, m: Matrix) -> Matrix:
    """M R, where R turns about a coordinate axis by the angle with cosine c and sine s."""
    i, j = AFTER[axis]
    out = [list(row) for row in m]
    for row in out:
        row[i], row[j] = row[i] * c + row[j] * s, row[j] * c - row[i] * s
    return out


def plus(a: Matrix, b: Matrix) -> Matrix:
    return [add(x, y) for x, y in zip(a, b, strict=True)]


def plus_symmetric(a: Matrix, b: Matrix) -> Matrix:
    """Sum of two symmetric matrices, each pair of entries once."""
    out = zeros(3, 3)
    for i in range(3):
        for j in range(i, 3):
            out[i][j] = out[j][i] = a[i][j] + b[i][j]
    return out


def similar_symmetric(r: Matrix, m: Matrix) -> Matrix:
    """R M R^T of a symmetric M; structural zeros of M save their products.

    A full M is taken as M - mu 1 with mu = M_33, and the last diagonal entry follows from the trace.
    """
    full = not any(is_zero(m[i][j]) for i in range(3) for j in range(3))
    mu = m[2][2] if full else 0.0
    rest = [[m[i][j] - mu if i == j else m[i][j] for j in range(3)] for i in range(3)]
    if full:
        rest[2][2] = 0.0
    half = product(r, rest)
    out = zeros(3, 3)
    for i in range(3):
        for j in range(i, 3):
            if full and i == j == 2:
                out[2][2] = (m[0][0] + m[1][1]) + mu - (out[0][0] + out[1][1])
                continue
            out[i][j] = out[j][i] = dot(half[i], r[j]) + (mu if i == j else 0.0)
    return out


def similar(r: Matrix, m: Matrix) -> Matrix:
    """R M R^T of a general M, multiplied first on the side that has more zero lines."""
    zero_columns = sum(all(is_zero(x) for x in column(m, j)) for j in range(3))
    zero_rows = sum(all(is_zero(x) for x in row) for row in m)
    if zero_rows > zero_columns:
        return transpose(similar(r, transpose(m)))
    return product(product(r, m), transpose(r))


# ---- rotations


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
