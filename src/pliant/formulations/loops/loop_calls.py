"""Derivatives of forward dynamics with closed loops as steps of a compiled call.

Accelerations and multipliers of the loops obey

    [M  J^T] [a      ]   [f - h]
    [J  0  ] [-lambda] = [-b   ]

and so do their derivatives, with the slopes of the inverse dynamics, of the closing forces at given multipliers and of
the closures' accelerations on the right. The matrix is eliminated without exchanges, M first: what M leaves of each row
of the loops is its pivot, and a state in which one is lost is declined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile import jit
from pliant.engine.compile.lanes import padded
from pliant.formulations.loops.dense_forms import SINGULAR

if TYPE_CHECKING:
    from pliant.engine.call.calls import Operand, QuickCall
    from pliant.formulations.loops.dense_loops import DenseLoops

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class LoopSlopes:
    """The loops of a robot with the rows of its reference pose, in a call."""

    def __init__(self, loops: DenseLoops, call: QuickCall) -> None:
        self.loops, self.call = loops, call
        self.kept = np.array(loops.coordinates.selection.kept, dtype=np.intp)
        self.n, self.all = loops.arm.size, len(loops.rows)

    def closed(
        self, q: Operand, v: Operand, a: Floats, mass: Floats, missing: Floats, slopes: list[Floats]
    ) -> tuple[Floats, list[Floats]]:
        """What stands left and right of the derivatives: (n, n + rows), and for q and v (n + rows, n).

        missing  forces (n,) that the closures must give
        slopes   of the inverse dynamics by q and v
        """
        call, c, n = self.call, self.loops.constraints, self.n
        still = np.zeros(n)
        J = call.evaluates(self.loops.arm.evaluator(c.acceleration, "a"), q, still, still)
        inverse, factors = call.inverted(self._bordered(mass, J))
        self._guard(factors, inverse)
        multipliers = self._multipliers(inverse, missing)
        pull = call.evaluates(self.loops.arm.evaluator(self.loops.traced_pull(self.kept.tolist()), "q"), q, multipliers)
        right = []
        for seed, slope in zip("qv", slopes, strict=True):
            levels = call.evaluates(self.loops.arm.evaluator(c.levels, seed), q, v, a)
            right.append(self._right(slope, levels, pull if seed == "q" else None))
        return inverse[:n], right

    def _added(self, rows: int, wide: int, sources: list[tuple[Floats, Places, Places, float]]) -> Floats:
        """A matrix of rows of others, each (source, rows from, rows to, times a number)."""
        flat: Floats | None = None
        for source, from_, to, by in sources:
            stride, columns = source.strides[0] // source.itemsize, np.arange(source.shape[1])
            at, taken = to[:, None] * wide + columns, from_[:, None] * stride + columns
            flat = self.call.entries(rows * wide, at, taken, np.array(by), _flat(source), flat)
        assert flat is not None
        return flat.reshape(rows, wide)

    def _bordered(self, mass: Floats, J: Floats) -> Floats:
        """[M J^T; . 0], of which the upper triangle is set."""
        n, r = self.n, len(self.kept)
        wide = padded(n + r, jit.lanes())
        every, rows = np.arange(n), np.arange(r)
        stride, J_stride = (x.strides[0] // x.itemsize for x in (mass, J))
        top = self.call.entries(
            (n + r) * wide, every[:, None] * wide + every, every[:, None] * stride + every, np.ones(1), _flat(mass)
        )
        at, from_ = every * wide + n + rows[:, None], self.kept[:, None] * J_stride + every
        return self.call.entries((n + r) * wide, at, from_, np.ones(1), _flat(J), top).reshape(n + r, wide)

    def _guard(self, factors: Floats, inverse: Floats) -> None:
        """Decline where a row of the loops leaves no pivot, or one of the wrong sign: spoil the inverse."""
        n, r = self.n, len(self.kept)
        wide, rows = factors.strides[0] // factors.itemsize, np.arange(r)
        reciprocals = self.call.entries(r, rows, (n + rows) * (wide + 1), -np.ones(1), _flat(factors))
        # -1 / D of a pivot D < -least is between zero and 1 / least
        least = SINGULAR * self.loops.resistance(self.kept.tolist())
        self.call.guard(reciprocals, np.zeros(r), inverse[0])
        self.call.guard(self.call.sparse(-np.eye(r), reciprocals), -1.0 / least, inverse[0])

    def _multipliers(self, inverse: Floats, missing: Floats) -> Floats:
        """Multipliers of the rows that are used, in a vector like q: there are never more of them."""
        n, r, lanes = self.n, len(self.kept), jit.lanes()
        every = np.arange(n)
        column = self.call.entries(n * lanes, every * lanes, every, np.ones(1), missing).reshape(n, lanes)
        found = self.call.minus_product(inverse[n:, :n], column)
        rows = np.arange(r)
        return self.call.entries(n, rows, rows * lanes, -np.ones(1), _flat(found))

    def _right(self, slope: Floats, levels: Floats, pull: Floats | None) -> Floats:
        """Minus the right-hand side of the derivatives."""
        n, r, k = self.n, len(self.kept), self.loops.stabilise
        every, below = np.arange(n), n + np.arange(r)
        sources = [(slope, every, every, 1.0)]
        if pull is not None:
            sources.append((pull, every, every, -1.0))
        # gaps, rates and accelerations of all rows follow one another
        for level, by in enumerate((k**2, 2 * k, 1.0)):
            if by:
                sources.append((levels, level * self.all + self.kept, below, by))
        return self._added(n + r, padded(n, jit.lanes()), sources)[:, :n]


def _flat(matrix: Floats) -> Floats:
    """The memory of a matrix from its first entry on."""
    return np.lib.stride_tricks.as_strided(matrix, (1,), (8,)) if matrix.size else matrix.ravel()
