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
