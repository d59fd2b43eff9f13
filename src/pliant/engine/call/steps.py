"""Steps of compiled calls on matrices: inverses of symmetric ones, and products.

Rows of matrices are padded, so that whole vectors can be read and written at their ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number

SPARSE = ("rows", "start", "count", "row", "column", "value", "x", "y")
GUARD = ("count", "x", "least", "out")
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "sparse": SPARSE,
    "guard": GUARD,
}
"""Steps and what they are told, in order."""
INTEGERS = ("rows", "count")


@dataclass(frozen=True, eq=False)
class StepLibrary:
    """Steps of calls that are compiled together, once for everything that is computed.

    name       of their machine code
    arguments  of each step, in the order of its words
    code       their text for a number of lanes
    """

    name: str
    arguments: Mapping[str, tuple[str, ...]]
    code: Callable[[int], str]


class CallStep(Flow):
    """A step with its arguments by name."""

    def __init__(self, name: str, arguments: Sequence[str], integers: Container[str]) -> None:
        super().__init__()
        self.name = name
        self.held = {
            argument: self.get(
                "i64" if argument in integers else "ptr", self.let(f"getelementptr inbounds i64, ptr %context, i64 {k}")
            )
            for k, argument in enumerate(arguments)
        }

    def integer(self, table: str, index: str) -> str:
        return self.get("i64", self.let(f"getelementptr inbounds i64, ptr {table}, i64 {index}"))

    def increase(self, base: str, index: str | int, by: str) -> None:
        self.write(self.fadd(self.read(base, index), by), base, index)

    @property
    def done(self) -> str:
        return self.text(self.name, "ptr %context")


def _step(name: str) -> CallStep:
    return CallStep(name, ARGUMENTS[name], INTEGERS)


def _sparse() -> str:
    """y = start + S x, S by its entries."""
    w = _step("sparse")
    h = w.held
    with w.repeat(h["rows"]) as k:
        w.write(w.read(h["start"], k), h["y"], k)
    with w.repeat(h["count"]) as k:
        row, column = w.integer(h["row"], k), w.integer(h["column"], k)
        w.increase(h["y"], row, w.fmul(w.read(h["value"], k), w.read(h["x"], column)))
    return w.done


def _guard() -> str:
    """The first of out is no number unless every x is above its least value."""
    w = _step("guard")
    h = w.held
    with w.repeat(h["count"]) as k:
        good = w.less(w.read(h["least"], k), w.read(h["x"], k))
        with w.when(w.let(f"xor i1 {good}, true")):
            w.write(number(math.nan), h["out"], 0)
    return w.done


def _small(lanes: int) -> str:
    return "".join((_sparse(), _guard()))


SMALL = StepLibrary("small steps", ARGUMENTS, _small)


MATRIX_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "inverse": ("size", "matrix", "stride", "factors", "factors_stride", "out", "out_stride"),
    "minus_product": (
        *("rows", "inner", "columns"),
        *("left", "left_stride", "right", "right_stride", "out", "out_stride"),
    ),
}
MATRIX_SIZES = ("links", "size", "rows", "inner", "columns")
STRIPS = (4, 2, 1)
"""Vectors of columns that are solved for together."""
TILE_ROWS, TILE_COLUMNS = (4, 1), (3, 2, 1)
"""Rows and vectors of a product that are found together: as many as there are registers for."""

Vectors = list[str]


class VectorStep(CallStep):
    """A step on vectors of lanes."""

    def __init__(self, name: str, told: Sequence[str], lanes: int) -> None:
        super().__init__(name, told, {*MATRIX_SIZES, *(each for each in told if each.endswith("stride"))})
        self.lanes, self.t = lanes, f"<{lanes} x double>"

    def wide(self, x: str) -> str:
        """A number in all lanes."""
        return self.in_lanes(x, self.lanes)

    def op(self, name: str, a: str, b: str) -> str:
        return self.let(f"{name} contract {self.t} {a}, {b}")

    def dot(self, a: Vectors, b: Vectors) -> str:
        total = self.op("fmul", a[0], b[0])
        for x, y in zip(a[1:], b[1:], strict=True):
            total = self.op("fadd", total, self.op("fmul", x, y))
        return total

    def row(self, base: str, i: str, stride: str) -> str:
        return self.at(base, self.imul(i, stride))

    def back(self, count: str, k: str) -> str:
        """The k-th from the end."""
        return self.let(f"sub i64 {self.iadd(count, -1)}, {k}")

    def between(self, first: str, last: str, use: Callable[[str, str], object]) -> None:
        """For vectors from ``first`` to ``last``: the place of each; of the last one also which lanes are meant."""
        at = self.variable("i64", first)
        whole = self.iadd(last, 1 - self.lanes)
        with self.loop(lambda: self.iless(self.get("i64", at), whole)):
            place = self.get("i64", at)
            use(place, "")
            self.put("i64", self.iadd(place, self.lanes), at)
        place = self.get("i64", at)
        with self.when(self.iless(place, last)):
            integers = f"<{self.lanes} x i64>"
            numbers = ", ".join(f"i64 {k}" for k in range(self.lanes))
            left = self.in_lanes(self.let(f"sub i64 {last}, {place}"), self.lanes, "i64")
            use(place, self.let(f"icmp slt {integers} <{numbers}>, {left}"))

    def put_some(self, value: str, address: str, mask: str) -> None:
        """Write a vector, or some of its lanes."""
        if mask:
            old = self.get(self.t, address)
            value = self.let(f"select <{self.lanes} x i1> {mask}, {self.t} {value}, {self.t} {old}")
        self.put(self.t, value, address)

    def cut(self, first: str, last: str, sizes: Sequence[int], unit: int, use: Callable[[str, int], None]) -> None:
        """Cut a range into blocks of so many units, the largest first."""
        done = self.variable("i64", first)
        for size in sizes:
            width = size * unit

            def fits(width: int = width) -> str:
                return self.iless(self.iadd(self.get("i64", done), width - 1), last)

            with self.loop(fits):
                use(self.get("i64", done), size)
                self.put("i64", self.iadd(self.get("i64", done), width), done)


def _inverse(lanes: int) -> str:
    """out = A^-1 of a symmetric matrix, of which the upper triangle is read, by L D L^T without pivoting.

    ``factors`` then hold L on both sides of the diagonal and 1 / D on it. Of a column of the inverse only what stands
    below the diagonal is solved for.
    """
    w = VectorStep("inverse", MATRIX_ARGUMENTS["inverse"], lanes)
    h, n, stride = w.held, w.held["size"], w.held["factors_stride"]
    _factor(w)

    def strip(column: str, vectors: int) -> None:
        sums = [w.variable(w.t, "zeroinitializer") for _ in range(vectors)]

        def line(i: str) -> Vectors:
            start = w.at(w.row(h["out"], i, h["out_stride"]), column)
            return [w.at(start, b * lanes) for b in range(vectors)]

        def reduce(i: str, first: str, last: str) -> None:
            factors, here = w.row(h["factors"], i, stride), w.variable("ptr", "null")
            w.put("ptr", w.at(w.row(h["out"], first, h["out_stride"]), column), here)
            with w.repeat(w.let(f"sub i64 {last}, {first}")) as m:
                factor, row = w.wide(w.read(factors, w.iadd(first, m))), w.get("ptr", here)
                for b, total in enumerate(sums):
                    taken = w.op("fmul", factor, w.get(w.t, w.at(row, b * lanes)))
                    w.put(w.t, w.op("fsub", w.get(w.t, total), taken), total)
                w.put("ptr", w.at(row, h["out_stride"]), here)
            for total, address in zip(sums, line(i), strict=True):
                w.put(w.t, w.get(w.t, total), address)

        with w.repeat(w.let(f"sub i64 {n}, {column}")) as m:
            i = w.iadd(column, m)
            # the unit matrix on the right
            for b, total in enumerate(sums):
                w.put(w.t, "zeroinitializer", total)
                lane = w.iadd(m, -b * lanes)
                inside = w.let(f"icmp ult i64 {lane}, {lanes}")
                with w.when(inside):
                    w.put(w.t, w.let(f"insertelement {w.t} zeroinitializer, double {number(1.0)}, i64 {lane}"), total)
            reduce(i, column, i)
        with w.repeat(w.let(f"sub i64 {n}, {column}")) as m:
            i = w.back(n, m)
            diagonal = w.wide(w.read(w.row(h["factors"], i, stride), i))
            for total, address in zip(sums, line(i), strict=True):
                w.put(w.t, w.op("fmul", w.get(w.t, address), diagonal), total)
            reduce(i, w.iadd(i, 1), n)

    w.cut("0", h["out_stride"], STRIPS, lanes, strip)
    with w.repeat(n) as i:
        own = w.row(h["out"], i, h["out_stride"])
        with w.repeat(i) as j:
            w.write(w.read(own, j), w.row(h["out"], j, h["out_stride"]), i)
    return w.done


def _factor(w: VectorStep) -> None:
    """L on both sides of the diagonal, 1 / D on it."""
    h, n, stride = w.held, w.held["size"], w.held["factors_stride"]

    def from_diagonal(i: str, use: Callable[[str], None]) -> None:
        """Whole vectors of a row from its diagonal on; what they reach of the left is not read before the end."""
        at = w.variable("i64", w.let(f"and i64 {i}, {-w.lanes}"))
        with w.loop(lambda: w.iless(w.get("i64", at), stride)):
            place = w.get("i64", at)
            use(place)
            w.put("i64", w.iadd(place, w.lanes), at)

    with w.repeat(n) as i:
        source, target = w.row(h["matrix"], i, h["stride"]), w.row(h["factors"], i, stride)
        with w.repeat(w.let(f"sub i64 {n}, {i}")) as k:
            j = w.iadd(i, k)
            w.write(w.read(source, j), target, j)
    with w.repeat(n) as k:
        pivot = w.row(h["factors"], k, stride)
        inverse = w.fdiv(number(1.0), w.read(pivot, k))
        w.write(inverse, pivot, k)
        after = w.iadd(k, 1)
        with w.repeat(w.let(f"sub i64 {n}, {after}")) as m:
            i = w.iadd(after, m)
            line, factor = w.row(h["factors"], i, stride), w.wide(w.fmul(w.read(pivot, i), inverse))

            def reduce(place: str, line: str = line, pivot: str = pivot, factor: str = factor) -> None:
                address = w.at(line, place)
                taken = w.op("fmul", factor, w.get(w.t, w.at(pivot, place)))
                w.put(w.t, w.op("fsub", w.get(w.t, address), taken), address)

            from_diagonal(i, reduce)
    with w.repeat(n) as k:
        pivot = w.row(h["factors"], k, stride)
        inverse, after = w.read(pivot, k), w.iadd(k, 1)
        with w.repeat(w.let(f"sub i64 {n}, {after}")) as m:
            i = w.iadd(after, m)
            part = w.fmul(w.read(pivot, i), inverse)
            w.write(part, pivot, i)
            w.write(part, w.row(h["factors"], i, stride), k)


def _minus_product(lanes: int) -> str:
    """out = -left right."""
    w = VectorStep("minus_product", MATRIX_ARGUMENTS["minus_product"], lanes)
    h = w.held

    def strip(column: str, vectors: int) -> None:
        def tile(i: str, rows: int) -> None:
            sums = [[w.variable(w.t, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
            lines = [w.row(h["left"], w.iadd(i, r), h["left_stride"]) for r in range(rows)]
            here = w.variable("ptr", "null")
            w.put("ptr", w.at(h["right"], column), here)
            with w.repeat(h["inner"]) as k:
                row = w.get("ptr", here)
                right = [w.get(w.t, w.at(row, b * lanes)) for b in range(vectors)]
                for line, own in zip(lines, sums, strict=True):
                    factor = w.wide(w.read(line, k))
                    for x, total in zip(right, own, strict=True):
                        w.put(w.t, w.op("fsub", w.get(w.t, total), w.op("fmul", factor, x)), total)
                w.put("ptr", w.at(row, h["right_stride"]), here)
            for r, own in enumerate(sums):
                target = w.at(w.row(h["out"], w.iadd(i, r), h["out_stride"]), column)
                for b, total in enumerate(own):
                    w.put(w.t, w.get(w.t, total), w.at(target, b * lanes))

        w.cut("0", h["rows"], TILE_ROWS, 1, tile)

    w.cut("0", h["columns"], TILE_COLUMNS, lanes, strip)
    return w.done


def _both(lanes: int) -> str:
    return _inverse(lanes) + _minus_product(lanes)


MATRICES = StepLibrary("matrix steps", MATRIX_ARGUMENTS, _both)
