"""The equations as code: a Python module and a C file that depend on nothing, and functions for use right here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.formulations.lagrange.algebra.symbols import identifier
from pliant.formulations.lagrange.algebra.turning_sections import ORDERS
from pliant.formulations.lagrange.typesetting.expression import to_sympy
from pliant.spatial.scalars import STUMPFF_FAR, stumpff_beyond, stumpff_coefficients

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations

Floats = NDArray[np.float64]


LARGEST_POWER = 8
"""Powers up to this are written as products in C."""


FIXED = (
    "No parameters: the integrals over the shapes of links that bend were taken with these values.",
    "For other ones change the robot and derive its equations anew.",
)


@dataclass(frozen=True, slots=True)
class _Function:
    """One generated function: its name, what it takes (q, v or neither), its rows, and what it is."""

    name: str
    needs: tuple[str, ...]
    rows: list[list[Any]]
    text: str

    @property
    def is_vector(self) -> bool:
        return self.name in ("gravity", "forces")


def _functions(eq: Equations) -> Iterator[_Function]:
    """All functions of the equations; abbreviations stay symbols and are computed first."""
    writer = eq.writer(expanded=False)
    system = eq.system

    def matrix(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
        return [[to_sympy(writer.entry(x)) for x in row] for row in rows]

    D = [[to_sympy(writer.velocity_entry(x, eq.rates)) for x in row] for row in system.christoffel]
    G = [to_sympy(writer.entry(x)) for x in system.G]
    U, F = matrix(system.U), matrix(system.F)
    preload, friction = [to_sympy(writer.entry(x)) for x in system.preload], list(eq.friction)
    rest = [
        sum(f * r for f, r in zip(F[i], eq.v, strict=True))
        + sum(u * x for u, x in zip(U[i], eq.q, strict=True))
        + preload[i]
        + G[i]
        + friction[i]
        for i in range(len(G))
    ]
    yield _Function("mass_matrix", ("q",), matrix(system.M), "inertia matrix M(q)")
    yield _Function("coriolis", ("q", "v"), D, "Coriolis and centrifugal matrix D(q, v); dM/dt - 2 D is skew")
    yield _Function("gravity", ("q",), [[x] for x in G], "forces of gravity G(q)")
    yield _Function("forces", ("q", "v"), [[x] for x in rest], "forces U q + F v + preload + G + friction")
    yield _Function("stiffness", (), U, "stiffness U of links and springs")
    yield _Function("damping", (), F, "damping F of links and joints")
    yield _Function("input_matrix", (), matrix(system.B), "input matrix B: generalised forces are B tau")


def _statements(eq: Equations, function: _Function) -> tuple[list[tuple[Any, Any]], list[list[Any]], set[str]]:
    """Common subexpressions, the entries in terms of them, and the names that are needed before."""
    import sympy

    entries = [x for row in function.rows for x in row]
    short = {to_sympy_symbol(a.name): to_sympy(s) for a, s in eq.abbreviations()}
    used = set().union(*(x.free_symbols for x in entries)) if entries else set()
    first = [(symbol, value) for symbol, value in short.items() if symbol in used]
    temporaries = sympy.numbered_symbols("x_", exclude=used)
    shared, results = sympy.cse([value for _, value in first] + entries, symbols=temporaries)
    # the abbreviations are outputs of the search too: put them where their parts are known
    results = list(results)
    values = dict(zip((symbol for symbol, _ in first), results[: len(first)], strict=True))
    ordered = _in_order([*shared, *values.items()])
    flat = results[len(first) :]
    width = len(function.rows[0]) if function.rows else 0
    rows = [flat[i * width : (i + 1) * width] for i in range(len(function.rows))]
    defined = {symbol for symbol, _ in ordered}
    free = set().union(*(x.free_symbols for x in [*flat, *(value for _, value in ordered)])) if entries else set()
    return ordered, rows, {str(s) for s in free - defined}


def _in_order(assignments: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Assignments sorted so that each uses only what stands above it."""
    from graphlib import TopologicalSorter

    values = dict(assignments)
    place = {symbol: i for i, symbol in enumerate(values)}
    graph = {s: sorted((f for f in x.free_symbols if f in values), key=place.__getitem__) for s, x in values.items()}
    return [(symbol, values[symbol]) for symbol in TopologicalSorter(graph).static_order()]


def to_sympy_symbol(name: str) -> Any:
    """A plain SymPy symbol."""
    import sympy

    return sympy.Symbol(name)


# ---------------------------------------------------------------- Python


def to_python(eq: Equations) -> str:
    """A Python module without dependencies: functions of q, v and a mapping of parameters."""
    from sympy.printing.pycode import PythonCodePrinter

    settings = {"fully_qualified_modules": False, "allow_unknown_functions": True, "order": "none"}
    printer = PythonCodePrinter(settings)
    blocks = [_python_head(eq)]
    special = False
    for function in _functions(eq):
        ordered, rows, needed = _statements(eq, function)
        special = special or _has_special([*(x for _, x in ordered), *(x for row in rows for x in row)])
        blocks.append(_python_function(eq, function, ordered, rows, needed, printer))
    if special:
        blocks.insert(1, _python_special())
    blocks.append(_PYTHON_BIAS)
    return "\n\n\n".join(blocks) + "\n"


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


def _python_function(
    eq: Equations,
    function: _Function,
    ordered: list[tuple[Any, Any]],
    rows: list[list[Any]],
    needed: set[str],
    printer: Any,
) -> str:
    arguments = ", ".join((*function.needs, "p=PARAMETERS"))
    lines = [f"def {function.name}({arguments}):", f'    """The {function.text}."""']
    for letter, names in (("q", [c.name for c in eq.coordinates]), ("v", [c.rate for c in eq.coordinates])):
        lines += [f"    {name} = {letter}[{i}]" for i, name in enumerate(names) if name in needed]
    own = [c.name for c in eq.parameters if c.name in needed]
    lines += ["    p = _known(p)", *(f'    {name} = p["{name}"]' for name in own)]
    lines += [f"    {symbol} = {printer.doprint(value)}" for symbol, value in ordered]
    text = [[printer.doprint(x) for x in row] for row in rows]
    if function.is_vector:
        lines += ["    return [", *(f"        {row[0]}," for row in text), "    ]"]
    else:
        lines += ["    return [", *(f"        [{', '.join(row)}]," for row in text), "    ]"]
    return "\n".join(lines)


def _python_special() -> str:
    lines = ["def _series(s, coefficients):", "    value = 0.0", "    for c in reversed(coefficients):"]
    lines += ["        value = value * s + c", "    return value"]
    for k in ORDERS:
        lines += ["", "", f"def c{k}(s):", f'    """sum of (-s)^n/(2 n + {k})!"""']
        lines += [f"    if s > {STUMPFF_FAR!r}:", f"        return {stumpff_beyond(k)}"]
        lines += [f"    return _series(s, {list(stumpff_coefficients(k))})"]
    lines += ["", "", "def cayley(s):", '    """4/(4 + s)"""', "    return 4.0 / (4.0 + s)"]
    return "\n".join(lines)


def _has_special(expressions: Sequence[Any]) -> bool:
    from sympy.core.function import Function

    return any(type(f).__name__ not in ("cos", "sin", "tanh") for x in expressions for f in x.atoms(Function))


# ---------------------------------------------------------------- C


def to_c(eq: Equations) -> str:
    """A C99 file without dependencies: functions of arrays q, v, parameters p; matrices row by row."""
    from sympy.codegen.rewriting import create_expand_pow_optimization
    from sympy.printing.c import C99CodePrinter

    names = [f"c{k}" for k in ORDERS] + ["cayley"]
    prefix = _prefix(eq.robot)
    functions = {name: f"{prefix}_{name}" for name in names}
    printer = C99CodePrinter({"user_functions": functions, "order": "none"})
    # products instead of calls of pow
    multiplied = create_expand_pow_optimization(LARGEST_POWER)
    blocks = []
    special = False
    for function in _functions(eq):
        ordered, rows, needed = _statements(eq, function)
        special = special or _has_special([*(x for _, x in ordered), *(x for row in rows for x in row)])
        ordered = [(symbol, multiplied(x)) for symbol, x in ordered]
        rows = [[multiplied(x) for x in row] for row in rows]
        blocks.append(_c_function(eq, prefix, function, ordered, rows, needed, printer))
    head = [_c_head(eq, prefix)]
    if special:
        head.append(_c_special(prefix))
    return "\n\n".join([*head, *blocks, _c_bias(prefix, len(eq.coordinates))]) + "\n"


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


def _c_function(
    eq: Equations, prefix: str, function: _Function, ordered: list[tuple[Any, Any]], rows: list[list[Any]],
    needed: set[str], printer: Any,
) -> str:  # fmt: skip
    arguments = [f"const double *{x}" for x in (*function.needs, "p")] + ["double *out"]
    lines = [f"/* The {function.text}. */", f"void {prefix}_{function.name}({', '.join(arguments)})", "{"]
    for letter, names in (("q", [c.name for c in eq.coordinates]), ("v", [c.rate for c in eq.coordinates])):
        lines += [f"    const double {name} = {letter}[{i}];" for i, name in enumerate(names) if name in needed]
    lines += [f"    const double {c.name} = {c.value!r};" for c in eq.constants if c.bound and c.name in needed]
    own = [(i, c.name) for i, c in enumerate(eq.parameters) if c.name in needed]
    lines += [f"    const double {name} = p[{i}];" for i, name in own] or ["    (void)p;"]
    lines += [f"    const double {symbol} = {printer.doprint(value)};" for symbol, value in ordered]
    flat = [x for row in rows for x in row]
    lines += [f"    out[{i}] = {printer.doprint(x)};" for i, x in enumerate(flat)] or ["    (void)out;"]
    for x in function.needs:
        names = [c.name if x == "q" else c.rate for c in eq.coordinates]
        if not needed.intersection(names):
            lines.append(f"    (void){x};")
    return "\n".join([*lines, "}"])


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


def _c_special(prefix: str) -> str:
    blocks = [
        f"static double {prefix}_series(double s, const double *c, int n)\n{{\n"
        "    double value = 0.0;\n    while (n-- > 0)\n        value = value * s + c[n];\n    return value;\n}"
    ]
    for k in ORDERS:
        c = stumpff_coefficients(k)
        blocks.append(
            f"/* sum of (-s)^n/(2 n + {k})! */\nstatic double {prefix}_c{k}(double s)\n{{\n"
            f"    static const double c[] = {{{', '.join(map(repr, c))}}};\n"
            f"    if (s > {STUMPFF_FAR!r})\n        return {stumpff_beyond(k)};\n"
            f"    return {prefix}_series(s, c, {len(c)});\n}}"
        )
    blocks.append(f"static double {prefix}_cayley(double s)\n{{\n    return 4.0 / (4.0 + s);\n}}")
    return "\n\n".join(blocks)


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
