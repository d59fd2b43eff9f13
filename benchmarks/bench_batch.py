"""(e) Batches: states in the lanes of vector registers on one core, and groups of them on several cores."""

from __future__ import annotations

import numpy as np
from compiled import batch, program_of, single
from numpy.typing import NDArray
from report import Goal, Options, Row, Section, alone
from robots import FAMILIES, flexible_chain, rigid_chain, state
from timing import calls, once, race

from pliant import Dynamics, Robot
from pliant.engine.backends import jit
from pliant.engine.backends.evaluator import Evaluator
from pliant.formulations.recursive.passes import FORWARD

IN_CACHE, SOME, MANY = 64, 256, 16384
"""States of a batch that stays in the nearest cache, of a small one, and of one that is worth two cores."""

GAIN = Goal(">=", 0.7 * jit.lanes())
"""Of the lanes of a vector register; the rest goes to loads that lanes share in single calls."""


def measure(options: Options) -> Section:
    section = Section("batch", "Batches of states: forward dynamics per state")
    robots: list[tuple[str, Robot]] = [
        ("3 links x 4", flexible_chain(3, FAMILIES[4])),
        ("7 links x 4", flexible_chain(7, FAMILIES[4])),
        ("20 links x 4", flexible_chain(20, FAMILIES[4])),
        ("3 links x 6", flexible_chain(3, FAMILIES[6])),
        ("7 rigid links", rigid_chain(7)),
    ]
    for name, robot in robots:
        section.add(*_rows(name, Dynamics(robot), options))
    return section


def _rows(name: str, arm: Dynamics, options: Options) -> list[Row]:
    program = program_of(FORWARD, arm.tree)
    evaluator = Evaluator(program)
    few, some, many = (_states(arm.size, count) for count in (IN_CACHE, SOME, MANY))
    one, work = single(program, [x[0] for x in few])
    lanes, out = batch(program, few)
    lanes(1)
    if not np.allclose(out[0], work.run(), rtol=1e-9, atol=1e-9 * np.abs(out[0]).max()):
        raise SystemExit(f"{name}: a batch and a single call differ")
    times = race({"single": one, "batch": lanes}, options.seconds)
    q, v, tau = some[0], some[1], some[2][:, : len(arm.inputs)].copy()
    times |= race(
        {
            "calls": calls(arm.forward, q[0], v[0], tau[0]),
            "some": calls(arm.forward, q, v, tau),
            "one core": calls(lambda: evaluator.batch(*many, threads=1)),
            "two cores": calls(lambda: evaluator.batch(*many, threads=2)),
        },
        2 * options.seconds,
    )
    compiled = ("single calls, compiled loop", times["single"])
    called = ("arm.forward, one state", times["calls"])
    one_core, two_cores = (times[key] / MANY for key in ("one core", "two cores"))
    # a call that is longer than a slice is interrupted where others compute, and then its processor time is shorter
    by_itself = min(1e9 * once(lambda: evaluator.batch(*many, threads=1), rounds=25) / MANY, one_core)
    return [
        Row(name, f"batch of {IN_CACHE}, one core", times["batch"] / IN_CACHE, "ns", *compiled, goal=GAIN),
        Row(name, f"batch of {MANY} from Python, one core", by_itself, "ns", *compiled, goal=GAIN),
        Row(name, f"batch of {MANY} from Python, two cores", two_cores, "ns", "on one core", one_core),
        Row(name, f"arm.forward, {SOME} states", times["some"] / SOME, "ns", *called),
    ]


def _states(size: int, count: int) -> list[NDArray[np.float64]]:
    """Three inputs of many states."""
    return [np.stack(state(size, count, scale=0.05, seed=seed)) for seed in range(3)]


if __name__ == "__main__":
    alone(measure)
