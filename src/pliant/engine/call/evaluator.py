"""Callable programs: compiled code bound to a robot's constants, with buffers of its own for every thread."""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from itertools import accumulate
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Algorithm, Carrier
from pliant.engine.call.uncollected import end_all, uncollected
from pliant.engine.compile import cache as disk
from pliant.engine.compile import jit
from pliant.engine.compile.cache import source_digest
from pliant.engine.compile.lanes import lane_numbers, padded
from pliant.engine.compile.module import module_ir, rows
from pliant.engine.trace.program import RolledProgram
from pliant.engine.trace.roller import counted, rolled, whole
from pliant.engine.trace.structure import constants_of, split_tree, structure_key
from pliant.engine.trace.tape import Operations

Floats = NDArray[np.float64]

UNROLL_BELOW = 3000
"""Operations up to which one kernel for the whole robot stays within the instruction cache and is the faster one."""

MOST_RECENT = 64
_RECENT: dict[str, tuple[dict[str, Any], jit.LoadedCode]] = {}
"""Machine code made or loaded last in this process; robots of one structure share it."""
_RECENT_LOCK = Lock()

FIRST_INPUT = 2
"""Place of the inputs among the arguments of a compiled evaluation, after constants and gravity."""

_HELD = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
"""Calls of compiled code with the interpreter's lock held."""

SELDOM = frozenset(("places", "motion", "frames", "acceleration", "energy", "reaction", "composites"))
"""What is not evaluated in every step of an integrator."""

GROUP = 512
"""Smallest number of states worth a thread of its own."""


def fitting_program(algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> RolledProgram:
    """One kernel for the whole tree while that is small, else one per class of link."""
    by_link = rolled(algorithm, tree, seeds)
    return whole(algorithm, tree, seeds) if by_link.operations.total <= UNROLL_BELOW else by_link


@cache
def _processors() -> int:
    """Asking takes longer than evaluating a few states."""
    return os.cpu_count() or 1


@cache
def _threads() -> ThreadPoolExecutor:
    """One pool for all batches: making threads costs more than most batches."""
    return ThreadPoolExecutor(_processors(), thread_name_prefix="pliant")


def _after_fork() -> None:
    """Threads stay with the parent, and a lock that one of them held would never be given back."""
    global _RECENT_LOCK
    _threads.cache_clear()
    _RECENT_LOCK = Lock()
    jit.renew_lock()
    end_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True)
class BufferLayout:
    """What the buffers of a program must look like, and the link of each row; stored beside the compiled code."""

    entry: str
    rows: list[list[int]]
    owners: list[int]
    record_size: int
    saved_size: int
    outputs: int
    lanes: int

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """The rows as compiled code reads them."""
        return np.array(self.rows, dtype=np.int64)

    @classmethod
    def of(cls, program: RolledProgram, entry: str = "") -> BufferLayout:
        sizes = program.record_size, program.saved_size, program.outputs
        return cls(entry, rows(program).tolist(), program.owners, *sizes, jit.lanes())


def stored(
    parts: object, make: Callable[[], tuple[dict[str, Any], str]], *, homes: Iterable[str] = (), often: bool = True
) -> tuple[dict[str, Any], jit.LoadedCode]:
    """Machine code with its description, from the disk or made now from what ``make`` gives; see ``machine_code``.

    The parts, with the source of the modules ``homes`` and of all that they import, must decide all of it.
    """
    decides = (parts, jit.lanes(), UNROLL_BELOW, source_digest(homes), jit.host())
    key = hashlib.sha256(repr(decides).encode()).hexdigest()
    recent = _RECENT.get(key)
    if recent is not None:
        return recent
    found = disk.fetch(key)
    if found is None:
        with uncollected():
            description, assembly = make()
        found = description, jit.machine_code(assembly, often=often)
        disk.keep(key, *found)
    loaded = found[0], jit.LoadedCode(found[1])
    with _RECENT_LOCK:
        _RECENT[key] = loaded
        while len(_RECENT) > MOST_RECENT:
            del _RECENT[next(iter(_RECENT))]
    return loaded


class Program:
    """An algorithm for one tree: traced, compiled and cached on first use, in each mode that is asked for."""

    def __init__(self, algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> None:
        self.algorithm = algorithm
        self.tree = tree
        self.seeds = seeds
        self.constants = constants_of(tree)
        self.gravity = np.array(tree.gravity, dtype=float)
        self._structure = structure_key(tree)
        self._loaded: dict[str, tuple[BufferLayout, jit.LoadedCode]] = {}

    @property
    def mode(self) -> str:
        """How one state is evaluated."""
        return "jacobian" if self.seeds else "single"

    @cached_property
    def traced(self) -> RolledProgram:
        """One kernel for the whole tree while that is small, else one per class of link."""
        return fitting_program(self.algorithm, self.tree, self.seeds)

    @cached_property
    def operations(self) -> Operations:
        """Operations of one evaluation, counted on the tape of the whole robot."""
        return counted(self.algorithm, self.tree, self.seeds)

    def load(self, mode: str) -> tuple[BufferLayout, jit.LoadedCode]:
        """Compiled code for a mode, from memory, from the disk or made now."""
        if mode not in self._loaded:
            self._loaded[mode] = self._compile(mode)
        return self._loaded[mode]

    @property
    def identity(self) -> tuple[object, ...]:
        """What decides the code of this program, with the source of its modules."""
        return self._structure, self.algorithm.name, self.seeds

    @property
    def homes(self) -> set[str]:
        """Modules whose source decides its code."""
        return {*self.algorithm.homes, type(self.tree).__module__}

    def _compile(self, mode: str) -> tuple[BufferLayout, jit.LoadedCode]:
        def make() -> tuple[dict[str, Any], str]:
            text, entry = module_ir(self.traced, mode, jit.lanes())
            return asdict(BufferLayout.of(self.traced, entry)), text

        description, code = stored(
            (self.identity, mode), make, homes=self.homes, often=self.algorithm.name not in SELDOM
        )
        if code not in _LAYOUTS:
            _LAYOUTS[code] = BufferLayout(**description)
        return _LAYOUTS[code], code


_LAYOUTS: WeakKeyDictionary[jit.LoadedCode, BufferLayout] = WeakKeyDictionary()
_SEEDS: WeakKeyDictionary[jit.LoadedCode, tuple[Floats, NDArray[np.int64], NDArray[np.int64]]] = WeakKeyDictionary()
"""What belongs to machine code and not to a robot: buffers, and the directions of Jacobians."""

LINE = 8
"""Numbers on a cache line."""


def aligned(n: int) -> Floats:
    """n zeros on a cache line."""
    return aligned_parts(n)[0][0]


def aligned_parts(*sizes: int) -> list[tuple[Floats, int]]:
    """Zeros of several sizes, each on a cache line, and where they are; one memory holds all."""
    starts = list(accumulate((-(-n // LINE) * LINE for n in sizes), initial=0))
    raw = np.zeros(starts[-1] + LINE)
    address: int = raw.ctypes.data
    first = (-address % 64) // 8
    return [(raw[first + k : first + k + n], address + 8 * (first + k)) for k, n in zip(starts, sizes, strict=False)]


def _moved_links(program: Program, directions: int) -> NDArray[np.int64]:
    """The link to which each direction belongs."""
    out = np.zeros(directions, dtype=np.int64)
    by_constants = program.seeds == ("constants",)
    start = 0
    for i, (link, split) in enumerate(zip(program.tree.links, split_tree(program.tree), strict=True)):
        own = len(split.values) if by_constants else link.kind.coordinates
        out[start : start + own] = i
        start += own
    return out


def still_links(parents: NDArray[np.int64], moved: NDArray[np.int64], lanes: int) -> NDArray[np.int64]:
    """(blocks, links): 1 where the directions of a block move neither a link nor its parent nor its children."""
    links = len(parents)
    still = np.ones((-(-len(moved) // lanes), links + 1), dtype=np.int64)
    for direction, i in enumerate(moved):
        touched = [i, parents[i], *np.flatnonzero(parents == i)]
        # the base is the last column
        still[direction // lanes, touched] = 0
    return np.ascontiguousarray(still[:, :links])


def _seeds(
    program: Program, plan: BufferLayout, code: jit.LoadedCode, directions: int
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """The directions of a Jacobian, the first row that each moves, and rows that rest; the same for all robots."""
    if code not in _SEEDS:
        lanes, links = plan.lanes, plan.owners[-1] + 1
        units = aligned((2 * directions + lanes) * lanes)
        units.reshape(-1, lanes)[directions : directions + lanes] = np.eye(lanes)
        # a program of a single kernel has one link for all
        moved = _moved_links(program, directions) if links > 1 else np.zeros(directions, dtype=np.int64)
        parents = np.array([link.parent for link in program.tree.links] if links > 1 else [-1])
        # a link's constants also say where it sits on its parent
        first = np.maximum(parents[moved], 0) if program.seeds == ("constants",) else moved
        # stations rest with their link, and stand before it
        still = np.ascontiguousarray(still_links(parents, moved, lanes)[:, plan.owners])
        _SEEDS[code] = units, np.searchsorted(plan.owners, first), still
    return _SEEDS[code]


class Workspace:
    """Buffers of one thread, and the compiled function bound to them: for one state, or for a Jacobian."""

    __slots__ = ("_argument", "_call", "_keep", "_robot", "address", "arguments", "inputs", "out")

    def __init__(self, program: Program, constants: Floats, gravity: Floats) -> None:
        plan, code = program.load(program.mode)
        n, count, table = program.tree.size, len(program.algorithm.inputs), plan.table
        size, lanes = plan.record_size, plan.lanes
        outputs = plan.outputs
        if program.seeds:
            directions = len(constants) if program.seeds == ("constants",) else n
            width = padded(directions, lanes)
            buffers = (size, size * lanes, plan.saved_size, outputs * lanes, outputs * width)
            parts = aligned_parts(*[n] * count, *buffers)
            units, first, still = _seeds(program, plan, code, directions)
            *own, matrix = (address for _, address in parts[count:])
            told = [units.ctypes.data, *own, table.ctypes.data, len(table), first.ctypes.data, still.ctypes.data]
            told += [matrix, directions, outputs]
            self.out = parts[-1][0].reshape(outputs, width)[:, :directions]
            held: tuple[object, ...] = (units, first, still)
        else:
            parts = aligned_parts(*[n] * count, size, outputs)
            told = [*(address for _, address in parts[count:]), table.ctypes.data, len(table)]
            self.out, held = parts[-1][0], ()
        self.inputs = tuple(part for part, _ in parts[:count])
        self._keep = (constants, gravity, parts, plan, code, held)
        given = [constants.ctypes.data, gravity.ctypes.data, *(address for _, address in parts[:count])]
        self.arguments = np.array([*given, *told], dtype=np.int64)
        self._robot = constants, gravity
        self._argument = self.arguments.ctypes.data
        self.address = code.address(plan.entry)
        # the interpreter lock is kept: the call is shorter than giving it up
        self._call = _HELD(self.address)

    def set_robot(self, constants: Floats, gravity: Floats) -> None:
        """Take the numbers of another robot of the structure, for callers that gave arrays of their own."""
        self._robot[0][:], self._robot[1][:] = constants, gravity

    def run(self) -> Floats:
        """Evaluate the inputs; the result is valid until the next call."""
        self._call(self._argument)
        return self.out


class _Group:
    """What one thread tells a compiled batch, in the order of ``module.batch_parameters``, and its buffers of lanes.

    inputs, out, count  places among the words of what comes with a call: rows of inputs and of results, their number
    """

    __slots__ = ("_keep", "address", "count", "inputs", "out", "words")

    def __init__(self, plan: BufferLayout, constants: Floats, gravity: Floats, size: int, inputs: int) -> None:
        width, table = plan.lanes, plan.table
        wide = [lane_numbers(size, width)] * inputs
        parts = aligned_parts(*wide, plan.record_size * width, lane_numbers(plan.outputs, width))
        given = [constants.ctypes.data, gravity.ctypes.data, *[0] * inputs, *(address for _, address in parts)]
        self.inputs, self.out = slice(FIRST_INPUT, FIRST_INPUT + inputs), len(given)
        self.count = self.out + 3
        self.words = np.array([*given, 0, table.ctypes.data, len(table), 0, size, plan.outputs], dtype=np.int64)
        self.address: int = self.words.ctypes.data
        self._keep = (constants, gravity, parts, table)


class Evaluator:
    """A program bound to values of its constants: single states, batches on all cores, Jacobians."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.constants = program.constants.copy()
        self.gravity = program.gravity.copy()
        self.size = program.tree.size
        self._free: deque[Workspace] = deque()
        self._groups: deque[_Group] = deque()

    def workspace(self) -> Workspace:
        """New buffers, for callers that keep their own."""
        return Workspace(self.program, self.constants, self.gravity)

    def __call__(self, *inputs: Floats) -> Floats:
        """Evaluate one state: the outputs, or their derivatives by the program's seed (outputs, directions)."""
        try:
            work = self._free.pop()
        except IndexError:
            work = self.workspace()
        for buffer, x in zip(work.inputs, inputs, strict=True):
            buffer[:] = x
        out = work.run().copy()
        self._free.append(work)
        return out

    def batch(self, *inputs: Floats, threads: int | None = None) -> Floats:
        """Evaluate many states, inputs (count, size) each; groups of states share vector registers and cores."""
        plan, code = self.program.load("batch")
        arrays = [np.ascontiguousarray(x, dtype=float) for x in inputs]
        count = len(arrays[0])
        for name, x in zip(self.program.algorithm.inputs, arrays, strict=True):
            if x.shape != (count, self.size):
                raise ValueError(f"{name} has shape {x.shape}; the batch needs ({count}, {self.size})")
        out = np.empty((count, plan.outputs))
        call = code.called(plan.entry)
        workers = max(1, min(threads or _processors(), count // GROUP))
        step = -(-count // workers)
        step += -step % plan.lanes
        rows = [(a.ctypes.data, a.strides[0]) for a in (*arrays, out)]

        def part(start: int) -> None:
            try:
                told = self._groups.pop()
            except IndexError:
                told = _Group(plan, self.constants, self.gravity, self.size, len(arrays))
            *places, result = (address + start * stride for address, stride in rows)
            told.words[told.inputs], told.words[told.out] = places, result
            told.words[told.count] = min(step, count - start)
            call(told.address)
            self._groups.append(told)

        starts = range(0, count, step) if count else range(0)
        if len(starts) > 1:
            list(_threads().map(part, starts))
        else:
            for start in starts:
                part(start)
        return out
