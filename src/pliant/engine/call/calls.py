"""Built-in functions for compiled evaluations: parameters, steps and results, put together for the border."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.border import CONTEXT, GIVEN, RESULT, border_ir, flags_of, interpreter, items_of
from pliant.engine.call.evaluator import FIRST_INPUT, Evaluator, aligned, aligned_parts, stored
from pliant.engine.call.steps import MATRICES, SMALL, StepLibrary
from pliant.engine.compile import jit
from pliant.engine.compile.lanes import padded
from pliant.engine.compile.module import ATTRIBUTES

Floats = NDArray[np.float64]
Words = NDArray[np.int64]
Places = NDArray[np.intp]
BuiltIn = Callable[..., Any]

METH_FASTCALL = 0x80


class Argument(NamedTuple):
    """What a call is given, by its number."""

    number: int
    length: int


Operand = Floats | Argument
"""Numbers that stay where they are, or that come with a call."""


@cache
def _border() -> jit.LoadedCode:
    """Machine code of the border, the same for everything that is called."""
    return stored("border", lambda: ({}, border_ir() + ATTRIBUTES))[1]


@cache
def _steps(library: StepLibrary) -> jit.LoadedCode:
    """Machine code of a library of steps."""
    return stored(library.name, lambda: ({}, library.code(jit.lanes()) + ATTRIBUTES), homes=[library.code.__module__])[
        1
    ]


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Context(np.ndarray[Any, np.dtype[np.int64]]):
    """The table of a call; as the function's own object it keeps alive all that it points to."""

    kept: tuple[object, ...]


class QuickCall:
    """A built-in function in the making.

    ``takes`` its parameters in order, ``evaluates`` programs and ``does`` steps on what is given and on what has been
    found, and ``gives`` arrays or numbers. Buffers are its own; the interpreter's lock keeps calls apart.

    steps  addresses of functions, each followed by that of its arguments
    """

    def __init__(self) -> None:
        self._parameters: list[tuple[int, bool]] = []
        self._places: list[list[int]] = []
        self.steps: list[int] = []
        self._results: list[int] = []
        self._kept: list[object] = []

    def takes(self, length: int, *, optional: bool = False) -> Argument:
        """A vector; one that is optional is zero where it is None or missing."""
        self._parameters.append((length, optional))
        self._places.append([])
        return Argument(len(self._parameters) - 1, length)

    def evaluates(self, evaluator: Evaluator, *inputs: Operand) -> Floats:
        """Run a compiled program; where its results will be."""
        work = evaluator.workspace()
        for k, x in enumerate(inputs, start=FIRST_INPUT):
            self._bind(work.arguments, k, x)
        self.steps += [work.address, work.arguments.ctypes.data]
        self._kept.append(work)
        return work.out

    def does(self, library: StepLibrary, step: str, **told: Operand | Words | int) -> None:
        """Run a step of a library."""
        code, arguments = _steps(library), library.arguments[step]
        words = np.zeros(len(arguments), dtype=np.int64)
        for k, name in enumerate(arguments):
            what = told.pop(name)
            if isinstance(what, int):
                words[k] = what
            else:
                self._bind(words, k, what)
        assert not told
        self.steps += [code.address(step), words.ctypes.data]
        self._kept += [words, code]

    def sparse(self, matrix: NDArray[Any], x: Operand, start: Operand | None = None) -> Floats:
        """start + matrix x."""
        row, column = np.nonzero(matrix)
        return self.entries(len(matrix), row, column, matrix[row, column], x, start)

    def entries(
        self, rows: int, row: Places, column: Places, value: NDArray[Any], x: Operand, start: Operand | None = None
    ) -> Floats:
        """Product with a sparse matrix that is given by its entries."""
        y = aligned(rows)
        tables = {"row": row.astype(np.int64).ravel(), "column": column.astype(np.int64).ravel()}
        values = np.broadcast_to(np.asarray(value, dtype=float), row.shape).ravel().copy()
        first = np.zeros(rows) if start is None else start
        self.does(SMALL, "sparse", rows=rows, start=first, count=row.size, **tables, value=values, x=x, y=y)
        return y

    def guard(self, x: Floats, least: Floats, out: Floats) -> None:
        """Let the call decline, by a result that is no number, unless every x is larger than its least value."""
        if len(x):
            self.does(SMALL, "guard", count=len(x), x=x, least=np.ascontiguousarray(least), out=out)

    def inverted(self, matrix: Floats) -> tuple[Floats, Floats]:
        """The inverse of a symmetric matrix, of which the upper triangle is read, and its factors.

        These are L on both sides of the diagonal and 1 / D on it, without any exchange of rows.
        """
        n = len(matrix)
        wide = padded(n, jit.lanes())
        factors, out = (aligned(n * wide).reshape(n, wide) for _ in range(2))
        strides = {"stride": _stride(matrix), "factors_stride": wide, "out_stride": wide}
        self.does(MATRICES, "inverse", size=n, **strides, matrix=matrix, factors=factors, out=out)
        return out[:, :n], factors[:, :n]

    def minus_product(self, left: Floats, right: Floats) -> Floats:
        """-left right; the rows of ``right`` must be padded, as those of compiled Jacobians are."""
        (rows, inner), columns = left.shape, padded(right.shape[1], jit.lanes())
        out = aligned(rows * columns).reshape(rows, columns)
        strides = {"left_stride": _stride(left), "right_stride": _stride(right), "out_stride": columns}
        sizes = {"rows": rows, "inner": inner, "columns": columns}
        self.does(MATRICES, "minus_product", **sizes, **strides, left=left, right=right, out=out)
        return out[:, : right.shape[1]]

    def gives(self, *arrays: Floats) -> None:
        """Copies of arrays as results; of an array without axes, a number."""
        for array in arrays:
            shape = np.array(array.shape, dtype=np.int64)
            columns = array.shape[-1] if array.ndim else 1
            rows = array.size // columns if columns else 0
            stride = _stride(array) if array.ndim > 1 else columns
            assert array.ndim < 3 or array.flags.c_contiguous
            axes = array.ndim or -1
            # the list of arrays that were given holds them, and lets go of them with the call
            given: list[object] = [None] * GIVEN
            self._results += [axes, shape.ctypes.data, array.ctypes.data, rows, columns, stride]
            self._results += [flags_of(np.empty(array.shape)), items_of(given)]
            self._kept += [array, shape, given]

    def built(self, kind: type[tuple[Any, ...]] | None = None) -> BuiltIn:
        """The function; ``kind``: a named tuple of its results."""
        assert kind is None or (kind.__basicsize__, kind.__itemsize__) == (tuple.__basicsize__, tuple.__itemsize__)
        rows: list[int] = []
        places: list[int] = []
        # for each parameter what is given, and zeros
        parts = aligned_parts(*(length for length, _ in self._parameters for _ in range(2)))
        for k, ((length, optional), own) in enumerate(zip(self._parameters, self._places, strict=True)):
            first = len(places)
            places += own
            rows += [length, parts[2 * k][1], parts[2 * k + 1][1] if optional else 0, first, len(places)]
        tables = {"parameters": rows, "places": places, "steps": self.steps, "results": self._results, "made": [0]}
        words = np.array([word for table in tables.values() for word in table], dtype=np.int64)
        starts = accumulate((8 * len(table) for table in tables.values()), initial=words.ctypes.data)
        from_ = interpreter() | dict(zip(tables, starts, strict=False))
        from_ |= {
            "least": next((k for k, (_, optional) in enumerate(self._parameters) if optional), len(self._parameters)),
            "most": len(self._parameters),
            "count_steps": len(self.steps) // 2,
            "count_results": len(self._results) // len(RESULT),
            "kind": 0 if kind is None else id(kind),
        }
        context = np.array([from_[name] for name in CONTEXT], dtype=np.int64).view(_Context)
        code = _border()
        definition = _MethodDef(b"call", code.address("border"), METH_FASTCALL, None)
        context.kept = (definition, code, kind, words, parts, *self._kept)
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        function: BuiltIn = make(ctypes.addressof(definition), context, None)
        return function

    def _bind(self, words: Words, k: int, what: Operand | Words) -> None:
        """Put the address of some numbers into a word, now or in every call."""
        if isinstance(what, Argument):
            self._places[what.number].append(words.ctypes.data + words.itemsize * k)
        else:
            words[k] = what.ctypes.data
            self._kept.append(what)


def _stride(matrix: NDArray[Any]) -> int:
    """Numbers from one row to the next."""
    return int(matrix.strides[-2] // matrix.itemsize)


def padded_rows(matrix: Floats) -> Floats:
    """A matrix whose rows end in whole vectors."""
    rows, columns = matrix.shape
    wide = padded(columns, jit.lanes())
    out = aligned(rows * wide).reshape(rows, wide)[:, :columns]
    out[...] = matrix
    return out


def quick(evaluator: Evaluator, lengths: Sequence[int]) -> BuiltIn:
    """A program as a built-in function of plain vectors."""
    call = QuickCall()
    call.gives(call.evaluates(evaluator, *(call.takes(n) for n in lengths)))
    return call.built()
