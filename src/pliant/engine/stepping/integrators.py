"""What integrators in compiled code share: the clock, the loop over steps, knots and samples.

A system is a right-hand side ``rhs(context, t, x, dx)`` with x = (q, v, further states). The loops come back to Python
at the end of the given span or after a number of steps (for progress and interrupts). Everything that a continuation
needs is in arrays of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number
from pliant.spatial.attitude import FARTHEST

SLIVER = 1e-6
"""A rest shorter than this part of a step joins the step before it."""
SMALLEST_STEP = 1e-14
"""Of the time reached: smaller steps no longer change it."""


class Clock(IntEnum):
    """Entries of the array of times, counters and coefficients.

    HAS_SLOPE  the slope at the state is known; JUMPED: a force has jumped, and the accelerations are those before
    """

    T = 0
    STEP = 1
    END = 2
    LARGEST = 3
    RELATIVE = 4
    STEPS = 5
    REJECTED = 6
    CALLS = 7
    ERROR_BEFORE = 8
    HAS_SLOPE = 9
    MATRICES = 10
    MATRIX_STEP = 11
    ALPHA_M = 12
    ALPHA_F = 13
    GAMMA = 14
    BETA = 15
    FIXED = 16
    JUMPED = 17


def new_clock(
    t: float, end: float, *, step: float, largest: float, relative: float, radius: float = 1.0, fixed: bool = False
) -> NDArray[np.float64]:
    """The array for a start at t; ``radius``: spectral radius at infinite frequency, 0 to 1, where it is chosen."""
    # Chung & Hulbert (1993), eqs. (17), (20), (25), for generalised-alpha
    alpha_m, alpha_f = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
    gamma = 0.5 + alpha_f - alpha_m
    beta = 0.25 * (gamma + 0.5) ** 2
    clock = np.zeros(len(Clock))
    clock[[Clock.T, Clock.END, Clock.STEP, Clock.LARGEST, Clock.RELATIVE]] = t, end, step, largest, relative
    clock[[Clock.ALPHA_M, Clock.ALPHA_F, Clock.GAMMA, Clock.BETA]] = alpha_m, alpha_f, gamma, beta
    clock[Clock.FIXED] = fixed
    return clock


class Status(IntEnum):
    """Why the loop came back; stale: what it needs to know about the equations must be found anew; tick: Python is to
    compute what a computer beside the run does now."""

    FINISHED = 0
    PAUSED = 1
    STALE = 2
    TICK = 3
    STEP_TOO_SMALL = -1


class Step(NamedTuple):
    """Registers of a step: its start, its size, its end, and whether that is the end of the span."""

    t: str
    h: str
    reach: str
    last: str


def next_step(w: Flow, clock: str, size: Callable[[], str] | None = None) -> tuple[Step, str]:
    """The step of a clock's size, or of ``size()``, that does not go beyond its end; whether it is too small."""
    t, end = w.read(clock, Clock.T), w.read(clock, Clock.END)
    left = w.fsub(end, t)
    h = w.fmin(size() if size else w.read(clock, Clock.STEP), w.read(clock, Clock.LARGEST))
    last = w.less(left, w.fmul(h, number(1.0 + SLIVER)))
    h = w.select(last, left, h)
    reach = w.select(last, end, w.fadd(t, h))
    smallest = w.fmul(number(SMALLEST_STEP), w.fmax(w.fabs(t), w.fabs(end)))
    return Step(t, h, reach, last), w.let(f"and i1 {w.less(h, smallest)}, {w.negated(last)}")


ARGUMENTS = (
    "ptr %context, ptr %clock, ptr %x, ptr %tolerance, ptr %work, ptr %knots, i64 %pause, "
    "ptr %grid, i64 %count, ptr %next, ptr %samples"
)
"""Arguments of every integrator."""


class Stepping(Flow):
    """The frame of an integrator: ``i64 NAME(context, clock, x, tolerance, work, knots, pause, grid, count, next,
    samples)``.

    knots   (pause + 1, 1 + 2 states): time, x and its slope at the start and after every step of this call
    pause   steps after which to come back
    grid    times at which x is wanted; ``next`` is the index of the first one not yet written to ``samples``. Methods
            without a dense output of their own write none
    turning   places of rotation vectors in x: one that has become too long ends the call, for a shorter one
    """

    def __init__(self, turning: Sequence[int] = ()) -> None:
        super().__init__()
        self.turning = turning
        self.status = self.variable("i64", str(int(Status.FINISHED)))
        self.taken = self.variable("i64", "0")
        self.exit = ""

    def clock(self, entry: Clock) -> str:
        return self.read("%clock", int(entry))

    def set_clock(self, value: str, entry: Clock) -> None:
        self.write(value, "%clock", int(entry))

    def count(self, entry: Clock) -> None:
        self.set_clock(self.fadd(self.clock(entry), number(1.0)), entry)

    @contextmanager
    def steps(self, size: Callable[[], str] | None = None) -> Iterator[Step]:
        """Steps of the clock's size, or of ``size()``, until the end or a pause."""
        leave = self.exit = self.label("exit")
        with self.loop(lambda: self.less(self.clock(Clock.T), self.clock(Clock.END))):
            with self.when(self.let(f"icmp sge i64 {self.get('i64', self.taken)}, %pause")):
                self.put("i64", str(int(Status.PAUSED)), self.status)
                self.leave(leave)
            for first in self.turning:
                x, y, z = (self.read("%x", first + k) for k in range(3))
                square = self.fadd(self.fadd(self.fmul(x, x), self.fmul(y, y)), self.fmul(z, z))
                with self.when(self.less(number(FARTHEST * FARTHEST), square)):
                    self.put("i64", str(int(Status.PAUSED)), self.status)
                    self.leave(leave)
            step, is_too_small = next_step(self, "%clock", size)
            with self.when(is_too_small):
                self.put("i64", str(int(Status.STEP_TOO_SMALL)), self.status)
                self.leave(leave)
            yield step
        self.place(leave)

    def accept(self, reach: str) -> None:
        """The step is good: time goes on."""
        self.set_clock(reach, Clock.T)
        self.count(Clock.STEPS)
        self.put("i64", self.iadd(self.get("i64", self.taken), 1), self.taken)

    def keep_knot(self, *parts: tuple[str, int]) -> None:
        """Write the time and the parts (array, length) of state and slope into the row of this step."""
        row = self.imul(self.get("i64", self.taken), 1 + sum(length for _, length in parts))
        self.write(self.clock(Clock.T), "%knots", row)
        place = self.iadd(row, 1)
        for array, length in parts:
            with self.repeat(length) as i:
                self.write(self.read(array, i), "%knots", self.iadd(place, i))
            place = self.iadd(place, length)

    def entry(self, name: str) -> str:
        self.do(f"ret i64 {self.get('i64', self.status)}")
        return self.text(name, ARGUMENTS, "i64")


class Explicit(Stepping):
    """The frame of an explicit method: the slope at x is known, first in ``work``."""

    def __init__(self, states: int, turning: Sequence[int] = ()) -> None:
        super().__init__(turning)
        self.states = states
        self.slope = self.at("%work", 0)

    def rhs(self, t: str, x: str, out: str) -> None:
        self.do(f"call void @rhs(ptr %context, double {t}, ptr {x}, ptr {out})")
        self.count(Clock.CALLS)

    def begin(self) -> None:
        with self.when(self.less(self.clock(Clock.HAS_SLOPE), number(0.5))):
            self.rhs(self.clock(Clock.T), "%x", self.slope)
            self.set_clock(number(1.0), Clock.HAS_SLOPE)
        self.keep_knot(("%x", self.states), (self.slope, self.states))

    def finish(self, reach: str) -> None:
        """The end of a step whose state and slope are in place."""
        self.accept(reach)
        self.keep_knot(("%x", self.states), (self.slope, self.states))


def weighted(w: Flow, row: Any, K: Sequence[str], q: str | int) -> str:
    """sum_j row_j K_j of state q."""
    total = ""
    for coefficient, k in zip(row, K, strict=False):
        if coefficient == 0:
            continue
        term = w.fmul(w.number(float(coefficient)), w.read(k, q))
        total = w.fadd(total, term) if total else term
    return total


def is_wanted(w: Flow, reach: str) -> str:
    """Whether the next grid time is not beyond the end of the step."""
    n = w.get("i64", "%next")
    inside = w.iless(n, "%count")
    safe = w.let(f"select i1 {inside}, i64 {n}, i64 0")
    in_time = w.let(f"fcmp ole double {w.read('%grid', safe)}, {reach}")
    return w.let(f"and i1 {inside}, {in_time}")
