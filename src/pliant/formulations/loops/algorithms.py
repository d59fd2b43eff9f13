"""The algorithms of robots with closed loops, each traced as a whole over the merged tree.

Their inputs and results are in the order of the robot's own coordinates; ``order`` leads to the merged tree's.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from pliant.algorithm import Algorithm, run, views
from pliant.engine.trace.program import marking
from pliant.formulations.loops.articulated_loops import Outcome, constrained
from pliant.formulations.loops.closure import Closure, closing, closing_force, gaps_and_rates, tie_forces
from pliant.formulations.loops.cuts import Plan, move_frames, parents_of
from pliant.formulations.recursive.articulated import ldl, ldl_solve
from pliant.spatial.scalars import Scalar, step
from pliant.spatial.vectors import Matrix, Vector, dot
from pliant.tree.kinematics import FRAMES, MOTION
from pliant.tree.link import LinkConstants, gather_force, project, to_seat
from pliant.tree.tree import TreeView

if TYPE_CHECKING:
    from pliant.tree.tree import Tree


class LoopInputs(NamedTuple):
    """What an evaluation is given: the merged tree, inputs in the robot's own order, constants and gravity."""

    tree: Tree
    inputs: Mapping[str, Sequence[Any]]
    constants: Sequence[LinkConstants] | None
    gravity: Vector | None


@dataclass(frozen=True, slots=True)
class LoopAlgorithm(Algorithm):
    """An algorithm over a merged tree with closures; the name tells all that decides its code."""

    takes: ClassVar[tuple[str, ...]] = ("q", "v", "a")
    order: tuple[int, ...] = ()
    closures: tuple[Closure, ...] = ()

    @classmethod
    def of(cls, order: tuple[int, ...], closures: tuple[Closure, ...], **decisions: Any) -> Self:
        """The algorithm for a merged tree, with further decisions by the names of its fields."""
        made = cls("", cls.takes, (), "", order, closures, **decisions)
        all_of_them = {field.name: getattr(made, field.name) for field in fields(made)}
        digest = hashlib.sha256(repr(all_of_them).encode()).hexdigest()
        return replace(made, name=f"{cls.__name__}_{digest[:16]}")

    def evaluate(
        self,
        tree: Tree,
        inputs: Mapping[str, Sequence[Any]],
        constants: Sequence[LinkConstants] | None = None,
        gravity: Vector | None = None,
    ) -> Vector:
        return self.of_robot(LoopInputs(tree, inputs, constants, gravity))

    @abstractmethod
    def of_robot(self, robot: LoopInputs) -> Vector:
        """The results, in the robot's own order."""

    def merged(self, inputs: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Inputs in the order of the merged tree."""
        return {name: [x[k] for k in self.order] for name, x in inputs.items()}

    def motions(self, robot: LoopInputs) -> list[TreeView]:
        """All links with their motions and accelerations; gravity has no part in them."""
        return run(FRAMES, robot.tree, self.merged(robot.inputs), robot.constants, [0.0] * 3)

    def original(self, x: Sequence[Scalar]) -> Vector:
        """Values of the merged tree's coordinates in the robot's own order."""
        out: Vector = [0.0] * len(self.order)
        for k, value in zip(self.order, x, strict=True):
            out[k] = value
        return out


@dataclass(frozen=True, slots=True)
class Closing(LoopAlgorithm):
    """(q, v, a) -> gaps of all closures, their rates and accelerations."""

    def of_robot(self, robot: LoopInputs) -> Vector:
        gaps, rates, accelerations = closing(self.closures, self.motions(robot))
        return [*gaps, *rates, *accelerations]


@dataclass(frozen=True, slots=True)
class ClosingAcceleration(LoopAlgorithm):
    """(q, v, a) -> accelerations of the gaps alone, J a + J' v; its derivative by a is J."""

    def of_robot(self, robot: LoopInputs) -> Vector:
        return closing(self.closures, self.motions(robot))[2]


@dataclass(frozen=True, slots=True)
class ClosingForce(LoopAlgorithm):
    """(q, a) -> J^T a, where the leading entries of a are multipliers of the closures' rows."""

    takes = ("q", "a")

    def of_robot(self, robot: LoopInputs) -> Vector:
        forces = [project(view.kind, view.link, view.connection, *wrench) for view, wrench in self.wrenches(robot)]
        for link, effort in tie_forces(self.closures, list(robot.inputs["a"])):
            forces[link][0] = forces[link][0] + effort
        return self.original([x for part in forces for x in part])

    def wrenches(self, robot: LoopInputs) -> list[tuple[TreeView, tuple[Vector, Vector, Vector]]]:
        """All links at q, at rest, each with what the multipliers exert on it and on all that it carries."""
        q = [robot.inputs["q"][k] for k in self.order]
        links = views(robot.tree, {"q": q, "v": [0.0] * len(q)}, robot.constants, [0.0] * 3)
        move_frames(links)
        summed = collected(links, closing_force(self.closures, links, list(robot.inputs["a"])))
        return list(zip(links, summed, strict=True))


def collected(
    links: Sequence[TreeView], wrenches: Mapping[int, tuple[Vector, Vector]]
) -> list[tuple[Vector, Vector, Vector]]:
    """Force, moment and elastic forces on each link of wrenches on it and on all that it carries (own axes)."""
    parents = parents_of(links)
    out = [(*wrenches.get(i, ([0.0] * 3, [0.0] * 3)), [0.0] * view.kind.size) for i, view in enumerate(links)]
    for i in reversed(range(len(links))):
        view, parent = links[i], parents[i]
        if parent >= 0:
            at = to_seat(view.connection, out[i][0], out[i][1])
            out[parent] = gather_force(*out[parent], at.force, at.moment, view.connection.frame)
    return out


MULTIPLIERS = Plan()


@dataclass(frozen=True, slots=True)
class LoopForward(LoopAlgorithm):
    """(q, v, f) -> accelerations, then the pivots of the multipliers (``Outcome``).

    driven  only these coordinates have forces (for counts)
    pivots  whether they follow
    least   pivots below which the results are made not to be numbers, for code that does not look at them
    faint   see ``constrained``
    marks   whether the tape says where each step begins, for listings
    """

    takes = ("q", "v", "f")
    plan: Plan = MULTIPLIERS
    stabilise: float = 0.0
    driven: tuple[int, ...] | None = None
    pivots: bool = True
    least: tuple[float, ...] = ()
    faint: float = 0.0
    marks: bool = False

    def of_robot(self, robot: LoopInputs) -> Vector:
        f = list(robot.inputs["f"])
        if self.driven is not None:
            f = [x if k in self.driven else 0.0 for k, x in enumerate(f)]
        links = views(robot.tree, self.merged({**robot.inputs, "f": f}), robot.constants, robot.gravity)
        note = marking(robot.inputs, self.marks)
        move_frames(links, note)
        outcome = constrained(links, self.closures, self.plan, stabilise=self.stabilise, faint=self.faint, note=note)
        accelerations = guarded(self.original(outcome.accelerations), outcome.pivots, self.least)
        return [*accelerations, *(outcome.pivots if self.pivots else [])]


@dataclass(frozen=True, slots=True)
class LoopInverse(LoopAlgorithm):
    """(q, v, a) -> efforts of the drives, all accelerations, pivots; a is read at the driven coordinates.

    With ``forces`` the other entries of a are generalised forces.
    """

    plan: Plan = MULTIPLIERS
    driven: tuple[int, ...] = ()
    stabilise: float = 0.0
    forces: bool = False
    pivots: bool = True
    least: tuple[float, ...] = ()
    faint: float = 0.0
    marks: bool = False

    def of_robot(self, robot: LoopInputs) -> Vector:
        tree, inputs, constants, gravity = robot
        a = inputs["a"]
        f = [0.0 if k in self.driven or not self.forces else x for k, x in enumerate(a)]
        links = views(tree, self.merged({"q": inputs["q"], "v": inputs["v"], "f": f}), constants, gravity)
        note = marking(inputs, self.marks)
        move_frames(links, note)
        given = {}
        for coordinate in self.driven:
            link = driving_link(tree, self.order, coordinate)
            given[link] = tree.links[link].kind.joint.sign * a[coordinate]
        outcome: Outcome = constrained(
            links, self.closures, self.plan, given=given, stabilise=self.stabilise, faint=self.faint, note=note
        )
        return [
            *guarded(outcome.efforts, outcome.pivots, self.least),
            *guarded(self.original(outcome.accelerations), outcome.pivots, self.least),
            *(outcome.pivots if self.pivots else []),
        ]


def guarded(results: Vector, pivots: Vector, least: Sequence[float]) -> Vector:
    """Results, or what is no number where a pivot is too small for them."""
    good: Scalar = 1.0
    for pivot, bound in zip(pivots, least, strict=False):
        good = good * step(pivot - bound)
    return [x / good for x in results] if least else results


@dataclass(frozen=True, slots=True)
class LoopCorrection(LoopAlgorithm):
    """(q, v) -> a Newton step of q towards closed loops, then v with the rates along the rows taken out.

    Both are the smallest changes in the metric of ``weights`` W, dq = -W J^T (J W J^T)^-1 gap; a coordinate of weight
    zero stays.
    """

    takes = ("q", "v")
    weights: tuple[float, ...] = ()

    def of_robot(self, robot: LoopInputs) -> Vector:
        q, v = list(robot.inputs["q"]), list(robot.inputs["v"])

        def rates(v: Sequence[Any]) -> tuple[Vector, Vector]:
            links = run(MOTION, robot.tree, self.merged({"q": q, "v": v}), robot.constants, [0.0] * 3)
            return gaps_and_rates(self.closures, links)

        gaps, slips = rates(v)
        n = len(q)
        # the columns of J sqrt(W): rates of the closures at unit rates of the coordinates
        columns = [
            rates([self.weights[k] ** 0.5 if j == k else 0.0 for j in range(n)])[1] if self.weights[k] else None
            for k in range(n)
        ]
        used = [c for c in columns if c is not None]
        S: Matrix = [[dot([c[i] for c in used], [c[j] for c in used]) for j in range(i + 1)] for i in range(len(gaps))]
        L, inverse = ldl(S)
        changed: Vector = []
        for x, error in ((q, gaps), (v, slips)):
            pull = ldl_solve(L, inverse, error)
            for k, column in enumerate(columns):
                changed.append(x[k] if column is None else x[k] - self.weights[k] ** 0.5 * dot(column, pull))
        return changed


def driving_link(tree: Tree, order: Sequence[int], coordinate: int) -> int:
    """The link of the merged tree whose joint has a coordinate of the robot."""
    return next(i for i, link in enumerate(tree.links) if link.kind.is_driven and order[link.start] == coordinate)
