"""Stretches of a long tape in which the same operations come again and again: they become loops.

What is done for one element of a beam, or for one mode of a frame, is done for all of them, with other numbers. A
stretch is a run of a period where each period has the same operations on the same kinds of operands. It is a loop at
once where in addition the places of all operands move by the same steps from one period to the next. Elsewhere, as for
modes of which some do not take part, the places are listed: what a turn takes of itself or of the turn before it has to
be the same for all turns, and anything else may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.llvm_ir import FUNCTION, HELD, OPCODES, CodePiece, element, number, vector_type
from pliant.engine.trace.program import Address
from pliant.engine.trace.tape import BINARY, Tape

Integers = NDArray[np.int64]

LEAST = 8
"""Periods of a loop."""
LONGEST = 1024
"""Operations in a period."""
MULTIPLES = (1, 2, 3, 4, 6, 8)
"""Periods that may make one turn of a loop: coordinates of a node."""
WORTHWHILE = 0.5
"""Part of the operations that loops save: what they hand on has to be stored."""
LISTED, SHORTEST = 0.5, 64
"""What an operation in a loop with listed places is worth against one whose operands move by steps, and so many
operations such a loop must save."""
NONE, CONSTANT, ENTRY = -1, -2, -3
"""Kinds of operands but symbols: there is none, a number, an earlier entry of the tape."""


class Operands(NamedTuple):
    """What the entries of a tape take, one row for each of their two operands: kind and place.

    The place of an earlier entry is its position among the entries, of a symbol its index, of a number its place on the
    tape. Kinds from 0 on are those of ``arrays``.
    """

    kind: Integers
    place: Integers
    arrays: list[tuple[str, str]]
    """Array and role of the symbols of a kind."""

    def in_turns(self, stretch: Stretch) -> tuple[Integers, NDArray[np.bool_]]:
        """The places of the operands in all periods of a stretch (2, times, period), and which are entries."""
        own = slice(stretch.start, stretch.stop)
        shape = 2, stretch.times, stretch.period
        return self.place[:, own].reshape(shape), self.kind[:, own].reshape(shape) == ENTRY

    def near(self, loop: Stretch) -> NDArray[np.bool_]:
        """Whether operands (2, period) are in every turn what that turn or the one before it has found."""
        places, entries = self.in_turns(loop)
        back = _back(places, loop)
        near: NDArray[np.bool_] = entries[:, 0] & (back == back[:, :1]).all(axis=1) & (back[:, 0] >= -loop.period)
        return near


class Stretch(NamedTuple):
    """A run or a loop: its first position, the length of a period, and how often that comes."""

    start: int
    period: int
    times: int

    @property
    def stop(self) -> int:
        return self.start + self.period * self.times

    @property
    def last(self) -> int:
        """Where the last period begins."""
        return self.stop - self.period


def operands(tape: Tape, entries: Sequence[int], given: Mapping[int, object]) -> Operands:
    """What some entries take; ``given`` are entries whose values are loaded."""
    position = {i: k for k, i in enumerate(entries)}
    arrays: dict[tuple[str, str], int] = {}
    kind, place = np.full((2, len(entries)), NONE), np.zeros((2, len(entries)), dtype=np.int64)
    op, a, b = tape.op, tape.a, tape.b
    for k, i in enumerate(entries):
        for which, x in ((0, a[i]), (1, b[i])):
            if x in position:
                kind[which, k], place[which, k] = ENTRY, position[x]
            elif x < 0:
                continue
            elif x in given or op[x] == "symbol":
                address = given[x] if x in given else a[x]
                assert isinstance(address, Address)
                kind[which, k] = arrays.setdefault(address[:2], len(arrays))
                place[which, k] = address.index
            else:
                kind[which, k], place[which, k] = CONSTANT, x
    return Operands(kind, place, list(arrays))


def widths(found: Operands, wide: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Whether the value of each entry is one per lane: that is so where an operand's is."""
    own = [wide(array) for array, _ in found.arrays]
    out = [False] * found.kind.shape[1]
    if any(own):
        for k, (x, y, at_x, at_y) in enumerate(zip(*found.kind.tolist(), *found.place.tolist(), strict=True)):
            out[k] = any(own[kind] if kind >= 0 else kind == ENTRY and out[at] for kind, at in ((x, at_x), (y, at_y)))
    return np.array(out, dtype=bool)


def repeats(
    tape: Tape, entries: Sequence[int], found: Operands, wide: NDArray[np.bool_]
) -> tuple[list[Stretch], list[Stretch]]:
    """The runs among some entries of a tape and the loops in them, both in order."""
    runs: list[Stretch] = []
    loops: list[Stretch] = []
    run_of = np.full(len(entries), -1)
    for run in _runs(_tokens(tape, entries, found, wide), found):
        # what comes for each coordinate moves as a whole from node to node
        several = [Stretch(run.start, run.period * m, run.times // m) for m in MULTIPLES if run.times // m >= LEAST]
        choices = []
        for each in several:
            run_of[each.start : each.stop] = len(runs)
            choices.append((each, _loops(each, found, run_of, [*(r.period for r in runs), each.period])))
            run_of[each.start : each.stop] = -1
        best, own = max(choices, key=lambda choice: _saved(choice[1]))
        listed = _listed_loops(run, found)
        if LISTED * _saved(listed) > _saved(own):
            best, own = run, listed
        if own:
            run_of[best.start : best.stop] = len(runs)
            runs.append(best)
            loops += own
    return (runs, loops) if _saved(loops) >= WORTHWHILE * len(entries) else ([], [])


def _saved(loops: list[Stretch]) -> int:
    """Operations that do not have to be written."""
    return sum((loop.times - 1) * loop.period for loop in loops)


def _tokens(tape: Tape, entries: Sequence[int], found: Operands, wide: NDArray[np.bool_]) -> Integers:
    """Equal numbers for equal operations on equal kinds of operands; functions are never in a loop."""
    known: dict[object, int] = {}
    by_lane = np.where(found.kind == ENTRY, wide[np.where(found.kind == ENTRY, found.place, 0)], False)
    number = np.where(found.kind == CONSTANT, found.place, 0)
    columns = zip(*found.kind.tolist(), *by_lane.tolist(), *number.tolist(), strict=True)
    tokens = []
    for k, (i, column) in enumerate(zip(entries, columns, strict=True)):
        op = tape.op[i]
        key = (op, column) if op in BINARY or op == "negate" else k
        tokens.append(known.setdefault(key, len(known)))
    return np.array(tokens)


def _runs(tokens: NDArray[Any], found: Operands) -> list[Stretch]:
    """Runs that do not overlap, those first that save most."""
    n = len(tokens)
    tokens = tokens.astype(np.min_scalar_type(int(tokens.max(initial=0))))
    candidates: list[tuple[int, int, int]] = []
    for period in range(1, min(LONGEST, n // LEAST) + 1):
        equal = tokens[period:] == tokens[:-period]
        if np.count_nonzero(equal) < (LEAST - 1) * period:
            continue
        same = np.zeros(n - period + 2, dtype=np.int8)
        same[1:-1] = equal
        edges = np.flatnonzero(np.diff(same))
        begins, ends = edges[::2], edges[1::2]
        long = np.flatnonzero(ends - begins >= (LEAST - 1) * period)
        candidates += [(int(ends[k] - begins[k]), period, int(begins[k])) for k in long]
    free = np.ones(n, dtype=np.int8)
    runs = []
    for saved, period, begin in sorted(candidates, key=lambda each: (-each[0], each[1])):
        for start, length in _stretches(free[begin : begin + saved + period]):
            if length >= LEAST * period:
                run = _in_phase(Stretch(begin + start, period, length // period), begin + start + length, found)
                if run.times >= LEAST:
                    free[run.start : run.stop] = 0
                    runs.append(run)
    return sorted(runs)


def _stretches(free: NDArray[np.int8]) -> list[tuple[int, int]]:
    """Start and length of what is free."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], free, [0]))))
    return list(zip(edges[::2].tolist(), np.diff(edges)[::2].tolist(), strict=True))


def _in_phase(run: Stretch, stop: int, found: Operands) -> Stretch:
    """The run with its periods cut where least is handed from one to the next."""
    period = run.period
    middle = run.start + run.times // 2 * period
    cuts = np.zeros(2 * period + 1, dtype=np.int64)
    for kind, place in zip(
        found.kind[:, middle : middle + period], found.place[:, middle : middle + period], strict=True
    ):
        at = np.arange(period)
        near = (kind == ENTRY) & (place > middle + at - period)
        # a cut before the entry, but after its operand
        np.add.at(cuts, place[near] - middle + 1 + period, 1)
        np.add.at(cuts, at[near] + 1 + period, -1)
    crossing = np.cumsum(cuts)[:-1].reshape(2, period).sum(axis=0)
    start = run.start + int(np.argmin(crossing))
    return Stretch(start, period, (stop - start) // period)


def _loops(run: Stretch, found: Operands, run_of: Integers, periods: list[int]) -> list[Stretch]:
    """The periods of a run whose operands move by steps that stay the same."""
    places, entries = found.in_turns(run)
    steps = np.diff(places, axis=1)
    homes = run_of[np.where(entries, places, 0)]
    # from a period to the next: entries that stay, or move in the run that they are of by whole periods of it
    lengths = np.array([*periods, 1])[homes[:, 1:]]
    moved = (homes[:, 1:] == homes[:, :-1]) & (homes[:, 1:] >= 0) & (steps % lengths == 0)
    apart = entries[:, 1:] & (steps != 0) & ~moved
    good = ~apart.any(axis=(0, 2))
    steady = good[1:] & good[:-1] & (steps[:, 1:] == steps[:, :-1]).all(axis=(0, 2))
    # so many changes of steps that do not change lie between two periods more
    return _apart([_turns(run, first, length + 2) for first, length in _stretches(steady.astype(np.int8))])


def _listed_loops(run: Stretch, found: Operands) -> list[Stretch]:
    """The periods of a run that take the same of themselves and of the period before."""
    places, entries = found.in_turns(run)
    back = _back(places, run)
    near = entries & (back >= -run.period)
    apart = (near[:, 1:] | near[:, :-1]) & (back[:, 1:] != back[:, :-1])
    good = ~apart.any(axis=(0, 2))
    loops = [_turns(run, first, length + 1) for first, length in _stretches(good.astype(np.int8))]
    return [loop for loop in loops if loop.times >= LEAST and _saved([loop]) >= SHORTEST]


def _back(places: Integers, stretch: Stretch) -> Integers:
    """Places (2, times, period) as seen from the beginning of their period."""
    return places - np.arange(stretch.start, stretch.stop, stretch.period)[:, None]


def _turns(run: Stretch, first: int, times: int) -> Stretch:
    return Stretch(run.start + first * run.period, run.period, times)


def _apart(loops: list[Stretch]) -> list[Stretch]:
    """Loops that share a period at their ends: the first keeps it."""
    out: list[Stretch] = []
    for loop in loops:
        if out and loop.start < out[-1].stop:
            loop = _turns(loop, taken := (out[-1].stop - loop.start) // loop.period, loop.times - taken)
        if loop.times >= LEAST:
            out.append(loop)
    return out


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
