"""A function of scalars as one compiled call on rows of numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.evaluator import stored
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.module import ATTRIBUTES, entry_ir, program_ir, rows
from pliant.engine.trace.program import Address, RolledProgram
from pliant.engine.trace.roller import one_kernel
from pliant.engine.trace.tape import Tape
from pliant.spatial.vectors import Vector

Floats = NDArray[np.float64]

MOST_KERNELS = 64
"""Kernels that are kept; the oldest go first."""
_KERNELS: dict[Hashable, RowKernel] = {}


FIRST_INPUT = 4
"""Place of the first input's address among the arguments; those of further ones follow, two places each."""


class BoundRow(NamedTuple):
    """A call of a function for one row from machine code: where the function is, what it is given, its results."""

    address: int
    arguments: NDArray[np.int64]
    out: Floats
    store: Floats


class RowKernel:
    """out[k] = function(inputs[k], ...) in machine code, for all rows in one call.

    sizes  names of the inputs, and how many numbers each of them is
    """

    def __init__(self, function: Callable[..., Vector], sizes: Mapping[str, int]) -> None:
        tape = Tape()
        given = [[tape.symbol(Address(name, "own", k)) for k in range(size)] for name, size in sizes.items()]
        self.sizes = dict(sizes)
        self.program = one_kernel("rows", tuple(sizes), tape, list(function(*given)), [], max(sizes.values()))
        text, name = program_ir(self.program, 1)
        digest = hashlib.sha256(text.encode()).hexdigest()
        _, self._code = stored(("rows", digest), lambda: ({}, _module(self.program, text, name)))
        self._call = self._code.called("each_call")
        self._table = rows(self.program)

    @classmethod
    def of(cls, structure: Hashable, function: Callable[..., Vector], sizes: Mapping[str, int]) -> RowKernel:
        """The kernel of a structure, which decides the code of the function; it is traced once."""
        key = structure, tuple(sizes.items())
        if key not in _KERNELS:
            _KERNELS[key] = cls(function, sizes)
            while len(_KERNELS) > MOST_KERNELS:
                _KERNELS.pop(next(iter(_KERNELS)), None)
        return _KERNELS[key]

    def __call__(self, *inputs: Floats) -> Floats:
        """Results (rows, outputs) of inputs (rows, size) each; one of shape (size,) is the same for all rows."""
        arrays = [np.ascontiguousarray(x, dtype=float) for x in inputs]
        for (name, size), x in zip(self.sizes.items(), arrays, strict=True):
            if x.shape[-1] != size:
                raise ValueError(f"{name} has shape {x.shape}; the function takes {size} numbers")
        count = max((len(x) for x in arrays if x.ndim == 2), default=1)
        out = np.zeros((count, self.program.outputs))
        store = np.zeros(self.program.record_size + 1)
        pointers = [store.ctypes.data, out.ctypes.data, self._table.ctypes.data, count]
        places = [word for x in arrays for word in (x.ctypes.data, x.shape[-1] if x.ndim == 2 else 0)]
        told = np.array([*pointers, *places], dtype=np.int64)
        self._call(told.ctypes.data)
        return out

    def bound(self, *inputs: Floats) -> BoundRow:
        """What machine code needs to call the function for one row at a time; the inputs must be kept as long."""
        out, store = np.zeros(self.program.outputs), np.zeros(self.program.record_size + 1)
        pointers = [store.ctypes.data, out.ctypes.data, self._table.ctypes.data, 1]
        places = [word for x in inputs for word in (x.ctypes.data, 0)]
        arguments = np.array([*pointers, *places], dtype=np.int64)
        return BoundRow(self._code.address("each_call"), arguments, out, store)


def _module(program: RolledProgram, text: str, name: str) -> str:
    """``each_call(context)``: the function for every row."""
    w = Flow()
    parameters = {"store": "ptr", "out": "ptr", "table": "ptr", "count": "i64"}
    for each in program.inputs:
        parameters |= {each: "ptr", f"{each}_stride": "i64"}
    with w.repeat("%count") as k:
        own = [w.at(f"%{each}", w.imul(k, f"%{each}_stride")) for each in program.inputs]
        out = w.at("%out", w.imul(k, program.outputs))
        pointers = ["%store", "%store", *own, "%store", out, "%table"]
        w.do(f"call void @{name}({', '.join(f'ptr {p}' for p in pointers)}, i64 1)")
    each = w.text("each", ", ".join(f"{kind} %{key}" for key, kind in parameters.items()), attributes="internal")
    return "".join([prelude([program], 1), text, each, entry_ir("each", parameters), ATTRIBUTES])
