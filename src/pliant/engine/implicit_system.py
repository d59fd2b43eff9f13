"""A robot with its drive as a compiled residual with its Newton matrix, and generalised-alpha on it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.engine import jit
from pliant.engine.evaluator import aligned, fitting_program
from pliant.engine.flow import Flow
from pliant.engine.implicit import generalised_alpha_ir, work_size
from pliant.engine.integrators import Status
from pliant.engine.llvm_ir import declarations, element, library, stumpff_orders, vector_type
from pliant.engine.module import ATTRIBUTES, program_ir, rows
from pliant.engine.rolled import RolledProgram
from pliant.engine.system import BALANCES, Law, Signals, compiled, drive_program, signals_ir
from pliant.formulations.passes import INVERSE
from pliant.tree import Tree

Floats = NDArray[np.float64]

POINTERS = (
    *("constants", "gravity", "store", "rows", "gains", "drive_rows", "r", "f", "table"),
    *("tangent_store", "dstore", "saved", "dout", "tangent_rows", "drive_saved", "drive_dout", "dq", "dv", "da"),
)
NUMBERS = ("links", "pieces", "channels", "terms", "tangent_links")
CONTEXT = (*POINTERS, *NUMBERS)


def _held(w: Flow) -> dict[str, str]:
    return {
        name: w.get("i64" if name in NUMBERS else "ptr", w.let(f"getelementptr inbounds i64, ptr %context, i64 {k}"))
        for k, name in enumerate(CONTEXT)
    }


def _signals(w: Flow, held: dict[str, str]) -> None:
    table = ", ".join(f"i64 {held[k]}" for k in ("pieces", "channels", "terms"))
    w.do(f"call void @signals(ptr {held['table']}, {table}, double %t, ptr {held['r']})")


def residual_ir(inverse: str, drive: str, n: int) -> str:
    """``residual(context, t, q, v, a, r, f)``: r = forces(q, v, a) - drive, f = forces and powers of the drive."""
    w = Flow()
    held = _held(w)
    _signals(w, held)
    pointers = [held["gains"], held["gravity"], "%q", "%v", held["r"], held["constants"], held["store"], "%f"]
    w.do(f"call void @{drive}({', '.join(f'ptr {p}' for p in (*pointers, held['drive_rows']))}, i64 1)")
    pointers = [held["constants"], held["gravity"], "%q", "%v", "%a", held["store"], "%r", held["rows"]]
    w.do(f"call void @{inverse}({', '.join(f'ptr {p}' for p in pointers)}, i64 {held['links']})")
    with w.repeat(n) as i:
        w.write(w.fsub(w.read("%r", i), w.read("%f", i)), "%r", i)
    arguments = "ptr %context, double %t, ptr %q, ptr %v, ptr %a, ptr %r, ptr %f"
    return w.text("residual", arguments, attributes="internal")


def newton_ir(inverse: str, drive: str, n: int, lanes: int) -> str:
    """``newton(context, t, q, v, a, c_v, c_a, S)``: S = dr/dq + c_v dr/dv + c_a dr/da, row-major."""
    w = Flow()
    held = _held(w)
    _signals(w, held)
    t = vector_type(lanes)
    state = ["%q", "%v", "%a"]
    seeds = [held["dq"], held["dv"], held["da"]]
    own = [held["constants"], held["gravity"], *state, *seeds]
    own += [held[k] for k in ("tangent_store", "dstore", "saved", "dout", "tangent_rows")]
    inverse_call = f"{', '.join(f'ptr {p}' for p in own)}, i64 {held['tangent_links']}, i64 0"
    other = [held["gains"], held["gravity"], "%q", "%v", held["r"], held["constants"], *seeds[:2]]
    other += [held[k] for k in ("tangent_store", "dstore", "drive_saved", "drive_dout", "drive_rows")]
    drive_call = f"{', '.join(f'ptr {p}' for p in other)}, i64 1, i64 0"
    with w.repeat(n) as i:
        for seed in seeds:
            w.do(f"store {t} zeroinitializer, ptr {element(w, seed, i, lanes)}, align 8")
    w.do(f"call void @{inverse}_primal({inverse_call})")
    w.do(f"call void @{drive}_primal({drive_call})")
    block = w.variable("i64", "0")

    def each_lane(b: str, width: str, values: Sequence[str]) -> None:
        with w.repeat(width) as k:
            place = w.iadd(w.imul(w.iadd(b, k), lanes), k)
            for seed, value in zip(seeds, values, strict=True):
                w.write(value, seed, place)

    with w.loop(lambda: w.iless(w.get("i64", block), n)):
        b = w.get("i64", block)
        left = w.let(f"sub i64 {n}, {b}")
        width = w.let(f"select i1 {w.iless(left, lanes)}, i64 {left}, i64 {lanes}")
        each_lane(b, width, ("1.0", "%c_v", "%c_a"))
        w.do(f"call void @{inverse}({inverse_call})")
        w.do(f"call void @{drive}({drive_call})")
        with w.repeat(n) as row, w.repeat(width) as k:
            at = w.iadd(w.imul(row, lanes), k)
            value = w.fsub(w.read(held["dout"], at), w.read(held["drive_dout"], at))
            w.write(value, "%S", w.iadd(w.iadd(w.imul(row, n), b), k))
        each_lane(b, width, ("0.0", "0.0", "0.0"))
        w.put("i64", w.iadd(b, lanes), block)
    arguments = "ptr %context, double %t, ptr %q, ptr %v, ptr %a, double %c_v, double %c_a, ptr %S"
    return w.text("newton", arguments, attributes="internal")


class ImplicitSystem:
    """A tree robot with a drive, for generalised-alpha. Not shared between threads."""

    def __init__(self, tree: Tree, law: Law, *, gains: Sequence[float] = (), channels: int = 0) -> None:
        self.tree, self.size, self.channels = tree, tree.size, channels
        self.states = 2 * tree.size + BALANCES
        lanes = jit.lanes()
        single = fitting_program(INVERSE, tree)
        tangent = fitting_program(INVERSE, tree, ("q", "v", "a"))
        drive = drive_program(tree, law, channels, gains)
        drive_tangent = drive_program(tree, law, channels, gains, ("q", "v"))
        self._code = jit.LoadedCode(compiled(_module(single, tangent, drive, drive_tangent, lanes)))
        n = self.size
        self.constants = np.array(single.constants)
        self.gravity = np.array(tree.gravity, dtype=float)
        self._arrays: dict[str, NDArray[Any]] = {
            "constants": self.constants,
            "gravity": self.gravity,
            "store": aligned(single.record_size),
            "rows": rows(single),
            "gains": np.array([*gains, 0.0]),
            "drive_rows": rows(drive),
            "r": aligned(max(channels, 1)),
            "f": aligned(n + BALANCES),
            "tangent_store": aligned(tangent.record_size),
            "dstore": aligned(tangent.record_size * lanes),
            "saved": aligned(tangent.saved_size),
            "dout": aligned(n * lanes),
            "tangent_rows": rows(tangent),
            "drive_saved": aligned(max(drive_tangent.saved_size, 1)),
            "drive_dout": aligned(n * lanes),
            **{f"d{k}": aligned(n * lanes) for k in "qva"},
        }
        self.work = aligned(work_size(n, BALANCES))
        self.set_signals(Signals.none() if channels == 0 else Signals(0.0, 1.0, np.zeros((1, channels, 1))))
        p, i = ctypes.c_void_p, ctypes.c_int64
        self._advance = ctypes.CFUNCTYPE(i, *[p] * 6, i)(self._code.address("generalised_alpha"))

    def set_signals(self, signals: Signals) -> None:
        """What the drive follows from now on."""
        if signals.channels != self.channels:
            raise ValueError(f"the drive has {self.channels} signals, {signals.channels} were given")
        pieces, channels, terms = signals.coefficients.shape
        self._arrays["table"] = np.concatenate([[signals.start, signals.piece], signals.coefficients.ravel()])
        numbers = {
            "links": len(self._arrays["rows"]),
            "pieces": pieces,
            "channels": channels,
            "terms": terms,
            "tangent_links": len(self._arrays["tangent_rows"]),
        }
        self._context = np.array(
            [numbers[k] if k in NUMBERS else self._arrays[k].ctypes.data for k in CONTEXT], dtype=np.int64
        )

    def advance(self, clock: Floats, x: Floats, tolerance: Floats, knots: Floats) -> Status:
        """Advance x in place until clock[END] or as many steps as there are knots for."""
        arrays = (self._context, clock, x, tolerance, self.work, knots)
        return Status(self._advance(*(a.ctypes.data for a in arrays), len(knots) - 1))


def _module(
    single: RolledProgram, tangent: RolledProgram, drive: RolledProgram, drive_tangent: RolledProgram, lanes: int
) -> str:
    programs = (single, tangent, drive, drive_tangent)
    tapes = [kernel.tape for p in programs for each in p.passes for kernel in each.kernels]
    orders = stumpff_orders(tapes)
    parts = [declarations({1, lanes}), library(1, orders), library(lanes, orders)]
    names = []
    for program, width in zip(programs, (1, lanes, 1, lanes), strict=True):
        text, name = program_ir(program, width)
        parts.append(text)
        names.append(name)
    n = single.size
    parts += [signals_ir(), residual_ir(names[0], names[2], n), newton_ir(names[1], names[3], n, lanes)]
    return "".join([*parts, generalised_alpha_ir(n, BALANCES), ATTRIBUTES])
