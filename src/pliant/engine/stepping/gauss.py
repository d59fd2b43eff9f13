"""``gauss``: Gauss's collocation of order 32 in compiled code, for vibrations that are followed over many periods.

A step finds the accelerations at its sixteen stages, all at once, by Newton's method: the lanes of vector registers are
stages. The Newton matrix is taken apart by the vibrations about an earlier state (``stage_modes``). They are brought up
to date by perturbation wherever that saves more iterations than it costs, and found anew where it does not. The first
guess is the motion of these vibrations under what else was seen to act on them in the step before.

Nothing is damped, and a step may be longer than the period of the fastest vibration. Between the stages the motion is
the polynomial through them, and its last Legendre coefficients say how well it follows the motion; at the end of a step
it is far better than that.
"""

from __future__ import annotations

import ctypes
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile import jit
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number
from pliant.engine.stepping.gauss_coupled import CoupledCode
from pliant.engine.stepping.gauss_legendre import STAGES, gauss_legendre, legendre
from pliant.engine.stepping.gauss_numbers import (
    CONVERGED,
    FASTEST,
    FORGOTTEN,
    FOUND,
    GUESS,
    ITERATIONS,
    JUMP,
    KEEP_FROM,
    KEEP_TO,
    LAST,
    MARGIN,
    MEMORY,
    ORDER,
    RELAXED,
    RENEWAL,
    SAFETY,
    SHRINK,
    SLOW,
    SLOWEST,
    SMALL,
    SUBSTEPS,
    UPDATE,
    YOUNG,
    GaussWork,
    Own,
)
from pliant.engine.stepping.integrators import Clock, Status, Step, Stepping, is_wanted
from pliant.engine.stepping.layout import BALANCES
from pliant.engine.stepping.stage_modes import StageModes
from pliant.engine.stepping.stepper import Stepped, Stepper, StepShape

Floats = NDArray[np.float64]


class Gauss(Stepper):
    """The method; vibrations about a state are found by NumPy where they are too old."""

    name, order, words = "gauss", 2 * STAGES, "collocation, for vibrations that last"
    kind, dense, parts, worth = "stages", True, SUBSTEPS, 2

    def work(self, shape: StepShape) -> int:
        return GaussWork.of(shape.layout, shape.signals).end

    def text(self, shape: StepShape) -> str:
        return GaussCode(shape, jit.lanes()).text()

    def forget(self, stepped: Stepped) -> None:
        self._own(stepped)[[*FORGOTTEN]] = [*FORGOTTEN.values()]

    def _own(self, stepped: Stepped) -> Floats:
        start = GaussWork.of(stepped.layout, stepped.shape.signals).own
        return stepped.work[start : start + len(Own)]

    def modes(self, stepped: Stepped) -> StageModes:
        """The vibrations in its work space."""
        at, n = GaussWork.of(stepped.layout, stepped.shape.signals), stepped.layout.count
        matrices = (_part(stepped, start, n, n) for start in (at.shapes, at.inverse))
        return StageModes(*matrices, *(_part(stepped, start, n) for start in (at.squares, at.damping)))

    def renew(self, stepped: Stepped, clock: Floats, x: Floats) -> None:
        """Find the vibrations about a state, and its slope."""
        layout, lanes, n = stepped.layout, jit.lanes(), stepped.layout.count
        at, own = GaussWork.of(layout, stepped.shape.signals), self._own(stepped)

        clock[Clock.MATRICES] += 1
        p, i = ctypes.c_void_p, ctypes.c_int64
        linearise = ctypes.CFUNCTYPE(None, p, ctypes.c_double, p, p, i)(stepped.code.address("linearise"))
        blocks = -(-(2 * n + layout.states + 1) // STAGES)
        arrays = (x.ctypes.data, stepped.work.ctypes.data)
        linearise(stepped.equations.context.ctypes.data, float(clock[Clock.T]), *arrays, blocks)
        J = _part(stepped, at.differences, 2 * n, n)
        modes = StageModes.of(-J[:n].T, -J[n:].T)
        for target, found in zip(self.modes(stepped), modes, strict=True):
            target[:] = found
        # stages of a group beside one another, coordinate by coordinate
        places = (at.accelerations, at.places, at.rates, at.remainder)
        *motion, remainder = (_part(stepped, k, STAGES // lanes, n, lanes) for k in places)
        if not own[Own.BEFORE]:
            slope = _part(stepped, at.slope, layout.size)
            motion = [each[:, None] for each in (slope[n : 2 * n], x[:n], x[n : 2 * n])]
        a, q, v = (modes.inverse @ each for each in motion)
        remainder[:] = a + modes.squares[:, None] * q + modes.damping[:, None] * v
        own[[Own.AGE, Own.OWED, Own.LOST, Own.FILTER, Own.CHANGED]] = 0.0
        own[Own.FEWEST] = ITERATIONS


def _part(stepped: Stepped, start: int, *shape: int) -> Floats:
    """An array in the work space."""
    return stepped.work[start : start + prod(shape)].reshape(shape)


class GaussCode(CoupledCode):
    """All functions of the steps, ``linearise`` and ``gauss`` for use from outside."""

    def __init__(self, shape: StepShape, lanes: int) -> None:
        super().__init__(shape, lanes)
        self.turning = shape.turning

    def text(self) -> str:
        functions = [self.stage_functions(), self.vibration_functions(), self.coupled_functions()]
        return "".join([*functions, self._gauss()])

    def _gauss(self) -> str:
        """``gauss``; see ``Stepping`` for its arguments."""
        w = Stepping(self.turning)
        step = _Steps(self, w)
        with w.flushed():
            step.forget_where_forces_jumped()
            step.first_knot()
            with w.steps() as now:
                step.take(now)
        return w.entry("gauss")


def _legendre(w: Flow, x: str, count: int) -> list[str]:
    """So many Legendre polynomials at a place, or at one per lane; see ``gauss_legendre.legendre``."""
    P = [w.number(1.0), x]
    for k in range(1, count - 1):
        upper = w.fmul(w.number((2 * k + 1) / (k + 1)), w.fmul(x, P[k]))
        P.append(w.fsub(upper, w.fmul(w.number(k / (k + 1)), P[k - 1])))
    return P


class _Steps:
    """The code of one step, in its order."""

    def __init__(self, code: GaussCode, w: Stepping) -> None:
        self.code, self.w, self.n, self.layout = code, w, code.n, code.layout
        self.groups, self.lanes = code.groups, code.lanes
        self.array = code.arrays(w)
        self.seen = code.seen(w)
        self.square = w.variable("double", number(0.0))

    def own(self, entry: Own) -> str:
        return self.w.read(self.array["own"], int(entry))

    def set_own(self, value: str, entry: Own) -> None:
        self.w.write(value, self.array["own"], int(entry))

    def call(self, name: str, *arguments: str) -> None:
        self.w.do(f"call void @{name}({', '.join(arguments)})")

    def arrays(self, *names: str) -> list[str]:
        return [f"ptr {self.array[name]}" for name in names]

    def forget_where_forces_jumped(self) -> None:
        """As ``Gauss.forget`` does."""
        with self.w.when(self.w.less(number(0.5), self.w.clock(Clock.JUMPED))):
            for entry, value in FORGOTTEN.items():
                self.set_own(number(value), entry)
            self.w.set_clock(number(0.0), Clock.JUMPED)

    def first_knot(self) -> None:
        self.w.keep_knot(("%x", self.layout.size), (self.array["slope"], self.layout.size))

    def take(self, now: Step) -> None:
        w = self.w
        with w.when(w.less(self.own(Own.AGE), number(0.0))):
            w.put("i64", str(int(Status.STALE)), w.status)
            w.leave(w.exit)
        with w.when(w.let(f"fcmp une double {now.h}, {self.own(Own.FILTER)}")):
            self.call("filters", f"double {now.h}", *self.arrays("squares", "damping", "filters"))
            if self.layout.states:
                self.call("coupled_factors", f"double {now.h}", "ptr %work")
            self.set_own(now.h, Own.FILTER)
        self.call("followed", "ptr %context", *self.arrays("signals"), f"double {now.t}", f"double {now.h}")
        self._weigh(now.h)
        self._guess(now.h)
        iterations, is_found = self._newton(now.h)
        error = self._error()
        good = w.let(f"and i1 {is_found}, {w.less(error, number(1.0))}")
        allowed = w.fmul(number(SAFETY), w.power(w.fmax(error, number(1e-30)), -1.0 / ORDER))
        with w.when(w.negated(good)):
            self._refuse(now.h, is_found, error, allowed)
        with w.when(good):
            self._accept(now, iterations, allowed)

    def _weigh(self, h: str) -> None:
        """What a change of an acceleration makes of a rate and of a coordinate, in units of their tolerances."""
        w, n, relative = self.w, self.n, self.w.clock(Clock.RELATIVE)
        with w.repeat(n) as j:
            scale = []
            for place in (j, w.iadd(j, n)):
                size = w.fmul(relative, w.fabs(w.read("%x", place)))
                scale.append(w.fadd(w.read("%tolerance", place), size))
            weight = w.fmax(w.fdiv(h, scale[1]), w.fdiv(w.fmul(h, h), scale[0]))
            w.write(weight, self.array["weights"], j)
        for k in range(self.layout.states):
            place = self.layout.drive.start + k
            size = w.fmul(relative, w.fabs(w.read("%x", place)))
            weight = w.fdiv(w.fmul(number(sqrt(self.layout.share)), h), w.fadd(w.read("%tolerance", place), size))
            w.write(weight, self.array["drive_weights"], k)

    def _guess(self, h: str) -> None:
        """What acts beside the vibrations, as in the step before; accelerations that follow from it."""
        w, n, lanes, gauss = self.w, self.n, self.lanes, gauss_legendre()
        rest, code = self.array["at_rest"], self.code
        with w.repeat(n) as m:
            row = w.at(self.array["inverse"], w.imul(m, n))
            for first in (0, n):
                w.write(self._dot(row, w.at("%x", first)), rest, w.iadd(m, first))
        before = self.own(Own.BEFORE)
        known = w.less(number(0.0), before)
        ratio = w.select(known, w.fdiv(w.fmul(number(2.0), h), before), number(0.0))
        remainder = self.array["remainder"]
        with w.repeat(n) as m:
            q, v = w.read(rest, m), w.read(rest, w.iadd(m, n))
            s, d = w.read(self.array["squares"], m), w.read(self.array["damping"], m)
            with w.on_lanes(lanes):
                old = [w.read(remainder, w.iadd(m, g * n)) for g in range(self.groups)]
                sums = []
                for row in gauss.coefficients[:GUESS]:
                    sums.append(w.spread(code.weighted(w, row, old)))
                q, v, s, d, step, ratios = (w.spread(x) for x in (q, v, s, d, h, ratio))
                for g, c in enumerate(gauss.c.reshape(-1, lanes)):
                    # places in the interval [-1, 1] of the step before
                    x = w.fadd(w.number(1.0), w.fmul(ratios, code.vector(c)))
                    P = _legendre(w, x, GUESS)
                    total = w.fmul(P[0], sums[0])
                    for a, b in zip(P[1:], sums[1:], strict=True):
                        total = w.fadd(total, w.fmul(a, b))
                    w.write(total, self.array["foretold"], w.iadd(m, g * n))
                    there = w.fadd(q, w.fmul(w.fmul(step, code.vector(c)), v))
                    held_back = w.fadd(w.fmul(s, there), w.fmul(d, v))
                    w.write(w.fsub(total, held_back), self.array["residual"], w.iadd(m, g * n))
        self.call("filtered", *self.arrays("filters", "residual", "change"))
        self.call("modal", *self.arrays("shapes", "change", "accelerations"))
        # rates of the drive's states stay: the first Newton step sees to them
        for k in range(self.layout.states):
            rate = w.read(self.array["slope"], self.layout.drive.start + k)
            with w.on_lanes(lanes):
                for g in range(self.groups):
                    w.write(w.spread(rate), self.array["drive_slopes"], g * self.layout.states + k)

    def _dot(self, a: str, b: str) -> str:
        """Scalar product of two arrays of n numbers."""
        w, lanes, total = self.w, self.lanes, number(0.0)
        whole = self.n // lanes
        with w.on_lanes(lanes):
            terms = [w.fmul(w.read(a, k), w.read(b, k)) for k in range(whole)]
            for k in range(1, whole):
                terms[0] = w.fadd(terms[0], terms[k])
        if terms:
            total = self.code.total(w, terms[0])
        for k in range(whole * lanes, self.n):
            total = w.fadd(total, w.fmul(w.read(a, k), w.read(b, k)))
        return total

    def _newton(self, h: str) -> tuple[str, str]:
        """Accelerations at the stages; how many iterations it took, and whether they were found."""
        w = self.w
        count, found = w.variable("i64", "0"), w.variable("i1", "false")
        on, last = w.variable("i1", "true"), w.variable("double", number(0.0))
        rate = w.variable("double", self.own(Own.RATE))
        with w.loop(lambda: w.get("i1", on)):
            self._evaluate(h)
            size = w.sqrt(w.fmul(w.get("double", self.square), number(1.0 / (STAGES * self.n))))
            before = w.get("double", last)
            is_first = w.let(f"icmp eq i64 {w.get('i64', count)}, 0")
            now = w.select(is_first, w.get("double", rate), w.fdiv(size, w.fmax(before, number(1e-300))))
            w.put("double", now, rate)
            w.put("double", size, last)
            w.put("i64", w.iadd(w.get("i64", count), 1), count)
            ahead = w.fdiv(w.fmul(size, now), w.fmax(w.fsub(number(1.0), now), number(1e-300)))
            is_near = w.let(f"and i1 {w.less(ahead, number(CONVERGED))}, {w.less(size, number(SMALL))}")
            is_small = w.let(f"or i1 {is_near}, {w.less(size, number(FOUND))}")
            is_found = w.let(f"and i1 {is_small}, {w.less(now, number(1.0))}")
            w.put("i1", is_found, found)
            # what is not a number is not smaller, either
            is_slow = w.let(f"or i1 {is_first}, {w.less(now, number(SLOW))}")
            is_slow = w.let(f"and i1 {is_slow}, {w.less(size, number(1e300))}")
            more = w.let(f"and i1 {is_slow}, {w.iless(w.get('i64', count), ITERATIONS)}")
            w.put("i1", w.let(f"and i1 {more}, {w.negated(is_found)}"), on)
        is_found = w.get("i1", found)
        kept = w.power(w.fmax(w.get("double", rate), number(1e-6)), MEMORY)
        self.set_own(w.select(is_found, kept, number(1.0)), Own.RATE)
        return w.get("i64", count), is_found

    def _place(self, h: str) -> None:
        """Coordinates, rates and the drive's own states at the stages, from the slopes that were found."""
        w, states = self.w, self.layout.states
        self.call("placed", f"double {h}", "ptr %x", *self.arrays("accelerations", "places", "rates"))
        for k in range(states):
            slopes = [self.code.stage(w, self.array["drive_slopes"], i, str(k), states) for i in range(STAGES)]
            value = w.read("%x", self.layout.drive.start + k)
            with w.on_lanes(self.lanes):
                value, step = w.spread(value), w.spread(h)
                for g, total in enumerate(self.code.per_group(w, gauss_legendre().A, slopes)):
                    w.write(w.fadd(value, w.fmul(step, total)), self.array["drive_states"], g * states + k)

    def _evaluate(self, h: str) -> None:
        """One Newton step; the sum of its weighted squares."""
        w, n, lanes = self.w, self.n, self.lanes
        self._place(h)
        self.call("stages", "ptr %context", *self.arrays("places", "rates", "drive_states", "found"))
        w.set_clock(w.fadd(w.clock(Clock.CALLS), number(float(STAGES))), Clock.CALLS)
        with w.on_lanes(lanes), w.repeat(n * self.groups) as i:
            w.write(
                w.fsub(w.read(self.array["found"], i), w.read(self.array["accelerations"], i)), self.array["change"], i
            )
        if self.layout.states:
            self._missing_rates()
            self.call("coupled_change", "ptr %work")
        else:
            self.call("modal", *self.arrays("inverse", "change", "residual"))
            with w.on_lanes(lanes), w.repeat(n * self.groups) as i:
                total = w.fadd(w.read(self.array["foretold"], i), w.read(self.array["residual"], i))
                w.write(total, self.array["foretold"], i)
            self.call("filtered", *self.arrays("filters", "residual", "change"))
            self.call("modal", *self.arrays("shapes", "change", "residual"))
        squares = w.variable(self.code.kind, "zeroinitializer")
        with w.repeat(n) as j:
            weight = w.read(self.array["weights"], j)
            with w.on_lanes(lanes):
                weights = w.spread(weight)
                for g in range(self.groups):
                    place = w.iadd(j, g * n)
                    change = w.read(self.array["residual"], place)
                    total = w.fadd(w.read(self.array["accelerations"], place), change)
                    w.write(total, self.array["accelerations"], place)
                    part = w.fmul(change, weights)
                    w.put(self.code.kind, w.fadd(w.get(self.code.kind, squares), w.fmul(part, part)), squares)
        self._change_rates(squares)
        w.put("double", self.code.total(w, w.get(self.code.kind, squares)), self.square)

    def _missing_rates(self) -> None:
        """What is missing in the rates of the drive's states at the stages."""
        w, code, states = self.w, self.code, self.layout.states
        with w.on_lanes(self.lanes):
            for g in range(self.groups):
                for k in range(states):
                    rate = w.read(self.seen, g * code.force_rows + code.coordinates + k)
                    missing = w.fsub(rate, w.read(self.array["drive_slopes"], g * states + k))
                    w.write(missing, self.array["drive_change"], g * states + k)

    def _change_rates(self, squares: str) -> None:
        """The Newton step of the rates of the drive's states; its weighted squares are added."""
        w, states, kind = self.w, self.layout.states, self.code.kind
        for k in range(states):
            weight = w.read(self.array["drive_weights"], k)
            with w.on_lanes(self.lanes):
                weights = w.spread(weight)
                for g in range(self.groups):
                    place = g * states + k
                    change = w.read(self.array["drive_residual"], place)
                    total = w.fadd(w.read(self.array["drive_slopes"], place), change)
                    w.write(total, self.array["drive_slopes"], place)
                    part = w.fmul(change, weights)
                    w.put(kind, w.fadd(w.get(kind, squares), w.fmul(part, part)), squares)

    def _error(self) -> str:
        """How far the polynomial through the stages may be from the motion; 1 is just acceptable.

        The first coefficient that is left out is smaller than the last ones, by as much as they are than those before.
        """
        w, n, lanes, code = self.w, self.n, self.lanes, self.code
        parts = [w.variable("double", number(0.0)) for _ in range(3)]
        C = gauss_legendre().coefficients
        at_start = legendre(np.array([-1.0]))[:, :-1] @ C
        kinds = [("weights", "accelerations", n, n)]
        if self.layout.states:
            kinds.append(("drive_weights", "drive_slopes", self.layout.states, self.layout.drive.start))
        for weights, slopes, count, first in kinds:
            with w.repeat(count) as j:
                weight = w.read(self.array[weights], j)
                with w.on_lanes(lanes):
                    a = [w.read(self.array[slopes], w.iadd(j, g * count)) for g in range(self.groups)]
                for k, row in enumerate(np.vstack([C[-LAST:], at_start])):
                    with w.on_lanes(lanes):
                        value = code.weighted(w, row, a)
                    if k == LAST:
                        value = w.fsub(value, w.read(self.array["slope"], w.iadd(j, first)))
                    value, part = w.fmul(value, weight), parts[k * 2 // LAST]
                    w.put("double", w.fadd(w.get("double", part), w.fmul(value, value)), part)
        per = (2 / LAST / n, 2 / LAST / n, 1 / n)
        low, high, jump = (w.sqrt(w.fmul(w.get("double", part), number(x))) for part, x in zip(parts, per, strict=True))
        falling = w.fmin(number(1.0), w.fdiv(high, w.fmax(low, number(1e-300))))
        worst = w.fmax(w.fmul(high, falling), w.fmul(number(JUMP), jump))
        # a comparison would lose what is not a number
        worst = w.fadd(worst, w.fsub(jump, jump))
        return w.fmul(worst, number(1.0 / (2 * (2 * STAGES + 1))))

    def _refuse(self, h: str, is_found: str, error: str, allowed: str) -> None:
        w = self.w
        w.count(Clock.REJECTED)
        age = self.own(Own.AGE)
        # vibrations about another state may be to blame
        is_aged = w.let(f"or i1 {w.less(number(YOUNG + 0.5), age)}, {w.less(number(0.5), self.own(Own.CHANGED))}")
        is_old = w.let(f"and i1 {w.negated(is_found)}, {is_aged}")
        valid = w.let(f"and i1 {is_found}, {w.let(f'fcmp ord double {error}, {error}')}")
        shrink = w.select(valid, w.fmax(allowed, number(SLOWEST)), number(SHRINK))
        w.set_clock(w.fmul(h, w.select(is_old, number(1.0), shrink)), Clock.STEP)
        is_stuck = w.negated(w.let(f"or i1 {is_old}, {is_found}"))
        self.set_own(w.select(is_stuck, w.fmul(h, number(MARGIN)), self.own(Own.LIMIT)), Own.LIMIT)
        self.set_own(w.select(is_old, number(-1.0), age), Own.AGE)
        self.set_own(w.select(is_old, number(0.0), self.own(Own.BEFORE)), Own.BEFORE)
        w.set_clock(number(1.0), Clock.ERROR_BEFORE)

    def _accept(self, now: Step, iterations: str, allowed: str) -> None:
        w = self.w
        if not self.layout.states:
            with w.on_lanes(self.lanes), w.repeat(self.n * self.groups) as i:
                w.write(w.read(self.array["foretold"], i), self.array["remainder"], i)
        self._place(now.h)
        if self.layout.states:
            self.code.acting(w, self.array)
        self.call("powers", "ptr %context", *self.arrays("places", "rates", "drive_states", "found"))
        self._sample(now)
        self._knots(now)
        self.set_own(now.h, Own.BEFORE)
        self._keep_up(now.reach, w.let(f"sitofp i64 {iterations} to double"))
        # after a step that was refused the next one does not grow
        refused = w.less(number(0.5), w.clock(Clock.ERROR_BEFORE))
        factor = w.fmin(allowed, w.select(refused, number(1.0), number(FASTEST)))
        is_same = w.let(f"and i1 {w.less(number(KEEP_FROM), factor)}, {w.less(factor, number(KEEP_TO))}")
        size = w.clock(Clock.STEP)
        limit = self.own(Own.LIMIT)
        changed = w.fmin(w.select(is_same, now.h, w.fmul(now.h, factor)), w.fmax(limit, now.h))
        self.set_own(w.fmul(limit, number(RELAXED)), Own.LIMIT)
        # a step cut short by the end says nothing against the size before it
        w.set_clock(w.select(now.last, w.fmax(size, changed), changed), Clock.STEP)
        w.set_clock(number(0.0), Clock.ERROR_BEFORE)
        w.accept(now.reach)

    def _keep_up(self, t: str, iterations: str) -> None:
        """Vibrations that have become too old are brought up to date, or must be found anew."""
        w, age = self.w, self.own(Own.AGE)
        fewest = w.fmin(self.own(Own.FEWEST), iterations)
        self.set_own(fewest, Own.FEWEST)
        more = w.fsub(iterations, fewest)
        owed = w.fadd(self.own(Own.OWED), more)
        is_fresh = w.less(age, number(0.5))
        lost = w.fadd(self.own(Own.LOST), w.select(is_fresh, more, number(0.0)))
        self.set_own(lost, Own.LOST)
        self.set_own(owed, Own.OWED)
        self.set_own(w.fadd(age, number(1.0)), Own.AGE)
        is_due = w.less(number(UPDATE - 0.5), owed)
        is_lost = w.less(number(RENEWAL - 0.5), lost)
        with w.when(w.let(f"and i1 {is_due}, {w.negated(is_lost)}")):
            self.call("update", "ptr %context", f"double {t}", "ptr %x", "ptr %work")
            for entry in (Own.AGE, Own.OWED, Own.FILTER):
                self.set_own(number(0.0), entry)
            self.set_own(number(1.0), Own.CHANGED)
        with w.when(is_lost):
            self.set_own(number(-1.0), Own.AGE)

    def _slopes(self) -> list[tuple[str, int, int, int]]:
        """Slopes at the stages, part by part of x: array, its rows, the first of them, how many."""
        states = self.layout.states
        own = [(self.array["drive_slopes"], states, 0, states)] if states else []
        return [
            (self.array["rates"], self.n, 0, self.n),
            (self.array["accelerations"], self.n, 0, self.n),
            *own,
            (self.seen, self.code.force_rows, self.code.coordinates + states, BALANCES),
        ]

    def _knots(self, now: Step) -> None:
        """State and slope at the ends of the parts; the last ones are those of the next step's start."""
        w, width = self.w, 1 + 2 * self.layout.size
        taken = w.imul(w.get("i64", w.taken), SUBSTEPS)
        first = w.imul(w.iadd(taken, 1), width)
        for k in range(SUBSTEPS):
            t = now.reach if k == SUBSTEPS - 1 else w.fadd(now.t, w.fmul(now.h, number((k + 1) / SUBSTEPS)))
            w.write(t, "%knots", w.iadd(first, k * width))
        start = 0
        for base, rows, skip, count in self._slopes():
            first_slope = w.at(base, skip * self.lanes)
            target = w.at("%knots", w.iadd(first, 1 + start))
            own = f"ptr {w.at('%x', start)}, ptr {w.at(self.array['slope'], start)}"
            self.call("parted", f"double {now.h}, ptr {first_slope}, i64 {rows}, i64 {count}, {own}, ptr {target}")
            start += count

    def _sample(self, now: Step) -> None:
        """x at the grid times within the step."""
        w, lanes, code = self.w, self.lanes, self.code
        C = gauss_legendre().coefficients

        with w.loop(lambda: is_wanted(w, now.reach)):
            n = w.get("i64", "%next")
            s = w.fdiv(w.fsub(w.read("%grid", n), now.t), now.h)
            x = w.fsub(w.fmul(number(2.0), s), number(1.0))
            P, parts = _legendre(w, x, STAGES + 1), [s]
            for k in range(1, STAGES):
                parts.append(w.fmul(w.fsub(P[k + 1], P[k - 1]), number(1.0 / (2 * (2 * k + 1)))))
            with w.on_lanes(lanes):
                weights = [w.fmul(w.spread(now.h), x) for x in code.per_group(w, C.T, parts)]
            row, start = w.imul(n, self.layout.size), 0
            for base, rows, skip, count in self._slopes():
                with w.repeat(count) as j:
                    with w.on_lanes(lanes):
                        total = w.number(0.0)
                        for g, weight in enumerate(weights):
                            slope = w.read(base, w.iadd(j, skip + g * rows))
                            total = w.fadd(total, w.fmul(weight, slope))
                    place = w.iadd(j, start)
                    w.write(w.fadd(w.read("%x", place), code.total(w, total)), "%samples", w.iadd(row, place))
                start += count
            w.put("i64", w.iadd(n, 1), "%next")
