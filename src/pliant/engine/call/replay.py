"""Replay of a tape in plain Python and NumPy: no binary code at all, and batches for free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pliant.algorithm import Algorithm, Carrier
from pliant.engine.trace.program import Address, RolledProgram
from pliant.engine.trace.roller import whole
from pliant.engine.trace.structure import constants_of, structure_key
from pliant.engine.trace.tape import BINARY, STUMPFF, Node, live
from pliant.spatial import scalars

BLOCK = 5000
"""Statements per compiled block: Python's compiler is slow on very long functions."""

MOST_RECENT = 64
_RECENT: dict[tuple[str, str, tuple[str, ...]], Callable[..., list[Any]]] = {}
"""Functions made last in this process."""


def python_source(program: RolledProgram) -> list[str]:
    """Statements that compute ``out[i]`` from arrays named as the program's, one variable per operation."""
    (kernel,) = program.passes[0].kernels
    tape = kernel.tape
    name: dict[int, str] = {}
    lines: list[str] = []
    for i in live(x for _, x in kernel.results):
        op = tape.op[i]
        if op == "constant":
            name[i] = repr(tape.a[i])
            continue
        if op == "symbol":
            address: Address = tape.a[i]
            name[i] = f"{address.array}[{address.index}]"
            continue
        a = name[tape.a[i]]
        name[i] = f"t[{i}]"
        if op in BINARY:
            lines.append(f"{name[i]} = {a} {op} {name[tape.b[i]]}")
        elif op == "negate":
            lines.append(f"{name[i]} = -{a}")
        elif op.startswith(STUMPFF):
            lines.append(f"{name[i]} = stumpff({op.removeprefix(STUMPFF)}, {a})")
        else:
            more = f", {name[tape.b[i]]}" if tape.b[i] >= 0 else ""
            lines.append(f"{name[i]} = {op}({a}{more})")
    for address, x in kernel.results:
        lines.append(f"out[{address.index}] = {name[x.index] if type(x) is Node else repr(float(x))}")
    return lines


def python_function(program: RolledProgram) -> Callable[..., list[Any]]:
    """f(constants, gravity, *inputs, *seeds) -> outputs; every entry may be a number or an array of lanes."""
    lines = python_source(program)
    blocks = [
        compile("\n".join(lines[k : k + BLOCK]), f"<{program.name}>", "exec") for k in range(0, len(lines), BLOCK)
    ]
    names = ("constants", "gravity", *program.inputs, *(f"d{seed}" for seed in program.seeds))
    outputs = program.outputs

    def evaluate(*arrays: Sequence[Any]) -> list[Any]:
        out: list[Any] = [0.0] * outputs
        scope: dict[str, Any] = {
            "sin": np.sin,
            "cos": np.cos,
            "sqrt": np.sqrt,
            "tanh": np.tanh,
            "floor": np.floor,
            "atan2": np.arctan2,
            "ramp": scalars.ramp,
            "step": scalars.step,
            "frozen": scalars.frozen,
            "stumpff": scalars.stumpff,
        }
        scope.update(zip(names, arrays, strict=True))
        scope.update(out=out, t={})
        for block in blocks:
            exec(block, scope)
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
