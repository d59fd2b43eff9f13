"""(b) Flexible chains of growing length: time to trace, to compile, to evaluate, and the size of the code."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from compiled import program_of, single
from report import Goal, Options, Row, Section, alone
from robots import FAMILIES, flexible_chain, state
from timing import Looped, once, race

from pliant import Dynamics
from pliant.engine.call import evaluator
from pliant.engine.call.evaluator import Program
from pliant.engine.compile import cache as disk
from pliant.formulations.recursive.recursions import FORWARD

LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200)
ELASTIC = (4, 6, 12)
LINEAR_FROM = 10
"""Links from which the ends of the chain no longer matter much."""

CONSTANT = Goal("<=", 1.2)
COMPILE = Goal("<=", 1.0)


def measure(options: Options) -> Section:
    section = Section("flexible", "Forward dynamics of flexible chains: growth with the number of links")
    for elastic in ELASTIC:
        works: dict[int, Looped] = {}
        compile_times: list[float] = []
        for n in LENGTHS:
            arm = Dynamics(flexible_chain(n, FAMILIES[elastic]))
            case = f"{n} links x {elastic}"
            trace = once(lambda tree=arm.tree: program_of(FORWARD, tree).traced, rounds=2)
            compile_time, size, program = _compiled(arm)
            compile_times.append(compile_time)
            works[n], _ = single(program, state(arm.size, scale=0.01))
            section.add(
                Row(case, "trace", trace, "s"),
                Row(case, "compile", compile_time, "s"),
                Row(case, "machine code", size / 1024, "KB"),
            )
        times = race({str(n): work for n, work in works.items()}, 3 * options.seconds)
        per_link = {n: times[str(n)] / n for n in LENGTHS}
        section.add(*(Row(f"{n} links x {elastic}", "evaluate", times[str(n)], "ns") for n in LENGTHS))
        section.add(*_growth(elastic, per_link, max(compile_times)))
    section.rows = _by_case(section.rows)
    return section


def _growth(elastic: int, per_link: dict[int, float], compile_time: float) -> list[Row]:
    """How evaluation grows with the number of links."""
    long = np.array([n for n in per_link if n >= LINEAR_FROM], dtype=float)
    times = np.array([n * per_link[int(n)] for n in long])
    exponent = float(np.polyfit(np.log(long), np.log(times), 1)[0])
    case = f"all lengths x {elastic}"
    first, last = LINEAR_FROM, LENGTHS[-1]
    return [
        Row(
            case,
            f"time per link, {last} links",
            per_link[last],
            "ns",
            f"per link, {first} links",
            per_link[first],
            faster=False,
            goal=CONSTANT,
        ),
        Row(case, f"growth exponent from {first} links on", exponent, "", "linear", 1.0, faster=False),
        Row(case, "longest compilation", compile_time, "s", "one second", 1.0, faster=False, goal=COMPILE),
    ]


def _by_case(rows: list[Row]) -> list[Row]:
    """Rows of one case together, in the order in which the cases came."""
    order = list(dict.fromkeys(row.case for row in rows))
    return sorted(rows, key=lambda row: order.index(row.case))


def _compiled(arm: Dynamics, rounds: int = 2) -> tuple[float, int, Program]:
    """Seconds to compile without any cache, bytes of machine code, the program."""
    seconds = []
    for _ in range(rounds):
        program = program_of(FORWARD, arm.tree)
        _ = program.traced
        with empty_cache() as folder:
            seconds.append(once(lambda each=program: each.load("single"), rounds=1))
            (kept,) = folder.rglob("*.bin")
            found = disk.fetch(kept.stem)
    return min(seconds), text_size(found[1] if found else b""), program


@contextmanager
def empty_cache() -> Iterator[Path]:
    """A cache folder of its own for a while, and no machine code in memory."""
    before = os.environ.get("PLIANT_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PLIANT_CACHE"] = folder
        evaluator._RECENT.clear()
        try:
            yield Path(folder)
        finally:
            os.environ.pop("PLIANT_CACHE")
            if before is not None:
                os.environ["PLIANT_CACHE"] = before


def text_size(code: bytes) -> int:
    """Bytes of instructions in an object file."""
    import llvmlite.binding as llvm

    sections = llvm.ObjectFileRef.from_data(code).sections()
    return sum(section.size() for section in sections if section.is_text())


if __name__ == "__main__":
    alone(measure)
