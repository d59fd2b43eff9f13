"""Algorithms that only exports need, each traced as a whole over the tree that carries a model's constants.

Of a robot with loops that is the merged tree of the loops: ``order`` leads from the robot's coordinates to its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pliant.algorithm import Algorithm, run
from pliant.formulations.loops.algorithms import ClosingForce, LoopAlgorithm, LoopCorrection, LoopInputs
from pliant.formulations.loops.closure import Closure, closing, gaps_and_rates
from pliant.formulations.recursive.articulated import ldl, ldl_solve
from pliant.formulations.recursive.recursions import INVERSE, REACTION
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Matrix, Vector, dot, subtract, times
from pliant.tree.composite import mass_matrix
from pliant.tree.kinematics import MOTION

Axes = tuple[tuple[float, ...], ...]
"""A rotation matrix as rows."""


@dataclass(frozen=True, slots=True)
class InOrder(Algorithm):
    """An algorithm of a tree whose coordinates are the robot's in another order.

    vector  whether its results are one for each coordinate; else they stay as they are
    parts   results of each link that are added up over all links; 0: they are kept apart
    """

    inner: Algorithm
    order: tuple[int, ...]
    vector: bool = True
    parts: int = 0

    @classmethod
    def of(cls, inner: Algorithm, order: Sequence[int], *, vector: bool = True, parts: int = 0) -> InOrder:
        """The algorithm for a tree in an order."""
        return cls(inner.name, inner.inputs, (), "", inner, tuple(order), vector, parts)

    def evaluate(
        self,
        tree: Any,
        inputs: Mapping[str, Sequence[Any]],
        constants: Sequence[Any] | None = None,
        gravity: Vector | None = None,
    ) -> Vector:
        moved = {name: [x[k] for k in self.order] for name, x in inputs.items()}
        out = self.inner.evaluate(tree, moved, constants, gravity)
        if self.parts:
            totals: Vector = [0.0] * self.parts
            for i, x in enumerate(out):
                totals[i % self.parts] = totals[i % self.parts] + x
            return totals
        return restored(out, self.order) if self.vector else out


def restored(x: Sequence[Scalar], order: Sequence[int]) -> Vector:
    """Values of a tree's coordinates in the robot's own order."""
    out: Vector = [0.0] * len(order)
    for k, value in zip(order, x, strict=True):
        out[k] = value
    return out


@dataclass(frozen=True, slots=True)
class CompositeMass(LoopAlgorithm):
    """(q) -> mass matrix by composite bodies, row by row: a third of the operations of seeded inverse dynamics."""

    takes = ("q",)

    def of_robot(self, robot: LoopInputs) -> Vector:
        M = mass_matrix(robot.tree, self.merged(robot.inputs)["q"], robot.constants)
        rows = restored([restored(row, self.order) for row in M], self.order)
        return [x for row in rows for x in row]


# ---- closed loops


@dataclass(frozen=True, slots=True)
class Gaps(LoopAlgorithm):
    """(q) -> gaps of the closures."""

    takes = ("q",)

    def of_robot(self, robot: LoopInputs) -> Vector:
        return gaps(self, robot, [0.0] * len(self.order))[0]


@dataclass(frozen=True, slots=True)
class GapRates(LoopAlgorithm):
    """(q, v) -> rates of the gaps."""

    takes = ("q", "v")

    def of_robot(self, robot: LoopInputs) -> Vector:
        return gaps(self, robot, robot.inputs["v"])[1]


@dataclass(frozen=True, slots=True)
class GapAccelerations(LoopAlgorithm):
    """(q, v, a) -> accelerations of the gaps."""

    def of_robot(self, robot: LoopInputs) -> Vector:
        return closing(self.closures, self.motions(robot))[2]


def gaps(of: LoopAlgorithm, robot: LoopInputs, v: Sequence[Any]) -> tuple[Vector, Vector]:
    """Gaps and their rates at rates v of the coordinates."""
    state = of.merged({"q": robot.inputs["q"], "v": v})
    return gaps_and_rates(of.closures, run(MOTION, robot.tree, state, robot.constants, [0.0] * 3))


@dataclass(frozen=True, slots=True)
class NewtonStep(LoopAlgorithm):
    """(q, v) -> coordinates after a Newton step towards closed loops, rates along them, gaps without units before it.

    kept     the closures with the rows that are used
    weights  see ``LoopCorrection``; a coordinate of weight zero stays
    scale    units of the rows
    """

    takes = ("q", "v")
    kept: tuple[Closure, ...] = ()
    weights: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()

    def of_robot(self, robot: LoopInputs) -> Vector:
        still = [0.0] * len(self.order)
        given = robot._replace(inputs={"v": still, **robot.inputs})
        n = len(still) if "v" not in robot.inputs else 2 * len(still)
        changed = LoopCorrection.of(self.order, self.kept, weights=self.weights).of_robot(given)[:n]
        left, _ = gaps(self, given, still)
        return [*changed, *(x * (1.0 / s) for x, s in zip(left, self.scale, strict=True))]


@dataclass(frozen=True, slots=True)
class Multipliers(LoopAlgorithm):
    """(q, v, a, f) -> forces of the closures along their rows; of redundant rows the smallest that do it.

    used          rows that are independent
    row, column   units of the rows and of the coordinates, in the robot's order
    """

    takes = ("q", "v", "a", "f")
    used: tuple[int, ...] = ()
    row: tuple[float, ...] = ()
    column: tuple[float, ...] = ()

    def of_robot(self, robot: LoopInputs) -> Vector:
        n, given = len(self.order), robot.inputs
        inputs = self.merged({name: given[name] for name in "qva"})
        needed = restored(INVERSE.evaluate(robot.tree, inputs, robot.constants, robot.gravity), self.order)
        missing = [s * x for s, x in zip(self.column, subtract(needed, list(given["f"])), strict=True)]
        columns = [gaps(self, robot, [self.column[k] * (i == k) for i in range(n)])[1] for k in range(n)]
        J: Matrix = [[column[r] * (1.0 / s) for column in columns] for r, s in enumerate(self.row)]
        A = [J[r] for r in self.used]
        L, inverse = ldl(_products(A))
        pull = ldl_solve(L, inverse, times(A, missing))
        # once more on what is left: the square of J's condition is not seen
        left = [x - dot([row[k] for row in A], pull) for k, x in enumerate(missing)]
        pull = [x + y for x, y in zip(pull, ldl_solve(L, inverse, times(A, left)), strict=True)]
        if len(self.used) < len(J):
            # J = C A, and the pseudo-inverse of J^T is that of C^T times that of A^T
            C = [ldl_solve(L, inverse, times(A, row)) for row in J]
            across = [list(column) for column in zip(*C, strict=True)]
            pull = times(C, ldl_solve(*ldl(_products(across)), pull))
        return [x * (1.0 / s) for x, s in zip(pull, self.row, strict=True)]


def _products(rows: Matrix) -> Matrix:
    """A A^T, its lower half."""
    return [[dot(rows[i], rows[j]) for j in range(i + 1)] for i in range(len(rows))]


@dataclass(frozen=True, slots=True)
class Transmitted(LoopAlgorithm):
    """(q, v, a, f) -> force and moment of joints on their links, in the links' own axes.

    joints   links whose joints are asked for, each with its own frame's axes in the tree's
    closing  the forces of the closures; None without loops
    """

    takes = ("q", "v", "a", "f")
    joints: tuple[tuple[int, Axes], ...] = ()
    closing: Multipliers | None = None

    def of_robot(self, robot: LoopInputs) -> Vector:
        inputs = self.merged({name: robot.inputs[name] for name in "qva"})
        links = run(REACTION, robot.tree, inputs, robot.constants, robot.gravity)
        needed = [list(view.store["result"][:6]) for view in links]
        if self.closing is not None:
            pull = ClosingForce.of(self.order, self.closures)
            given = robot._replace(inputs={"q": robot.inputs["q"], "a": self.closing.of_robot(robot)})
            for i, (_, (force, moment, _)) in enumerate(pull.wrenches(given)):
                needed[i] = subtract(needed[i], [*force, *moment])
        out: Vector = []
        for i, axes in self.joints:
            turned = [list(row) for row in zip(*axes, strict=True)]
            out += times(turned, needed[i][:3]) + times(turned, needed[i][3:])
        return out
