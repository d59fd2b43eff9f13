"""C99 from rolled programs: kernels in a loop over a table of the links, or one kernel for a whole robot.

The code allocates nothing, keeps nothing between calls and needs only <math.h>: inputs, outputs, parameters
and a workspace are arguments, so that any number of threads may run it. A program with seeds becomes
a function that fills a matrix, one unit direction of the seeded input at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pliant.engine.compile.statements import (
    Stage,
    Task,
    functions_used,
    is_whole,
    link_rows,
    stages,
    start_column,
    statements,
    stumpff_polynomial,
    stumpff_used,
)
from pliant.engine.trace.program import Address, Kernel, RolledProgram
from pliant.spatial.scalars import STUMPFF_FAR, stumpff_beyond

WIDTH = 100
"""Columns of tables and signatures."""

RESTRICT = "PLIANT_RESTRICT"
"""What C calls restrict; C++ has no word for it."""
RESTRICT_DEFINED = f"""#ifdef __cplusplus
#define {RESTRICT}
#else
#define {RESTRICT} restrict
#endif
"""

GRAVITY_SIZE = 3


class CFunction(NamedTuple):
    """A function with its tables and kernels, its prototype, the doubles of workspace that it needs, its name."""

    text: str
    prototype: str
    workspace: int
    name: str


def c_function(
    program: RolledProgram,
    name: str,
    inputs: Sequence[str],
    output: str,
    *,
    defaults: str,
    summed: bool = False,
    parameters: int = 0,
    private: bool = False,
) -> CFunction:
    """A function ``name(inputs..., output, workspace, parameters)`` with all that it calls.

    inputs    arguments in order, from the program's inputs
    output    name of the output argument
    defaults  table of parameters (gravity, then constants) that is used where the caller gives none
    summed    add the outputs of all links instead of keeping them apart
    parameters  entries of the table, of which derivatives by them have a column each
    private   only functions of the same file call it
    """
    return _Function(program, name, tuple(inputs), output, defaults, summed, parameters, private).written()


# ---- pieces of C


def comment(text: str) -> str:
    """Text that is safe inside a C comment."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip("\\")


def number(x: float) -> str:
    """A double as C reads it back exactly."""
    return repr(float(x))


def table(declaration: str, values: Iterable[str]) -> str:
    """A constant array."""
    lines, line = [], "   "
    for value in values:
        if len(line) + len(value) + 2 > WIDTH:
            lines.append(line)
            line = "   "
        line += f" {value},"
    return f"{declaration} = {{\n" + "\n".join([*lines, line]) + "\n};\n"


def signature(start: str, arguments: Sequence[str]) -> str:
    """``start(arguments)``, in several lines if it is long."""
    lines, line = [], f"{start}("
    for k, argument in enumerate(arguments):
        text = argument + (", " if k < len(arguments) - 1 else ")")
        if len(line) + len(text.rstrip()) > WIDTH:
            lines.append(line.rstrip())
            line = "    "
        line += text
    return "\n".join([*lines, line])


HELPERS = {
    "ramp": "static double ramp(double x)\n{\n    return x > 0.0 ? x : 0.0;\n}\n",
    "step": "static double step(double x)\n{\n    return x > 0.0 ? 1.0 : 0.0;\n}\n",
    "frozen": "static double frozen(double x)\n{\n    return x;\n}\n",
}
"""Functions that C does not have."""


def helpers(kernels: Sequence[Kernel]) -> list[str]:
    """The functions that C does not have and some kernels need."""
    used = functions_used(kernels)
    return [*(text for key, text in HELPERS.items() if key in used), *map(stumpff_function, stumpff_used(kernels))]


def stumpff_function(k: int) -> str:
    """The entire function c_k of a squared angle: the sum of (-s)^n / (2n + k)!"""
    return f"static inline double stumpff{k}(double s)\n{{\n{_indented(stumpff_body(k))}}}\n"


def stumpff_body(k: int) -> list[str]:
    """Its statements in C."""
    return [f"if (s > {STUMPFF_FAR!r})", f"    return {stumpff_beyond(k)};", f"return {stumpff_polynomial(k)};"]


def _indented(lines: Iterable[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


# ---- functions


@dataclass(slots=True)
class _Arrays:
    """The arrays that a kernel touches, and whether it needs the row of its link."""

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    row: bool = False

    @property
    def names(self) -> list[str]:
        """In one order for all kernels: data, inputs, then the rest."""
        used = self.read | self.written
        first = [name for name in ("constants", "gravity", "q", "v", "a", "f") if name in used]
        return first + sorted(used - set(first))

    @property
    def parameters(self) -> list[str]:
        parts = [f"{'' if name in self.written else 'const '}double *{RESTRICT} {name}" for name in self.names]
        return [*parts, f"const int *{RESTRICT} row"] if self.row else parts

    @property
    def arguments(self) -> str:
        return ", ".join([*self.names, "row"] if self.row else self.names)


@dataclass(slots=True)
class _Function:
    program: RolledProgram
    name: str
    inputs: tuple[str, ...]
    output: str
    defaults: str
    summed: bool
    parameters: int
    private: bool
    touched: set[str] = field(default_factory=set)

    @property
    def directions(self) -> tuple[str, int]:
        """The array whose unit directions are the columns of a derivative, and how many there are."""
        if "constants" in self.program.seeds:
            return "dparameters", self.parameters
        (seed,) = self.program.seeds
        return f"d{seed}", self.program.size

    @property
    def is_loop(self) -> bool:
        return not is_whole(self.program)

    def written(self) -> CFunction:
        once, each_direction = stages(self.program)
        parts: list[str] = []
        if self.is_loop:
            rows = [f"{{{', '.join(map(str, row))}}}" for row in link_rows(self.program)]
            columns = len(link_rows(self.program)[0])
            parts.append(table(f"static const int {self.name}_rows[{len(rows)}][{columns}]", rows))
        calls = [[self._kernel(task, parts) for task in stage.tasks] for stage in (*once, *each_direction)]
        loops = [self._loop(stage, call) for stage, call in zip((*once, *each_direction), calls, strict=True)]
        arguments = [f"const double *{name}" for name in self.inputs]
        arguments += [f"double *{self.output}", "double *workspace", "const double *parameters"]
        prototype = signature(f"{'static ' if self.private else ''}void {self.name}", arguments)
        lines, workspace = self._arrays()
        lines += [line for loop in loops[: len(once)] for line in loop]
        if each_direction:
            lines += self._directions([line for loop in loops[len(once) :] for line in loop])
        parts.append(f"{prototype}\n{{\n{_indented(lines)}}}\n")
        return CFunction("\n".join(parts), prototype, workspace, self.name)

    def _kernel(self, task: Task | None, parts: list[str]) -> str:
        """Write a kernel and return the call of it."""
        if task is None:
            return ""
        arrays = _Arrays(written={address.array for address, _ in task.results})
        bases: dict[str, str] = {}

        def place(address: Address) -> str:
            array, role, index = address
            if not self.is_loop or not role or (self.summed and array == "out"):
                return f"{array}[{index}]"
            arrays.row = True
            base = f"{array}_{role}"
            if base not in bases:
                constant = "" if array in arrays.written else "const "
                column = start_column(self.program, array, role)
                bases[base] = f"{constant}double *const {base} = {array} + row[{column}];"
            return f"{base}[{index}]"

        def read(address: Address) -> str:
            arrays.read.add(address.array)
            return place(address)

        targets = [place(address) for address, _ in task.results]
        found, values = statements(task.tape, [x for _, x in task.results], read, given=task.given)
        lines = [*bases.values(), *(f"const double {each.name} = {each.expression};" for each in found)]
        for (address, _), target, value in zip(task.results, targets, values, strict=True):
            lines.append(f"{target} {'+=' if self.summed and address.array == 'out' else '='} {value};")
        name = f"{self.name}_{task.name}"
        parts.append(f"{signature(f'static void {name}', arrays.parameters)}\n{{\n{_indented(lines)}}}\n")
        self.touched |= set(arrays.names)
        return f"{name}({arrays.arguments});"

    def _arrays(self) -> tuple[list[str], int]:
        """Where the arrays of the kernels are, and the size of the workspace."""
        program, lines, workspace = self.program, [], 0
        sizes = {"store": program.record_size, "saved": program.saved_size, "dstore": program.record_size}
        seeded = {}
        if program.seeds:
            seed, count = self.directions
            seeded = {seed: count}
        sizes |= seeded | {"dout": program.outputs}
        for array, size in sizes.items():
            if array in self.touched or array in seeded:
                lines.append(f"double *const {array} = workspace + {workspace};")
                workspace += size
        for array, start in (("dgravity", 0), ("dconstants", GRAVITY_SIZE)):
            if array in self.touched:
                lines.append(f"const double *const {array} = dparameters + {start};")
        if "out" in self.touched:
            lines.append(f"double *const out = {self.output};")
        uses_parameters = bool({"constants", "gravity"} & self.touched)
        if uses_parameters:
            lines.append(f"const double *const gravity = parameters ? parameters : {self.defaults};")
        if "constants" in self.touched:
            lines.append(f"const double *const constants = gravity + {GRAVITY_SIZE};")
        unused = [name for name in self.inputs if name not in self.touched]
        unused += [] if workspace else ["workspace"]
        unused += [] if uses_parameters else ["parameters"]
        lines += [f"(void){name};" for name in unused]
        if self.summed:
            width = max(len(kernel.outputs) for each in program.passes for kernel in each.kernels)
            lines.append(f"for (int k = 0; k < {width}; ++k) out[k] = 0.0;")
        return lines, workspace

    def _loop(self, stage: Stage, calls: list[str]) -> list[str]:
        """A pass over the links, or the one call of a whole program."""
        if not self.is_loop:
            return calls
        order = f"int i = 0; i < {stage.links}; ++i"
        if stage.inward:
            order = f"int i = {stage.links - 1}; i >= 0; --i"
        lines = [f"for ({order}) {{", f"    const int *const row = {self.name}_rows[i];"]
        if len(calls) == 1:
            return [*lines, f"    {calls[0]}", "}"]
        lines.append(f"    switch (row[{stage.number}]) {{")
        lines += [f"    case {k}: {call} break;" for k, call in enumerate(calls) if call]
        return [*lines, "    default: break;", "    }", "}"]

    def _directions(self, loops: list[str]) -> list[str]:
        """Unit directions of the seed one after the other; each is a column of the output."""
        seed, n = self.directions
        return [
            f"for (int j = 0; j < {n}; ++j) {seed}[j] = 0.0;",
            f"for (int j = 0; j < {n}; ++j) {{",
            f"    {seed}[j] = 1.0;",
            *(f"    {line}" for line in loops),
            f"    for (int i = 0; i < {self.program.outputs}; ++i) {self.output}[{n} * i + j] = dout[i];",
            f"    {seed}[j] = 0.0;",
            "}",
        ]
