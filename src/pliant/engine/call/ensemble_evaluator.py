"""A program for the states of several robots of one structure: every lane has the constants of its own robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.evaluator import BufferLayout, Program, Workspace, aligned_parts, stored
from pliant.engine.compile import jit
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.lanes import lane_numbers, lanes_to_rows, rows_to_lanes, transposition_declarations
from pliant.engine.compile.module import ATTRIBUTES, POINTER, Arrays, entry_ir, program_ir
from pliant.engine.trace.program import RolledProgram

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


def ensemble_parameters(program: RolledProgram) -> dict[str, str]:
    """Arguments of the batch of an ensemble, in order; ``who`` is the robot of each state."""
    pointers = ["constants", "gravity", *program.inputs, "constants_lanes", "gravity_lanes"]
    pointers += [*(f"{n}_lanes" for n in program.inputs), "store", "out_lanes", "out", "rows", "who"]
    numbers = ("links", "count", "size", "outputs", "numbers")
    return {**dict.fromkeys(pointers, POINTER), **dict.fromkeys(numbers, "i64")}


def ensemble_ir(program: RolledProgram, name: str, lanes: int) -> str:
    """States in rows: gather a group and the constants of its robots into lanes, run the loop, scatter the results."""
    arrays = Arrays.of(program, lanes, own=True)
    w = Flow()
    group = w.variable("i64", "0")
    held = [w.variable("i64", "-1") for _ in range(lanes)]
    last = w.iadd("%count", -1)
    with w.loop(lambda: w.iless(w.get("i64", group), "%count")):
        first = w.get("i64", group)
        states, robots = [], []
        for k in range(lanes):
            # lanes beyond the end repeat the last state
            state = w.iadd(first, k)
            states.append(w.let(f"select i1 {w.iless(state, '%count')}, i64 {state}, i64 {last}"))
            robots.append(w.get("i64", w.let(f"getelementptr inbounds i64, ptr %who, i64 {states[-1]}")))
        others = "false"
        for robot, before in zip(robots, held, strict=True):
            is_other = w.let(f"icmp ne i64 {robot}, {w.get('i64', before)}")
            others = w.let(f"or i1 {others}, {is_other}")
        with w.when(others):
            # states of one robot follow each other: its constants stay in their lanes
            rows_to_lanes(w, {"%constants": "%constants_lanes"}, "%numbers", robots, lanes)
            rows_to_lanes(w, {"%gravity": "%gravity_lanes"}, "3", robots, lanes)
            for robot, before in zip(robots, held, strict=True):
                w.put("i64", robot, before)
        rows_to_lanes(w, {f"%{array}": f"%{array}_lanes" for array in program.inputs}, "%size", states, lanes)
        given = [n if n == "store" else f"{n}_lanes" for n in arrays.lanes]
        w.do(f"call void @{name}({', '.join(f'ptr %{p}' for p in (*given, 'rows'))}, i64 %links)")
        lanes_to_rows(w, "%out_lanes", "%out", "%outputs", states, lanes)
        w.put("i64", w.iadd(first, lanes), group)
    signature = ", ".join(f"{kind} %{argument}" for argument, kind in ensemble_parameters(program).items())
    return w.text(f"{name}_ensemble", signature)


class EnsembleEvaluator:
    """A program bound to the constants of several robots. Not shared between threads.

    constants  of each robot (robots, numbers); ``gravity`` (robots, 3)
    """

    def __init__(self, program: Program, constants: Sequence[Floats], gravity: Sequence[Floats]) -> None:
        self.program, self.size = program, program.tree.size
        self.constants = np.array(constants, dtype=float).reshape(len(constants), -1)
        self.gravity = np.array(gravity, dtype=float)
        self._work: Workspace | None = None

    def batch(self, who: Numbers, *inputs: Floats) -> Floats:
        """Evaluate states, inputs (count, size) each, of the robots ``who`` (count,): (count, outputs).

        With a seed: the derivatives (count, outputs, directions).
        """
        if self.program.seeds:
            return self._one_by_one(who, inputs)
        plan, code = self._loaded
        arrays = [np.ascontiguousarray(x, dtype=float) for x in inputs]
        count, L, numbers = len(who), plan.lanes, self.constants.shape[1]
        for name, x in zip(self.program.algorithm.inputs, arrays, strict=True):
            if x.shape != (count, self.size):
                raise ValueError(f"{name} has shape {x.shape}; the ensemble needs ({count}, {self.size})")
        out = np.empty((count, plan.outputs))
        if not count:
            return out
        table, robots = np.array(plan.rows, dtype=np.int64), np.ascontiguousarray(who, dtype=np.int64)
        if robots.min() < 0 or robots.max() >= len(self.constants):
            raise ValueError(f"the ensemble has robots 0 to {len(self.constants) - 1}; a state is of {robots.max()}")
        wide = [lane_numbers(size, L) for size in (numbers, 3, *[self.size] * len(arrays))]
        work = aligned_parts(*wide, plan.record_size * L, lane_numbers(plan.outputs, L))
        before, after = [self.constants, self.gravity, *arrays], [out, table, robots]
        addresses = [*(a.ctypes.data for a in before), *(place for _, place in work), *(a.ctypes.data for a in after)]
        sizes = [len(table), count, self.size, plan.outputs, numbers]
        context = np.array([*addresses, *sizes], dtype=np.int64)
        code.called(plan.entry)(context.ctypes.data)
        return out

    @cached_property
    def _loaded(self) -> tuple[BufferLayout, jit.LoadedCode]:
        program, lanes = self.program, jit.lanes()

        def make() -> tuple[dict[str, Any], str]:
            traced = program.traced
            text, name = program_ir(traced, lanes, own_constants=True)
            entry = f"{name}_ensemble"
            parts = [
                prelude([traced], lanes),
                text,
                transposition_declarations(lanes),
                ensemble_ir(traced, name, lanes),
            ]
            parts += [entry_ir(entry, ensemble_parameters(traced)), ATTRIBUTES]
            return asdict(BufferLayout.of(traced, f"{entry}_call")), "".join(parts)

        description, code = stored((program.identity, "ensemble"), make, homes=program.homes)
        return BufferLayout(**description), code

    def _one_by_one(self, who: Numbers, inputs: Sequence[Floats]) -> Floats:
        """Jacobians, whose lanes are directions, with the constants of one robot after the other."""
        if self._work is None:
            self._work = Workspace(self.program, self.constants[0].copy(), self.gravity[0].copy())
        work = self._work
        found = []
        for robot, *state in zip(who, *inputs, strict=True):
            work.set_robot(self.constants[robot], self.gravity[robot])
            for buffer, x in zip(work.inputs, state, strict=True):
                buffer[:] = x
            found.append(work.run().copy())
        return np.array(found)
