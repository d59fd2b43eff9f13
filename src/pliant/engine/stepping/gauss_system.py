"""A robot with its drive for Gauss's collocation, whose stages are evaluated in the lanes of vector registers."""

from __future__ import annotations

import ctypes
from math import prod

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.engine.call.evaluator import Program, aligned
from pliant.engine.compile import jit
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.module import ATTRIBUTES, program_ir
from pliant.engine.stepping.driven_system import DrivenSystem
from pliant.engine.stepping.driving import Driving, MovingCarrier
from pliant.engine.stepping.gauss import GaussCode
from pliant.engine.stepping.gauss_legendre import STAGES
from pliant.engine.stepping.gauss_numbers import ITERATIONS, SUBSTEPS, GaussWork, Own
from pliant.engine.stepping.gauss_stages import CONTEXT
from pliant.engine.stepping.integrators import Clock, Status
from pliant.engine.stepping.signal_table import signals_ir
from pliant.engine.stepping.stage_modes import StageModes

Floats = NDArray[np.float64]

ENDLESS = 1e100
"""A step that is not limited."""


class GaussSystem(DrivenSystem):
    """The compiled method. Not shared between threads.

    forward  as of ``ExplicitSystem``
    """

    def __init__(self, tree: MovingCarrier, driving: Driving, forward: Traced) -> None:
        lanes = jit.lanes()
        super().__init__(tree, driving, [Program(*forward)], (), CONTEXT, lanes)
        _, self.code = self.compiled(f"gauss {lanes}", (), lambda _: self._module())
        self._hold(levels=2, groups=STAGES // lanes)
        at, n, groups = GaussWork.of(self.layout, driving.signals), self.layout.count, STAGES // lanes
        self.work = aligned(at.end)
        self._J = self._part(at.differences, 2 * n, n)
        self._own, self._slope = self._part(at.own, len(Own)), self._part(at.slope, self.states)
        matrices, vectors = (at.shapes, at.inverse), (at.squares, at.damping)
        self._modes = [self._part(k, n, n) for k in matrices] + [self._part(k, n) for k in vectors]
        # stages of a group beside one another, coordinate by coordinate
        stages = (at.accelerations, at.places, at.rates, at.remainder)
        *self._motion, self._remainder = (self._part(k, groups, n, lanes) for k in stages)
        p, i = ctypes.c_void_p, ctypes.c_int64
        self._gauss = ctypes.CFUNCTYPE(i, *[p] * 6, i, p, i, p, p)(self.code.address("gauss"))
        self._linearise = ctypes.CFUNCTYPE(None, p, ctypes.c_double, p, p, i)(self.code.address("linearise"))
        self.forget()

    def _module(self) -> str:
        code, (drive,) = GaussCode(self.driving, self.split, self.layout, self.lanes, self.turning), self.drives
        text, name = program_ir(drive, self.lanes)
        return "".join([prelude([drive], self.lanes), text, signals_ir(), code.text(name), ATTRIBUTES])

    @property
    def seen(self) -> Floats:
        """The drive's forces, rates of its states and powers as they were seen last, at all stages."""
        return self._f

    def forget(self) -> None:
        """Nothing is known of the motion before: the equations or the state have jumped."""
        self._own[[Own.AGE, Own.RATE, Own.BEFORE, Own.LIMIT]] = -1.0, 1.0, 0.0, ENDLESS

    def _part(self, start: int, *shape: int) -> Floats:
        return self.work[start : start + prod(shape)].reshape(shape)

    def _renew(self, t: float, x: Floats) -> None:
        """Find the vibrations about a state, and its slope."""
        n, own = self.layout.count, self._own
        blocks = -(-(2 * n + self.layout.states + 1) // STAGES)
        self._linearise(self._context.ctypes.data, t, x.ctypes.data, self.work.ctypes.data, blocks)
        modes = StageModes.of(-self._J[:n].T, -self._J[n:].T)
        for part, found in zip(self._modes, modes, strict=True):
            part[:] = found
        if own[Own.BEFORE]:
            a, q, v = (modes.inverse @ part for part in self._motion)
        else:
            a, q, v = ((modes.inverse @ part)[:, None] for part in (self._slope[n : 2 * n], x[:n], x[n : 2 * n]))
        self._remainder[:] = a + modes.squares[:, None] * q + modes.damping[:, None] * v
        own[[Own.AGE, Own.OWED, Own.LOST, Own.FILTER, Own.CHANGED]] = 0.0
        own[Own.FEWEST] = ITERATIONS

    def gauss(
        self,
        clock: Floats,
        x: Floats,
        tolerance: Floats,
        knots: Floats,
        grid: Floats,
        following: NDArray[np.int64],
        samples: Floats,
    ) -> Status:
        """Advance x in place until clock[END] or as many steps as there are knots for.

        See ``integrators.dop853_ir`` for the arrays; a step has ``SUBSTEPS`` knots.
        """
        before = clock[Clock.STEPS]
        while True:
            if self._own[Own.AGE] < 0:
                self._renew(float(clock[Clock.T]), x)
                clock[Clock.MATRICES] += 1
            taken = int(clock[Clock.STEPS] - before)
            rest = knots[taken * SUBSTEPS :]
            addresses = [a.ctypes.data for a in (self._context, clock, x, tolerance, self.work, rest)]
            wanted = [grid.ctypes.data, len(grid), following.ctypes.data, samples.ctypes.data]
            status = Status(self._gauss(*addresses, (len(rest) - 1) // SUBSTEPS, *wanted))
            if status is not Status.STALE:
                return status
