"""Generalised-alpha in compiled code, with the exact Newton matrix from seeded tangents.

Chung & Hulbert's method in the form of Arnold & Brüls: second order, unconditionally stable, with numerical damping of
the frequencies that the step does not resolve. The Newton matrix d r/d q + c_v d r/d v + c_a d r/d a costs one tangent
per coordinate, a register full at a time, and is kept while the iteration converges with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number
from pliant.engine.stepping.integrators import Clock, Stepping, new_clock

ITERATIONS = 8
CONVERGED = 0.01
"""Size of the last correction against the tolerance of a step."""
SLOWEST, FASTEST, SAFETY = 0.25, 2.0, 0.8
GAIN, MEMORY = 0.2 / 3, 0.1 / 3
"""Exponents of the error and of its change, as in ``integrators``, for a local error of third order."""
LEAST_ERROR = 1e-4
MOVED, LEAST_RELATIVE = 1e-3, 1e-9
"""Part of the tolerance by which a state is moved along an error, and the least relative tolerance that counts there:
smaller ones are near rounding."""
PHASE = (1 / 12, 3 / 8)
"""Error of a step of generalised-alpha, in h^3 times the third derivative of the state: the first number and the second
times (alpha_f - alpha_m)^2, as the amplification of slow vibrations has it."""
KEEP_FROM, KEEP_TO = 0.9, 1.4
"""A change of step within these bounds is not worth a new matrix."""


def alpha_clock(
    t: float, *, step: float, largest: float, relative: float, radius: float, fixed: bool
) -> NDArray[np.float64]:
    """The array for a start at t; ``radius`` is the spectral radius at infinite frequency, 0 to 1."""
    alpha_m, alpha_f = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
    gamma = 0.5 + alpha_f - alpha_m
    beta = 0.25 * (gamma + 0.5) ** 2
    clock = new_clock(t, t, step=step, largest=largest, relative=relative)
    clock[[Clock.ALPHA_M, Clock.ALPHA_F, Clock.GAMMA, Clock.BETA]] = alpha_m, alpha_f, gamma, beta
    clock[Clock.FIXED] = fixed
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


class Trial(NamedTuple):
    """Arrays of a state that is looked for: it must satisfy residual(t, q, v, a, z) = 0 with rates of z.

    matrix, pivots  the factorised Newton matrix
    """

    q: str
    v: str
    a: str
    z: str
    residual: str
    rates: str
    matrix: str
    pivots: str

    @property
    def state(self) -> str:
        return ", ".join(f"ptr {p}" for p in (self.q, self.v, self.a, self.z))


def evaluate_residual(w: Stepping, trial: Trial, t: str) -> None:
    """The residual of a trial and the rates of its further states."""
    w.count(Clock.CALLS)
    pointers = f"{trial.state}, ptr {trial.residual}, ptr {trial.rates}"
    w.do(f"call void @residual(ptr %context, double {t}, {pointers})")


def raise_to(w: Stepping, worst: str, change: str, value: str, state: str) -> None:
    """Raise a variable to the change of a state over its tolerance, if that is more."""
    scale = w.fadd(w.read("%tolerance", state), w.fmul(w.clock(Clock.RELATIVE), w.fabs(value)))
    part = w.fdiv(w.fabs(change), scale)
    # not-a-number must not look small
    bad = w.let(f"fcmp uno double {part}, {part}")
    w.put("double", w.fmax(w.get("double", worst), w.select(bad, number(1e300), part)), worst)


def newton_iteration(
    w: Stepping, n: int, trial: Trial, t: str, h: str, c_v: str, c_a: str, follow: Callable[[str], None]
) -> str:
    """Move a trial by Newton steps onto the equations of motion; whether it got there.

    A change d of q changes v by c_v d and a by c_a d; ``follow`` brings z after its rates, and raises what it is given
    to the largest weighted change. The matrix is renewed for another step, and where an old one makes slow progress.
    """
    fits = w.let(f"fcmp oeq double {w.clock(Clock.MATRIX_STEP)}, {h}")
    fresh = w.variable("i1", w.negated(fits))
    done, size_before = w.variable("i1", "false"), w.variable("double", number(0.0))
    tries = w.variable("i64", "0")
    restart = w.variable("i1", w.get("i1", fresh))

    def going() -> str:
        more = w.iless(w.get("i64", tries), 2 * ITERATIONS)
        return w.let(f"and i1 {more}, {w.negated(w.get('i1', done))}")

    with w.loop(going):
        with w.when(w.get("i1", restart)):
            w.count(Clock.MATRICES)
            w.do(
                f"call void @newton(ptr %context, double {t}, {trial.state}, double {c_v}, double {c_a}, "
                f"ptr {trial.matrix})"
            )
            w.do(f"call void @lu(ptr {trial.matrix}, ptr {trial.pivots}, i64 {n})")
            w.set_clock(h, Clock.MATRIX_STEP)
            w.put("i1", "false", restart)
            w.put("i1", "true", fresh)
        evaluate_residual(w, trial, t)
        worst = w.variable("double", number(0.0))
        follow(worst)
        w.do(f"call void @lu_solve(ptr {trial.matrix}, ptr {trial.pivots}, ptr {trial.residual}, i64 {n})")
        with w.repeat(n) as i:
            delta = w.read(trial.residual, i)
            w.write(w.fsub(w.read(trial.q, i), delta), trial.q, i)
            w.write(w.fsub(w.read(trial.v, i), w.fmul(c_v, delta)), trial.v, i)
            w.write(w.fsub(w.read(trial.a, i), w.fmul(c_a, delta)), trial.a, i)
            raise_to(w, worst, delta, w.read(trial.q, i), i)
        correction = w.get("double", worst)
        tried = w.get("i64", tries)
        w.put("i1", w.less(correction, number(CONVERGED)), done)
        first = w.let(f"icmp eq i64 {tried}, 0")
        slow = w.less(w.fmul(number(0.5), w.get("double", size_before)), correction)
        failing = w.let(f"and i1 {slow}, {w.negated(first)}")
        w.put("double", correction, size_before)
        w.put("i64", w.iadd(tried, 1), tries)
        stale = w.negated(w.get("i1", fresh))
        w.put("i1", w.let(f"and i1 {failing}, {stale}"), restart)
        # with a fresh matrix a failing iteration will not recover
        hopeless = w.let(f"and i1 {failing}, {w.negated(stale)}")
        hopeless = w.let(f"and i1 {hopeless}, {w.less(number(1.0), correction)}")
        with w.when(hopeless):
            w.put("i64", str(2 * ITERATIONS), tries)
    return w.get("i1", done)


def change_ir(n: int, rest: int) -> str:
    """``change(context, t, p, q, v, a, z, x, S, pivots, out, scratch, tolerance, relative)``: G x to ``out``.

    G = (1 - p J)^-1 - 1 is what a backward Euler step by p adds to a small change x = (q, v) of a state, x' = J x, and
    S the factorised Newton matrix for c_v = 1/p and c_a = 1/p^2. It takes one residual, of the state moved by a small
    part of its tolerance along x, and one solution with S.

    scratch  q, v, a, residual (n each), rates (rest), residual of the state itself (n)
    """
    w = Flow()
    q1, v1, a1, r, rates = (w.at("%scratch", k) for k in (0, n, 2 * n, 3 * n, 4 * n))
    x_v = w.at("%delta", n)

    def moved(i: str) -> str:
        return w.fadd(w.read("%delta", i), w.fmul("%p", w.read(x_v, i)))

    size = w.variable("double", number(MOVED))
    least = w.fmax("%relative", number(LEAST_RELATIVE))
    with w.repeat(n) as i:
        scale = w.fadd(w.read("%tolerance", i), w.fmul(least, w.fabs(w.read("%q", i))))
        w.put("double", w.fmax(w.get("double", size), w.fdiv(w.fabs(moved(i)), scale)), size)
    part = w.fdiv(number(MOVED), w.get("double", size))
    with w.repeat(n) as i:
        w.write(w.fadd(w.read("%q", i), w.fmul(part, moved(i))), q1, i)
        w.write(w.fadd(w.read("%v", i), w.fmul(part, w.read(x_v, i))), v1, i)
        w.write(w.read("%a", i), a1, i)
    state = ", ".join(f"ptr {each}" for each in (q1, v1, a1, "%z", r, rates))
    w.do(f"call void @residual(ptr %context, double %t, {state})")
    # what Newton's method has left is no change
    with w.repeat(n) as i:
        w.write(w.fsub(w.read(r, i), w.read(w.at("%scratch", 4 * n + rest), i)), r, i)
    w.do(f"call void @lu_solve(ptr %S, ptr %pivots, ptr {r}, i64 {n})")
    with w.repeat(n) as i:
        d = w.fdiv(w.read(r, i), part)
        w.write(w.fsub(w.fmul("%p", w.read(x_v, i)), d), "%out", i)
        w.write(w.fdiv(w.fsub(number(0.0), d), "%p"), w.at("%out", n), i)
    pointers = ("q", "v", "a", "z", "delta", "S", "pivots", "out", "scratch", "tolerance")
    doubles = ("double %t", "double %p", *(f"ptr %{each}" for each in pointers), "double %relative")
    return w.text("change", ", ".join(["ptr %context", *doubles]), attributes="internal")


def changes_of_errors(
    w: Stepping, n: int, rest: int, t: str, p: str, trial: Trial, scratch: str
) -> Callable[[str, str], None]:
    """``change`` of errors beside a state, with its matrix: a function of the places of an error and of the result."""
    base, rates = w.at(scratch, 4 * n + rest), w.at(scratch, 4 * n)
    evaluate_residual(w, trial._replace(residual=base, rates=rates), t)

    def change(x: str, out: str) -> None:
        arrays = (trial.q, trial.v, trial.a, trial.z, x, trial.matrix, trial.pivots, out, scratch, "%tolerance")
        pointers = ", ".join(f"ptr {each}" for each in arrays)
        relative = w.clock(Clock.RELATIVE)
        w.do(f"call void @change(ptr %context, double {t}, double {p}, {pointers}, double {relative})")
        w.count(Clock.CALLS)

    return change


def keep_largest(w: Stepping, n: int, error: str, largest: str) -> None:
    """Raise the largest errors of the coordinates so far to those of now."""
    with w.repeat(n) as i:
        w.write(w.fmax(w.read(largest, i), w.fabs(w.read(error, i))), largest, i)


def change_work(n: int, rest: int) -> int:
    """Doubles of scratch."""
    return 5 * n + rest


def step_of_matrix(w: Stepping) -> str:
    """The step that the matrix was made for, unless another one is much better."""
    wanted, matrix = w.clock(Clock.STEP), w.clock(Clock.MATRIX_STEP)
    near = w.less(w.fmul(number(KEEP_FROM), matrix), wanted)
    near = w.let(f"and i1 {near}, {w.less(wanted, w.fmul(number(KEEP_TO), matrix))}")
    fixed = w.less(number(0.5), w.clock(Clock.FIXED))
    return w.select(w.let(f"and i1 {near}, {w.negated(fixed)}"), matrix, wanted)


def generalised_alpha_ir(n: int, rest: int, turning: Sequence[int] = ()) -> str:
    """``generalised_alpha``; see ``Stepping`` for its arguments.

    x      q, v, further states z (rest; by the trapezoidal rule), a, algorithmic a, error of q and v (n each), the
           largest error of each q so far (n)
    work   q, v, a, algorithmic a of the trial, residual (n each), z, its rates of the trial and before (rest each),
           Newton matrix (n n), pivots (n), change of q and v, G of it and of errors (2 n each), scratch of ``change``

    Needs ``residual(context, t, q, v, a, z, r, rates)`` and ``newton(context, t, q, v, a, z, c_v, c_a, S)``.
    """
    w = Stepping(turning)
    states = 2 * n + rest
    place = np.cumsum([0, n, n, n, n, n, rest, rest, rest, n * n, n, 2 * n, 2 * n]).tolist()
    q1, v1, a1, aa1, r, z1, trial_rates, rates, S, pivots, moved, g, scratch = (w.at("%work", k) for k in place)
    q, v, z, a = "%x", w.at("%x", n), w.at("%x", 2 * n), w.at("%x", states)
    aa, carried, worst_error = (w.at("%x", states + k * n) for k in (1, 2, 4))
    trial = Trial(q1, v1, a1, z1, r, trial_rates, S, pivots)
    alpha_m, alpha_f = w.clock(Clock.ALPHA_M), w.clock(Clock.ALPHA_F)
    gamma, beta, relative = w.clock(Clock.GAMMA), w.clock(Clock.BETA), w.clock(Clock.RELATIVE)
    one_m, one_f = w.fsub(number(1.0), alpha_m), w.fsub(number(1.0), alpha_f)
    fixed = w.less(number(0.5), w.clock(Clock.FIXED))

    def advance_rest(h: str, worst: str) -> None:
        half = w.fmul(number(0.5), h)
        with w.repeat(rest) as k:
            mean = w.fadd(w.read(rates, k), w.read(trial_rates, k))
            new = w.fadd(w.read(z, k), w.fmul(half, mean))
            raise_to(w, worst, w.fsub(new, w.read(z1, k)), new, w.iadd(k, 2 * n))
            w.write(new, z1, k)

    def knot() -> None:
        w.keep_knot(("%x", states), (v, n), (a, n), (rates, rest))

    def carry(t: str, h: str, c_a: str) -> None:
        """Carry the error e over a step that was taken, e + h/p G e, and add its own, c (h/p)^2 G^2 (x1 - x0)."""
        p = w.fdiv(number(1.0), w.sqrt(c_a))
        ratio, delta = w.fdiv(h, p), w.fsub(alpha_f, alpha_m)
        own = w.fadd(number(PHASE[0]), w.fmul(number(PHASE[1]), w.fmul(delta, delta)))
        own = w.fmul(own, w.fmul(ratio, ratio))
        change = changes_of_errors(w, n, rest, t, p, trial._replace(q=q, v=v, a=a, z=z), scratch)
        change(moved, g)
        with w.repeat(2 * n) as i:
            w.write(w.fadd(w.fmul(own, w.read(g, i)), w.fmul(ratio, w.read(carried, i))), moved, i)
        change(moved, g)
        with w.repeat(2 * n) as i:
            w.write(w.fadd(w.read(carried, i), w.read(g, i)), carried, i)
        keep_largest(w, n, carried, worst_error)

    with w.flushed():
        with w.when(w.less(w.clock(Clock.HAS_SLOPE), number(0.5))):
            evaluate_residual(w, trial._replace(q=q, v=v, a=a, z=z), w.clock(Clock.T))
            with w.repeat(rest) as k:
                w.write(w.read(trial_rates, k), rates, k)
            w.set_clock(number(1.0), Clock.HAS_SLOPE)
        knot()
        with w.steps(partial(step_of_matrix, w)) as (_, h, reach, last):
            hh = w.fmul(h, h)
            c_v = w.fdiv(gamma, w.fmul(h, beta))
            c_a = w.fdiv(one_m, w.fmul(w.fmul(hh, beta), one_f))

            # trial: the acceleration stays
            with w.repeat(n) as i:
                old, algorithmic = w.read(a, i), w.read(aa, i)
                guess = w.fdiv(w.fsub(old, w.fmul(alpha_m, algorithmic)), one_m)
                half = w.fmul(w.fsub(number(0.5), beta), algorithmic)
                reach_q = w.fadd(w.fmul(h, w.read(v, i)), w.fmul(hh, w.fadd(half, w.fmul(beta, guess))))
                w.write(w.fadd(w.read(q, i), reach_q), q1, i)
                change = w.fadd(w.fmul(w.fsub(number(1.0), gamma), algorithmic), w.fmul(gamma, guess))
                w.write(w.fadd(w.read(v, i), w.fmul(h, change)), v1, i)
                w.write(old, a1, i)
            with w.repeat(rest) as k:
                w.write(w.read(rates, k), trial_rates, k)
            advance_rest(h, w.variable("double", number(0.0)))
            converged = newton_iteration(w, n, trial, reach, h, c_v, c_a, partial(advance_rest, h))
            with w.when(w.negated(converged)):
                w.set_clock(w.fmul(h, number(SLOWEST)), Clock.STEP)
                w.count(Clock.REJECTED)
            with w.when(converged):
                total = w.variable("double", number(0.0))
                weight = w.fmul(hh, w.fabs(w.fsub(beta, number(1.0 / 6.0))))
                with w.repeat(n) as i:
                    mixed = w.fadd(w.fmul(one_f, w.read(a1, i)), w.fmul(alpha_f, w.read(a, i)))
                    new = w.fdiv(w.fsub(mixed, w.fmul(alpha_m, w.read(aa, i))), one_m)
                    w.write(new, aa1, i)
                    scale = w.fadd(w.read("%tolerance", i), w.fmul(relative, w.fabs(w.read(q1, i))))
                    part = w.fdiv(w.fmul(weight, w.fsub(new, w.read(aa, i))), scale)
                    w.put("double", w.fadd(w.get("double", total), w.fmul(part, part)), total)
                error = w.sqrt(w.fmul(w.get("double", total), number(1.0 / max(n, 1))))
                known = w.fmax(error, number(LEAST_ERROR))
                before = w.fmax(w.clock(Clock.ERROR_BEFORE), number(LEAST_ERROR))
                w.set_clock(known, Clock.ERROR_BEFORE)
                good = w.let(f"or i1 {fixed}, {w.less(error, number(1.0))}")
                with w.when(w.negated(good)):
                    shrink = w.fmul(number(SAFETY), w.power(known, -1.0 / 3.0))
                    w.set_clock(w.fmul(h, w.fmax(shrink, number(SLOWEST))), Clock.STEP)
                    w.count(Clock.REJECTED)
                with w.when(good):
                    # the rates of the last iteration: what it still corrected is far below the tolerance
                    with w.repeat(rest) as k:
                        w.write(w.read(z1, k), z, k)
                        w.write(w.read(trial_rates, k), rates, k)
                    with w.repeat(n) as i:
                        for new, old, place in ((q1, q, 0), (v1, v, n)):
                            w.write(w.fsub(w.read(new, i), w.read(old, i)), w.at(moved, place), i)
                        for source, target in ((q1, q), (v1, v), (a1, a), (aa1, aa)):
                            w.write(w.read(source, i), target, i)
                    w.accept(reach)
                    knot()
                    carry(reach, h, c_a)
                    steady = w.fmul(w.power(known, -GAIN - MEMORY), w.power(before, MEMORY))
                    factor = w.fmin(w.fmul(number(SAFETY ** (3 * GAIN)), steady), number(FASTEST))
                    step = w.clock(Clock.STEP)
                    keep = w.let(f"or i1 {fixed}, {last}")
                    grown = w.fmin(w.fmul(step, factor), w.clock(Clock.LARGEST))
                    w.set_clock(w.select(keep, step, grown), Clock.STEP)
    return lu_ir() + w.entry("generalised_alpha")


def work_size(n: int, rest: int) -> int:
    """Doubles of work space."""
    return 10 * n + 3 * rest + n * n + change_work(n, rest)
