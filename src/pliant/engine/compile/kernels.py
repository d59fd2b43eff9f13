"""Kernels of a program as LLVM functions, and the table in which they find the data of a link and its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.llvm_ir import FUNCTION, HELD, Writer, element, function_text, vector_type
from pliant.engine.compile.pieces import emit
from pliant.engine.trace.program import Address, Kernel, RolledProgram
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
        """Of its text."""
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
