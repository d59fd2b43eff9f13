"""Small steps of compiled calls: sparse products, guards, walks from a frame to the base.

They are the same for all robots; sizes, addresses and tables come with their arguments, an array of 64-bit words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence

from pliant.engine.backends.flow import Flow
from pliant.engine.backends.llvm_ir import number

Three = tuple[str, str, str]

SPARSE = ("rows", "start", "count", "row", "column", "value", "x", "y")
GUARD = ("count", "x", "least", "out")
WALK = ("links", "table", "coordinates", "flat", "size", "given", "start", "out")
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "sparse": SPARSE,
    "guard": GUARD,
    "jacobian": WALK,
    "twist": WALK,
    "pull": WALK,
}
"""Steps and what they are told, in order."""
INTEGERS = ("rows", "count", "links", "size")
WALK_ROW = 3
"""Entries of a walk's table per link: where its columns begin, how many they are, where their coordinates begin."""
ARM = -3
"""Where a link's arm is, from the begin of its columns."""


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


def _dot(w: Flow, a: Three, b: Three) -> str:
    return w.fadd(w.fadd(w.fmul(a[0], b[0]), w.fmul(a[1], b[1])), w.fmul(a[2], b[2]))


def _three(w: Flow, base: str, start: str | int) -> Three:
    at = w.at(base, start)
    return w.read(at, 0), w.read(at, 1), w.read(at, 2)


def _cross(w: Flow, a: Three, b: Three) -> Three:
    def entry(i: int, k: int) -> str:
        return w.fsub(w.fmul(a[i], b[k]), w.fmul(a[k], b[i]))

    return entry(1, 2), entry(2, 0), entry(0, 1)


def _walk(w: CallStep, column: Callable[[str, Three, Three], None]) -> None:
    """For every coordinate on the way from a frame to the base: the frame's linear and angular velocity per rate."""
    h = w.held
    r = [w.variable("double", number(0.0)) for _ in range(3)]
    with w.repeat(h["links"]) as k:
        row = w.imul(k, WALK_ROW)
        start, count, first = (w.integer(h["table"], w.iadd(row, i)) for i in range(WALK_ROW))
        arm = tuple(w.get("double", x) for x in r)
        with w.repeat(count) as c:
            at = w.iadd(start, w.imul(c, 6))
            linear, angular = _three(w, h["flat"], at), _three(w, h["flat"], w.iadd(at, 3))
            turned = _cross(w, angular, (arm[0], arm[1], arm[2]))
            moved = tuple(w.fadd(a, b) for a, b in zip(linear, turned, strict=True))
            column(w.integer(h["coordinates"], w.iadd(first, c)), (moved[0], moved[1], moved[2]), angular)
        for x, own in zip(r, _three(w, h["flat"], w.iadd(start, ARM)), strict=True):
            w.put("double", w.fadd(w.get("double", x), own), x)


def _jacobian() -> str:
    """out (6, size) = J."""
    w = _step("jacobian")
    h = w.held
    with w.repeat(w.imul(h["size"], 6)) as k:
        w.write(number(0.0), h["out"], k)

    def column(coordinate: str, linear: Three, angular: Three) -> None:
        for i, x in enumerate((*linear, *angular)):
            w.write(x, h["out"], w.iadd(w.imul(h["size"], i), coordinate))

    _walk(w, column)
    return w.done


def _twist() -> str:
    """out (6,) = J given."""
    w = _step("twist")
    h = w.held
    for i in range(6):
        w.write(number(0.0), h["out"], i)

    def column(coordinate: str, linear: Three, angular: Three) -> None:
        rate = w.read(h["given"], coordinate)
        for i, x in enumerate((*linear, *angular)):
            w.increase(h["out"], i, w.fmul(x, rate))

    _walk(w, column)
    return w.done


def _pull() -> str:
    """out (size,) = start + J^T given."""
    w = _step("pull")
    h = w.held
    force, moment = _three(w, h["given"], 0), _three(w, h["given"], 3)
    with w.repeat(h["size"]) as k:
        w.write(w.read(h["start"], k), h["out"], k)

    def column(coordinate: str, linear: Three, angular: Three) -> None:
        w.increase(h["out"], coordinate, w.fadd(_dot(w, linear, force), _dot(w, angular, moment)))

    _walk(w, column)
    return w.done


def steps_ir() -> str:
    """All steps."""
    return "".join((_sparse(), _guard(), _jacobian(), _twist(), _pull()))
