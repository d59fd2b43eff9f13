"""A Python module without dependencies: plain functions of numbers, or of arrays of numbers with NumPy."""

from __future__ import annotations

import keyword
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.engine.compile.statements import (
    Stage,
    Task,
    functions_used,
    link_rows,
    stages,
    start_column,
    statements,
    stumpff_polynomial,
    stumpff_used,
)
from pliant.engine.trace.program import Address
from pliant.engine.trace.tape import FUNCTIONS as ELEMENTARY
from pliant.engine.trace.tape import STUMPFF
from pliant.export.c_steps import CLOSED, EXACT, MOST_STEPS, SHORTEST
from pliant.export.functions import GRAVITY, Exported, Model, model, target, version, write
from pliant.export.signatures import FUNCTIONS, MEANINGS
from pliant.spatial.scalars import STUMPFF_FAR, stumpff_beyond

if TYPE_CHECKING:
    from pathlib import Path

    from pliant.dynamics import Dynamics

WIDTH = 110
"""Columns of the module, but for long expressions."""

RETURNS = {
    "M": "Returns M as a list of rows.",
    "energies": "Returns (kinetic, strain, gravity) in J.",
    "poses": "Returns {frame: (position, rows of the rotation matrix)}, in the base frame.",
    "J": "Returns {frame: 6 rows}: linear, then angular velocity, base axes.",
    "J_c": "Returns J_c as a list of rows.",
    "solution": "Returns (efforts of the drives, accelerations of all coordinates).",
    "wrenches": "Returns {joint: (force, moment) as 6 numbers}, in the axes of its link.",
    "closed": "Returns coordinates with closed loops; raises ValueError where they could not be closed.",
    "state": "Returns (q, v) on the loops; raises ValueError where they could not be closed.",
}

GUIDE = '''"""Dynamics of a robot: M(q) a + h(q, v) = f with f = B tau; SI units.

q, v, a, f have the order of COORDINATES, tau that of INPUTS. parameters are gravity (x, y, z), then constants
of the links, as in PARAMETERS; what was zero in the robot stays zero. lib is any module with sin, cos, sqrt
and tanh: math, cmath, numpy, ...; with numpy every entry of q, v, ... may be an array: a batch of states.
"""

import math
'''


def generate_python(
    arm: Dynamics,
    path: str | os.PathLike[str],
    functions: Sequence[str] = FUNCTIONS,
    *,
    frames: Sequence[str] = ("tip",),
    unroll: bool | None = None,
) -> Path:
    """Write a Python module with the functions of an arm and return its path.

    functions  which of them, such as "forward", "inverse_by_q" and "assemble"; "all": those that the robot has
    frames     frames whose kinematics are written
    unroll     True: one straight line of code; False: kernels in loops over equal links; default: what is shorter

    The module needs nothing but the standard library. With ``lib=numpy`` every entry of q, v, ... may be an
    array: a batch of states in one call.
    """
    out = target(path, ".py")
    if not out.stem.isidentifier() or keyword.iskeyword(out.stem):
        raise ValueError(f"{out}: '{out.stem}' is not a Python identifier; such a module cannot be imported")
    write(out, _module(model(arm, functions, frames, unroll=unroll)))
    return out


def _module(what: Model) -> str:
    orders = stumpff_used(k for each in what.functions for k in each.kernels)
    parts = [GUIDE + _data(what)]
    parts += [_entire(k) for k in orders]
    if "step" in functions_used(k for each in what.functions for k in each.kernels):
        parts.append("def step(x):\n    return (x.real > 0.0)*1.0\n")
    return "\n\n".join([*parts, *(_function(each, what) for each in what.functions)])


def _entire(k: int) -> str:
    """c_k of floats, complex numbers and arrays: shares of the series and of sine and cosine, one of which is zero."""
    lines = [
        f"def _stumpff{k}(lib):",
        f"    def stumpff{k}(s):",
        f"        far = (s.real > {STUMPFF_FAR!r})*1.0",
        f"        return (1.0 - far)*near(s*(1.0 - far)) + far*beyond(s*far + {STUMPFF_FAR!r}*(1.0 - far))",
        "",
        "    def near(s):",
        f"        return {stumpff_polynomial(k)}",
        "",
        "    def beyond(s):",
        f"        return {stumpff_beyond(k, 'lib.')}",
        "",
        f"    return stumpff{k}",
        "",
    ]
    return "\n".join(lines)


def _data(what: Model) -> str:
    # names come from the user's file: repr keeps them from ending a text
    lines = [
        "",
        f"GENERATOR = {f'Pliant {version()}'!r}",
        f"ROBOT = {what.name!r}",
        f"STRUCTURE = {what.structure!r}",
        f"COORDINATES = {_tuple([repr(x) for x in what.tree.coordinates])}",
        f"INPUTS = {_tuple([repr(x) for x in what.mechanism.actuated])}",
        f"FRAMES = {_tuple([repr(x) for x in what.frames])}",
        f"JOINTS = {_tuple([repr(x) for x in what.joints])}",
        f"ROWS = {_tuple([repr(x) for x in what.rows])}",
        f"B = {_tuple([str(tuple(row)) for row in what.mechanism.B.tolist()])}",
        "PARAMETERS = (",
    ]
    for value, meaning in zip(what.parameters, what.meanings, strict=True):
        text = f"    {value!r},  # {meaning.owner}: {', '.join(meaning.uses)}"
        lines.append(text if len(text) <= WIDTH else text[: WIDTH - 3] + "...")
    return "\n".join([*lines, ")\n"])


def _tuple(entries: Sequence[str]) -> str:
    """A tuple, one entry per line if it is long."""
    text = f"({', '.join(entries)}{',' if len(entries) == 1 else ''})"
    return text if len(text) <= WIDTH - 20 else "(\n" + "".join(f"    {x},\n" for x in entries) + ")"


def _function(each: Exported, what: Model) -> str:
    """A public function, after its kernels where it is a loop over the links."""
    signature, parts = each.signature, []
    if not each.is_whole:
        parts.append(f"_{each.name}_rows = {_tuple([str(tuple(row)) for row in link_rows(each.program)])}\n")
        for stage in (s for group in stages(each.program) for s in group):
            for task in filter(None, stage.tasks):
                body = "".join(f"    {line}\n" for line in _statements(each, task))
                parts.append(f"def {_call(each, task)}:\n{body}")
    returns = RETURNS.get(signature.output, f"Returns {signature.output}: {signature.says}.")
    if signature.seed:
        returns = "Returns a list of rows, one for each number of the function, one column per entry that it is by."
    if signature.newton:
        (task,) = (task for stage in stages(each.program)[0] for task in stage.tasks if task is not None)
        step = [f"out = [0.0]*{each.program.outputs}", *_statements(each, task), "return out"]
        arguments = ", ".join([*signature.inputs, "gravity", "constants", "lib"])
        parts.append(f"def _{each.name}_step({arguments}):\n" + "".join(f"    {line}\n" for line in step))
    lines = [f"def {each.name}({', '.join([*signature.inputs, 'parameters=PARAMETERS', 'lib=math'])}):"]
    lines += [f'    """{signature.meaning}', ""]
    lines += [f"    {x}: {MEANINGS[x]}" for x in signature.inputs]
    lines += [f"    {returns}", '    """', *(f"    {line}" for line in _body(each, what))]
    return "\n\n".join([*parts, "\n".join(lines) + "\n"])


def _call(each: Exported, task: Task) -> str:
    """A kernel with its arguments: the same text defines and calls it."""
    seeds = [f"d{seed}" for seed in each.program.seeds]
    stores = ["store", "saved", "dstore", "dout"] if seeds else ["store", "out"]
    arguments = ["constants", "gravity", *each.signature.inputs, *seeds, *stores, "row", "lib"]
    return f"_{each.name}_{task.name}({', '.join(arguments)})"


def _statements(each: Exported, task: Task) -> list[str]:
    """The body of a kernel."""
    bases: dict[str, str] = {}

    def place(address: Address) -> str:
        array, role, index = address
        if each.is_whole or not role or (each.summed and array == "out"):
            return f"{array}[{index}]"
        # what begins at the same place shares a variable: q and v of a link, a value and its tangent
        column = start_column(each.program, array, role)
        bases[f"i{column}"] = f"i{column} = row[{column}]"
        return f"{array}[i{column} + {index}]" if index else f"{array}[i{column}]"

    targets = [place(address) for address, _ in task.results]
    found, values = statements(task.tape, [x for _, x in task.results], place, given=task.given)
    used = {task.tape.op[x.entry] for x in found}
    out = [f"{name} = lib.{name}" for name in ELEMENTARY if name in used]
    out += [f"{name} = _{name}(lib)" for name in sorted(used) if name.startswith(STUMPFF)]
    out += [*bases.values(), *(f"{x.name} = {x.expression}" for x in found)]
    for (address, _), written, value in zip(task.results, targets, values, strict=True):
        out.append(f"{written} {'+=' if each.summed and address.array == 'out' else '='} {value}")
    return out


def _body(each: Exported, what: Model) -> list[str]:
    program = each.program
    lines = [f"gravity, constants = parameters[:{GRAVITY}], parameters[{GRAVITY}:]"]
    once, each_direction = stages(program)
    if each.signature.newton:
        return [*lines, *_iterated(each)]
    if each.is_whole:
        values = [line for stage in once for task in stage.tasks if task for line in _statements(each, task)]
        if not program.seeds:
            return [*lines, f"out = [0.0]*{program.outputs}", *values, *_returned(each, what)]
        moving = [line for stage in each_direction for task in stage.tasks if task for line in _statements(each, task)]
        saved = f"saved = [0.0]*{program.saved_size}"
        return [*lines, saved, *_directions(each, what, values, moving), *_returned(each, what)]
    lines.append(f"store = [0.0]*{program.record_size}")
    loops = [line for stage in once for line in _loop(each, stage)]
    if not program.seeds:
        count = each.shape[0] if each.summed else program.outputs
        return [*lines, f"out = [0.0]*{count}", *loops, *_returned(each, what)]
    stores = f"saved, dstore = [0.0]*{program.saved_size}, [0.0]*{program.record_size}"
    moving = [line for stage in each_direction for line in _loop(each, stage)]
    return [*lines, stores, *_directions(each, what, loops, moving), *_returned(each, what)]


def _directions(each: Exported, what: Model, values: Sequence[str], moving: Sequence[str]) -> list[str]:
    """Columns of a derivative: what moves along unit directions of an input, or of the parameters."""
    program = each.program
    if "constants" in program.seeds:
        seed, n = "dparameters", len(what.parameters)
        moving = [f"dgravity, dconstants = dparameters[:{GRAVITY}], dparameters[{GRAVITY}:]", *moving]
    else:
        seed, n = f"d{program.seeds[0]}", program.size
    return [
        f"dout, out = [0.0]*{program.outputs}, [0.0]*{program.outputs * n}",
        f"{seed} = [0.0]*{n}",
        *values,
        f"for j in range({n}):",
        f"    {seed}[j] = 1.0",
        *(f"    {line}" for line in moving),
        f"    out[j::{n}] = dout",
        f"    {seed}[j] = 0.0",
    ]


def _iterated(each: Exported) -> list[str]:
    """Newton's method on one state: steps that open the loops are taken by half."""
    n, outputs, rates = each.program.size, each.program.outputs, each.signature.inputs[1:]
    gaps = outputs - n * len(each.signature.inputs)
    step = f"_{each.name}_step({{}}, {''.join(f'{x}, ' for x in rates)}gravity, constants, lib)"
    largest = f"max(abs(x) for x in {{}}[{-gaps}:])"
    result = f"return q, now[{n}:{2 * n}]" if rates else "return q"
    return [
        "q = list(q)",
        f"now = {step.format('q')}",
        f"gap = {largest.format('now')}",
        f"for _ in range({MOST_STEPS}):",
        "    part, left = 1.0, gap",
        f"    while gap > {EXACT!r} and not left < gap and part > {SHORTEST!r}:",
        "        trial = [x + part*(y - x) for x, y in zip(q, now)]",
        f"        after = {step.format('trial')}",
        f"        left, part = {largest.format('after')}, 0.5*part",
        "    if not left < gap:",
        "        break",
        "    q, now, gap = trial, after, left",
        f"if not gap <= {CLOSED!r}:",
        '    raise ValueError(f"the loops stay open by {gap}")',
        result,
    ]


def _loop(each: Exported, stage: Stage) -> list[str]:
    """A pass over the links."""
    table = f"_{each.name}_rows"
    lines = [f"for row in {f'reversed({table})' if stage.inward else table}:"]
    for k, task in enumerate(stage.tasks):
        if task is not None:
            choice = "elif" if len(lines) > 1 else "if"
            lines += [f"    {choice} row[{stage.number}] == {k}:", f"        {_call(each, task)}"]
    return lines


def _returned(each: Exported, what: Model) -> list[str]:
    n, frames, signature = each.program.size, len(what.frames), each.signature
    if signature.seed or signature.output in ("M", "J_c"):
        columns = each.shape[-1]
        return [f"return [out[i : i + {columns}] for i in range(0, len(out), {columns})]"]
    match signature.output:
        case "energies":
            return ["return tuple(out)"]
        case "solution":
            m = len(what.mechanism.actuated)
            return [f"return out[:{m}], out[{m}:]"]
        case "wrenches":
            return ["return {name: out[6 * k : 6 * k + 6] for k, name in enumerate(JOINTS)}"]
        case "poses":
            return [
                f"parts = [out[i : i + 12] for i in range(0, {12 * frames}, 12)]",
                "return {name: (p[:3], [p[3:6], p[6:9], p[9:]]) for name, p in zip(FRAMES, parts)}",
            ]
        case "J":
            return [
                f"rows = [out[i : i + {n}] for i in range(0, {6 * n * frames}, {n})]",
                "return {name: rows[6 * k : 6 * k + 6] for k, name in enumerate(FRAMES)}",
            ]
        case _:
            return ["return out"]
