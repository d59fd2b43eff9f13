"""A traced program as data: kernels, the passes that call them for every link, and where all values are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pliant.engine.trace.structure import ConstantsPattern
from pliant.engine.trace.tape import LEAVES, Node, Operations, Tape, count, live
from pliant.spatial.scalars import Scalar


class Address(NamedTuple):
    """Where a value is: an array, the role of the link it belongs to (seen from the kernel's link), an index."""

    array: str
    role: str
    index: int  # type: ignore[assignment]

    @property
    def is_tangent(self) -> bool:
        """Whether the array holds derivatives."""
        return self.array.startswith("d")


MARK = "mark"
"""The array of symbols that nothing reads: their role says which step of an algorithm begins there."""


def marking(inputs: Mapping[str, Sequence[Any]], wanted: bool = True) -> Callable[[str], None]:
    """A function that leaves a mark on the tape of traced inputs; it does nothing where none is wanted."""
    traced = next((x for vector in inputs.values() for x in vector if isinstance(x, Node)), None)

    def mark(text: str) -> None:
        if wanted and traced is not None:
            traced.tape.symbol(Address(MARK, text, 0))

    return mark


Stored = tuple[str, int]
"""A slot of a link's record: ("store", k) for a value, ("dstore", k) for its tangent."""


@dataclass(frozen=True, slots=True)
class Still:
    """Tangents of a kernel whose link and neighbours have no moving inputs of their own: they are only carried along.

    Elsewhere along a chain most of a tangent vanishes: relative motions do not change, only how the whole moves.
    """

    stores: dict[int, Scalar]
    outputs: list[Scalar]


@dataclass(slots=True)
class Kernel:
    """Straight-line code for one class of link in one pass: what it can store, and its outputs."""

    name: str
    tape: Tape
    stores: dict[Stored, Scalar]
    outputs: list[Scalar]
    output_array: str
    patterns: dict[str, Any]
    record: int
    needed: set[Stored] = field(default_factory=set)
    saved: dict[int, Address] = field(default_factory=dict)
    still: Still | None = None

    @property
    def still_results(self) -> list[tuple[Address, Scalar]]:
        """The tangents that the kernel must write where the directions move neither the link nor a neighbour."""
        if self.still is None:
            return []
        slots_ = sorted(k for array, k in self.needed if array == "dstore")
        stores = [(Address("dstore", "own", k), self.still.stores.get(k, 0.0)) for k in slots_]
        return stores + [(Address(self.output_array, "own", i), x) for i, x in enumerate(self.still.outputs)]

    @property
    def results(self) -> list[tuple[Address, Scalar]]:
        """What the kernel must write."""
        stores = [(Address(key[0], "own", key[1]), self.stores[key]) for key in sorted(self.needed)]
        return stores + [(Address(self.output_array, "own", i), x) for i, x in enumerate(self.outputs)]

    def reads(self) -> set[Address]:
        """What the kernel reads, given what it must write."""
        order = live([x for _, x in [*self.results, *self.still_results]])
        return {self.tape.a[i] for i in order if self.tape.op[i] == "symbol"}

    @property
    def active(self) -> frozenset[int]:
        """Slots whose tangent is not structurally zero."""
        return frozenset(k for array, k in self.stores if array == "dstore")

    @property
    def operations(self) -> Operations:
        return count([x for _, x in self.results])

    def save(self, start: int = 0) -> int:
        """Give the values of the tape that its tangents need places from ``start`` on; how many they are.

        They are computed once and loaded for every block of directions.
        """
        op, first, second = self.tape.op, self.tape.a, self.tape.b
        moving: set[int] = set()
        self.saved = {}
        for i in live([x for _, x in [*self.results, *self.still_results]]):
            if op[i] == "symbol":
                if first[i].is_tangent:
                    moving.add(i)
            elif op[i] != "constant":
                operands = (first[i], second[i]) if second[i] >= 0 else (first[i],)
                if any(k in moving for k in operands):
                    moving.add(i)
                    for k in operands:
                        if k not in moving and k not in self.saved and op[k] not in LEAVES:
                            self.saved[k] = Address("saved", "own", start + len(self.saved))
        return len(self.saved)


@dataclass(slots=True)
class LoopPass:
    """A pass with the kernel of every row."""

    name: str
    direction: str
    kernel_of: list[int]
    kernels: list[Kernel]


@dataclass(slots=True)
class RolledProgram:
    """Everything that a back end needs: passes, offsets of every row in the arrays, constants.

    A row is a link, or a station of its body: stations stand before their link, which is their only child, and their
    parent is the station before them.

    owners  the link of every row
    """

    name: str
    inputs: tuple[str, ...]
    seeds: tuple[str, ...]
    passes: list[LoopPass]
    parents: list[int]
    children: list[tuple[int, ...]]
    coordinate_start: list[int]
    output_start: list[int]
    constant_start: list[int]
    record_start: list[int]
    record_size: int
    saved_start: list[int]
    saved_size: int
    constants: list[float]
    outputs: int
    size: int
    patterns: Sequence[ConstantsPattern]
    owners: list[int]

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation: each kernel's, as often as it is called."""
        total = Operations()
        for each in self.passes:
            counts = [kernel.operations for kernel in each.kernels]
            for k in each.kernel_of:
                total = total + counts[k]
        return total
