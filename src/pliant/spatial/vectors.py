"""3-vectors and 3x3 matrices as lists of scalars.

Plain lists keep structural zeros visible: a traced product with the float 0.0 folds away, so a planar or a
straight link costs only what it needs. Symmetric matrices are filled once and mirrored.
"""

from __future__ import annotations

from collections.abc import Sequence

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
