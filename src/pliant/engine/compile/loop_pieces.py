"""A loop of a long tape as LLVM code: one turn is written, and the places of what it reads and writes move on.

Places that move by no steps are listed in a table with a row for every turn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.llvm_ir import FUNCTION, HELD, OPCODES, CodePiece, element, number, vector_type
from pliant.engine.compile.repeats import CONSTANT, ENTRY, NONE, Integers, Operands, Stretch
from pliant.engine.trace.program import Address
from pliant.engine.trace.tape import Tape


class HeldValues(NamedTuple):
    """Which of the operations' values are handed on, where, and which have one value per lane."""

    needed: NDArray[np.bool_]
    slot: NDArray[np.int64]
    wide: NDArray[np.bool_]


class Moving(NamedTuple):
    """A place that moves by a step in every turn; values that are handed on are an array, too."""

    array: str
    role: str
    index: int  # type: ignore[assignment]
    step: int


class ListedPlace(NamedTuple):
    """A place that a column of the table tells."""

    array: str
    role: str
    column: int


def write_loop(
    piece: CodePiece,
    tape: Tape,
    entries: list[int],
    found: Operands,
    loop: Stretch,
    held: HeldValues,
    targets: list[list[Moving]],
    lanes: int,
) -> None:
    """All turns of a loop; ``targets`` are those of the results, for each operation of a turn."""
    writer = _LoopWriter(piece, found, loop, held, lanes)
    stored = [writer.held_place(p) for p in range(loop.period)]
    writer.enter([place for several in targets for place in several] + [place for place in stored if place is not None])
    for p in range(loop.period):
        i = entries[loop.start + p]
        writer.operation(p, tape.op[i], tape)
        for place in (*targets[p], *([] if stored[p] is None else [stored[p]])):
            assert place is not None
            writer.store(p, place)
    writer.leave()


class _LoopWriter:
    def __init__(self, piece: CodePiece, found: Operands, loop: Stretch, held: HeldValues, lanes: int) -> None:
        self.piece, self.w, self.found, self.loop, self.held, self.lanes = piece, piece.w, found, loop, held, lanes
        self.types = {False: "double", True: vector_type(lanes)}
        self.near = found.near(loop)
        self.value: dict[int, str] = {}
        """Of the operations of a turn."""
        self.columns: dict[tuple[int, ...], int] = {}
        """ListedPlace places, with their columns."""
        self.places = {(which, p): self._place(which, p) for p in range(loop.period) for which in (0, 1)}
        """Where operands are read; None: it is a number, or in a register."""
        self.read: dict[Moving | ListedPlace, str] = {}
        self.splats: dict[str, str] = {}
        self.pointers: dict[tuple[str, str, int], tuple[str, int, int]] = {}
        """Array, role and step -> pointer in this turn, the index to which it points, lanes of the array."""
        self.indices: dict[int, str] = {}
        """Column of the table -> the place that it tells in this turn."""
        self.carried: dict[int, tuple[str, int]] = {}
        """Operation whose value of the last turn is taken -> its name here, the line on which that is defined."""

    def held_place(self, p: int) -> Moving | None:
        """Where an operation puts its value for others in every turn."""
        first, last, period = self.loop.start + p, self.loop.last + p, self.loop.period
        if not self.held.needed[first:last:period].any():
            return None
        slot = self.held.slot
        return Moving(HELD, "", int(slot[first]), int(slot[first + period] - slot[first]))

    def enter(self, places: list[Moving]) -> None:
        """What is found before the first turn, and how places move in every turn."""
        w = self.w
        lowest: dict[tuple[str, str, int], int] = {}
        for place in (*places, *self.places.values()):
            if isinstance(place, ListedPlace):
                lowest[place.array, place.role, 0] = 0
            elif place is not None:
                key = (place.array, place.role, place.step)
                lowest[key] = min(lowest.get(key, place.index), place.index)
        bases = {}
        for (array, role, step), index in lowest.items():
            if array == HELD:
                bases[array, role, step] = element(w, HELD, index, self.lanes), self.lanes
            else:
                bases[array, role, step] = self.piece.at(Address(array, role, index))
        before = {p: self._first(p) for p in self._carried()}
        w.lines += ["  br label %loop", "loop:", "  %k = phi i64 [ 0, %entry ], [ %next, %loop ]"]
        for p, first in before.items():
            self.carried[p] = (f"%c{p}", len(w.lines))
            # its second half is known in the end
            w.do(f"%c{p} = phi {self.types[self._wide(p)]} [ {first}, %entry ], ")
        offsets: dict[int, str] = {}
        for key, (base, lanes) in bases.items():
            step, pointer = key[2], base
            if step:
                if step not in offsets:
                    offsets[step] = w.let(f"mul i64 %k, {step}")
                pointer = element(w, base, offsets[step], lanes)
            self.pointers[key] = pointer, lowest[key], lanes
        self._look_up()

    def _look_up(self) -> None:
        """The places of this turn that are listed."""
        if not self.columns:
            return
        w, width = self.w, len(self.columns)
        numbers = ", ".join(f"i32 {x}" for turn in zip(*self.columns, strict=True) for x in turn)
        size = f"[{width * self.loop.times} x i32]"
        w.tables += f"{FUNCTION}_places = private unnamed_addr constant {size} [ {numbers} ]\n"
        row = w.let(f"getelementptr inbounds [{width} x i32], ptr {FUNCTION}_places, i64 %k")
        for column in range(width):
            pointer = row if column == 0 else w.let(f"getelementptr inbounds i32, ptr {row}, i64 {column}")
            self.indices[column] = w.let(f"zext i32 {w.let(f'load i32, ptr {pointer}, align 4')} to i64")

    def _carried(self) -> list[int]:
        """Operations whose values of the turn before are taken."""
        first = self.found.in_turns(self.loop)[0][:, 0][self.near] - self.loop.start
        return sorted({int(x) + self.loop.period for x in first if x < 0})

    def _first(self, p: int) -> str:
        """The value that the first turn takes for that of the turn before."""
        k = self.loop.start - self.loop.period + p
        pointer = element(self.w, HELD, int(self.held.slot[k]), self.lanes)
        return self.w.let(f"load {self.types[bool(self.held.wide[k])]}, ptr {pointer}, align 8")

    def _wide(self, p: int) -> bool:
        return bool(self.held.wide[self.loop.start + p])

    def _place(self, which: int, p: int) -> Moving | ListedPlace | None:
        loop, found = self.loop, self.found
        kind = int(found.kind[which, loop.start + p])
        places: Integers = found.place[which, loop.start + p : loop.stop : loop.period]
        if kind >= 0:
            array, role = found.arrays[kind]
        elif kind == ENTRY and not self.near[which, p]:
            array, role, places = HELD, "", self.held.slot[places]
        else:
            return None
        steps = np.diff(places)
        if (steps == steps[0]).all():
            return Moving(array, role, int(places[0]), int(steps[0]))
        # with values that are found in the turns before, too: they are there by then
        return ListedPlace(array, role, self.columns.setdefault(tuple(places.tolist()), len(self.columns)))

    def _operand(self, which: int, p: int, tape: Tape) -> tuple[str, bool]:
        """Its name or number, and whether it is one per lane."""
        loop = self.loop
        kind, first = int(self.found.kind[which, loop.start + p]), int(self.found.place[which, loop.start + p])
        if kind == CONSTANT:
            return number(tape.a[first]), False
        place = self.places[which, p]
        if place is None:
            own = first - loop.start
            if own >= 0:
                return self.value[own], self._wide(own)
            own += loop.period
            return self.carried[own][0], self._wide(own)
        pointer, lanes = self._pointer(place)
        wide = bool(self.held.wide[first]) if place.array == HELD else lanes > 1
        if place not in self.read:
            self.read[place] = self.w.let(f"load {self.types[wide]}, ptr {pointer}, align 8")
        return self.read[place], wide

    def _pointer(self, place: Moving | ListedPlace) -> tuple[str, int]:
        if isinstance(place, ListedPlace):
            pointer, index, lanes = self.pointers[place.array, place.role, 0]
            return element(self.w, pointer, self.indices[place.column], lanes), lanes
        pointer, index, lanes = self.pointers[place.array, place.role, place.step]
        return element(self.w, pointer, place.index - index, lanes), lanes

    def _as_vector(self, name: str) -> str:
        """A scalar in all lanes."""
        if not name.startswith("%"):
            return "<" + ", ".join([f"double {name}"] * self.lanes) + ">"
        if name not in self.splats:
            self.splats[name] = self.w.in_lanes(name, self.lanes)
        return self.splats[name]

    def operation(self, p: int, op: str, tape: Tape) -> None:
        """One of a turn."""
        taken = [
            self._operand(which, p, tape) for which in (0, 1) if self.found.kind[which, self.loop.start + p] != NONE
        ]
        wide = self._wide(p)
        names = ", ".join(self._as_vector(name) if wide and not by_lane else name for name, by_lane in taken)
        code = f"{OPCODES[op]} contract" if op in OPCODES else "fneg"
        self.value[p] = self.w.let(f"{code} {self.types[wide]} {names}")

    def store(self, p: int, place: Moving) -> None:
        """Put the value of an operation where it belongs in this turn."""
        pointer, lanes = self._pointer(place)
        self._store(p, pointer, self._wide(p) if place.array == HELD else lanes > 1)

    def _store(self, p: int, pointer: str, by_lane: bool) -> None:
        value = self._as_vector(self.value[p]) if by_lane and not self._wide(p) else self.value[p]
        self.w.do(f"store {self.types[by_lane]} {value}, ptr {pointer}, align 8")

    def leave(self) -> None:
        """The next turn, or what is left of the last one."""
        w, loop = self.w, self.loop
        for p, (_, line) in self.carried.items():
            w.lines[line] += f"[ {self.value[p]}, %loop ]"
        w.do("%next = add i64 %k, 1")
        w.do(f"%more = icmp slt i64 %next, {loop.times}")
        w.lines += ["  br i1 %more, label %loop, label %done", "done:"]
        for p in range(loop.period):
            if self.held.needed[loop.last + p] and self.held_place(p) is None:
                self._store(p, element(w, HELD, int(self.held.slot[loop.last + p]), self.lanes), self._wide(p))
