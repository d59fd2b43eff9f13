"""Newton's method for implicit steps in compiled code, with the exact matrix from seeded tangents.

The matrix d r/d q + c_v d r/d v + c_a d r/d a costs one tangent per coordinate, a register full at a time, and is kept
while the iteration converges with it. States of the drive, z' = g(q, v, z), are unknowns beside the coordinates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number
from pliant.engine.stepping.integrators import Clock, Stepping
from pliant.engine.stepping.layout import BALANCES, StateLayout
from pliant.engine.stepping.stepper import Stepper, StepShape

Floats = NDArray[np.float64]

ITERATIONS = 8
OVERWHELMING = 1e40
"""Factor of inertia, or of damping, beside which no stiffness is seen."""
CONVERGED = 0.01
"""Size of the last correction against the tolerance of a step."""
MOVED, LEAST_RELATIVE = 1e-3, 1e-9
"""Part of the tolerance by which a state is moved along an error, and the least relative tolerance that counts there:
smaller ones are near rounding."""
KEEP_FROM, KEEP_TO = 0.9, 1.4
"""A change of step within these bounds is not worth a new matrix."""


class ImplicitStepper(Stepper):
    """What implicit methods share: accelerations behind x, numbers of their own, errors that are carried along.

    Behind these: errors of coordinates, rates and the drive's states, and the largest of the coordinates so far.
    """

    kind, substitute = "residual", "Radau"
    erases = True

    def filtered(self, layout: StateLayout) -> int:
        """Doubles of its own behind the accelerations."""
        return 0

    def extra(self, layout: StateLayout) -> int:
        return 4 * layout.count + layout.states + self.filtered(layout)

    def begin(self, layout: StateLayout, extra: Floats, slope: Floats) -> None:
        extra[: layout.count + self.filtered(layout)] = 0.0
        extra[: layout.count] = slope[layout.v]

    def errors(self, layout: StateLayout, extra: Floats) -> Floats:
        return extra[len(extra) - layout.count :]

    def text(self, shape: StepShape) -> str:
        return lu_ir() + change_ir(shape.layout) + self.steps_text(shape)

    @abstractmethod
    def steps_text(self, shape: StepShape) -> str:
        """Assembly of its steps."""


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
    residual        of the coordinates, then of the drive's states
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


def settle(w: Stepping, n: int, states: int, trial: Trial) -> None:
    """Accelerations of a state after its forces have jumped: the residual is linear in them.

    Of d r/d q + c_a d r/d a with an overwhelming c_a nothing but the second is seen.
    """
    t, none = w.clock(Clock.T), f"double {number(0.0)}, "
    evaluate_residual(w, trial, t)
    for k in range(states):
        w.write(number(0.0), trial.residual, n + k)
    factors = f"{none}double {number(OVERWHELMING)}, {none if states else ''}"
    w.do(f"call void @newton(ptr %context, double {t}, {trial.state}, {factors}ptr {trial.matrix})")
    w.do(f"call void @lu(ptr {trial.matrix}, ptr {trial.pivots}, i64 {n + states})")
    w.do(f"call void @lu_solve(ptr {trial.matrix}, ptr {trial.pivots}, ptr {trial.residual}, i64 {n + states})")
    with w.repeat(n) as i:
        change = w.fmul(number(OVERWHELMING), w.read(trial.residual, i))
        w.write(w.fsub(w.read(trial.a, i), change), trial.a, i)
    w.set_clock(number(0.0), Clock.JUMPED)
    w.set_clock(number(0.0), Clock.MATRIX_STEP)


def raise_to(w: Stepping, worst: str, change: str, value: str, state: str | int) -> None:
    """Raise a variable to the change of a state over its tolerance, if that is more."""
    scale = w.fadd(w.read("%tolerance", state), w.fmul(w.clock(Clock.RELATIVE), w.fabs(value)))
    part = w.fdiv(w.fabs(change), scale)
    # not-a-number must not look small
    bad = w.let(f"fcmp uno double {part}, {part}")
    w.put("double", w.fmax(w.get("double", worst), w.select(bad, number(1e300), part)), worst)


class Border(NamedTuple):
    """The drive's states among the unknowns of Newton's method: z = given + c_z g(q, v, z).

    states number of them
    rates  those that are rates of other ones
    c_z    how far a change of their rates moves them
    given  by their number
    """

    states: int
    rates: Sequence[int]
    c_z: str
    given: Callable[[str], str]

    def weighed(self, w: Flow, change: str, k: int) -> str:
        """A change of a state as it counts: one of a rate by what it makes of its state, as those of v do of q."""
        return w.fmul(self.c_z, change) if k in self.rates else change


def newton_iteration(
    w: Stepping,
    n: int,
    trial: Trial,
    t: str,
    h: str,
    c_v: str,
    c_a: str,
    border: Border,
    follow: Callable[[str], None],
) -> str:
    """Move a trial by Newton steps onto the equations of motion and of the drive's states; whether it got there.

    A change d of q changes v by c_v d and a by c_a d; ``follow`` brings the energies after their rates, and raises what
    it is given to the largest weighted change. The rates of the drive's states become those that lead to them: where
    they are stiff, g of a state that is good enough is not. The matrix is renewed for another step, and where an old
    one makes slow progress.
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
                f"{f'double {border.c_z}, ' if border.states else ''}ptr {trial.matrix})"
            )
            w.do(f"call void @lu(ptr {trial.matrix}, ptr {trial.pivots}, i64 {n + border.states})")
            w.set_clock(h, Clock.MATRIX_STEP)
            w.put("i1", "false", restart)
            w.put("i1", "true", fresh)
        evaluate_residual(w, trial, t)
        worst = w.variable("double", number(0.0))
        follow(worst)
        if border.states:
            with w.repeat(border.states) as k:
                reached = w.fadd(border.given(k), w.fmul(border.c_z, w.read(trial.rates, k)))
                w.write(w.fsub(w.read(trial.z, k), reached), trial.residual, w.iadd(k, n))
        pointers = f"ptr {trial.matrix}, ptr {trial.pivots}, ptr {trial.residual}"
        w.do(f"call void @lu_solve({pointers}, i64 {n + border.states})")
        if border.states:
            for j in range(border.states):
                k, delta = str(j), w.read(trial.residual, n + j)
                new = w.fsub(w.read(trial.z, k), delta)
                w.write(new, trial.z, k)
                w.write(w.fdiv(w.fsub(new, border.given(k)), border.c_z), trial.rates, k)
                raise_to(w, worst, border.weighed(w, delta, j), new, 2 * n + j)
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


def _change_places(layout: StateLayout) -> list[int]:
    """Where q, v, a, residual, rates, z, and residual and rates of the state itself stand in the scratch; its size."""
    n, m, rest = layout.count, layout.states, layout.further
    return [*accumulate([n, n, n, n + m, rest, m, n, rest if m else 0], initial=0)]


def change_ir(layout: StateLayout) -> str:
    """``change(context, t, p, q, v, a, z, x, S, pivots, out, scratch, tolerance, relative)``: G x to ``out``.

    G = (1 - p J)^-1 - 1 is what a backward Euler step by p adds to a small change x = (q, v, states of the drive) of a
    state, x' = J x, and S the factorised Newton matrix for c_v = 1/p, c_a = 1/p^2 and c_z = p. It takes one residual,
    of the state moved by a small part of its tolerance along x, and one solution with S.
    """
    w, n, states = Flow(), layout.count, layout.states
    q1, v1, a1, r, rates, z1, r0, rates0 = (w.at("%scratch", k) for k in _change_places(layout)[:-1])
    x_v, x_z = w.at("%delta", n), w.at("%delta", 2 * n)

    def moved(i: str) -> str:
        return w.fadd(w.read("%delta", i), w.fmul("%p", w.read(x_v, i)))

    size = w.variable("double", number(MOVED))
    least = w.fmax("%relative", number(LEAST_RELATIVE))
    with w.repeat(n) as i:
        scale = w.fadd(w.read("%tolerance", i), w.fmul(least, w.fabs(w.read("%q", i))))
        w.put("double", w.fmax(w.get("double", size), w.fdiv(w.fabs(moved(i)), scale)), size)
    for k in range(states):
        scale = w.fadd(w.read("%tolerance", 2 * n + k), w.fmul(least, w.fabs(w.read("%z", k))))
        w.put("double", w.fmax(w.get("double", size), w.fdiv(w.fabs(w.read(x_z, k)), scale)), size)
    part = w.fdiv(number(MOVED), w.get("double", size))
    with w.repeat(n) as i:
        w.write(w.fadd(w.read("%q", i), w.fmul(part, moved(i))), q1, i)
        w.write(w.fadd(w.read("%v", i), w.fmul(part, w.read(x_v, i))), v1, i)
        w.write(w.read("%a", i), a1, i)
    for k in range(states):
        w.write(w.fadd(w.read("%z", k), w.fmul(part, w.read(x_z, k))), z1, k)
    state = ", ".join(f"ptr {each}" for each in (q1, v1, a1, z1 if states else "%z", r, rates))
    w.do(f"call void @residual(ptr %context, double %t, {state})")
    # what Newton's method has left is no change
    with w.repeat(n) as i:
        w.write(w.fsub(w.read(r, i), w.read(r0, i)), r, i)
    for k in range(states):
        w.write(w.fmul("%p", w.fsub(w.read(rates0, k), w.read(rates, k))), r, n + k)
    w.do(f"call void @lu_solve(ptr %S, ptr %pivots, ptr {r}, i64 {n + states})")
    with w.repeat(n) as i:
        d = w.fdiv(w.read(r, i), part)
        w.write(w.fsub(w.fmul("%p", w.read(x_v, i)), d), "%out", i)
        w.write(w.fdiv(w.fsub(number(0.0), d), "%p"), w.at("%out", n), i)
    for k in range(states):
        w.write(w.fdiv(w.fsub(number(0.0), w.read(r, n + k)), part), "%out", 2 * n + k)
    pointers = ("q", "v", "a", "z", "delta", "S", "pivots", "out", "scratch", "tolerance")
    doubles = ("double %t", "double %p", *(f"ptr %{each}" for each in pointers), "double %relative")
    return w.text("change", ", ".join(["ptr %context", *doubles]), attributes="internal")


def changes_of_errors(
    w: Stepping, layout: StateLayout, t: str, p: str, trial: Trial, scratch: str
) -> Callable[[str, str], None]:
    """``change`` of errors beside a state, with its matrix: a function of the places of an error and of the result."""
    *_, moved_rates, _, own, own_rates, _ = _change_places(layout)
    base, rates = w.at(scratch, own), w.at(scratch, own_rates if layout.states else moved_rates)
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


def change_work(layout: StateLayout) -> int:
    """Doubles of scratch."""
    return _change_places(layout)[-1]


@contextmanager
def energies(w: Flow, layout: StateLayout) -> Iterator[str]:
    """A loop over the energies, by their places after v."""
    with w.repeat(BALANCES) as k:
        yield w.iadd(k, layout.states) if layout.states else k


def step_of_matrix(w: Stepping) -> str:
    """The step that the matrix was made for, unless another one is much better."""
    wanted, matrix = w.clock(Clock.STEP), w.clock(Clock.MATRIX_STEP)
    near = w.less(w.fmul(number(KEEP_FROM), matrix), wanted)
    near = w.let(f"and i1 {near}, {w.less(wanted, w.fmul(number(KEEP_TO), matrix))}")
    fixed = w.less(number(0.5), w.clock(Clock.FIXED))
    return w.select(w.let(f"and i1 {near}, {w.negated(fixed)}"), matrix, wanted)
