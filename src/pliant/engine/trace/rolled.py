"""Rolled programs: one kernel per class of link, called in a loop over the links.

A link's class in a pass is its structure together with the patterns of the values that reach it, so that zeros
travel along a chain (a planar arm stays planar) and the number of kernels does not grow with the number of links.
Values between kernels live in one record per link; only those that some later kernel reads are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pliant.algorithm import Algorithm, Carrier
from pliant.engine.trace.program import Address, Kernel, LoopPass, RolledProgram
from pliant.engine.trace.roller import Roller, running
from pliant.engine.trace.structure import ConstantsPattern, from_slots, split_tree, structure_key
from pliant.engine.trace.tape import Node, Operations, Tape, tangents
from pliant.spatial.scalars import Scalar


def rolled(algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> RolledProgram:
    """Trace every pass of an algorithm once per class of link.

    With seeds (names of inputs, or "constants") the program gives the tangents of the outputs along the directions
    in the arrays ``d`+ seed``; tangents that are structurally zero cost nothing.
    """
    return Roller(algorithm, tree, seeds).program()


def whole(algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> RolledProgram:
    """The same program as a single kernel, traced over the whole tree at once: shorter for small robots."""
    tape = Tape()
    split = split_tree(tree)
    starts, _ = running([len(s.values) for s in split])

    def reader(start: int) -> Callable[[int], Node]:
        return lambda k: tape.symbol(Address("constants", "own", start + k))

    constants = [from_slots(s.pattern, reader(start)) for s, start in zip(split, starts, strict=True)]
    inputs = {name: [tape.symbol(Address(name, "own", k)) for k in range(tree.size)] for name in algorithm.inputs}
    gravity = [g and tape.symbol(Address("gravity", "", k)) for k, g in enumerate(tree.gravity.tolist())]
    outputs = algorithm.evaluate(tree, inputs, constants, gravity)
    if seeds:
        given = {
            i: tape.symbol(tape.a[i]._replace(array=f"d{tape.a[i].array}"))
            for i in range(len(tape.op))
            if tape.op[i] == "symbol" and tape.a[i].array in seeds
        }
        outputs = tangents(outputs, given)
    values = [x for s in split for x in s.values]
    return one_kernel(algorithm.name, algorithm.inputs, tape, outputs, values, tree.size, seeds, split)


MOST_COUNTED = 256
"""Counts that are kept; the oldest go first."""
_COUNTED: dict[tuple[str, str, tuple[str, ...]], Operations] = {}


def counted(algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> Operations:
    """Operations of one evaluation of the whole tree; robots of one structure have as many, and share the count."""
    key = (structure_key(tree), algorithm.name, seeds)
    if key not in _COUNTED:
        _COUNTED[key] = whole(algorithm, tree, seeds).operations
        while len(_COUNTED) > MOST_COUNTED:
            _COUNTED.pop(next(iter(_COUNTED)), None)
    return _COUNTED[key]


def one_kernel(
    name: str,
    inputs: tuple[str, ...],
    tape: Tape,
    outputs: list[Scalar],
    constants: list[float],
    size: int,
    seeds: tuple[str, ...] = (),
    patterns: Sequence[ConstantsPattern] = (),
) -> RolledProgram:
    """A program of a single kernel: everything is its own, and nothing has to be stored in between."""
    kernel = Kernel("whole", tape, {}, outputs, "dout" if seeds else "out", {}, 0)
    saved = kernel.save() if seeds else 0
    return RolledProgram(
        name=name,
        inputs=inputs,
        seeds=seeds,
        passes=[LoopPass("whole", "outward", [0], [kernel])],
        parents=[-1],
        children=[()],
        coordinate_start=[0],
        output_start=[0],
        constant_start=[0],
        record_start=[0],
        record_size=0,
        saved_start=[0],
        saved_size=saved,
        constants=constants,
        outputs=len(outputs),
        size=size,
        patterns=list(patterns),
        owners=[0],
    )
