"""Derivatives of the inverse dynamics as steps of a compiled call: from composite bodies, or tangents of the recursion.

Tangents push every coordinate through all links. Composite bodies take a pass over the links and constant work for
every pair of coordinates, so they win from a few links on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.engine.call.evaluator import aligned
from pliant.engine.call.steps import StepLibrary, Vectors, VectorStep
from pliant.engine.compile import jit
from pliant.engine.compile.lanes import padded
from pliant.tree.composite import COMPOSITES, mass_plan
from pliant.tree.force_columns import FORCE_SLOPES, has_slopes, slope_plan
from pliant.tree.function import Function, make_evaluator
from pliant.tree.tree import Tree

if TYPE_CHECKING:
    from pliant.engine.call.calls import Operand, QuickCall
    from pliant.tree.composite import MassPlan
    from pliant.tree.force_columns import SlopePlan

Floats = NDArray[np.float64]

MASS_ARGUMENTS = ("links", "size", "stride", "table", "at", "order", "flat", "momenta", "upper", "out")
SLOPE_ARGUMENTS = (
    *("links", "size", "stride", "table", "order", "flat", "wrenches", "halves"),
    *("by_q", "by_v", "by_a", "out_stride"),
)
MASS_ROW = ("arm", "momenta", "block", "at", "bends", "columns", "own", "first", "last")
"""What the table of a mass matrix says of a link; see ``MassPlan``."""
SLOPES_ROW = ("arm", "own", "first", "last")
"""What the table of the slopes of forces says of a link; see ``SlopePlan``."""
WRENCH_LINES, HALVES = 21, 5
"""Lines of what joints carry on, and matrices of what they take of it: by q up and down, by v up and down, by a."""


def _shift(w: VectorStep, arm: Vectors, wrench: Vectors, lines: Vectors, place: str, mask: str) -> None:
    """Bring the moments of wrenches to the point from which an arm leads to theirs."""
    F, N = wrench[:3], wrench[3:]
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        turned = w.op("fsub", w.op("fmul", arm[j], F[k]), w.op("fmul", arm[k], F[j]))
        w.put_some(w.op("fadd", N[i], turned), w.at(lines[i], place), mask)


def _mass(lanes: int) -> str:
    """out (size, size) = M; see ``MassPlan``, and ``composite.mass_matrix`` for the same on any scalars.

    It stands beside that because of the compiled mass matrices of chains in docs/performance.md.
    """
    w = VectorStep("mass", MASS_ARGUMENTS, lanes)
    h, stride = w.held, w.held["stride"]
    lines = [w.row(h["momenta"], str(c), stride) for c in range(6)]
    with w.repeat(h["links"]) as k:
        row = w.imul(k, len(MASS_ROW))
        entry = {name: w.integer(h["table"], w.iadd(row, i)) for i, name in enumerate(MASS_ROW)}
        first, last, own = entry["first"], entry["last"], entry["own"]
        with w.repeat(own) as o:
            source = w.at(h["flat"], w.iadd(entry["momenta"], w.imul(o, 6)))
            for c, line in enumerate(lines):
                w.write(w.read(source, c), line, w.iadd(first, o))
            block = w.at(h["flat"], w.iadd(entry["block"], w.imul(o, own)))
            target = w.row(h["upper"], w.iadd(first, o), stride)
            with w.repeat(own) as e:
                w.write(w.read(block, e), target, w.iadd(first, e))
        with w.repeat(entry["columns"]) as number_of:
            column = w.at(h["flat"], w.iadd(w.iadd(entry["arm"], 3), w.imul(number_of, 6)))
            rates = [w.wide(w.read(column, i)) for i in range(6)]
            target = w.row(h["upper"], w.integer(h["at"], w.iadd(entry["at"], number_of)), stride)
            is_bend = w.iless(number_of, entry["bends"])
            begin = w.let(f"select i1 {is_bend}, i64 {first}, i64 {w.iadd(first, own)}")

            def take(place: str, mask: str, rates: Vectors = rates, target: str = target) -> None:
                taken = [w.get(w.t, w.at(line, place)) for line in lines]
                w.put_some(w.dot(rates, taken), w.at(target, place), mask)

            w.between(begin, last, take)
        a = [w.wide(w.read(h["flat"], w.iadd(entry["arm"], i))) for i in range(3)]

        def shift(place: str, mask: str, a: Vectors = a) -> None:
            _shift(w, a, [w.get(w.t, w.at(line, place)) for line in lines], lines[3:], place, mask)

        w.between(first, last, shift)
    with w.repeat(h["size"]) as line_number:
        source, own_place = w.row(h["upper"], line_number, stride), w.integer(h["order"], line_number)
        with w.repeat(w.let(f"sub i64 {h['size']}, {line_number}")) as k:
            after = w.iadd(line_number, k)
            x, other = w.read(source, after), w.integer(h["order"], after)
            w.write(x, h["out"], w.iadd(w.imul(own_place, h["size"]), other))
            w.write(x, h["out"], w.iadd(w.imul(other, h["size"]), own_place))
    return w.done


def _force_slopes(lanes: int) -> str:
    """by_q, by_v, by_a (size, size): slopes of the inverse dynamics of rigid links; see ``SlopePlan``."""
    w = VectorStep("force_slopes", SLOPE_ARGUMENTS, lanes)
    h, n, stride = w.held, w.held["size"], w.held["stride"]
    lines = [w.row(h["wrenches"], str(c), stride) for c in range(WRENCH_LINES)]
    matrices = [w.row(h["halves"], w.imul(n, k), stride) for k in range(HALVES)]
    with w.repeat(h["links"]) as k:
        row = w.imul(k, len(SLOPES_ROW))
        entry = {name: w.integer(h["table"], w.iadd(row, i)) for i, name in enumerate(SLOPES_ROW)}
        first, last = entry["first"], entry["last"]
        link = w.at(h["flat"], entry["arm"])
        arm = [w.wide(w.read(link, i)) for i in range(3)]
        joint = w.at(link, 3)

        def carry(place: str, mask: str, arm: Vectors = arm) -> list[Vectors]:
            """What the carried joints bring, moved on by the arm."""
            taken = [w.get(w.t, w.at(line, place)) for line in lines]
            momenta, turned, from_q, from_v = taken[:6], taken[6:9], taken[9:15], taken[15:]
            for wrench, start in ((momenta, 0), (from_q, 9), (from_v, 15)):
                _shift(w, arm, wrench, lines[start + 3 : start + 6], place, mask)
            return [momenta, turned, from_q, from_v]

        with w.when(w.iless(entry["own"], "1")):
            w.between(first, last, carry)
        with w.when(w.iless("0", entry["own"])):
            for c, line in enumerate(lines):
                w.write(w.read(joint, 18 + c), line, first)
            S, once, twice = ([w.wide(w.read(joint, start + i)) for i in range(6)] for start in (0, 6, 12))
            doubled = [w.op("fadd", x, x) for x in once]
            targets = [w.row(matrix, first, stride) for matrix in matrices]

            def take(place: str, mask: str) -> None:
                momenta, turned, from_q, from_v = carry(place, mask)
                found = [
                    w.dot(S, from_q),
                    w.dot(once[3:] + twice, turned + momenta),
                    w.dot(S, from_v),
                    w.dot(S[3:] + doubled, turned + momenta),
                    w.dot(S, momenta),
                ]
                for value, target in zip(found, targets, strict=True):
                    w.put_some(value, w.at(target, place), mask)

            w.between(first, last, take)
            within = w.at(joint, 18 + WRENCH_LINES)
            with w.repeat(entry["own"]) as k:
                for number_of, target in enumerate(targets):
                    w.increase(target, w.iadd(first, k), w.read(within, w.iadd(w.imul(k, HALVES), number_of)))
    with w.repeat(n) as line:
        sources, own = [w.row(matrix, line, stride) for matrix in matrices], w.integer(h["order"], line)
        pairs = (("by_q", 0, 1), ("by_v", 2, 3), ("by_a", 4, 4))
        with w.repeat(w.let(f"sub i64 {n}, {line}")) as k:
            after = w.iadd(line, k)
            other = w.integer(h["order"], after)
            up, down = (w.iadd(w.imul(i, h["out_stride"]), j) for i, j in ((own, other), (other, own)))
            for name, above, below in pairs:
                w.write(w.read(sources[above], after), h[name], up)
                w.write(w.read(sources[below], after), h[name], down)
    return w.done


MASS = StepLibrary("mass matrix", {"mass": MASS_ARGUMENTS}, _mass)
SLOPES = StepLibrary("slopes of forces", {"force_slopes": SLOPE_ARGUMENTS}, _force_slopes)


def mass_matrix(call: QuickCall, flat: Floats, plan: MassPlan) -> Floats:
    """M (n, n) from the composite bodies of all links."""
    n = len(plan.order)
    # blocks of lanes may reach beyond the end
    wide = padded(n, jit.lanes()) + jit.lanes()
    momenta, upper, out = aligned(6 * wide), aligned(n * wide), np.zeros((n, n))
    tables = {"table": plan.rows, "at": plan.at, "order": plan.order}
    sizes = {"links": len(plan.rows), "size": n, "stride": wide}
    call.does(MASS, "mass", **sizes, **tables, flat=flat, momenta=momenta, upper=upper, out=out)
    return out


def force_slopes(call: QuickCall, flat: Floats, plan: SlopePlan) -> list[Floats]:
    """Derivatives (n, n) of the inverse dynamics by q, v and a from the composite bodies of rigid links."""
    n = len(plan.order)
    wide, lanes = padded(n, jit.lanes()), jit.lanes()
    wrenches, halves = aligned(WRENCH_LINES * (wide + lanes)), aligned(HALVES * n * (wide + lanes))
    by_q, by_v, by_a = (aligned(n * wide).reshape(n, wide) for _ in "qva")
    sizes = {"links": len(plan.rows), "size": n, "stride": wide + lanes, "out_stride": wide}
    memory = {"flat": flat, "wrenches": wrenches, "halves": halves, "by_q": by_q, "by_v": by_v, "by_a": by_a}
    call.does(SLOPES, "force_slopes", **sizes, table=plan.rows, order=plan.order, **memory)
    return [matrix[:, :n] for matrix in (by_q, by_v, by_a)]


# ---- derivatives of the inverse dynamics as steps of a compiled call

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
