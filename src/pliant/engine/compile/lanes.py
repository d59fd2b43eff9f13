"""States between rows, as users keep them, and lanes, as vector code wants them: blocks transposed in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import element, vector_type

LINE = 8
"""Numbers of a cache line."""
AHEAD = "ahead"
"""The function that asks for lines of the next group of states, and the array of integers that it is told by."""
FIELDS = 3
"""Numbers that it is told of rows of inputs, and of those of outputs."""
SMALL = 256
"""Numbers of a group: hardware fetches fewer in time by itself."""


def transposition_declarations(lanes: int) -> str:
    """Loads and stores of parts of a vector."""
    t, bits = vector_type(lanes), f"<{lanes} x i1>"
    load = f"declare {t} @llvm.masked.load.v{lanes}f64.p0(ptr, i32, {bits}, {t})\n"
    return load + f"declare void @llvm.masked.store.v{lanes}f64.p0({t}, ptr, i32, {bits})\n"


def padded(size: int, lanes: int) -> int:
    """A size in whole blocks of lanes."""
    return -(-size // lanes) * lanes


def lane_numbers(size: int, lanes: int) -> int:
    """Numbers of a lane array that rows can be moved to in blocks; rows without entries move one, too."""
    return max(lanes, padded(size, lanes)) * lanes


def rows_to_lanes(w: Flow, moved: dict[str, str], size: str, states: list[str], lanes: int) -> None:
    """target[i][k] = rows[states[k]][i] for all i, for arrays of rows and their targets."""
    t = vector_type(lanes)
    offsets = [w.imul(state, size) for state in states]
    starts = {target: [w.at(rows, offset) for offset in offsets] for rows, target in moved.items()}
    for base, mask in _blocks(w, size, lanes):
        for target, places in starts.items():
            vectors = []
            for start in places:
                place = w.at(start, base)
                part = f"call {t} @llvm.masked.load.v{lanes}f64.p0(ptr {place}, i32 8, {mask}, {t} zeroinitializer)"
                vectors.append(w.let(part if mask else f"load {t}, ptr {place}, align 8"))
            for k, vector in enumerate(_transposed(w, vectors, lanes)):
                w.do(f"store {t} {vector}, ptr {element(w, target, w.iadd(base, k), lanes)}, align {8 * lanes}")


def lanes_to_rows(w: Flow, source: str, rows: str, size: str, states: list[str], lanes: int) -> None:
    """rows[states[k]][i] = source[i][k] for all i."""
    t = vector_type(lanes)
    starts = [w.at(rows, w.imul(state, size)) for state in states]
    for base, mask in _blocks(w, size, lanes):
        vectors = [
            w.let(f"load {t}, ptr {element(w, source, w.iadd(base, k), lanes)}, align {8 * lanes}")
            for k in range(lanes)
        ]
        for start, vector in zip(starts, _transposed(w, vectors, lanes), strict=True):
            place = w.at(start, base)
            part = f"call void @llvm.masked.store.v{lanes}f64.p0({t} {vector}, ptr {place}, i32 8, {mask})"
            w.do(part if mask else f"store {t} {vector}, ptr {place}, align 8")


def _blocks(w: Flow, size: str, lanes: int) -> Iterator[tuple[str, str]]:
    """First entry of every block, and for a block that is all a short row has, which of its entries exist.

    Parts of a vector are slow to store; the last block of a longer row reaches back into the one before it.
    """
    last = w.let(f"sub i64 {size}, {lanes}")
    short = w.iless(last, 0)
    with w.when(w.negated(short)), w.repeat(w.let(f"udiv i64 {w.iadd(size, lanes - 1)}, {lanes}")) as block:
        base = w.imul(block, lanes)
        yield w.let(f"select i1 {w.iless(base, last)}, i64 {base}, i64 {last}"), ""
    with w.when(short):
        integers = f"<{lanes} x i64>"
        left = w.in_lanes(size, lanes, "i64")
        numbers = ", ".join(f"i64 {k}" for k in range(lanes))
        yield "0", f"<{lanes} x i1> " + w.let(f"icmp slt {integers} <{numbers}>, {left}")


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


class Ahead:
    """Asks memory for the next group of states while a group is computed, a few lines before every kernel.

    All lines at once would stand in the way: a core waits for a few dozen of them at a time, and hardware forgets a
    stream while a group is computed. What ``ahead`` is told, for rows of inputs and for those of outputs: how far it
    goes in a call, where it has come to, where it ends (all in numbers); and then where the rows begin.
    """

    def __init__(self, inputs: Sequence[str]) -> None:
        self._streams = [*inputs, "out"]

    @property
    def text(self) -> str:
        """The function; the last of the streams is written to."""
        w = Flow()
        for kind, streams in enumerate((range(len(self._streams) - 1), [len(self._streams) - 1])):
            far, come_to, end = (w.get("i64", _word(w, FIELDS * kind + k)) for k in range(FIELDS))
            stop = w.iadd(come_to, far)
            stop = w.let(f"select i1 {w.iless(stop, end)}, i64 {stop}, i64 {end}")
            here = w.variable("i64", come_to)
            with w.loop(lambda here=here, stop=stop: w.iless(w.get("i64", here), stop)):  # type: ignore[misc]
                at = w.get("i64", here)
                for k in streams:
                    line = w.at(w.get("ptr", _word(w, 2 * FIELDS + k)), at)
                    w.do(f"call void @llvm.prefetch.p0(ptr {line}, i32 {kind}, i32 3, i32 1)")
                w.put("i64", w.iadd(at, LINE), here)
            w.put("i64", w.get("i64", here), _word(w, FIELDS * kind + 1))
        text = w.text(AHEAD, f"ptr %{AHEAD}", attributes="internal")
        return f"declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n{text}"

    def begin(self, w: Flow, calls: str, sizes: tuple[str, str], lanes: int) -> str:
        """Before the first group: how far it goes in each call; where that stands, or null for small groups.

        sizes  of a row of inputs and of one of outputs
        """
        w.head.append(f"  %{AHEAD} = alloca [{2 * FIELDS + len(self._streams)} x i64], align 8")
        share = w.imul(calls, LINE)
        for kind, size in enumerate(sizes):
            end = w.imul(size, lanes)
            lines = w.let(f"udiv i64 {w.iadd(end, w.iadd(share, -1))}, {share}")
            w.put("i64", w.imul(lines, LINE), _word(w, FIELDS * kind))
            w.put("i64", end, _word(w, FIELDS * kind + 2))
        whole = w.iadd(w.imul(sizes[0], lanes * (len(self._streams) - 1)), w.imul(sizes[1], lanes))
        return w.let(f"select i1 {w.iless(whole, SMALL)}, ptr null, ptr %{AHEAD}")

    def set(self, w: Flow, group: str, sizes: tuple[str, str]) -> None:
        """The next group of states begins with this one."""
        for kind in (0, 1):
            w.put("i64", "0", _word(w, FIELDS * kind + 1))
        for k, stream in enumerate(self._streams):
            start = w.at(f"%{stream}", w.imul(group, sizes[stream == "out"]))
            w.put("ptr", start, _word(w, 2 * FIELDS + k))


def _word(w: Flow, k: int) -> str:
    return w.let(f"getelementptr inbounds i64, ptr %{AHEAD}, i64 {k}")
