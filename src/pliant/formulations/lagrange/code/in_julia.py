"""The equations as a Julia module without dependencies: functions of q, v and a named tuple of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.engine.compile.statements import stumpff_polynomial
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
from pliant.spatial.scalars import STUMPFF_FAR, stumpff_beyond

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations


class InJulia(EquationLanguage):
    """A module; other parameters are ``merge(PARAMETERS, (m_1 = 2.0,))``."""

    name, ending = "julia", ".jl"

    def text(self, eq: Equations) -> str:
        """The whole file."""
        traced = TracedEquations.of(eq)
        functions = list(traced.functions())
        written = ["\n".join(self._function(traced, function)) for function in functions]
        name = code_name(eq.robot)
        lines = [*(f"# {line}".rstrip() for line in headings(eq, 1)), f"module {name[0].upper()}{name[1:]}", ""]
        lines += [f"export PARAMETERS, {', '.join(function.name for function in functions)}, bias", ""]
        lines += ["const PARAMETERS = (;"]
        lines += [f"    {c.name} = {c.value!r},  # {c.unit or '-'}, {c.meaning}" for c in eq.parameters]
        lines.append(")")
        if fixed := fixed_constants(eq):
            lines += ["", *(f"# {line}" for line in FIXED)]
            lines += [f"# {c.name} = {c.value!r} {c.unit}, {c.meaning}" for c in fixed]
        special = ["\n".join(_entire(k)) for k in traced.orders]
        return "\n\n".join(["\n".join(lines), *special, *written, _BIAS, "end\n"])

    def _function(self, traced: TracedEquations, function: EquationFunction) -> list[str]:
        written = traced.written(function, self)
        arguments = ", ".join((*function.needs, "p = PARAMETERS"))
        out = [f'"The {function.text}."', f"function {function.name}({arguments})"]
        for letter, i, name in written.inputs:
            out.append(f"    {name} = p.{name}" if letter == "p" else f"    {name} = {letter}[{i + 1}]")
        out += [f"    {name} = {value}" for name, value in (*written.fixed, *written.assignments)]
        if function.is_vector:
            return [*out, f"    return [{', '.join(row[0] for row in written.rows)}]", "end"]
        columns = len(function.rows[0]) if function.rows else 0
        if not columns:
            return [*out, f"    return zeros({len(function.rows)}, 0)", "end"]
        # column by column, as Julia keeps them
        entries = ", ".join(written.rows[i][k] for k in range(columns) for i in range(len(written.rows)))
        return [*out, f"    return reshape([{entries}], {len(function.rows)}, {columns})", "end"]


_BIAS = f'''"{BIAS[0].upper()}{BIAS[1:]}."
function bias(q, v, p = PARAMETERS)
    return forces(q, v, p) + coriolis(q, v, p) * v
end'''


def _entire(k: int) -> list[str]:
    """The function c_k of a squared angle."""
    return [
        f"function stumpff{k}(s)",
        f"    if s > {STUMPFF_FAR!r}",
        f"        return {stumpff_beyond(k)}",
        "    end",
        f"    return {stumpff_polynomial(k)}",
        "end",
    ]
