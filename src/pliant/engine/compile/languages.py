"""How C, Python and Matlab write what stands around expressions: assignments, elements, functions, remarks.

The expressions themselves are the same in all of them (``statements``). Listings and closed forms are written so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pliant.engine.compile.c_code import comment, stumpff_body
from pliant.engine.compile.statements import stumpff_polynomial
from pliant.spatial.scalars import STUMPFF_FAR, stumpff_beyond

Names = tuple[str, ...]


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
        start=("from math import atan2, cos, floor, sin, sqrt, tanh", "", ""),
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
