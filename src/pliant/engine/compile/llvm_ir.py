"""LLVM assembly from tapes: scalar code, and code on vectors of lanes (states of a batch, or tangent directions).

A value is either one double (the same in all lanes) or one double per lane; arrays say which they hold.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Mapping, Sequence
from typing import Any, Protocol

from pliant.engine.compile.sums import SIDE_BY_SIDE, SUMS, LongSum, Products
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
        self.tables = ""
        """Definitions of constant arrays that the function reads; their names begin with that of the function."""

    def let(self, expression: str) -> str:
        self.names += 1
        self.lines.append(f"  %t{self.names} = {expression}")
        return f"%t{self.names}"

    def do(self, statement: str) -> None:
        self.lines.append(f"  {statement}")

    def in_lanes(self, value: str, lanes: int, kind: str = "double") -> str:
        """A value in all lanes of a vector."""
        t = f"<{lanes} x {kind}>"
        one = self.let(f"insertelement {t} undef, {kind} {value}, i32 0")
        return self.let(f"shufflevector {t} {one}, {t} undef, <{lanes} x i32> zeroinitializer")


class CodePiece(Protocol):
    """A function that is being written: its lines, and pointers to the arrays that it takes, with their lanes."""

    w: Writer

    def at(self, symbol: Any) -> tuple[str, int]: ...


FUNCTION = "@itself"
"""Stands for the name of a function until it has one."""
HELD = "%held"
"""The array in which the pieces of a long kernel hand values on."""


class Emitter:
    """Writes the straight pieces of a tape one after the other.

    slots  values that pieces hand on: entry -> the place where it is held, whether there is one value per lane
    sums   entries that are long sums
    """

    def __init__(
        self,
        tape: Tape,
        lanes: int,
        given: Mapping[int, object],
        packs: Mapping[int, list[int]],
        slots: Mapping[int, tuple[int, bool]] | None = None,
        sums: Mapping[int, LongSum] | None = None,
    ) -> None:
        self.tape, self.lanes, self.given, self.packs = tape, lanes, given, packs
        self.slots, self.sums = slots or {}, sums or {}
        self.types = {False: "double", True: vector_type(lanes)}

    def write(self, piece: CodePiece, order: list[int], results: Sequence[tuple[object, Scalar]]) -> None:
        """The next operations of the tape, and the results among them."""
        self.piece, self.w = piece, piece.w
        self.value: dict[int, str] = {}
        self.wide: dict[int, bool] = {}
        self.splats: dict[int, str] = {}
        self.sincos: dict[int, tuple[str, str]] = {}
        self.block = "entry"
        # results go where they belong at once: no kernel reads what it writes, and registers are scarce
        own: dict[int, list[object]] = {i: [] for i in order if self.tape.op[i] not in LEAVES and i not in self.given}
        late: list[tuple[object, Scalar]] = []
        for target, x in results:
            if type(x) is Node and x.index in own:
                own[x.index].append(target)
            else:
                late.append((target, x))
        for i, targets in own.items():
            self._operation(i)
            for target in targets:
                self._store(target, self.tape.nodes[i])
            if i in self.slots:
                slot, wide = self.slots[i]
                pointer = element(self.w, HELD, slot, self.lanes)
                self.w.do(f"store {self.types[wide]} {self.value[i]}, ptr {pointer}, align 8")
        for target, x in late:
            self._store(target, x)

    def _store(self, target: object, x: Scalar) -> None:
        """Put a result where it belongs."""
        pointer, held = self.piece.at(target)
        if type(x) is not Node:
            stored = splat(float(x), held)
        else:
            self._fetch(x.index)
            stored = self._as_vector(x.index) if held > 1 else self.value[x.index]
        self.w.do(f"store {vector_type(held)} {stored}, ptr {pointer}, align 8")

    def _as_vector(self, i: int) -> str:
        if self.wide[i]:
            return self.value[i]
        if i not in self.splats:
            if self.tape.op[i] == "constant":
                self.splats[i] = splat(self.tape.a[i], self.lanes)
            else:
                self.splats[i] = self.w.in_lanes(self.value[i], self.lanes)
        return self.splats[i]

    def _fetch(self, i: int) -> bool:
        """Have the value of an entry; whether it is one per lane."""
        # inputs are loaded where they are first used: registers are scarce
        if i in self.value:
            return self.wide[i]
        if self.tape.op[i] == "constant":
            self.value[i], self.wide[i] = number(self.tape.a[i]), False
        elif i in self.slots:
            slot, self.wide[i] = self.slots[i]
            pointer = element(self.w, HELD, slot, self.lanes)
            self.value[i] = self.w.let(f"load {self.types[self.wide[i]]}, ptr {pointer}, align 8")
        else:
            pointer, held = self.piece.at(self.given[i] if i in self.given else self.tape.a[i])
            self.value[i], self.wide[i] = self.w.let(f"load {vector_type(held)}, ptr {pointer}, align 8"), held > 1
        return self.wide[i]

    def _long_sum(self, found: LongSum) -> tuple[str, bool]:
        """Its value, and whether it is one per lane."""
        parts = [self._stretch(each) for each in found.stretches]
        for i in found.alone:
            wide = self._fetch(i)
            parts.append((self.value[i], wide))
        by_lane = any(wide for _, wide in parts)
        names = [self.w.in_lanes(x, self.lanes) if by_lane and not wide else x for x, wide in parts]
        return self._added(names, self.types[by_lane]), by_lane

    def _added(self, names: list[str], kind: str) -> str:
        total = names[0]
        for name in names[1:]:
            total = self.w.let(f"fadd contract {kind} {total}, {name}")
        return total

    def _stretch(self, stretch: Products) -> tuple[str, bool]:
        """A stretch of a sum as a loop: several sums go on side by side.

        Of scalars a register holds some products that follow each other, else the lanes of one.
        """
        w = self.w
        bases = [self.piece.at(address) for address in stretch.first]
        by_lane = any(held > 1 for _, held in bases)
        step, t = (1, self.types[True]) if by_lane else (SIDE_BY_SIDE, vector_type(SIDE_BY_SIDE))
        name, sums = f"sum{w.names}", range(SUMS)
        w.lines += [f"  br label %{name}", f"{name}:"]
        w.do(f"%{name}_k = phi i64 [ 0, %{self.block} ], [ %{name}_next, %{name} ]")
        for j in sums:
            w.do(f"%{name}_{j} = phi {t} [ zeroinitializer, %{self.block} ], [ %{name}_{j}_next, %{name} ]")
        here = [(element(w, base, f"%{name}_k", held), held) for base, held in bases]
        for j in sums:
            x, y = (self._factors(element(w, base, step * j, held), held, by_lane) for base, held in here)
            product = w.let(f"fmul contract {t} {x}, {y}")
            w.do(f"%{name}_{j}_next = fadd contract {t} %{name}_{j}, {product}")
        w.do(f"%{name}_next = add i64 %{name}_k, {step * SUMS}")
        w.do(f"%{name}_more = icmp slt i64 %{name}_next, {stretch.length}")
        self.block = f"{name}_done"
        w.lines += [f"  br i1 %{name}_more, label %{name}, label %{self.block}", f"{self.block}:"]
        total = self._added([f"%{name}_{j}_next" for j in sums], t)
        if by_lane:
            return total, True
        return self._added([w.let(f"extractelement {t} {total}, i32 {k}") for k in range(step)], "double"), False

    def _factors(self, pointer: str, held: int, by_lane: bool) -> str:
        """Factors of the products in a register."""
        if not by_lane:
            return self.w.let(f"load {vector_type(SIDE_BY_SIDE)}, ptr {pointer}, align 8")
        value = self.w.let(f"load {vector_type(held)}, ptr {pointer}, align 8")
        return value if held > 1 else self.w.in_lanes(value, self.lanes)

    def _operation(self, i: int) -> None:
        if i in self.sums:
            self.value[i], self.wide[i] = self._long_sum(self.sums[i])
            return
        tape, w = self.tape, self.w
        op, a, b = tape.op[i], tape.a[i], tape.b[i]
        by_lane = self._fetch(a)
        if b >= 0:
            by_lane = self._fetch(b) or by_lane
        t, n = self.types[by_lane], self.lanes if by_lane else 1
        x = self._as_vector(a) if by_lane else self.value[a]
        y = "" if b < 0 else self._as_vector(b) if by_lane else self.value[b]
        if op in OPCODES:
            value = w.let(f"{OPCODES[op]} contract {t} {x}, {y}")
        elif op == "negate":
            value = w.let(f"fneg {t} {x}")
        elif op in ("sin", "cos"):
            if a not in self.sincos:
                together = [] if by_lane else [k for k in self.packs.get(a, ()) if not self._fetch(k)]
                self.sincos |= _sines(w, {k: self.value[k] for k in together} or {a: x}, n)
            value = self.sincos[a][op == "cos"]
        elif op == FROZEN:
            value = x
        elif op in PIECEWISE:
            zero = "zeroinitializer" if by_lane else number(0.0)
            # what is not a number stays so
            under = w.let(f"fcmp ole {t} {x}, {zero}")
            above = x if op == "ramp" else splat(1.0, n)
            value = w.let(f"select {'i1' if n == 1 else f'<{n} x i1>'} {under}, {t} {zero}, {t} {above}")
        else:
            suffix = "f64" if n == 1 else f"v{n}f64"
            own = {"sqrt": f"llvm.sqrt.{suffix}", "floor": f"llvm.floor.{suffix}", "tanh": f"tanh{n}"}
            more = f", {t} {y}" if y else ""
            value = w.let(f"call {t} @{own.get(op, f'{op}_{n}')}({t} {x}{more})")
        self.value[i], self.wide[i] = value, by_lane


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
    """A function that returns nothing, and the tables that it reads, under the name ``FUNCTION``.

    Vector code keeps its own frame: spilled registers lie on cache lines only in an aligned stack.
    """
    signature = ", ".join(f"{kind} %{argument}" for argument, kind in arguments.items())
    body = "\n".join(w.lines)
    frame = " alignstack(64)" if lanes > 1 else ""
    return f"{w.tables}define internal void {FUNCTION}({signature}) #0{frame} {{\nentry:\n{body}\n  ret void\n}}\n"
