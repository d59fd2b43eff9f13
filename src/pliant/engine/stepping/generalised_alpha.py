"""``generalised-alpha`` in compiled code, with the exact Newton matrix from seeded tangents.

Chung & Hulbert's method in the form of Arnold & Brüls: second order, unconditionally stable, with numerical damping of
the frequencies that the step does not resolve. States of the drive take Jansen, Whiting & Hulbert's
generalised-alpha for first order (Computer Methods in Applied Mechanics and Engineering 190 (2000) 305) of the same
spectral radius: the trapezoidal rule would ring where they are stiff.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from pliant.engine.compile.llvm_ir import number
from pliant.engine.stepping.implicit import (
    Border,
    Floats,
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

SLOWEST, FASTEST, SAFETY = 0.25, 2.0, 0.8
GAIN, MEMORY = 0.2 / 3, 0.1 / 3
"""Exponents of the error and of its change, as in ``integrators``, for a local error of third order."""
LEAST_ERROR = 1e-4
PHASE = (1 / 12, 3 / 8)
"""Error of a step of generalised-alpha, in h^3 times the third derivative of the state: the first number and the second
times (alpha_f - alpha_m)^2, as the amplification of slow vibrations has it."""
LAG = 1 / 12
"""The same of the drive's states: this number and (alpha_f - 1/2)^2, by Taylor's expansion of a step."""
UNKNOWN = "0x7FF8000000000000"
"""Not a number: what is not known yet."""


class GeneralisedAlpha(ImplicitStepper):
    """The method; what is filtered, accelerations and rates of the drive's states, follows the accelerations."""

    name, order, words = "generalised-alpha", 2, "implicit, for stiff models"
    finer = 1.5

    def filtered(self, layout: StateLayout) -> int:
        return filtered_size(layout)

    def begin(self, layout: StateLayout, extra: Floats, slope: Floats) -> None:
        # the machine code fills in what is filtered of the drive's states
        super().begin(layout, extra, slope)
        extra[self._own(layout)] = slope[layout.v]

    def carry(self, layout: StateLayout, before: Floats, extra: Floats, turned: Callable[[Floats], Floats]) -> None:
        extra[self._own(layout)] = turned(before[self._own(layout)])

    def _own(self, layout: StateLayout) -> slice:
        """Filtered accelerations behind x."""
        return slice(layout.count, 2 * layout.count)

    def work(self, shape: StepShape) -> int:
        return work_size(shape.layout)

    def steps_text(self, shape: StepShape) -> str:
        return generalised_alpha_ir(shape.layout, shape.rate_states, shape.turning)


def generalised_alpha_ir(layout: StateLayout, rate_states: Sequence[int] = (), turning: Sequence[int] = ()) -> str:
    """``generalised_alpha``; see ``Stepping`` for its arguments, ``Border`` for states of the drive that are rates.

    x      q, v, further states z (m of the drive; energies, by the trapezoidal rule), a, algorithmic a (n), algorithmic
           rates of the drive's states and how fast the rates changed in the step before (m each), error of q, v (n
           each) and of the drive's states (m), the largest error of each q so far (n)
    work   q, v, a, algorithmic a of the trial (n each), residual (n + m), z, its rates of the trial and before (all
           further states each), what ``matrices_and_scratch`` lists, change of q, v and the drive's states, G of it and
           of errors (2 n + m each)

    Needs ``residual(context, t, q, v, a, z, r, rates)`` and ``newton(context, t, q, v, a, z, c_v, c_a, S)``.
    """
    w = Stepping(turning)
    n, m, rest, states = layout.count, layout.states, layout.further, layout.size
    place = np.cumsum([0, *_alpha_sizes(layout)]).tolist()
    places = (w.at("%work", k) for k in place[:-1])
    q1, v1, a1, aa1, r, z1, trial_rates, rates, S, pivots, by_q, by_a, scratch, moved, g = places
    q, v, z, a = "%x", w.at("%x", n), w.at("%x", 2 * n), w.at("%x", states)
    aa, carried, worst_error = (w.at("%x", states + k) for k in (n, 2 * n + 2 * m, 4 * n + 3 * m))
    trial = Trial(q1, v1, a1, z1, r, trial_rates, S, pivots, by_q, by_a)
    alpha_m, alpha_f = w.clock(Clock.ALPHA_M), w.clock(Clock.ALPHA_F)
    gamma, beta, relative = w.clock(Clock.GAMMA), w.clock(Clock.BETA), w.clock(Clock.RELATIVE)
    one_m, one_f = w.fsub(number(1.0), alpha_m), w.fsub(number(1.0), alpha_f)
    fixed = w.less(number(0.5), w.clock(Clock.FIXED))

    def advance_energies(h: str, worst: str) -> None:
        half = w.fmul(number(0.5), h)
        with energies(w, layout) as k:
            mean = w.fadd(w.read(rates, k), w.read(trial_rates, k))
            new = w.fadd(w.read(z, k), w.fmul(half, mean))
            raise_to(w, worst, w.fsub(new, w.read(z1, k)), new, w.iadd(k, 2 * n))
            w.write(new, z1, k)

    def knot() -> None:
        w.keep_knot(("%x", states), (v, n), (a, n), (rates, rest))

    def carry(h: str, c_a: str) -> None:
        """Carry the error e over a step that was taken, e + h/p G e, and add its own, c (h/p)^2 G^2 (x1 - x0)."""
        p = w.fdiv(number(1.0), w.sqrt(c_a))
        ratio, delta = w.fdiv(h, p), w.fsub(alpha_f, alpha_m)
        own = w.fadd(number(PHASE[0]), w.fmul(number(PHASE[1]), w.fmul(delta, delta)))
        own = w.fmul(own, w.fmul(ratio, ratio))
        change = partial(change_of_error, w, p, trial, scratch)
        change(moved, g)
        with w.repeat(2 * n + m) as i:
            w.write(w.fadd(w.fmul(own, w.read(g, i)), w.fmul(ratio, w.read(carried, i))), moved, i)
        change(moved, g)
        with w.repeat(2 * n + m) as i:
            w.write(w.fadd(w.read(carried, i), w.read(g, i)), carried, i)
        keep_largest(w, n, carried, worst_error)

    lag = _Lag(w, layout, rate_states, z, rates, w.at("%x", states + 2 * n) if m else "", alpha_f)
    with w.flushed():
        with w.when(w.less(w.clock(Clock.HAS_SLOPE), number(0.5))):
            here = trial._replace(q=q, v=v, a=a, z=z)
            with w.when(w.less(number(0.5), w.clock(Clock.JUMPED))):
                settle(w, n, m, here)
                with w.repeat(n) as i:
                    w.write(w.read(a, i), aa, i)
            evaluate_residual(w, here, w.clock(Clock.T))
            with w.repeat(rest) as k:
                w.write(w.read(trial_rates, k), rates, k)
            lag.begin()
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
            border = lag.border(h)
            lag.guess(z1, border)
            advance_energies(h, w.variable("double", number(0.0)))
            converged = newton_iteration(w, n, trial, reach, h, c_v, c_a, border, partial(advance_energies, h))
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
                lag.add_error(total, h, z1, trial_rates, border)
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
                    lag.accept(w.at(moved, 2 * n) if m else "", h, z1, trial_rates)
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
                    carry(h, c_a)
                    steady = w.fmul(w.power(known, -GAIN - MEMORY), w.power(before, MEMORY))
                    factor = w.fmin(w.fmul(number(SAFETY ** (3 * GAIN)), steady), number(FASTEST))
                    step = w.clock(Clock.STEP)
                    keep = w.let(f"or i1 {fixed}, {last}")
                    grown = w.fmin(w.fmul(step, factor), w.clock(Clock.LARGEST))
                    w.set_clock(w.select(keep, step, grown), Clock.STEP)
    return w.entry("generalised_alpha")


class _Lag:
    """The drive's states in a step: (1 - alpha_m) s1 + alpha_m s0 = (1 - alpha_f) g1 + alpha_f g0,
    z1 = z0 + h ((1 - gamma) s0 + gamma s1).

    Jansen, Whiting & Hulbert's coefficients for a spectral radius, in Arnold & Bruels' notation, are
    alpha_f = radius / (radius + 1) as of the accelerations, alpha_m = 2 alpha_f - 1/2 and gamma = 1 - alpha_f.

    filtered  algorithmic rates s0, and the change of the rates per time in the step before
    """

    def __init__(
        self,
        w: Stepping,
        layout: StateLayout,
        rate_states: Sequence[int],
        z: str,
        rates: str,
        filtered: str,
        alpha_f: str,
    ) -> None:
        self.w, self.count, self.share, self.rate_states = w, layout.states, layout.share, rate_states
        self.z, self.rates, self.filtered = z, rates, filtered
        if self.count:
            self.tolerance = w.at("%tolerance", layout.drive.start)
            self.bend = w.at(filtered, self.count)
            self.alpha_f, self.gamma = alpha_f, w.fsub(number(1.0), alpha_f)
            self.alpha_m = w.fsub(w.fmul(number(2.0), alpha_f), number(0.5))
            self.one_m = w.fsub(number(1.0), self.alpha_m)

    def begin(self) -> None:
        w = self.w
        for k in range(self.count):
            w.write(w.read(self.rates, k), self.filtered, k)
            w.write(UNKNOWN, self.bend, k)

    def border(self, h: str) -> Border:
        w = self.w
        if not self.count:
            return Border(0, (), "", str)
        c_z = w.fdiv(w.fmul(h, w.fmul(self.gamma, self.gamma)), self.one_m)

        def given(k: str) -> str:
            known = w.fadd(w.fmul(self.alpha_f, w.read(self.filtered, k)), w.fmul(self.gamma, self._known(k)))
            return w.fadd(w.read(self.z, k), w.fmul(h, known))

        return Border(self.count, self.rate_states, c_z, given)

    def _known(self, k: str | int) -> str:
        """The part of s1 that does not depend on g1."""
        w = self.w
        before = w.fmul(self.alpha_f, w.read(self.rates, k))
        return w.fdiv(w.fsub(before, w.fmul(self.alpha_m, w.read(self.filtered, k))), self.one_m)

    def guess(self, z1: str, border: Border) -> None:
        """The rates stay."""
        w = self.w
        for k in map(str, range(self.count)):
            w.write(w.fadd(border.given(k), w.fmul(border.c_z, w.read(self.rates, k))), z1, k)

    def _bend(self, k: str | int, h: str, rates: str) -> str:
        w = self.w
        return w.fdiv(w.fsub(w.read(rates, k), w.read(self.rates, k)), h)

    def add_error(self, total: str, h: str, z1: str, rates: str, border: Border) -> None:
        """Squares of the errors, from the third derivative: the change of ``bend`` in a step."""
        if not self.count:
            return
        w = self.w
        tilt = w.fsub(self.alpha_f, number(0.5))
        weight = w.fmul(w.fmul(h, h), w.fadd(number(LAG), w.fmul(tilt, tilt)))
        for k in range(self.count):
            change = w.fsub(self._bend(k, h, rates), w.read(self.bend, k))
            scale = w.fadd(w.read(self.tolerance, k), w.fmul(w.clock(Clock.RELATIVE), w.fabs(w.read(z1, k))))
            part = w.fdiv(border.weighed(w, w.fmul(weight, change), k), scale)
            unknown = w.read(self.bend, k)
            square = w.fmul(number(self.share), w.fmul(part, part))
            square = w.select(w.let(f"fcmp uno double {unknown}, {unknown}"), number(0.0), square)
            w.put("double", w.fadd(w.get("double", total), square), total)

    def accept(self, moved: str, h: str, z1: str, rates: str) -> None:
        """Algorithmic rates and changes for the next step; how far the states moved."""
        w = self.w
        for k in range(self.count):
            w.write(w.fsub(w.read(z1, k), w.read(self.z, k)), moved, k)
            w.write(self._bend(k, h, rates), self.bend, k)
            own = w.fdiv(w.fmul(self.gamma, w.read(rates, k)), self.one_m)
            w.write(w.fadd(self._known(k), own), self.filtered, k)


def _alpha_sizes(layout: StateLayout) -> list[int]:
    """Sizes of the arrays in the work space."""
    n, m, rest = layout.count, layout.states, layout.further
    return [*[n] * 4, n + m, rest, rest, rest, *matrices_and_scratch(layout), 2 * n + m, 2 * n + m]


def work_size(layout: StateLayout) -> int:
    """Doubles of work space."""
    return sum(_alpha_sizes(layout))


def filtered_size(layout: StateLayout) -> int:
    """Doubles that are filtered: accelerations, and rates of the drive's states with their change."""
    return layout.count + 2 * layout.states
