"""Small steps of compiled calls: sparse products and guards, and what a library of steps is.

Steps are the same for whatever is computed; sizes, addresses and tables come with their arguments, an array of 64-bit
words.
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
