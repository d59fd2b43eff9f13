"""Signals that a user writes as text: numbers, or expressions in the time t such as ``5*sin(2*pi*t)``.

The text is read by the safe language of the mode shapes and never handed to Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from pliant.model.errors import ModelError, show
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


def _sum(a: Function, b: Function, sign: float) -> Function:
    return lambda t: a(t) + sign * b(t)


def _product(a: Function, b: Function) -> Function:
    return lambda t: a(t) * b(t)


def _raised(a: Function, p: float) -> Function:
    # of a negative number there is no broken power; the operator would give a complex one
    return lambda t: math.pow(a(t), p)


def _negated(a: Function) -> Function:
    return lambda t: -a(t)


def _called(name: str, a: Function) -> Function:
    f = FUNCTIONS[name]
    return lambda t: f(a(t))


def _value(node: Function) -> float:
    try:
        return float(node(0.0))
    except (ArithmeticError, ValueError):
        return math.nan


TIME = Language(
    variables={"t": lambda t: t},
    functions=tuple(FUNCTIONS),
    number=lambda value: lambda t: value,
    sum=_sum,
    product=_product,
    raised=_raised,
    negated=_negated,
    called=_called,
    value=_value,
)


@lru_cache(maxsize=1024)
def parse_signal(text: str) -> Function:
    """A function of time from an expression; raises ExpressionError."""
    node: Function = parse_node(text, TIME)

    def value(t: float) -> float:
        try:
            found = node(t)
        except (ArithmeticError, ValueError) as error:
            raise ModelError(f"'{text}' has no value at t = {t:.6g} s: {error}") from None
        if not math.isfinite(found):
            raise ModelError(f"'{text}' has no value at t = {t:.6g} s: it is {found}")
        return found

    return value


def signal(given: float | str) -> Function:
    """A function of time from what the user gave: a number or an expression."""
    if isinstance(given, str):
        return parse_signal(given)
    constant = float(given)
    return lambda t: constant


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
