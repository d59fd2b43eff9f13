"""LLVM assembly from tapes: scalar code, and code on vectors of lanes (states of a batch, or tangent directions).

A value is either one double (the same in all lanes) or one double per lane; arrays say which they hold.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container, Mapping

from pliant.engine.trace.tape import FROZEN, LEAVES, PIECEWISE, Node, Tape, live
from pliant.spatial.scalars import Scalar

PACK = 4
"""Angles in one vector; a processor with narrower registers takes two."""
OPCODES = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}


def number(x: float) -> str:
    """A double as LLVM writes it exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def vector_type(lanes: int) -> str:
    return "double" if lanes == 1 else f"<{lanes} x double>"


def splat(x: float, lanes: int) -> str:
    return number(x) if lanes == 1 else "<" + ", ".join([f"double {number(x)}"] * lanes) + ">"


class Writer:
    """Lines of one function body, with fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names = 0

    def let(self, expression: str) -> str:
        self.names += 1
        self.lines.append(f"  %t{self.names} = {expression}")
        return f"%t{self.names}"

    def do(self, statement: str) -> None:
        self.lines.append(f"  {statement}")


def emit(
    w: Writer,
    tape: Tape,
    results: list[tuple[str, int, Scalar]],
    load: Callable[[object], tuple[str, int]],
    lanes: int,
    given: Mapping[int, object] | None = None,
) -> None:
    """Write a tape: ``results`` are (pointer, lanes of the target, value), ``load`` gives (pointer, lanes).

    ``given`` maps entries of the tape to symbols under which their values can be loaded instead of computed.
    """
    given = given or {}
    value: dict[int, str] = {}
    wide: dict[int, bool] = {}
    splats: dict[int, str] = {}
    sincos: dict[int, tuple[str, str]] = {}
    order, packs = packed_angles(tape, live((x for _, _, x in results), given), given)

    def as_vector(i: int) -> str:
        if wide[i]:
            return value[i]
        if i not in splats:
            if tape.op[i] == "constant":
                splats[i] = splat(tape.a[i], lanes)
            else:
                t = vector_type(lanes)
                one = w.let(f"insertelement {t} undef, double {value[i]}, i32 0")
                splats[i] = w.let(f"shufflevector {t} {one}, {t} undef, <{lanes} x i32> zeroinitializer")
        return splats[i]

    def fetch(i: int) -> bool:
        """Have the value of an entry; whether it is one per lane."""
        # inputs are loaded where they are first used: registers are scarce
        if i not in value:
            pointer, held = load(given[i] if i in given else tape.a[i])
            value[i], wide[i] = w.let(f"load {vector_type(held)}, ptr {pointer}, align 8"), held > 1
        return wide[i]

    types = {False: "double", True: vector_type(lanes)}
    for i in order:
        op, a, b = tape.op[i], tape.a[i], tape.b[i]
        if op == "constant":
            value[i], wide[i] = number(a), False
            continue
        if op == "symbol" or i in given:
            continue
        by_lane = fetch(a)
        if b >= 0:
            by_lane = fetch(b) or by_lane
        wide[i], t = by_lane, types[by_lane]
        x = as_vector(a) if by_lane else value[a]
        if b >= 0:
            value[i] = w.let(f"{OPCODES[op]} contract {t} {x}, {as_vector(b) if by_lane else value[b]}")
        elif op == "negate":
            value[i] = w.let(f"fneg {t} {x}")
        elif op in ("sin", "cos"):
            if a not in sincos:
                together = [] if by_lane else [k for k in packs.get(a, ()) if not fetch(k)]
                sincos |= _sines(w, {k: value[k] for k in together} or {a: x}, lanes if by_lane else 1)
            value[i] = sincos[a][op == "cos"]
        elif op == FROZEN:
            value[i] = x
        elif op in PIECEWISE:
            zero, n = "zeroinitializer" if by_lane else number(0.0), lanes if by_lane else 1
            # what is not a number stays so
            under = w.let(f"fcmp ole {t} {x}, {zero}")
            above = x if op == "ramp" else splat(1.0, n)
            value[i] = w.let(f"select {'i1' if n == 1 else f'<{n} x i1>'} {under}, {t} {zero}, {t} {above}")
        else:
            n = lanes if by_lane else 1
            suffix = "f64" if n == 1 else f"v{n}f64"
            name = {"sqrt": f"llvm.sqrt.{suffix}", "tanh": f"tanh{n}"}.get(op, f"{op}_{n}")
            value[i] = w.let(f"call {t} @{name}({t} {x})")
    for pointer, held, x in results:
        t = vector_type(held)
        if type(x) is not Node:
            stored = splat(float(x), held)
        else:
            fetch(x.index)
            stored = as_vector(x.index) if held > 1 else value[x.index]
        w.do(f"store {t} {stored}, ptr {pointer}, align 8")


def packed_angles(tape: Tape, order: list[int], given: Container[int]) -> tuple[list[int], dict[int, list[int]]]:
    """Angles whose sines and cosines are found together, a vector register full, and an order in which they can be.

    Angles that need no other sine or cosine wait for each other, in fours: what they need comes first.
    """
    turns = [i for i in order if tape.op[i] in ("sin", "cos") and i not in given]
    turned = set(turns)
    for i in order if turns else ():
        if tape.op[i] not in LEAVES and i not in given and (tape.a[i] in turned or tape.b[i] in turned):
            turned.add(i)
    found = list(dict.fromkeys(tape.a[i] for i in turns if tape.a[i] not in turned))
    if len(found) < 2:
        return order, {}
    packs = {a: found[k : k + PACK] for k in range(0, len(found), PACK) for a in found[k : k + PACK]}
    out: dict[int, None] = {}
    for i in order:
        if tape.op[i] in ("sin", "cos") and tape.a[i] in packs and i not in given:
            before = live((tape.nodes[a] for a in packs[tape.a[i]] if a not in out), given)
            out.update(dict.fromkeys(before))
        out[i] = None
    return list(out), packs


def _sines(w: Writer, angles: dict[int, str], n: int) -> dict[int, tuple[str, str]]:
    """Sine and cosine of one angle of n lanes, or of several scalar ones in the lanes of a vector."""
    alone = len(angles) == 1
    width = n if alone else 2 if len(angles) == 2 else PACK
    t, x = vector_type(width), "zeroinitializer"
    for k, value in enumerate(angles.values()):
        x = value if alone else w.let(f"insertelement {t} {x}, double {value}, i32 {k}")
    pair = w.let(f"call {{ {t}, {t} }} @sincos{width}({t} {x})")
    s, c = (w.let(f"extractvalue {{ {t}, {t} }} {pair}, {k}") for k in (0, 1))
    if alone:
        return dict.fromkeys(angles, (s, c))
    places = {angle: [w.let(f"extractelement {t} {y}, i32 {k}") for y in (s, c)] for k, angle in enumerate(angles)}
    return {angle: (s, c) for angle, (s, c) in places.items()}


def element(w: Writer, base: str, index: int | str, lanes: int) -> str:
    """Pointer to an element of an array of doubles or of lanes."""
    if index == 0:
        return base
    return w.let(f"getelementptr inbounds {vector_type(lanes)}, ptr {base}, i64 {index}")


def function_text(arguments: Mapping[str, str], w: Writer, lanes: int) -> str:
    """A function that returns nothing, from the list of its arguments on.

    Vector code keeps its own frame: spilled registers lie on cache lines only in an aligned stack.
    """
    signature = ", ".join(f"{kind} %{argument}" for argument, kind in arguments.items())
    body = "\n".join(w.lines)
    frame = " alignstack(64)" if lanes > 1 else ""
    return f"({signature}) #0{frame} {{\nentry:\n{body}\n  ret void\n}}\n"
