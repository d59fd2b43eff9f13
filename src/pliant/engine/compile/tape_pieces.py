"""Long tapes in pieces: functions that are called one after the other, straight ones and loops.

Code generation takes longer than in proportion to the length of a function, and where the same operations come again
and again a loop over them is all that has to be generated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.llvm_ir import CodePiece, Emitter, packed_angles
from pliant.engine.compile.repeats import (
    ENTRY,
    HeldValues,
    Integers,
    Moving,
    Operands,
    Stretch,
    operands,
    repeats,
    widths,
    write_loop,
)
from pliant.engine.compile.sums import long_sums
from pliant.engine.trace.program import Address
from pliant.engine.trace.tape import LEAVES, Node, Tape, live
from pliant.spatial.scalars import Scalar

P = TypeVar("P", bound=CodePiece)
Flags = NDArray[np.bool_]
Result = tuple[Address, Scalar]

LONG, PIECE = 4000, 250
"""Entries of a tape that is cut, and operations of its straight pieces: what pieces hand on has to be stored and
loaded."""


class Straight(NamedTuple):
    """Operations that stand for themselves, by their positions."""

    start: int
    stop: int


def emit(
    begin: Callable[[], P],
    tape: Tape,
    results: list[Result],
    lanes: int,
    given: Mapping[int, Address] | None = None,
) -> tuple[list[P], int]:
    """Write a tape in as many pieces as its length asks for; ``results`` are (address of the target, value).

    ``given`` maps entries of the tape to addresses under which their values can be loaded instead of computed.
    The pieces, and how many values they hand on.
    """
    given = given or {}
    order, packs = packed_angles(tape, live([x for _, x in results], given), given)
    sums, shorter = long_sums(tape, order, results, given)
    if len(shorter) <= LONG:
        piece = begin()
        Emitter(tape, lanes, given, packs, sums=sums).write(piece, shorter, results)
        return [piece], 0
    scratch = begin()
    plan = _Plan(tape, order, packs, given, results, lambda array: scratch.at(Address(array, "", 0))[1] > 1)
    emitter = Emitter(tape, lanes, given, packs, plan.slots)
    pieces = []
    for part in plan.parts:
        pieces.append(begin())
        if isinstance(part, Stretch):
            write_loop(pieces[-1], tape, plan.entries, plan.found, part, plan.held, plan.targets[part.start], lanes)
        else:
            emitter.write(pieces[-1], plan.entries[part.start : part.stop], plan.own[part.start])
    for k in range(0, len(plan.rest), PIECE):
        pieces.append(begin())
        emitter.write(pieces[-1], [], plan.rest[k : k + PIECE])
    return pieces, plan.size


class _Plan:
    """How a long tape is written.

    entries  the operations in order
    parts    of them, in order: straight ones, and loops as stretches
    held     which values are handed on, and where
    own      start of a straight part -> results that it writes
    targets  start of a loop -> for each operation of its period the results that are written in every turn
    rest     results that are written at the end
    """

    def __init__(
        self,
        tape: Tape,
        order: list[int],
        packs: Mapping[int, list[int]],
        given: Mapping[int, Address],
        results: list[Result],
        wide: Callable[[str], bool],
    ) -> None:
        self.entries = [i for i in order if tape.op[i] not in LEAVES and i not in given]
        self.found = operands(tape, self.entries, given)
        by_lane = widths(self.found, wide)
        runs, loops = repeats(tape, self.entries, self.found, by_lane)
        self.parts = _parts(len(self.entries), loops)
        needed = _handed_on(self.found, self.parts)
        position = {i: k for k, i in enumerate(self.entries)}
        # sines are found together with those of other angles
        needed[[position[k] for several in packs.values() for k in several if k in position]] = True
        self._place_results(results, position, needed)
        slot, self.size = _slots(needed, runs, self.parts)
        self.held = HeldValues(needed, slot, by_lane)
        self.slots = {
            self.entries[k]: (int(slot[k]), bool(by_lane[k])) for k in np.flatnonzero(slot >= 0).tolist() if needed[k]
        }

    def _place_results(self, results: list[Result], position: Mapping[int, int], needed: Flags) -> None:
        """Decide where results are written; those that are not at once are handed on."""
        part_of = np.zeros(len(self.entries), dtype=np.int64)
        for number, part in enumerate(self.parts):
            part_of[part.start : part.stop] = number
        self.own: dict[int, list[Result]] = defaultdict(list)
        self.targets: dict[int, list[list[Moving]]] = {}
        self.rest: list[Result] = []
        in_loops: dict[int, list[Address]] = defaultdict(list)
        nodes: dict[int, Node] = {}
        for address, x in results:
            k = position.get(x.index) if type(x) is Node else None
            if k is None:
                self.rest.append((address, x))
            elif isinstance(part := self.parts[part_of[k]], Stretch):
                in_loops[k].append(address)
                nodes[k] = x
            else:
                self.own[part.start].append((address, x))
        for part in self.parts:
            if not isinstance(part, Stretch):
                continue
            targets = self.targets[part.start] = []
            for first in range(part.start, part.start + part.period):
                places = range(first, part.stop, part.period)
                moving = _moving([in_loops.get(k, []) for k in places])
                targets.append(moving or [])
                if moving is None:
                    late = [k for k in places if k in in_loops]
                    needed[late] = True
                    self.rest += [(address, nodes[k]) for k in late for address in in_loops[k]]


def _parts(n: int, loops: list[Stretch]) -> list[Straight | Stretch]:
    """All operations in order: loops, and what lies between them in pieces."""
    parts: list[Straight | Stretch] = []
    done = 0
    for loop in (*loops, None):
        stop = n if loop is None else loop.start
        # of equal lengths: kernels that begin alike have pieces in common
        cuts = [done, *range(done + PIECE, stop - PIECE // 2, PIECE), stop]
        parts += [Straight(*cut) for cut in pairwise(cuts) if cut[0] < cut[1]]
        if loop is not None:
            parts.append(loop)
            done = loop.stop
    return parts


def _handed_on(found: Operands, parts: list[Straight | Stretch]) -> Flags:
    """Which values are used by other parts, or by turns of their loop that do not have them at hand."""
    needed = np.zeros(found.kind.shape[1], dtype=bool)
    for part in parts:
        if isinstance(part, Stretch):
            places, entries = found.in_turns(part)
            far = entries[:, 0] & ~(near := found.near(part))
            needed[places.swapaxes(1, 2)[far]] = True
            # what comes from the turn before has to be there for the first
            first = places[:, 0][near]
            needed[first[first < part.start]] = True
        else:
            own = slice(part.start, part.stop)
            before = (found.kind[:, own] == ENTRY) & (found.place[:, own] < part.start)
            needed[found.place[:, own][before]] = True
    return needed


def _slots(needed: Flags, runs: list[Stretch], parts: list[Straight | Stretch]) -> tuple[Integers, int]:
    """Places of the values that are handed on, those of a run in equal steps, and their number."""
    slot = np.full(len(needed), -1)
    alone = needed.copy()
    # of a loop the values of the last turn are there in the end, others only as a whole
    ended = np.ones(len(needed), dtype=bool)
    for part in parts:
        if isinstance(part, Stretch):
            ended[part.start : part.last] = False
    total = 0
    for run in runs:
        own = slice(run.start, run.stop)
        times = needed[own].reshape(run.times, run.period)
        single = (times.sum(axis=0) == 1) & (times & ended[own].reshape(times.shape)).any(axis=0)
        columns = np.flatnonzero(times.any(axis=0) & ~single)
        ranks = total + np.arange(run.times)[:, None] * len(columns) + np.arange(len(columns))
        slot[own].reshape(times.shape)[:, columns] = ranks
        alone[own].reshape(times.shape)[:, columns] = False
        total += ranks.size
    slot[alone] = total + np.arange(alone.sum())
    return slot, total + int(alone.sum())


def _moving(targets: list[list[Address]]) -> list[Moving] | None:
    """The targets of a value in all turns of a loop, if they move by equal steps; None if not."""
    if any(len(each) != len(targets[0]) for each in targets):
        return None
    out = []
    for several in zip(*targets, strict=True):
        steps = {after.index - before.index for before, after in pairwise(several)}
        if len({address[:2] for address in several}) > 1 or len(steps) > 1:
            return None
        array, role, index = several[0]
        out.append(Moving(array, role, index, steps.pop()))
    return out
