"""Time integration inside compiled code: explicit Runge-Kutta of order 8 with error control, and fixed steps.

A system is a right-hand side ``rhs(context, t, x, dx)`` with x = (q, v, further states). The loops come back to Python
at the end of the given span, after a number of steps (for progress and interrupts) or when a watched coordinate
crosses its threshold. Everything that a continuation needs is in arrays of the caller.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.flow import Flow
from pliant.engine.llvm_ir import number

SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 10.0
ORDER_EXPONENT = -1.0 / 8.0
SMALLEST_STEP = 1e-14
"""Of the time reached: smaller steps no longer change it."""

STAGES, ALL_STAGES, DENSE = 12, 16, 7


class Clock(IntEnum):
    """Entries of the array of times and counters."""

    T = 0
    STEP = 1
    END = 2
    LARGEST = 3
    RELATIVE = 4
    STEPS = 5
    REJECTED = 6
    CALLS = 7
    T_BEFORE = 8
    STEP_TAKEN = 9
    HAS_SLOPE = 10


class Status(IntEnum):
    """Why the loop came back."""

    FINISHED = 0
    PAUSED = 1
    CROSSED = 2
    STEP_TOO_SMALL = -1


class Tableau(NamedTuple):
    """The coefficients of Dormand and Prince's eighth-order pair, with seventh-order dense output."""

    A: NDArray[np.float64]
    B: NDArray[np.float64]
    C: NDArray[np.float64]
    E3: NDArray[np.float64]
    E5: NDArray[np.float64]
    D: NDArray[np.float64]


@cache
def dormand_prince_853() -> Tableau:
    """Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section II.10."""
    from scipy.integrate import DOP853 as pair

    A = np.zeros((ALL_STAGES, ALL_STAGES))
    A[:STAGES, :STAGES] = pair.A
    A[STAGES, :STAGES] = pair.B
    A[STAGES + 1 :, : pair.A_EXTRA.shape[1]] = pair.A_EXTRA
    C = np.concatenate([pair.C, [1.0], pair.C_EXTRA])
    return Tableau(A, pair.B, C, pair.E3, pair.E5, pair.D)


def dop853_ir(states: int) -> str:
    """``i64 dop853(context, clock, x, tolerance, work, grid, count, next, samples, watch, watched, pause, knots)``.

    work    K (16 states), y (states), x before the step (states)
    grid    times at which x is wanted; ``next`` is the index of the first one not yet written
    watch   pairs (state, threshold); a crossing ends the call after the step
    pause   steps after which to come back
    knots   (pause + 1, 1 + 2 states): time, x and its slope at the start and after every step of this call
    """
    pair = dormand_prince_853()
    w = Flow()
    m = states
    K = [w.at("%work", i * m) for i in range(ALL_STAGES)]
    y, before = w.at("%work", ALL_STAGES * m), w.at("%work", (ALL_STAGES + 1) * m)
    status = w.variable("i64", str(int(Status.FINISHED)))
    rejected = w.variable("i1", "false")
    taken = w.variable("i64", "0")
    exit_label = w.label("exit")

    def clock(entry: Clock) -> str:
        return w.read("%clock", int(entry))

    def set_clock(value: str, entry: Clock) -> None:
        w.write(value, "%clock", int(entry))

    def count_call() -> None:
        set_clock(w.fadd(clock(Clock.CALLS), number(1.0)), Clock.CALLS)

    def rhs(t: str, x: str, out: str) -> None:
        w.do(f"call void @rhs(ptr %context, double {t}, ptr {x}, ptr {out})")
        count_call()

    def combine(row: Any, target: str, h: str) -> None:
        """target = x + h sum_j row_j K_j."""
        with w.repeat(m) as q:
            total = _weighted(w, row, K, q)
            w.write(w.fadd(w.read("%x", q), w.fmul(h, total)), target, q)

    with w.when(w.less(clock(Clock.HAS_SLOPE), number(0.5))):
        rhs(clock(Clock.T), "%x", K[0])
        set_clock(number(1.0), Clock.HAS_SLOPE)

    def keep_knot(index: str, t: str) -> None:
        row = w.imul(index, 1 + 2 * m)
        w.write(t, "%knots", row)
        with w.repeat(m) as q:
            place = w.iadd(w.iadd(row, q), 1)
            w.write(w.read("%x", q), "%knots", place)
            w.write(w.read(K[0], q), "%knots", w.iadd(place, m))

    keep_knot("0", clock(Clock.T))
    with w.loop(lambda: w.less(clock(Clock.T), clock(Clock.END))):
        with w.when(w.let(f"icmp sge i64 {w.get('i64', taken)}, %pause")):
            w.put("i64", str(int(Status.PAUSED)), status)
            w.leave(exit_label)
        t = clock(Clock.T)
        left = w.fsub(clock(Clock.END), t)
        h = w.fmin(clock(Clock.STEP), clock(Clock.LARGEST))
        # do not leave a sliver before the end
        nearly = w.less(left, w.fmul(h, number(1.01)))
        h = w.let(f"select i1 {nearly}, double {left}, double {h}")
        reach = w.let(f"select i1 {nearly}, double {clock(Clock.END)}, double {w.fadd(t, h)}")
        smallest = w.fmul(number(SMALLEST_STEP), w.fmax(w.fabs(t), w.fabs(clock(Clock.END))))
        with w.when(w.let(f"and i1 {w.less(h, smallest)}, {w.less(h, left)}")):
            w.put("i64", str(int(Status.STEP_TOO_SMALL)), status)
            w.leave(exit_label)
        for i in range(1, STAGES):
            combine(pair.A[i], y, h)
            rhs(w.fadd(t, w.fmul(number(pair.C[i]), h)), y, K[i])
        combine(pair.A[STAGES], y, h)
        rhs(reach, y, K[STAGES])
        error = _error(w, pair, K, y, h, m, clock(Clock.RELATIVE))
        accepted = w.less(error, number(1.0))
        # a vanishing error and one that is not a number both need care
        factor = w.fmul(number(SAFETY), w.power(w.fmax(error, number(1e-30)), ORDER_EXPONENT))
        with w.when(w.let(f"xor i1 {accepted}, true")):
            shrink = w.fmax(number(SLOWEST), factor)
            valid = w.let(f"fcmp ord double {error}, {error}")
            shrink = w.let(f"select i1 {valid}, double {shrink}, double {number(SLOWEST)}")
            set_clock(w.fmul(h, w.fmin(shrink, number(1.0))), Clock.STEP)
            set_clock(w.fadd(clock(Clock.REJECTED), number(1.0)), Clock.REJECTED)
            w.put("i1", "true", rejected)
        with w.when(accepted):
            _dense(w, pair, K, y, t, h, reach, m, rhs, combine)
            was_rejected = w.get("i1", rejected)
            grow = w.fmin(factor, number(FASTEST))
            grow = w.let(f"select i1 {was_rejected}, double {w.fmin(grow, number(1.0))}, double {grow}")
            # a step cut short by the end says nothing about the next one
            proposal = w.fmul(h, grow)
            kept = w.fmax(proposal, clock(Clock.STEP))
            set_clock(w.let(f"select i1 {nearly}, double {kept}, double {proposal}"), Clock.STEP)
            w.put("i1", "false", rejected)
            set_clock(t, Clock.T_BEFORE)
            set_clock(h, Clock.STEP_TAKEN)
            set_clock(reach, Clock.T)
            set_clock(w.fadd(clock(Clock.STEPS), number(1.0)), Clock.STEPS)
            w.put("i64", w.iadd(w.get("i64", taken), 1), taken)
            with w.repeat(m) as q:
                w.write(w.read("%x", q), before, q)
                w.write(w.read(y, q), "%x", q)
                w.write(w.read(K[STAGES], q), K[0], q)
            keep_knot(w.get("i64", taken), reach)
            with w.repeat("%watched") as k:
                place = w.imul(k, 2)
                state = w.let(f"fptosi double {w.read('%watch', place)} to i64")
                threshold = w.read("%watch", w.iadd(place, 1))
                old, new = w.fsub(w.read(before, state), threshold), w.fsub(w.read("%x", state), threshold)
                with w.when(w.less(w.fmul(old, new), number(0.0))):
                    w.put("i64", str(int(Status.CROSSED)), status)
                    w.leave(exit_label)
    w.place(exit_label)
    w.do(f"ret i64 {w.get('i64', status)}")
    arguments = "ptr %context, ptr %clock, ptr %x, ptr %tolerance, ptr %work, ptr %grid, i64 %count, ptr %next, "
    arguments += "ptr %samples, ptr %watch, i64 %watched, i64 %pause, ptr %knots"
    return w.text("dop853", arguments, "i64")


def _weighted(w: Flow, row: Any, K: list[str], q: str) -> str:
    total = ""
    for coefficient, k in zip(row, K, strict=False):
        if coefficient == 0:
            continue
        term = w.fmul(number(float(coefficient)), w.read(k, q))
        total = w.fadd(total, term) if total else term
    return total


def _error(w: Flow, pair: Tableau, K: list[str], y: str, h: str, m: int, relative: str) -> str:
    """The weighted norm of the step's error estimate; 1 is just acceptable."""
    fifth, third = w.variable("double", number(0.0)), w.variable("double", number(0.0))
    with w.repeat(m) as q:
        size = w.fmax(w.fabs(w.read("%x", q)), w.fabs(w.read(y, q)))
        scale = w.fadd(w.read("%tolerance", q), w.fmul(relative, size))
        for row, total in ((pair.E5, fifth), (pair.E3, third)):
            e = w.fdiv(_weighted(w, row, K, q), scale)
            w.put("double", w.fadd(w.get("double", total), w.fmul(e, e)), total)
    e5, e3 = w.get("double", fifth), w.get("double", third)
    below = w.sqrt(w.fmul(w.fadd(e5, w.fmul(number(0.01), e3)), number(float(m))))
    return w.fdiv(w.fmul(h, e5), w.fmax(below, number(1e-300)))


def _dense(
    w: Flow, pair: Tableau, K: list[str], y: str, t: str, h: str, reach: str, m: int, rhs: Any, combine: Any
) -> None:
    """Write x at the grid times within the step, through three further stages."""

    def wanted() -> str:
        n = w.get("i64", "%next")
        inside = w.iless(n, "%count")
        safe = w.let(f"select i1 {inside}, i64 {n}, i64 0")
        in_time = w.let(f"fcmp ole double {w.read('%grid', safe)}, {reach}")
        return w.let(f"and i1 {inside}, {in_time}")

    with w.when(wanted()):
        stage = w.at("%work", (ALL_STAGES + 2) * m)
        for i in range(STAGES + 1, ALL_STAGES):
            combine(pair.A[i], stage, h)
            rhs(w.fadd(t, w.fmul(number(pair.C[i]), h)), stage, K[i])
        with w.loop(wanted):
            n = w.get("i64", "%next")
            s = w.fdiv(w.fsub(w.read("%grid", n), t), h)
            rest = w.fsub(number(1.0), s)
            row = w.imul(n, m)
            with w.repeat(m) as q:
                x = w.read("%x", q)
                delta = w.fsub(w.read(y, q), x)
                f0, f1 = w.fmul(h, w.read(K[0], q)), w.fmul(h, w.read(K[STAGES], q))
                F = [delta, w.fsub(f0, delta), w.fsub(w.fadd(delta, delta), w.fadd(f0, f1))]
                F += [w.fmul(h, _weighted(w, line, K, q)) for line in pair.D]
                value = number(0.0)
                for k, f in enumerate(reversed(F)):
                    value = w.fmul(w.fadd(value, f), s if k % 2 == 0 else rest)
                w.write(w.fadd(x, value), "%samples", w.iadd(row, q))
            w.put("i64", w.iadd(n, 1), "%next")


def fixed_step_ir(states: int, coordinates: int) -> str:
    """``rk4`` and ``semi_implicit``: (context, clock, x, work, steps) -> ``steps`` steps of equal size."""
    return _rk4_ir(states) + _semi_implicit_ir(states, coordinates)


def _rk4_ir(m: int) -> str:
    w = Flow()
    K = [w.at("%work", i * m) for i in range(4)]
    y = w.at("%work", 4 * m)
    h = w.read("%clock", int(Clock.STEP))
    half = w.fmul(h, number(0.5))
    with w.repeat("%steps"):
        t = w.read("%clock", int(Clock.T))
        middle = w.fadd(t, half)
        for k, (time, point, previous, step) in enumerate(
            ((t, "%x", None, ""), (middle, y, K[0], half), (middle, y, K[1], half), (w.fadd(t, h), y, K[2], h))
        ):
            if previous is not None:
                with w.repeat(m) as q:
                    w.write(w.fadd(w.read("%x", q), w.fmul(step, w.read(previous, q))), y, q)
            w.do(f"call void @rhs(ptr %context, double {time}, ptr {point}, ptr {K[k]})")
        sixth = w.fmul(h, number(1.0 / 6.0))
        with w.repeat(m) as q:
            k1, k2, k3, k4 = (w.read(k, q) for k in K)
            total = w.fadd(w.fadd(k1, k4), w.fmul(number(2.0), w.fadd(k2, k3)))
            w.write(w.fadd(w.read("%x", q), w.fmul(sixth, total)), "%x", q)
        w.write(w.fadd(t, h), "%clock", int(Clock.T))
    return w.text("rk4", "ptr %context, ptr %clock, ptr %x, ptr %work, i64 %steps")


def _semi_implicit_ir(m: int, n: int) -> str:
    """Rates first, then positions with the new rates: first order, but it does not pump energy into vibrations."""
    w = Flow()
    K = w.at("%work", 0)
    h = w.read("%clock", int(Clock.STEP))
    with w.repeat("%steps"):
        t = w.read("%clock", int(Clock.T))
        w.do(f"call void @rhs(ptr %context, double {t}, ptr %x, ptr {K})")
        with w.repeat(m - n) as q:
            i = w.iadd(q, n)
            w.write(w.fadd(w.read("%x", i), w.fmul(h, w.read(K, i))), "%x", i)
        with w.repeat(n) as q:
            w.write(w.fadd(w.read("%x", q), w.fmul(h, w.read("%x", w.iadd(q, n)))), "%x", q)
        w.write(w.fadd(t, h), "%clock", int(Clock.T))
    return w.text("semi_implicit", "ptr %context, ptr %clock, ptr %x, ptr %work, i64 %steps")
