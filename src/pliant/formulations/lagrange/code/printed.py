"""The equations as code: a Python module and a C file that depend on nothing, and functions for use right here.

Entries are evaluated on a tape, which finds what they have in common, and written by the house's one printer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.engine.compile.languages import LANGUAGES
from pliant.engine.compile.statements import statements
from pliant.engine.trace.tape import STUMPFF, Node, Tape
from pliant.formulations.lagrange.algebra.symbols import identifier
from pliant.formulations.lagrange.typesetting.expression import Sum, evaluate
from pliant.spatial.scalars import Scalar, tanh
from pliant.spatial.vectors import add, dot, times

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations

Floats = NDArray[np.float64]


FIXED = (
    "No parameters: the integrals over the shapes of links that bend were taken with these values.",
    "For other ones change the robot and derive its equations anew.",
)


@dataclass(frozen=True, slots=True)
class _Function:
    """One function to write: its name, what it takes (q, v or neither), its rows, and what it is."""

    name: str
    needs: tuple[str, ...]
    rows: list[list[Scalar]]
    text: str

    @property
    def is_vector(self) -> bool:
        return self.name in ("gravity", "forces")


@dataclass(slots=True)
class _Traced:
    """The equations on a tape; abbreviations are computed where they are first needed, and keep their names."""

    eq: Equations
    short: dict[str, Sum]
    tape: Tape = field(default_factory=Tape)
    known: dict[str, Scalar] = field(default_factory=dict)
    named: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, eq: Equations) -> Self:
        """The tape of some equations, still empty."""
        defined = {c.name: s for c, s in eq.defined(written=False)}
        return cls(eq, defined | {a.name: s for a, s in eq.abbreviations(named=True)})

    def value(self, name: str) -> Scalar:
        """A symbol, or the deflection or slope that an abbreviation stands for."""
        if name not in self.known and name not in self.short:
            self.known[name] = self.tape.symbol(name)
        elif name not in self.known:
            found = self.known[name] = evaluate(self.short[name], self.value)
            if isinstance(found, Node):
                self.named[found.index] = name
        return self.known[name]

    def functions(self) -> Iterator[_Function]:
        """All functions of the equations."""
        eq, system = self.eq, self.eq.system
        writer = eq.writer(expanded=False, named=True)

        def matrix(rows: Sequence[Sequence[Any]]) -> list[list[Scalar]]:
            return [[evaluate(writer.entry(x), self.value) for x in row] for row in rows]

        def vector(entries: Sequence[Any]) -> list[Scalar]:
            return [evaluate(writer.entry(x), self.value) for x in entries]

        D = [[evaluate(writer.velocity_entry(x, eq.rates), self.value) for x in row] for row in system.christoffel]
        U, F, G = matrix(system.U), matrix(system.F), vector(system.G)
        q, v = ([self.value(name) for name in names] for names in _state(eq))
        rest = add(times(F, v), times(U, q), vector(system.preload), G, self._friction(v))
        yield _Function("mass_matrix", ("q",), matrix(system.M), "inertia matrix M(q)")
        yield _Function("coriolis", ("q", "v"), D, "Coriolis and centrifugal matrix D(q, v); dM/dt - 2 D is skew")
        yield _Function("gravity", ("q",), [[x] for x in G], "forces of gravity G(q)")
        yield _Function("forces", ("q", "v"), [[x] for x in rest], "forces U q + F v + preload + G + friction")
        yield _Function("stiffness", (), U, "stiffness U of links and springs")
        yield _Function("damping", (), F, "damping F of links and joints")
        yield _Function("input_matrix", (), matrix(system.B), "input matrix B: generalised forces are B tau")

    def _friction(self, v: list[Scalar]) -> list[Scalar]:
        """Smoothed dry friction of the joints."""
        writer, place = (
            self.eq.writer(expanded=False, named=True),
            {q: i for i, q in enumerate(self.eq.system.coordinates)},
        )
        out: list[Scalar] = [0.0] * len(v)
        for drive in self.eq.system.friction:
            row = {place[q]: evaluate(writer.entry(weight), self.value) for weight, q in drive.row}
            coulomb, smoothing = (evaluate(writer.entry(x), self.value) for x in (drive.coulomb, drive.smoothing))
            rate = dot(list(row.values()), [v[i] for i in row])
            for i, weight in row.items():
                out[i] = out[i] + weight * coulomb * tanh(rate / smoothing)
        return out

    def written(self, function: _Function) -> tuple[list[tuple[str, str]], list[list[str]], set[str]]:
        """Assignments, the entries in terms of them, and the symbols that are needed before."""
        needed: set[str] = set()

        def symbol(name: str) -> str:
            needed.add(name)
            return name

        results = [x for row in function.rows for x in row]
        found, texts = statements(self.tape, results, symbol, name=self._variables())
        width = len(function.rows[0]) if function.rows else 0
        rows = [texts[i * width : (i + 1) * width] for i in range(len(function.rows))]
        return [(each.name, each.expression) for each in found], rows, needed

    def _variables(self) -> Callable[[int], str]:
        """Names of variables: those of abbreviations, else x_0, x_1, ... that no symbol has."""
        eq = self.eq
        taken = {c.name for c in eq.constants} | {x for names in _state(eq) for x in names} | {*self.named.values()}
        free = (name for k in range(1 << 60) if (name := f"x_{k}") not in taken)
        return lambda i: self.named.get(i) or next(free)

    @property
    def orders(self) -> list[int]:
        """Entire functions c_k of a squared angle that are called."""
        return sorted({int(op.removeprefix(STUMPFF)) for op in self.tape.op if op.startswith(STUMPFF)})


def _state(eq: Equations) -> tuple[list[str], list[str]]:
    """Names of the coordinates and of their rates."""
    return [c.name for c in eq.coordinates], [c.rate for c in eq.coordinates]


# ---------------------------------------------------------------- Python


def to_python(eq: Equations) -> str:
    """A Python module without dependencies: functions of q, v and a mapping of parameters."""
    traced = _Traced.of(eq)
    functions = [_python_function(traced, function) for function in traced.functions()]
    special = ["\n".join(LANGUAGES["python"].entire(k)).rstrip() for k in traced.orders]
    return "\n\n\n".join([_python_head(eq), *special, *functions, _PYTHON_BIAS]) + "\n"


_PYTHON_KNOWN = '''def _known(p):
    """The parameters p, none of which may be unknown: it would change nothing."""
    if p is not PARAMETERS and (foreign := sorted(set(p) - set(PARAMETERS))):
        raise KeyError(f"{', '.join(foreign)}: no parameter of these equations; for other values derive them anew")
    return p'''

_PYTHON_BIAS = '''def bias(q, v, p=PARAMETERS):
    """Everything on the left-hand side but M a: D v + U q + F v + preload + G + friction."""
    return [f + sum(d * r for d, r in zip(row, v)) for f, row in zip(forces(q, v, p), coriolis(q, v, p))]'''


def _python_head(eq: Equations) -> str:
    lines = [f'"""Equations of motion of {_plain(eq.robot)} in closed form, written by `pliant derive`.', ""]
    lines += ["M(q) a + D(q, v) v + U q + F v + preload + G(q) + friction = B tau, SI units.", ""]
    if eq.scope:
        lines += [*map(_plain, eq.scope), ""]
    lines += [f"q[{i}]  {c.name:<12} {c.robot_name} ({c.unit})" for i, c in enumerate(eq.coordinates)]
    lines += [f"tau[{i}]  {name}" for i, name in enumerate(eq.inputs)]
    lines += ['"""', "", "from math import cos, sin, sqrt, tanh  # noqa: F401", ""]
    lines.append("PARAMETERS = {")
    lines += [f'    "{c.name}": {c.value!r},  # {c.unit or "-"}, {c.meaning}' for c in eq.parameters]
    lines.append("}")
    if fixed := [c for c in eq.constants if c.bound]:
        lines += ["", *(f"# {line}" for line in FIXED)]
        lines += [f"{c.name} = {c.value!r}  # {c.unit or '-'}, {c.meaning}" for c in fixed]
    return "\n".join([*lines, "", "", _PYTHON_KNOWN])


def _python_function(traced: _Traced, function: _Function) -> str:
    eq, style = traced.eq, LANGUAGES["python"]
    assignments, rows, needed = traced.written(function)
    arguments = ", ".join((*function.needs, "p=PARAMETERS"))
    lines = [f"def {function.name}({arguments}):", f'    """The {function.text}."""']
    body = [
        style.assign(name, style.element(letter, i))
        for letter, names in zip("qv", _state(eq), strict=True)
        for i, name in enumerate(names)
        if name in needed
    ]
    body += ["p = _known(p)", *(style.assign(c.name, f'p["{c.name}"]') for c in eq.parameters if c.name in needed)]
    body += [style.assign(name, value) for name, value in assignments]
    entries = [row[0] if function.is_vector else f"[{', '.join(row)}]" for row in rows]
    body += ["return [", *(f"    {entry}," for entry in entries), "]"]
    return "\n".join([*lines, *(f"    {line}" for line in body)])


# ---------------------------------------------------------------- C


def to_c(eq: Equations) -> str:
    """A C99 file without dependencies: functions of arrays q, v, parameters p; matrices row by row."""
    prefix, traced = _prefix(eq.robot), _Traced.of(eq)
    functions = [_c_function(traced, prefix, function) for function in traced.functions()]
    special = ["\n".join(LANGUAGES["c"].entire(k)).rstrip() for k in traced.orders]
    return "\n\n".join([_c_head(eq, prefix), *special, *functions, _c_bias(prefix, len(eq.coordinates))]) + "\n"


def _c_head(eq: Equations, prefix: str) -> str:
    n, k = len(eq.coordinates), len(eq.parameters)
    lines = [f"/* Equations of motion of {_plain(eq.robot)} in closed form, written by `pliant derive`.", " *"]
    lines += [" * M(q) a + D(q, v) v + U q + F v + preload + G(q) + friction = B tau, SI units.", " *"]
    if eq.scope:
        lines += [*(f" * {_plain(line)}" for line in eq.scope), " *"]
    lines += [f" * q[{i}]  {c.name}: {c.robot_name} ({c.unit})" for i, c in enumerate(eq.coordinates)]
    lines += [f" * tau[{i}]  {name}" for i, name in enumerate(eq.inputs)]
    lines += [" *", " * Matrices are filled row by row; nothing is allocated and nothing is kept. */", ""]
    lines += ["#include <math.h>", "", f"enum {{ {prefix}_size = {n}, {prefix}_inputs = {len(eq.inputs)} }};", ""]
    lines.append(f"const double {prefix}_parameters[{max(k, 1)}] = {{")
    lines += [
        f"    {c.value!r}, /* p[{i}] {c.name} ({c.unit or '-'}): {c.meaning} */" for i, c in enumerate(eq.parameters)
    ]
    lines.append("    0.0\n};" if not k else "};")
    if fixed := [c for c in eq.constants if c.bound]:
        lines += ["", f"/* {' '.join(FIXED)}", *(f" * {c.name} ({c.unit or '-'}): {c.meaning}" for c in fixed), " */"]
    return "\n".join(lines)


def _c_function(traced: _Traced, prefix: str, function: _Function) -> str:
    eq, style = traced.eq, LANGUAGES["c"]
    assignments, rows, needed = traced.written(function)
    arguments = [f"const double *{x}" for x in (*function.needs, "p")] + ["double *out"]
    lines = [f"/* The {function.text}. */", f"void {prefix}_{function.name}({', '.join(arguments)})", "{"]
    places = [*zip("qv", _state(eq), strict=True), ("p", [c.name for c in eq.parameters])]
    body, used = [], set()
    for letter, names in places:
        own = [(i, name) for i, name in enumerate(names) if name in needed]
        body += [style.assign(name, style.element(letter, i)) for i, name in own]
        used |= {letter} if own else set()
    body += [style.assign(c.name, repr(c.value)) for c in eq.constants if c.bound and c.name in needed]
    body += [style.assign(name, value) for name, value in assignments]
    body += [style.result("out", i, x) for i, x in enumerate(x for row in rows for x in row)] or ["(void)out;"]
    body += [f"(void){x};" for x in (*function.needs, "p") if x not in used]
    return "\n".join([*lines, *(f"    {line}" for line in body), "}"])


def _c_bias(prefix: str, n: int) -> str:
    return f"""/* Everything on the left-hand side but M a: D v + U q + F v + preload + G + friction. */
void {prefix}_bias(const double *q, const double *v, const double *p, double *out)
{{
    double D[{n * n}];
    {prefix}_coriolis(q, v, p, D);
    {prefix}_forces(q, v, p, out);
    for (int i = 0; i < {n}; i++)
        for (int k = 0; k < {n}; k++)
            out[i] += D[{n} * i + k] * v[k];
}}"""


def _prefix(name: str) -> str:
    text = identifier(name)
    return text if text[:1].isalpha() else f"robot_{text}"


def _plain(text: str) -> str:
    """Text that can stand in a comment and in a docstring."""
    return text.replace("*/", "* /").replace("\\", "/").replace('"', "'")


# ---------------------------------------------------------------- functions for use right here


class EquationFunctions:
    """The generated Python functions on NumPy arrays, with the values of the equations' constants."""

    def __init__(self, equations: Equations) -> None:
        self.source = to_python(equations)
        self.size, self.inputs = len(equations.coordinates), len(equations.inputs)
        self._module: dict[str, Any] = {}
        exec(compile(self.source, f"<equations of {equations.robot}>", "exec"), self._module)

    def mass_matrix(self, q: ArrayLike) -> Floats:
        """M (n, n)"""
        return self._array("mass_matrix", (self.size, self.size), q)

    def coriolis(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """D (n, n)"""
        return self._array("coriolis", (self.size, self.size), q, v)

    def gravity(self, q: ArrayLike) -> Floats:
        """G (n,)"""
        return self._array("gravity", (self.size,), q)

    def bias(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """Everything on the left-hand side but M a (n,)"""
        return self._array("bias", (self.size,), q, v)

    @property
    def stiffness(self) -> Floats:
        """U (n, n)"""
        return self._array("stiffness", (self.size, self.size))

    @property
    def damping(self) -> Floats:
        """F (n, n)"""
        return self._array("damping", (self.size, self.size))

    @property
    def B(self) -> Floats:
        """Input matrix (n, inputs)"""
        return self._array("input_matrix", (self.size, self.inputs))

    def _array(self, name: str, shape: tuple[int, ...], *arguments: ArrayLike) -> Floats:
        lists = [np.asarray(x, dtype=float).tolist() for x in arguments]
        return np.array(self._module[name](*lists), dtype=float).reshape(shape)
