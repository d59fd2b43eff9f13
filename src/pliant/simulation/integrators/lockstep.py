"""Runs that are stepped one by one, or several at a time in the lanes of vector registers.

What advances is a generator: it hands out calls of the machine code and is told how they ended. Whoever drives it makes
the calls, alone or together with those of other runs.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from pliant.engine.stepping.integrators import Status
from pliant.engine.stepping.lane_system import LaneRun

T = TypeVar("T")
Steps = Generator[LaneRun, Status, T]


def alone(steps: Steps[T]) -> T:
    """Make the calls one by one, and give what comes out in the end."""
    try:
        run = next(steps)
        while True:
            run = steps.send(run.alone())
    except StopIteration as end:
        result: T = end.value
        return result
