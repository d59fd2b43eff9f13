"""Times on a machine that others use too: short slices of all candidates in turn, and the smallest of many.

A slice is short against the time for which a processor is taken away, so among many slices some run
undisturbed; and because the candidates take turns, they meet the same clock frequency. Only ratios from one
race mean something.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

SLICE = 2e-4
"""Seconds that one slice should take."""

Looped = Callable[[int], Any]
"""A function that does its work the given number of times."""


def race(
    candidates: Mapping[str, Looped], seconds: float = 1.5, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The smallest time of each candidate, in nanoseconds for one piece of work."""
    counts = {name: _slice_count(work) for name, work in candidates.items()}
    best = dict.fromkeys(candidates, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, work in candidates.items():
            best[name] = min(best[name], _elapsed(work, counts[name], clock) / counts[name])
    return {name: 1e9 * x for name, x in best.items()}


def _elapsed(work: Looped, count: int, clock: Callable[[], float] = time.perf_counter) -> float:
    # once before, so that the caches hold what this candidate needs and not what the last one left
    work(1)
    start = clock()
    work(count)
    return clock() - start


def _slice_count(work: Looped) -> int:
    """How often the work fits into a slice; each guess is tried several times, as one may be disturbed."""
    count = 1
    while (elapsed := min(_elapsed(work, count) for _ in range(5))) < SLICE / 2 and count < 10**6:
        count = max(2 * count, int(0.7 * count * SLICE / max(elapsed, 1e-7)))
    return count


def calls(function: Callable[..., Any], *arguments: Any) -> Looped:
    """Calls from Python, with the shortest loop that Python has."""

    def work(count: int) -> None:
        for _ in repeat(None, count):
            function(*arguments)

    return work


def once(function: Callable[[], Any], rounds: int = 3) -> float:
    """Seconds of processor time of something that takes long: the smallest of a few."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


def turns(candidates: Mapping[str, Callable[[], Callable[[], Any]]], rounds: int = 3) -> dict[str, tuple[float, float]]:
    """Seconds of processor time of things that take long, in turns: preparing, and doing what was prepared.

    The smallest sum of both counts.
    """
    best: dict[str, tuple[float, float]] = {}
    for _ in range(rounds):
        for name, prepare in candidates.items():
            start = time.process_time()
            do = prepare()
            ready = time.process_time()
            do()
            spent = (ready - start, time.process_time() - ready)
            best[name] = min(best.get(name, spent), spent, key=sum)
    return best
