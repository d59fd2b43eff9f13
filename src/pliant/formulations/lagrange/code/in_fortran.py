"""The equations as a Fortran module (2003, free form) without dependencies: subroutines that fill arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from pliant.engine.compile.statements import Writing, stumpff_polynomial
from pliant.formulations.lagrange.code.traced_equations import (
    BIAS,
    FIXED,
    EquationFunction,
    EquationLanguage,
    TracedEquations,
    code_name,
    distinct,
    every_name,
    fixed_constants,
    headings,
)
from pliant.spatial.scalars import STUMPFF_FAR, stumpff_beyond

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations

LONGEST_NAME, LONGEST_LINE = 50, 120


def number(x: float) -> str:
    """A number of double precision."""
    mantissa, e, exponent = repr(float(x)).partition("e")
    return f"{mantissa}d{exponent if e else 0}"


class InFortran(EquationLanguage):
    """A module with subroutines mass_matrix(q, p, out) and so on; letters of either size are the same."""

    name, ending = "fortran", ".f90"
    writing = Writing(number)

    def names(self, eq: Equations) -> dict[str, str]:
        """Names that differ in more than the size of their letters; q, v, p and out are the arguments."""
        reserved = {"q", "v", "p", "out"}
        return distinct(every_name(eq), lambda name: f"{name}_" if name in reserved else name[:LONGEST_NAME])

    def text(self, eq: Equations) -> str:
        """The whole file."""
        traced = TracedEquations.of(eq)
        every = list(traced.functions())
        functions = [line for function in every for line in self._function(traced, function)]
        special = [line for k in traced.orders for line in _entire(k)]
        name = code_name(eq.robot)[:LONGEST_NAME]
        n = len(eq.coordinates)
        lines = [*(f"! {line}".rstrip() for line in headings(eq, 1)), "!"]
        lines += ["! Entries of p in their order:"]
        lines += [f"! p({i})  {c.name} ({c.unit or '-'}): {c.meaning}" for i, c in enumerate(eq.parameters, 1)]
        if fixed := fixed_constants(eq):
            lines += [f"! {line}" for line in FIXED]
            lines += [f"! {c.name} ({c.unit or '-'}): {c.meaning}" for c in fixed]
        lines += [f"module {name}", "implicit none", "private"]
        lines += ["integer, parameter :: dp = kind(1.0d0)"]
        lines += [f"integer, parameter, public :: n = {n}, inputs = {len(eq.inputs)}"]
        values = [number(c.value) for c in eq.parameters] or [number(0.0)]
        lines += [f"real(dp), parameter, public :: parameters({len(values)}) = [ &"]
        lines += [f"  {value}{', &' if i < len(values) - 1 else ' ]'}" for i, value in enumerate(values)]
        lines += [f"public :: {', '.join((*(function.name for function in every), 'bias'))}", "contains", ""]
        lines += [*special, *functions, *_BIAS, f"end module {name}", ""]
        return "\n".join(part for line in lines for part in _broken(line))

    def _function(self, traced: TracedEquations, function: EquationFunction) -> list[str]:
        written = traced.written(function, self)
        arguments = ", ".join((*function.needs, "p", "out"))
        sizes = {"q": "n", "v": "n", "p": "*"}
        columns = len(function.rows[0]) if function.rows else 0
        shape = f"{len(function.rows)}" if function.is_vector else f"{len(function.rows)}, {columns}"
        out = [f"! The {function.text}.", f"subroutine {function.name}({arguments})"]
        out += [f"  real(dp), intent(in) :: {x}({sizes[x]})" for x in (*function.needs, "p")]
        out += [f"  real(dp), intent(out) :: out({shape})"]
        locals_ = [name for _, _, name in written.inputs]
        locals_ += [name for name, _ in (*written.fixed, *written.assignments)]
        out += [f"  real(dp) :: {name}" for name in locals_]
        out += [f"  {name} = {letter}({i + 1})" for letter, i, name in written.inputs]
        out += [f"  {name} = {value}" for name, value in (*written.fixed, *written.assignments)]
        place: Callable[[int, int], str] = lambda i, k: f"{i + 1}" if function.is_vector else f"{i + 1}, {k + 1}"  # noqa: E731
        out += [f"  out({place(i, k)}) = {x}" for i, row in enumerate(written.rows) for k, x in enumerate(row)]
        return [*out, f"end subroutine {function.name}", ""]


_BIAS = f"""! {BIAS[0].upper()}{BIAS[1:]}.
subroutine bias(q, v, p, out)
  real(dp), intent(in) :: q(n)
  real(dp), intent(in) :: v(n)
  real(dp), intent(in) :: p(*)
  real(dp), intent(out) :: out(n)
  real(dp) :: D(n, n)
  call coriolis(q, v, p, D)
  call forces(q, v, p, out)
  out = out + matmul(D, v)
end subroutine bias
""".splitlines()


def _entire(k: int) -> list[str]:
    """The function c_k of a squared angle."""
    return [
        f"pure function stumpff{k}(s) result(c)",
        "  real(dp), intent(in) :: s",
        "  real(dp) :: c",
        f"  if (s > {number(STUMPFF_FAR)}) then",
        f"    c = {_double(stumpff_beyond(k))}",
        "  else",
        f"    c = {_double(stumpff_polynomial(k))}",
        "  end if",
        f"end function stumpff{k}",
        "",
    ]


def _double(text: str) -> str:
    """An expression whose numbers have double precision."""
    return re.sub(r"(?<![\w.])\d+\.\d*(?:e[+-]?\d+)?", lambda found: number(float(found[0])), text)


def _broken(line: str) -> list[str]:
    """A line in parts that are not too long, the next ones after an ampersand."""
    if len(line) <= LONGEST_LINE or line.lstrip().startswith("!"):
        return [line]
    out = []
    while len(line) > LONGEST_LINE:
        end = line.rfind(" ", 8, LONGEST_LINE - 2)
        end = end if end > 0 else line.rfind("*", 8, LONGEST_LINE - 2)
        out.append(f"{line[:end]} &")
        line = f"    {line[end:].lstrip()}"
    return [*out, line]
