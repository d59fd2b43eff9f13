"""Long sums of products of numbers that lie side by side, as a row of a matrix times a vector: they become loops.

What a mode of a frame does with all other modes is such a sum. Written out, its additions would wait for each other,
and its text would be what takes longest to compile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Sequence
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


class Products(NamedTuple):
    """A stretch of a sum: the factors of its first product, and how many there are; other factors follow these."""

    first: tuple[Address, Address]
    length: int


class LongSum(NamedTuple):
    """A sum of stretches and of entries that stand alone."""

    stretches: list[Products]
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
    # what is added one after the other, whatever it begins with
    chains: dict[int, list[int]] = {}
    for i in own:
        before, last = a[i], b[i]
        if last in single and op[i] == "+":
            chains[i] = chains.pop(before) if before in chains and uses[before] == 1 else [before]
            chains[i].append(last)
    long = {end: _in_stretches(tape, chain, single) for end, chain in chains.items() if len(chain) >= LEAST}
    sums = {end: found for end, found in long.items() if found.stretches}
    if not sums:
        return sums, order
    alone = [tape.nodes[i] for each in sums.values() for i in each.alone]
    kept = set(live([*(x for _, x in results), *alone], {*given, *sums}))
    return sums, [i for i in order if i in kept]


def _in_stretches(tape: Tape, chain: list[int], products: Container[int]) -> LongSum:
    """The parts of a sum, those products taken together that are side by side."""
    factors = [sorted((tape.a[tape.a[i]], tape.a[tape.b[i]])) if i in products else [] for i in chain]

    def begin(k: int) -> list[Address]:
        """Where a stretch would begin that has been going on since the first part, to the kth."""
        return [address._replace(index=address.index - k) for address in factors[k]]

    out = LongSum([], [])
    for _, several in groupby(range(len(chain)), key=begin):
        places = list(several)
        length = len(places) // TURN * TURN
        if length >= LEAST:
            x, y = factors[places[0]]
            out.stretches.append(Products((x, y), length))
            places = places[length:]
        out.alone.extend(chain[k] for k in places)
    return out
