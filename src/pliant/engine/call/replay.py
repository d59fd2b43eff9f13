"""Replay of a tape in plain Python and NumPy: no binary code at all, and batches for free."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pliant.algorithm import Algorithm, Carrier
from pliant.engine.trace.program import RolledProgram
from pliant.engine.trace.roller import whole
from pliant.engine.trace.structure import constants_of, structure_key
from pliant.engine.trace.tape import STUMPFF, Node, live
from pliant.spatial import scalars

MOST_RECENT = 64
_RECENT: dict[tuple[str, str, tuple[str, ...]], Callable[..., list[Any]]] = {}
"""Functions made last in this process."""


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "negate": operator.neg,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "floor": np.floor,
    "atan2": np.arctan2,
    "ramp": scalars.ramp,
    "step": scalars.step,
    "frozen": scalars.frozen,
}


def _operation(op: str) -> Callable[..., Any]:
    """What an entry of a tape does with numbers or arrays."""
    if op.startswith(STUMPFF):
        return partial(scalars.stumpff, int(op.removeprefix(STUMPFF)))
    return OPERATIONS[op]


def python_function(program: RolledProgram) -> Callable[..., list[Any]]:
    """f(constants, gravity, *inputs, *seeds) -> outputs; every entry may be a number or an array of lanes.

    The tape is walked in every call: text of it would be no quicker, and to compile that takes as long as twenty walks.
    """
    (kernel,) = program.passes[0].kernels
    tape = kernel.tape
    names = ("constants", "gravity", *program.inputs, *(f"d{seed}" for seed in program.seeds))
    known: list[Any] = [None] * len(tape.op)
    taken: list[tuple[int, str, int]] = []
    steps: list[tuple[Callable[..., Any], int, int, int]] = []
    for i in live(x for _, x in kernel.results):
        op, a, b = tape.op[i], tape.a[i], tape.b[i]
        if op == "constant":
            known[i] = a
        elif op == "symbol":
            taken.append((i, a.array, a.index))
        else:
            steps.append((_operation(op), i, a, b))
    results = [(address.index, x.index if type(x) is Node else -1, x) for address, x in kernel.results]
    outputs = program.outputs

    def evaluate(*arrays: Sequence[Any]) -> list[Any]:
        given = dict(zip(names, arrays, strict=True))
        t = known.copy()
        for i, array, index in taken:
            t[i] = given[array][index]
        for f, i, a, b in steps:
            t[i] = f(t[a], t[b]) if b >= 0 else f(t[a])
        out: list[Any] = [0.0] * outputs
        for place, i, number in results:
            out[place] = t[i] if i >= 0 else float(number)
        return out

    return evaluate


def shared_function(algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> Callable[..., list[Any]]:
    """The function of an algorithm on the whole tree; robots of one structure share it, as they share machine code."""
    key = (structure_key(tree), algorithm.name, seeds)
    found = _RECENT.get(key)
    if found is None:
        found = _RECENT[key] = python_function(whole(algorithm, tree, seeds))
        while len(_RECENT) > MOST_RECENT:
            _RECENT.pop(next(iter(_RECENT)), None)
    return found


class ReplayEvaluator:
    """The interface of ``Evaluator`` on top of a replayed tape."""

    def __init__(self, algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> None:
        self._function = shared_function(algorithm, tree, seeds)
        self._seeds = seeds
        self.constants = constants_of(tree)
        self.gravity = np.array(tree.gravity, dtype=float)
        self.size = tree.size

    def __call__(self, *inputs: Any) -> Any:
        if not self._seeds:
            return np.array(self._function(self.constants, self.gravity, *inputs), dtype=float)
        (seed,) = self._seeds
        directions = len(self.constants) if seed == "constants" else self.size
        out = self._function(self.constants, self.gravity, *inputs, np.eye(directions))
        return np.array([np.broadcast_to(x, directions) for x in out], dtype=float)

    def batch(self, *inputs: Any, threads: int | None = None) -> Any:
        columns = [np.ascontiguousarray(np.asarray(x, dtype=float).T) for x in inputs]
        count = columns[0].shape[1]
        out = self._function(self.constants, self.gravity, *columns)
        return np.array([np.broadcast_to(x, count) for x in out], dtype=float).T
