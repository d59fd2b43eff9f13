"""The border between Python and machine code: one built-in function for all compiled calls, told by a table what to do.

CPython calls machine code through a PyMethodDef; the code made here looks into the objects itself. It takes plain
arrays (type, byte order, shape and layout are checked) and lists or tuples of plain numbers, runs the steps of the call
one after the other, and makes the result: an array, or a named tuple of arrays and numbers. Anything unusual (other
types, batches, numbers that are not finite) is declined with None, and the caller takes the general way. Arrays that a
caller has let go of are given again: to make one takes as long as a small evaluation. The code is compiled
once for all robots. The layout of objects is fixed by the binary interfaces of CPython and NumPy; ``layout_is_known``
checks it on live objects before it is ever relied upon.
"""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number

TYPE, SIZE, ITEMS = 8, 16, 24
"""Of any object its type; of lists and tuples their length, and the items or where they are; of numbers the value."""
VALUE = 16
DATA, DIMENSIONS_COUNT, DIMENSIONS, BASE, DESCRIPTION, FLAGS, WEAK = 16, 24, 32, 48, 56, 64, 72
BYTE_ORDER, TYPE_NUMBER = 26, 28
NATIVE = ord("=")
NPY_DOUBLE = 12
NEW_ARRAY = 93
"""Place of PyArray_New in the table; part of NumPy's binary interface."""
WANTED_FLAGS = 0x1 | 0x100
"""C-contiguous and aligned."""
SIZES = {"ptr": 8, "i64": 8, "i32": 4, "i8": 1, "double": 8}

TYPES = ("array", "list", "tuple", "float", "float64", "int")
FUNCTIONS = ("incref", "decref", "new_array", "new_float", "new_tuple", "of_int", "is_raised", "clear")
CONTEXT = (
    *TYPES,
    *FUNCTIONS,
    "none",
    "double",
    "least",
    "most",
    "parameters",
    "places",
    "count_steps",
    "steps",
    "count_results",
    "results",
    "made",
    "kind",
)
"""What the code reads: addresses of types and functions, then the table of one call."""
NUMBERS = ("least", "most", "count_steps", "count_results")
PARAMETER = ("length", "buffer", "default", "first", "last")
"""A parameter: its length, where items of lists go, what stands for None, and which places get its address."""
STEP = ("function", "arguments")
RESULT = ("axes", "shape", "source", "rows", "columns", "stride", "flags", "given")
"""A result: shape, and where it comes from, rows with the same gaps between them; axes below zero: a number.
Of an array also the flags of a new one, and where those that were given before are."""
GIVEN = 2
"""Arrays that are kept for each result: where a result replaces the last one, the one before is free."""

_WIDTH = 4
"""Numbers that are looked at together where a result is checked."""


@cache
def layout_is_known() -> bool:
    """Whether objects of this interpreter look as the compiled code expects."""
    if platform.python_implementation() != "CPython" or ctypes.sizeof(ctypes.c_void_p) != 8 or not array_maker():
        return False
    if object.__basicsize__ != TYPE + 8:
        return False

    def read(kind: Any, address: int) -> Any:
        return kind.from_address(address).value

    probe, foreign, value = np.arange(7.0), np.dtype(float).newbyteorder(), 0.625
    listed, tupled = [value, value], (value, value)
    for values, items in ((listed, read(ctypes.c_void_p, id(listed) + ITEMS)), (tupled, id(tupled) + ITEMS)):
        if read(ctypes.c_int64, id(values) + SIZE) != 2 or read(ctypes.c_void_p, items + 8) != id(value):
            return False
    scalar = np.float64(value)
    if not all(read(ctypes.c_double, id(x) + VALUE) == value for x in (value, scalar)):
        return False
    here = id(probe)
    if read(ctypes.c_void_p, here + TYPE) != id(np.ndarray) or read(ctypes.c_void_p, here + DATA) != probe.ctypes.data:
        return False
    if read(ctypes.c_int, here + DIMENSIONS_COUNT) != 1:
        return False
    dimensions = read(ctypes.c_void_p, here + DIMENSIONS)
    description = read(ctypes.c_void_p, here + DESCRIPTION)
    if read(ctypes.c_int64, dimensions) != 7 or description != id(probe.dtype):
        return False
    flags = read(ctypes.c_int, here + FLAGS)
    view, before = probe[1:], read(ctypes.c_int64, here)
    another, weak = probe, ref(probe)
    if read(ctypes.c_int64, here) != before + 1 or read(ctypes.c_void_p, id(view) + BASE) != id(another):
        return False
    if read(ctypes.c_void_p, here + BASE) or read(ctypes.c_void_p, here + WEAK) != id(weak):
        return False
    return bool(
        read(ctypes.c_int, description + TYPE_NUMBER) == NPY_DOUBLE
        and read(ctypes.c_uint8, description + BYTE_ORDER) == NATIVE
        and read(ctypes.c_uint8, id(foreign) + BYTE_ORDER) not in (NATIVE, 0)
        and flags & WANTED_FLAGS == WANTED_FLAGS
        and not read(ctypes.c_int, id(probe[::2]) + FLAGS) & 0x1
    )


def flags_of(array: NDArray[Any]) -> int:
    """As the object has them."""
    return ctypes.c_int.from_address(id(array) + FLAGS).value


def items_of(values: list[Any]) -> int:
    """Where the items of a list are."""
    return ctypes.c_void_p.from_address(id(values) + ITEMS).value or 0


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


@cache
def interpreter() -> dict[str, int]:
    """Addresses of the types and functions of CPython and NumPy that the code uses."""
    api = ctypes.pythonapi
    functions = {
        "incref": api.Py_IncRef,
        "decref": api.Py_DecRef,
        "new_float": api.PyFloat_FromDouble,
        "new_tuple": api.PyType_GenericAlloc,
        "of_int": api.PyLong_AsDouble,
        "is_raised": api.PyErr_Occurred,
        "clear": api.PyErr_Clear,
    }
    types = (np.ndarray, list, tuple, float, np.float64, int)
    found = {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in functions.items()}
    known = {"new_array": array_maker(), "none": id(None), "double": id(np.dtype(float))}
    return dict(zip(TYPES, map(id, types), strict=True)) | found | known


class _Border(Flow):
    """A function of the border: members of objects, and fields of the tables."""

    def member(self, kind: str, of: str, offset: int | str) -> str:
        address = self.let(f"getelementptr inbounds i8, ptr {of}, i64 {offset}")
        return self.let(f"load {kind}, ptr {address}, align {SIZES[kind]}")

    def field(self, table: str, names: tuple[str, ...], name: str) -> str:
        return self.member("i64" if name in INTEGERS else "ptr", table, 8 * names.index(name))

    def row(self, table: str, names: tuple[str, ...], k: str) -> str:
        return self.let(f"getelementptr inbounds i64, ptr {table}, i64 {self.imul(k, len(names))}")

    def is_(self, a: str, b: str, kind: str = "ptr") -> str:
        return self.let(f"icmp eq {kind} {a}, {b}")

    def give(self, value: str) -> None:
        """Return; what follows in this block is never reached."""
        self.do(f"ret ptr {value}")
        self.lines.append(f"{self.label('returned')}:")

    def give_unless(self, condition: str, value: str) -> None:
        with self.when(self.let(f"xor i1 {condition}, true")):
            self.give(value)


INTEGERS = (*NUMBERS, "length", "first", "last", "axes", "rows", "columns", "stride", "flags")


def _data_ir() -> str:
    """``data(context, object, length, buffer)``: where the numbers of an object are; null if it is an unusual one."""
    w = _Border()

    def known(name: str) -> str:
        return w.field("%context", CONTEXT, name)

    kind = w.member("ptr", "%given", TYPE)
    with w.when(w.is_(kind, known("array"))):
        w.give_unless(w.is_(w.member("i32", "%given", DIMENSIONS_COUNT), "1", "i32"), "null")
        w.give_unless(w.is_(w.member("i64", w.member("ptr", "%given", DIMENSIONS), 0), "%length", "i64"), "null")
        flags = w.let(f"and i32 {w.member('i32', '%given', FLAGS)}, {WANTED_FLAGS}")
        w.give_unless(w.is_(flags, str(WANTED_FLAGS), "i32"), "null")
        description = w.member("ptr", "%given", DESCRIPTION)
        w.give_unless(w.is_(w.member("i32", description, TYPE_NUMBER), str(NPY_DOUBLE), "i32"), "null")
        w.give_unless(w.is_(w.member("i8", description, BYTE_ORDER), str(NATIVE), "i8"), "null")
        w.give(w.member("ptr", "%given", DATA))
    is_list, is_tuple = w.is_(kind, known("list")), w.is_(kind, known("tuple"))
    w.give_unless(w.let(f"or i1 {is_list}, {is_tuple}"), "null")
    w.give_unless(w.is_(w.member("i64", "%given", SIZE), "%length", "i64"), "null")
    inline = w.let(f"getelementptr inbounds i8, ptr %given, i64 {ITEMS}")
    items = w.variable("ptr", inline)
    with w.when(is_list):
        w.put("ptr", w.get("ptr", inline), items)
    with w.repeat("%length") as k:
        item = w.member("ptr", w.get("ptr", items), w.imul(k, 8))
        own = w.member("ptr", item, TYPE)
        is_float = w.let(f"or i1 {w.is_(own, known('float'))}, {w.is_(own, known('float64'))}")
        value = w.variable("double", number(0.0))
        with w.when(is_float):
            w.put("double", w.member("double", item, VALUE), value)
        with w.when(w.let(f"xor i1 {is_float}, true")):
            w.give_unless(w.is_(own, known("int")), "null")
            found = w.let(f"call double {known('of_int')}(ptr {item})")
            w.put("double", found, value)
            with w.when(w.let(f"fcmp oeq double {found}, {number(-1.0)}")):
                raised = w.let(f"call ptr {known('is_raised')}()")
                with w.when(w.let(f"icmp ne ptr {raised}, null")):
                    w.do(f"call void {known('clear')}()")
                    w.give("null")
        w.write(w.get("double", value), "%buffer", k)
    w.do("ret ptr %buffer")
    return w.text("data", "ptr %context, ptr %given, i64 %length, ptr %buffer", "ptr", "internal")


def _array_ir() -> str:
    """``array(context, result)``: one that was given before and that nobody else has and has changed, or a new one."""
    w = _Border()

    def known(name: str) -> str:
        return w.field("%context", CONTEXT, name)

    axes, shape, flags, given = (w.field("%result", RESULT, name) for name in ("axes", "shape", "flags", "given"))
    home = w.variable("ptr", "null")
    with w.repeat(GIVEN) as k:
        place = w.let(f"getelementptr inbounds ptr, ptr {given}, i64 {k}")
        old, after = w.get("ptr", place), w.label("after")
        with w.when(w.negated(w.is_(w.member("i64", old, 0), "1", "i64"))):
            # others have it, or it is None: it may be replaced, and nothing happens when it is let go of
            w.put("ptr", place, home)
            w.leave(after)

        def wants(kind: str, offset: int, value: str, old: str = old, after: str = after) -> None:
            with w.when(w.negated(w.is_(w.member(kind, old, offset), value, kind))):
                w.leave(after)

        wants("i32", DIMENSIONS_COUNT, w.let(f"trunc i64 {axes} to i32"))
        wants("i32", FLAGS, w.let(f"trunc i64 {flags} to i32"))
        wants("ptr", DESCRIPTION, known("double"))
        wants("ptr", BASE, "null")
        wants("ptr", WEAK, "null")
        with w.repeat(axes) as i:
            own, wanted = w.member("ptr", old, DIMENSIONS), w.imul(i, 8)
            with w.when(w.negated(w.is_(w.member("i64", own, wanted), w.member("i64", shape, wanted), "i64"))):
                w.leave(after)
        w.do(f"call void {known('incref')}(ptr {old})")
        w.give(old)
        w.place(after)
    new = w.let(
        f"call ptr {known('new_array')}(ptr {known('array')}, i32 {w.let(f'trunc i64 {axes} to i32')}, "
        f"ptr {shape}, i32 {NPY_DOUBLE}, ptr null, ptr null, i32 0, i32 0, ptr null)"
    )
    place = w.get("ptr", home)
    with w.when(w.negated(w.let(f"or i1 {w.is_(place, 'null')}, {w.is_(new, 'null')}"))):
        w.do(f"call void {known('decref')}(ptr {w.get('ptr', place)})")
        w.do(f"call void {known('incref')}(ptr {new})")
        w.put("ptr", new, place)
    w.do(f"ret ptr {new}")
    return w.text("array", "ptr %context, ptr %result", "ptr", "internal")


def border_ir() -> str:
    """``object border(self, arguments, count)``."""
    w = _Border()
    context = w.member("ptr", "%self", DATA)
    held = {name: w.field(context, CONTEXT, name) for name in CONTEXT}
    answer = w.variable("ptr", held["none"])
    whole, home = w.variable("ptr", "null"), w.variable("ptr", held["made"])
    fine = w.variable("double", number(0.0))
    declined = w.label("declined")

    def refuse_unless(condition: str) -> None:
        with w.when(w.let(f"xor i1 {condition}, true")):
            w.leave(declined)

    def keep(k: str, what: str) -> None:
        with w.when(w.is_(what, "null")):
            # without memory the exception is set and there is nothing to return
            w.put("ptr", "null", answer)
            w.leave(declined)
        w.put("ptr", what, w.let(f"getelementptr inbounds ptr, ptr {w.get('ptr', home)}, i64 {k}"))

    w.put("ptr", "null", held["made"])
    refuse_unless(w.let(f"icmp sge i64 %nargs, {held['least']}"))
    refuse_unless(w.let(f"icmp sle i64 %nargs, {held['most']}"))
    with w.when(w.let(f"icmp ne ptr {held['kind']}, null")):
        # first of all: to make it may collect garbage, and what is collected may call this very function
        several = w.let(f"call ptr {held['new_tuple']}(ptr {held['kind']}, i64 {held['count_results']})")
        with w.when(w.is_(several, "null")):
            w.give("null")
        w.put("ptr", several, whole)
        w.put("ptr", w.let(f"getelementptr inbounds i8, ptr {several}, i64 {ITEMS}"), home)
    with w.repeat(held["most"]) as k:
        parameter = w.row(held["parameters"], PARAMETER, k)
        length, buffer, default, first, last = (w.field(parameter, PARAMETER, name) for name in PARAMETER)
        data = w.variable("ptr", "null")
        w.put("ptr", default, data)
        with w.when(w.iless(k, "%nargs")):
            given = w.member("ptr", "%args", w.imul(k, 8))
            with w.when(w.let(f"icmp ne ptr {given}, {held['none']}")):
                w.put("ptr", w.let(f"call ptr @data(ptr {context}, ptr {given}, i64 {length}, ptr {buffer})"), data)
        found = w.get("ptr", data)
        refuse_unless(w.let(f"icmp ne ptr {found}, null"))
        w.put("double", w.fadd(w.get("double", fine), _sum(w, found, length)), fine)
        with w.repeat(w.let(f"sub i64 {last}, {first}")) as p:
            w.put("ptr", found, w.member("ptr", held["places"], w.imul(w.iadd(first, p), 8)))
    with w.repeat(held["count_steps"]) as k:
        step = w.row(held["steps"], STEP, k)
        w.do(f"call void {w.field(step, STEP, 'function')}(ptr {w.field(step, STEP, 'arguments')})")
    with w.repeat(held["count_results"]) as k:
        result = w.row(held["results"], RESULT, k)
        axes, _, source, rows, columns, stride = (w.field(result, RESULT, name) for name in RESULT[:6])
        is_number = w.iless(axes, 0)
        with w.when(is_number):
            value = w.read(source, 0)
            w.put("double", w.fadd(w.get("double", fine), value), fine)
            keep(k, w.let(f"call ptr {held['new_float']}(double {value})"))
        with w.when(w.let(f"xor i1 {is_number}, true")):
            new = w.let(f"call ptr @array(ptr {context}, ptr {result})")
            keep(k, new)
            target = w.member("ptr", new, DATA)
            with w.repeat(rows) as row:
                line, own = w.at(source, w.imul(row, stride)), w.at(target, w.imul(row, columns))
                w.put("double", w.fadd(w.get("double", fine), _sum(w, line, columns, own)), fine)
    # a NaN in the state or a singular mass matrix shows in the sum of all: x - x is zero only for finite x
    total = w.get("double", fine)
    with w.when(w.let(f"fcmp oeq double {w.let(f'fsub double {total}, {total}')}, {number(0.0)}")):
        one, all_ = w.get("ptr", held["made"]), w.get("ptr", whole)
        w.give(w.let(f"select i1 {w.is_(all_, 'null')}, ptr {one}, ptr {all_}"))
    w.place(declined)
    # a tuple lets go of its items
    for unused in (held["made"], whole):
        thing = w.get("ptr", unused)
        with w.when(w.let(f"icmp ne ptr {thing}, null")):
            w.do(f"call void {held['decref']}(ptr {thing})")
    result_object = w.get("ptr", answer)
    with w.when(w.let(f"icmp ne ptr {result_object}, null")):
        w.do(f"call void {held['incref']}(ptr {result_object})")
    w.do(f"ret ptr {result_object}")
    return _data_ir() + _array_ir() + w.text("border", "ptr %self, ptr %args, i64 %nargs", "ptr")


def _sum(w: Flow, source: str, count: str, target: str = "") -> str:
    """The sum of some numbers, which may be copied on the way."""
    t = f"<{_WIDTH} x double>"
    total, rest = w.variable(t, "zeroinitializer"), w.variable("double", number(0.0))
    whole = w.let(f"and i64 {count}, {-_WIDTH}")
    with w.repeat(w.let(f"udiv i64 {count}, {_WIDTH}")) as k:
        at = w.imul(k, _WIDTH)
        value = w.get(t, w.at(source, at))
        if target:
            w.put(t, value, w.at(target, at))
        w.put(t, w.let(f"fadd {t} {w.get(t, total)}, {value}"), total)
    wide = w.get(t, total)
    for lane in range(_WIDTH):
        w.put("double", w.fadd(w.get("double", rest), w.let(f"extractelement {t} {wide}, i32 {lane}")), rest)
    with w.repeat(w.let(f"sub i64 {count}, {whole}")) as k:
        at = w.iadd(whole, k)
        value = w.read(source, at)
        if target:
            w.write(value, target, at)
        w.put("double", w.fadd(w.get("double", rest), value), rest)
    return w.get("double", rest)
