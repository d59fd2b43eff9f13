"""(e) Batches: states in the lanes of vector registers on one core, and groups of them on several cores.

What lanes can give is measured beside them (``lane_peak``): some processors take their widest registers in halves.
"""

from __future__ import annotations

from time import process_time

import numpy as np
from compiled import batch, program_of, single
from lane_peak import PRODUCTS, independent
from numpy.typing import NDArray
from report import Goal, Options, Row, Section, alone
from robots import FAMILIES, flexible_chain, rigid_chain, state
from timing import calls, race

from pliant import Dynamics, Robot
from pliant.engine.call.evaluator import Evaluator
from pliant.engine.compile import jit
from pliant.formulations.recursive.recursions import FORWARD

IN_CACHE, SOME, MANY = 64, 256, 16384
"""States of a batch that stays in the nearest cache, of a small one, and of one that is worth two cores."""

PASSES = 6
GAIN = Goal(">=", 0.7)
"""Of what lanes gain where nothing waits; the rest goes to loads that lanes share in single calls."""


def measure(options: Options) -> Section:
    section = Section("batch", "Batches of states: forward dynamics per state")
    robots: list[tuple[str, Robot]] = [
        ("3 links x 4", flexible_chain(3, FAMILIES[4])),
        ("7 links x 4", flexible_chain(7, FAMILIES[4])),
        ("20 links x 4", flexible_chain(20, FAMILIES[4])),
        ("3 links x 6", flexible_chain(3, FAMILIES[6])),
        ("7 rigid links", rigid_chain(7)),
    ]
    races = {name: Races(name, Dynamics(robot)) for name, robot in robots}
    # the pace of a shared processor changes: what is compared is measured now and then
    for _ in range(PASSES):
        for each in races.values():
            each.go_on(options.seconds)
    for name, each in races.items():
        section.add(*each.rows(name))
    attained = max(each.attained for each in races.values())
    section.notes.append(
        f"{jit.lanes()} lanes attain {attained:.2f} times single numbers here, in operations that wait for nothing."
    )
    return section


class Races:
    """Batches of a robot against single states; the smallest time of each counts."""

    def __init__(self, name: str, arm: Dynamics) -> None:
        program = program_of(FORWARD, arm.tree)
        evaluator = Evaluator(program)
        few, some, many = (_states(arm.size, count) for count in (IN_CACHE, SOME, MANY))
        one, work = single(program, [x[0] for x in few])
        lanes, out = batch(program, few)
        lanes(1)
        if not np.allclose(out[0], work.run(), rtol=1e-9, atol=1e-9 * np.abs(out[0]).max()):
            raise SystemExit(f"{name}: a batch and a single call differ")
        q, v, tau = some[0], some[1], some[2][:, : len(arm.inputs)].copy()
        one_core = calls(lambda: evaluator.batch(*many, threads=1))
        # long calls are interrupted where others compute: processor time counts
        self._on_one_core = {"single": one, "batch": lanes, "many": one_core}
        self._on_one_core |= {"number": independent(1), "register": independent(jit.lanes())}
        self._waited_for = {
            "calls": calls(arm.forward, q[0], v[0], tau[0]),
            "some": calls(arm.forward, q, v, tau),
            "one core": one_core,
            "two cores": calls(lambda: evaluator.batch(*many, threads=2)),
        }
        self._products = program.operations.multiplications
        self.times: dict[str, float] = {}

    def go_on(self, seconds: float) -> None:
        found = race(self._on_one_core, seconds, process_time) | race(self._waited_for, seconds / 2)
        self.times = {key: min(time, self.times.get(key, time)) for key, time in found.items()}

    @property
    def attained(self) -> float:
        """What lanes gain where no operation waits for another one or for memory."""
        return jit.lanes() * self.times["number"] / self.times["register"]

    def rows(self, name: str) -> list[Row]:
        times = self.times
        called = ("arm.forward, one state", times["calls"])
        one_core, two_cores = (times[key] / MANY for key in ("one core", "two cores"))
        small, large = times["batch"] / IN_CACHE, times["many"] / MANY
        products = self._products * times["register"] / (PRODUCTS * jit.lanes())
        return [
            *self._against_single(name, f"batch of {IN_CACHE}, one core", small),
            Row(name, f"batch of {IN_CACHE}, one core", small, "ns", "its products alone, none waiting", products),
            *self._against_single(name, f"batch of {MANY} from Python, one core", large),
            Row(name, f"batch of {MANY} from Python, two cores", two_cores, "ns", "on one core", one_core),
            Row(name, f"arm.forward, {SOME} states", times["some"] / SOME, "ns", *called),
        ]

    def _against_single(self, name: str, what: str, time: float) -> list[Row]:
        """The gain, and how much of what lanes attain it is."""
        single = self.times["single"]
        return [
            Row(name, what, time, "ns", "single calls, compiled loop", single),
            Row(name, what, time, "ns", "single calls / what lanes attain", single / self.attained, goal=GAIN),
        ]


def _states(size: int, count: int) -> list[NDArray[np.float64]]:
    """Three inputs of many states."""
    return [np.stack(state(size, count, scale=0.05, seed=seed)) for seed in range(3)]


if __name__ == "__main__":
    alone(measure)
