"""The equations as a MATLAB (or Octave) function file: handles of local functions and the parameters in a structure."""

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


class InMatlab(EquationLanguage):
    """A function that returns the parameters and a handle of each function."""

    name, ending = "matlab", ".m"

    def text(self, eq: Equations) -> str:
        """The whole file."""
        traced = TracedEquations.of(eq)
        functions = list(traced.functions())
        written = ["\n".join(self._function(traced, function)) for function in functions]
        name = code_name(eq.robot)
        lines = [f"function eq = {name}()", *(f"% {line}".rstrip() for line in headings(eq, 1)), "%"]
        lines += [f"% eq = {name}(); M = eq.mass_matrix(q, eq.parameters)"]
        lines += [f"eq.parameters.{c.name} = {c.value!r};  % {c.unit or '-'}, {c.meaning}" for c in eq.parameters] or [
            "eq.parameters = struct();"
        ]
        if fixed := fixed_constants(eq):
            lines += [f"% {line}" for line in FIXED]
            lines += [f"% {c.name} = {c.value!r} {c.unit}, {c.meaning}" for c in fixed]
        lines += [f"eq.{function.name} = @{function.name};" for function in functions]
        lines += ["eq.bias = @bias;", "end"]
        special = ["\n".join(LANGUAGES["matlab"].entire(k)).strip() for k in traced.orders]
        return "\n\n".join(["\n".join(lines), *written, _BIAS, *special]) + "\n"

    def _function(self, traced: TracedEquations, function: EquationFunction) -> list[str]:
        written = traced.written(function, self)
        columns = len(function.rows[0]) if function.rows else 0
        out = [f"function out = {function.name}({', '.join((*function.needs, 'p'))})", f"% The {function.text}."]
        for letter, i, name in written.inputs:
            out.append(f"{name} = p.{name};" if letter == "p" else f"{name} = {letter}({i + 1});")
        out += [f"{name} = {value};" for name, value in (*written.fixed, *written.assignments)]
        out.append(f"out = zeros({len(function.rows)}, {columns});")
        for i, row in enumerate(written.rows):
            out += [f"out({i + 1}, {k + 1}) = {x};" for k, x in enumerate(row)]
        return [*out, "end"]


_BIAS = f"""function out = bias(q, v, p)
% {BIAS[0].upper()}{BIAS[1:]}.
out = forces(q, v, p) + coriolis(q, v, p)*v(:);
end"""
