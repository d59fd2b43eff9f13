"""The equations for Mathematica: functions of q, v and an association of parameters; exact numbers stay numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.engine.compile.statements import Writing
from pliant.engine.trace.tape import STUMPFF
from pliant.formulations.lagrange.code.traced_equations import (
    BIAS,
    FIXED,
    EquationFunction,
    EquationLanguage,
    TracedEquations,
    distinct,
    every_name,
    fixed_constants,
    headings,
)

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations

FUNCTIONS = {"cos": "Cos", "sin": "Sin", "sqrt": "Sqrt", "tanh": "Tanh"}
CALLED = {
    "mass_matrix": "massMatrix", "coriolis": "coriolisMatrix", "gravity": "gravityForces", "forces": "otherForces",
    "stiffness": "stiffnessMatrix", "damping": "dampingMatrix", "input_matrix": "inputMatrix",
    "closure": "closureGap", "closure_jacobian": "closureJacobian", "closure_bias": "closureBias",
}  # fmt: skip


def number(x: float) -> str:
    """A decimal as Mathematica reads it."""
    mantissa, e, exponent = repr(float(x)).partition("e")
    return f"{mantissa}*^{int(exponent)}" if e else mantissa


def call(function: str, arguments: list[str]) -> str:
    """A call with square brackets."""
    if function.startswith(STUMPFF):
        return f"stumpff[{function.removeprefix(STUMPFF)}, {arguments[0]}]"
    return f"{FUNCTIONS[function]}[{', '.join(arguments)}]"


class InMathematica(EquationLanguage):
    """Definitions in a package file; an underscore would be a pattern, so that m_2_1 is m2n1."""

    name, ending = "mathematica", ".wl"
    writing = Writing(number, call)

    def names(self, eq: Equations) -> dict[str, str]:
        """Names without underscores."""
        return distinct(every_name(eq), _plain_name)

    def variable(self, k: int) -> str:
        """The name of a variable."""
        return f"x{k}"

    def text(self, eq: Equations) -> str:
        """The whole file."""
        traced, names = TracedEquations.of(eq), self.names(eq)
        functions = ["\n".join(self._function(traced, function)) for function in traced.functions()]
        lines = [*(f"(* {line} *)" if line else "" for line in headings(eq, 1)), "", "parameters = <|"]
        parameters = eq.parameters
        lines += [
            f'  "{names[c.name]}" -> {number(c.value)}{"," if i < len(parameters) - 1 else ""} '
            f"(* {c.unit or '-'}, {c.meaning} *)"
            for i, c in enumerate(parameters)
        ]
        lines.append("|>;")
        if fixed := fixed_constants(eq):
            lines += [f"(* {line} *)" for line in FIXED]
            lines += [f"(* {names[c.name]} = {c.value!r} {c.unit}, {c.meaning} *)" for c in fixed]
        special = [_STUMPFF] if traced.orders else []
        return "\n\n".join(["\n".join(lines), *special, *functions, _BIAS]) + "\n"

    def _function(self, traced: TracedEquations, function: EquationFunction) -> list[str]:
        written = traced.written(function, self)
        arguments = ", ".join((*(f"{x}_List" for x in function.needs), "p_: parameters"))
        body = []
        for letter, i, name in written.inputs:
            body.append(f'  {name} = p["{name}"];' if letter == "p" else f"  {name} = {letter}[[{i + 1}]];")
        body += [f"  {name} = {value};" for name, value in (*written.fixed, *written.assignments)]
        variables = [line.partition(" = ")[0].strip() for line in body]
        rows = [row[0] if function.is_vector else f"{{{', '.join(row)}}}" for row in written.rows]
        head = f"{CALLED[function.name]}[{arguments}] := Module[{{{', '.join(variables)}}},"
        return [f"(* The {function.text}. *)", head, *body, f"  {{{', '.join(rows)}}}", "];"]


_BIAS = f"""(* {BIAS[0].upper()}{BIAS[1:]}. *)
bias[q_List, v_List, p_: parameters] := otherForces[q, v, p] + coriolisMatrix[q, v, p] . v;"""

_STUMPFF = """(* c_k(s) of a squared angle s: 1/k! - s/(k+2)! + ... *)
stumpff[k_Integer, s_] := Sum[(-s)^n/(2 n + k)!, {n, 0, 12}] /; s <= 20.25;
stumpff[0, s_] := Cos[Sqrt[s]];
stumpff[1, s_] := Sin[Sqrt[s]]/Sqrt[s];
stumpff[k_Integer, s_] := (1/(k - 2)! - stumpff[k - 2, s])/s;"""


def _plain_name(name: str) -> str:
    """m_2_1 as m2n1, theta_1_dot as theta1Dot."""
    first, *rest = name.split("_")
    out = first
    for k, word in enumerate(rest):
        out += word if k == 0 and word.isdigit() else f"n{word}" if word[:1].isdigit() else word[:1].upper() + word[1:]
    return out if len(out) > 1 or out.islower() else f"{out}0"
