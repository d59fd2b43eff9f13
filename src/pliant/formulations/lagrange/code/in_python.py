"""The equations as a Python module without dependencies: functions of q, v and a mapping of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.engine.compile.languages import LANGUAGES
from pliant.formulations.lagrange.code.traced_equations import (
    BIAS,
    FIXED,
    EquationFunction,
    EquationLanguage,
    TracedEquations,
    fixed_constants,
    headings,
)

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations

_KNOWN = '''def _known(p):
    """The parameters p, none of which may be unknown: it would change nothing."""
    if p is not PARAMETERS and (foreign := sorted(set(p) - set(PARAMETERS))):
        raise KeyError(f"{', '.join(foreign)}: no parameter of these equations; for other values derive them anew")
    return p'''

_BIAS = f'''def bias(q, v, p=PARAMETERS):
    """{BIAS[0].upper()}{BIAS[1:]}."""
    return [f + sum(d * r for d, r in zip(row, v)) for f, row in zip(forces(q, v, p), coriolis(q, v, p))]'''


class InPython(EquationLanguage):
    """A module of plain functions on lists."""

    name, ending = "python", ".py"

    def text(self, eq: Equations) -> str:
        """The whole file."""
        traced = TracedEquations.of(eq)
        functions = [self._function(traced, function) for function in traced.functions()]
        special = ["\n".join(LANGUAGES["python"].entire(k)).rstrip() for k in traced.orders]
        return "\n\n\n".join([self._head(eq), *special, *functions, _BIAS]) + "\n"

    def _head(self, eq: Equations) -> str:
        first, *rest = headings(eq)
        lines = [f'"""{first}', *rest, '"""', "", "from math import cos, sin, sqrt, tanh  # noqa: F401", ""]
        lines.append("PARAMETERS = {")
        lines += [f'    "{c.name}": {c.value!r},  # {c.unit or "-"}, {c.meaning}' for c in eq.parameters]
        lines.append("}")
        if fixed := fixed_constants(eq):
            lines += ["", *(f"# {line}" for line in FIXED)]
            lines += [f"{c.name} = {c.value!r}  # {c.unit or '-'}, {c.meaning}" for c in fixed]
        return "\n".join([*lines, "", "", _KNOWN])

    def _function(self, traced: TracedEquations, function: EquationFunction) -> str:
        written = traced.written(function, self)
        arguments = ", ".join((*function.needs, "p=PARAMETERS"))
        lines = [f"def {function.name}({arguments}):", f'    """The {function.text}."""']
        body = [f"{name} = {letter}[{i}]" for letter, i, name in written.inputs if letter != "p"]
        body += ["p = _known(p)"]
        body += [f'{name} = p["{name}"]' for letter, _, name in written.inputs if letter == "p"]
        body += [f"{name} = {value}" for name, value in written.assignments]
        entries = [row[0] if function.is_vector else f"[{', '.join(row)}]" for row in written.rows]
        body += ["return [", *(f"    {entry}," for entry in entries), "]"]
        return "\n".join([*lines, *(f"    {line}" for line in body)])
