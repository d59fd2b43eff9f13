"""A robot with its drive as a compiled residual with its Newton matrix."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.engine.call.evaluator import Program, aligned
from pliant.engine.compile import jit
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import element, number, vector_type
from pliant.engine.compile.module import ATTRIBUTES, program_ir
from pliant.engine.stepping.driven_system import DrivenSystem, call_drive, call_dynamics, follow, held_in
from pliant.engine.stepping.driving import Driving, MovingCarrier, Split
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.signal_table import signals_ir
from pliant.engine.stepping.stepper import StepShape
from pliant.engine.trace.program import RolledProgram

Floats = NDArray[np.float64]

CONTEXT = (
    *("tangent_store", "dstore", "saved", "dout", "tangent_rows", "drive_saved", "drive_dout", "dq", "dv", "dx"),
    *("dz", "moving", "links", "tangent_links"),
)


class Equation(NamedTuple):
    """How the equations of motion are written.

    forward  r = a - forward(q, v, f), as closed loops need it; else r = inverse(q, v, a) - f
    split    which coordinates are driven
    driving  what acts on the robot
    layout   of the state
    """

    forward: bool
    split: Split
    driving: Driving
    layout: StateLayout

    @property
    def first(self) -> int:
        """Where the program's results for the coordinates begin; efforts come first in forward dynamics."""
        return len(self.split.driven) if self.forward else 0

    @property
    def efforts(self) -> list[int]:
        """Where the efforts of the driven coordinates are."""
        return list(range(len(self.split.driven))) if self.forward else list(self.split.driven)


def _prepare(w: Flow, held: dict[str, str], equation: Equation, drive: str) -> tuple[str, str, str]:
    """Signals, all coordinates and rates, forces of the drive; the third input of the program is f or a."""
    follow(w, held, equation.driving, "%z")
    parts = ("%q", "%v") if equation.forward else ("%q", "%v", "%a")
    q, v, *a = equation.split.whole(w, parts, held["full"], held["r"])
    call_drive(w, held, drive, q, v)
    return q, v, a[0] if a else held["f"]


def residual_ir(drive: str, equation: Equation) -> str:
    """``residual(context, t, q, v, a, z, r, rates)`` for the coordinates that move; z are the states after v."""
    w = Flow()
    held = held_in(w, CONTEXT)
    q, v, third = _prepare(w, held, equation, drive)
    out, f, n = held["out"], held["f"], equation.split.n
    call_dynamics(w, held, held["dynamics"], (q, v, third), out)
    for j, k in enumerate(equation.split.moving):
        found = w.read(out, equation.first + k)
        w.write(w.fsub(w.read("%a", j), found) if equation.forward else w.fsub(found, w.read(f, k)), "%r", j)
    layout = equation.layout
    for k in range(layout.further):
        w.write(w.read(f, n + k), "%rates", k)
    if equation.split.driven:
        place = layout.work - layout.rest.start
        work = equation.split.work(w, [w.read(out, k) for k in equation.efforts], v, w.read("%rates", place))
        w.write(work, "%rates", place)
    arguments = "ptr %context, double %t, ptr %q, ptr %v, ptr %a, ptr %z, ptr %r, ptr %rates"
    return w.text("residual", arguments)


def newton_ir(program: str, drive: str, single_drive: str, equation: Equation, lanes: int) -> str:
    """``newton(context, t, q, v, a, z, c_v, c_a, S)``: S = dr/dq + c_v dr/dv + c_a dr/da, row-major.

    Where the drive has states z' = g(q, v, z), it takes c_z after c_a, and S is bordered by them, for the unknowns
    (q, z) of r = 0 and z - c_z g = given:

        [ S                         dr/dz         ]
        [ -c_z (dg/dq + c_v dg/dv)  1 - c_z dg/dz ]
    """
    w = Flow()
    held = held_in(w, CONTEXT)
    q, v, third = _prepare(w, held, equation, single_drive)
    n, count, states = equation.split.n, len(equation.split.moving), equation.driving.states
    size = count + states
    t = vector_type(lanes)
    seeds = [held["dq"], held["dv"]] if equation.forward else [held["dq"], held["dv"], held["dx"]]
    # forward dynamics see the change of the drive's forces
    given = [held["constants"], held["gravity"], q, v, third, held["dq"], held["dv"]]
    given.append(held["drive_dout"] if equation.forward else held["dx"])
    given += [held[k] for k in ("tangent_store", "dstore", "saved", "dout", "tangent_rows")]
    program_call = f"{', '.join(f'ptr {p}' for p in given)}, i64 {held['tangent_links']}, i64 0"
    other = [held["gains"], held["gravity"], q, v, held["r"], held["arm"], held["dq"], held["dv"]]
    other += [held["dz"]] if states else []
    other += [held[k] for k in ("tangent_store", "dstore", "drive_saved", "drive_dout", "drive_rows")]
    drive_call = f"{', '.join(f'ptr {p}' for p in other)}, i64 1, i64 0"
    with w.repeat(n) as i:
        for seed in (held["dq"], held["dv"], held["dx"]):
            w.do(f"store {t} zeroinitializer, ptr {element(w, seed, i, lanes)}, align 8")
    for s in range(states):
        w.do(f"store {t} zeroinitializer, ptr {element(w, held['dz'], str(s), lanes)}, align 8")
    w.do(f"call void @{drive}_primal({drive_call})")
    w.do(f"call void @{program}_primal({program_call})")

    block = w.variable("i64", "0")

    def coordinate(j: str) -> str:
        return w.get("i64", w.let(f"getelementptr inbounds i64, ptr {held['moving']}, i64 {j}"))

    def each_lane(b: str, width: str, values: Sequence[str]) -> None:
        with w.repeat(width) as k:
            place = w.iadd(w.imul(coordinate(w.iadd(b, k)), lanes), k)
            for seed, value in zip(seeds, values, strict=False):
                w.write(value, seed, place)

    with w.loop(lambda: w.iless(w.get("i64", block), count)):
        b = w.get("i64", block)
        left = w.let(f"sub i64 {count}, {b}")
        width = w.let(f"select i1 {w.iless(left, lanes)}, i64 {left}, i64 {lanes}")
        each_lane(b, width, ("1.0", "%c_v", "%c_a"))
        w.do(f"call void @{drive}({drive_call})")
        w.do(f"call void @{program}({program_call})")
        with w.repeat(count) as row, w.repeat(width) as k:
            c, column = coordinate(row), w.iadd(b, k)
            value = w.read(held["dout"], w.iadd(w.imul(w.iadd(c, equation.first), lanes), k))
            if equation.forward:
                own = w.let(f"icmp eq i64 {row}, {column}")
                value = w.fsub(w.let(f"select i1 {own}, double %c_a, double {number(0.0)}"), value)
            else:
                value = w.fsub(value, w.read(held["drive_dout"], w.iadd(w.imul(c, lanes), k)))
            w.write(value, "%S", w.iadd(w.imul(row, size), column))
        for j in range(states):
            with w.repeat(width) as k:
                slope = w.read(held["drive_dout"], w.iadd(k, (n + j) * lanes))
                place = w.iadd(w.iadd(b, k), (count + j) * size)
                w.write(w.fsub(number(0.0), w.fmul("%c_z", slope)), "%S", place)
        each_lane(b, width, ("0.0", "0.0", "0.0"))
        w.put("i64", w.iadd(b, lanes), block)
    for first in range(0, states, lanes):
        moved = list(enumerate(range(first, min(first + lanes, states))))
        for lane, s in moved:
            w.write(number(1.0), held["dz"], s * lanes + lane)
        w.do(f"call void @{drive}({drive_call})")
        if equation.forward:
            w.do(f"call void @{program}({program_call})")
        for lane, s in moved:
            with w.repeat(count) as row:
                c = coordinate(row)
                # what a change of the forces does: to accelerations, or to the forces that are missing
                changed = (held["dout"], w.iadd(c, equation.first)) if equation.forward else (held["drive_dout"], c)
                value = w.read(changed[0], w.iadd(w.imul(changed[1], lanes), lane))
                w.write(w.fsub(number(0.0), value), "%S", w.iadd(w.imul(row, size), count + s))
            for j in range(states):
                slope = w.fmul("%c_z", w.read(held["drive_dout"], (n + j) * lanes + lane))
                w.write(w.fsub(number(float(j == s)), slope), "%S", (count + j) * size + count + s)
        for lane, s in moved:
            w.write(number(0.0), held["dz"], s * lanes + lane)
    further = "double %c_v, double %c_a, double %c_z" if states else "double %c_v, double %c_a"
    arguments = f"ptr %context, double %t, ptr %q, ptr %v, ptr %a, ptr %z, {further}, ptr %S"
    return w.text("newton", arguments)


def matrix_ir(layout: StateLayout) -> str:
    """``matrix(context, x, a, numbers, S)``: the Newton matrix at a state; the numbers are t, c_v, c_a and c_z."""
    w = Flow()
    t, *factors = (w.read("%numbers", k) for k in range(4 if layout.states else 3))
    v, z = (w.at("%x", part.start) for part in (layout.v, layout.drive))
    given = f"double {t}, ptr %x, ptr {v}, ptr %a, ptr {z}, {', '.join(f'double {c}' for c in factors)}, ptr %S"
    w.do(f"call void @newton(ptr %context, {given})")
    return w.text("matrix", "ptr %context, ptr %x, ptr %a, ptr %numbers, ptr %S")


class ImplicitSystem(DrivenSystem):
    """A robot with a drive, for implicit steps. Not shared between threads.

    forward  (q, v, f) -> accelerations, as closed loops need it; or
    inverse  (q, v, a) -> generalised forces of a tree, which cost less
    """

    kind = "residual"

    def __init__(
        self, tree: MovingCarrier, driving: Driving, *, forward: Traced | None = None, inverse: Traced | None = None
    ) -> None:
        traced = forward or inverse
        assert traced is not None
        programs = Program(*traced), Program(*traced, traced.algorithm.inputs)
        super().__init__(tree, driving, programs, ("q", "v", "z") if driving.states else ("q", "v"), CONTEXT)
        self._equation = Equation(forward is not None, self.split, driving, self.layout)
        lanes, n = jit.lanes(), self.size
        (tangent,), self.code = self.compiled("implicit", programs[1:], lambda found: self._module(found, lanes))
        more = {
            "tangent_store": aligned(tangent.record_size),
            "dstore": aligned(tangent.record_size * lanes),
            "saved": aligned(tangent.saved_size),
            "dout": aligned(tangent.outputs * lanes),
            "tangent_rows": tangent.table,
            "drive_saved": aligned(max(self.drives[1].saved_size, 1)),
            "drive_dout": aligned((n + driving.states) * lanes),
            **{f"d{k}": aligned(n * lanes) for k in "qvx"},
            "dz": aligned(max(driving.states, 1) * lanes),
            "moving": np.array(self.split.moving, dtype=np.int64),
        }
        self._hold(levels=3, more=more)
        self._matrix = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(self.code.address("matrix"))

    @property
    def shape(self) -> StepShape:
        return StepShape(self.layout, self.turning, self._kernel.rate_states)

    def matrix(self, t: float, x: Floats, a: Floats, *, c_v: float = 0.0, c_a: float = 0.0, c_z: float = 0.0) -> Floats:
        """dr/dq + c_v dr/dv + c_a dr/da at states x and accelerations a of what moves.

        (count, count), bordered by the drive's states as ``newton_ir`` says.
        """
        x, a = (np.ascontiguousarray(each, dtype=float) for each in (x, a))
        size = self.layout.count + self.layout.states
        out, numbers = np.empty((size, size)), np.array([t, c_v, c_a, c_z])
        self._matrix(*(array.ctypes.data for array in (self.context, x, a, numbers, out)))
        return out

    def _module(self, traced: Sequence[RolledProgram], lanes: int) -> str:
        programs = (*traced, *self.drives)
        parts = [prelude(programs, lanes)]
        names = []
        for program, width in zip(programs, (lanes, 1, lanes), strict=True):
            text, name = program_ir(program, width)
            parts.append(text)
            names.append(name)
        parts += [signals_ir(), residual_ir(names[1], self._equation)]
        parts.append(newton_ir(names[0], names[2], names[1], self._equation, lanes))
        parts.append(matrix_ir(self.layout))
        return "".join([*parts, ATTRIBUTES])
