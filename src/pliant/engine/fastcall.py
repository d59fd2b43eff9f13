"""A compiled evaluation as a built-in function of NumPy arrays, called without any conversion.

CPython calls machine code through a PyMethodDef; the code made here looks into the array objects itself, checks type,
shape and layout, and makes the result. Anything unusual (lists, other types, batches, a result that is not finite) is
declined, and the caller takes the general way. The layout of array objects is fixed by NumPy's binary interface;
``layout_is_known`` checks it on a live array before it is ever relied upon.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.engine.flow import Flow
from pliant.engine.llvm_ir import number

DATA, DIMENSIONS_COUNT, DIMENSIONS, DESCRIPTION, FLAGS = 16, 24, 32, 56, 64
TYPE_NUMBER = 28
NPY_DOUBLE = 12
NEW_ARRAY = 93
"""Place of PyArray_New in the table; part of NumPy's binary interface."""
WANTED_FLAGS = 0x1 | 0x100
"""C-contiguous and aligned."""
METH_FASTCALL = 0x80

CONTEXT = (
    "array_type",
    "size",
    "efforts",
    "driven",
    "force",
    "incref",
    "decref",
    "new_array",
    "none",
    "constants",
    "gravity",
    "store",
    "rows",
    "links",
)


@cache
def layout_is_known() -> bool:
    """Whether array objects of this interpreter look as the compiled code expects."""
    if platform.python_implementation() != "CPython" or ctypes.sizeof(ctypes.c_void_p) != 8 or not array_maker():
        return False
    probe = np.arange(7.0)

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
        and flags & WANTED_FLAGS == WANTED_FLAGS
        and not read(ctypes.c_int, id(probe[::2]) + FLAGS) & 0x1
    )


def fastcall_ir(loop: str, flush_denormals: bool) -> str:
    """``object fastcall(self, [a, b, c], 3)``: a new array with the result, or None to decline."""
    w = Flow()
    context = w.get("ptr", w.let(f"getelementptr inbounds i8, ptr %self, i64 {DATA}"))
    numbers = ("size", "efforts", "links")
    held = {
        name: w.get("i64" if name in numbers else "ptr", w.let(f"getelementptr inbounds i64, ptr {context}, i64 {k}"))
        for k, name in enumerate(CONTEXT)
    }
    objects = [w.get("ptr", w.let(f"getelementptr inbounds ptr, ptr %args, i64 {k}")) for k in range(3)]
    answer = w.variable("ptr", held["none"])
    end = w.label("answer")
    data = []
    for array, length in zip(objects, ("size", "size", "efforts"), strict=True):

        def member(kind: str, offset: int, of: str = array) -> str:
            return w.get(kind, w.let(f"getelementptr inbounds i8, ptr {of}, i64 {offset}"))

        def require(condition: str) -> None:
            with w.when(w.let(f"xor i1 {condition}, true")):
                w.leave(end)

        require(w.let(f"icmp eq ptr {member('ptr', 8)}, {held['array_type']}"))
        require(w.let(f"icmp eq i32 {member('i32', DIMENSIONS_COUNT)}, 1"))
        require(w.let(f"icmp eq i64 {w.get('i64', member('ptr', DIMENSIONS))}, {held[length]}"))
        flags = w.let(f"and i32 {member('i32', FLAGS)}, {WANTED_FLAGS}")
        require(w.let(f"icmp eq i32 {flags}, {WANTED_FLAGS}"))
        kind = member("i32", TYPE_NUMBER, member("ptr", DESCRIPTION))
        require(w.let(f"icmp eq i32 {kind}, {NPY_DOUBLE}"))
        data.append(member("ptr", DATA))
    made = _allocated(w, held)
    data.append(w.get("ptr", w.let(f"getelementptr inbounds i8, ptr {made}, i64 {DATA}")))
    with w.repeat(held["efforts"]) as k:
        place = w.get("i64", w.let(f"getelementptr inbounds i64, ptr {held['driven']}, i64 {k}"))
        w.write(w.read(data[2], k), held["force"], place)
    pointers = [
        held["constants"],
        held["gravity"],
        data[0],
        data[1],
        held["force"],
        held["store"],
        data[3],
        held["rows"],
    ]
    call = f"call void @{loop}({', '.join(f'ptr {p}' for p in pointers)}, i64 {held['links']})"
    if flush_denormals:
        before, inside = w.variable("i32", "0"), w.variable("i32", "0")
        w.do(f"call void @llvm.x86.sse.stmxcsr(ptr {before})")
        w.put("i32", w.let(f"or i32 {w.get('i32', before)}, {0x8040}"), inside)
        w.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {inside})")
        w.do(call)
        w.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {before})")
    else:
        w.do(call)
    # a singular mass matrix or a NaN in the state shows in the result: x - x is zero only for finite x
    total = w.variable("double", number(0.0))
    with w.repeat(held["size"]) as k:
        w.put("double", w.fadd(w.get("double", total), w.read(data[3], k)), total)
    all_of_them = w.get("double", total)
    finite = w.let(f"fcmp oeq double {w.let(f'fsub double {all_of_them}, {all_of_them}')}, {number(0.0)}")
    with w.when(finite):
        w.do(f"ret ptr {made}")
        w.lines.append(f"{w.label('returned')}:")
    w.do(f"call void {held['decref']}(ptr {made})")
    w.place(end)
    result = w.get("ptr", answer)
    w.do(f"call void {held['incref']}(ptr {result})")
    w.do(f"ret ptr {result}")
    return w.text("fastcall", "ptr %self, ptr %args, i64 %nargs", "ptr")


def _allocated(w: Flow, held: dict[str, str]) -> str:
    """A new array for the result; without memory NumPy has set the exception and there is nothing to return."""
    dimensions = w.variable("i64", held["size"])
    made = w.let(
        f"call ptr {held['new_array']}(ptr {held['array_type']}, i32 1, ptr {dimensions}, i32 {NPY_DOUBLE}, "
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
    constants: NDArray[np.float64],
    gravity: NDArray[np.float64],
    store: NDArray[np.float64],
    table: NDArray[np.int64],
    driven: NDArray[np.int64],
    size: int,
    code: object,
) -> Callable[..., Any]:
    """A built-in function f(a, b, c) from the machine code at an address."""
    force, places = np.zeros(size), np.ascontiguousarray(driven, dtype=np.int64)
    held = {
        "array_type": id(np.ndarray),
        "size": size,
        "efforts": len(places),
        "driven": places.ctypes.data,
        "force": force.ctypes.data,
        "incref": ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value,
        "decref": ctypes.cast(ctypes.pythonapi.Py_DecRef, ctypes.c_void_p).value,
        "new_array": array_maker(),
        "none": id(None),
        "constants": constants.ctypes.data,
        "gravity": gravity.ctypes.data,
        "store": store.ctypes.data,
        "rows": table.ctypes.data,
        "links": len(table),
    }
    context = np.array([held[name] for name in CONTEXT], dtype=np.int64).view(_Context)
    definition = _MethodDef(b"evaluate", address, METH_FASTCALL, None)
    context.kept = (definition, force, places, constants, gravity, store, table, code)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    function: Callable[..., Any] = make(ctypes.addressof(definition), context, None)
    return function
