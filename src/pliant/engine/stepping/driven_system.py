"""What compiled systems share: a program of the dynamics, the drive's kernel, and the context that holds their arrays.

The context is an array of addresses and sizes, which the compiled functions get as their first argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.evaluator import BufferLayout, Program, aligned_parts, stored
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.jit import LoadedCode
from pliant.engine.compile.module import loop_name, rows
from pliant.engine.stepping.driving import DriveKernel, Driving, MovingCarrier, Split
from pliant.engine.stepping.signal_table import Signals
from pliant.engine.stepping.stepper import FUNCTIONS, SLOTS, SteppedEquations
from pliant.engine.trace.program import RolledProgram
from pliant.engine.trace.structure import constants_of

Floats = NDArray[np.float64]

SHARED = (
    *SLOTS,
    *("dynamics", "constants", "gravity", "store", "rows", "arm", "gains", "drive_rows", "r", "full", "out", "held"),
)
"""The compiled dynamics of every system, which are the robot's own wherever it has them already, and its arrays."""
TABLE = ("table", "pieces", "channels", "terms")
"""What changes with the signals."""
NUMBERS = ("links", "tangent_links", "pieces", "channels", "terms")
"""Entries of a context that are sizes."""


class DrivenSystem(SteppedEquations):
    """A robot with a drive as machine code. Not shared between threads.

    code     its functions
    context  names of the arrays and sizes that the code is given, beside the shared ones
    seeds    inputs of the drive's kernel by which its tangents are needed, too
    lanes    states that are evaluated together
    """

    code: LoadedCode

    def __init__(
        self,
        tree: MovingCarrier,
        driving: Driving,
        programs: Sequence[Program],
        seeds: tuple[str, ...],
        context: Sequence[str],
        lanes: int = 1,
    ) -> None:
        self.tree, self.size, self.channels = tree, tree.size, driving.signals
        self.split, self.layout = Split(tree.size, driving.driven), driving.layout(tree.size)
        self.states = self.layout.size
        self.turning = rotation_vectors(tree, self.split)
        self.driving, self.programs, self._names = driving, programs, context_names(context)
        self.lanes = lanes
        self._plan, self._dynamics = programs[0].load("single" if lanes == 1 else "batch")
        self._kernel = DriveKernel.of(tree, driving, seeds)
        self.drives = self._kernel.programs

    def compiled(
        self, kind: str, programs: Sequence[Program], module: Callable[[Sequence[RolledProgram]], str]
    ) -> tuple[list[BufferLayout], LoadedCode]:
        """Code of a kind for this structure, and what the buffers of programs look like that are part of it.

        module  writes it from these programs, unless it is stored
        """
        driving = self.driving

        def make() -> tuple[dict[str, Any], str]:
            traced = [program.traced for program in programs]
            return {"plans": [asdict(BufferLayout.of(each)) for each in traced]}, module(traced)

        identities = [program.identity for program in self.programs]
        described = (
            identities,
            self._kernel.digest,
            driving.signals,
            driving.states,
            driving.driven,
            driving.held,
            self.turning,
        )
        homes = {home for program in self.programs for home in program.homes}
        description, code = stored((kind, *described), make, homes=homes)
        return [BufferLayout(**plan) for plan in description["plans"]], code

    def _hold(self, levels: int, more: Mapping[str, NDArray[Any]] | None = None, groups: int = 1) -> None:
        """Make the shared arrays, for so many levels of the coordinates' derivatives, and the context of all.

        groups  of lanes, for whose signals and forces there is room
        """
        driving, tree, n, plan = self.driving, self.tree, self.size, self._plan
        self.constants, self.gravity = self.programs[0].constants, np.array(tree.gravity, dtype=float)
        self.gains = np.array([*driving.numbers, 0.0])
        self.drive_rows = rows(self.drives[0])
        self._arrays: dict[str, NDArray[Any]] = {
            "constants": self.constants,
            "gravity": self.gravity,
            "rows": plan.table,
            "arm": np.repeat(constants_of(tree), self.lanes),
            "gains": self.gains,
            "drive_rows": self.drive_rows,
            # until a computer has one of its own: what asks for a matrix has no ticks
            "held": np.zeros(max(driving.held, 1) * self.lanes),
            **(more or {}),
        }
        held = {name: array.ctypes.data for name, array in self._arrays.items()}
        sizes = {"store": plan.record_size, "full": levels * n, "out": plan.outputs}
        sizes |= {"r": groups * (driving.signals + driving.states + 1), "f": groups * (n + self.layout.further)}
        parts = aligned_parts(*(size * self.lanes for size in sizes.values()))
        for name, (array, address) in zip(sizes, parts, strict=True):
            self._arrays[name], held[name] = array, address
        self._f = self._arrays["f"]
        for slot, name in zip(SLOTS, FUNCTIONS[self.kind], strict=False):
            held[slot] = self.code.address(name)
        held["links"] = len(self._arrays["rows"])
        held["dynamics"] = self._dynamics.address(loop_name(self.programs[0].algorithm.name, (), self.lanes))
        if "tangent_rows" in self._arrays:
            held["tangent_links"] = len(self._arrays["tangent_rows"])
        self.context = np.array([held.get(name, 0) for name in self._names], dtype=np.int64)
        self.set_signals(Signals.zero(self.channels))

    def set_signals(self, signals: Signals) -> None:
        """What the drive follows from now on."""
        if signals.channels != self.channels:
            raise ValueError(f"the drive has {self.channels} signals, {signals.channels} were given")
        self.table, self.signal_shape = signals.table, signals.coefficients.shape
        self.context[-len(TABLE) :] = self.table.ctypes.data, *self.signal_shape

    def hold(self, command: Floats) -> None:
        """Where a computer holds its command, the signals of its law."""
        self._arrays["held"] = command
        self.context[self._names.index("held")] = command.ctypes.data

    @property
    def numbers(self) -> dict[str, Floats]:
        """What robots of one structure differ in."""
        return {name: self._arrays[name] for name in ("constants", "gravity", "arm", "gains")}


def rotation_vectors(tree: MovingCarrier, split: Split) -> tuple[int, ...]:
    """Where rotation vectors that may be replaced by shorter ones begin in x."""
    return tuple(split.moving.index(k) for k in tree.rotation_vectors)


def context_names(context: Sequence[str]) -> tuple[str, ...]:
    """Names of all entries of a context: the shared ones, those given, and the signals' table."""
    return (*SHARED, *context, *TABLE)


def held_in(w: Flow, context: Sequence[str]) -> dict[str, str]:
    """The shared arrays and those of a context, by name, as compiled code reads them from ``%context``."""
    return {
        name: w.get("i64" if name in NUMBERS else "ptr", w.let(f"getelementptr inbounds i64, ptr %context, i64 {k}"))
        for k, name in enumerate(context_names(context))
    }


def follow(w: Flow, held: Mapping[str, str], driving: Driving, x: str) -> None:
    """The signals at ``%t`` into r, and behind them the drive's states, which stand first in x."""
    if driving.signals > driving.held:
        table = ", ".join(f"i64 {held[k]}" for k in ("pieces", "channels", "terms"))
        w.do(f"call void @signals(ptr {held['table']}, {table}, double %t, ptr {held['r']})")
    for k in range(driving.held):
        w.write(w.read(held["held"], k), held["r"], k)
    for k in range(driving.states):
        w.write(w.read(x, k), held["r"], driving.signals + k)


def call_drive(w: Flow, held: Mapping[str, str], drive: str, q: str, v: str) -> None:
    """Forces of the drive, rates of its states and powers into f."""
    pointers = [held["gains"], held["gravity"], q, v, held["r"], held["arm"], held["store"], held["f"]]
    w.do(f"call void @{drive}({', '.join(f'ptr {p}' for p in (*pointers, held['drive_rows']))}, i64 1)")


def call_dynamics(w: Flow, held: Mapping[str, str], dynamics: str, inputs: Sequence[str], out: str, *more: str) -> None:
    """Results of the dynamics, a function or where there is one, for inputs (q, v and forces or accelerations)."""
    pointers = [held["constants"], held["gravity"], *inputs, held["store"], out, held["rows"]]
    given = [*(f"ptr {p}" for p in pointers), f"i64 {held['links']}", *more]
    w.do(f"call void {dynamics}({', '.join(given)})")
