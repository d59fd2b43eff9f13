"""What an integrator is, and an integrator at work on equations.

A ``Stepper`` writes machine code of steps that calls the functions of the equations by their addresses: those are
machine code of a robot with its drive, or functions of Python. A new one is a module with a subclass, and its line in
``steppers.py``; ``runge_kutta.py`` has the shortest.
"""

from __future__ import annotations

import ctypes
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.evaluator import aligned, stored
from pliant.engine.compile import jit
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.module import ATTRIBUTES
from pliant.engine.stepping.integrators import Clock, Status
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.ticks import Entry, Ticking, Ticks, ticking_code

Floats = NDArray[np.float64]

_P, _I = ctypes.c_void_p, ctypes.c_int64
_STEPS = ctypes.CFUNCTYPE(_I, *[_P] * 6, _I, _P, _I, _P, _P)
_TICKED = ctypes.CFUNCTYPE(_I, *[_P] * 8, _I, _P, _I, _P, _P)

_STATE = ("double %t", "ptr %q", "ptr %v", "ptr %a", "ptr %z")
_STAGES = ("ptr %q", "ptr %v", "ptr %z", "ptr %out")
_FACTORS = ("double %c_v", "double %c_a", "double %c_z")
FUNCTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "rates": {"rhs": ("double %t", "ptr %x", "ptr %dx")},
    "residual": {"residual": (*_STATE, "ptr %r", "ptr %rates"), "newton": (*_STATE, *_FACTORS, "ptr %S")},
    "stages": {"stages": _STAGES, "powers": _STAGES, "followed": ("ptr %scratch", "double %t", "double %h")},
}
"""Kinds of equations: their functions, in the order of their addresses, and what these take behind the context.

rates     x' = rhs(t, x)
residual  residual(t, q, v, a, z) = 0 with rates of z, and its matrix; see ``implicit_system.newton_ir``
stages    accelerations at all stages of a step, what else the energies need, and what is followed there
"""
SLOTS = ("function_1", "function_2", "function_3", "f")
"""First entries of every context: addresses of these functions, and where forces, rates and powers are."""


def function_arguments(kind: str, name: str, layout: StateLayout) -> tuple[str, ...]:
    """Arguments of a function of equations behind the context; without states there is no factor c_z."""
    given = FUNCTIONS[kind][name]
    return given if layout.states else tuple(each for each in given if each != "double %c_z")


class StepShape(NamedTuple):
    """What of equations decides the code of steps.

    turning      places of rotation vectors in x
    rate_states  states of the drive that are rates of other ones
    coordinates  of the robot, with those that are driven
    signals      numbers that the equations follow
    """

    layout: StateLayout
    turning: tuple[int, ...] = ()
    rate_states: tuple[int, ...] = ()
    coordinates: int = 0
    signals: int = 0


class SteppedEquations(ABC):
    """Equations that steps call by address.

    context  an array of addresses and sizes, the first argument of their functions; it begins with ``SLOTS``
    """

    kind: ClassVar[str]
    context: NDArray[np.int64]
    layout: StateLayout

    @property
    @abstractmethod
    def shape(self) -> StepShape:
        """What decides the code of steps."""

    @property
    def kept(self) -> Floats | None:
        """What it knows that a resumption needs; None: nothing."""
        return None

    def begin(self, clock: Floats) -> None:  # noqa: B027
        """Steps are about to be made."""

    def end(self) -> None:  # noqa: B027
        """Raise what Python raised in one of its functions."""


class Stepper(ABC):
    """An integrator.

    order       with which its error falls; ``words``: what it is for
    kind        of the equations that it steps, one of ``FUNCTIONS``
    fixed       takes equal steps
    dense       has a dense output of its own; else steps are interpolated by Hermite's polynomials
    lanes       steps of several runs may be taken together
    erases      damps what is faster than its steps, also what grows
    finer       of methods that carry the errors of their steps along: exponent of the tolerance by which these errors
                fall; zero: it does not
    parts       rows of knots that a step has; ``worth``: explicit steps that one takes the time of
    substitute  solver of scipy that serves where there is no compiler
    """

    name: ClassVar[str]
    order: ClassVar[int]
    words: ClassVar[str]
    kind: ClassVar[str] = "rates"
    fixed: ClassVar[bool] = False
    dense: ClassVar[bool] = False
    lanes: ClassVar[bool] = False
    erases: ClassVar[bool] = False
    finer: ClassVar[float] = 0.0
    parts: ClassVar[int] = 1
    worth: ClassVar[int] = 1
    substitute: ClassVar[str] = "DOP853"

    @property
    def symbol(self) -> str:
        """Name of its function."""
        return self.name.replace("-", "_")

    @abstractmethod
    def text(self, shape: StepShape) -> str:
        """Assembly of ``symbol``; ``integrators.Stepping`` has its arguments; it calls the functions of the kind."""

    @abstractmethod
    def work(self, shape: StepShape) -> int:
        """Doubles of work space; what is in it is kept and resumed."""

    def extra(self, layout: StateLayout) -> int:
        """Doubles behind x that it keeps with the state."""
        return 0

    def begin(self, layout: StateLayout, extra: Floats, slope: Floats) -> None:  # noqa: B027
        """Fill in what is behind x, at a state with its slope, after equations or state have jumped."""

    def carry(  # noqa: B027
        self, layout: StateLayout, before: Floats, extra: Floats, turned: Callable[[Floats], Floats]
    ) -> None:
        """Take over what was behind x into other coordinates, in which ``turned`` gives accelerations."""

    def errors(self, layout: StateLayout, extra: Floats) -> Floats | None:
        """The largest error of each coordinate so far, if it carries errors along; else None."""
        return None

    def forget(self, stepped: Stepped) -> None:  # noqa: B027
        """Nothing is known of the motion before: the equations or the state have jumped."""

    def renew(self, stepped: Stepped, clock: Floats, x: Floats) -> None:
        """Find what the status ``STALE`` asks for."""
        raise NotImplementedError


def steps_code(stepper: Stepper, shape: StepShape) -> jit.LoadedCode:
    """The machine code of steps; the source of the engine and what is given here decide it."""
    parts: list[Any] = ["steps", stepper.name, *shape]
    outside = not type(stepper).__module__.startswith("pliant.")
    if outside:
        parts.append(hashlib.sha256(stepper.text(shape).encode()).hexdigest())

    def make() -> tuple[dict[str, Any], str]:
        called = [
            _called_ir(name, place, function_arguments(stepper.kind, name, shape.layout))
            for place, name in enumerate(FUNCTIONS[stepper.kind])
        ]
        return {}, "".join([prelude([], jit.lanes()), *called, stepper.text(shape), ATTRIBUTES])

    return stored(tuple(parts), make)[1]


def _called_ir(name: str, place: int, given: Sequence[str]) -> str:
    """``name(context, ...)``: the function whose address is in the context."""
    w, arguments = Flow(), ", ".join(["ptr %context", *given])
    function = w.get("ptr", w.let(f"getelementptr inbounds i64, ptr %context, i64 {place}"))
    w.do(f"call void {function}({arguments})")
    return w.text(name, arguments, attributes="internal")


class Wanted(NamedTuple):
    """Times at which x is wanted, how many of them are written, and where."""

    grid: Floats
    following: NDArray[np.int64]
    samples: Floats

    @classmethod
    def at(cls, grid: Floats, states: int) -> Wanted:
        return cls(grid, np.zeros(1, dtype=np.int64), np.zeros((len(grid), states)))

    @property
    def found(self) -> Floats:
        return self.samples[: int(self.following[0])]


NOTHING = Wanted.at(np.zeros(0), 0)
"""No times at all."""


class StepsCall(NamedTuple):
    """A call of an integrator: where its code begins, its arrays, and rows of knots that a step has."""

    function: int
    context: NDArray[np.int64]
    clock: Floats
    x: Floats
    tolerance: Floats
    work: Floats
    knots: Floats
    wanted: Wanted
    coordinates: int
    per_step: int = 1

    def _arguments(self, knots: Floats, pause: int) -> list[int]:
        grid = self.wanted.grid
        arrays = (self.context, self.clock, self.x, self.tolerance, self.work, knots)
        samples = (self.wanted.following.ctypes.data, self.wanted.samples.ctypes.data)
        return [*(array.ctypes.data for array in arrays), pause, grid.ctypes.data, len(grid), *samples]

    def made(self, ticks: Ticks | None, size: float) -> tuple[Status, int]:
        """Make the call: why it came back, and how many rows of knots it wrote."""
        if ticks is None:
            before, pause = self.clock[Clock.STEPS], (len(self.knots) - 1) // self.per_step
            status = _STEPS(self.function)(*self._arguments(self.knots, pause))
            return Status(status), self.per_step * int(self.clock[Clock.STEPS] - before) + 1
        ticks.signals()
        ticks.numbers[[Entry.SIZE, Entry.ROWS]] = size, 0
        told = ticks.told((self.coordinates, self.knots.shape[1], self.per_step, len(self.x)))
        loop = _TICKED(ticking_code().address("ticked"))
        status = loop(told.ctypes.data, self.function, *self._arguments(self.knots, len(self.knots)))
        return Status(status), int(ticks.numbers[Entry.ROWS])


class Stepped:
    """An integrator at work on equations. Not shared between threads.

    work  its work space
    """

    def __init__(self, stepper: Stepper, equations: SteppedEquations) -> None:
        if stepper.kind != equations.kind:
            raise ValueError(f"{stepper.name} steps equations of the kind {stepper.kind!r}, not {equations.kind!r}")
        self.stepper, self.equations, self.shape = stepper, equations, equations.shape
        self.code, self.layout = steps_code(stepper, self.shape), equations.layout
        self.work = aligned(stepper.work(self.shape))
        stepper.forget(self)

    def steps(self, clock: Floats, x: Floats, tolerance: Floats, knots: Floats, wanted: Wanted = NOTHING) -> StepsCall:
        """A call that advances x in place until clock[END] or by as many steps as there are knots for.

        See ``integrators.Stepping`` for the arrays; numbers that the stepper keeps follow x.
        """
        function, n = self.code.address(self.stepper.symbol), self.layout.count
        context, parts = self.equations.context, self.stepper.parts
        return StepsCall(function, context, clock, x, tolerance, self.work, knots, wanted, n, parts)

    def advance(self, steps: StepsCall, ticking: Ticking | None = None) -> tuple[Status, int]:
        """Make a call: why it ended, and how many rows of knots it wrote.

        With a computer beside the run the time of a jump stands in two rows, with the slopes of either side.
        """
        ticks, size, written = None if ticking is None else ticking.ticks, 0.0 if ticking is None else ticking.size, 0
        if ticks is not None:
            ticks.make_room(len(steps.knots))
        self.equations.begin(steps.clock)
        while True:
            status, rows = steps._replace(knots=steps.knots[written:]).made(ticks, size)
            self.equations.end()
            written += rows
            if status is Status.STALE:
                self.stepper.renew(self, steps.clock, steps.x)
                self.equations.end()
                # its first row was written with a slope that is old
                written -= 1
            elif ticking is not None and status is Status.TICK:
                ticking.compute_due(steps.clock, steps.x)
                if len(steps.knots) - written <= steps.per_step:
                    return Status.PAUSED, written
            else:
                return status, written
