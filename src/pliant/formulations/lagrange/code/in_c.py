"""The equations as a C99 file without dependencies: functions of arrays q, v, parameters p; matrices row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.engine.compile.languages import LANGUAGES
from pliant.formulations.lagrange.code.traced_equations import (
    BIAS,
    FIXED,
    EquationFunction,
    EquationLanguage,
    TracedEquations,
    code_name,
    fixed_constants,
    headings,
)

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations


class InC(EquationLanguage):
    """Functions NAME_mass_matrix(q, p, out) and so on."""

    name, ending = "c", ".c"

    def text(self, eq: Equations) -> str:
        """The whole file."""
        prefix, traced = code_name(eq.robot), TracedEquations.of(eq)
        functions = [self._function(traced, prefix, function) for function in traced.functions()]
        special = ["\n".join(LANGUAGES["c"].entire(k)).rstrip() for k in traced.orders]
        return "\n\n".join([self._head(eq, prefix), *special, *functions, _bias(prefix, len(eq.coordinates))]) + "\n"

    def _head(self, eq: Equations, prefix: str) -> str:
        n, k = len(eq.coordinates), len(eq.parameters)
        first, *rest = headings(eq)
        lines = [f"/* {first}", *(f" * {line}".rstrip() for line in rest)]
        lines += [" *", " * Matrices are filled row by row; nothing is allocated and nothing is kept. */", ""]
        lines += ["#include <math.h>", "", f"enum {{ {prefix}_size = {n}, {prefix}_inputs = {len(eq.inputs)} }};", ""]
        lines.append(f"const double {prefix}_parameters[{max(k, 1)}] = {{")
        lines += [
            f"    {c.value!r}, /* p[{i}] {c.name} ({c.unit or '-'}): {c.meaning} */"
            for i, c in enumerate(eq.parameters)
        ]
        lines.append("    0.0\n};" if not k else "};")
        if fixed := fixed_constants(eq):
            meanings = (f" * {c.name} ({c.unit or '-'}): {c.meaning}" for c in fixed)
            lines += ["", f"/* {' '.join(FIXED)}", *meanings, " */"]
        return "\n".join(lines)

    def _function(self, traced: TracedEquations, prefix: str, function: EquationFunction) -> str:
        written = traced.written(function, self)
        arguments = [f"const double *{x}" for x in (*function.needs, "p")] + ["double *out"]
        lines = [f"/* The {function.text}. */", f"void {prefix}_{function.name}({', '.join(arguments)})", "{"]
        body = [f"const double {name} = {letter}[{i}];" for letter, i, name in written.inputs]
        body += [f"const double {name} = {value};" for name, value in (*written.fixed, *written.assignments)]
        entries = [x for row in written.rows for x in row]
        body += [f"out[{i}] = {x};" for i, x in enumerate(entries)] or ["(void)out;"]
        body += [f"(void){x};" for x in (*function.needs, "p") if x not in written.letters()]
        return "\n".join([*lines, *(f"    {line}" for line in body), "}"])


def _bias(prefix: str, n: int) -> str:
    return f"""/* {BIAS[0].upper()}{BIAS[1:]}. */
void {prefix}_bias(const double *q, const double *v, const double *p, double *out)
{{
    double D[{n * n}];
    {prefix}_coriolis(q, v, p, D);
    {prefix}_forces(q, v, p, out);
    for (int i = 0; i < {n}; i++)
        for (int k = 0; k < {n}; k++)
            out[i] += D[{n} * i + k] * v[k];
}}"""
