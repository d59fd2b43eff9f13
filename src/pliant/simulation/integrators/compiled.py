"""Integrators whose inner loop, dynamics and drive are one piece of machine code.

They stand in for the methods of the same names wherever Python has no part in a step: a tree robot without loads whose
drive is a function of time and linear feedback. Where the drive's signals are not smooth they hand over to those.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.engine.implicit import AlphaClock, alpha_clock
from pliant.engine.implicit_system import ImplicitSystem
from pliant.engine.integrators import Clock, Status
from pliant.engine.system import RoughSignalError, Signals, System, new_clock
from pliant.simulation.drives.law import CompiledLaw, compiled_law
from pliant.simulation.equations import Equations
from pliant.simulation.integrators.dop853 import DOP853
from pliant.simulation.integrators.generalised_alpha import GeneralisedAlpha
from pliant.simulation.integrators.integrator import (
    NO_TIMES,
    Floats,
    HermitePiece,
    IntegrationError,
    Integrator,
    Piece,
    Settings,
)

STEPS_PER_CALL = 2000
"""Steps after which the machine code comes back for progress and interrupts: some milliseconds."""
PIECES_PER_SECOND = 16
"""Polynomial pieces of the drive's signals to begin with."""


def compilable(equations: Equations) -> CompiledLaw | None:
    """The drive's law if a run can stay in machine code, else None."""
    arm = equations.arm
    if not arm.compiled or arm.robot.loops or equations.constrained is not None or equations.loads or not arm.size:
        return None
    return compiled_law(equations)


class CompiledIntegrator(Integrator):
    """What the compiled methods share: signals, knots, and the way back to Python."""

    plain: Callable[[Equations, float, Floats, Settings], Integrator]
    clock: Floats

    def __init__(self, equations: Equations, t: float, y: Floats, settings: Settings, law: CompiledLaw) -> None:
        super().__init__(equations, t, y, settings)
        self.law = law
        self.system = self._build()
        # the work of loads is no state of the compiled system
        n = equations.count
        self._kept = np.r_[0 : 2 * n, 2 * n, 2 * n + 2]
        self._tolerance = np.ascontiguousarray(settings.tolerance.absolute[self._kept])
        self._knots = np.zeros((STEPS_PER_CALL + 1, 1 + 2 * self.system.states))
        self._span = (np.inf, -np.inf)
        self._stand_in: Integrator | None = None

    @abstractmethod
    def _build(self) -> Any:
        """The compiled system."""

    @abstractmethod
    def _steps(self, until: float, grid: Floats) -> tuple[int, Floats]:
        """Advance to ``until`` or by some steps: how many, and the samples at the first grid times."""

    def advance(self, until: float, wanted: Floats = NO_TIMES) -> Piece:
        if self._stand_in is not None or not self._follow(until):
            return self._advance_plainly(until, wanted)
        grid = np.ascontiguousarray(wanted[(wanted > self.t) & (wanted <= until)])
        steps, samples = self._steps(until, grid)
        knots = self._knots[: steps + 1].copy()
        sizes = np.diff(knots[:, 0])
        if len(sizes):
            self.statistics.smallest_step = min(self.statistics.smallest_step, float(sizes.min()))
            self.statistics.largest_step = max(self.statistics.largest_step, float(sizes.max()))
        self.t = float(knots[-1, 0])
        return KnotPiece(self._full, knots, self.equations.count, grid[: len(samples)], samples)

    def _follow(self, until: float) -> bool:
        """Give the drive's signals to the machine code, for the span to come; False if they are not smooth."""
        start, end = self._span
        if start <= self.t and until <= end:
            return True
        try:
            self._fit(self.t, until)
        except RoughSignalError:
            return False
        return True

    def _fit(self, start: float, end: float) -> None:
        pieces = max(1, int(np.ceil((end - start) * PIECES_PER_SECOND)))
        self.system.set_signals(Signals.fit(self.law.signals, start, end, pieces=pieces))
        self._span = (start, end)

    def memory(self) -> dict[str, Any]:
        kept = {**super().memory(), "span": np.array(self._span)}
        if self._stand_in is not None:
            kept.update({f"plain.{key}": x for key, x in self._stand_in.memory().items()})
        return kept

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        start, end = (float(x) for x in memory["span"])
        if start < end:
            # the same polynomials as before, not ones that start here
            self._fit(start, end)
        plain = {key.removeprefix("plain."): x for key, x in memory.items() if key.startswith("plain.")}
        if plain:
            self._stand_in = type(self).plain(self.equations, self.t, self.y, self.settings)
            self._stand_in.recall(plain)
            self.statistics = self._stand_in.statistics

    def _advance_plainly(self, until: float, wanted: Floats) -> Piece:
        """Go on in Python, for good: the signals have kinks that only step control can find."""
        if self._stand_in is None:
            self._stand_in = type(self).plain(self.equations, self.t, self.y, self.settings)
            self._stand_in.statistics = self.statistics
        piece = self._stand_in.advance(until, wanted)
        self.t, self.y = self._stand_in.t, self._stand_in.y
        return piece

    def restart(self, t: float, y: Floats) -> None:
        self.t, self.y = t, y
        self._span = (np.inf, -np.inf)
        if self._stand_in is not None:
            self._stand_in.restart(t, y)
        self._renew()

    @abstractmethod
    def _renew(self) -> None:
        """Forget slopes and accelerations: the equations or the state have jumped."""

    def _counted(self, before: Floats, *entries: int) -> list[int]:
        """How much counters of the clock have grown."""
        return [int(self.clock[k] - before[k]) for k in entries]

    def _full(self, x: Floats) -> Floats:
        """States of the compiled system as those of the equations."""
        out = np.zeros((*x.shape[:-1], self.equations.size))
        out[..., self._kept] = x
        return out

    def _check(self, status: Status, step: float) -> None:
        if status is Status.STEP_TOO_SMALL:
            raise IntegrationError(
                f"{self.name}: the step fell to {step:.1e} s at t = {self.t:.6g} s; the motion diverges there, or a "
                "force jumps with every step"
            )


class CompiledDOP853(CompiledIntegrator):
    """``dop853`` in machine code."""

    name = "dop853"
    plain = DOP853

    def __init__(self, equations: Equations, t: float, y: Floats, settings: Settings, law: CompiledLaw) -> None:
        super().__init__(equations, t, y, settings, law)
        first = settings.step if settings.step is not None else 1e-4
        relative = settings.tolerance.relative
        self.clock = new_clock(t, t, step=first, largest=settings.max_step, relative=relative)

    def _build(self) -> System:
        law = self.law
        return System(self.equations.arm.tree, law.force, gains=law.gains, channels=law.channels)

    @property
    def step(self) -> float:
        return float(min(self.clock[Clock.STEP], self.settings.max_step))

    def _renew(self) -> None:
        self.clock[[Clock.T, Clock.HAS_SLOPE]] = self.t, 0.0

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "clock": self.clock, "slope": self.system.work[: self.system.states]}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.clock[:] = memory["clock"]
        self.system.work[: self.system.states] = memory["slope"]

    def _steps(self, until: float, grid: Floats) -> tuple[int, Floats]:
        x = np.ascontiguousarray(self.y[self._kept])
        samples, following = np.zeros((len(grid), len(x))), np.zeros(1, dtype=np.int64)
        before = self.clock.copy()
        self.clock[Clock.END] = until
        nothing = np.zeros(0)
        status = self.system.dop853(self.clock, x, self._tolerance, grid, following, samples, nothing, self._knots)
        steps, rejected, calls = self._counted(before, Clock.STEPS, Clock.REJECTED, Clock.CALLS)
        self.statistics.steps += steps
        self.statistics.rejected += rejected
        self.statistics.evaluations += calls
        self.y = self._full(x)
        self._check(status, self.clock[Clock.STEP])
        return steps, samples[: int(following[0])]


class CompiledGeneralisedAlpha(CompiledIntegrator):
    """``generalised-alpha`` in machine code."""

    name = "generalised-alpha"
    plain = GeneralisedAlpha

    def __init__(self, equations: Equations, t: float, y: Floats, settings: Settings, law: CompiledLaw) -> None:
        super().__init__(equations, t, y, settings, law)
        self.clock = alpha_clock(
            t,
            step=settings.step if settings.step is not None else min(1e-4, settings.max_step),
            largest=settings.max_step,
            relative=settings.tolerance.relative,
            radius=settings.radius,
            fixed=False,
        )
        self._renew()

    def _build(self) -> ImplicitSystem:
        law = self.law
        return ImplicitSystem(self.equations.arm.tree, law.force, gains=law.gains, channels=law.channels)

    @property
    def step(self) -> float:
        return float(min(self.clock[AlphaClock.STEP], self.settings.max_step))

    def _renew(self) -> None:
        n = self.equations.count
        a = self.rates(self.t, self.y)[n : 2 * n]
        # accelerations and their filtered twins
        self._tail = np.concatenate([a, a])
        self.clock[[AlphaClock.T, AlphaClock.MATRIX_STEP]] = self.t, 0.0

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "clock": self.clock, "tail": self._tail, "work": self.system.work}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.clock[:] = memory["clock"]
        self._tail = np.array(memory["tail"])
        self.system.work[:] = memory["work"]

    def _steps(self, until: float, grid: Floats) -> tuple[int, Floats]:
        x = np.concatenate([self.y[self._kept], self._tail])
        before = self.clock.copy()
        self.clock[AlphaClock.END] = until
        status = self.system.advance(self.clock, x, self._tolerance, self._knots)
        counters = AlphaClock.STEPS, AlphaClock.REJECTED, AlphaClock.CALLS, AlphaClock.MATRICES
        steps, rejected, calls, matrices = self._counted(before, *counters)
        self.statistics.steps += steps
        self.statistics.rejected += rejected
        self.statistics.evaluations += calls
        self.statistics.matrices += matrices
        states = self.system.states
        self.y, self._tail = self._full(x[:states]), x[states:].copy()
        self._check(status, self.clock[AlphaClock.STEP])
        return steps, np.zeros((0, states))


class KnotPiece(Piece):
    """Many steps: exact samples at the times that were wanted, Hermite interpolation between the steps elsewhere."""

    def __init__(
        self, full: Callable[[Floats], Floats], knots: Floats, count: int, grid: Floats, samples: Floats
    ) -> None:
        m = (knots.shape[1] - 1) // 2
        self.times = knots[:, 0]
        self.start, self.end = float(self.times[0]), float(self.times[-1])
        self._y, self._f = full(knots[:, 1 : 1 + m]), full(knots[:, 1 + m :])
        self._count = count
        self._grid, self._samples = grid, full(samples)

    @property
    def knots(self) -> Floats:
        return self.times

    def __call__(self, t: ArrayLike) -> Floats:
        times = np.atleast_1d(np.asarray(t, dtype=float))
        out = np.empty((len(times), self._y.shape[1]))
        place = np.clip(np.searchsorted(self._grid, times), 0, max(len(self._grid) - 1, 0))
        exact = self._grid[place] == times if len(self._grid) else np.zeros(len(times), dtype=bool)
        if exact.any():
            out[exact] = self._samples[place[exact]]
        step = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(self.times) - 2)
        for k in np.unique(step[~exact]):
            here = ~exact & (step == k)
            ends = float(self.times[k]), float(self.times[k + 1])
            piece = HermitePiece(*ends, self._y[k], self._y[k + 1], self._f[k], self._f[k + 1], self._count)
            out[here] = piece(times[here])
        return out[0] if np.ndim(t) == 0 else out
