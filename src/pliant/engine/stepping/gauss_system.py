"""Gauss's collocation on a robot with its drive, whose stages are lanes of vectors, or on equations in Python."""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.engine.call.evaluator import Program, aligned
from pliant.engine.compile import jit
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.module import ATTRIBUTES, program_ir
from pliant.engine.stepping.called_system import CalledEquations, Rates, called_ir, floats_at
from pliant.engine.stepping.driven_system import DrivenSystem, context_names
from pliant.engine.stepping.driving import Driving, MovingCarrier, Split
from pliant.engine.stepping.gauss import GaussCode
from pliant.engine.stepping.gauss_legendre import STAGES, gauss_legendre
from pliant.engine.stepping.gauss_numbers import FORGOTTEN, ITERATIONS, SUBSTEPS, GaussWork, Own
from pliant.engine.stepping.gauss_stages import CONTEXT
from pliant.engine.stepping.integrators import Clock
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.signal_table import signals_ir
from pliant.engine.stepping.stage_modes import StageModes
from pliant.engine.stepping.stepped_system import NOTHING, SteppedSystem, StepsCall, Wanted

Floats = NDArray[np.float64]


class GaussSteps(SteppedSystem):
    """What the steps need beside their equations: vibrations about a state, which NumPy finds where they are old."""

    def _begin(self, signals: int) -> None:
        """Make the work space; with states, stages and lanes as the code has them."""
        lanes = jit.lanes()
        at, n, groups = GaussWork.of(self.layout, signals), self.layout.count, STAGES // lanes
        self.work = aligned(at.end)
        self._J = self._part(at.differences, 2 * n, n)
        self._own, self._slope = self._part(at.own, len(Own)), self._part(at.slope, self.layout.size)
        matrices, vectors = (at.shapes, at.inverse), (at.squares, at.damping)
        self._modes = [self._part(k, n, n) for k in matrices] + [self._part(k, n) for k in vectors]
        # stages of a group beside one another, coordinate by coordinate
        stages = (at.accelerations, at.places, at.rates, at.remainder)
        *self._motion, self._remainder = (self._part(k, groups, n, lanes) for k in stages)
        p, i = ctypes.c_void_p, ctypes.c_int64
        self._linearise = ctypes.CFUNCTYPE(None, p, ctypes.c_double, p, p, i)(self.code.address("linearise"))
        self.forget()

    @property
    @abstractmethod
    def seen(self) -> Floats:
        """Forces, rates of the drive's states and powers as they were seen last, at all stages."""

    def forget(self) -> None:
        """Nothing is known of the motion before: the equations or the state have jumped."""
        self._own[[*FORGOTTEN]] = [*FORGOTTEN.values()]

    def _part(self, start: int, *shape: int) -> Floats:
        return self.work[start : start + prod(shape)].reshape(shape)

    def renew(self, clock: Floats, x: Floats) -> None:
        """Find the vibrations about a state, and its slope."""
        n, own, t = self.layout.count, self._own, float(clock[Clock.T])
        clock[Clock.MATRICES] += 1
        blocks = -(-(2 * n + self.layout.states + 1) // STAGES)
        self._linearise(self.context.ctypes.data, t, x.ctypes.data, self.work.ctypes.data, blocks)
        if not np.isfinite(self._J).all():
            # no step will be found, and its size becomes too small
            self._J[:] = 0.0
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

    def steps(
        self, method: str, clock: Floats, x: Floats, tolerance: Floats, knots: Floats, wanted: Wanted = NOTHING
    ) -> StepsCall:
        return super().steps(method, clock, x, tolerance, knots, wanted)._replace(per_step=SUBSTEPS)


class GaussSystem(GaussSteps, DrivenSystem):
    """A robot with a drive. Not shared between threads.

    forward  as of ``ExplicitSystem``
    """

    def __init__(self, tree: MovingCarrier, driving: Driving, forward: Traced) -> None:
        lanes = jit.lanes()
        DrivenSystem.__init__(self, tree, driving, [Program(*forward)], (), CONTEXT, lanes)
        _, self.code = self.compiled(f"gauss {lanes}", (), lambda _: self._module())
        self._hold(levels=2, groups=STAGES // lanes)
        self._begin(driving.signals)

    def _module(self) -> str:
        code, (drive,) = GaussCode(self.driving, self.split, self.layout, self.lanes, self.turning), self.drives
        text, name = program_ir(drive, self.lanes)
        parts = [prelude([drive], self.lanes), text, signals_ir(), code.text(code.driven_stages(name))]
        return "".join([*parts, ATTRIBUTES])

    @property
    def seen(self) -> Floats:
        return self._f


STAGE_FUNCTIONS = {"stages": "dynamics", "powers": "constants", "followed": "gravity"}
"""Functions of Python, and where in the context their addresses are: in places of what robots have."""


class CalledGaussSystem(GaussSteps, CalledEquations):
    """Equations x' = rates(t, x) in Python: a call of a function evaluates all stages."""

    def __init__(self, rates: Rates, layout: StateLayout, turning: Sequence[int]) -> None:
        self.rates, self.lanes = rates, jit.lanes()
        self._acting = Driving(lambda *_: [], states=layout.states)
        groups = STAGES // self.lanes
        self._rows = layout.count + layout.further
        self._seen = aligned(self._rows * STAGES)
        self._times = np.zeros(STAGES)
        p, d = ctypes.c_void_p, ctypes.c_double
        functions = [
            ctypes.CFUNCTYPE(None, *[p] * 4)(self._stages),
            ctypes.CFUNCTYPE(None, *[p] * 4)(self._powers),
            ctypes.CFUNCTYPE(None, p, d, d)(self._followed),
        ]
        CalledEquations.__init__(self, f"gauss {self.lanes}", layout, turning, functions)
        self._shape = groups, -1, self.lanes
        addresses = dict(zip(STAGE_FUNCTIONS.values(), self.context.tolist(), strict=True))
        addresses["f"] = self._seen.ctypes.data
        self.context = np.array([addresses.get(name, 0) for name in context_names(CONTEXT)], dtype=np.int64)
        self._begin(0)

    def _module(self) -> str:
        code = GaussCode(self._acting, Split(self.layout.count), self.layout, self.lanes, self.turning)
        names, arrays = context_names(CONTEXT), tuple(f"ptr %{name}" for name in ("q", "v", "z", "out"))
        given = {"stages": arrays, "powers": arrays, "followed": ("ptr %scratch", "double %t", "double %h")}
        called = [called_ir(name, names.index(at), given[name]) for name, at in STAGE_FUNCTIONS.items()]
        return code.text("".join(called))

    @property
    def seen(self) -> Floats:
        return self._seen

    def _followed(self, scratch: int, t: float, h: float) -> None:
        self._times[:] = t + h * gauss_legendre().c

    def _stages(self, q: int, v: int, z: int, out: int) -> None:
        self._evaluate(q, v, z, floats_at(out, self.layout.count * STAGES))

    def _powers(self, q: int, v: int, z: int, out: int) -> None:
        self._evaluate(q, v, z, np.zeros(self.layout.count * STAGES))

    def _evaluate(self, q: int, v: int, z: int, out: Floats) -> None:
        """Rates at all stages, whose accelerations go to ``out`` and whose further ones to ``seen``."""
        at, seen = self.layout, self._seen.reshape(self._shape)
        sizes = ((q, at.count), (v, at.count), (z, at.states))
        parts = [floats_at(place, size * STAGES).reshape(self._shape) for place, size in sizes if size]

        def find() -> None:
            # stages in their order, each with all of its states
            states = np.concatenate(parts, axis=1).transpose(0, 2, 1).reshape(STAGES, -1)
            states = np.hstack([states, np.zeros((STAGES, at.size - at.controlled))])
            slopes = np.array([self.rates(float(t), x) for t, x in zip(self._times, states, strict=True)])
            slopes = slopes.reshape(-1, self.lanes, at.size).transpose(0, 2, 1)
            out.reshape(self._shape)[:] = slopes[:, at.v]
            seen[:, at.count :] = slopes[:, at.rest]

        self.attempt(find, out, self._seen)
