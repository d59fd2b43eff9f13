"""Integrators whose inner loop is machine code, and so are dynamics and drive wherever Python has no part in a step.

A user's own law is called from there by its address; so are all equations in intervals in which a signal is not smooth.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from pliant.drives.drive import AppliedLaw
from pliant.engine.stepping.called_system import CalledImplicitSystem, CalledSystem
from pliant.engine.stepping.driving import Driving
from pliant.engine.stepping.explicit_system import ExplicitSystem
from pliant.engine.stepping.generalised_alpha import alpha_clock
from pliant.engine.stepping.implicit_system import ImplicitSystem
from pliant.engine.stepping.integrators import SLIVER, Clock, Status, new_clock
from pliant.engine.stepping.lane_system import LaneRun
from pliant.engine.stepping.signal_table import MOST_PIECES, RoughSignalError, Signals
from pliant.engine.stepping.stepped_system import NOTHING, Wanted
from pliant.engine.stepping.ticks import Ticking
from pliant.formulations.loops.loops import Rows
from pliant.simulation.integrators.compiled_systems import driving_of, implicit_system, newton_matrix, system_matrix
from pliant.simulation.integrators.integrator import (
    NO_TIMES,
    Floats,
    IntegrationError,
    Integrator,
    Piece,
    Settings,
)
from pliant.simulation.integrators.knot_piece import KnotPiece
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
    """What the compiled methods share: signals, knots, and the way back to Python."""

    knots_per_step = 1
    steps_worth = 1
    """Explicit steps that a step takes the time of."""
    clock: Floats

    def __init__(
        self, equations: StateEquations, t: float, y: Floats, settings: Settings, law: AppliedLaw | None
    ) -> None:
        super().__init__(equations, t, y, settings)
        self.law, self.ticks = law, equations.drive.in_steps()
        self.driving = None if law is None else driving_of(equations, law)
        if law is not None:
            equations.change_rows(t, y)
        self._make_system()
        self._tolerance = np.ascontiguousarray(settings.tolerance.absolute)
        # what Python has a part in comes back after every step
        steps = 1 if law is None else max(STEPS_PER_CALL // self.steps_worth, 1)
        rows = steps * self.knots_per_step + 1
        self._knots = np.empty((rows, 1 + 2 * self.system.states))
        self._span = (np.inf, -np.inf)
        self._stand_in: Integrator | None = None
        self._signals_request: SignalsRequest | None = None

    @classmethod
    def plain(cls, equations: StateEquations, t: float, y: Floats, settings: Settings) -> Integrator:
        """This method for equations that Python evaluates."""
        return cls(equations, t, y, settings, None)

    def _found_rates(self, t: float, y: Floats) -> Floats:
        """Rates that Python finds, counted by the machine code that asks for them."""
        # a trial step may diverge; it is then refused for what came out, not for how
        with np.errstate(over="ignore", invalid="ignore"):
            return self.equations.rates(t, y)

    def _make_system(self) -> None:
        self.system = self._build(self.driving)
        if self.ticks is not None and self.law is not None:
            self.system.hold(self.ticks.held)

    @abstractmethod
    def _build(self, driving: Driving | None) -> Any:
        """The compiled system, whose states are those of the equations; None: Python finds their rates."""

    def _steps(self, until: float, grid: Floats) -> tuple[int, Floats]:
        """Advance to ``until`` or by some steps: rows of knots, and the samples at the first grid times."""
        x = self.y.copy()
        wanted = Wanted.at(grid, len(x))
        rows = self._advanced(until, x, wanted)
        self.y = x
        return rows, wanted.found

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
        k, knots = self.knots_per_step, self._knots[:rows]
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

    def _plainly(self) -> Integrator:
        """The method of the same name in Python, here."""
        stand_in = type(self).plain(self.equations, self.t, self.y, replace(self.settings, step=self.step))
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
        own = {"span": np.array(self._span), "clock": self.clock.copy(), "work": self.system.work.copy()}
        kept = {**super().memory(), **own}
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
        self.clock[:], self.system.work[:] = memory["clock"], memory["work"]
        start, end = (float(x) for x in memory["span"])
        if start < end and self.law is not None:
            # the same polynomials as before, not ones that start here
            self._take_signals(self._fit(start, end))
        plain = {key.removeprefix("plain."): x for key, x in memory.items() if key.startswith("plain.")}
        if plain:
            self._stand_in = type(self).plain(self.equations, self.t, self.y, self.settings)
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
        else:
            self._renew()

    def _renew(self) -> None:
        """Forget slopes: the equations or the state have jumped."""
        self.clock[Clock.T], self.clock[Clock.HAS_SLOPE] = self.t, 0.0

    @property
    def step(self) -> float:
        return float(min(self.clock[Clock.STEP], self.settings.max_step))

    def _advanced(self, until: float, x: Floats, wanted: Wanted = NOTHING, size: float = 0.0) -> int:
        """Advance x in place, keep account, and give the rows of knots.

        size  of equal steps; zero: the method chooses them
        """
        before = self._started(until)
        steps = self.system.steps(self.name, self.clock, x, self._tolerance, self._knots, wanted)
        status, rows = self.system.advance(steps, self._ticking(size))
        self._counted(before, status)
        return int(rows)

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


class ClockedIntegrator(CompiledIntegrator):
    """What begins with nothing but a time and the size of a step."""

    def __init__(
        self, equations: StateEquations, t: float, y: Floats, settings: Settings, law: AppliedLaw | None
    ) -> None:
        super().__init__(equations, t, y, settings, law)
        relative = settings.tolerance.relative
        self.clock = new_clock(t, t, step=settings.first_step, largest=settings.max_step, relative=relative)


class _CompiledExplicit(ClockedIntegrator):
    """What the compiled explicit methods share."""

    system: ExplicitSystem

    def _build(self, driving: Driving | None) -> Any:
        equations = self.equations
        if driving is None:
            return CalledSystem(self._found_rates, equations.layout, equations.turning)
        return ExplicitSystem(equations.arm.tree, driving, equations.traced_forward)


class CompiledDOP853(_CompiledExplicit):
    """``dop853`` in machine code, of equations in machine code or in Python."""

    name = "dop853"

    _call: StepsRequest | None = None

    def call(self, until: float, wanted: Floats = NO_TIMES) -> StepsRequest | None:
        if self.law is not None and self._stand_in is None and self._call is None:
            if self._follow(until):
                self._call = self._prepared(*self._within(until, wanted))
            else:
                self._stand_in = self._plainly()
        return self._call

    def _prepared(self, until: float, grid: Floats) -> StepsRequest:
        x = self.y.copy()
        wanted, before = Wanted.at(grid, len(x)), self._started(until)
        steps = self.system.steps(self.name, self.clock, x, self._tolerance, self._knots, wanted)
        return StepsRequest(LaneRun(self.system, steps, self._ticking()), before)

    def _steps(self, until: float, grid: Floats) -> tuple[int, Floats]:
        if self._call is None:
            return super()._steps(until, grid)
        request, self._call = self._call, None
        status, rows = request.value
        self._counted(request.before, status)
        self.y = request.lane.steps.x
        return rows, request.lane.steps.wanted.found


class _CompiledFixedStep(_CompiledExplicit):
    """Equal steps; before an end they are shortened so that a whole number of them fits."""

    @property
    def step(self) -> float:
        assert self.settings.step is not None
        return min(self.settings.step, self.settings.max_step)

    def _steps(self, until: float, grid: Floats) -> tuple[int, Floats]:
        size, left = self.step, until - self.t
        self.clock[Clock.STEP] = left / max(int(np.ceil(left / size - SLIVER)), 1)
        x = self.y.copy()
        rows = self._advanced(until, x, size=size)
        finite = np.isfinite(self._knots[:rows]).all(axis=1)
        if not finite.all():
            rows = int(np.argmin(finite))
            if rows < 2 or self._knots[rows - 1, 0] == self._knots[0, 0]:
                raise IntegrationError(
                    f"{self.name}: the motion diverges at t = {self.t:.6g} s; the step of {size:.2g} s is too large"
                )
            x = self._knots[rows - 1, 1 : 1 + len(x)].copy()
            self.clock[[Clock.T, Clock.HAS_SLOPE]] = self._knots[rows - 1, 0], 0.0
        self.y = x
        return rows, np.zeros((0, len(x)))


class CompiledRK4(_CompiledFixedStep):
    """``rk4`` in machine code."""

    name = "rk4"


class CompiledSemiImplicit(_CompiledFixedStep):
    """``semi-implicit`` in machine code."""

    name = "semi-implicit"


class _CompiledImplicit(CompiledIntegrator):
    """What the compiled implicit methods share; ``_tail`` holds accelerations, which follow y, then come the errors.

    carried  errors of coordinates, rates and the drive's states, and the largest of the coordinates so far
    """

    system: ImplicitSystem

    def __init__(
        self, equations: StateEquations, t: float, y: Floats, settings: Settings, law: AppliedLaw | None
    ) -> None:
        super().__init__(equations, t, y, settings, law)
        self.carried = np.zeros(3 * equations.count + equations.states)
        self.clock = alpha_clock(
            t,
            step=settings.first_step,
            largest=settings.max_step,
            relative=settings.tolerance.relative,
            radius=settings.radius,
            fixed=False,
        )
        self._renew()

    def _build(self, driving: Driving | None) -> Any:
        equations = self.equations
        if driving is None:
            return CalledImplicitSystem(
                self._found_rates, partial(newton_matrix, equations), equations.layout, equations.turning
            )
        return implicit_system(equations, driving)

    def _renew(self) -> None:
        super()._renew()
        n = self.equations.count
        self._tail = self.rates(self.t, self.y)[n : 2 * n]
        self.clock[Clock.MATRIX_STEP] = 0.0

    @property
    def errors(self) -> Floats | None:
        return self.carried[2 * self.equations.count + self.equations.states :]

    def _plainly(self) -> Integrator:
        # both write to the same errors
        stand_in = super()._plainly()
        assert isinstance(stand_in, _CompiledImplicit)
        stand_in.carried = self.carried
        return stand_in

    def linear_model(self, t: float, y: Floats, f: Floats) -> Floats | None:
        n = self.equations.count
        return None if self.steps_in_python else system_matrix(self.system, t, y, f[n : 2 * n])

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "tail": self._tail, "carried": self.carried.copy()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self._tail, self.carried[:] = np.array(memory["tail"]), memory["carried"]
        if isinstance(self._stand_in, _CompiledImplicit):
            self._stand_in.carried = self.carried

    def _steps(self, until: float, grid: Floats) -> tuple[int, Floats]:
        x, states = np.concatenate([self.y, self._tail, self.carried]), self.system.states
        rows = self._advanced(until, x)
        kept = states + len(self._tail)
        self.y, self._tail, self.carried[:] = x[:states].copy(), x[states:kept].copy(), x[kept:]
        return rows, np.zeros((0, states))


class CompiledESDIRK(_CompiledImplicit):
    """``esdirk`` in machine code."""

    name = "esdirk"


class CompiledGeneralisedAlpha(_CompiledImplicit):
    """``generalised-alpha`` in machine code; filtered accelerations follow the others."""

    name = "generalised-alpha"

    def _renew(self) -> None:
        super()._renew()
        # the machine code fills in what is filtered of the drive's states
        self._tail = np.concatenate([self._tail, self._tail, np.zeros(2 * self.equations.states)])

    def retake(self, y: Floats, carried: Callable[[Floats], Floats]) -> None:
        own = slice(self.equations.count, 2 * self.equations.count)
        filtered = carried(self._tail[own])
        super().retake(y, carried)
        self._tail[own] = filtered
