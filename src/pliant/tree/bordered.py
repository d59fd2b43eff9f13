"""Elimination of the many coordinates of a body on a matrix that stays sparse.

The mass matrix of elements is a narrow band, but not where an acceleration depends on all of them: that of a field of
foreshortening, or of a frame that moves back. Such an acceleration z = g . a_e is an unknown of its own, with a
multiplier for this equation:

    [M_qq  M_qz  g^T] [a_e   ]
    [M_zq  M_zz  -1 ] [z     ]
    [g     -1     0 ] [lambda]

Only two rows for each z fill in. Each z is eliminated together with its lambda: their block of two is regular at every
deflection, also where nothing has inertia along z.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeGuard

from pliant.bodies.terms import Bias, Blocks, Body, FrameTerms, WideBody, momenta
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import Matrix, Vector, add, dot, scale, times, transpose_times, zeros

BORDERED_ABOVE = 12
"""Elastic coordinates of a body up to which a full matrix is cheaper."""
FULL_ROW = 4
"""Coordinates that a row of a frame depends on, up to which it gets no unknown: those of an element in one plane."""


class Pivots(NamedTuple):
    """D^-1 of L D L^T: reciprocals of single pivots, then the blocks [[a b] [b c]] of pairs."""

    single: Vector
    pairs: list[tuple[Scalar, Scalar, Scalar]]

    def under(self, rows: Matrix) -> Matrix:
        """D^-1 times a matrix."""
        n = len(self.single)
        out = [scale(d, row) for d, row in zip(self.single, rows, strict=False)]
        for k, (a, b, c) in enumerate(self.pairs):
            y, z = rows[n + 2 * k : n + 2 * k + 2]
            out += [add(scale(a, y), scale(b, z)), add(scale(b, y), scale(c, z))]
        return out


def factor(M: Matrix, single: int) -> tuple[Matrix, Pivots]:
    """L (unit lower, strict part) and D^-1 with M = L D L^T: so many single pivots, then pairs."""
    n = len(M)
    # L D, whose blocks on the diagonal are D
    L, LD = zeros(n, n), zeros(n, n)
    pivots = Pivots([], [])
    # rows of every column of L that are not zero: few, where there are many
    filled: list[list[int]] = []
    for first in (*range(single), *range(single, n, 2)):
        own = range(first, first + 1 if first < single else first + 2)
        for j in own:
            taken = {k: x for k, x in enumerate(LD[j][:first]) if not is_zero(x)}
            reached = {i for k in taken for i in filled[k]}
            for i in range(j, n):
                shared = dot([L[i][k] for k in taken], list(taken.values())) if i in reached else 0.0
                LD[i][j] = M[i][j] - shared
        if first < single:
            pivots.single.append(1.0 / LD[first][first])
        else:
            a, b, c = LD[first][first], LD[first + 1][first], LD[first + 1][first + 1]
            reciprocal = 1.0 / (a * c - b * b)
            LD[first][first + 1] = b
            pivots.pairs.append((c * reciprocal, -b * reciprocal, a * reciprocal))
        rows = [i for i in range(own.stop, n) if not all(is_zero(LD[i][j]) for j in own)]
        for i in rows:
            if first < single:
                L[i][first] = LD[i][first] * pivots.single[-1]
            else:
                (y, z), (a, b, c) = LD[i][first : first + 2], pivots.pairs[-1]
                L[i][first : first + 2] = a * y + b * z, b * y + c * z
        filled += [rows for _ in own]
    return L, pivots


def is_bordered(body: Body, size: int) -> TypeGuard[WideBody]:
    """Whether a body with so many elastic coordinates is known by its wide inertia."""
    return size > BORDERED_ABOVE and isinstance(body, WideBody)


def moved(
    body: Body, q_e: Vector, v_e: Vector, w: Vector, a_v: Vector, a_w: Vector, a_e: Vector
) -> tuple[Scalar, Bias, Bias]:
    """Mass of a body, its mass matrix times accelerations or rates, and its bias."""
    n = len(q_e)
    if not is_bordered(body, n):
        b, bias = body.inertia(q_e, v_e, w)
        return b.A[0][0], Bias(*momenta(b, a_v, a_w, a_e)), bias
    b, bias, G = body.wide_inertia(q_e, v_e, w)
    force, moment, rates = momenta(b, a_v, a_w, [*a_e, *times(G, a_e)])
    own, biased = (add(x[:n], transpose_times(G, x[n:])) for x in (rates, bias.elastic))
    return b.A[0][0], Bias(force, moment, own), bias._replace(elastic=biased)


def bordered(
    body: WideBody, q_e: Vector, v_e: Vector, w: Vector, frames: list[FrameTerms]
) -> tuple[Blocks, Bias, list[FrameTerms]]:
    """Terms of a body on (a_v, a_w, a_e, z_1, lambda_1, z_2, ...), and of frames that something hangs on."""
    whole, (force, moment, rates), fields = body.wide_inertia(q_e, v_e, w)
    n, known = len(q_e), len(fields)
    of_frames = [row for frame in frames for row in (*frame.J_v, *_angles(frame)) if _is_full(row)]
    rows = [*fields, *of_frames]
    place = {id(row): n + 2 * j for j, row in enumerate(rows)}
    size = n + 2 * len(rows)

    def widened(row: Vector) -> Vector:
        """From (a_e, fields) to all unknowns."""
        out = [*row[:n], *[0.0] * (size - n)]
        out[n : n + 2 * known : 2] = row[n:]
        return out

    def lean(row: Vector) -> Vector:
        """A row of a frame: one that has an unknown of its own is that."""
        if id(row) not in place:
            return [*row, *[0.0] * (size - n)]
        return [float(k == place[id(row)]) for k in range(size)]

    M = zeros(size, size)
    for i, row in enumerate(whole.M_e):
        M[i if i < n else 2 * i - n] = widened(row)
    for j, row in enumerate(rows):
        z, multiplier = n + 2 * j, n + 2 * j + 1
        for i, g in (*enumerate(row), (z, -1.0)):
            M[i][multiplier] = M[multiplier][i] = g
    blocks = whole._replace(E_v=[widened(row) for row in whole.E_v], E_w=[widened(row) for row in whole.E_w], M_e=M)
    return blocks, Bias(force, moment, widened(rates)), [_with_rows(frame, lean) for frame in frames]


def _angles(frame: FrameTerms) -> Matrix:
    return [] if frame.spin is None else frame.spin.angles


def _with_rows(frame: FrameTerms, lean: Callable[[Vector], Vector]) -> FrameTerms:
    spin = None if frame.spin is None else frame.spin._replace(angles=[lean(row) for row in frame.spin.angles])
    return frame._replace(J_v=[lean(row) for row in frame.J_v], spin=spin)


def _is_full(row: Vector) -> bool:
    return sum(not is_zero(x) for x in row) > FULL_ROW
