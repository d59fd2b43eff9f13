"""Linear equations on lists of scalars: factors without a search for pivots, so that they can be traced."""

from __future__ import annotations

from pliant.spatial.scalars import Scalar, is_zero, sqrt
from pliant.spatial.vectors import Matrix, Vector


def solve_symmetric(A: Matrix, b: Vector) -> Vector:
    """x with A x = b by L D L^T from the last row on, A symmetric and positive definite."""
    n = len(b)
    A, x = [list(row) for row in A], list(b)
    L = [[0.0] * n for _ in range(n)]
    for k in reversed(range(n)):
        inverse = 1.0 / _positive(A[k][k])
        for i in range(k):
            L[k][i] = A[k][i] * inverse
        for i in range(k):
            if is_zero(A[k][i]):
                continue
            for j in range(i + 1):
                A[i][j] = A[i][j] - L[k][i] * A[k][j]
            x[i] = x[i] - L[k][i] * x[k]
        x[k] = x[k] * inverse
    for k in range(n):
        for i in range(k):
            x[k] = x[k] - L[k][i] * x[i]
    return x


def _positive(pivot: Scalar) -> Scalar:
    """A pivot; no number where it is negative: what is not positive definite has no solution that means anything."""
    if type(pivot) in (float, int):
        return pivot
    root = sqrt(pivot)
    return root * root


def solve(A: Matrix, b: Vector, order: list[int]) -> Vector:
    """x with A x = b by Gauss's elimination of the unknowns in a given order."""
    A, x = [list(row) for row in A], list(b)
    for step, k in enumerate(order):
        inverse = 1.0 / A[k][k]
        for i in order[step + 1 :]:
            factor = A[i][k] * inverse
            for j in order[step + 1 :]:
                A[i][j] = A[i][j] - factor * A[k][j]
            x[i] = x[i] - factor * x[k]
        x[k] = x[k] * inverse
        A[k] = [a * inverse for a in A[k]]
    for step, k in reversed(list(enumerate(order))):
        for j in order[step + 1 :]:
            x[k] = x[k] - A[k][j] * x[j]
    return x
