"""What all back ends that write text share: the stages of a program, the table of its links, its statements.

The expressions are the same in C, Python and Matlab; only what stands around them differs. Parentheses keep
the order of the tape's operations, so that every language computes the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pliant.engine.trace.program import Address, Kernel, RolledProgram
from pliant.engine.trace.tape import BINARY, STUMPFF, Node, Tape, live
from pliant.spatial.scalars import Scalar, stumpff_coefficients

LONGEST_PART = 44
"""Characters up to which a value that is used once is written inside the expression that uses it."""


# ---- stages


class Task(NamedTuple):
    """A function to write: results on a tape, and entries of the tape whose values are already stored."""

    name: str
    tape: Tape
    results: list[tuple[Address, Scalar]]
    given: dict[int, Address]


class Stage(NamedTuple):
    """A pass over the links: the task of each class of link (None where there is nothing to do)."""

    number: int
    inward: bool
    links: int
    tasks: list[Task | None]


def stages(program: RolledProgram) -> tuple[list[Stage], list[Stage]]:
    """What runs once, and what runs for every direction of the seeds (nothing without seeds)."""
    once: list[Stage] = []
    each_direction: list[Stage] = []
    for p, each in enumerate(program.passes):
        values, moving = [], []
        for k, kernel in enumerate(each.kernels):
            name, saved = f"{each.name}_{k}", kernel.saved
            constant = [(at, x) for at, x in kernel.results if not at.is_tangent]
            constant += [(at, kernel.tape.nodes[i]) for i, at in saved.items()]
            tangent = [(at, x) for at, x in kernel.results if at.is_tangent]
            values.append(Task(name, kernel.tape, constant, {}) if constant else None)
            moving.append(Task(f"{name}_tangent", kernel.tape, tangent, saved) if tangent else None)
        for stage, tasks in ((once, values), (each_direction, moving)):
            if any(tasks):
                stage.append(Stage(p, each.direction == "inward", len(each.kernel_of), tasks))
    return once, each_direction


def is_whole(program: RolledProgram) -> bool:
    """One kernel for the whole robot instead of a loop over its links."""
    return program.passes[0].name == "whole"


# ---- the table of the links

_OFFSETS = {"constants": 0, "coordinates": 1, "store": 2}


def link_rows(program: RolledProgram) -> list[list[int]]:
    """For each link its kernel in every pass and where its data and those of its neighbours begin."""
    out = []
    most = max(len(c) for c in program.children)
    for i, (parent, children) in enumerate(zip(program.parents, program.children, strict=True)):
        row = [each.kernel_of[i] for each in program.passes]
        row += [program.output_start[i], program.saved_start[i]]
        for j in (i, parent, *children):
            starts = (program.constant_start, program.coordinate_start, program.record_start)
            row += [start[j] if j >= 0 else 0 for start in starts]
        out.append(row + [0] * (len(_OFFSETS) * (most - len(children))))
    return out


def start_column(program: RolledProgram, array: str, role: str) -> int:
    """Where in a link's row the start of an array stands; tangents lie as what they belong to."""
    n_passes, plain = len(program.passes), array.removeprefix("d")
    if plain in ("out", "saved"):
        return n_passes + (plain == "saved")
    who = {"own": 0, "parent": 1}.get(role)
    who = 2 + int(role.removeprefix("child")) if who is None else who
    return n_passes + 2 + len(_OFFSETS) * who + _OFFSETS.get(plain, _OFFSETS["coordinates"])


# ---- statements


class Writing(NamedTuple):
    """How a language writes numbers and calls of functions; sums and products are the same in all of them."""

    number: Callable[[float], str] = repr
    call: Callable[[str, list[str]], str] = lambda function, arguments: f"{function}({', '.join(arguments)})"


# how strongly an expression holds together
SUM, NEGATIVE, PRODUCT, ATOM = range(4)


class Statement(NamedTuple):
    """``name = expression``; ``entry`` is its place in the tape."""

    entry: int
    name: str
    expression: str


class _Text(NamedTuple):
    text: str
    binding: int

    def within(self, binding: int) -> str:
        return self.text if self.binding >= binding else f"({self.text})"


def statements(
    tape: Tape,
    results: Sequence[Scalar],
    symbol: Callable[[Any], str],
    *,
    given: Mapping[int, Any] | None = None,
    name: Callable[[int], str] | None = None,
    writing: Writing | None = None,
) -> tuple[list[Statement], list[str]]:
    """The statements that the results need, and the expressions of the results.

    symbol   writes an input
    given    entries of the tape that are inputs here
    name     gives the variable of an entry of the tape (default: t1, t2, ...)
    writing  numbers and calls, where they are not those of C, Python and Matlab
    """
    writing = writing or Writing()
    given = given or {}
    uses = _uses(tape, results, given)
    texts: dict[int, _Text] = {}
    out: list[Statement] = []
    for i in sorted(uses):
        if i in given:
            texts[i] = _Text(symbol(given[i]), ATOM)
            continue
        text = _expression(tape, i, texts, symbol, writing)
        if _gets_variable(tape, i, text, texts, uses[i]):
            variable = f"t{len(out) + 1}" if name is None else name(i)
            out.append(Statement(i, variable, text.text))
            text = _Text(variable, ATOM)
        texts[i] = text
    return out, [texts[x.index].text if type(x) is Node else writing.number(float(x)) for x in results]


def _uses(tape: Tape, results: Sequence[Scalar], given: Collection[int]) -> dict[int, int]:
    """How often each entry is used, for the entries that the results need."""
    uses: dict[int, int] = {}
    stack = [x.index for x in results if type(x) is Node]
    while stack:
        i = stack.pop()
        uses[i] = uses.get(i, 0) + 1
        if uses[i] > 1 or i in given or tape.op[i] in ("constant", "symbol"):
            continue
        stack.append(tape.a[i])
        if tape.b[i] >= 0:
            stack.append(tape.b[i])
    return uses


def _gets_variable(tape: Tape, i: int, text: _Text, texts: dict[int, _Text], uses: int) -> bool:
    op = tape.op[i]
    if op in ("constant", "symbol"):
        return False
    if op == "negate" and texts[tape.a[i]].binding == ATOM:
        return False
    # a function call is always worth a line of its own
    return uses > 1 or len(text.text) > LONGEST_PART or (op not in BINARY and op != "negate")


def _expression(tape: Tape, i: int, texts: dict[int, _Text], symbol: Callable[[Any], str], writing: Writing) -> _Text:
    op, a = tape.op[i], tape.a[i]
    if op == "constant":
        return _Text(writing.number(a), NEGATIVE if a < 0 else ATOM)
    if op == "symbol":
        return _Text(symbol(a), ATOM)
    first = texts[a]
    if op in BINARY:
        second = texts[tape.b[i]]
        # floating-point sums and products do not associate: a - (b - c) stays; they do commute
        left, right, own = (SUM, PRODUCT, SUM) if op in "+-" else (PRODUCT, ATOM, PRODUCT)
        if op in "+*" and left <= second.binding < right <= first.binding:
            first, second = second, first
        space = " " if own == SUM else ""
        return _Text(f"{first.within(left)}{space}{op}{space}{second.within(right)}", own)
    if op == "negate":
        return _Text(f"-{first.within(PRODUCT)}", NEGATIVE)
    more = [texts[tape.b[i]].text] if tape.b[i] >= 0 else []
    return _Text(writing.call(op, [first.text, *more]), ATOM)


# ---- functions that no language has


def functions_used(kernels: Iterable[Kernel]) -> set[str]:
    """Operations that some kernels need."""
    return {kernel.tape.op[i] for kernel in kernels for i in live(x for _, x in kernel.results)}


def stumpff_used(kernels: Iterable[Kernel]) -> list[int]:
    """Orders k of the entire functions that some kernels need."""
    return sorted(int(op.removeprefix(STUMPFF)) for op in functions_used(kernels) if op.startswith(STUMPFF))


def stumpff_polynomial(k: int) -> str:
    """c_k(s) by Horner's rule, for s up to STUMPFF_FAR."""
    *lower, highest = stumpff_coefficients(k)
    text = repr(highest)
    for c in reversed(lower):
        text = f"{text if text == repr(highest) else f'({text})'}*s {'-' if c < 0 else '+'} {abs(c)!r}"
    return text
