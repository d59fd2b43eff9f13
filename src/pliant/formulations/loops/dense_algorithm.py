"""Forward dynamics of closed loops through the whole mass matrix, against which the elimination by links is checked.

    M a + h = f + J^T lambda,   J a + b = 0   ->   J M^-1 J^T lambda = -b - J M^-1 (f - h)

M by composite bodies, h by Newton and Euler, J column by column from the accelerations of the closures: nothing is
shared with the elimination but the closures themselves. Weights w of a plan add w J^T J to M: with J a = -b given
that is a force along J^T, which the multipliers take, and coordinates without inertia of their own have pivots.
"""

from __future__ import annotations

from dataclasses import dataclass

from pliant.algorithm import run
from pliant.formulations.loops.algorithms import MULTIPLIERS, LoopAlgorithm, LoopInputs, guarded
from pliant.formulations.loops.closure import closing
from pliant.formulations.loops.cuts import Plan
from pliant.formulations.recursive.articulated import ldl, ldl_solve
from pliant.formulations.recursive.recursions import INVERSE, NoInertiaError
from pliant.spatial.vectors import Matrix, Vector, dot
from pliant.tree.composite import mass_matrix
from pliant.tree.kinematics import FRAMES


@dataclass(frozen=True, slots=True)
class DenseLoopForward(LoopAlgorithm):
    """(q, v, f) -> accelerations, then the pivots of the multipliers; fields as of ``LoopForward``."""

    takes = ("q", "v", "f")
    plan: Plan = MULTIPLIERS
    stabilise: float = 0.0
    pivots: bool = True
    least: tuple[float, ...] = ()

    def of_robot(self, robot: LoopInputs) -> Vector:
        tree, _, constants, gravity = robot
        given = self.merged(robot.inputs)
        q, v, f = given["q"], given["v"], given["f"]
        n = len(q)
        still: Vector = [0.0] * n
        h = INVERSE.evaluate(tree, {"q": q, "v": v, "a": still}, constants, gravity)
        M, lacking = mass_matrix(tree, q, constants), [x - y for x, y in zip(f, h, strict=True)]
        J, b = self._rows(robot, q, v)
        for w, row in zip(self._weights, J, strict=True):
            if w:
                M = [[M[i][k] + w * row[i] * row[k] for k in range(n)] for i in range(n)]
        try:
            L, inverse = ldl(M)
        except ZeroDivisionError:
            raise NoInertiaError("the mass matrix is singular: a coordinate moves no inertia") from None
        free = ldl_solve(L, inverse, lacking)
        # M^-1 J^T row by row, and the mobility of the closures
        pulled = [ldl_solve(L, inverse, list(row)) for row in J]
        S: Matrix = [[dot(J[i], pulled[j]) for j in range(i + 1)] for i in range(len(J))]
        L_s, inverse_s = ldl(S)
        pull = ldl_solve(L_s, inverse_s, [-x - dot(row, free) for x, row in zip(b, J, strict=True)])
        a = [x + dot([row[k] for row in pulled], pull) for k, x in enumerate(free)]
        pivots = [1.0 / x for x in inverse_s]
        return [*guarded(self.original(a), pivots, self.least), *(pivots if self.pivots else [])]

    @property
    def _weights(self) -> list[float]:
        """Weight of each row."""
        return [self.plan.weights[0 if row.is_length else 1] for closure in self.closures for row in closure.rows]

    def _rows(self, robot: LoopInputs, q: Vector, v: Vector) -> tuple[Matrix, Vector]:
        """J (rows, n), and what J a must cancel: bias and stabilisation."""

        def closed(v: Vector, a: Vector) -> tuple[Vector, Vector, Vector]:
            links = run(FRAMES, robot.tree, {"q": q, "v": v, "a": a}, robot.constants, [0.0] * 3)
            return closing(self.closures, links)

        n = len(q)
        still: Vector = [0.0] * n
        gaps, rates, bias = closed(v, still)
        k = self.stabilise
        if k:
            bias = [x + 2.0 * k * y + k * k * z for x, y, z in zip(bias, rates, gaps, strict=True)]
        # at rest the accelerations of the closures are J a
        columns = [closed(still, [float(i == j) for i in range(n)])[2] for j in range(n)]
        return [[column[i] for column in columns] for i in range(len(bias))], bias
