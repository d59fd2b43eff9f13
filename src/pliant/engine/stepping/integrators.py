"""Time integration inside compiled code: explicit Runge-Kutta of order 8 with error control, and fixed steps.

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
from pliant.engine.stepping.dormand_prince import ALL_STAGES, STAGES, Tableau, dormand_prince_853
from pliant.spatial.attitude import FARTHEST

ORDER = 8
SLOWEST, FASTEST = 0.2, 10.0
SAFETY = 0.75
"""Of the largest step that the error allows. The error of a vibrating state rises and falls with its phase; a step that
aims closer to the limit is refused every third time."""
GAIN, MEMORY = 0.1 / ORDER, 0.1 / ORDER
"""Exponents of the error and of its change: proportional-integral control (Gustafsson, ACM TOMS 17 (1991) 533), slow
enough to average over a vibration and to settle at the limit of stability instead of bouncing at it."""
LEAST_ERROR = 1e-6
"""Smaller errors say no more about the next step."""
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


def new_clock(t: float, end: float, *, step: float, largest: float, relative: float) -> NDArray[np.float64]:
    """The array for a start at t."""
    clock = np.zeros(len(Clock))
    clock[[Clock.T, Clock.END, Clock.STEP, Clock.LARGEST, Clock.RELATIVE]] = t, end, step, largest, relative
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


def dop853_ir(states: int, steering: int, turning: Sequence[int] = ()) -> str:
    """``dop853``; see ``Stepping`` for its arguments.

    The error of a step is the mean over as many states as steer it; the others have an infinite tolerance.

    work      K (16 states), y (states), stage of the dense output (states)
    """
    pair = dormand_prince_853()
    w = Explicit(states, turning)
    m = states
    with w.flushed():
        K = [w.at("%work", i * m) for i in range(ALL_STAGES)]
        y = w.at("%work", ALL_STAGES * m)
        rejected = w.variable("i1", "false")

        def combine(row: Any, target: str, h: str) -> None:
            """target = x + h sum_j row_j K_j."""

            def one(q: str | int) -> None:
                total = weighted(w, row, K, q)
                w.write(w.fadd(w.read("%x", q), w.fmul(w.spread(h), total)), target, q)

            w.each(m, one)

        w.begin()
        with w.steps() as (t, h, reach, last):
            for i in range(1, STAGES):
                combine(pair.A[i], y, h)
                w.rhs(w.fadd(t, w.fmul(number(pair.C[i]), h)), y, K[i])
            combine(pair.A[STAGES], y, h)
            w.rhs(reach, y, K[STAGES])
            error = step_error(w, pair, K, "%x", y, "%tolerance", h, m, steering, w.clock(Clock.RELATIVE))
            with w.when(controlled(w, "%clock", error, h, last, rejected)):
                _dense(w, pair, K, y, t, h, reach, m, combine)
                with w.repeat(m) as q:
                    w.write(w.read(y, q), "%x", q)
                    w.write(w.read(K[STAGES], q), K[0], q)
                w.finish(reach)
    return w.entry("dop853")


def controlled(w: Flow, clock: str, error: str, h: str, last: str, rejected: str) -> str:
    """Whether a step is accepted; the clock gets the size of the next one. ``rejected``: the last one was not."""
    accepted = w.less(error, number(1.0))
    # what the error alone would allow; a vanishing one and one that is not a number both need care
    allowed = w.fmul(number(SAFETY), w.power(w.fmax(error, number(1e-30)), -1.0 / ORDER))
    before = w.read(clock, Clock.ERROR_BEFORE)
    with w.when(w.negated(accepted)):
        valid = w.let(f"fcmp ord double {error}, {error}")
        shrink = w.select(valid, w.fmax(allowed, number(SLOWEST)), number(SLOWEST))
        w.write(w.fmul(h, shrink), clock, Clock.STEP)
        w.write(w.fmax(before, number(LEAST_ERROR)), clock, Clock.ERROR_BEFORE)
        w.write(w.fadd(w.read(clock, Clock.REJECTED), number(1.0)), clock, Clock.REJECTED)
        w.put("i1", "true", rejected)
    with w.when(accepted):
        # until an error is seen or a step refused, steps grow as fast as they can
        seen = w.less(number(0.0), before)
        known = w.fmax(error, number(LEAST_ERROR))
        steady = w.fmul(w.power(known, -GAIN - MEMORY), w.power(before, MEMORY))
        steady = w.fmul(number(SAFETY ** (ORDER * GAIN)), steady)
        grow = w.select(seen, steady, w.fmin(allowed, number(FASTEST)))
        grow = w.select(w.get("i1", rejected), w.fmin(grow, number(1.0)), grow)
        small = w.let(f"and i1 {w.negated(seen)}, {w.less(error, number(LEAST_ERROR))}")
        w.write(w.select(small, number(0.0), known), clock, Clock.ERROR_BEFORE)
        # a step cut short by the end says nothing against the size before it
        size = w.read(clock, Clock.STEP)
        longer = w.fmax(size, w.fmin(w.fmul(size, grow), w.fmul(h, allowed)))
        w.write(w.select(last, longer, w.fmul(h, grow)), clock, Clock.STEP)
        w.put("i1", "false", rejected)
    return accepted


def weighted(w: Flow, row: Any, K: Sequence[str], q: str | int) -> str:
    """sum_j row_j K_j of state q."""
    total = ""
    for coefficient, k in zip(row, K, strict=False):
        if coefficient == 0:
            continue
        term = w.fmul(w.number(float(coefficient)), w.read(k, q))
        total = w.fadd(total, term) if total else term
    return total


def step_error(
    w: Flow,
    pair: Tableau,
    K: Sequence[str],
    x: str,
    y: str,
    tolerance: str,
    h: str,
    m: int,
    steering: int,
    relative: str,
) -> str:
    """The weighted norm of the step's error estimate; 1 is just acceptable."""
    zero = w.number(0.0)
    fifth, third = w.variable(w.kind, zero), w.variable(w.kind, zero)
    with w.repeat(m) as q:
        size = w.fmax(w.fabs(w.read(x, q)), w.fabs(w.read(y, q)))
        scale = w.fadd(w.read(tolerance, q), w.fmul(relative, size))
        for row, total in ((pair.E5, fifth), (pair.E3, third)):
            e = w.fdiv(weighted(w, row, K, q), scale)
            w.put(w.kind, w.fadd(w.get(w.kind, total), w.fmul(e, e)), total)
    e5, e3 = w.get(w.kind, fifth), w.get(w.kind, third)
    below = w.sqrt(w.fmul(w.fadd(e5, w.fmul(w.number(0.01), e3)), w.number(float(max(steering, 1)))))
    return w.fdiv(w.fmul(h, e5), w.fmax(below, w.number(1e-300)))


def dense_terms(w: Flow, pair: Tableau, K: Sequence[str], x: str, y: str, h: str, q: str) -> list[str]:
    """Coefficients of state q within a step."""
    delta = w.fsub(w.read(y, q), w.read(x, q))
    f0, f1 = w.fmul(h, w.read(K[0], q)), w.fmul(h, w.read(K[STAGES], q))
    F = [delta, w.fsub(f0, delta), w.fsub(w.fadd(delta, delta), w.fadd(f0, f1))]
    return [*F, *(w.fmul(h, weighted(w, line, K, q)) for line in pair.D)]


def dense_value(w: Flow, x: str, F: Sequence[str], s: str, rest: str) -> str:
    """x at the fraction s = 1 - rest of a step."""
    value = number(0.0)
    for k, f in enumerate(reversed(F)):
        value = w.fmul(w.fadd(value, f), s if k % 2 == 0 else rest)
    return w.fadd(x, value)


def is_wanted(w: Flow, reach: str) -> str:
    """Whether the next grid time is not beyond the end of the step."""
    n = w.get("i64", "%next")
    inside = w.iless(n, "%count")
    safe = w.let(f"select i1 {inside}, i64 {n}, i64 0")
    in_time = w.let(f"fcmp ole double {w.read('%grid', safe)}, {reach}")
    return w.let(f"and i1 {inside}, {in_time}")


def _dense(w: Explicit, pair: Tableau, K: list[str], y: str, t: str, h: str, reach: str, m: int, combine: Any) -> None:
    """Write x at the grid times within the step, through three further stages."""

    with w.when(is_wanted(w, reach)):
        stage = w.at("%work", (ALL_STAGES + 1) * m)
        for i in range(STAGES + 1, ALL_STAGES):
            combine(pair.A[i], stage, h)
            w.rhs(w.fadd(t, w.fmul(number(pair.C[i]), h)), stage, K[i])
        with w.loop(lambda: is_wanted(w, reach)):
            n = w.get("i64", "%next")
            s = w.fdiv(w.fsub(w.read("%grid", n), t), h)
            rest = w.fsub(number(1.0), s)
            row = w.imul(n, m)
            with w.repeat(m) as q:
                F = dense_terms(w, pair, K, "%x", y, h, q)
                w.write(dense_value(w, w.read("%x", q), F, s, rest), "%samples", w.iadd(row, q))
            w.put("i64", w.iadd(n, 1), "%next")


def rk4_ir(m: int, turning: Sequence[int] = ()) -> str:
    """The classical method of fourth order; the slope at the end of a step is the first stage of the next."""
    w = Explicit(m, turning)
    K = [w.at("%work", i * m) for i in range(4)]
    y = w.at("%work", 4 * m)

    def stage(t: str, before: str, h: str, out: str) -> None:
        with w.repeat(m) as q:
            w.write(w.fadd(w.read("%x", q), w.fmul(h, w.read(before, q))), y, q)
        w.rhs(t, y, out)

    with w.flushed():
        w.begin()
        with w.steps() as (t, h, reach, _):
            half = w.fmul(h, number(0.5))
            middle = w.fadd(t, half)
            stage(middle, K[0], half, K[1])
            stage(middle, K[1], half, K[2])
            stage(reach, K[2], h, K[3])
            sixth = w.fmul(h, number(1.0 / 6.0))
            with w.repeat(m) as q:
                k1, k2, k3, k4 = (w.read(k, q) for k in K)
                total = w.fadd(w.fadd(k1, k4), w.fmul(number(2.0), w.fadd(k2, k3)))
                w.write(w.fadd(w.read("%x", q), w.fmul(sixth, total)), "%x", q)
            w.rhs(reach, "%x", K[0])
            w.finish(reach)
    return w.entry("rk4")


def semi_implicit_ir(m: int, n: int, turning: Sequence[int] = ()) -> str:
    """Rates first, then positions with the new rates: first order, but it does not pump energy into vibrations."""
    w = Explicit(m, turning)
    with w.flushed():
        w.begin()
        with w.steps() as (_, h, reach, _):
            with w.repeat(m - n) as q:
                i = w.iadd(q, n)
                w.write(w.fadd(w.read("%x", i), w.fmul(h, w.read(w.slope, i))), "%x", i)
            with w.repeat(n) as q:
                w.write(w.fadd(w.read("%x", q), w.fmul(h, w.read("%x", w.iadd(q, n)))), "%x", q)
            w.rhs(reach, "%x", w.slope)
            w.finish(reach)
    return w.entry("semi_implicit")
