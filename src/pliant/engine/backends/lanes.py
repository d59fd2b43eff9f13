"""States between rows, as users keep them, and lanes, as vector code wants them: blocks transposed in registers."""

from __future__ import annotations

from pliant.engine.backends.flow import Flow
from pliant.engine.backends.llvm_ir import element, vector_type

LINE = 8
"""Numbers of a cache line."""


def transposition_declarations(lanes: int) -> str:
    """Loads and stores of parts of a vector."""
    t, bits = vector_type(lanes), f"<{lanes} x i1>"
    load = f"declare {t} @llvm.masked.load.v{lanes}f64.p0(ptr, i32, {bits}, {t})\n"
    load += "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"
    return load + f"declare void @llvm.masked.store.v{lanes}f64.p0({t}, ptr, i32, {bits})\n"


def padded(size: int, lanes: int) -> int:
    """Entries of a lane array that blocks of lanes can be written to."""
    return -(-size // lanes) * lanes


def rows_to_lanes(w: Flow, rows: str, target: str, size: str, states: list[str], lanes: int) -> None:
    """target[i][k] = rows[states[k]][i] for all i."""
    t = vector_type(lanes)
    starts = [w.at(rows, w.imul(state, size)) for state in states]
    with w.repeat(_blocks(w, size, lanes)) as block:
        base, mask = _block(w, block, size, lanes)
        _prefetch(w, starts[0], size, base, lanes, to_write=False)
        vectors = []
        for start in starts:
            place = w.at(start, base)
            vectors.append(
                w.let(
                    f"call {t} @llvm.masked.load.v{lanes}f64.p0(ptr {place}, i32 8, <{lanes} x i1> {mask}, "
                    f"{t} zeroinitializer)"
                )
            )
        for k, vector in enumerate(_transposed(w, vectors, lanes)):
            w.do(f"store {t} {vector}, ptr {element(w, target, w.iadd(base, k), lanes)}, align 64")


def lanes_to_rows(w: Flow, source: str, rows: str, size: str, states: list[str], lanes: int) -> None:
    """rows[states[k]][i] = source[i][k] for all i."""
    t = vector_type(lanes)
    starts = [w.at(rows, w.imul(state, size)) for state in states]
    with w.repeat(_blocks(w, size, lanes)) as block:
        base, mask = _block(w, block, size, lanes)
        _prefetch(w, starts[0], size, base, lanes, to_write=True)
        vectors = [w.let(f"load {t}, ptr {element(w, source, w.iadd(base, k), lanes)}, align 64") for k in range(lanes)]
        for start, vector in zip(starts, _transposed(w, vectors, lanes), strict=True):
            w.do(
                f"call void @llvm.masked.store.v{lanes}f64.p0({t} {vector}, ptr {w.at(start, base)}, i32 8, "
                f"<{lanes} x i1> {mask})"
            )


def _prefetch(w: Flow, group: str, size: str, base: str, lanes: int, *, to_write: bool) -> None:
    """Ask for a part of the next group of states: hardware forgets a stream while a group is computed."""
    part = w.at(group, w.imul(w.iadd(size, base), lanes))
    for line in range(0, lanes * lanes, LINE):
        w.do(f"call void @llvm.prefetch.p0(ptr {w.at(part, line)}, i32 {int(to_write)}, i32 3, i32 1)")


def _blocks(w: Flow, size: str, lanes: int) -> str:
    return w.let(f"udiv i64 {w.iadd(size, lanes - 1)}, {lanes}")


def _block(w: Flow, block: str, size: str, lanes: int) -> tuple[str, str]:
    """First entry of a block, and which of its entries exist."""
    integers = f"<{lanes} x i64>"
    base = w.imul(block, lanes)
    one = w.let(f"insertelement {integers} undef, i64 {w.let(f'sub i64 {size}, {base}')}, i32 0")
    left = w.let(f"shufflevector {integers} {one}, {integers} undef, <{lanes} x i32> zeroinitializer")
    numbers = ", ".join(f"i64 {k}" for k in range(lanes))
    return base, w.let(f"icmp slt {integers} <{numbers}>, {left}")


def _transposed(w: Flow, rows: list[str], lanes: int) -> list[str]:
    """A square block of vectors transposed by rounds of pairwise shuffles."""
    t = vector_type(lanes)
    step = 1
    while step < lanes:
        out = list(rows)
        for i in range(lanes):
            if i & step:
                continue
            # entries whose bit `step` is clear come from row i, the others from its partner
            low = [k if not k & step else lanes + k - step for k in range(lanes)]
            high = [k + step if not k & step else lanes + k for k in range(lanes)]
            for place, mask in ((i, low), (i + step, high)):
                entries = ", ".join(f"i32 {m}" for m in mask)
                out[place] = w.let(f"shufflevector {t} {rows[i]}, {t} {rows[i + step]}, <{lanes} x i32> <{entries}>")
        rows = out
        step *= 2
    return rows
