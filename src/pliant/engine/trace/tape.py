"""The tape: a straight line of scalar operations, traced from plain Python code.

Tracing folds constants, removes 0 and +-1, pulls signs out and shares equal subexpressions, so that the structural
zeros of a robot cost nothing. Everything else (operation counts, LLVM, C, NumPy, listings) is a replay of the tape.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from pliant.spatial.scalars import Scalar

BINARY = ("+", "-", "*", "/")
LEAVES = ("constant", "symbol")
FUNCTIONS = ("sin", "cos", "sqrt", "tanh", "exp", "log", "floor", "atan2")
"""Functions that languages have themselves; ``atan2`` takes two numbers."""
PIECEWISE = ("ramp", "step")
"""max(x, 0) and its slope, 1 where x is positive and else 0: limits and stops of drives."""
FROZEN = "frozen"
"""A value that counts as constant in derivatives: an iteration's start, of which its end does not depend."""
STUMPFF = "stumpff"
"""Operations c_k are named stumpff4, stumpff5, ..."""


class Tape:
    """Operations in order; entry i is (op, a, b) with a, b earlier entries, a constant's value or a symbol's name."""

    __slots__ = ("a", "b", "nodes", "op", "reciprocals", "seen")

    def __init__(self) -> None:
        self.op: list[str] = []
        self.a: list[Any] = []
        self.b: list[int] = []
        self.nodes: list[Node] = []
        self.seen: dict[tuple[str, Any, int], Node] = {}
        self.reciprocals: dict[int, Node] = {}

    def record(self, op: str, a: Any, b: int = -1) -> Node:
        """The node of an operation, new or already there."""
        key = (op, a, b)
        node = self.seen.get(key)
        if node is None:
            node = Node(self, len(self.op))
            self.op.append(op)
            self.a.append(a)
            self.b.append(b)
            self.nodes.append(node)
            self.seen[key] = node
        return node

    def constant(self, value: float) -> Node:
        return self.record("constant", float(value))

    def symbol(self, name: Any) -> Node:
        """An input; the name is any hashable that tells the back end where to find it."""
        return self.record("symbol", name)


class Node:
    """A traced scalar."""

    __slots__ = ("index", "tape")

    def __init__(self, tape: Tape, index: int) -> None:
        self.tape = tape
        self.index = index

    def __repr__(self) -> str:
        return f"Node({self.index}: {self.tape.op[self.index]})"

    def __add__(self, other: Scalar) -> Scalar:
        return _add(self, other)

    def __radd__(self, other: Scalar) -> Scalar:
        return _add(other, self)

    def __sub__(self, other: Scalar) -> Scalar:
        return _subtract(self, other)

    def __rsub__(self, other: Scalar) -> Scalar:
        return _subtract(other, self)

    def __mul__(self, other: Scalar) -> Scalar:
        return _multiply(self, other)

    def __rmul__(self, other: Scalar) -> Scalar:
        # most entries of large arrays are zeros
        return 0.0 if type(other) is float and other == 0 else _multiply(other, self)

    def __truediv__(self, other: Scalar) -> Scalar:
        return _divide(self, other)

    def __rtruediv__(self, other: Scalar) -> Scalar:
        return _divide(other, self)

    def __neg__(self) -> Scalar:
        return _negate(self)

    def signed(self) -> tuple[Node, float]:
        """The node without its sign, and the sign."""
        inner = _negated(self)
        return (self, 1.0) if inner is None else (inner, -1.0)

    def sin(self) -> Scalar:
        inner = _negated(self)
        return self.tape.record("sin", self.index) if inner is None else -inner.sin()

    def cos(self) -> Scalar:
        inner = _negated(self)
        return self.tape.record("cos", (self if inner is None else inner).index)

    def sqrt(self) -> Scalar:
        return self.tape.record("sqrt", self.index)

    def tanh(self) -> Scalar:
        inner = _negated(self)
        return self.tape.record("tanh", self.index) if inner is None else -inner.tanh()

    def exp(self) -> Scalar:
        return self.tape.record("exp", self.index)

    def log(self) -> Scalar:
        return self.tape.record("log", self.index)

    def ramp(self) -> Scalar:
        return self.tape.record("ramp", self.index)

    def step(self) -> Scalar:
        return self.tape.record("step", self.index)

    def floor(self) -> Scalar:
        return self.tape.record("floor", self.index)

    def atan2(self, x: Scalar) -> Scalar:
        """The angle of the vector (x, self)."""
        return self.tape.record("atan2", self.index, _lift(x, self.tape).index)

    def angle_of(self, y: float) -> Scalar:
        """The angle of the vector (self, y)."""
        return self.tape.constant(y).atan2(self)

    def frozen(self) -> Scalar:
        return self.tape.record(FROZEN, self.index)

    def stumpff(self, k: int) -> Scalar:
        return self.tape.record(f"{STUMPFF}{k}", self.index)


def _negated(x: Node) -> Node | None:
    """y where x is -y, else None."""
    tape = x.tape
    return tape.nodes[tape.a[x.index]] if tape.op[x.index] == "negate" else None


def _negate(x: Scalar) -> Scalar:
    if type(x) is not Node:
        return -x
    inner = _negated(x)
    return x.tape.record("negate", x.index) if inner is None else inner


def _lift(x: Scalar, tape: Tape) -> Node:
    return x if type(x) is Node else tape.constant(x)


def _add(x: Scalar, y: Scalar) -> Scalar:
    if type(x) is not Node and x == 0:
        return y
    if type(y) is not Node and y == 0:
        return x
    tape = x.tape if type(x) is Node else y.tape
    x, y = _lift(x, tape), _lift(y, tape)
    minus_x, minus_y = _negated(x), _negated(y)
    if minus_x is not None and minus_y is not None:
        return _negate(_add(minus_x, minus_y))
    if minus_x is not None:
        return _subtract(y, minus_x)
    if minus_y is not None:
        return _subtract(x, minus_y)
    i, j = sorted((x.index, y.index))
    return tape.record("+", i, j)


def _subtract(x: Scalar, y: Scalar) -> Scalar:
    if type(y) is not Node and y == 0:
        return x
    if type(x) is not Node and x == 0:
        return _negate(y)
    tape = x.tape if type(x) is Node else y.tape
    x, y = _lift(x, tape), _lift(y, tape)
    if x is y:
        return 0.0
    minus_x, minus_y = _negated(x), _negated(y)
    if minus_y is not None:
        return _subtract(minus_y, minus_x) if minus_x is not None else _add(x, minus_y)
    if minus_x is not None:
        return _negate(_add(minus_x, y))
    # a - b is stored once: b - a is its negative
    opposite = tape.seen.get(("-", y.index, x.index))
    return tape.record("-", x.index, y.index) if opposite is None else _negate(opposite)


def _multiply(x: Scalar, y: Scalar) -> Scalar:
    if type(x) is not Node:
        x, y = y, x
    if type(y) is not Node:
        return _multiply_constant(float(y), x)
    tape = x.tape
    minus_x, minus_y = _negated(x), _negated(y)
    if minus_x is not None or minus_y is not None:
        out = _multiply(minus_x or x, minus_y or y)
        return out if minus_x is not None and minus_y is not None else _negate(out)
    if tape.reciprocals:
        for factor, other in ((x, y), (y, x)):
            cancelled = _without_reciprocal(other, factor)
            if cancelled is not None:
                return cancelled
    i, j = sorted((x.index, y.index))
    return tape.record("*", i, j)


def _without_reciprocal(y: Node, x: Node) -> Scalar | None:
    """z where y is z (1/x), or 1 where y is 1/x; else None."""
    tape = y.tape
    inverse = tape.reciprocals.get(x.index)
    if inverse is None:
        return None
    if y is inverse:
        return 1.0
    if tape.op[y.index] == "*" and inverse.index in (tape.a[y.index], tape.b[y.index]):
        other = tape.b[y.index] if tape.a[y.index] == inverse.index else tape.a[y.index]
        return tape.nodes[other]
    return None


def _multiply_constant(k: float, x: Node) -> Scalar:
    if k == 0:
        return 0.0
    if k == 1:
        return x
    if k < 0:
        return _negate(_multiply_constant(-k, x))
    tape = x.tape
    inner = _negated(x)
    if inner is not None:
        return _negate(_multiply_constant(k, inner))
    if tape.op[x.index] == "*" and tape.op[tape.a[x.index]] == "constant":
        return _multiply_constant(k * tape.a[tape.a[x.index]], tape.nodes[tape.b[x.index]])
    if tape.op[x.index] == "+" and tape.a[x.index] == tape.b[x.index]:
        return _multiply_constant(2.0 * k, tape.nodes[tape.a[x.index]])
    # a sum is never dearer than a product
    return _add(x, x) if k == 2 else tape.record("*", tape.constant(k).index, x.index)


def _divide(x: Scalar, y: Scalar) -> Scalar:
    if type(y) is not Node:
        return _multiply(x, 1.0 / y)
    if type(x) is not Node and x == 0:
        return 0.0
    tape = y.tape
    x = _lift(x, tape)
    minus_x, minus_y = _negated(x), _negated(y)
    above, below = (minus_x or x).index, (minus_y or y).index
    out = tape.record("/", above, below)
    if tape.op[above] == "constant" and tape.a[above] == 1:
        tape.reciprocals[below] = out
    return out if (minus_x is None) == (minus_y is None) else _negate(out)


def live(outputs: Iterable[Scalar], given: Container[int] = ()) -> list[int]:
    """Entries that the outputs need, in order; what the given entries need is not followed."""
    nodes = [x for x in outputs if type(x) is Node]
    if not nodes:
        return []
    tape = nodes[0].tape
    op, first, second = tape.op, tape.a, tape.b
    last = max(x.index for x in nodes)
    marked = bytearray(last + 1)
    for x in nodes:
        marked[x.index] = 1
    # what an entry needs stands before it
    for i in range(last, -1, -1):
        if marked[i] and op[i] not in LEAVES and i not in given:
            marked[first[i]] = 1
            if second[i] >= 0:
                marked[second[i]] = 1
    return list(compress(range(last + 1), marked))


@dataclass(frozen=True, slots=True)
class Operations:
    """Operation counts of one evaluation."""

    additions: int = 0
    multiplications: int = 0
    divisions: int = 0
    functions: int = 0
    variables: int = 0

    @property
    def total(self) -> int:
        """Additions, multiplications and divisions."""
        return self.additions + self.multiplications + self.divisions

    def __add__(self, other: Operations) -> Operations:
        return Operations(
            self.additions + other.additions,
            self.multiplications + other.multiplications,
            self.divisions + other.divisions,
            self.functions + other.functions,
            self.variables + other.variables,
        )

    def __str__(self) -> str:
        return (
            f"{self.multiplications} multiplications, {self.additions} additions, {self.divisions} divisions, "
            f"{self.functions} function calls (sine, cosine, ...), {self.variables} intermediate variables"
        )


def count(outputs: Sequence[Scalar]) -> Operations:
    """Operations that the outputs need; a change of sign is free, as in the published counts."""
    nodes = [x for x in outputs if type(x) is Node]
    if not nodes:
        return Operations()
    tape = nodes[0].tape
    counts = dict.fromkeys(("add", "mul", "div", "fun"), 0)
    for i in live(nodes):
        op = tape.op[i]
        if op in "+-":
            counts["add"] += 1
        elif op == "*":
            counts["mul"] += 1
        elif op == "/":
            counts["div"] += 1
        elif op in FUNCTIONS or op in PIECEWISE or op.startswith(STUMPFF):
            counts["fun"] += 1
    return Operations(counts["add"], counts["mul"], counts["div"], counts["fun"], sum(counts.values()))


def tangents(outputs: Sequence[Scalar], seeds: dict[int, Scalar]) -> list[Scalar]:
    """Forward derivatives of the outputs; ``seeds`` maps entries of the tape to their given derivatives."""
    nodes = [x for x in outputs if type(x) is Node]
    if not nodes:
        return [0.0] * len(outputs)
    tape = nodes[0].tape
    d: dict[int, Scalar] = {}
    for i in live(nodes):
        if i in seeds:
            d[i] = seeds[i]
            continue
        op = tape.op[i]
        if op in LEAVES:
            d[i] = 0.0
            continue
        a, da, x = tape.nodes[tape.a[i]], d[tape.a[i]], tape.nodes[i]
        if op in BINARY:
            b, db = tape.nodes[tape.b[i]], d[tape.b[i]]
            if op == "+":
                d[i] = da + db
            elif op == "-":
                d[i] = da - db
            elif op == "*":
                d[i] = _scaled(a, db) + _scaled(b, da)
            elif _is_zero(da) and _is_zero(db):
                d[i] = 0.0
            else:
                # reciprocals are shared: d(a/b) = (da - (a/b) db) (1/b)
                d[i] = (da - _scaled(x, db)) * (1.0 / b)
        elif op == "atan2":
            b, db = tape.nodes[tape.b[i]], d[tape.b[i]]
            turned = _scaled(b, da) - _scaled(a, db)
            d[i] = 0.0 if _is_zero(turned) else turned / (a * a + b * b)
        elif _is_zero(da):
            d[i] = 0.0
        elif op == "negate":
            d[i] = -da
        elif op == "sin":
            d[i] = a.cos() * da
        elif op == "cos":
            d[i] = -(a.sin() * da)
        elif op == "sqrt":
            d[i] = (0.5 / x) * da
        elif op == "tanh":
            d[i] = (1.0 - x * x) * da
        elif op == "exp":
            d[i] = x * da
        elif op == "log":
            d[i] = da / a
        elif op == "ramp":
            d[i] = a.step() * da
        elif op in ("step", "floor", FROZEN):
            d[i] = 0.0
        else:
            k = int(op[len(STUMPFF) :])
            d[i] = (0.5 * (k * a.stumpff(k + 2) - a.stumpff(k + 1))) * da
    return [d[x.index] if type(x) is Node else 0.0 for x in outputs]


def _is_zero(x: Scalar) -> bool:
    return type(x) is not Node and x == 0


def _scaled(x: Node, dx: Scalar) -> Scalar:
    """x dx without a product where dx is structurally zero; a constant x stays a plain number."""
    if _is_zero(dx):
        return 0.0
    tape = x.tape
    return (tape.a[x.index] if tape.op[x.index] == "constant" else x) * dx
