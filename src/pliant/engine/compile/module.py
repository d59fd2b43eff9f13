"""LLVM modules of rolled programs: the loop over the links, batches of states, blocks of tangents.

The number of links and all offsets are data (``rows``), so that one compiled module serves every robot that is made
of the same classes of links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.lanes import AHEAD, Ahead, lanes_to_rows, rows_to_lanes, transposition_declarations
from pliant.engine.compile.llvm_ir import FUNCTION, HELD, Writer, element, function_text, vector_type
from pliant.engine.compile.tape_pieces import emit
from pliant.engine.trace.program import Address, Kernel, LoopPass, RolledProgram
from pliant.spatial.scalars import Scalar

POINTER = "ptr noalias nocapture"
ROLE_FIELDS = ("constants", "coordinates", "record")
MUCH_SHORTER = 0.65
"""Part of a kernel up to which a kernel for a special case is worth its compilation."""


def row_length(program: RolledProgram) -> int:
    """Entries per link: a kernel number per pass, the starts of output and saved values, three offsets per role."""
    roles = 2 + max((len(c) for c in program.children), default=0)
    return role_start(program, 0) + len(ROLE_FIELDS) * roles


def role_start(program: RolledProgram, role: int) -> int:
    """Where the offsets of a role begin in a row: own 0, parent 1, children from 2 on."""
    return len(program.passes) + 2 + len(ROLE_FIELDS) * role


def rows(program: RolledProgram) -> NDArray[np.int64]:
    """The table that the compiled loops read: which kernel, and where the data of a link and its neighbours are."""
    table = np.zeros((len(program.parents), row_length(program)), dtype=np.int64)
    n_passes = len(program.passes)
    for i, row in enumerate(table):
        row[:n_passes] = [each.kernel_of[i] for each in program.passes]
        row[n_passes : n_passes + 2] = program.output_start[i], program.saved_start[i]
        for k, j in enumerate((i, program.parents[i], *program.children[i])):
            if j >= 0:
                start = role_start(program, k)
                offsets = (program.constant_start[j], program.coordinate_start[j], program.record_start[j])
                row[start : start + 3] = offsets
    return table


@dataclass(frozen=True, slots=True)
class Arrays:
    """The arrays of a program in call order, each with its number of lanes."""

    lanes: dict[str, int]

    @classmethod
    def of(cls, program: RolledProgram, lanes: int, *, own: bool = False) -> Arrays:
        """own  each lane has its own constants"""
        primal = 1 if program.seeds else lanes
        held = dict.fromkeys(("constants", "gravity"), lanes if own else 1)
        held.update(dict.fromkeys(program.inputs, primal))
        held.update({f"d{seed}": lanes for seed in program.seeds})
        held["store"] = primal
        if program.seeds:
            held.update(dstore=lanes, saved=1)
        held["dout" if program.seeds else "out"] = lanes
        return cls(held)

    @property
    def parameters(self) -> dict[str, str]:
        """Arguments of the loop, in order, with their kinds."""
        held = {**dict.fromkeys(self.lanes, POINTER), "rows": POINTER, "links": "i64"}
        return {**held, "first": "i64"} if "dstore" in self.lanes else held


def element_i64(w: Writer, base: str, index: int) -> str:
    """Pointer to an element of an array of integers."""
    return base if index == 0 else w.let(f"getelementptr inbounds i64, ptr {base}, i64 {index}")


class PieceText(NamedTuple):
    """A function of a kernel: the arrays that it takes, and its text without a name."""

    arrays: tuple[str, ...]
    text: str


class Called(NamedTuple):
    """A kernel as functions, and how many values they hand on."""

    pieces: tuple[PieceText, ...]
    held: int

    @property
    def arrays(self) -> tuple[str, ...]:
        """All that it takes."""
        return tuple(dict.fromkeys(array for piece in self.pieces for array in piece.arrays))

    @property
    def length(self) -> int:
        """Length of its text."""
        return sum(len(piece.text) for piece in self.pieces)


class _Piece:
    """A function of a kernel; ``%row`` is the link's line of the table."""

    def __init__(self, program: RolledProgram, arrays: Arrays) -> None:
        self.w = Writer()
        self._program, self._arrays = program, arrays
        self._bases: dict[tuple[str, str], str] = {}
        self.used: set[str] = set()

    def at(self, symbol: Address) -> tuple[str, int]:
        """Pointer to a value, and the lanes of its array."""
        held = self._arrays.lanes[symbol.array]
        return element(self.w, self._base(symbol.array, symbol.role), symbol.index, held), held

    def _base(self, array: str, role: str) -> str:
        self.used.add(array)
        if not role:
            return f"%{array}"
        if (array, role) not in self._bases:
            plain = array.removeprefix("d")
            if plain in ("out", "saved"):
                at = len(self._program.passes) + (plain == "saved")
            else:
                number = {"own": 0, "parent": 1}.get(role)
                number = 2 + int(role.removeprefix("child")) if number is None else number
                names = {"constants": 0, "store": 2}
                at = role_start(self._program, number) + names.get(plain, 1)
            offset = self.w.let(f"load i64, ptr {element_i64(self.w, '%row', at)}, align 8")
            self._bases[array, role] = element(self.w, f"%{array}", offset, self._arrays.lanes[array])
        return self._bases[array, role]


def kernel_ir(
    program: RolledProgram,
    kernel: Kernel,
    results: list[tuple[Address, Scalar]],
    given: dict[int, Address],
    arrays: Arrays,
    lanes: int,
) -> Called:
    """Functions that write some results of a kernel, one after the other."""
    pieces, held = emit(lambda: _Piece(program, arrays), kernel.tape, list(results), lanes, given)
    texts = []
    for piece in pieces:
        taken = tuple(array for array in arrays.lanes if array in piece.used)
        parameters = {**dict.fromkeys(taken, POINTER), "row": "ptr noalias nocapture readonly"}
        if len(pieces) > 1 or held:
            parameters |= {HELD[1:]: POINTER}
        texts.append(PieceText(taken, function_text(parameters, piece.w, lanes)))
    return Called(tuple(texts), held)


class Kernels:
    """The kernels of a program as text; kernels of the same text, and pieces of them, are one function.

    A call hands on only what the kernel takes: a dozen arguments cost as much as a small kernel.
    """

    def __init__(self, prefix: str, lanes: int) -> None:
        self._prefix, self._lanes = prefix, lanes
        self._functions: dict[Called, str] = {}
        self._named: dict[str, Called] = {}

    def add(self, name: str, called: Called, instead_of: str = "") -> None:
        """Give a kernel a name to be called by; one that would not be much shorter than another is that other."""
        if instead_of and called.length > MUCH_SHORTER * self._named[instead_of].length:
            called = self._named[instead_of]
        self._named[name] = called
        if called.arrays:
            self._functions.setdefault(called, f"{self._prefix}_{name}")

    def call(self, name: str, row: str) -> str:
        """The statement that calls a kernel for the link of a row; nothing where it has nothing to write."""
        called = self._named[name]
        arguments = ", ".join(f"ptr %{array}" for array in called.arrays)
        return f"call void @{self._functions[called]}({arguments}, ptr {row})" if called.arrays else ""

    @property
    def text(self) -> str:
        known: dict[str, str] = {}
        return "".join(self._text(name, called, known) for called, name in self._functions.items())

    def _text(self, name: str, called: Called, known: dict[str, str]) -> str:
        """A function, or one that calls the pieces of a long one in turn.

        known  text of pieces of other kernels -> their names; new ones are added
        """
        if len(called.pieces) == 1 and not called.held:
            return called.pieces[0].text.replace(FUNCTION, f"@{name}")
        text = ""
        w, t = Writer(), vector_type(self._lanes)
        w.do(f"{HELD} = alloca {t}, i64 {max(called.held, 1)}, align 64")
        for k, piece in enumerate(called.pieces):
            if piece.text not in known:
                known[piece.text] = f"{name}_{k}"
                text += piece.text.replace(FUNCTION, f"@{name}_{k}")
            given = ", ".join(f"ptr %{array}" for array in (*piece.arrays, "row", HELD[1:]))
            w.do(f"call void @{known[piece.text]}({given})")
        parameters = {**dict.fromkeys(called.arrays, POINTER), "row": POINTER}
        return text + function_text(parameters, w, self._lanes).replace(FUNCTION, f"@{name}")


ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }\n'


def loop_ir(
    program: RolledProgram,
    name: str,
    kernels: Kernels,
    arrays: Arrays,
    *,
    kind: str = "",
    still: bool = False,
    ahead: bool = False,
) -> str:
    """All passes over the links, calling each link's kernel of a kind; with ``ahead`` they ask for data on the way.

    A tangent program takes the first link that the directions move: links before it have no tangents on the way out,
    until a pass has come back from the tips. With ``still`` it also takes which links are only carried along.
    """
    lines: list[str] = []
    length = row_length(program)
    before, came_back = "entry", False
    for p, each in enumerate(program.passes):
        loop, end = f"pass{p}", f"done{p}"
        index = f"%i{p}"
        inward = each.direction == "inward"
        came_back = came_back or inward
        start = "%first" if program.seeds and not came_back else "0"
        lines += [
            f"  br label %{loop}",
            f"{loop}:",
            f"  %k{p} = phi i64 [ {start}, %{before} ], [ %n{p}, %next{p} ]",
            f"  %b{p} = sub i64 %links, 1",
            f"  {index} = {f'sub i64 %b{p}, %k{p}' if inward else f'add i64 %k{p}, 0'}",
            f"  %o{p} = mul i64 {index}, {length}",
            f"  %row{p} = getelementptr inbounds i64, ptr %rows, i64 %o{p}",
        ]
        if ahead:
            lines += [
                f"  %u{p} = icmp eq ptr %{AHEAD}, null",
                f"  br i1 %u{p}, label %go{p}, label %ask{p}",
                f"ask{p}:",
                f"  call void @{AHEAD}(ptr %{AHEAD})",
                f"  br label %go{p}",
                f"go{p}:",
            ]
        lines += _dispatch(each, p, kernels, kind, index if still else "")
        lines += [
            f"next{p}:",
            f"  %n{p} = add i64 %k{p}, 1",
            f"  %c{p} = icmp slt i64 %n{p}, %links",
            f"  br i1 %c{p}, label %{loop}, label %{end}",
            f"{end}:",
        ]
        before = end
    parameters = arrays.parameters | ({"still": POINTER} if still else {}) | ({AHEAD: POINTER} if ahead else {})
    signature = ", ".join(f"{kind} %{argument}" for argument, kind in parameters.items())
    return f"define void @{name}({signature}) #0 {{\nentry:\n" + "\n".join(lines) + "\n  ret void\n}\n"


def _dispatch(each: LoopPass, p: int, kernels: Kernels, kind: str, still: str) -> list[str]:
    """Call a link's kernel; ``still`` is the link's index where kernels of links at rest are to be told apart."""
    kinds = (kind, "still_") if still else (kind,)
    names = [f"{kind}{each.name}_{k}" for kind in kinds for k in range(len(each.kernels))]
    calls = [kernels.call(name, f"%row{p}") for name in names]
    if len(calls) == 1:
        return [f"  {calls[0]}", f"  br label %next{p}"]
    cases = " ".join(f"i64 {k}, label %p{p}k{k}" for k in range(1, len(calls)))
    lines = [
        f"  %a{p} = getelementptr inbounds i64, ptr %row{p}, i64 {p}",
        f"  %w{p} = load i64, ptr %a{p}, align 8",
    ]
    which = f"%w{p}"
    if still:
        lines += [
            f"  %sa{p} = getelementptr inbounds i64, ptr %still, i64 {still}",
            f"  %sw{p} = load i64, ptr %sa{p}, align 8",
            f"  %sk{p} = mul i64 %sw{p}, {len(each.kernels)}",
            f"  %ws{p} = add i64 %w{p}, %sk{p}",
        ]
        which = f"%ws{p}"
    lines.append(f"  switch i64 {which}, label %p{p}k0 [ {cases} ]")
    for k, call in enumerate(calls):
        lines += [f"p{p}k{k}:", f"  {call}", f"  br label %next{p}"]
    return lines


def program_ir(
    program: RolledProgram, lanes: int, *, still: bool = False, own_constants: bool = False, ahead: bool = False
) -> tuple[str, str]:
    """Kernels and loop for one lane count: (assembly, name of the loop function).

    Lanes are states of one robot, or with ``own_constants`` of robots of one structure.
    A tangent program has two loops: NAME_primal computes and saves values once, NAME the tangents of a block, with
    ``still`` by shorter kernels for links that a block only carries along.
    """
    arrays = Arrays.of(program, lanes, own=own_constants)
    prefix = loop_name(program.name, program.seeds, lanes)
    kernels = Kernels(prefix, lanes)
    for each in program.passes:
        for k, kernel in enumerate(each.kernels):
            name, saved = f"{each.name}_{k}", kernel.saved
            values = [(address, x) for address, x in kernel.results if not address.is_tangent]
            moving = [(address, x) for address, x in kernel.results if address.is_tangent]
            if not program.seeds:
                kernels.add(name, kernel_ir(program, kernel, values, {}, arrays, lanes))
                continue
            values += [(address, kernel.tape.nodes[i]) for i, address in saved.items()]
            kernels.add(f"primal_{name}", kernel_ir(program, kernel, values, {}, arrays, lanes))
            kernels.add(name, kernel_ir(program, kernel, moving, saved, arrays, lanes))
            if still:
                carried = kernel_ir(program, kernel, kernel.still_results, saved, arrays, lanes)
                kernels.add(f"still_{name}", carried, instead_of=name)
    parts = [kernels.text]
    if program.seeds:
        parts.append(loop_ir(program, f"{prefix}_primal", kernels, arrays, kind="primal_"))
    parts.append(loop_ir(program, prefix, kernels, arrays, still=still, ahead=ahead))
    return "".join(parts), prefix


def loop_name(program: str, seeds: tuple[str, ...], lanes: int) -> str:
    """The name of the loop over all links of a program."""
    return f"{program}{'_d_' + '_'.join(seeds) if seeds else ''}_{lanes}"


def batch_ir(program: RolledProgram, name: str, lanes: int) -> str:
    """States in rows of plain arrays: gather a group into lanes, run the loop, scatter the results."""
    arrays = Arrays.of(program, lanes)
    w, ahead, sizes = Flow(), Ahead(program.inputs), ("%size", "%outputs")
    group = w.variable("i64", "0")
    last = w.iadd("%count", -1)
    told = ahead.begin(w, w.imul("%links", len(program.passes)), sizes, lanes)
    with w.loop(lambda: w.iless(w.get("i64", group), "%count")):
        first = w.get("i64", group)
        states = []
        for k in range(lanes):
            # lanes beyond the end repeat the last state
            state = w.iadd(first, k)
            states.append(w.let(f"select i1 {w.iless(state, '%count')}, i64 {state}, i64 {last}"))
        rows_to_lanes(w, {f"%{array}": f"%{array}_lanes" for array in program.inputs}, "%size", states, lanes)
        held = [f"%{n}_lanes" if n in program.inputs or n == "out" else f"%{n}" for n in arrays.lanes]
        following = w.iadd(first, lanes)
        ahead.set(w, following, sizes)
        w.do(f"call void @{name}({', '.join(f'ptr {p}' for p in (*held, '%rows'))}, i64 %links, ptr {told})")
        lanes_to_rows(w, "%out_lanes", "%out", "%outputs", states, lanes)
        w.put("i64", following, group)
    signature = ", ".join(f"{kind} %{argument}" for argument, kind in batch_parameters(program).items())
    return w.text(f"{name}_batch", signature)


def has_still_links(program: RolledProgram) -> bool:
    """Whether blocks of unit directions leave links of the program at rest."""
    return bool(program.seeds) and len(program.parents) > 1


def jacobian_ir(program: RolledProgram, name: str, lanes: int) -> str:
    """Unit directions of the one seeded input, in blocks of lanes; columns go to a row-major matrix.

    The rows of the matrix are padded to whole blocks. The directions are a table of zeros with unit rows in its
    middle: shifted by the block, the unit rows stand at the block's directions.
    """
    (seed,) = program.seeds
    t = vector_type(lanes)
    still = has_still_links(program)
    arrays = Arrays.of(program, lanes)
    record = role_start(program, 0) + ROLE_FIELDS.index("record")
    w = Flow()
    block = w.variable("i64", "0")
    first = w.variable("i64", "0")
    at_rest = w.variable("ptr", "%still") if still else ""

    def clear(array: str, start: str, stop: str) -> None:
        with w.repeat(w.let(f"sub i64 {stop}, {start}")) as i:
            w.do(f"store {t} zeroinitializer, ptr {element(w, f'%{array}', w.iadd(start, i), lanes)}, align 8")

    def record_start(link: str) -> str:
        at = w.iadd(w.imul(link, row_length(program)), record)
        return w.get("i64", w.let(f"getelementptr inbounds i64, ptr %rows, i64 {at}"))

    def call(loop: str, first: str, units: str, *more: str) -> None:
        own = {"first": first, f"d{seed}": units}
        listed = [f"{kind.split()[0]} {own.get(p, f'%{p}')}" for p, kind in arrays.parameters.items()]
        w.do(f"call void @{loop}({', '.join([*listed, *more])})")

    # a pass on the way out leaves the outputs of the links that it skips
    first_inward = next((p for p, each in enumerate(program.passes) if each.direction == "inward"), len(program.passes))
    skips_outputs = any(kernel.outputs for each in program.passes[:first_inward] for kernel in each.kernels)
    row = w.imul(w.let(f"udiv i64 {w.iadd('%directions', lanes - 1)}, {lanes}"), lanes)
    call(f"{name}_primal", "0", f"%d{seed}")
    with w.loop(lambda: w.iless(w.get("i64", block), "%directions")):
        b = w.get("i64", block)
        units = element(w, f"%d{seed}", w.let(f"sub i64 %directions, {b}"), lanes)
        # links before the first that moves keep zero tangents on the way out
        start = w.get("i64", w.let(f"getelementptr inbounds i64, ptr %owners, i64 {b}"))
        before = w.get("i64", first)
        clear("dstore", record_start(before), record_start(start))
        if skips_outputs:
            clear("dout", "0", "%outputs")
        w.put("i64", start, first)
        if still:
            here = w.get("ptr", at_rest)
            call(name, start, units, f"ptr {here}")
            w.put("ptr", w.let(f"getelementptr inbounds i64, ptr {here}, i64 %links"), at_rest)
        else:
            call(name, start, units)
        with w.repeat("%outputs") as r:
            value = w.let(f"load {t}, ptr {element(w, '%dout', r, lanes)}, align 64")
            w.do(f"store {t} {value}, ptr {w.at('%matrix', w.iadd(w.imul(r, row), b))}, align 64")
        w.put("i64", w.iadd(b, lanes), block)
    signature = ", ".join(f"{kind} %{argument}" for argument, kind in jacobian_parameters(program, lanes).items())
    return w.text(f"{name}_jacobian", signature)


def entry_ir(name: str, parameters: dict[str, str]) -> str:
    """``NAME_call(context)``: a function of one pointer to an array of its arguments."""
    w = Flow()
    values = []
    for k, kind in enumerate(parameters.values()):
        plain = kind.split()[0]
        values.append(f"{plain} {w.get(plain, element_i64(w, '%context', k))}")
    with w.flushed():
        w.do(f"call void @{name}({', '.join(values)})")
    return w.text(f"{name}_call", "ptr %context")


def batch_parameters(program: RolledProgram) -> dict[str, str]:
    """Arguments of a batch, in order."""
    pointers = ["constants", "gravity", *program.inputs, *(f"{n}_lanes" for n in program.inputs)]
    pointers += ["store", "out_lanes", "out", "rows"]
    numbers = ("links", "count", "size", "outputs")
    return {**dict.fromkeys(pointers, POINTER), **dict.fromkeys(numbers, "i64")}


def jacobian_parameters(program: RolledProgram, lanes: int) -> dict[str, str]:
    """Arguments of a Jacobian, in order."""
    held = {name: kind for name, kind in Arrays.of(program, lanes).parameters.items() if name != "first"}
    pointers = dict.fromkeys(("owners", "still", "matrix"), POINTER)
    return {**held, **pointers, "directions": "i64", "outputs": "i64"}


def module_ir(program: RolledProgram, mode: str, lanes: int) -> tuple[str, str]:
    """A complete module and the name of its entry.

    ``mode``: "single" (one state), "batch" (many states, a group of lanes at a time) or "jacobian" (all unit
    directions of the seeded input, a group of lanes at a time).
    """
    width = 1 if mode == "single" else lanes
    parts = [prelude([program], width)]
    text, name = program_ir(program, width, still=has_still_links(program), ahead=mode == "batch")
    parts.append(text)
    parameters = Arrays.of(program, width).parameters
    if mode == "batch":
        parts += [transposition_declarations(lanes), Ahead(program.inputs).text, batch_ir(program, name, lanes)]
        name, parameters = f"{name}_batch", batch_parameters(program)
    elif mode == "jacobian":
        parts.append(jacobian_ir(program, name, lanes))
        name, parameters = f"{name}_jacobian", jacobian_parameters(program, lanes)
    parts.append(entry_ir(name, parameters))
    parts.append(ATTRIBUTES)
    return "".join(parts), f"{name}_call"
