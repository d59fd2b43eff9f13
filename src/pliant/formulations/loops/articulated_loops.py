"""Dynamics of robots with closed loops, forward and inverse, by sparse articulated elimination.

A loop is closed in one of two ways:

- by multipliers, one for each row of the closure, which are carried as further unknowns and found last;
- at a *cut*: where the last bending link of a leg holds the rest by its tip coordinates, the acceleration of that place
  becomes the unknown and the tip coordinates follow from it. Its inverse is the transport of (34)-(35) of Briot &
  Khalil, never singular, and the platform's inertia does not reach into the legs.

Relations between accelerations are those of (18)-(22); the minimum of the form is the principle of virtual powers (41).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pliant.formulations.loops.closure import Closure, TieRow, gaps_and_rates
from pliant.formulations.loops.cuts import (
    Plan,
    Solved,
    along,
    axes_of,
    held_axes,
    order_of_work,
    parents_of,
    path_of,
    turning_joint,
)
from pliant.formulations.loops.elimination import Relation, Unknown, vanishes
from pliant.formulations.loops.sparse_articulated import SparseArticulated
from pliant.joints.kind import is_still
from pliant.joints.rows import ClosureRow, ShiftRow, TurnRow, seen
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import (
    AFTER,
    ZERO3,
    FactoredRotation,
    Matrix,
    Vector,
    as_turn,
    product,
    subtract,
    times,
    transpose,
    zeros,
)
from pliant.tree.kinematics import Motion
from pliant.tree.tree import TreeView


class Outcome(NamedTuple):
    """Accelerations of the coordinates, efforts of the given joints, and the pivots of the multipliers.

    A pivot is what the earlier rows leave of J M^-1 J^T: zero where a row is lost. There is one for each row without a
    cut, in order; it is endless for one that only determines an unknown without inertia.
    """

    accelerations: Vector
    efforts: Vector
    pivots: Vector


ENDLESS = 1e300


def constrained(
    links: Sequence[TreeView],
    closures: Sequence[Closure],
    plan: Plan,
    *,
    given: Mapping[int, Scalar] | None = None,
    stabilise: float = 0.0,
    faint: float = 0.0,
    note: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Forward dynamics after ``move_frames``, or with ``given`` joint accelerations (by link) their efforts.

    ``stabilise`` k (1/s) lets gaps decay: acceleration + 2 k rate + k^2 gap = 0 (Baumgarte). ``faint`` is the part of
    a closure's mobility below which what the other rows leave of a row counts as lost, and the row exerts nothing.
    ``note`` is told which step of Briot & Khalil's sequence begins: legs as a tree (2), closures (3), the solution (4).
    """
    return _Elimination(links, closures, plan, given or {}, stabilise, faint, note).outcome()


class _Elimination(SparseArticulated):
    """One elimination with closures."""

    def __init__(
        self,
        links: Sequence[TreeView],
        closures: Sequence[Closure],
        plan: Plan,
        given: Mapping[int, Scalar],
        stabilise: float,
        faint: float,
        note: Callable[[str], None],
    ) -> None:
        self.note = note
        parents = parents_of(links)
        held = {i for each in plan.solved for i in path_of(parents, each)}
        super().__init__(links, plan.cuts, held, given, plan.late)
        self.closures = closures
        self.solved = plan.solved
        self.weights = plan.weights
        self.stabilise = stabilise
        self.faint = faint
        self._added: list[Unknown] = []

    def outcome(self) -> Outcome:
        self.note("step 2, inertia and bias of all links")
        self.add_bodies()
        self.note("step 3, rows of the closures")
        self._add_multipliers()
        for what, i in order_of_work(self.parents, self.solved):
            if what == "link":
                self.note(f"step 2, taken in: {self.links[i].name}")
                self.take_in(i)
            else:
                self.note(f"step 3, closed: {self.closures[self.solved[i].closure].name}")
                self._close(self.solved[i])
        self.note("step 3, what is left: seats of cuts and multipliers")
        pivots = self._finish()
        self.note("step 4, solution: from the multipliers back to all accelerations")
        return Outcome(*self.results(), pivots)

    def _motion(self, i: int) -> Motion:
        motion: Motion = self.links[i].store["motion"]
        return motion

    # ---- closures by multipliers

    def _add_multipliers(self) -> None:
        """One for every row of the closures that no cut solves."""
        solved = {each.closure for each in self.solved}
        for c, closure in enumerate(self.closures):
            if c in solved:
                continue
            if closure.is_tie:
                self._add_tie(("multiplier", c, closure.rows[0]), closure)
                continue
            sides = (closure.first, closure.second)
            a, b = (self._motion(i) for i in sides)
            w_a, w_b = (self.links[i].connection.w for i in sides)
            at = seen(a, b)
            # angular velocities of the links are known in their own axes
            at = at._replace(w_A=w_a, w=subtract(w_a, times(at.R, w_b)))
            for row in closure.of_frames:
                terms: dict[Unknown, Scalar] = {}
                for i, pulls in zip(sides, row.on_frames(a, b), strict=True):
                    body = self.body(i)
                    for part, pull in zip((body[:3], body[3:]), pulls, strict=True):
                        terms |= {} if is_still(pull) else dict(zip(part, pull, strict=True))
                constant = row.bias(a, b, at) + self._restoring(closure, row)
                self._multiply(("multiplier", c, row), terms, constant, row.is_length)

    def _add_tie(self, name: Unknown, closure: Closure) -> None:
        """A joint that follows another: one multiplier between their accelerations."""
        ratios = ((closure.first, 1.0), (closure.second, -closure.ratio))
        terms: dict[Unknown, Scalar] = {
            ("joint", link): ratio * self.links[link].kind.joint.sign for link, ratio in ratios
        }
        row = closure.rows[0]
        self._multiply(name, terms, self._restoring(closure, row), row.is_length)

    def _multiply(self, name: Unknown, terms: Mapping[Unknown, Scalar], constant: Scalar, is_shift: bool) -> None:
        """Hold sum of terms + constant at zero by a multiplier, and by an inertia where the plan asks for one."""
        self.multipliers.append(name)
        self._added.append(name)
        form, weighted, weight = self.form, list(terms.items()), self.weights[0 if is_shift else 1]
        form.push(name, constant)
        for i, (x, k) in enumerate(weighted):
            form.add(name, x, k)
            if weight:
                form.push(x, weight * (k * constant))
                for y, m in weighted[i:]:
                    form.add(x, y, weight * (k * m))

    def _restoring(self, closure: Closure, row: ClosureRow | TieRow) -> Scalar:
        """What stabilisation adds to the acceleration of a row."""
        if not self.stabilise:
            return 0.0
        (gap,), (rate,) = gaps_and_rates([replace(closure, rows=(row,))], self.links)
        return 2.0 * self.stabilise * rate + self.stabilise * self.stabilise * gap

    # ---- closures by cuts

    def _close(self, solved: Solved) -> None:
        """Put the acceleration of the far frame in the place of the cut's."""
        form, seat, far = self.form, self.seat(solved.link), self.body(solved.far)
        closure = self.closures[solved.closure]
        near = along(self.links, path_of(self.parents, solved))
        R_S = axes_of(self.links[solved.link])
        R_SG = product(transpose(R_S), self._motion(solved.far).R)
        shift, turn = self._drift(solved, R_S)
        # the near frame's acceleration in the axes of the cut
        hinge: list[Unknown] = [("hinge", solved.link, k) for k in range(3)]
        relations: dict[Unknown, Relation] = {}
        for k in held_axes(closure, "shift", R_S):
            i, j = AFTER[k]
            terms: dict[Unknown, Scalar] = {hinge[k]: 1.0, seat[3 + i]: -near.lever[j], seat[3 + j]: near.lever[i]}
            terms |= {("joint", link): -lever[k] for link, lever in near.shifts.items()}
            relations[seat[k]] = _relation(terms, shift[k] - near.bias_v[k])
        form.substitute(relations)
        # turns: by a joint beyond the cut where it has that axis, else by the seat
        turned: dict[Unknown, Relation] = {}
        for k in held_axes(closure, "turn", R_S):
            link = turning_joint(near.turns, k)
            terms = {far[3 + d]: R_SG[k][d] for d in range(3)}
            terms |= {("joint", j): -axis[k] for j, axis in near.turns.items() if j != link}
            constant = turn[k] - near.bias_w[k]
            if link is None:
                turned[seat[3 + k]] = _relation(terms, constant)
            else:
                sign = near.turns[link][k]
                terms = {x: sign * value for x, value in (terms | {seat[3 + k]: -1.0}).items()}
                turned["joint", link] = _relation(terms, sign * constant)
        form.substitute(turned)
        joints = [("joint", j) for j in near.turns]
        self.eliminate([x for x in (*seat[3:], *joints) if x not in turned and x in form.rows.get(x, {})])
        self._rotate(hinge, far[:3], R_SG)

    def _drift(self, solved: Solved, R_S: Matrix) -> tuple[Vector, Vector]:
        """Acceleration of the near frame relative to the far one that stabilisation asks for, axes of the cut."""
        parts: dict[str, Vector] = {"shift": list(ZERO3), "turn": list(ZERO3)}
        closure = self.closures[solved.closure]
        sign = -1.0 if solved.near == closure.first else 1.0
        for row in closure.rows:
            # a cut solves no others
            assert isinstance(row, ShiftRow | TurnRow)
            parts[row.kind][row.axis] = sign * self._restoring(closure, row)
        R = transpose(R_S)
        return times(R, parts["shift"]), times(R, parts["turn"])

    def _rotate(self, old: Sequence[Unknown], new: Sequence[Unknown], R: Matrix) -> None:
        """Replace a vector by one in other axes, old = R new, with the cheap rule where R is a turn about an axis."""
        turn = as_turn(transpose(R))
        if turn is None:
            self.form.substitute({old[k]: _relation(dict(zip(new, R[k], strict=True)), 0.0) for k in range(3)})
            return
        form, rotation = self.form, FactoredRotation(None, [turn])
        A, p = form.block(old, old), form.forces(old)
        outside = form.take(old)
        A, _, _ = rotation.inertia(A, zeros(3, 3), zeros(3, 3))
        for a, force in enumerate(rotation.apply(p)):
            form.push(new[a], force)
            for d in range(a, 3):
                form.add(new[a], new[d], A[a][d])
        for y, couplings in outside.items():
            for x, value in zip(new, rotation.apply([couplings.get(z, 0.0) for z in old]), strict=True):
                form.couple(x, y, value)
        form.remember(old, new, rotation.back)

    # ---- the end

    def _finish(self) -> Vector:
        """What is left: the seats of the cuts, then the multipliers."""
        rows = self.form.rows
        self.eliminate([x for x in list(rows) if x not in self.multipliers])
        faint = self._faint_pivots() if self.faint else {}
        pivots: Vector = []
        for x in self._added:
            if x not in self.multipliers:
                pivots.append(ENDLESS)
            else:
                # nothing is left to move a row that is lost
                pivots.append(-self.form.eliminate(x, faint.get(x, 0.0)) if x in rows.get(x, {}) else 0.0)
        return pivots

    def _faint_pivots(self) -> dict[Unknown, Scalar]:
        """For each multiplier the pivot at which its row counts as lost: a part of the mobility of its closure."""
        left = [x for x in self._added if x in self.multipliers]
        kinds = {x: (x[1], x[2].is_length) for x in left if isinstance(x, tuple)}
        whole: dict[Any, Scalar] = {}
        for x, kind in kinds.items():
            whole[kind] = whole.get(kind, 0.0) - self.form.coefficient(x, x)
        return {x: self.faint * whole[kind] for x, kind in kinds.items()}


def _relation(terms: Mapping[Unknown, Scalar], constant: Scalar) -> Relation:
    return Relation({x: value for x, value in terms.items() if not vanishes(value)}, constant)
