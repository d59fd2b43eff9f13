"""Signals that a user writes as text: numbers, or expressions in the time t such as ``5*sin(2*pi*t)``.

The text is read by the safe language of the mode shapes and never handed to Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from pliant.errors import ModelError, show
from pliant.model.expressions import ExpressionError, Language, parse_node
from pliant.model.units import Quantity

Function = Callable[[float], float]

FUNCTIONS: dict[str, Function] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "abs": abs,
    "sign": lambda u: math.copysign(1.0, u) if u else 0.0,
    "step": lambda u: 1.0 if u >= 0 else 0.0,
}


KINKED = ("abs", "sign", "step")
"""Functions that are not smooth where their argument is zero."""


class _Node(NamedTuple):
    """A part of an expression.

    f       its value at a time
    line    its slope and its value at t = 0 where it is linear in time, else None
    breaks  times at which it has a jump or a kink: zeros of linear arguments of functions that are not smooth there
    """

    f: Function
    line: tuple[float, float] | None
    breaks: frozenset[float]


def _sum(a: _Node, b: _Node, sign: float) -> _Node:
    f, g = a.f, b.f
    line = (a.line[0] + sign * b.line[0], a.line[1] + sign * b.line[1]) if a.line and b.line else None
    return _Node(lambda t: f(t) + sign * g(t), line, a.breaks | b.breaks)


def _product(a: _Node, b: _Node) -> _Node:
    f, g, line = a.f, b.f, None
    for one, other in ((a, b), (b, a)):
        if one.line and other.line and not one.line[0]:
            line = (one.line[1] * other.line[0], one.line[1] * other.line[1])
    return _Node(lambda t: f(t) * g(t), line, a.breaks | b.breaks)


def _raised(a: _Node, p: float) -> _Node:
    f = a.f
    # of a negative number there is no broken power; the operator would give a complex one
    return _Node(lambda t: math.pow(f(t), p), _constant_line(a, lambda x: math.pow(x, p)), a.breaks)


def _negated(a: _Node) -> _Node:
    f = a.f
    return _Node(lambda t: -f(t), a.line and (-a.line[0], -a.line[1]), a.breaks)


def _called(name: str, a: _Node) -> _Node:
    f, g, breaks = FUNCTIONS[name], a.f, a.breaks
    if name in KINKED and a.line and a.line[0]:
        breaks |= {-a.line[1] / a.line[0]}
    return _Node(lambda t: f(g(t)), _constant_line(a, f), breaks)


def _constant_line(a: _Node, f: Function) -> tuple[float, float] | None:
    """The line of f(a) where a is a constant that f has a value for."""
    if not a.line or a.line[0]:
        return None
    try:
        return 0.0, f(a.line[1])
    except (ArithmeticError, ValueError):
        return None


def _value(node: _Node) -> float:
    try:
        return float(node.f(0.0))
    except (ArithmeticError, ValueError):
        return math.nan


TIME = Language(
    variables={"t": _Node(lambda t: t, (1.0, 0.0), frozenset())},
    functions=tuple(FUNCTIONS),
    number=lambda value: _Node(lambda t: value, (0.0, value), frozenset()),
    sum=_sum,
    product=_product,
    raised=_raised,
    negated=_negated,
    called=_called,
    value=_value,
)


@dataclass(frozen=True, slots=True)
class Signal:
    """A function of time, times at which it is known to have jumps or kinks, and its value if it never changes."""

    value: Function
    text: str = ""
    breaks: tuple[float, ...] = ()
    constant: float | None = None

    def __call__(self, t: float) -> float:
        try:
            found = self.value(t)
        except (ArithmeticError, ValueError) as error:
            raise ModelError(f"'{self.text}' has no value at t = {t:.6g} s: {error}") from None
        if not math.isfinite(found):
            raise ModelError(f"'{self.text}' has no value at t = {t:.6g} s: it is {found}")
        return found

    def many(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Its values at several times."""
        if self.constant is not None:
            return np.full(len(times), self.constant)
        return np.array([self(t) for t in times.tolist()], dtype=float)


@lru_cache(maxsize=1024)
def parse_signal(text: str) -> Signal:
    """A function of time from an expression; raises ExpressionError."""
    node: _Node = parse_node(text, TIME)
    return Signal(node.f, text, tuple(sorted(t for t in node.breaks if 0 < t < math.inf)))


def signal(given: float | str) -> Signal:
    """A function of time from what the user gave: a number or an expression."""
    if isinstance(given, str):
        return parse_signal(given)
    constant = float(given)
    return Signal(lambda t: constant, constant=constant)


class SignalForm:
    """The reading of a signal: a number (with a unit in files), or an expression in t."""

    parse: Callable[[str], Any] = staticmethod(parse_signal)

    def __init__(self, unit: str, *, sliding: str | None = None) -> None:
        self.number = Quantity(unit, sliding=sliding)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(lambda value, info: self.read(value, info.context))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, {"type": "string", "examples": ["5*sin(2*pi*t)"]}]}

    def read(self, value: Any, context: Any) -> float | str:
        """The SI number or the text of the expression; raises a PydanticCustomError."""
        if not isinstance(value, str):
            return self.number.read(value, context)
        try:
            return self.number.read(value, context)
        except PydanticCustomError as as_number:
            try:
                self.parse(value)
            except ExpressionError as error:
                # '5 mN' is a number with a wrong unit, '5*sin(q)' a wrong expression
                if " " in value.strip() and not any(sign in value for sign in "*(^"):
                    raise as_number from None
                raise PydanticCustomError(
                    "value", "is {given}, which cannot be read: {why}", {"given": show(value), "why": str(error)}
                ) from None
            return value


ForceSignal = Annotated[float | str, SignalForm("N")]
MomentSignal = Annotated[float | str, SignalForm("N m")]
EffortSignal = SignalForm("N m", sliding="N")
