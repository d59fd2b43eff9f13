"""Newton's method for implicit steps in compiled code, with the exact matrix from seeded tangents.

The matrix d r/d q + c_v d r/d v + c_a d r/d a costs one tangent per coordinate, a register full at a time, and is kept
while the iteration converges with it. States of the drive, z' = g(q, v, z), are unknowns beside the coordinates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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


def _dot(w: Flow, a: str, b: str, count: str | int) -> str:
    """Sum of products of two rows; four sums take turns, none of which waits for the others."""
    sums = [w.variable("double", number(0.0)) for _ in range(4)]

    def add(which: str, k: str) -> None:
        w.put("double", w.fadd(w.get("double", which), w.fmul(w.read(a, k), w.read(b, k))), which)

    with w.repeat(w.let(f"lshr i64 {count}, 2")) as k:
        for u, each in enumerate(sums):
            add(each, w.iadd(w.imul(k, 4), u))
    whole = w.let(f"and i64 {count}, -4")
    with w.repeat(w.let(f"and i64 {count}, 3")) as k:
        add(sums[0], w.iadd(whole, k))
    first, second, third, fourth = (w.get("double", each) for each in sums)
    return w.fadd(w.fadd(first, second), w.fadd(third, fourth))


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
        row = w.at("%S", w.imul(i, "%n"))
        w.write(w.fsub(w.read("%b", i), _dot(w, row, "%b", i)), "%b", i)
    with w.repeat("%n") as back:
        i = w.let(f"sub i64 {w.let(f'sub i64 %n, {back}')}, 1")
        diagonal, after = w.at("%S", w.iadd(w.imul(i, "%n"), i)), w.at("%b", w.iadd(i, 1))
        left = w.fsub(w.read("%b", i), _dot(w, w.at(diagonal, 1), after, back))
        w.write(w.fdiv(left, w.read(diagonal, 0)), "%b", i)
    solve = w.text("lu_solve", "ptr noalias %S, ptr noalias %pivots, ptr noalias %b, i64 %n", attributes="internal")
    return factorise + solve


class Trial(NamedTuple):
    """Arrays of a state that is looked for: it must satisfy residual(t, q, v, a, z) = 0 with rates of z.

    matrix, pivots  the factorised Newton matrix
    by_q            derivatives by the coordinates alone, as the Newton matrix has them: its first columns
    by_a            the same by accelerations, OVERWHELMING times as large
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
    by_q: str
    by_a: str

    @property
    def state(self) -> str:
        return ", ".join(f"ptr {p}" for p in (self.q, self.v, self.a, self.z))


def evaluate_residual(w: Stepping, trial: Trial, t: str) -> None:
    """The residual of a trial and the rates of its further states."""
    w.count(Clock.CALLS)
    pointers = f"{trial.state}, ptr {trial.residual}, ptr {trial.rates}"
    w.do(f"call void @residual(ptr %context, double {t}, {pointers})")


def _differentiate(w: Stepping, trial: Trial, t: str, states: int, factors: Sequence[str], out: str) -> None:
    """The Newton matrix of a trial for the factors c_v, c_a and, where the drive has states, c_z."""
    given = ", ".join(f"double {c}" for c in factors[: 3 if states else 2])
    w.do(f"call void @newton(ptr %context, double {t}, {trial.state}, {given}, ptr {out})")


def settle(w: Stepping, n: int, states: int, trial: Trial) -> None:
    """Accelerations of a state after its forces have jumped: the residual is linear in them.

    Of d r/d q + c_a d r/d a with an overwhelming c_a nothing but the second is seen.
    """
    t = w.clock(Clock.T)
    evaluate_residual(w, trial, t)
    for k in range(states):
        w.write(number(0.0), trial.residual, n + k)
    _differentiate(w, trial, t, states, (number(0.0), number(OVERWHELMING), number(0.0)), trial.matrix)
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
            zero, inertia = number(0.0), number(OVERWHELMING)
            _differentiate(w, trial, t, border.states, (c_v, c_a, border.c_z), trial.matrix)
            _differentiate(w, trial, t, border.states, (zero, zero, border.c_z), trial.by_q)
            _differentiate(w, trial, t, border.states, (zero, inertia, zero), trial.by_a)
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


def change_ir(layout: StateLayout) -> str:
    """``change(p, x, S, pivots, by_q, by_a, out, y)``: G x to ``out``; y is scratch.

    G = (1 - p J)^-1 - 1 is what a backward Euler step by p adds to a small change x = (q, v, states z of the drive) of
    a state, x' = J x. S is the factorised Newton matrix for c_v = 1/p, c_a = 1/p^2 and c_z = p, N its part by_q. With
    S y = N x_q - (dr/da x_v / p, x_z) the step adds -y_q to q, -(x_v + y_q / p) to v and -(x_z + y_z) to z.
    """
    w, n, states = Flow(), layout.count, layout.states
    size = n + states
    x_v, x_z = w.at("%delta", n), w.at("%delta", 2 * n)
    lighter = w.fdiv(number(-1.0 / OVERWHELMING), "%p")

    def product(matrix: str, row: str, x: str) -> str:
        return _dot(w, w.at(matrix, w.imul(row, size)), x, n)

    with w.repeat(n) as i:
        inertia = w.fmul(lighter, product("%by_a", i, x_v))
        w.write(w.fadd(product("%by_q", i, "%delta"), inertia), "%y", i)
    for k in range(states):
        w.write(w.fsub(product("%by_q", str(n + k), "%delta"), w.read(x_z, k)), "%y", n + k)
    w.do(f"call void @lu_solve(ptr %S, ptr %pivots, ptr %y, i64 {size})")
    with w.repeat(n) as i:
        y = w.read("%y", i)
        w.write(w.fsub(number(0.0), w.fadd(w.read(x_v, i), w.fdiv(y, "%p"))), w.at("%out", n), i)
        w.write(w.fsub(number(0.0), y), "%out", i)
    for k in range(states):
        w.write(w.fsub(number(0.0), w.fadd(w.read(x_z, k), w.read("%y", n + k))), "%out", 2 * n + k)
    pointers = ", ".join(f"ptr %{each}" for each in ("delta", "S", "pivots", "by_q", "by_a", "out", "y"))
    return w.text("change", f"double %p, {pointers}", attributes="internal")


def change_of_error(w: Stepping, p: str, trial: Trial, scratch: str, x: str, out: str) -> None:
    """Call ``change`` for an error x of a state."""
    arrays = (x, trial.matrix, trial.pivots, trial.by_q, trial.by_a, out, scratch)
    w.do(f"call void @change(double {p}, {', '.join(f'ptr {each}' for each in arrays)})")


def keep_largest(w: Stepping, n: int, error: str, largest: str) -> None:
    """Raise the largest errors of the coordinates so far to those of now."""
    with w.repeat(n) as i:
        w.write(w.fmax(w.read(largest, i), w.fabs(w.read(error, i))), largest, i)


def matrices_and_scratch(layout: StateLayout) -> list[int]:
    """Sizes of what Newton's method and ``change`` need: the matrix, its pivots, by_q, by_a, scratch."""
    size = layout.count + layout.states
    return [size**2, size, size**2, size**2, size]


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
