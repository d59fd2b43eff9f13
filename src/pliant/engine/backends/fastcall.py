"""A compiled evaluation as a built-in function of NumPy arrays, called without any conversion.

CPython calls machine code through a PyMethodDef; the code made here looks into the array objects itself, checks type,
byte order, shape and layout, and makes the result. Anything unusual (lists, other types, batches, a result that is not
finite) is declined, and the caller takes the general way. The layout of array objects is fixed by NumPy's binary
interface; ``layout_is_known`` checks it on a live array before it is ever relied upon.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.engine.backends.flow import Flow
from pliant.engine.backends.llvm_ir import element, number, splat, vector_type

DATA, DIMENSIONS_COUNT, DIMENSIONS, DESCRIPTION, FLAGS = 16, 24, 32, 56, 64
BYTE_ORDER, TYPE_NUMBER = 26, 28
NATIVE = ord("=")
NPY_DOUBLE = 12
NEW_ARRAY = 93
"""Place of PyArray_New in the table; part of NumPy's binary interface."""
WANTED_FLAGS = 0x1 | 0x100
"""C-contiguous and aligned."""
METH_FASTCALL = 0x80
SIZES = {"ptr": 8, "i32": 4, "i8": 1}

CONTEXT = (
    "array_type",
    "size",
    "efforts",
    "driven",
    "last",
    "incref",
    "decref",
    "new_array",
    "none",
    "arguments",
    "out",
    "shape",
    "axes",
    "rows",
    "columns",
    "stride",
)
NUMBERS = ("size", "efforts", "axes", "rows", "columns", "stride")
FIRST_INPUT = 2
"""Place of the inputs among the arguments of a compiled evaluation, after constants and gravity."""


@cache
def layout_is_known() -> bool:
    """Whether array objects of this interpreter look as the compiled code expects."""
    if platform.python_implementation() != "CPython" or ctypes.sizeof(ctypes.c_void_p) != 8 or not array_maker():
        return False
    probe, foreign = np.arange(7.0), np.dtype(float).newbyteorder()

    def read(kind: Any, address: int) -> Any:
        return kind.from_address(address).value

    here = id(probe)
    if read(ctypes.c_void_p, here + 8) != id(np.ndarray) or read(ctypes.c_void_p, here + DATA) != probe.ctypes.data:
        return False
    if read(ctypes.c_int, here + DIMENSIONS_COUNT) != 1:
        return False
    dimensions = read(ctypes.c_void_p, here + DIMENSIONS)
    description = read(ctypes.c_void_p, here + DESCRIPTION)
    if read(ctypes.c_int64, dimensions) != 7 or description != id(probe.dtype):
        return False
    flags = read(ctypes.c_int, here + FLAGS)
    return bool(
        read(ctypes.c_int, description + TYPE_NUMBER) == NPY_DOUBLE
        and read(ctypes.c_uint8, description + BYTE_ORDER) == NATIVE
        and read(ctypes.c_uint8, id(foreign) + BYTE_ORDER) not in (NATIVE, 0)
        and flags & WANTED_FLAGS == WANTED_FLAGS
        and not read(ctypes.c_int, id(probe[::2]) + FLAGS) & 0x1
    )


def fastcall_ir(entry: str, inputs: int, lanes: int) -> str:
    """``object fastcall(self, arrays, count)``: a new array with the result of ``entry``, or None to decline.

    The entries of the last array go to given places of the last input; results lie in whole groups of lanes.
    """
    w = Flow()
    context = w.get("ptr", w.let(f"getelementptr inbounds i8, ptr %self, i64 {DATA}"))
    held = {
        name: w.get("i64" if name in NUMBERS else "ptr", w.let(f"getelementptr inbounds i64, ptr {context}, i64 {k}"))
        for k, name in enumerate(CONTEXT)
    }
    answer = w.variable("ptr", held["none"])
    end = w.label("answer")

    def require(condition: str) -> None:
        with w.when(w.let(f"xor i1 {condition}, true")):
            w.leave(end)

    require(w.let(f"icmp eq i64 %nargs, {inputs}"))
    objects = [w.get("ptr", w.let(f"getelementptr inbounds ptr, ptr %args, i64 {k}")) for k in range(inputs)]
    data = []
    for array, length in zip(objects, (*["size"] * (inputs - 1), "efforts"), strict=True):

        def member(kind: str, offset: int, of: str = array) -> str:
            address = w.let(f"getelementptr inbounds i8, ptr {of}, i64 {offset}")
            return w.let(f"load {kind}, ptr {address}, align {SIZES[kind]}")

        require(w.let(f"icmp eq ptr {member('ptr', 8)}, {held['array_type']}"))
        require(w.let(f"icmp eq i32 {member('i32', DIMENSIONS_COUNT)}, 1"))
        require(w.let(f"icmp eq i64 {w.get('i64', member('ptr', DIMENSIONS))}, {held[length]}"))
        flags = w.let(f"and i32 {member('i32', FLAGS)}, {WANTED_FLAGS}")
        require(w.let(f"icmp eq i32 {flags}, {WANTED_FLAGS}"))
        description = member("ptr", DESCRIPTION)
        require(w.let(f"icmp eq i32 {member('i32', TYPE_NUMBER, description)}, {NPY_DOUBLE}"))
        require(w.let(f"icmp eq i8 {member('i8', BYTE_ORDER, description)}, {NATIVE}"))
        data.append(member("ptr", DATA))
    for place, pointer in enumerate(data[:-1], FIRST_INPUT):
        w.put("ptr", pointer, w.let(f"getelementptr inbounds ptr, ptr {held['arguments']}, i64 {place}"))
    with w.repeat(held["efforts"]) as k:
        at = w.get("i64", w.let(f"getelementptr inbounds i64, ptr {held['driven']}, i64 {k}"))
        w.write(w.read(data[-1], k), held["last"], at)
    made = _allocated(w, held)
    result_data = w.get("ptr", w.let(f"getelementptr inbounds i8, ptr {made}, i64 {DATA}"))
    if lanes == 1:
        # the evaluation writes straight into the result: its place is behind the inputs and the store
        place = FIRST_INPUT + inputs + 1
        w.put("ptr", result_data, w.let(f"getelementptr inbounds ptr, ptr {held['arguments']}, i64 {place}"))
    w.do(f"call void @{entry}(ptr {held['arguments']})")
    if lanes > 1:
        with w.repeat(held["rows"]) as row:
            source = w.at(held["out"], w.imul(row, held["stride"]))
            target = w.at(result_data, w.imul(row, held["columns"]))
            length = w.imul(held["columns"], 8)
            w.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {length}, i1 false)")
    finite = _all_finite(w, held["out"] if lanes > 1 else result_data, held, lanes)
    with w.when(finite):
        w.do(f"ret ptr {made}")
        w.lines.append(f"{w.label('returned')}:")
    w.do(f"call void {held['decref']}(ptr {made})")
    w.place(end)
    result = w.get("ptr", answer)
    w.do(f"call void {held['incref']}(ptr {result})")
    w.do(f"ret ptr {result}")
    memcpy = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
    return memcpy + w.text("fastcall", "ptr %self, ptr %args, i64 %nargs", "ptr")


def _all_finite(w: Flow, values: str, held: dict[str, str], lanes: int) -> str:
    """A singular mass matrix or a NaN in the state shows in the result: x - x is zero only for finite x."""
    t = vector_type(lanes)
    total = w.variable(t, splat(0.0, lanes))
    with w.repeat(w.let(f"udiv i64 {w.imul(held['rows'], held['stride'])}, {lanes}")) as k:
        value = w.let(f"load {t}, ptr {element(w, values, k, lanes)}, align 8")
        w.put(t, w.let(f"fadd {t} {w.get(t, total)}, {value}"), total)
    wide = w.get(t, total)
    entries = [wide] if lanes == 1 else [w.let(f"extractelement {t} {wide}, i32 {k}") for k in range(lanes)]
    everything = entries[0]
    for x in entries[1:]:
        everything = w.fadd(everything, x)
    return w.let(f"fcmp oeq double {w.let(f'fsub double {everything}, {everything}')}, {number(0.0)}")


def _allocated(w: Flow, held: dict[str, str]) -> str:
    """A new array for the result; without memory NumPy has set the exception and there is nothing to return."""
    axes = w.let(f"trunc i64 {held['axes']} to i32")
    made = w.let(
        f"call ptr {held['new_array']}(ptr {held['array_type']}, i32 {axes}, ptr {held['shape']}, i32 {NPY_DOUBLE}, "
        "ptr null, ptr null, i32 0, i32 0, ptr null)"
    )
    with w.when(w.let(f"icmp eq ptr {made}, null")):
        w.do("ret ptr null")
        w.lines.append(f"{w.label('returned')}:")
    return made


@cache
def array_maker() -> int:
    """Address of PyArray_New in NumPy's table of functions; 0 if it cannot be found."""
    core = getattr(np, "_core", None) or getattr(np, "core", None)
    capsule = getattr(getattr(core, "_multiarray_umath", None), "_ARRAY_API", None)
    if capsule is None:
        return 0
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return ctypes.c_void_p.from_address(get(capsule, None) + 8 * NEW_ARRAY).value or 0


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Context(np.ndarray[Any, np.dtype[np.int64]]):
    """The addresses that the code reads; as the function's own object it keeps alive all that they point to."""

    kept: tuple[object, ...]


def fast_function(
    address: int,
    *,
    arguments: NDArray[np.int64],
    last: NDArray[np.float64],
    out: NDArray[np.float64],
    driven: NDArray[np.int64],
    size: int,
    keep: tuple[object, ...],
) -> Callable[..., Any]:
    """A built-in function of arrays from the machine code at an address.

    arguments  of the compiled evaluation; those of its inputs are replaced in every call but the last, whose entries
               ``driven`` are filled from the last array
    out        where the evaluation leaves its results: one row, or rows with the same gaps between them
    """
    places, shape = np.ascontiguousarray(driven, dtype=np.int64), np.array(out.shape, dtype=np.int64)
    columns = out.shape[-1]
    held = {
        "array_type": id(np.ndarray),
        "size": size,
        "efforts": len(places),
        "driven": places.ctypes.data,
        "last": last.ctypes.data,
        "incref": ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value,
        "decref": ctypes.cast(ctypes.pythonapi.Py_DecRef, ctypes.c_void_p).value,
        "new_array": array_maker(),
        "none": id(None),
        "arguments": arguments.ctypes.data,
        "out": out.ctypes.data,
        "shape": shape.ctypes.data,
        "axes": out.ndim,
        "rows": out.size // columns if columns else 0,
        "columns": columns,
        "stride": columns if out.ndim == 1 else out.strides[0] // out.itemsize,
    }
    context = np.array([held[name] for name in CONTEXT], dtype=np.int64).view(_Context)
    definition = _MethodDef(b"evaluate", address, METH_FASTCALL, None)
    context.kept = (definition, places, shape, arguments, last, out, keep)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    function: Callable[..., Any] = make(ctypes.addressof(definition), context, None)
    return function
