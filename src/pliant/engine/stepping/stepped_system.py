"""Calls of integrators in machine code: the arrays that they take, and a computer beside the run where there is one."""

from __future__ import annotations

import ctypes
from abc import ABC
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.jit import LoadedCode
from pliant.engine.stepping.integrators import Clock, Status
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.ticks import Entry, Ticking, Ticks, ticking_code

Floats = NDArray[np.float64]

_P, _I = ctypes.c_void_p, ctypes.c_int64
_STEPS = ctypes.CFUNCTYPE(_I, *[_P] * 6, _I, _P, _I, _P, _P)
_TICKED = ctypes.CFUNCTYPE(_I, *[_P] * 8, _I, _P, _I, _P, _P)


class Wanted(NamedTuple):
    """Times at which x is wanted, how many of them are written, and where."""

    grid: Floats
    following: NDArray[np.int64]
    samples: Floats

    @classmethod
    def at(cls, grid: Floats, states: int) -> Wanted:
        return cls(grid, np.zeros(1, dtype=np.int64), np.zeros((len(grid), states)))

    @property
    def found(self) -> Floats:
        return self.samples[: int(self.following[0])]


NOTHING = Wanted.at(np.zeros(0), 0)
"""No times at all."""


class StepsCall(NamedTuple):
    """A call of an integrator: where its code begins, its arrays, and rows of knots that a step has."""

    function: int
    context: NDArray[np.int64]
    clock: Floats
    x: Floats
    tolerance: Floats
    work: Floats
    knots: Floats
    wanted: Wanted
    coordinates: int
    per_step: int = 1

    def _arguments(self, knots: Floats, pause: int) -> list[int]:
        grid = self.wanted.grid
        arrays = (self.context, self.clock, self.x, self.tolerance, self.work, knots)
        samples = (self.wanted.following.ctypes.data, self.wanted.samples.ctypes.data)
        return [*(array.ctypes.data for array in arrays), pause, grid.ctypes.data, len(grid), *samples]

    def made(self, ticks: Ticks | None, size: float) -> tuple[Status, int]:
        """Make the call: why it came back, and how many rows of knots it wrote."""
        if ticks is None:
            before, pause = self.clock[Clock.STEPS], (len(self.knots) - 1) // self.per_step
            status = _STEPS(self.function)(*self._arguments(self.knots, pause))
            return Status(status), self.per_step * int(self.clock[Clock.STEPS] - before) + 1
        ticks.signals()
        ticks.numbers[[Entry.SIZE, Entry.ROWS]] = size, 0
        told = ticks.told((self.coordinates, self.knots.shape[1], self.per_step, len(self.x)))
        loop = _TICKED(ticking_code().address("ticked"))
        status = loop(told.ctypes.data, self.function, *self._arguments(self.knots, len(self.knots)))
        return Status(status), int(ticks.numbers[Entry.ROWS])


class SteppedSystem(ABC):
    """Equations with machine code of steps on them.

    code  the steps; ``work`` is their work space, ``context`` their first argument
    """

    code: LoadedCode
    work: Floats
    context: NDArray[np.int64]
    layout: StateLayout

    def steps(
        self, method: str, clock: Floats, x: Floats, tolerance: Floats, knots: Floats, wanted: Wanted = NOTHING
    ) -> StepsCall:
        """A call that advances x in place until clock[END] or by as many steps as there are knots for.

        See ``Stepping`` for the arrays.
        """
        function, n = self.code.address(method.replace("-", "_")), self.layout.count
        return StepsCall(function, self.context, clock, x, tolerance, self.work, knots, wanted, n)

    def advance(self, steps: StepsCall, ticking: Ticking | None = None) -> tuple[Status, int]:
        """Make a call: why it ended, and how many rows of knots it wrote.

        With a computer beside the run the time of a jump stands in two rows, with the slopes of either side.
        """
        ticks, size, written = None if ticking is None else ticking.ticks, 0.0 if ticking is None else ticking.size, 0
        if ticks is not None:
            ticks.make_room(len(steps.knots))
        while True:
            status, rows = steps._replace(knots=steps.knots[written:]).made(ticks, size)
            written += rows
            if status is Status.STALE:
                self.renew(steps.clock, steps.x)
                # its first row was written with a slope that is old
                written -= 1
            elif ticking is not None and status is Status.TICK:
                ticking.compute_due(steps.clock, steps.x)
                if len(steps.knots) - written <= steps.per_step:
                    return Status.PAUSED, written
            else:
                return status, written

    def renew(self, clock: Floats, x: Floats) -> None:
        """Find anew what the steps know about the equations, for methods that ask for it."""
        raise NotImplementedError
