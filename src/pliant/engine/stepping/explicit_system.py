"""A robot with its drive as one compiled right-hand side.

The dynamics are any algorithm (q, v, f) -> accelerations of all coordinates, of a tree or of closed loops.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.engine.call.evaluator import Program
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.module import ATTRIBUTES, entry_ir, program_ir
from pliant.engine.stepping.driven_system import DrivenSystem, call_drive, call_dynamics, follow, held_in
from pliant.engine.stepping.driving import Driving, MovingCarrier, Split
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.signal_table import signals_ir
from pliant.engine.stepping.stepper import StepShape

Floats = NDArray[np.float64]

CONTEXT = ("links",)


def rhs_ir(drive: str, split: Split, driving: Driving, layout: StateLayout) -> str:
    """``rhs(context, t, x, dx)``."""
    w = Flow()
    held = held_in(w, CONTEXT)
    n, m, count = split.n, len(split.driven), layout.count
    dv, further = w.at("%dx", layout.v.start), w.at("%dx", layout.rest.start)
    follow(w, held, driving, w.at("%x", layout.drive.start))
    q, v = split.whole(w, ("%x", w.at("%x", layout.v.start)), held["full"], held["r"])
    call_drive(w, held, drive, q, v)
    out = held["out"] if m else dv
    call_dynamics(w, held, held["dynamics"], (q, v, held["f"]), out)
    with w.repeat(count) as i:
        w.write(w.read("%x", w.iadd(i, layout.v.start)), "%dx", i)
    for k in range(layout.further):
        w.write(w.read(held["f"], n + k), further, k)
    if m:
        for j, k in enumerate(split.moving):
            w.write(w.read(out, m + k), dv, j)
        w.write(split.work(w, [w.read(out, k) for k in range(m)], v, w.read("%dx", layout.work)), "%dx", layout.work)
    return w.text("rhs", "ptr %context, double %t, ptr %x, ptr %dx")


class ExplicitSystem(DrivenSystem):
    """A robot with a drive, ready to be integrated. Not shared between threads.

    forward  (q, v, f) -> accelerations; with driven coordinates it takes their accelerations in f, and its results
             begin with their efforts
    """

    kind = "rates"

    def __init__(self, tree: MovingCarrier, driving: Driving, forward: Traced) -> None:
        super().__init__(tree, driving, [Program(*forward)], (), CONTEXT)
        _, self.code = self.compiled("system", (), lambda _: self._module())
        self._hold(levels=2)
        self._rhs = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.code.address("evaluate_call"))

    def _module(self) -> str:
        (drive,), layout = self.drives, self.layout
        text, name = program_ir(drive, 1)
        parts = [prelude([drive], 1), text, signals_ir(), rhs_ir(name, self.split, self.driving, layout)]
        evaluate = Flow()
        t = evaluate.get("double", "%time")
        evaluate.do(f"call void @rhs(ptr %context, double {t}, ptr %x, ptr %dx)")
        parts.append(evaluate.text("evaluate", "ptr %context, ptr %time, ptr %x, ptr %dx"))
        parts.append(entry_ir("evaluate", dict.fromkeys(("context", "time", "x", "dx"), "ptr")))
        return "".join([*parts, ATTRIBUTES])

    @property
    def shape(self) -> StepShape:
        return StepShape(self.layout, self.turning)

    @property
    def without_lane(self) -> str:
        """Why it is stepped alone and not beside others in lanes, in words; empty where it can be."""
        if self.driving.driven:
            return "joints with a prescribed motion have no lanes"
        return "joints that turn any way have no lanes" if self.turning else ""

    def slope(self, t: float, x: Floats) -> Floats:
        """dx/dt, for checks and other integrators."""
        x = np.ascontiguousarray(x, dtype=float)
        out, time = np.empty(self.states), np.array([t])
        packed = np.array([a.ctypes.data for a in (self.context, time, x, out)], dtype=np.int64)
        self._rhs(packed.ctypes.data)
        return out

    def forces(self, t: float, x: Floats) -> Floats:
        """Generalised forces of the drive at a state."""
        self.slope(t, x)
        return self._f[: self.size].copy()
