"""The recursive symbolic model: intermediate variables one after the other, after Briot & Khalil.

The algorithm is unrolled over the links of the robot; whatever the results do not need is left out. The same
lines as C, Python or Matlab, ready to run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Literal

from pliant.engine.compile.c_code import comment, stumpff_body
from pliant.engine.compile.statements import Statement, statements, stumpff_polynomial, stumpff_used
from pliant.engine.trace.program import Address, Kernel
from pliant.engine.trace.tape import Tape
from pliant.export.functions import GRAVITY, Exported, Model, model, version
from pliant.export.names import words
from pliant.export.programs import MARK
from pliant.export.target import target, write
from pliant.spatial.scalars import STUMPFF_FAR, stumpff_beyond

if TYPE_CHECKING:
    from pathlib import Path

    from pliant.dynamics import Dynamics

Language = Literal["c", "python", "matlab"]
Names = tuple[str, ...]
ENDINGS: dict[str, Language] = {".c": "c", ".py": "python", ".m": "matlab"}


def listing(
    arm: Dynamics, function: str = "forward", *, language: Language = "c", frames: tuple[str, ...] = ("tip",)
) -> str:
    """The listing of one function of an arm (forward, inverse, ...; see generate_c) in a language.

    It begins with the operator count. Inputs have the names of the coordinates, q_shoulder, and parameters
    those of the constants of the links, upper_mass, so that the lines can be read.
    """
    if language not in LANGUAGES:
        raise ValueError(f"language is {language!r}; it must be one of {', '.join(LANGUAGES)}")
    what = model(arm, (function,), frames, unroll=True, marks=True)
    return "\n".join([*_Listing(what, what.functions[0], LANGUAGES[language]).lines(), ""])


def generate_listing(
    arm: Dynamics,
    path: str | os.PathLike[str],
    function: str = "forward",
    *,
    frames: tuple[str, ...] = ("tip",),
) -> Path:
    """Write the listing of one function; the ending of the path (.c, .py or .m) says in which language."""
    out = target(path, *ENDINGS)
    write(out, listing(arm, function, language=ENDINGS[out.suffix], frames=frames))
    return out


@dataclass(frozen=True, slots=True)
class Style:
    """How a language writes what stands around the expressions."""

    remark: Callable[[str], str]
    assign: Callable[[str, str], str]
    element: Callable[[str, int], str]
    result: Callable[[str, int, str], str]
    function: Callable[[str, Names, str, int, list[str]], list[str]]
    entire: Callable[[int], list[str]]
    start: tuple[str, ...] = ()
    entire_last: bool = False


def _indented(*lines: str) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def _c_function(name: str, inputs: Names, output: str, _: int, body: list[str]) -> list[str]:
    arguments = ", ".join([*(f"const double *{x}" for x in inputs), f"double *{output}"])
    unused = [f"(void){x};" for x in inputs if not any(f"= {x}[" in line for line in body)]
    head = f"void {name}({arguments})"
    return [f"{head};", "", head, "{", *_indented(*unused, *body), "}"]


def _python_function(name: str, inputs: Names, output: str, size: int, body: list[str]) -> list[str]:
    lines = _indented(f"{output} = [0.0]*{size}", *body, f"return {output}")
    return [f"def {name}({', '.join(inputs)}):", *lines]


def _matlab_function(name: str, inputs: Names, output: str, size: int, body: list[str]) -> list[str]:
    lines = _indented(f"{output} = zeros({size}, 1);", *body)
    return [f"function {output} = {name}({', '.join(inputs)})", *lines, "end"]


LANGUAGES: dict[str, Style] = {
    "c": Style(
        remark=lambda text: f"/* {comment(text)} */",
        assign=lambda name, value: f"const double {name} = {value};",
        element=lambda array, k: f"{array}[{k}]",
        result=lambda array, k, value: f"{array}[{k}] = {value};",
        function=_c_function,
        entire=lambda k: [
            f"static double stumpff{k}(double s)",
            "{",
            *_indented(*stumpff_body(k)),
            "}",
            "",
        ],
        start=("#include <math.h>", ""),
    ),
    "python": Style(
        remark=lambda text: f"# {text}",
        assign=lambda name, value: f"{name} = {value}",
        element=lambda array, k: f"{array}[{k}]",
        result=lambda array, k, value: f"{array}[{k}] = {value}",
        function=_python_function,
        entire=lambda k: [
            f"def stumpff{k}(s):",
            f"    if s > {STUMPFF_FAR!r}:",
            f"        return {stumpff_beyond(k)}",
            f"    return {stumpff_polynomial(k)}",
            "",
            "",
        ],
        start=("from math import cos, sin, sqrt, tanh", "", ""),
    ),
    "matlab": Style(
        remark=lambda text: f"% {text}",
        assign=lambda name, value: f"{name} = {value};",
        element=lambda array, k: f"{array}({k + 1})",
        result=lambda array, k, value: f"{array}({k + 1}) = {value};",
        function=_matlab_function,
        entire=lambda k: [
            "",
            f"function c = stumpff{k}(s)",
            # both of them, one of which counts
            f"    far = (s > {STUMPFF_FAR!r})*1.0;",
            f"    beyond = s*far + {STUMPFF_FAR!r}*(1.0 - far);",
            "    s = s*(1.0 - far);",
            f"    near = {stumpff_polynomial(k)};",
            "    s = beyond;",
            f"    c = near*(1.0 - far) + {stumpff_beyond(k)}*far;",
            "end",
        ],
        entire_last=True,
    ),
}


@dataclass(slots=True)
class _Listing:
    what: Model
    each: Exported
    style: Style

    @property
    def kernel(self) -> Kernel:
        (kernel,) = self.each.kernels
        return kernel

    def lines(self) -> list[str]:
        """The whole file."""
        style, signature = self.style, self.each.signature
        size, (body, variables) = prod(self.each.shape), self._body()
        text = style.function(signature.name, signature.inputs, signature.output, size, body)
        entire = [line for k in stumpff_used([self.kernel]) for line in style.entire(k)]
        head = [*(style.remark(line) for line in self._head(variables)), "", *style.start]
        return [*head, *text, *entire] if style.entire_last else [*head, *entire, *text]

    def _head(self, variables: int) -> Iterator[str]:
        yield f"{self.each.signature.meaning} Robot '{self.what.name}'; generated by Pliant {version()}."
        # several operations may stand in one line, so there are fewer variables than on the tape
        yield f"{replace(self.kernel.operations, variables=variables)}; structure {self.what.structure}."
        yield "M(q) a + h(q, v) = f; SI units. The parts are the passes over the links, base to tip or back."

    def _body(self) -> tuple[list[str], int]:
        """Lines of the function, and how many variables stand between its parameters and its results."""
        style, tape = self.style, self.kernel.tape
        names = self._names()
        used: dict[Address, None] = {}

        def symbol(address: Address) -> str:
            used.setdefault(address)
            return names[address]

        results = [x for _, x in self.kernel.results]
        variables = _variables(tape, names)
        found, values = statements(tape, results, symbol, name=variables)
        out = [style.remark("inputs")]
        arrays = self.each.signature.inputs
        inputs = [x for x in used if x.array in arrays]
        inputs.sort(key=lambda x: (arrays.index(x.array), x.index))
        out += [style.assign(names[x], style.element(x.array, x.index)) for x in inputs]
        out += ["", style.remark("parameters")]
        parameters = sorted((_parameter(x), x) for x in used if x.array not in arrays)
        out += [style.assign(names[x], repr(self.what.parameters[k])) for k, x in parameters]
        out += self._sections(found)
        out += ["", style.remark("results")]
        output, coordinates = self.each.signature.output, self.what.tree.coordinates
        for k, value in enumerate(values):
            line = style.result(output, k, value)
            out.append(f"{line}  {style.remark(coordinates[k])}" if output in "afh" else line)
        return out, len(found)

    def _sections(self, found: list[Statement]) -> Iterator[str]:
        """Assignments, with a remark where another step begins."""
        tape = self.kernel.tape
        marks = [i for i, op in enumerate(tape.op) if op == "symbol" and tape.a[i].array == MARK]
        title = ""
        for statement in found:
            while marks and marks[0] < statement.entry:
                title = tape.a[marks.pop(0)].role
            if title or statement is found[0]:
                yield ""
                yield self.style.remark(title or "variables")
                title = ""
            yield self.style.assign(statement.name, statement.expression)

    def _names(self) -> dict[Address, str]:
        """A readable name for every input and parameter."""
        addresses: list[Address] = []
        wanted: list[str] = []
        for array in self.each.signature.inputs:
            for k, coordinate in enumerate(self.what.tree.coordinates):
                addresses.append(Address(array, "own", k))
                wanted.append(f"{array}_{coordinate}")
        for k, meaning in enumerate(self.what.meanings):
            constant = Address("constants", "own", k - GRAVITY)
            addresses.append(Address("gravity", "", k) if k < GRAVITY else constant)
            first = meaning.owner[:1]
            plain = first.isascii() and first.isalpha()
            wanted.append(f"{'' if plain else 'p_'}{meaning.owner}_{meaning.uses[0]}")
        return dict(zip(addresses, words(wanted), strict=True))


def _parameter(address: Address) -> int:
    return address.index + (0 if address.array == "gravity" else GRAVITY)


def _variables(tape: Tape, names: dict[Address, str]) -> Callable[[int], str]:
    """Names of variables: sin_q_shoulder where that says it all, else t1, t2, ..."""
    count = 0

    def name(i: int) -> str:
        nonlocal count
        op = tape.op[i]
        if op in ("sin", "cos") and tape.op[tape.a[i]] == "symbol":
            return f"{op}_{names[tape.a[tape.a[i]]]}"
        count += 1
        return f"t{count}"

    return name
