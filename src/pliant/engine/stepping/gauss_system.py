"""Equations at the stages of collocation: of a robot with its drive, in the lanes of vectors, or in Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.engine.call.evaluator import Program, aligned
from pliant.engine.compile import jit
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.module import ATTRIBUTES, program_ir
from pliant.engine.stepping.called_system import CalledEquations, Rates, floats_at
from pliant.engine.stepping.driven_system import DrivenSystem, call_drive, call_dynamics, held_in
from pliant.engine.stepping.driving import Driving, MovingCarrier, Split
from pliant.engine.stepping.gauss_legendre import STAGES, gauss_legendre
from pliant.engine.stepping.gauss_stages import StageCode, table_text
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.signal_table import signals_ir
from pliant.engine.stepping.stepper import SLOTS, StepShape

Floats = NDArray[np.float64]

CONTEXT = ("links",)


class DrivenStages(StageCode):
    """Functions that evaluate a robot with its drive at all stages."""

    def __init__(self, driving: Driving, split: Split, shape: StepShape, lanes: int) -> None:
        super().__init__(shape, lanes)
        self.driving, self.split = driving, split

    def text(self, drive: str) -> str:
        """``stages``, ``powers`` and ``followed`` of a robot; ``drive`` is the kernel of its drive."""
        evaluations = [self._evaluation(drive, "powers", moves=False), self._evaluation(drive, "stages", moves=True)]
        return "".join([*evaluations, self._followed()])

    def _evaluation(self, drive: str, name: str, *, moves: bool) -> str:
        """``stages(context, q, v, z, out)``: the drive's forces, rates of its states, powers, and the accelerations.

        z are the drive's states. ``powers(...)`` leaves accelerations as they are where powers do not need them.
        """
        w, states, driven = Flow(), self.driving.states, len(self.split.driven)
        held = held_in(w, CONTEXT)
        rows = self.driving.signals + states
        with w.on_lanes(self.lanes), w.repeat(self.groups) as g:
            q, v = (w.at(base, w.imul(g, self.n)) for base in ("%q", "%v"))
            # one entry more than rows: there may be none
            r, f = w.at(held["r"], w.imul(g, rows + 1)), w.at(held["f"], w.imul(g, self.force_rows))
            for k in range(states):
                w.write(w.read("%z", w.iadd(w.imul(g, states), k)), r, self.driving.signals + k)
            q, v = self.split.whole(w, (q, v), held["full"], r)
            call_drive(w, {**held, "r": r, "f": f}, drive, q, v)
            if moves or driven:
                out = w.at("%out", w.imul(g, self.n))
                found = held["out"] if driven else out
                # a batch would say here what to fetch on the way
                call_dynamics(w, held, held["dynamics"], (q, v, f), found, "ptr null")
                # efforts come first
                for j, k in enumerate(self.split.moving if driven else ()):
                    w.write(w.read(found, driven + k), out, j)
                if driven:
                    place = self.split.n + self.layout.work - self.layout.rest.start
                    efforts = [w.read(found, k) for k in range(driven)]
                    w.write(self.split.work(w, efforts, v, w.read(f, place)), f, place)
        arguments = "ptr %context, ptr %q, ptr %v, ptr %z, ptr %out"
        return w.text(name, arguments)

    def _followed(self) -> str:
        """``followed(context, scratch, t, h)``: what the drive follows, at all stages."""
        w, channels = Flow(), self.driving.signals
        held = held_in(w, CONTEXT)
        table = ", ".join(f"i64 {held[k]}" for k in ("pieces", "channels", "terms"))
        rows = channels + self.driving.states + 1
        with w.repeat(STAGES if channels else 0) as i:
            time = w.fadd("%t", w.fmul("%h", w.read("@stage_places", i)))
            if channels > self.driving.held:
                w.do(f"call void @signals(ptr {held['table']}, {table}, double {time}, ptr %scratch)")
            for command in range(self.driving.held):
                w.write(w.read(held["held"], command), "%scratch", command)
            first = self.first_of(w, i, rows)
            with w.repeat(channels) as k:
                w.write(w.read("%scratch", k), held["r"], w.iadd(w.imul(k, self.lanes), first))
        places = table_text("stage_places", gauss_legendre().c)
        return places + w.text("followed", "ptr %context, ptr %scratch, double %t, double %h")


class GaussSystem(DrivenSystem):
    """A robot with a drive. Not shared between threads.

    forward  as of ``ExplicitSystem``
    """

    kind = "stages"

    def __init__(self, tree: MovingCarrier, driving: Driving, forward: Traced) -> None:
        lanes = jit.lanes()
        super().__init__(tree, driving, [Program(*forward)], (), CONTEXT, lanes)
        _, self.code = self.compiled(f"stages {lanes}", (), lambda _: self._module())
        self._hold(levels=2, groups=STAGES // lanes)

    def _module(self) -> str:
        stages, (drive,) = DrivenStages(self.driving, self.split, self.shape, self.lanes), self.drives
        text, name = program_ir(drive, self.lanes)
        return "".join([prelude([drive], self.lanes), text, signals_ir(), stages.text(name), ATTRIBUTES])

    @property
    def shape(self) -> StepShape:
        return StepShape(self.layout, self.turning, (), self.size, self.driving.signals)

    @property
    def kept(self) -> Floats:
        """The drive's forces, rates of its states and powers as they were seen last, at all stages."""
        return self._f


class CalledStages(CalledEquations):
    """Equations x' = rates(t, x) in Python: a call of a function evaluates all stages."""

    kind = "stages"

    def __init__(self, rates: Rates, layout: StateLayout, turning: Sequence[int]) -> None:
        self.rates, self.lanes = rates, jit.lanes()
        super().__init__(layout, turning, [self._stages, self._powers, self._followed])
        self._seen, self._times = aligned((layout.count + layout.further) * STAGES), np.zeros(STAGES)
        self._lanes = STAGES // self.lanes, -1, self.lanes
        self.context[SLOTS.index("f")] = self._seen.ctypes.data

    @property
    def shape(self) -> StepShape:
        return StepShape(self.layout, self.turning, (), self.layout.count)

    @property
    def kept(self) -> Floats:
        return self._seen

    def _followed(self, scratch: int, t: float, h: float) -> None:
        self._times[:] = t + h * gauss_legendre().c

    def _stages(self, q: int, v: int, z: int, out: int) -> None:
        self._evaluate(q, v, z, floats_at(out, self.layout.count * STAGES))

    def _powers(self, q: int, v: int, z: int, out: int) -> None:
        self._evaluate(q, v, z, np.zeros(self.layout.count * STAGES))

    def _evaluate(self, q: int, v: int, z: int, out: Floats) -> None:
        """Rates at all stages, whose accelerations go to ``out`` and whose further ones are kept."""
        at, seen = self.layout, self._seen.reshape(self._lanes)
        sizes = ((q, at.count), (v, at.count), (z, at.states))
        parts = [floats_at(place, size * STAGES).reshape(self._lanes) for place, size in sizes if size]

        def find() -> None:
            # stages in their order, each with all of its states
            states = np.concatenate(parts, axis=1).transpose(0, 2, 1).reshape(STAGES, -1)
            states = np.hstack([states, np.zeros((STAGES, at.size - at.controlled))])
            slopes = np.array([self.rates(float(t), x) for t, x in zip(self._times, states, strict=True)])
            slopes = slopes.reshape(-1, self.lanes, at.size).transpose(0, 2, 1)
            out.reshape(self._lanes)[:] = slopes[:, at.v]
            seen[:, at.count :] = slopes[:, at.rest]

        self.attempt(find, out, self._seen)
