"""Integrators whose inner loop is machine code, and so are dynamics and drive wherever Python has no part in a step.

A user's own law is called from there by its address; so are all equations in intervals in which a signal is not smooth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.drives.drive import AppliedLaw
from pliant.engine.stepping.integrators import SLIVER, Clock, Status, new_clock
from pliant.engine.stepping.lane_system import LaneRun
from pliant.engine.stepping.signal_table import MOST_PIECES, RoughSignalError, Signals
from pliant.engine.stepping.stepper import NOTHING, Stepped, Stepper, StepsCall, Wanted
from pliant.engine.stepping.ticks import Ticking
from pliant.formulations.loops.loops import Rows
from pliant.simulation.integrators.compiled_systems import driving_of, equations_of, system_matrix
from pliant.simulation.integrators.integrator import (
    NO_TIMES,
    Floats,
    IntegrationError,
    Integrator,
    Piece,
    Settings,
    hermite,
)
from pliant.simulation.requests import Request
from pliant.simulation.state_equations import StateEquations
from pliant.trajectories.path import knots_after

STEPS_PER_CALL = 2000
"""Steps after which the machine code comes back for progress and interrupts: some milliseconds."""
COUNTERS = np.array([Clock.STEPS, Clock.REJECTED, Clock.CALLS, Clock.MATRICES])
"""What the machine code counts for the statistics."""
MOST_SAMPLES = 20 * STEPS_PER_CALL
"""Samples that one call may give."""
PIECES_PER_SECOND = 16
"""Polynomial pieces of the drive's signals to begin with ..."""
LONGEST_SPAN = 64.0
"""... for so many seconds at a time."""


MOST_COMPILED = 1000
"""Coordinates up to which a drive is worth one kernel: a step of more takes longer than its way through Python."""


def compilable(equations: StateEquations) -> AppliedLaw | None:
    """The drive's law if a run can stay in machine code, else None."""
    arm = equations.arm
    if not arm.compiled or not equations.count or arm.size > MOST_COMPILED:
        return None
    if equations.constrained is not None and not equations.loops.inverse_is_traced:
        return None
    if arm.method.function("forward") is None:
        return None
    return equations.law


@dataclass(eq=False)
class SignalsRequest(Request[Signals]):
    """Asks for the polynomials of what a drive follows, from a time to another."""

    equations: StateEquations
    signals: Callable[[Floats], Floats]
    start: float
    end: float
    pieces: int

    @cached_property
    def value(self) -> Signals:
        return Signals.fit(self.signals, self.start, self.end, pieces=self.pieces)


class KnotPiece(Piece):
    """Many steps: exact samples at the times that were wanted, Hermite interpolation between the steps elsewhere."""

    def __init__(self, knots: Floats, count: int, grid: Floats, samples: Floats) -> None:
        m = (knots.shape[1] - 1) // 2
        self.times = knots[:, 0]
        self.start, self.end = float(self.times[0]), float(self.times[-1])
        self._y, self._f = knots[:, 1 : 1 + m], knots[:, 1 + m :]
        self._count = count
        self._grid, self._samples = grid, samples

    @property
    def knots(self) -> Floats:
        return self.times

    @property
    def knot_states(self) -> Floats:
        return self._y

    @property
    def knot_rates(self) -> Floats:
        return self._f

    def __call__(self, t: ArrayLike) -> Floats:
        times = np.atleast_1d(np.asarray(t, dtype=float))
        if np.array_equal(times, self._grid):
            # as samples are asked for, all of them
            return self._samples[0].copy() if np.ndim(t) == 0 else self._samples.copy()
        out = np.empty((len(times), self._y.shape[1]))
        place = np.clip(np.searchsorted(self._grid, times), 0, max(len(self._grid) - 1, 0))
        exact = self._grid[place] == times if len(self._grid) else np.zeros(len(times), dtype=bool)
        if exact.any():
            out[exact] = self._samples[place[exact]]
        if not exact.all():
            inside = times[~exact]
            k = np.clip(np.searchsorted(self.times, inside, side="right") - 1, 0, len(self.times) - 2)
            h = self.times[k + 1] - self.times[k]
            ends = self._y[k], self._y[k + 1], self._f[k], self._f[k + 1]
            out[~exact] = hermite(((inside - self.times[k]) / h)[:, None], h[:, None], *ends, self._count)
        return out[0] if np.ndim(t) == 0 else out


class StepsRequest(Request[tuple[Status, int]]):
    """Asks for steps, which a run makes in machine code alone or in a lane.

    before  what the machine code had counted
    """

    def __init__(self, lane: LaneRun, before: Floats) -> None:
        self.lane, self.before = lane, before

    @cached_property
    def value(self) -> tuple[Status, int]:
        return self.lane.alone()


class CompiledIntegrator(Integrator):
    """Steps of an integrator in machine code: signals, knots, ticks, and the way back to Python.

    law    the drive's law in machine code; None: Python finds the rates of the equations
    extra  what the method keeps behind the state (accelerations, errors), if there is an array of it
    """

    system: Any

    def __init__(
        self,
        stepper: Stepper,
        equations: StateEquations,
        t: float,
        y: Floats,
        settings: Settings,
        law: AppliedLaw | None,
        extra: Floats | None = None,
    ) -> None:
        super().__init__(equations, t, y, settings)
        self.stepper, self.name = stepper, stepper.name
        self.law, self.ticks = law, equations.drive.in_steps()
        self.driving = None if law is None else driving_of(equations, law)
        if law is not None:
            equations.change_rows(t, y)
        self._make_system()
        self._tolerance = np.ascontiguousarray(settings.tolerance.absolute)
        # what Python has a part in comes back after every step
        steps = 1 if law is None else max(STEPS_PER_CALL // stepper.worth, 1)
        self._knots = np.empty((steps * stepper.parts + 1, 1 + 2 * equations.layout.size))
        self._span = (np.inf, -np.inf)
        self._stand_in: CompiledIntegrator | None = None
        self._signals_request: SignalsRequest | None = None
        self._call: StepsRequest | None = None
        self._extra = np.zeros(stepper.extra(equations.layout)) if extra is None else extra
        self.clock = new_clock(
            t,
            t,
            step=settings.first_step,
            largest=settings.max_step,
            relative=settings.tolerance.relative,
            radius=settings.radius,
        )
        if len(self._extra):
            self._renew()

    def _found_rates(self, t: float, y: Floats) -> Floats:
        """Rates that Python finds, counted by the machine code that asks for them."""
        # a trial step may diverge; it is then refused for what came out, not for how
        with np.errstate(over="ignore", invalid="ignore"):
            return self.equations.rates(t, y)

    def _make_system(self) -> None:
        system = equations_of(self.stepper.kind, self.equations, self.driving, self._found_rates)
        self.system, self.stepped = system, Stepped(self.stepper, system)
        if self.ticks is not None and self.law is not None:
            self.system.hold(self.ticks.held)

    def _steps(self, until: float, grid: Floats) -> tuple[int, Floats]:
        """Advance to ``until`` or by some steps: rows of knots, and the samples at the first grid times."""
        if self._call is not None:
            request, self._call = self._call, None
            status, rows = request.value
            self._counted(request.before, status)
            self.y = request.lane.steps.x
            return rows, request.lane.steps.wanted.found
        size = self._fitted(until) if self.stepper.fixed else 0.0
        states, before = len(self.y), self._started(until)
        steps = self._prepared(grid)
        status, rows = self.stepped.advance(steps, self._ticking(size))
        self._counted(before, status)
        self.y, self._extra[:] = steps.x[:states].copy(), steps.x[states:]
        return (self._finite(rows, size) if self.stepper.fixed else rows), steps.wanted.found

    def _prepared(self, grid: Floats) -> StepsCall:
        x = np.concatenate([self.y, self._extra])
        wanted = Wanted.at(grid, len(x)) if self.stepper.dense else NOTHING
        return self.stepped.steps(self.clock, x, self._tolerance, self._knots, wanted)

    def _fitted(self, until: float) -> float:
        """The size of equal steps; before an end they are shortened so that a whole number of them fits."""
        size, left = self.step, until - self.t
        self.clock[Clock.STEP] = left / max(int(np.ceil(left / size - SLIVER)), 1)
        return size

    def _finite(self, rows: int, size: float) -> int:
        """Rows of knots before a motion diverges, which equal steps do not notice."""
        finite = np.isfinite(self._knots[:rows]).all(axis=1)
        if finite.all():
            return rows
        rows = int(np.argmin(finite))
        if rows < 2 or self._knots[rows - 1, 0] == self._knots[0, 0]:
            raise IntegrationError(
                f"{self.name}: the motion diverges at t = {self.t:.6g} s; the step of {size:.2g} s is too large"
            )
        self.y = self._knots[rows - 1, 1 : 1 + len(self.y)].copy()
        self.clock[[Clock.T, Clock.HAS_SLOPE]] = self._knots[rows - 1, 0], 0.0
        return rows

    def call(self, until: float, wanted: Floats = NO_TIMES) -> StepsRequest | None:
        if self.stepper.lanes and self.law is not None and self._stand_in is None and self._call is None:
            if self._follow(until):
                until, grid = self._within(until, wanted)
                before, steps = self._started(until), self._prepared(grid)
                self._call = StepsRequest(LaneRun(self.system, self.stepped, steps, self._ticking()), before)
            else:
                self._stand_in = self._plainly()
        return self._call

    def advance(self, until: float, wanted: Floats = NO_TIMES) -> Piece:
        before = self.clock.copy(), self.y, self.t
        computed = {} if self.ticks is None else self.ticks.memory()
        try:
            return self._advance(until, wanted)
        except KeyboardInterrupt:
            # behind steps of which nothing is known outside: whoever goes on takes them again
            if self._stand_in is None:
                self.clock[:], self.y, self.t = before
                if self.ticks is not None:
                    self.ticks.recall(computed)
                self._renew()
            raise

    def _advance(self, until: float, wanted: Floats) -> Piece:
        if self._stand_in is not None or not self._follow(until):
            return self._advance_plainly(until, wanted)
        until, grid = self._within(until, wanted)
        try:
            rows, samples = self._steps(until, grid)
        except IntegrationError:
            if not self._recovers():
                raise
            return self._advance(until, wanted)
        k, knots = self.stepper.parts, self._knots[:rows]
        if 2 * len(knots) > len(self._knots):
            # handed out as they are: memory for the next ones costs less than a copy
            self._knots = np.empty_like(self._knots)
        else:
            knots = knots.copy()
        sizes = knots[k::k, 0] - knots[:-k:k, 0]
        if self.ticks is not None:
            # times of jumps stand twice; parts of a step are equal
            sizes = k * np.diff(knots[:, 0])
            sizes = sizes[sizes > 0]
        if len(sizes):
            self.statistics.smallest_step = min(self.statistics.smallest_step, float(sizes.min()))
            self.statistics.largest_step = max(self.statistics.largest_step, float(sizes.max()))
        self.t = float(knots[-1, 0])
        return KnotPiece(knots, self.equations.count, grid[: len(samples)], samples)

    def _within(self, until: float, wanted: Floats) -> tuple[float, Floats]:
        """The end of a call of the machine code, and the wanted times up to there."""
        until = min(until, self._span[1])
        first, last = np.searchsorted(wanted, (self.t, until), side="right")
        grid = np.ascontiguousarray(wanted[first:last])
        if len(grid) > MOST_SAMPLES:
            grid = grid[:MOST_SAMPLES]
            until = float(grid[-1])
        return until, grid

    @property
    def steps_in_python(self) -> bool:
        # whether its equations are, or it has handed over to the method of the same name
        return self.law is None or self._stand_in is not None

    def _recovers(self) -> bool:
        """After a step that could not be taken: with other rows of over-constrained loops, or in Python."""
        if self.law is None:
            return False
        is_other = self.equations.change_rows(self.t, self.y)
        if not is_other and not self.law.may_refuse:
            return False
        # what was tried in vain says nothing about steps
        self.clock[Clock.STEP] = min(self.settings.first_step, self.settings.max_step)
        self.clock[Clock.ERROR_BEFORE] = 0.0
        if is_other:
            self._rebuild()
            self._renew()
        else:
            self._stand_in = self._plainly()
        return True

    def _rebuild(self) -> None:
        """The machine code for the rows that are kept now."""
        self._make_system()
        self._span = (np.inf, -np.inf)

    def _plainly(self) -> CompiledIntegrator:
        """The method of the same name in Python, here."""
        settings = replace(self.settings, step=self.step)
        # both write to the same errors
        stand_in = CompiledIntegrator(self.stepper, self.equations, self.t, self.y, settings, None, self._extra)
        stand_in.statistics = self.statistics
        return stand_in

    def signals(self, until: float) -> SignalsRequest | None:
        start, end = self._span
        if self.law is None or self._stand_in is not None or start <= self.t < min(until, end):
            return None
        if self._signals_request is None:
            self._signals_request = self._fit(self.t, min(until, self.t + LONGEST_SPAN))
        return self._signals_request

    def _follow(self, until: float) -> bool:
        """Give the signals to the machine code, for the span to come; False if only Python can follow."""
        if self.law is None:
            self._span = self.t, until
            return True
        request = self.signals(until)
        if request is None:
            return True
        self._signals_request = None
        try:
            self._take_signals(request)
        except RoughSignalError:
            return False
        return True

    def _fit(self, start: float, end: float) -> SignalsRequest:
        pieces = max(1, int(np.ceil((end - start) * PIECES_PER_SECOND)))
        knot, spacing = knots_after(self.equations.path, start)
        if spacing < end - start:
            # pieces end on the knots, as the polynomials of a spline do
            within = max(1, int(np.ceil(spacing * PIECES_PER_SECOND)))
            intervals = min(round((end - knot) / spacing) + 1, max(MOST_PIECES // within, 1))
            # from inside an interval only to its end
            on_knot = abs(knot - spacing - start) <= SLIVER * spacing
            last = min(end, knot + (intervals - 1) * spacing)
            pieces, end = (within * intervals, last) if on_knot else (within, knot)
        return SignalsRequest(self.equations, self._signals, start, end, pieces)

    def _take_signals(self, request: SignalsRequest) -> None:
        self.system.set_signals(request.value)
        self._span = (request.start, request.end)

    def _signals(self, t: Floats) -> Floats:
        """Signals of the law, then signals of the loads (times, channels)."""
        assert self.law is not None
        own = self.law.signals(t) if self.ticks is None else np.zeros((len(t), self.law.channels))
        times = self.equations.clocks(t)
        return np.hstack([own, *(load.signals(times) for load in self.equations.loads)])

    def memory(self) -> dict[str, Any]:
        own = {"span": np.array(self._span), "clock": self.clock.copy(), "work": self.stepped.work.copy()}
        kept = {**super().memory(), **own, "extra": self._extra.copy()}
        if self.system.kept is not None:
            kept["kept"] = self.system.kept.copy()
        if (rows := self.equations.rows) is not None:
            kept["rows"], kept["least"] = np.array(rows.kept, dtype=np.int64), np.array([*rows.least, rows.is_last])
        if self._stand_in is not None:
            kept.update({f"plain.{key}": x for key, x in self._stand_in.memory().items()})
        return kept

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        if "rows" in memory:
            *least, is_last = memory["least"].tolist()
            self.equations.rows = Rows(tuple(int(k) for k in memory["rows"]), tuple(least), bool(is_last))
            self._rebuild()
        self.clock[:], self.stepped.work[:], self._extra[:] = memory["clock"], memory["work"], memory["extra"]
        if self.system.kept is not None:
            self.system.kept[:] = memory["kept"]
        start, end = (float(x) for x in memory["span"])
        if start < end and self.law is not None:
            # the same polynomials as before, not ones that start here
            self._take_signals(self._fit(start, end))
        plain = {key.removeprefix("plain."): x for key, x in memory.items() if key.startswith("plain.")}
        if plain:
            self._stand_in = self._plainly()
            self._stand_in.recall(plain)
            self.statistics = self._stand_in.statistics

    def _advance_plainly(self, until: float, wanted: Floats) -> Piece:
        """Go on in Python until the next interval: signals have kinks that step control must find."""
        if self._stand_in is None:
            self._stand_in = self._plainly()
        piece = self._stand_in.advance(until, wanted)
        self.t, self.y = self._stand_in.t, self._stand_in.y
        return piece

    def restart(self, t: float, y: Floats) -> None:
        self.t, self.y = t, y
        self._span, self._signals_request = (np.inf, -np.inf), None
        if self._stand_in is not None:
            self.clock[Clock.STEP] = self._stand_in.step
            self._stand_in = None
        self._renew()

    def retake(self, y: Floats, carried: Callable[[Floats], Floats]) -> None:
        self.y = y
        if self._stand_in is not None:
            self._stand_in.retake(y, carried)
            return
        before = self._extra.copy()
        self._renew()
        self.stepper.carry(self.equations.layout, before, self._extra, carried)

    def _renew(self) -> None:
        """Forget slopes: the equations or the state have jumped."""
        self.clock[Clock.T], self.clock[Clock.HAS_SLOPE], self.clock[Clock.MATRIX_STEP] = self.t, 0.0, 0.0
        self.stepper.forget(self.stepped)
        if len(self._extra):
            self.stepper.begin(self.equations.layout, self._extra, self.rates(self.t, self.y))

    @property
    def step(self) -> float:
        if self.stepper.fixed:
            assert self.settings.step is not None
            return min(self.settings.step, self.settings.max_step)
        return float(min(self.clock[Clock.STEP], self.settings.max_step))

    @property
    def errors(self) -> Floats | None:
        return self.stepper.errors(self.equations.layout, self._extra)

    def linear_model(self, t: float, y: Floats, f: Floats) -> Floats | None:
        n = self.equations.count
        is_known = self.stepper.kind == "residual" and not self.steps_in_python
        return system_matrix(self.system, t, y, f[n : 2 * n]) if is_known else None

    def _ticking(self, size: float = 0.0) -> Ticking | None:
        return None if self.ticks is None else Ticking(self.ticks, self._compute, size)

    def _compute(self, t: float, x: Floats) -> None:
        """Let Python take what is due at a time."""
        self.equations.drive.tick(t, *self.equations.coordinates(t, x))

    def _started(self, until: float) -> Floats:
        """Set the end of a call of the machine code; what was counted before it."""
        self.clock[Clock.END] = until
        before: Floats = self.clock[COUNTERS]
        return before

    def _counted(self, before: Floats, status: Status) -> None:
        """Keep account of what a call counted."""
        steps, rejected, calls, matrices = map(int, (self.clock[COUNTERS] - before).tolist())
        self.statistics.steps += steps
        self.statistics.rejected += rejected
        self.statistics.evaluations += calls
        self.statistics.matrices += matrices
        if status is Status.STEP_TOO_SMALL and not steps:
            raise IntegrationError(
                f"{self.name}: the step fell to {self.clock[Clock.STEP]:.1e} s at t = {self.t:.6g} s; the motion "
                "diverges there, or a force jumps with every step"
            )
