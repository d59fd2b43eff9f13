"""LLVM modules of rolled programs: kernels, the loop over the links, batches of states, blocks of tangents.

The number of links and all offsets are data (``rows``), so that one compiled module serves every robot that is made
of the same classes of links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.engine.llvm_ir import (
    Writer,
    declarations,
    element,
    emit,
    function,
    library,
    stumpff_orders,
    vector_type,
)
from pliant.engine.rolled import Address, Kernel, LoopPass, RolledProgram

ROLE_FIELDS = ("constants", "coordinates", "record")


def row_length(program: RolledProgram) -> int:
    """Entries per link: a kernel number per pass, the output's start, three offsets per role."""
    roles = 2 + max((len(c) for c in program.children), default=0)
    return len(program.passes) + 1 + len(ROLE_FIELDS) * roles


def rows(program: RolledProgram) -> NDArray[np.int64]:
    """The table that the compiled loops read: which kernel, and where the data of a link and its neighbours are."""
    table = np.zeros((len(program.parents), row_length(program)), dtype=np.int64)
    n_passes = len(program.passes)
    for i, row in enumerate(table):
        row[:n_passes] = [each.kernel_of[i] for each in program.passes]
        row[n_passes] = program.output_start[i]
        for k, j in enumerate((i, program.parents[i], *program.children[i])):
            if j >= 0:
                start = n_passes + 1 + len(ROLE_FIELDS) * k
                offsets = (program.constant_start[j], program.coordinate_start[j], program.record_start[j])
                row[start : start + 3] = offsets
    return table


@dataclass(frozen=True, slots=True)
class Arrays:
    """The arrays of a program in call order, each with its number of lanes."""

    lanes: dict[str, int]

    @classmethod
    def of(cls, program: RolledProgram, lanes: int) -> Arrays:
        primal = 1 if program.seeds else lanes
        held = {"constants": 1, "gravity": 1}
        held.update(dict.fromkeys(program.inputs, primal))
        held.update({f"d{seed}": lanes for seed in program.seeds})
        held["store"] = primal
        if program.seeds:
            held["dstore"] = lanes
        held["dout" if program.seeds else "out"] = lanes
        return cls(held)

    @property
    def parameters(self) -> dict[str, str]:
        return {
            **dict.fromkeys(self.lanes, "ptr noalias nocapture"),
            "rows": "ptr noalias nocapture",
            "links": "i64",
        }

    @property
    def call(self) -> str:
        return ", ".join(f"{kind.split()[0]} %{name}" for name, kind in self.parameters.items())


def kernel_ir(program: RolledProgram, kernel: Kernel, name: str, arrays: Arrays, lanes: int) -> str:
    """One kernel; ``%row`` is the link's line of the table."""
    w = Writer()
    bases: dict[tuple[str, str], str] = {}
    n_passes = len(program.passes)

    def base(array: str, role: str) -> str:
        if not role:
            return f"%{array}"
        if (array, role) not in bases:
            plain = array.removeprefix("d") if array.startswith("d") else array
            if plain == "out":
                at = n_passes
            else:
                number = {"own": 0, "parent": 1}.get(role)
                number = 2 + int(role.removeprefix("child")) if number is None else number
                names = {"constants": 0, "store": 2}
                at = n_passes + 1 + len(ROLE_FIELDS) * number + names.get(plain, 1)
            offset = w.let(f"load i64, ptr {element_i64(w, '%row', at)}, align 8")
            bases[array, role] = element(w, f"%{array}", offset, arrays.lanes[array])
        return bases[array, role]

    def load(symbol: object) -> tuple[str, int]:
        assert isinstance(symbol, Address)
        held = arrays.lanes[symbol.array]
        return element(w, base(symbol.array, symbol.role), symbol.index, held), held

    # addresses of results first, values later: pointers are cheap, live values are not
    results = [(*load(address), value) for address, value in kernel.results]
    emit(w, kernel.tape, results, load, lanes)
    parameters = {
        **dict.fromkeys(arrays.lanes, "ptr noalias nocapture"),
        "row": "ptr noalias nocapture readonly",
    }
    return function(name, parameters, w, "internal")


def element_i64(w: Writer, base: str, index: int) -> str:
    return base if index == 0 else w.let(f"getelementptr inbounds i64, ptr {base}, i64 {index}")


def loop_ir(program: RolledProgram, name: str, prefix: str, arrays: Arrays) -> str:
    """All passes over the links, calling each link's kernel."""
    lines: list[str] = []
    length = row_length(program)
    arguments = ", ".join(f"ptr %{array}" for array in arrays.lanes)
    before = "entry"
    for p, each in enumerate(program.passes):
        loop, end = f"pass{p}", f"done{p}"
        index = f"%i{p}"
        inward = each.direction == "inward"
        lines += [
            f"  br label %{loop}",
            f"{loop}:",
            f"  %k{p} = phi i64 [ 0, %{before} ], [ %n{p}, %next{p} ]",
            f"  %b{p} = sub i64 %links, 1",
            f"  {index} = {f'sub i64 %b{p}, %k{p}' if inward else f'add i64 %k{p}, 0'}",
            f"  %o{p} = mul i64 {index}, {length}",
            f"  %row{p} = getelementptr inbounds i64, ptr %rows, i64 %o{p}",
        ]
        lines += _dispatch(each, p, prefix, arguments)
        lines += [
            f"next{p}:",
            f"  %n{p} = add i64 %k{p}, 1",
            f"  %c{p} = icmp slt i64 %n{p}, %links",
            f"  br i1 %c{p}, label %{loop}, label %{end}",
            f"{end}:",
        ]
        before = end
    signature = ", ".join(f"{kind} %{argument}" for argument, kind in arrays.parameters.items())
    return f"define void @{name}({signature}) #0 {{\nentry:\n" + "\n".join(lines) + "\n  ret void\n}\n"


def _dispatch(each: LoopPass, p: int, prefix: str, arguments: str) -> list[str]:
    calls = [f"  call void @{prefix}_{each.name}_{k}({arguments}, ptr %row{p})" for k in range(len(each.kernels))]
    if len(calls) == 1:
        return [*calls, f"  br label %next{p}"]
    cases = " ".join(f"i64 {k}, label %p{p}k{k}" for k in range(1, len(calls)))
    lines = [
        f"  %a{p} = getelementptr inbounds i64, ptr %row{p}, i64 {p}",
        f"  %w{p} = load i64, ptr %a{p}, align 8",
        f"  switch i64 %w{p}, label %p{p}k0 [ {cases} ]",
    ]
    for k, call in enumerate(calls):
        lines += [f"p{p}k{k}:", call, f"  br label %next{p}"]
    return lines


def program_ir(program: RolledProgram, lanes: int) -> tuple[str, str]:
    """Kernels and loop for one lane count: (assembly, name of the loop function)."""
    arrays = Arrays.of(program, lanes)
    prefix = f"{program.name}{'_d_' + '_'.join(program.seeds) if program.seeds else ''}_{lanes}"
    parts = []
    for each in program.passes:
        for k, kernel in enumerate(each.kernels):
            parts.append(kernel_ir(program, kernel, f"{prefix}_{each.name}_{k}", arrays, lanes))
    parts.append(loop_ir(program, prefix, prefix, arrays))
    return "".join(parts), prefix


def batch_ir(program: RolledProgram, name: str, lanes: int) -> str:
    """States in rows of plain arrays: gather a group into lanes, run the loop, scatter the results."""
    t = vector_type(lanes)
    arrays = Arrays.of(program, lanes)
    lines = ["  br label %group", "group:", "  %g = phi i64 [ 0, %entry ], [ %g1, %next ]"]
    lines += ["  %last = sub i64 %count, 1"]
    for k in range(lanes):
        # lanes beyond the end repeat the last state
        lines += [
            f"  %s{k} = add i64 %g, {k}",
            f"  %m{k} = icmp slt i64 %s{k}, %count",
            f"  %r{k} = select i1 %m{k}, i64 %s{k}, i64 %last",
            f"  %x{k} = mul i64 %r{k}, %size",
            f"  %y{k} = mul i64 %r{k}, %outputs",
        ]
    before = "group"
    for name_in in program.inputs:
        lines += _gather(name_in, before, lanes, t)
        before = f"{name_in}_end"
    call = ", ".join(f"ptr %{n}" + ("_lanes" if n in program.inputs or n == "out" else "") for n in arrays.lanes)
    lines.append(f"  call void @{name}({call}, ptr %rows, i64 %links)")
    lines += _scatter(before, lanes, t)
    lines += [
        "  br label %next",
        "next:",
        f"  %g1 = add i64 %g, {lanes}",
        "  %more = icmp slt i64 %g1, %count",
    ]
    lines += ["  br i1 %more, label %group, label %end", "end:", "  ret void"]
    signature = ", ".join(f"{kind} %{argument}" for argument, kind in batch_parameters(program).items())
    return f"define void @{name}_batch({signature}) #0 {{\nentry:\n" + "\n".join(lines) + "\n}\n"


def _gather(array: str, before: str, lanes: int, t: str) -> list[str]:
    lines = [
        f"  br label %{array}_loop",
        f"{array}_loop:",
        f"  %{array}_i = phi i64 [ 0, %{before} ], [ %{array}_i1, %{array}_loop ]",
    ]
    vector = "undef"
    for k in range(lanes):
        lines += [
            f"  %{array}_o{k} = add i64 %x{k}, %{array}_i",
            f"  %{array}_p{k} = getelementptr inbounds double, ptr %{array}, i64 %{array}_o{k}",
            f"  %{array}_v{k} = load double, ptr %{array}_p{k}, align 8",
            f"  %{array}_w{k} = insertelement {t} {vector}, double %{array}_v{k}, i32 {k}",
        ]
        vector = f"%{array}_w{k}"
    lines += [
        f"  %{array}_q = getelementptr inbounds {t}, ptr %{array}_lanes, i64 %{array}_i",
        f"  store {t} {vector}, ptr %{array}_q, align 8",
        f"  %{array}_i1 = add i64 %{array}_i, 1",
        f"  %{array}_c = icmp slt i64 %{array}_i1, %size",
        f"  br i1 %{array}_c, label %{array}_loop, label %{array}_end",
        f"{array}_end:",
    ]
    return lines


def _scatter(before: str, lanes: int, t: str) -> list[str]:
    lines = [
        "  br label %out_loop",
        "out_loop:",
        f"  %out_i = phi i64 [ 0, %{before} ], [ %out_i1, %out_loop ]",
        f"  %out_q = getelementptr inbounds {t}, ptr %out_lanes, i64 %out_i",
        f"  %out_v = load {t}, ptr %out_q, align 8",
    ]
    for k in reversed(range(lanes)):
        # from the last lane down, so that a repeated state ends with the value of its own lane
        lines += [
            f"  %out_e{k} = extractelement {t} %out_v, i32 {k}",
            f"  %out_o{k} = add i64 %y{k}, %out_i",
            f"  %out_p{k} = getelementptr inbounds double, ptr %out, i64 %out_o{k}",
            f"  store double %out_e{k}, ptr %out_p{k}, align 8",
        ]
    lines += [
        "  %out_i1 = add i64 %out_i, 1",
        "  %out_c = icmp slt i64 %out_i1, %outputs",
        "  br i1 %out_c, label %out_loop, label %out_end",
        "out_end:",
    ]
    return lines


def jacobian_ir(program: RolledProgram, name: str, lanes: int) -> str:
    """Unit directions of the one seeded input, in blocks of lanes; columns go to a row-major matrix."""
    (seed,) = program.seeds
    t = vector_type(lanes)
    arrays = Arrays.of(program, lanes)
    zero = "zeroinitializer"
    lines = [
        "  br label %block",
        "block:",
        "  %b = phi i64 [ 0, %entry ], [ %b1, %next ]",
        "  br label %clear",
        "clear:",
    ]
    lines += [
        "  %i = phi i64 [ 0, %block ], [ %i1, %clear ]",
        f"  %p = getelementptr inbounds {t}, ptr %d{seed}, i64 %i",
        f"  store {t} {zero}, ptr %p, align 8",
        "  %i1 = add i64 %i, 1",
        "  %ic = icmp slt i64 %i1, %directions",
        "  br i1 %ic, label %clear, label %seed",
        "seed:",
        "  %left = sub i64 %directions, %b",
        f"  %few = icmp slt i64 %left, {lanes}",
        f"  %width = select i1 %few, i64 %left, i64 {lanes}",
        "  br label %unit",
        "unit:",
        "  %l = phi i64 [ 0, %seed ], [ %l1, %unit ]",
        "  %j = add i64 %b, %l",
        f"  %jl = mul i64 %j, {lanes}",
        "  %at = add i64 %jl, %l",
        f"  %u = getelementptr inbounds double, ptr %d{seed}, i64 %at",
        f"  store double {1.0:e}, ptr %u, align 8",
        "  %l1 = add i64 %l, 1",
        "  %lc = icmp slt i64 %l1, %width",
        "  br i1 %lc, label %unit, label %go",
        "go:",
        f"  call void @{name}({arrays.call})",
        "  br label %row_loop",
        "row_loop:",
        "  %r = phi i64 [ 0, %go ], [ %r1, %row_done ]",
        "  %rn = mul i64 %r, %directions",
        f"  %rl = mul i64 %r, {lanes}",
        "  br label %copy",
        "copy:",
        "  %k = phi i64 [ 0, %row_loop ], [ %k1, %copy ]",
        "  %from = add i64 %rl, %k",
        "  %fp = getelementptr inbounds double, ptr %dout, i64 %from",
        "  %x = load double, ptr %fp, align 8",
        "  %c0 = add i64 %rn, %b",
        "  %c1 = add i64 %c0, %k",
        "  %tp = getelementptr inbounds double, ptr %matrix, i64 %c1",
        "  store double %x, ptr %tp, align 8",
        "  %k1 = add i64 %k, 1",
        "  %kc = icmp slt i64 %k1, %width",
        "  br i1 %kc, label %copy, label %row_done",
        "row_done:",
        "  %r1 = add i64 %r, 1",
        "  %rc = icmp slt i64 %r1, %outputs",
        "  br i1 %rc, label %row_loop, label %next",
        "next:",
        f"  %b1 = add i64 %b, {lanes}",
        "  %more = icmp slt i64 %b1, %directions",
        "  br i1 %more, label %block, label %end",
        "end:",
        "  ret void",
    ]
    parameters = jacobian_parameters(program, lanes)
    signature = ", ".join(f"{kind} %{argument}" for argument, kind in parameters.items())
    return f"define void @{name}_jacobian({signature}) #0 {{\nentry:\n" + "\n".join(lines) + "\n}\n"


def entry_ir(name: str, parameters: dict[str, str], flush_denormals: bool) -> str:
    """``NAME_call(context)``: a function of one pointer to an array of its arguments.

    Elastic states decay into denormal numbers, which are tens of times slower: they are flushed to zero inside and
    the caller's setting is restored.
    """
    lines = []
    for k, (argument, kind) in enumerate(parameters.items()):
        plain = kind.split()[0]
        lines += [
            f"  %at_{argument} = getelementptr inbounds i64, ptr %context, i64 {k}",
            f"  %{argument} = load {plain}, ptr %at_{argument}, align 8",
        ]
    call = ", ".join(f"{kind.split()[0]} %{argument}" for argument, kind in parameters.items())
    run = [f"  call void @{name}({call})"]
    if flush_denormals:
        run = [
            "  %before = alloca i32, align 4",
            "  %inside = alloca i32, align 4",
            "  call void @llvm.x86.sse.stmxcsr(ptr %before)",
            "  %old = load i32, ptr %before, align 4",
            f"  %new = or i32 %old, {0x8040}",
            "  store i32 %new, ptr %inside, align 4",
            "  call void @llvm.x86.sse.ldmxcsr(ptr %inside)",
            *run,
            "  call void @llvm.x86.sse.ldmxcsr(ptr %before)",
        ]
    body = "\n".join([*lines, *run])
    return f"define void @{name}_call(ptr %context) #0 {{\nentry:\n{body}\n  ret void\n}}\n"


MXCSR = "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n"


def batch_parameters(program: RolledProgram) -> dict[str, str]:
    """Arguments of a batch, in order."""
    pointers = ["constants", "gravity", *program.inputs, *(f"{n}_lanes" for n in program.inputs)]
    pointers += ["store", "out_lanes", "out", "rows"]
    numbers = ("links", "count", "size", "outputs")
    return {**dict.fromkeys(pointers, "ptr noalias nocapture"), **dict.fromkeys(numbers, "i64")}


def jacobian_parameters(program: RolledProgram, lanes: int) -> dict[str, str]:
    """Arguments of a Jacobian, in order."""
    extra = {"matrix": "ptr noalias nocapture", "directions": "i64", "outputs": "i64"}
    return {**Arrays.of(program, lanes).parameters, **extra}


def module_ir(program: RolledProgram, mode: str, lanes: int, flush_denormals: bool) -> tuple[str, str]:
    """A complete module and the name of its entry.

    ``mode``: "single" (one state), "batch" (many states, a group of lanes at a time), "jacobian" (all unit
    directions of the seeded input, a group of lanes at a time) or "tangent" (the directions that the caller gives).
    """
    tapes = [kernel.tape for each in program.passes for kernel in each.kernels]
    width = 1 if mode == "single" else lanes
    counts = {1, width}
    parts = [declarations(counts), MXCSR if flush_denormals else ""]
    parts += [library(n, stumpff_orders(tapes)) for n in sorted(counts)]
    text, name = program_ir(program, width)
    parts.append(text)
    parameters = Arrays.of(program, width).parameters
    if mode == "batch":
        parts.append(batch_ir(program, name, lanes))
        name, parameters = f"{name}_batch", batch_parameters(program)
    elif mode == "jacobian":
        parts.append(jacobian_ir(program, name, lanes))
        name, parameters = f"{name}_jacobian", jacobian_parameters(program, lanes)
    parts.append(entry_ir(name, parameters, flush_denormals))
    parts.append('attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }\n')
    return "".join(parts), f"{name}_call"
