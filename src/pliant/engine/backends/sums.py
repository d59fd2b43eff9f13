"""Long sums of products of numbers that lie side by side, as a row of a matrix times a vector: they become loops.

What a mode of a frame does with all other modes is such a sum. Written out, its additions would wait for each other,
and its text would be what takes longest to compile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import NamedTuple

from pliant.engine.trace.program import Address
from pliant.engine.trace.tape import LEAVES, Node, Tape, live
from pliant.spatial.scalars import Scalar

SUMS, SIDE_BY_SIDE = 4, 4
"""Sums of a loop that do not wait for each other, and products that share a register in each of them."""
TURN = SUMS * SIDE_BY_SIDE
"""Products that a loop has a multiple of."""
LEAST = 2 * TURN
"""Products of a loop."""


class Stretch(NamedTuple):
    """A part of a sum: the first factors of its products, and how many there are; the others follow these."""

    first: tuple[Address, Address]
    count: int


class LongSum(NamedTuple):
    """A sum of stretches and of products that stand alone, by their entries."""

    stretches: list[Stretch]
    alone: list[int]


def long_sums(
    tape: Tape, order: list[int], results: Sequence[tuple[object, Scalar]], given: Collection[int]
) -> tuple[dict[int, LongSum], list[int]]:
    """The long sums among some entries of a tape, by the entries that they are, and the order without their parts."""
    op, a, b = tape.op, tape.a, tape.b
    products = [i for i in order if op[i] == "*" and op[a[i]] == op[b[i]] == "symbol"]
    if len(products) < LEAST:
        return {}, order
    uses = Counter(x.index for _, x in results if type(x) is Node)
    own = [i for i in order if op[i] not in LEAVES and i not in given]
    uses.update([a[i] for i in own])
    uses.update([b[i] for i in own])
    single = {i for i in products if uses[i] == 1 and not any(k in given for k in (i, a[i], b[i]))}
    chains: dict[int, list[int]] = {}
    for i in own:
        before, last = a[i], b[i]
        if last not in single or op[i] != "+":
            continue
        if before in chains and uses[before] == 1:
            chains[i] = chains.pop(before)
            chains[i].append(last)
        elif before in single:
            chains[i] = [before, last]
    sums = {end: found for end, chain in chains.items() if (found := _in_stretches(tape, chain)).stretches}
    if not sums:
        return sums, order
    alone = [tape.nodes[i] for each in sums.values() for i in each.alone]
    kept = set(live([*(x for _, x in results), *alone], {*given, *sums}))
    return sums, [i for i in order if i in kept]


def _in_stretches(tape: Tape, chain: list[int]) -> LongSum:
    """The products of a sum, those in long stretches taken together."""
    factors = [tuple(sorted((tape.a[tape.a[i]], tape.a[tape.b[i]]))) for i in chain]

    def begin(k: int) -> tuple[Address, ...]:
        """Where the factors of a stretch would begin that has been going on since the first product."""
        return tuple(address._replace(index=address.index - k) for address in factors[k])

    out = LongSum([], [])
    for _, several in groupby(range(len(chain)), key=begin):
        places = list(several)
        count = len(places) // TURN * TURN
        if count >= LEAST:
            x, y = factors[places[0]]
            out.stretches.append(Stretch((x, y), count))
            places = places[count:]
        out.alone.extend(chain[k] for k in places)
    return out
