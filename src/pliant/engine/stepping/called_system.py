"""Explicit steps in machine code of a right-hand side that is a function of Python, called by its address.

So a user's own law, and signals that polynomials cannot follow, are integrated by the same code as all others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.evaluator import aligned, stored
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.module import ATTRIBUTES
from pliant.engine.stepping.dormand_prince import ALL_STAGES
from pliant.engine.stepping.integrators import Clock, Status, dop853_ir, rk4_ir, semi_implicit_ir
from pliant.engine.stepping.layout import StateLayout

Floats = NDArray[np.float64]
Rates = Callable[[float, Floats], Floats]

_CALLED = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)


def called_ir() -> str:
    """``rhs(context, t, x, dx)``: the function whose address is in the context, with the usual floating-point mode."""
    w = Flow()
    with w.unflushed():
        w.do(f"call void {w.get('ptr', '%context')}(double %t, ptr %x, ptr %dx)")
    return w.text("rhs", "ptr %context, double %t, ptr %x, ptr %dx", attributes="internal")


def _array(address: int, size: int) -> Floats:
    """Doubles of machine code."""
    return np.ctypeslib.as_array((ctypes.c_double * size).from_address(address))


class CalledSystem:
    """Equations x' = rates(t, x) in Python, ready to be integrated. Not shared between threads.

    What the function raises ends a call of the integrator, and is raised again there.
    """

    def __init__(self, rates: Rates, layout: StateLayout, turning: Sequence[int]) -> None:
        self.rates, self.layout, self.states, self.turning = rates, layout, layout.size, tuple(turning)
        parts = ("called", layout.size, layout.controlled, self.turning)
        homes = {"pliant.engine.stepping.called_system"}
        _, self.code = stored(parts, lambda: ({}, self._module()), homes=homes)
        self.work = aligned((ALL_STAGES + 2) * self.states)
        self._function = _CALLED(self._called)
        self._context = np.array([ctypes.cast(self._function, ctypes.c_void_p).value], dtype=np.int64)
        self._clock: Floats | None = None
        self._raised: BaseException | None = None
        p, i = ctypes.c_void_p, ctypes.c_int64
        self._dop853 = ctypes.CFUNCTYPE(i, *[p] * 6, i, p, i, p, p)(self.code.address("dop853"))
        self._fixed = {
            name: ctypes.CFUNCTYPE(i, *[p] * 6, i)(self.code.address(name.replace("-", "_")))
            for name in ("rk4", "semi-implicit")
        }

    def _module(self) -> str:
        size, turning = self.layout.size, self.turning
        steps = dop853_ir(size, self.layout.controlled, turning), rk4_ir(size, turning)
        return "".join(
            [prelude([], 1), called_ir(), *steps, semi_implicit_ir(size, self.layout.count, turning), ATTRIBUTES]
        )

    def _called(self, t: float, x: int, dx: int) -> None:
        state, slope = (_array(at, self.states) for at in (x, dx))
        try:
            if self._raised is None:
                slope[:] = self.rates(t, state.copy())
                return
        except BaseException as error:
            self._raised = error
            assert self._clock is not None
            # no step begins behind the end
            self._clock[Clock.END] = -np.inf
        slope[:] = np.nan

    def dop853(
        self,
        clock: Floats,
        x: Floats,
        tolerance: Floats,
        knots: Floats,
        grid: Floats,
        following: NDArray[np.int64],
        samples: Floats,
    ) -> Status:
        """Advance x in place; see ``ExplicitSystem.dop853``."""
        wanted = [grid.ctypes.data, len(grid), following.ctypes.data, samples.ctypes.data]
        return self._advance(self._dop853, (clock, x, tolerance, self.work, knots), *wanted)

    def fixed(self, method: str, clock: Floats, x: Floats, knots: Floats) -> Status:
        """Advance x in place; see ``ExplicitSystem.fixed``."""
        return self._advance(self._fixed[method], (clock, x, x, self.work, knots))

    def _advance(self, function: Callable[..., int], arrays: Sequence[Floats], *wanted: int) -> Status:
        self._clock, self._raised = arrays[0], None
        addresses = [a.ctypes.data for a in (self._context, *arrays)]
        status = Status(function(*addresses, len(arrays[-1]) - 1, *wanted))
        if self._raised is not None:
            raise self._raised
        return status
