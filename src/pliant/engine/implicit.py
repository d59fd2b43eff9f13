"""Generalised-alpha in compiled code, with the exact Newton matrix from seeded tangents.

Chung & Hulbert's method in the form of Arnold & Brüls: second order, unconditionally stable, with numerical damping of
the frequencies that the step does not resolve. The Newton matrix d r/d q + c_v d r/d v + c_a d r/d a costs one tangent
per coordinate, a register full at a time, and is kept while the iteration converges with it.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from pliant.engine.flow import Flow
from pliant.engine.integrators import Status
from pliant.engine.llvm_ir import number

ITERATIONS = 8
CONVERGED = 0.01
"""Size of the last correction against the tolerance of a step."""
SLOWEST, FASTEST, SAFETY = 0.25, 2.0, 0.9
KEEP_FROM, KEEP_TO = 0.9, 1.4
"""A change of step within these bounds is not worth a new matrix."""
SMALLEST_STEP = 1e-13


class AlphaClock(IntEnum):
    """Entries of the array of times, coefficients and counters."""

    T = 0
    STEP = 1
    END = 2
    LARGEST = 3
    RELATIVE = 4
    ALPHA_M = 5
    ALPHA_F = 6
    GAMMA = 7
    BETA = 8
    STEPS = 9
    REJECTED = 10
    CALLS = 11
    MATRICES = 12
    MATRIX_STEP = 13
    FIXED = 14


def alpha_clock(
    t: float, *, step: float, largest: float, relative: float, radius: float, fixed: bool
) -> NDArray[np.float64]:
    """The array for a start at t; ``radius`` is the spectral radius at infinite frequency, 0 to 1."""
    alpha_m, alpha_f = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
    gamma = 0.5 + alpha_f - alpha_m
    clock = np.zeros(len(AlphaClock))
    entries = {
        AlphaClock.T: t,
        AlphaClock.END: t,
        AlphaClock.STEP: step,
        AlphaClock.LARGEST: largest,
        AlphaClock.RELATIVE: relative,
        AlphaClock.ALPHA_M: alpha_m,
        AlphaClock.ALPHA_F: alpha_f,
        AlphaClock.GAMMA: gamma,
        AlphaClock.BETA: 0.25 * (gamma + 0.5) ** 2,
        AlphaClock.FIXED: float(fixed),
    }
    for entry, value in entries.items():
        clock[entry] = value
    return clock


def lu_ir() -> str:
    """``lu(S, pivots, n)`` and ``lu_solve(S, pivots, b, n)``: dense, partial pivoting, row-major."""
    w = Flow()
    with w.repeat("%n") as k:
        diagonal = w.iadd(w.imul(k, "%n"), k)
        best, row = w.variable("double", number(-1.0)), w.variable("i64", k)
        with w.repeat(w.let(f"sub i64 %n, {k}")) as j:
            i = w.iadd(k, j)
            size = w.fabs(w.read("%S", w.iadd(w.imul(i, "%n"), k)))
            with w.when(w.less(w.get("double", best), size)):
                w.put("double", size, best)
                w.put("i64", i, row)
        p = w.get("i64", row)
        w.write(w.let(f"sitofp i64 {p} to double"), "%pivots", k)
        with w.when(w.let(f"icmp ne i64 {p}, {k}")), w.repeat("%n") as j:
            a, b = w.iadd(w.imul(k, "%n"), j), w.iadd(w.imul(p, "%n"), j)
            upper, lower = w.read("%S", a), w.read("%S", b)
            w.write(lower, "%S", a)
            w.write(upper, "%S", b)
        reciprocal = w.fdiv(number(1.0), w.read("%S", diagonal))
        below = w.let(f"sub i64 {w.let(f'sub i64 %n, {k}')}, 1")
        with w.repeat(below) as j:
            start = w.imul(w.iadd(w.iadd(k, j), 1), "%n")
            factor = w.fmul(w.read("%S", w.iadd(start, k)), reciprocal)
            w.write(factor, "%S", w.iadd(start, k))
            with w.repeat(below) as c:
                column = w.iadd(w.iadd(k, c), 1)
                pivot_row = w.read("%S", w.iadd(w.imul(k, "%n"), column))
                old = w.read("%S", w.iadd(start, column))
                w.write(w.fsub(old, w.fmul(factor, pivot_row)), "%S", w.iadd(start, column))
    factorise = w.text("lu", "ptr noalias %S, ptr noalias %pivots, i64 %n", attributes="internal")

    w = Flow()
    with w.repeat("%n") as k:
        p = w.let(f"fptosi double {w.read('%pivots', k)} to i64")
        here, there = w.read("%b", k), w.read("%b", p)
        w.write(there, "%b", k)
        w.write(here, "%b", p)
    with w.repeat("%n") as i:
        start = w.imul(i, "%n")
        total = w.variable("double", w.read("%b", i))
        with w.repeat(i) as j:
            product = w.fmul(w.read("%S", w.iadd(start, j)), w.read("%b", j))
            w.put("double", w.fsub(w.get("double", total), product), total)
        w.write(w.get("double", total), "%b", i)
    with w.repeat("%n") as back:
        i = w.let(f"sub i64 {w.let(f'sub i64 %n, {back}')}, 1")
        start = w.imul(i, "%n")
        total = w.variable("double", w.read("%b", i))
        with w.repeat(back) as j:
            column = w.iadd(w.iadd(i, j), 1)
            product = w.fmul(w.read("%S", w.iadd(start, column)), w.read("%b", column))
            w.put("double", w.fsub(w.get("double", total), product), total)
        w.write(w.fdiv(w.get("double", total), w.read("%S", w.iadd(start, i))), "%b", i)
    solve = w.text("lu_solve", "ptr noalias %S, ptr noalias %pivots, ptr noalias %b, i64 %n", attributes="internal")
    return factorise + solve


def generalised_alpha_ir(n: int, balances: int) -> str:
    """``i64 generalised_alpha(context, clock, x, tolerance, work, knots, pause)``.

    x      q, v, balances, a, algorithmic a
    work   q, v, a, algorithmic a of the trial, residual (n each), forces with powers (n + balances), powers before
           (balances), Newton matrix (n n), pivots (n)
    knots  (pause + 1, 1 + 2 states): time, x and its slope at the start and after every step of this call

    Needs ``residual(context, t, q, v, a, r, f)`` and ``newton(context, t, q, v, a, c_v, c_a, S)``.
    """
    w = Flow()
    states = 2 * n + balances
    place = iter(np.cumsum([0, n, n, n, n, n, n + balances, balances, n * n]).tolist())
    q1, v1, a1, aa1, r, f, powers, S, pivots = (w.at("%work", next(place)) for _ in range(9))
    q, v, balance, a = "%x", w.at("%x", n), w.at("%x", 2 * n), w.at("%x", states)
    aa = w.at("%x", states + n)
    status = w.variable("i64", str(int(Status.FINISHED)))
    taken = w.variable("i64", "0")
    exit_label = w.label("exit")

    def clock(entry: AlphaClock) -> str:
        return w.read("%clock", int(entry))

    def set_clock(value: str, entry: AlphaClock) -> None:
        w.write(value, "%clock", int(entry))

    def count(entry: AlphaClock) -> None:
        set_clock(w.fadd(clock(entry), number(1.0)), entry)

    alpha_m, alpha_f = clock(AlphaClock.ALPHA_M), clock(AlphaClock.ALPHA_F)
    gamma, beta, relative = clock(AlphaClock.GAMMA), clock(AlphaClock.BETA), clock(AlphaClock.RELATIVE)
    one_m, one_f = w.fsub(number(1.0), alpha_m), w.fsub(number(1.0), alpha_f)

    def residual(t: str, position: str, rate: str, acceleration: str) -> None:
        count(AlphaClock.CALLS)
        w.do(
            f"call void @residual(ptr %context, double {t}, ptr {position}, ptr {rate}, ptr {acceleration}, "
            f"ptr {r}, ptr {f})"
        )

    def keep_knot(index: str, t: str) -> None:
        row = w.iadd(w.imul(index, 1 + 2 * states), 1)
        w.write(t, "%knots", w.iadd(row, -1))
        with w.repeat(states) as i:
            w.write(w.read("%x", i), "%knots", w.iadd(row, i))
        with w.repeat(n) as i:
            w.write(w.read(v, i), "%knots", w.iadd(w.iadd(row, i), states))
            w.write(w.read(a, i), "%knots", w.iadd(w.iadd(row, i), states + n))
        for k in range(balances):
            w.write(w.read(powers, k), "%knots", w.iadd(row, states + 2 * n + k))

    residual(clock(AlphaClock.T), q, v, a)
    for k in range(balances):
        w.write(w.read(f, n + k), powers, k)
    keep_knot("0", clock(AlphaClock.T))

    with w.loop(lambda: w.less(clock(AlphaClock.T), clock(AlphaClock.END))):
        with w.when(w.let(f"icmp sge i64 {w.get('i64', taken)}, %pause")):
            w.put("i64", str(int(Status.PAUSED)), status)
            w.leave(exit_label)
        t = clock(AlphaClock.T)
        left = w.fsub(clock(AlphaClock.END), t)
        wanted = w.fmin(clock(AlphaClock.STEP), clock(AlphaClock.LARGEST))
        last = w.less(left, w.fmul(wanted, number(1.0 + 1e-9)))
        h = w.let(f"select i1 {last}, double {left}, double {wanted}")
        reach = w.let(f"select i1 {last}, double {clock(AlphaClock.END)}, double {w.fadd(t, h)}")
        smallest = w.fmul(number(SMALLEST_STEP), w.fmax(w.fabs(t), number(1e-3)))
        with w.when(w.let(f"and i1 {w.less(h, smallest)}, {w.less(h, left)}")):
            w.put("i64", str(int(Status.STEP_TOO_SMALL)), status)
            w.leave(exit_label)
        hh = w.fmul(h, h)
        c_v = w.fdiv(gamma, w.fmul(h, beta))
        c_a = w.fdiv(one_m, w.fmul(w.fmul(hh, beta), one_f))

        # trial: the acceleration stays
        with w.repeat(n) as i:
            old, algorithmic = w.read(a, i), w.read(aa, i)
            trial = w.fdiv(w.fsub(old, w.fmul(alpha_m, algorithmic)), one_m)
            half = w.fmul(w.fsub(number(0.5), beta), algorithmic)
            reach_q = w.fadd(w.fmul(h, w.read(v, i)), w.fmul(hh, w.fadd(half, w.fmul(beta, trial))))
            w.write(w.fadd(w.read(q, i), reach_q), q1, i)
            change = w.fadd(w.fmul(w.fsub(number(1.0), gamma), algorithmic), w.fmul(gamma, trial))
            w.write(w.fadd(w.read(v, i), w.fmul(h, change)), v1, i)
            w.write(old, a1, i)
        # another step needs another matrix
        fits = w.let(f"fcmp oeq double {clock(AlphaClock.MATRIX_STEP)}, {h}")
        fresh = w.variable("i1", "false")
        with w.when(w.let(f"xor i1 {fits}, true")):
            w.put("i1", "true", fresh)
        done, size_before = w.variable("i1", "false"), w.variable("double", number(0.0))
        tries = w.variable("i64", "0")
        restart = w.variable("i1", w.get("i1", fresh))

        def going() -> str:
            more = w.iless(w.get("i64", tries), 2 * ITERATIONS)
            undone = w.let(f"xor i1 {w.get('i1', done)}, true")
            return w.let(f"and i1 {more}, {undone}")

        with w.loop(going):
            with w.when(w.get("i1", restart)):
                count(AlphaClock.MATRICES)
                w.do(
                    f"call void @newton(ptr %context, double {reach}, ptr {q1}, ptr {v1}, ptr {a1}, double {c_v}, "
                    f"double {c_a}, ptr {S})"
                )
                w.do(f"call void @lu(ptr {S}, ptr {pivots}, i64 {n})")
                set_clock(h, AlphaClock.MATRIX_STEP)
                w.put("i1", "false", restart)
                w.put("i1", "true", fresh)
            residual(reach, q1, v1, a1)
            w.do(f"call void @lu_solve(ptr {S}, ptr {pivots}, ptr {r}, i64 {n})")
            worst = w.variable("double", number(0.0))
            with w.repeat(n) as i:
                delta = w.read(r, i)
                w.write(w.fsub(w.read(q1, i), delta), q1, i)
                w.write(w.fsub(w.read(v1, i), w.fmul(c_v, delta)), v1, i)
                w.write(w.fsub(w.read(a1, i), w.fmul(c_a, delta)), a1, i)
                scale = w.fadd(w.read("%tolerance", i), w.fmul(relative, w.fabs(w.read(q1, i))))
                part = w.fdiv(w.fabs(delta), scale)
                # not-a-number must not look small
                bad = w.let(f"fcmp uno double {part}, {part}")
                part = w.let(f"select i1 {bad}, double {number(1e300)}, double {part}")
                w.put("double", w.fmax(w.get("double", worst), part), worst)
            size = w.get("double", worst)
            tried = w.get("i64", tries)
            w.put("i1", w.less(size, number(CONVERGED)), done)
            first = w.let(f"icmp eq i64 {tried}, 0")
            slow = w.less(w.fmul(number(0.5), w.get("double", size_before)), size)
            failing = w.let(f"and i1 {slow}, {w.let(f'xor i1 {first}, true')}")
            w.put("double", size, size_before)
            w.put("i64", w.iadd(tried, 1), tries)
            stale = w.let(f"xor i1 {w.get('i1', fresh)}, true")
            w.put("i1", w.let(f"and i1 {failing}, {stale}"), restart)
            # with a fresh matrix a failing iteration will not recover
            hopeless = w.let(f"and i1 {failing}, {w.let(f'xor i1 {stale}, true')}")
            hopeless = w.let(f"and i1 {hopeless}, {w.less(number(1.0), size)}")
            with w.when(hopeless):
                w.put("i64", str(2 * ITERATIONS), tries)

        converged = w.get("i1", done)
        with w.when(w.let(f"xor i1 {converged}, true")):
            set_clock(w.fmul(h, number(SLOWEST)), AlphaClock.STEP)
            count(AlphaClock.REJECTED)
        with w.when(converged):
            error = w.variable("double", number(0.0))
            weight = w.fmul(hh, w.fabs(w.fsub(beta, number(1.0 / 6.0))))
            with w.repeat(n) as i:
                mixed = w.fadd(w.fmul(one_f, w.read(a1, i)), w.fmul(alpha_f, w.read(a, i)))
                new = w.fdiv(w.fsub(mixed, w.fmul(alpha_m, w.read(aa, i))), one_m)
                w.write(new, aa1, i)
                scale = w.fadd(w.read("%tolerance", i), w.fmul(relative, w.fabs(w.read(q1, i))))
                part = w.fdiv(w.fmul(weight, w.fsub(new, w.read(aa, i))), scale)
                w.put("double", w.fadd(w.get("double", error), w.fmul(part, part)), error)
            norm = w.sqrt(w.fmul(w.get("double", error), number(1.0 / max(n, 1))))
            factor = w.fmul(number(SAFETY), w.power(w.fmax(norm, number(1e-12)), -1.0 / 3.0))
            factor = w.fmin(w.fmax(factor, number(SLOWEST)), number(FASTEST))
            fixed = w.less(number(0.5), clock(AlphaClock.FIXED))
            good = w.let(f"or i1 {fixed}, {w.less(norm, number(1.0))}")
            with w.when(w.let(f"xor i1 {good}, true")):
                set_clock(w.fmul(h, factor), AlphaClock.STEP)
                count(AlphaClock.REJECTED)
            with w.when(good):
                residual(reach, q1, v1, a1)
                for k in range(balances):
                    new_power = w.read(f, n + k)
                    mean = w.fmul(number(0.5), w.fadd(w.read(powers, k), new_power))
                    w.write(w.fadd(w.read(balance, k), w.fmul(h, mean)), balance, k)
                    w.write(new_power, powers, k)
                with w.repeat(n) as i:
                    for source, target in ((q1, q), (v1, v), (a1, a), (aa1, aa)):
                        w.write(w.read(source, i), target, i)
                set_clock(reach, AlphaClock.T)
                count(AlphaClock.STEPS)
                w.put("i64", w.iadd(w.get("i64", taken), 1), taken)
                keep_knot(w.get("i64", taken), reach)
                similar = w.let(f"and i1 {w.less(number(KEEP_FROM), factor)}, {w.less(factor, number(KEEP_TO))}")
                steady = w.let(f"or i1 {w.let(f'or i1 {fixed}, {similar}')}, {last}")
                proposal = w.let(f"select i1 {steady}, double {wanted}, double {w.fmul(h, factor)}")
                set_clock(proposal, AlphaClock.STEP)
    w.place(exit_label)
    w.do(f"ret i64 {w.get('i64', status)}")
    arguments = "ptr %context, ptr %clock, ptr %x, ptr %tolerance, ptr %work, ptr %knots, i64 %pause"
    return lu_ir() + w.text("generalised_alpha", arguments, "i64")


def work_size(n: int, balances: int) -> int:
    """Doubles of work space."""
    return 5 * n + (n + balances) + balances + n * n + n
