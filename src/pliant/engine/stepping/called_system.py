"""StepsCall in machine code of equations that are functions of Python, called by their addresses.

So a user's own law, and signals that polynomials cannot follow, are integrated by the same code as all others.
"""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.evaluator import aligned, stored
from pliant.engine.compile import jit
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.module import ATTRIBUTES
from pliant.engine.stepping.dormand_prince import ALL_STAGES
from pliant.engine.stepping.esdirk import esdirk_ir, esdirk_work
from pliant.engine.stepping.generalised_alpha import generalised_alpha_ir, work_size
from pliant.engine.stepping.implicit import change_ir
from pliant.engine.stepping.integrators import Clock, Status, dop853_ir, rk4_ir, semi_implicit_ir
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.stepped_system import SteppedSystem, StepsCall
from pliant.engine.stepping.ticks import Ticking

Floats = NDArray[np.float64]
Rates = Callable[[float, Floats], Floats]
Matrix = Callable[[float, Floats, Floats, float, float, float], Floats]

_P, _I, _D = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


def called_ir(name: str, place: int, given: Sequence[str]) -> str:
    """``name(context, ...)``: the function whose address is in the context, with the usual floating-point mode."""
    w = Flow()
    with w.unflushed():
        function = w.get("ptr", w.let(f"getelementptr inbounds i64, ptr %context, i64 {place}"))
        w.do(f"call void {function}({', '.join(given)})")
    return w.text(name, ", ".join(["ptr %context", *given]), attributes="internal")


def floats_at(address: int, size: int) -> Floats:
    """Doubles of machine code."""
    return np.ctypeslib.as_array((_D * size).from_address(address))


class CalledEquations(SteppedSystem):
    """What these systems share. Not shared between threads.

    What a function raises ends a call of the integrator, and is raised again there.
    """

    def __init__(self, kind: str, layout: StateLayout, turning: Sequence[int], functions: Sequence[Any]) -> None:
        self.layout, self.states, self.turning = layout, layout.size, tuple(turning)
        parts, homes = (f"called {kind}", layout.count, layout.states, self.turning), {type(self).__module__}
        begin = prelude([], jit.lanes())
        _, self.code = stored(parts, lambda: ({}, "".join([begin, self._module(), ATTRIBUTES])), homes=homes)
        # kept as long as their addresses
        self._functions = functions
        self.context = np.array([ctypes.cast(each, _P).value for each in functions], dtype=np.int64)
        self._clock: Floats | None = None
        self._raised: BaseException | None = None

    @abstractmethod
    def _module(self) -> str:
        """The steps."""

    def attempt(self, find: Callable[[], None], *results: Floats) -> None:
        """Let Python find results; they are no numbers where it raises, now and until the call has ended."""
        try:
            if self._raised is None:
                find()
                return
        except BaseException as error:
            self._raised = error
            assert self._clock is not None
            # no step begins behind the end
            self._clock[Clock.END] = -np.inf
        for result in results:
            result[:] = np.nan

    def advance(self, steps: StepsCall, ticking: Ticking | None = None) -> tuple[Status, int]:
        self._clock, self._raised = steps.clock, None
        found = super().advance(steps, ticking)
        if self._raised is not None:
            raise self._raised
        return found


class CalledSystem(CalledEquations):
    """Equations x' = rates(t, x) in Python, for explicit steps."""

    def __init__(self, rates: Rates, layout: StateLayout, turning: Sequence[int]) -> None:
        self.rates = rates
        super().__init__("explicit", layout, turning, [ctypes.CFUNCTYPE(None, _D, _P, _P)(self._rhs)])
        self.work = aligned((ALL_STAGES + 2) * self.states)

    def _module(self) -> str:
        size, turning = self.layout.size, self.turning
        steps = dop853_ir(size, self.layout.controlled, turning), rk4_ir(size, turning)
        rhs = called_ir("rhs", 0, ("double %t", "ptr %x", "ptr %dx"))
        return "".join([rhs, *steps, semi_implicit_ir(size, self.layout.count, turning)])

    def _rhs(self, t: float, x: int, dx: int) -> None:
        state, slope = (floats_at(at, self.states) for at in (x, dx))

        def find() -> None:
            slope[:] = self.rates(t, state.copy())

        self.attempt(find, slope)


class CalledImplicitSystem(CalledEquations):
    """Equations x' = rates(t, x) in Python, for implicit steps: the residual is a - accelerations.

    matrix  (t, x, a, c_v, c_a, c_z) -> the Newton matrix, bordered as ``implicit_system.newton_ir`` says
    """

    def __init__(self, rates: Rates, matrix: Matrix, layout: StateLayout, turning: Sequence[int]) -> None:
        self.rates, self.matrix = rates, matrix
        factors = [_D] * (3 if layout.states else 2)
        functions = [
            ctypes.CFUNCTYPE(None, _D, *[_P] * 6)(self._residual),
            ctypes.CFUNCTYPE(None, _D, *[_P] * 4, *factors, _P)(self._newton),
        ]
        super().__init__("implicit", layout, turning, functions)
        self.work = aligned(max(size(layout) for size in (work_size, esdirk_work)))

    def _module(self) -> str:
        state = ("double %t", "ptr %q", "ptr %v", "ptr %a", "ptr %z")
        factors = ("double %c_v", "double %c_a", *(("double %c_z",) if self.layout.states else ()))
        parts = [called_ir("residual", 0, (*state, "ptr %r", "ptr %rates"))]
        parts += [called_ir("newton", 1, (*state, *factors, "ptr %S")), change_ir(self.layout)]
        parts += [generalised_alpha_ir(self.layout, (), self.turning), esdirk_ir(self.layout, (), self.turning)]
        return "".join(parts)

    def _state(self, q: int, v: int, z: int) -> Floats:
        """x with the drive's states; energies count for nothing."""
        n, m = self.layout.count, self.layout.states
        parts = [floats_at(at, size) for at, size in ((q, n), (v, n), (z, m)) if size]
        return np.concatenate([*parts, np.zeros(self.states - 2 * n - m)])

    def _residual(self, t: float, q: int, v: int, a: int, z: int, r: int, rates: int) -> None:
        layout = self.layout
        missing, further = floats_at(r, layout.count), floats_at(rates, layout.further)

        def find() -> None:
            slope = self.rates(t, self._state(q, v, z))
            missing[:] = floats_at(a, layout.count) - slope[layout.v]
            further[:] = slope[layout.rest]

        self.attempt(find, missing, further)

    def _newton(self, t: float, q: int, v: int, a: int, z: int, c_v: float, c_a: float, *more: Any) -> None:
        *factor, S = more
        size = self.layout.count + self.layout.states
        out = floats_at(S, size * size)

        def find() -> None:
            given = self._state(q, v, z), floats_at(a, self.layout.count).copy()
            out[:] = self.matrix(t, *given, c_v, c_a, *(factor or [0.0])).ravel()

        self.attempt(find, out)
