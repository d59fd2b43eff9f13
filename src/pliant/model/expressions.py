"""Mode shapes that a user writes as text: a small safe language in x and L, with exact derivatives.

The text is parsed here, never handed to Python. A parsed expression returns its value and first three
derivatives with respect to x by truncated Taylor arithmetic: a jet holds the coefficients of t^0 ... t^3 of
f(x + t). Other readers (signals in t) bring a ``Language`` of their own: its variables and its arithmetic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import did_you_mean

Array = NDArray[np.float64]

LONGEST_TEXT = 500
DEEPEST_NESTING = 30
LARGEST_EXPONENT = 60
FACTORIALS = (1.0, 1.0, 2.0, 6.0)


class ExpressionError(ValueError):
    """An expression that cannot be read, with the place in its text."""

    def __init__(self, why: str, text: str, place: int) -> None:
        super().__init__(f"{why} (character {place + 1} of '{_shorten(text)}')")
        self.why, self.place = why, place


def _shorten(text: str) -> str:
    return text if len(text) <= LARGEST_EXPONENT else f"{text[:56]} ..."


# ---------------------------------------------------------------- jets


def _times(a: Array, b: Array) -> Array:
    return np.stack([sum((a[j] * b[k - j] for j in range(1, k + 1)), a[0] * b[k]) for k in range(4)])


def _compose(f: tuple[Array, Array, Array, Array], u: Array) -> Array:
    """The jet of f(u) from the derivatives of f at u[0] (Faa di Bruno to third order)."""
    f0, f1, f2, f3 = f
    return np.stack(
        [
            f0 + 0 * u[0],
            f1 * u[1],
            f1 * u[2] + f2 / 2 * u[1] ** 2,
            f1 * u[3] + f2 * u[1] * u[2] + f3 / 6 * u[1] ** 3,
        ]
    )


def _power(u: Array, p: float) -> Array:
    """u^p for a constant p; whole powers stay exact where u is zero."""
    if p == int(p) and p >= 0:
        result, square, n = _constant(1.0, u[0]), u, int(p)
        while n:
            if n & 1:
                result = _times(result, square)
            square, n = (_times(square, square), n >> 1) if n > 1 else (square, 0)
        return result
    falling = (1.0, p, p * (p - 1), p * (p - 1) * (p - 2))
    f0, f1, f2, f3 = (c * u[0] ** (p - k) for k, c in enumerate(falling))
    return _compose((f0, f1, f2, f3), u)


def _constant(value: float, like: Array) -> Array:
    jet = np.zeros((4, *np.shape(like)))
    jet[0] = value
    return jet


def _sin(u: Array) -> tuple[Array, Array, Array, Array]:
    s, c = np.sin(u), np.cos(u)
    return s, c, -s, -c


def _cos(u: Array) -> tuple[Array, Array, Array, Array]:
    s, c = np.sin(u), np.cos(u)
    return c, -s, -c, s


def _tan(u: Array) -> tuple[Array, Array, Array, Array]:
    t = np.tan(u)
    d = 1 + t * t
    return t, d, 2 * t * d, 2 * d * (1 + 3 * t * t)


def _tanh(u: Array) -> tuple[Array, Array, Array, Array]:
    t = np.tanh(u)
    d = 1 - t * t
    return t, d, -2 * t * d, d * (6 * t * t - 2)


def _exp(u: Array) -> tuple[Array, Array, Array, Array]:
    e = np.exp(u)
    return e, e, e, e


def _sinh(u: Array) -> tuple[Array, Array, Array, Array]:
    s, c = np.sinh(u), np.cosh(u)
    return s, c, s, c


def _cosh(u: Array) -> tuple[Array, Array, Array, Array]:
    s, c = np.sinh(u), np.cosh(u)
    return c, s, c, s


def _log(u: Array) -> tuple[Array, Array, Array, Array]:
    return np.log(u), 1 / u, -1 / u**2, 2 / u**3


FUNCTIONS: dict[str, Callable[[Array], tuple[Array, Array, Array, Array]]] = {
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "exp": _exp,
    "log": _log,
}


# ---------------------------------------------------------------- the tree of an expression

Node = Callable[[Array, float], Array]


def _number(value: float) -> Node:
    return lambda x, L: _constant(value, x)


def _variable(x: Array, L: float) -> Array:
    jet = _constant(0.0, x)
    jet[0], jet[1] = x, 1.0
    return jet


def _length(x: Array, L: float) -> Array:
    return _constant(L, x)


def _sum(a: Node, b: Node, sign: float) -> Node:
    return lambda x, L: a(x, L) + sign * b(x, L)


def _product(a: Node, b: Node) -> Node:
    return lambda x, L: _times(a(x, L), b(x, L))


def _raised(a: Node, p: float) -> Node:
    return lambda x, L: _power(a(x, L), p)


def _negated(a: Node) -> Node:
    return lambda x, L: -a(x, L)


def _called(name: str, a: Node) -> Node:
    if name == "sqrt":
        return _raised(a, 0.5)
    function = FUNCTIONS[name]

    def call(x: Array, L: float) -> Array:
        u = a(x, L)
        return _compose(function(u[0]), u)

    return call


@dataclass(frozen=True, slots=True)
class Language:
    """What an expression may name, and how its parts are put together into a node of any kind.

    variables  name -> node
    functions  names of one argument
    value      the number that a node without variables stands for
    """

    variables: Mapping[str, Any]
    functions: Collection[str]
    number: Callable[[float], Any]
    sum: Callable[[Any, Any, float], Any]
    product: Callable[[Any, Any], Any]
    raised: Callable[[Any, float], Any]
    negated: Callable[[Any], Any]
    called: Callable[[str, Any], Any]
    value: Callable[[Any], float]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.functions, "pi", *self.variables)


SHAPES = Language(
    variables={"x": _variable, "L": _length},
    functions=(*FUNCTIONS, "sqrt"),
    number=_number,
    sum=_sum,
    product=_product,
    raised=_raised,
    negated=_negated,
    called=_called,
    value=lambda node: float(node(np.zeros(()), 1.0)[0]),
)


_TOKEN = re.compile(r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|\S))")


@dataclass(frozen=True, slots=True)
class _Part:
    """A parsed part, and whether it contains a variable (an exponent must not)."""

    node: Any
    constant: bool


class _Parser:
    """Recursive descent: sums of products of signed powers of atoms."""

    def __init__(self, text: str, language: Language) -> None:
        self.text, self.language = text, language
        if len(text) > LONGEST_TEXT:
            self.fail(f"the expression is longer than {LONGEST_TEXT} characters", LONGEST_TEXT)
        self.tokens = [
            (match.lastgroup or "", match[match.lastgroup or 0], match.start(match.lastgroup or 0))
            for match in _TOKEN.finditer(text)
        ]
        self.next = self.depth = 0

    def fail(self, why: str, place: int | None = None) -> NoReturn:
        raise ExpressionError(why, self.text, self.peek()[2] if place is None else place)

    def peek(self) -> tuple[str, str, int]:
        return self.tokens[self.next] if self.next < len(self.tokens) else ("end", "", len(self.text))

    def take(self, *signs: str) -> str | None:
        kind, text, _ = self.peek()
        if kind == "sign" and text in signs:
            self.next += 1
            return text
        return None

    def whole(self) -> _Part:
        if not self.tokens:
            self.fail("the expression is empty")
        part = self.sum()
        kind, text, _ = self.peek()
        if kind in ("number", "name") or text == "(":
            x = next(iter(self.language.variables))
            self.fail(f"an operator is missing before '{text}'; write 2*{x} for 2 {x}")
        if kind != "end":
            names = ", ".join(self.language.variables)
            self.fail(f"'{text}' stands in the wrong place; only {names}, pi, numbers, functions and + - * / ^ ( )")
        return part

    def sum(self) -> _Part:
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            self.fail(f"the expression is nested more than {DEEPEST_NESTING} deep")
        part = self.product()
        while sign := self.take("+", "-"):
            other = self.product()
            node = self.language.sum(part.node, other.node, 1.0 if sign == "+" else -1.0)
            part = _Part(node, part.constant and other.constant)
        self.depth -= 1
        return part

    def product(self) -> _Part:
        part = self.signed()
        while sign := self.take("*", "/"):
            other = self.signed()
            factor = other.node if sign == "*" else self.language.raised(other.node, -1.0)
            part = _Part(self.language.product(part.node, factor), part.constant and other.constant)
        return part

    def signed(self) -> _Part:
        negative = False
        while sign := self.take("+", "-"):
            negative ^= sign == "-"
        part = self.power()
        return _Part(self.language.negated(part.node), part.constant) if negative else part

    def power(self) -> _Part:
        base = self.atom()
        if not self.take("^", "**"):
            return base
        place = self.peek()[2]
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            self.fail(f"the expression is nested more than {DEEPEST_NESTING} deep")
        exponent = self.signed()
        self.depth -= 1
        if not exponent.constant:
            self.fail("an exponent must be a plain number; write exp(a*log(b)) for b^a", place)
        with np.errstate(all="ignore"):
            p = self.language.value(exponent.node)
        if not abs(p) <= LARGEST_EXPONENT:
            self.fail(f"an exponent must lie between -{LARGEST_EXPONENT} and {LARGEST_EXPONENT}", place)
        return _Part(self.language.raised(base.node, p), base.constant)

    def atom(self) -> _Part:
        kind, text, place = self.peek()
        self.next += 1
        if kind == "number":
            return _Part(self.language.number(float(text)), True)
        if kind == "name":
            return self.named(text, place)
        if text == "(":
            part = self.sum()
            if not self.take(")"):
                self.fail("a ')' is missing")
            return part
        wanted = f"a number, {', '.join(self.language.variables)}, pi, a function or '(' must stand here"
        return self.fail(
            "the expression ends too early" if kind == "end" else f"'{text}' stands in the wrong place; {wanted}",
            place,
        )

    def named(self, name: str, place: int) -> _Part:
        language = self.language
        if name in language.variables:
            return _Part(language.variables[name], False)
        if name == "pi":
            return _Part(language.number(math.pi), True)
        if name not in language.functions:
            hint = did_you_mean(name, language.names) or f"; known names: {', '.join(language.names)}"
            self.fail(f"'{name[:30]}' is not known{hint}", place)
        if not self.take("("):
            self.fail(f"'{name}' needs an argument in parentheses")
        argument = self.sum()
        if not self.take(")"):
            self.fail("a ')' is missing")
        return _Part(language.called(name, argument.node), argument.constant)


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed mode shape f(x) with the parameter L."""

    text: str
    node: Node

    def __call__(self, x: ArrayLike, L: float) -> tuple[Array, Array, Array, Array]:
        """Value and first three derivatives with respect to x, each of the shape of x."""
        place = np.asarray(x, dtype=float)
        # overflow and division by zero show as values that are not finite
        with np.errstate(all="ignore"):
            jet = self.node(place, float(L))
            value, d1, d2, d3 = (
                factorial * coefficient for factorial, coefficient in zip(FACTORIALS, jet, strict=True)
            )
        return value, d1, d2, d3


@lru_cache(maxsize=1024)
def parse_expression(text: str) -> Expression:
    """Read an expression such as ``1 - cos(pi*x/(2*L))``; raises ExpressionError."""
    return Expression(text, parse_node(text, SHAPES))


def parse_node(text: str, language: Language) -> Any:
    """The node that a text stands for in a language; raises ExpressionError."""
    return _Parser(text, language).whole().node
