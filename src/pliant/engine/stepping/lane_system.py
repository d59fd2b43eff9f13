"""Robots of one structure with their drives, one in each lane of a vector register, stepped together."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.evaluator import aligned
from pliant.engine.compile import jit
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.module import ATTRIBUTES, program_ir
from pliant.engine.stepping.explicit_system import ExplicitSystem
from pliant.engine.stepping.integrators import Clock, Status
from pliant.engine.stepping.lane_steps import (
    BY_LANE,
    CONTEXT,
    RUNNING,
    TIMES,
    WORK,
    lane_dop853_ir,
    lane_rhs_ir,
    lane_ticked_ir,
)
from pliant.engine.stepping.stepper import Stepped, StepsCall
from pliant.engine.stepping.ticks import Ticking
from pliant.engine.trace.program import RolledProgram

Floats = NDArray[np.float64]


class LaneRun(NamedTuple):
    """Steps of ``dop853`` that may be made in a lane."""

    system: ExplicitSystem
    stepped: Stepped
    steps: StepsCall
    ticking: Ticking | None = None

    @property
    def structure_key(self) -> tuple[object, ...]:
        """What runs that are stepped together have in common."""
        return self.system.code, self.system.signal_shape, len(self.steps.knots)

    def alone(self) -> tuple[Status, int]:
        """Make the call by itself: why it ended, and rows of knots."""
        return self.stepped.advance(self.steps, self.ticking)


class LaneSystem:
    """The code of a structure, and its arrays. Not shared between threads.

    like  a system of the structure
    """

    def __init__(self, like: ExplicitSystem) -> None:
        self.lanes = L = jit.lanes()
        self.states, self.size = like.states, like.size

        def module(traced: Sequence[RolledProgram]) -> str:
            (program,), (drive,) = traced, like.drives
            text, forward = program_ir(program, L, own_constants=True)
            drive_text, drive_name = program_ir(drive, L, own_constants=True)
            parts = [prelude([program, drive], L), text, drive_text]
            parts.append(lane_rhs_ir(forward, drive_name, like.driving, like.layout, like.size, L))
            parts.append(lane_dop853_ir(like.states, like.layout.controlled, L))
            parts += [lane_ticked_ir(like.layout, L)] if like.driving.held else []
            return "".join([*parts, ATTRIBUTES])

        (plan,), self._code = like.compiled(f"lanes {L}", like.programs, module)
        name = "ticked" if like.driving.held else "dop853"
        self._call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(self._code.address(name))
        m = self.states
        wide = {name: len(array) for name, array in like.numbers.items()}
        wide |= {"store": plan.record_size, "r": like.channels + like.driving.states + 1}
        wide |= {"f": like.size + like.layout.further, "x": m, "tolerance": m, "work": WORK * m}
        wide["held"] = like.driving.held
        self._wide = {name: aligned(max(size, 1) * L).reshape(-1, L) for name, size in wide.items()}
        self._times = {name: aligned(L) for name in TIMES}
        self._whole = {name: np.zeros(L, dtype=np.int64) for name in BY_LANE}
        self._rows = {"rows": np.array(plan.rows, dtype=np.int64), "drive_rows": like.drive_rows}
        held: dict[str, NDArray[Any]] = {**self._wide, **self._times, **self._whole, **self._rows}
        addresses = {name: array.ctypes.data for name, array in held.items()} | {"links": len(self._rows["rows"])}
        self._context = np.array([addresses.get(name, 0) for name in CONTEXT], dtype=np.int64)

    def dop853(self, runs: Sequence[LaneRun]) -> list[tuple[Status, int]]:
        """Advance all runs, at most as many as there are lanes, as if each were alone; see ``LaneRun.alone``."""
        first = runs[0]
        if len(runs) > self.lanes or any(run.structure_key != first.structure_key for run in runs):
            raise ValueError(f"{len(runs)} runs of different kinds do not fit into {self.lanes} lanes")
        # lanes without a run repeat the first one and stand still
        filled = [*runs, *[first] * (self.lanes - len(runs))]
        calls = [run.steps for run in filled]
        for k, (run, steps) in enumerate(zip(filled, calls, strict=True)):
            for name, numbers in run.system.numbers.items():
                self._wide[name][: len(numbers), k] = numbers
            self._wide["x"][:, k], self._wide["tolerance"][:, k] = steps.x, steps.tolerance
            self._wide["work"][: self.states, k] = steps.work[: self.states]
            self._times["relative"][k] = steps.clock[Clock.RELATIVE]
        arrays: dict[str, list[NDArray[Any]]] = {
            "tables": [run.system.table for run in filled],
            "clocks": [steps.clock for steps in calls],
            "knots": [steps.knots for steps in calls],
            "grids": [steps.wanted.grid for steps in calls],
            "nexts": [steps.wanted.following for steps in calls],
            "samples": [steps.wanted.samples for steps in calls],
        }
        for name, each in arrays.items():
            self._whole[name][:] = [array.ctypes.data for array in each]
        self._whole["counts"][:] = [len(steps.wanted.grid) for steps in calls]
        self._whole["taken"][:] = self._whole["begun"][:] = 0
        self._whole["status"][:] = [RUNNING if k < len(runs) else int(Status.PAUSED) for k in range(self.lanes)]
        self._context[-3:] = first.system.signal_shape
        self._run([run.ticking for run in filled if run.ticking is not None], calls, len(runs))
        for k, run in enumerate(runs):
            run.steps.x[:] = self._wide["x"][:, k]
            run.steps.work[: self.states] = self._wide["work"][: self.states, k]
        found = zip(self._whole["status"].tolist(), self._whole["taken"].tolist(), strict=True)
        return [(Status(status), taken + 1) for status, taken in found][: len(runs)]

    def _run(self, computers: Sequence[Ticking], calls: Sequence[StepsCall], count: int) -> None:
        """Let the machine code go on until no lane waits for Python to compute a tick."""
        rows, whole = len(calls[0].knots), self._whole
        for each in computers[:count]:
            each.ticks.make_room(rows)
        self._times["ends"][:] = [steps.clock[Clock.END] for steps in calls]
        waits = list(range(count))
        while waits:
            for each in computers[:count]:
                each.ticks.signals()
            told = [each.ticks.told((0, 0, 1, self.states)) for each in computers]
            whole["computers"][: len(told)] = [each.ctypes.data for each in told]
            self._call(self._context.ctypes.data, rows - 1)
            waits = [k for k in range(count) if whole["status"][k] == Status.TICK]
            for k in waits:
                computers[k].compute_due(calls[k].clock, self._wide["x"][:, k].copy())
                # a row more, with the slope of the other side
                whole["taken"][k] += whole["begun"][k]
                whole["status"][k] = int(Status.PAUSED) if whole["taken"][k] >= rows - 1 else RUNNING


_KNOWN: WeakKeyDictionary[jit.LoadedCode, LaneSystem] = WeakKeyDictionary()


def lanes_of(system: ExplicitSystem) -> LaneSystem:
    """The lanes for all systems of one code, made once."""
    found = _KNOWN.get(system.code)
    if found is None:
        found = _KNOWN[system.code] = LaneSystem(system)
    return found


def step_together(runs: Sequence[LaneRun]) -> list[tuple[Status, int]]:
    """Make all calls, those that are alike in lanes."""
    alike: dict[object, list[int]] = {}
    for k, run in enumerate(runs):
        # an object of its own is like no other
        alike.setdefault(object() if run.system.without_lane else run.structure_key, []).append(k)
    found: dict[int, tuple[Status, int]] = {}
    for places in alike.values():
        if len(places) == 1:
            found[places[0]] = runs[places[0]].alone()
            continue
        system = lanes_of(runs[places[0]].system)
        for start in range(0, len(places), system.lanes):
            group = places[start : start + system.lanes]
            found |= zip(group, system.dop853([runs[k] for k in group]), strict=True)
    return [found[k] for k in range(len(runs))]
