"""(k) Many runs of one robot with other numbers: by a sweep, in lanes and one by one, against single runs.

What counts is the time of a case. It is told in times of the pure integration of one run in machine code, which no
reuse can take away from a run that is alone, and lanes can.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from report import Goal, Options, Row, Section

import pliant
from pliant.engine.stepping.lane_system import LaneRun
from pliant.sweeps.variation import changed
from pliant.sweeps.work import SweepJob, run_chunk

CASES, ROUNDS = 48, 10
BY_REUSE, BY_LANES = Goal("<=", 14.0), Goal("<=", 4.5)
"""Of the time that the steps of one run take in machine code: 8 s and 2.5 s for a thousand runs of two seconds on two
cores on which these steps take 1.1 ms."""
PLACES = ("forearm.payloads[0].mass", "drive.kp[0]")


def cases(count: int) -> list[dict[str, float]]:
    """Payloads and gains, evenly drawn."""
    drawn = np.random.default_rng(0).uniform((0.0, 200.0), (2.0, 400.0), (count, len(PLACES)))
    return [dict(zip(PLACES, row, strict=True)) for row in drawn.tolist()]


class Stepping:
    """Time in the machine code of runs that are stepped alone."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._call = LaneRun.alone

    def __enter__(self) -> Stepping:
        def timed(run: LaneRun) -> Any:
            start = time.process_time()
            status = self._call(run)
            self.seconds += time.process_time() - start
            return status

        LaneRun.alone = timed  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        LaneRun.alone = self._call  # type: ignore[method-assign]


def measure(options: Options) -> Section:
    section = Section("sweeps", "Many runs of the two-link arm, 2 s each (processor time of a case)")
    study = pliant.load_study("two-link").with_changes(until=2.0)
    job, drawn = SweepJob(study, "simulate"), cases(CASES)

    def singly() -> None:
        for case in drawn:
            pliant.run_study(changed(study, case))  # type: ignore[arg-type]

    steps: list[float] = []

    def by_reuse() -> None:
        with Stepping() as stepping:
            for case in drawn:
                job.rows([case])
        steps.append(1e3 * stepping.seconds / CASES)

    ways: dict[str, Callable[[], Any]] = {
        "single runs": singly,
        "sweep, one by one": by_reuse,
        "sweep, in lanes": lambda: run_chunk(job, drawn),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pliant.SimulationWarning)
        for way in ways.values():
            way()
        single, reused, lanes = _best(ways).values()
    alone = ("steps alone", min(steps))
    section.add(
        Row("two-link", "steps of a run in machine code", min(steps), "ms"),
        Row("two-link", "single runs, run_study", single, "ms", *alone, faster=False),
        Row("two-link", "sweep, one by one", reused, "ms", *alone, faster=False, goal=BY_REUSE),
        Row("two-link", "sweep, in lanes", lanes, "ms", *alone, faster=False, goal=BY_LANES),
        Row("two-link", "sweep, in lanes", lanes, "ms", "single runs", single),
        Row("two-link", "sweep, in lanes", lanes, "ms", "sweep, one by one", reused),
    )
    section.notes.append(f"{CASES} cases with payloads and gains drawn evenly, all in one process, default outputs")
    return section


def _best(ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Milliseconds of a case, the least of some rounds in which all ways take turns."""
    best = dict.fromkeys(ways, np.inf)
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.process_time()
            way()
            best[name] = min(best[name], 1e3 * (time.process_time() - start) / CASES)
    return best
