"""All stages of a step at once, in the lanes of vector registers: products with matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number, vector_type
from pliant.engine.stepping.gauss_legendre import STAGES, gauss_legendre, integrals, legendre
from pliant.engine.stepping.gauss_numbers import SUBSTEPS, GaussWork
from pliant.engine.stepping.stepper import SLOTS, StepShape

Floats = NDArray[np.float64]


def table_text(name: str, table: Floats) -> str:
    """Numbers that code looks up."""
    listed = ", ".join(f"double {number(x)}" for x in table.ravel().tolist())
    return f"@{name} = internal constant [{table.size} x double] [{listed}]\n"


class StageCode:
    """Functions on arrays of stages: vectors of lanes, coordinate by coordinate, for one group after the other."""

    def __init__(self, shape: StepShape, lanes: int) -> None:
        self.layout, self.lanes, self.coordinates = shape.layout, lanes, shape.coordinates
        layout = shape.layout
        self.n, self.groups = layout.count, STAGES // lanes
        # forces of all coordinates, rates of the drive's states, powers
        self.force_rows = shape.coordinates + layout.further
        self.kind = vector_type(lanes)
        self.at = GaussWork.of(layout, shape.signals)

    def stage_functions(self) -> str:
        """Products with what is known at the stages."""
        sum_of_lanes = f"declare double @llvm.vector.reduce.fadd.v{self.lanes}f64(double, {self.kind})\n"
        return "".join([sum_of_lanes, self._modal(), self._filtered(), self._placed(), self._parted()])

    def arrays(self, w: Flow) -> dict[str, str]:
        """Arrays of a step, by name, as compiled code finds them in ``%work``."""
        return {name: w.at("%work", start) for name, start in self.at._asdict().items() if name != "end"}

    def seen(self, w: Flow) -> str:
        """Where forces, rates of the drive's states and powers at all stages are."""
        return w.get("ptr", w.let(f"getelementptr inbounds i64, ptr %context, i64 {SLOTS.index('f')}"))

    def vector(self, values: Floats) -> str:
        """Numbers that are known, one per lane."""
        return "<" + ", ".join(f"double {number(x)}" for x in values.tolist()) + ">"

    def per_group(self, w: Flow, rows: Floats, values: Sequence[str], totals: Sequence[str] = ()) -> list[str]:
        """Sums of rows (stages, terms) times values, which are the same in all lanes, by group, onto totals."""
        out = list(totals)
        for column, value in zip(rows.T, values, strict=True):
            x = w.spread(value)
            for g, part in enumerate(column.reshape(-1, self.lanes)):
                term = w.fmul(self.vector(part), x)
                if g < len(out):
                    out[g] = w.fadd(out[g], term)
                else:
                    out.append(term)
        return out

    def scalar(self, w: Flow, base: str, index: str | int) -> str:
        """A number of an array."""
        with w.on_lanes(1):
            return w.read(base, index)

    def stage(self, w: Flow, base: str, i: int, j: str, size: int | None = None) -> str:
        """The value of stage i in row j of an array of stages with so many rows."""
        first = (i // self.lanes) * (self.n if size is None else size) * self.lanes + i % self.lanes
        return self.scalar(w, base, w.iadd(w.imul(j, self.lanes), first))

    def first_of(self, w: Flow, i: str, rows: int) -> str:
        """Where the values of stage i begin in an array of stages with so many rows."""
        group, lane = (w.let(f"{what} i64 {i}, {self.lanes}") for what in ("udiv", "urem"))
        return w.iadd(w.imul(group, rows * self.lanes), lane)

    def total(self, w: Flow, vector: str) -> str:
        """The sum of all lanes."""
        name = f"@llvm.vector.reduce.fadd.v{self.lanes}f64"
        return w.let(f"call reassoc double {name}(double {number(0.0)}, {self.kind} {vector})")

    def weighted(self, w: Flow, weights: Floats, x: Sequence[str]) -> str:
        """The sum of all lanes of vectors, times weights that are known."""
        terms = [w.fmul(self.vector(part), y) for part, y in zip(weights.reshape(-1, self.lanes), x, strict=True)]
        while len(terms) > 1:
            terms = [w.fadd(*pair) for pair in zip(terms[::2], terms[1::2], strict=True)]
        return self.total(w, terms[0])

    # ---- functions

    def _modal(self) -> str:
        """``modal(matrix, source, target)``: a matrix (n, n) times all stages."""
        w, n = Flow(), self.n

        def rows(first: str, count: int) -> None:
            with w.on_lanes(self.lanes):
                sums = [[w.variable(self.kind, "zeroinitializer") for _ in range(self.groups)] for _ in range(count)]
                with w.repeat(n) as j:
                    source = [w.read("%source", w.iadd(j, g * n)) for g in range(self.groups)]
                    for k in range(count):
                        entry = w.iadd(w.imul(w.iadd(first, k), n), j)
                        factor = w.spread(self.scalar(w, "%matrix", entry))
                        for total, x in zip(sums[k], source, strict=True):
                            w.put(self.kind, w.fadd(w.get(self.kind, total), w.fmul(factor, x)), total)
                for k in range(count):
                    for g in range(self.groups):
                        w.write(w.get(self.kind, sums[k][g]), "%target", w.iadd(w.iadd(first, k), g * n))

        with w.repeat(n // 2) as pair:
            rows(w.imul(pair, 2), 2)
        if n % 2:
            rows(w.iadd(n - 1, 0), 1)
        return w.text("modal", "ptr %matrix, ptr %source, ptr %target", attributes="internal")

    def _filtered(self) -> str:
        """``filtered(filters, source, target)``: every vibration by its own matrix."""
        w, n = Flow(), self.n
        with w.repeat(n) as m, w.on_lanes(self.lanes):
            matrix = w.at("%filters", w.imul(m, STAGES * self.groups))
            sums: list[str] = []
            for i in range(STAGES):
                x = w.spread(self.stage(w, "%source", i, m))
                terms = [w.fmul(w.read(matrix, i * self.groups + g), x) for g in range(self.groups)]
                sums = [w.fadd(a, b) for a, b in zip(sums, terms, strict=True)] if sums else terms
            for g, total in enumerate(sums):
                w.write(total, "%target", w.iadd(m, g * n))
        return w.text("filtered", "ptr %filters, ptr %source, ptr %target", attributes="internal")

    def _placed(self) -> str:
        """``placed(h, x, a, q, v)``: coordinates and rates at the stages that accelerations lead to.

        A is 1 b^T / 2 and a part K that turns about the middle of the step into -K. With sums and differences of mirror
        images half of the products remain, of K and of K K.
        """
        w, n, gauss, lanes = Flow(), self.n, gauss_legendre(), self.lanes
        half, groups = STAGES // 2, self.groups // 2
        K = gauss.A - 0.5 * gauss.b
        parts = [(M[:half, :half] / 2, M[:half, half:] / 2) for M in (K, K @ K)]
        b = gauss.b[:half]
        with w.repeat(n) as j:
            q0, v0 = w.read("%x", j), w.read("%x", w.iadd(j, n))
            with w.on_lanes(lanes):
                a = [w.read("%a", w.iadd(j, g * n)) for g in range(self.groups)]
                pairs = list(zip(a[:groups], a[groups:], strict=True))
                sums, differences = [w.fadd(x, y) for x, y in pairs], [w.fsub(x, y) for x, y in pairs]
                (even, even_twice), (odd, odd_twice) = (
                    [self._products(w, own + sign * other, x) for own, other in parts]
                    for sign, x in ((1.0, sums), (-1.0, differences))
                )
                mean = w.fmul(w.number(0.5), w.spread(self.weighted(w, b, sums)))
                middle = w.spread(self.weighted(w, b, odd))
                h, q0, v0 = (w.spread(x) for x in ("%h", q0, v0))
                for g, c in enumerate(gauss.c.reshape(-1, lanes)):
                    k, mirrored = g % groups, w.fadd if g < groups else w.fsub
                    rate = w.fadd(mirrored(odd[k], even[k]), mean)
                    place = w.fadd(mirrored(even_twice[k], odd_twice[k]), w.fadd(w.fmul(self.vector(c), mean), middle))
                    w.write(w.fadd(v0, w.fmul(h, rate)), "%v", w.iadd(j, g * n))
                    inner = w.fadd(w.fmul(self.vector(c), v0), w.fmul(h, place))
                    w.write(w.fadd(q0, w.fmul(h, inner)), "%q", w.iadd(j, g * n))
        return w.text("placed", "double %h, ptr %x, ptr %a, ptr %q, ptr %v", attributes="internal")

    def _products(self, w: Flow, matrix: Floats, x: Sequence[str]) -> list[str]:
        """A matrix that is known times what stands in the lanes of vectors."""
        places = [f"<{self.lanes} x i32> <{', '.join([f'i32 {k}'] * self.lanes)}>" for k in range(self.lanes)]
        out: list[str] = []
        for k, column in enumerate(matrix.T):
            vector = f"{self.kind} {x[k // self.lanes]}"
            value = w.let(f"shufflevector {vector}, {self.kind} undef, {places[k % self.lanes]}")
            terms = [w.fmul(self.vector(part), value) for part in column.reshape(-1, self.lanes)]
            out = [w.fadd(total, term) for total, term in zip(out, terms, strict=True)] if out else terms
        return out

    def _parted(self) -> str:
        """``parted(h, slopes, rows, count, x, slope, knots)``: state and slope at the ends of the parts of a step.

        For some states, whose slopes stand in an array of stages with so many rows; x and slope become the last ones.
        """
        w, lanes, size = Flow(), self.lanes, self.layout.size
        fractions = np.arange(1, SUBSTEPS + 1) / SUBSTEPS
        C = gauss_legendre().coefficients
        weights = integrals(fractions) @ C, legendre(2 * fractions - 1)[:, :-1] @ C
        groups = [w.imul("%rows", g * lanes) for g in range(self.groups)]
        with w.repeat("%count") as j:
            x, first = w.read("%x", j), w.imul(j, lanes)
            starts = [w.iadd(first, group) for group in groups]
            slopes = [w.read("%slopes", w.iadd(starts[i // lanes], i % lanes)) for i in range(STAGES)]
            with w.on_lanes(lanes):
                states, rates = (self.per_group(w, rule, slopes) for rule in weights)
                step, at_start = w.spread("%h"), w.spread(x)
                states = [w.fadd(at_start, w.fmul(step, total)) for total in states]
            for k in range(SUBSTEPS):
                for vectors, shift in ((states, 0), (rates, size)):
                    value = w.let(f"extractelement {self.kind} {vectors[k // lanes]}, i32 {k % lanes}")
                    w.write(value, "%knots", w.iadd(j, k * (1 + 2 * size) + shift))
                    if k == SUBSTEPS - 1:
                        w.write(value, "%slope" if shift else "%x", j)
        arguments = "double %h, ptr %slopes, i64 %rows, i64 %count, ptr %x, ptr %slope, ptr %knots"
        return w.text("parted", arguments, attributes="internal")
