"""Our compiled programs called in compiled loops, so that no Python call is part of the time."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from timing import Looped

from pliant.algorithm import Algorithm
from pliant.engine.call.evaluator import Program, Workspace, aligned
from pliant.engine.compile import jit
from pliant.engine.compile.lanes import lane_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pliant.engine.call.calls import QuickCall
    from pliant.tree.tree import Tree

REPEAT = """
define void @repeat(ptr %function, ptr %context, i64 %count) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  call void %function(ptr %context)
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


@cache
def _repeat() -> tuple[Any, jit.LoadedCode]:
    code = jit.LoadedCode(jit.machine_code(REPEAT))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return kind(code.address("repeat")), code


def loop(function: int, context: int, *keep: object) -> Looped:
    """``count`` calls of a compiled function of one pointer."""
    repeat, _ = _repeat()

    def work(count: int, keep: tuple[object, ...] = keep) -> None:
        repeat(function, context, count)

    return work


REPEAT_STEPS = """
define void @repeat_steps(ptr %steps, i64 %links, i64 %count) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %again ]
  br label %step
step:
  %i = phi i64 [ 0, %loop ], [ %i1, %step ]
  %at = mul i64 %i, 2
  %fa = getelementptr inbounds ptr, ptr %steps, i64 %at
  %ca = getelementptr inbounds ptr, ptr %fa, i64 1
  %function = load ptr, ptr %fa
  %context = load ptr, ptr %ca
  call void %function(ptr %context)
  %i1 = add i64 %i, 1
  %left = icmp slt i64 %i1, %links
  br i1 %left, label %step, label %again
again:
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


@cache
def _repeat_steps() -> tuple[Any, jit.LoadedCode]:
    code = jit.LoadedCode(jit.machine_code(REPEAT_STEPS))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return kind(code.address("repeat_steps")), code


def steps(call: QuickCall) -> Looped:
    """The steps of a call whose operands are all arrays, again and again."""
    repeat, _ = _repeat_steps()
    table = np.array(call.steps, dtype=np.int64)

    def work(count: int, keep: object = call) -> None:
        repeat(table.ctypes.data, len(table) // 2, count)

    return work


def single(program: Program, inputs: Sequence[NDArray[np.float64]]) -> tuple[Looped, Workspace]:
    """One state again and again; with seeds, all directions of them."""
    work = Workspace(program, program.constants, program.gravity)
    for buffer, x in zip(work.inputs, inputs, strict=True):
        buffer[:] = x
    plan, code = program.load(program.mode)
    return loop(code.address(plan.entry), work._argument, work, code), work


def program_of(algorithm: Algorithm, tree: Tree, *seeds: str) -> Program:
    return Program(algorithm, tree, seeds)


def batch(program: Program, inputs: Sequence[NDArray[np.float64]]) -> tuple[Looped, NDArray[np.float64]]:
    """A batch of states, inputs (count, size), on one core; the results are in the second value."""
    plan, code = program.load("batch")
    count, size = inputs[0].shape
    out = np.empty((count, plan.outputs))
    table = np.array(plan.rows, dtype=np.int64)
    width = plan.lanes
    arrays = [program.constants, program.gravity, *inputs, *(aligned(lane_numbers(size, width)) for _ in inputs)]
    arrays += [aligned(plan.record_size * width), aligned(lane_numbers(plan.outputs, width)), out, table]
    numbers = [len(table), count, size, plan.outputs]
    context = np.array([*(a.ctypes.data for a in arrays), *numbers], dtype=np.int64)
    return loop(code.address(plan.entry), context.ctypes.data, context, arrays, code), out
