"""Diagonally implicit Runge-Kutta of order 4 in compiled code, with the exact Newton matrix from seeded tangents.

Kennedy and Carpenter's ESDIRK4(3)6L[2]SA (Applied Numerical Mathematics 44 (2003) 139): a first explicit stage, five
implicit ones with one diagonal entry, so that one matrix serves all of them; stiffly accurate and L-stable, of stage
order 2, with an embedded method of order 3. On the second-order equations of motion a stage is

    v_i = V_i + h gamma a_i,  q_i = Q_i + h gamma v_i,  residual(t_i, q_i, v_i, a_i) = 0,

where V_i and Q_i come from the stages before it: the same problem as a step of ``generalised_alpha``. States of the
drive, z' = g(q, v, z), are unknowns beside the coordinates: z_i = Z_i + h gamma g(q_i, v_i, z_i).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number
from pliant.engine.stepping.implicit import (
    Border,
    ImplicitStepper,
    Trial,
    change_of_error,
    energies,
    evaluate_residual,
    keep_largest,
    matrices_and_scratch,
    newton_iteration,
    raise_to,
    settle,
    step_of_matrix,
)
from pliant.engine.stepping.integrators import Clock, Stepping
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.stepper import StepShape

Floats = NDArray[np.float64]

STAGES = 6
DIAGONAL = 0.25
LOCAL = 4
"""Order of the local error that is estimated."""
SLOWEST, FASTEST, SAFETY = 0.2, 2.5, 0.8
GAIN, MEMORY = 0.3 / LOCAL, 0.2 / LOCAL
"""Exponents of the error and of its change, as in ``integrators``."""
LEAST_ERROR = 1e-4
OF_SOLUTION = 2.0
"""Weight of the embedded method's error in step control: where a step goes half a radian of a vibration, the error of
the solution is so many times as large."""
OF_ESTIMATE = 15.2
"""Error of a step over G of the embedded method's, G = (1 - h/4 J)^-1 - 1: within a factor of 2.5 for vibrations of any
rate ..."""
CARRIED = (4.0, 4.0, -4 / 3, -5 / 3)
"""... and how the errors of earlier steps are carried on: by 1 + 4 G + 4 G^2 - 4/3 G^3 - 5/3 G^4. Of third order:
resolved vibrations keep size and phase; of what is faster than the steps each of them forgets a third."""


GUESSES = ((), (0,), (0, 1), (0, 1, 2), (0, 1, 3), (2, 3, 4))
"""Stages through which the acceleration of a stage is guessed, by a polynomial in time."""


class Esdirk(NamedTuple):
    """The coefficients.

    A      (stages, stages); its last row are the weights
    c      places of the stages in the step
    error  weights minus those of the embedded method
    guess  (stages, stages): weights of the stages before in the guess of a stage
    """

    A: Floats
    c: Floats
    error: Floats
    guess: Floats


@cache
def esdirk4() -> Esdirk:
    """The coefficients."""
    A = np.zeros((STAGES, STAGES))
    A[1, :2] = 1 / 4, 1 / 4
    A[2, :3] = 8611 / 62500, -1743 / 31250, 1 / 4
    A[3, :4] = 5012029 / 34652500, -654441 / 2922500, 174375 / 388108, 1 / 4
    A[4, :5] = (
        15267082809 / 155376265600,
        -71443401 / 120774400,
        730878875 / 902184768,
        2285395 / 8070912,
        1 / 4,
    )
    A[5] = 82889 / 524892, 0, 15625 / 83664, 69875 / 102672, -2260 / 8211, 1 / 4
    embedded = np.array(
        [
            4586570599 / 29645900160,
            0,
            178811875 / 945068544,
            814220225 / 1159782912,
            -3700637 / 11593932,
            61727 / 225920,
        ]
    )
    c, guess = A.sum(axis=1), np.zeros((STAGES, STAGES))
    for s, known in enumerate(GUESSES):
        for j in known:
            guess[s, j] = np.prod([(c[s] - c[k]) / (c[j] - c[k]) for k in known if k != j])
    return Esdirk(A, c, A[5] - embedded, guess)


class KennedyCarpenter(ImplicitStepper):
    """The method."""

    name, order, words = "esdirk", 4, "implicit, for stiff models to many digits"
    finer = 1.0

    def work(self, shape: StepShape) -> int:
        return esdirk_work(shape.layout)

    def steps_text(self, shape: StepShape) -> str:
        return esdirk_ir(shape.layout, shape.rate_states, shape.turning)


def esdirk_ir(layout: StateLayout, rate_states: Sequence[int] = (), turning: Sequence[int] = ()) -> str:
    """``esdirk``; see ``Stepping`` for its arguments, ``Border`` for states of the drive that are rates.

    x      q, v, further states z (m of the drive, energies), a, error of q, v (n each) and of the drive's states (m),
           the largest error of each q so far (n)
    work   q, v, a (n each), residual (n + m) of the trial, z, its rates of the trial (all further states each), what
           ``matrices_and_scratch`` lists, then of every stage: v, a (n each), rates of z, estimated error of the step,
           and G of errors (2 n + m each, three times)

    Needs ``residual`` and ``newton`` as ``generalised_alpha`` does.
    """
    w, pair = Stepping(turning), esdirk4()
    n, m, rest, states = layout.count, layout.states, layout.further, layout.size
    place = np.cumsum([0, *_sizes(layout)]).tolist()
    places = (w.at("%work", k) for k in place[:-1])
    q1, v1, a1, r, z1, trial_rates, S, pivots, by_q, by_a, scratch, *stages = places
    *stages, lost, g1, g2, g3 = stages
    K_v, K_a, K_z = stages[0::3], stages[1::3], stages[2::3]
    q, v, z, a = "%x", w.at("%x", n), w.at("%x", 2 * n), w.at("%x", states)
    carried, worst_error = w.at("%x", states + n), w.at("%x", states + 3 * n + m)
    trial = Trial(q1, v1, a1, z1, r, trial_rates, S, pivots, by_q, by_a)
    relative = w.clock(Clock.RELATIVE)

    def knot() -> None:
        w.keep_knot(("%x", states), (v, n), (a, n), (K_z[0], rest))

    def keep(stage: int, v_from: str, a_from: str, rates_from: str) -> None:
        """Store the slopes of a stage."""
        with w.repeat(n) as i:
            w.write(w.read(v_from, i), K_v[stage], i)
            w.write(w.read(a_from, i), K_a[stage], i)
        with w.repeat(rest) as k:
            w.write(w.read(rates_from, k), K_z[stage], k)

    def given(stage: int, h: str, k: str) -> str:
        """A state of the drive as the stages before have it."""
        return w.fadd(w.read(z, k), w.fmul(h, _combined(w, pair.A[stage, :stage], K_z, k)))

    def follow(stage: int, h: str, worst: str) -> None:
        """Energies of a stage after their rates."""
        with energies(w, layout) as k:
            total = _combined(w, pair.A[stage, :stage], K_z, k)
            total = w.fadd(total, w.fmul(number(DIAGONAL), w.read(trial_rates, k)))
            new = w.fadd(w.read(z, k), w.fmul(h, total))
            raise_to(w, worst, w.fsub(new, w.read(z1, k)), new, w.iadd(k, 2 * n))
            w.write(new, z1, k)

    def carry(part: str) -> None:
        """Carry the error of the run over the step that was taken, and add its own."""
        change = partial(change_of_error, w, part, trial, scratch)
        # what is carried: e + 4 G e + 4 G^2 e - 4/3 G^3 e, then G of the rest
        source = carried
        for target in (g1, g2, g3):
            change(source, target)
            source = target
        with w.repeat(2 * n + m) as i:
            gs = [w.read(g, i) for g in (g1, g2, g3)]
            total = w.read(carried, i)
            for weight, g in zip(CARRIED, gs, strict=False):
                total = w.fadd(total, w.fmul(number(weight), g))
            w.write(total, carried, i)
            own = w.fmul(number(OF_ESTIMATE), w.read(lost, i))
            w.write(w.fadd(own, w.fmul(number(CARRIED[-1]), gs[-1])), g1, i)
        change(g1, g2)
        with w.repeat(2 * n + m) as i:
            w.write(w.fadd(w.read(carried, i), w.read(g2, i)), carried, i)
        keep_largest(w, n, carried, worst_error)

    with w.flushed():
        with w.when(w.less(w.clock(Clock.HAS_SLOPE), number(0.5))):
            here = trial._replace(q=q, v=v, a=a, z=z)
            with w.when(w.less(number(0.5), w.clock(Clock.JUMPED))):
                settle(w, n, m, here)
            evaluate_residual(w, here, w.clock(Clock.T))
            with w.repeat(rest) as k:
                w.write(w.read(trial_rates, k), K_z[0], k)
            w.set_clock(number(1.0), Clock.HAS_SLOPE)
        knot()
        with w.steps(partial(step_of_matrix, w)) as (t, h, reach, last):
            part = w.fmul(h, number(DIAGONAL))
            c_v = w.fdiv(number(1.0), part)
            c_a = w.fmul(c_v, c_v)
            good = w.variable("i1", "true")
            keep(0, v, a, K_z[0])
            for s in range(1, STAGES):
                with w.when(w.get("i1", good)):
                    with w.repeat(n) as i:
                        guess = _combined(w, pair.guess[s, :s], K_a, i)
                        w.write(guess, a1, i)
                        V = w.fadd(w.read(v, i), w.fmul(h, _combined(w, pair.A[s, :s], K_a, i)))
                        rate = w.fadd(V, w.fmul(part, guess))
                        Q = w.fadd(w.read(q, i), w.fmul(h, _combined(w, pair.A[s, :s], K_v, i)))
                        w.write(rate, v1, i)
                        w.write(w.fadd(Q, w.fmul(part, rate)), q1, i)
                    with w.repeat(rest) as k:
                        w.write(_combined(w, pair.guess[s, :s], K_z, k), trial_rates, k)
                    border = Border(m, rate_states, part, partial(given, s, h))
                    for k in map(str, range(m)):
                        w.write(w.fadd(border.given(k), w.fmul(part, w.read(trial_rates, k))), z1, k)
                    follow(s, h, w.variable("double", number(0.0)))
                    at = reach if s == STAGES - 1 else w.fadd(t, w.fmul(number(pair.c[s]), h))
                    converged = newton_iteration(w, n, trial, at, h, c_v, c_a, border, partial(follow, s, h))
                    w.put("i1", converged, good)
                    keep(s, v1, a1, trial_rates)
            with w.when(w.negated(w.get("i1", good))):
                w.set_clock(w.fmul(h, number(SLOWEST)), Clock.STEP)
                w.count(Clock.REJECTED)
            with w.when(w.get("i1", good)):
                total = w.variable("double", number(0.0))
                with w.repeat(n) as i:
                    scale = w.fadd(w.read("%tolerance", i), w.fmul(relative, w.fabs(w.read(q1, i))))
                    # what an error of the rate makes of the position within a stage counts as well
                    for slopes, weight, place in ((K_v, number(1.0), 0), (K_a, part, n)):
                        e = w.fmul(h, _combined(w, pair.error, slopes, i))
                        w.write(e, w.at(lost, place), i)
                        e = w.fdiv(w.fmul(weight, e), scale)
                        w.put("double", w.fadd(w.get("double", total), w.fmul(e, e)), total)
                for j in range(m):
                    scale = w.fadd(w.read("%tolerance", 2 * n + j), w.fmul(relative, w.fabs(w.read(z1, j))))
                    e = w.fmul(h, _combined(w, pair.error, K_z, str(j)))
                    w.write(e, lost, 2 * n + j)
                    e = w.fdiv(border.weighed(w, e, j), scale)
                    square = w.fmul(number(layout.share), w.fmul(e, e))
                    w.put("double", w.fadd(w.get("double", total), square), total)
                error = w.sqrt(w.fmul(w.get("double", total), number(OF_SOLUTION**2 / max(n, 1))))
                known = w.fmax(error, number(LEAST_ERROR))
                before = w.fmax(w.clock(Clock.ERROR_BEFORE), number(LEAST_ERROR))
                w.set_clock(known, Clock.ERROR_BEFORE)
                small = w.less(error, number(1.0))
                with w.when(w.negated(small)):
                    shrink = w.fmul(number(SAFETY), w.power(known, -1.0 / LOCAL))
                    w.set_clock(w.fmul(h, w.fmax(shrink, number(SLOWEST))), Clock.STEP)
                    w.count(Clock.REJECTED)
                with w.when(small):
                    with w.repeat(rest) as k:
                        w.write(w.read(z1, k), z, k)
                        w.write(w.read(trial_rates, k), K_z[0], k)
                    with w.repeat(n) as i:
                        for source, target in ((q1, q), (v1, v), (a1, a)):
                            w.write(w.read(source, i), target, i)
                    w.accept(reach)
                    knot()
                    carry(part)
                    steady = w.fmul(w.power(known, -GAIN - MEMORY), w.power(before, MEMORY))
                    factor = w.fmin(w.fmul(number(SAFETY ** (LOCAL * GAIN)), steady), number(FASTEST))
                    step = w.clock(Clock.STEP)
                    grown = w.fmin(w.fmul(step, factor), w.clock(Clock.LARGEST))
                    w.set_clock(w.select(last, step, grown), Clock.STEP)
    return w.entry("esdirk")


def _combined(w: Flow, weights: Floats, stages: Sequence[str], i: str) -> str:
    """The sum of the stages' entries i."""
    total = number(0.0)
    for weight, stage in zip(weights.tolist(), stages, strict=False):
        if weight:
            total = w.fadd(total, w.fmul(number(weight), w.read(stage, i)))
    return total


def _sizes(layout: StateLayout) -> list[int]:
    """Sizes of the arrays in the work space."""
    n, m, rest = layout.count, layout.states, layout.further
    stages = [n, n, rest] * STAGES
    return [n, n, n, n + m, rest, rest, *matrices_and_scratch(layout), *stages, *[2 * n + m] * 4]


def esdirk_work(layout: StateLayout) -> int:
    """Doubles of work space."""
    return sum(_sizes(layout))
