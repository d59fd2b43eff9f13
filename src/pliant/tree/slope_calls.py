"""Derivatives of the inverse dynamics as steps of a compiled call: from composite bodies, or tangents of the recursion.

Tangents push every coordinate through all links. Composite bodies take a pass over the links and constant work for
every pair of coordinates, so they win from a few links on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.tree.composite_steps import force_slopes, mass_matrix
from pliant.tree.force_columns import FORCE_SLOPES, has_slopes, slope_plan
from pliant.tree.function import Function, make_evaluator
from pliant.tree.inertia_columns import COMPOSITES, mass_plan
from pliant.tree.tree import Tree

if TYPE_CHECKING:
    from pliant.engine.call.calls import Operand, QuickCall

Floats = NDArray[np.float64]

MANY_LINKS = 12
"""Links from which composite bodies are the quickest way to the mass matrix."""
FEW_MODES = 12
"""Elastic coordinates of a link up to which its block of the mass matrix is worth code of its own."""
SEVERAL_LINKS = 5
"""Rigid links from which composite bodies are the quickest way to all derivatives."""


class SlopeSteps:
    """The derivatives of a robot's inverse dynamics in calls; ``tree``: of its links, None for other methods."""

    def __init__(self, inverse: Function, tree: Tree | None) -> None:
        self.inverse, self.tree = inverse, tree

    def mass(self, call: QuickCall, q: Operand) -> Floats:
        """M (n, n)."""
        tree = self.tree
        sizes = [] if tree is None else [link.kind.size for link in tree.links]
        if tree is None or len(sizes) < MANY_LINKS or max(sizes) > FEW_MODES:
            still = self.inverse.nothing
            return call.evaluates(self.inverse.by("a").evaluator, q, still, still)
        flat = call.evaluates(make_evaluator(Traced(COMPOSITES, tree), (), compiled=True), q)
        return mass_matrix(call, flat, mass_plan(tree))

    def all(self, call: QuickCall, q: Operand, v: Operand, a: Operand) -> list[Floats]:
        """The derivatives (n, n) by q, v and a; rows end in whole vectors."""
        tree = self.tree
        if tree is None or len(tree.links) < SEVERAL_LINKS or not has_slopes(tree):
            by_q, by_v = (call.evaluates(self.inverse.by(seed).evaluator, q, v, a) for seed in "qv")
            return [by_q, by_v, self.mass(call, q)]
        flat = call.evaluates(make_evaluator(Traced(FORCE_SLOPES, tree), (), compiled=True), q, v, a)
        by_q, by_v, M = force_slopes(call, flat, slope_plan(tree))
        return [by_q, by_v if tree.drag is None else _plus(call, by_v, tree.drag), M]


def _plus(call: QuickCall, matrix: Floats, constant: Floats) -> Floats:
    """The sum of a matrix with padded rows and one that stays."""
    (rows, columns), wide = matrix.shape, matrix.strides[0] // matrix.itemsize
    flat = np.lib.stride_tricks.as_strided(matrix, (rows * wide,), (matrix.itemsize,))
    row, column = np.nonzero(constant)
    added = call.entries(flat.size, row * wide + column, 0 * row, constant[row, column], np.ones(1), flat)
    return added.reshape(rows, wide)[:, :columns]
