"""Equations that are functions of Python, which steps in machine code call by their addresses.

So a user's own law, and signals that polynomials cannot follow, are integrated by the same code as all others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.evaluator import stored
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.module import ATTRIBUTES
from pliant.engine.stepping.integrators import Clock
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.stepper import FUNCTIONS, SLOTS, SteppedEquations, StepShape, function_arguments

Floats = NDArray[np.float64]
Rates = Callable[[float, Floats], Floats]
Matrix = Callable[[float, Floats, Floats, float, float, float], Floats]

_P, _I, _D = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


def called_ir(name: str, place: int, given: Sequence[str]) -> str:
    """``name(context, ...)``: a function of Python by its address in the context, in the usual floating-point mode."""
    w = Flow()
    with w.unflushed():
        function = w.get("ptr", w.let(f"getelementptr inbounds i64, ptr %context, i64 {place}"))
        w.do(f"call void {function}({', '.join(given)})")
    return w.text(name, ", ".join(["ptr %context", *given]))


def floats_at(address: int, size: int) -> Floats:
    """Doubles of machine code."""
    return np.ctypeslib.as_array((_D * size).from_address(address))


class CalledEquations(SteppedEquations):
    """What these systems share. Not shared between threads.

    What a function raises ends a call of the integrator, and is raised again there.
    """

    def __init__(self, layout: StateLayout, turning: Sequence[int], functions: Sequence[Callable[..., None]]) -> None:
        self.layout, self.states, self.turning = layout, layout.size, tuple(turning)
        self._names = tuple(FUNCTIONS[self.kind])
        given = [function_arguments(self.kind, name, layout) for name in self._names]
        kinds = [[_D if each.startswith("double") else _P for each in arguments] for arguments in given]
        # kept as long as their addresses
        self._functions = [ctypes.CFUNCTYPE(None, *k)(f) for k, f in zip(kinds, functions, strict=True)]

        def make() -> tuple[dict[str, Any], str]:
            places = enumerate(zip(self._names, given, strict=True), len(SLOTS))
            texts = [called_ir(name, place, arguments) for place, (name, arguments) in places]
            return {}, "".join([prelude([], 1), *texts, ATTRIBUTES])

        _, code = stored((f"called {self.kind}", bool(layout.states)), make)
        slots = dict(zip(SLOTS, map(code.address, self._names), strict=False))
        called = [ctypes.cast(each, _P).value for each in self._functions]
        self.context = np.array([*(slots.get(slot, 0) for slot in SLOTS), *called], dtype=np.int64)
        self._code = code
        self._clock: Floats | None = None
        self._raised: BaseException | None = None

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

    def begin(self, clock: Floats) -> None:
        self._clock, self._raised = clock, None

    def end(self) -> None:
        if self._raised is not None:
            raise self._raised


class CalledSystem(CalledEquations):
    """Equations x' = rates(t, x) in Python."""

    kind = "rates"

    def __init__(self, rates: Rates, layout: StateLayout, turning: Sequence[int]) -> None:
        self.rates = rates
        super().__init__(layout, turning, [self._rhs])

    @property
    def shape(self) -> StepShape:
        return StepShape(self.layout, self.turning)

    def _rhs(self, t: float, x: int, dx: int) -> None:
        state, slope = (floats_at(at, self.states) for at in (x, dx))

        def find() -> None:
            slope[:] = self.rates(t, state.copy())

        self.attempt(find, slope)


class CalledImplicitSystem(CalledEquations):
    """Equations x' = rates(t, x) in Python, for implicit steps: the residual is a - accelerations.

    matrix  (t, x, a, c_v, c_a, c_z) -> the Newton matrix, bordered as ``implicit_system.newton_ir`` says
    """

    kind = "residual"

    def __init__(self, rates: Rates, matrix: Matrix, layout: StateLayout, turning: Sequence[int]) -> None:
        self.rates, self.matrix = rates, matrix
        super().__init__(layout, turning, [self._residual, self._newton])

    @property
    def shape(self) -> StepShape:
        return StepShape(self.layout, self.turning)

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
