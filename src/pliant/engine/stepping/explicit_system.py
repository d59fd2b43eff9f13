"""A robot with its drive as one compiled right-hand side, and the integrators on it.

The state is x = (q, v, states of the drive, work of the drive, work of loads, dissipated energy). The drive's law is
traced like the dynamics; what it follows (reference positions, feed-forward efforts) comes from signals: piecewise
polynomials of time that the compiled code evaluates itself. The dynamics are any algorithm (q, v, f) -> accelerations
of all coordinates, of a tree or of closed loops. Coordinates may be driven: their motion comes from signals, and x
holds the others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.engine.backends.evaluator import BufferLayout, Program, aligned, stored
from pliant.engine.backends.flow import Flow
from pliant.engine.backends.llvm_ir import declarations, library, number, stumpff_orders
from pliant.engine.backends.module import ATTRIBUTES, entry_ir, program_ir, rows
from pliant.engine.stepping.dormand_prince import ALL_STAGES
from pliant.engine.stepping.integrators import Status, dop853_ir, rk4_ir, semi_implicit_ir
from pliant.engine.trace.rolled import Address, RolledProgram, one_kernel
from pliant.engine.trace.structure import from_slots, split_tree
from pliant.engine.trace.tape import Node, Tape, tangents
from pliant.formulations.method import Traced
from pliant.formulations.recursive.connection import elastic
from pliant.formulations.recursive.link import LinkConstants
from pliant.formulations.recursive.tree import Tree
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector, dot

Floats = NDArray[np.float64]
Law = Callable[[Vector, Vector, Vector, Vector], Vector]
"""law(q, v, signals and states of the drive, gains) -> generalised forces (n), rates of those states."""

BALANCES = 3
"""Last states: work of the drive, work of loads, dissipated energy."""


SIGNAL_ERROR = 1e-11
"""Of the largest value of a channel."""
MOST_PIECES = 4096


class RoughSignalError(ValueError):
    """A signal that polynomials cannot follow."""


@lru_cache
def _chebyshev(degree: int) -> tuple[Floats, Floats]:
    """From values at Chebyshev nodes to centred monomials, well conditioned at low degrees; where to ask for values.

    The places are fractions of a piece: the nodes, then some between them, where an interpolant is worst.
    """
    nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    return np.linalg.inv(np.vander(nodes, degree + 1)), np.array([*(nodes + 1) / 2, 0.03, 0.41, 0.92])


@dataclass(frozen=True, slots=True)
class Signals:
    """Channels as polynomials on equal pieces of time: coefficients (pieces, channels, degree + 1), highest first."""

    start: float
    piece: float
    coefficients: Floats

    @classmethod
    def zero(cls, channels: int) -> Signals:
        return cls(0.0, 1.0, np.zeros((1, channels, 1)))

    @classmethod
    def fit(
        cls, f: Callable[[Floats], Floats], start: float, stop: float, *, pieces: int = 64, degree: int = 9
    ) -> Signals:
        """Fit f(t (k,)) -> (k, channels) by Chebyshev interpolation, with more pieces until it is good everywhere.

        Raises RoughSignalError where f has kinks or jumps.
        """
        inverse, fractions = _chebyshev(degree)
        while pieces <= MOST_PIECES:
            width = (stop - start) / pieces
            places = start + width * (np.arange(pieces)[:, None] + fractions)
            values = f(places.ravel())
            if (values == values[0]).all():
                return cls(start, stop - start, values[:1, :, None].copy())
            values = values.reshape(*places.shape, -1)
            signals = cls(start, width, np.moveaxis(inverse @ values[:, : degree + 1], 1, 2).copy())
            wanted, check = values[:, degree + 1 :].reshape(-1, signals.channels), places[:, degree + 1 :].ravel()
            scale = np.abs(wanted).max(initial=0.0, axis=0)
            if np.all(np.abs(signals(check) - wanted) <= SIGNAL_ERROR * np.maximum(scale, 1e-12)):
                return signals
            pieces *= 4
        raise RoughSignalError(f"a signal is not smooth between {start:g} s and {stop:g} s")

    @property
    def channels(self) -> int:
        return int(self.coefficients.shape[1])

    @property
    def table(self) -> Floats:
        """As the compiled code reads it."""
        return np.concatenate([[self.start, self.piece], self.coefficients.ravel()])

    def __call__(self, t: Floats) -> Floats:
        """Values (len(t), channels)."""
        t = np.atleast_1d(np.asarray(t, dtype=float))
        k = np.clip(((t - self.start) / self.piece).astype(int), 0, len(self.coefficients) - 1)
        s = 2 * ((t - self.start) / self.piece - k) - 1
        out = np.zeros((len(t), self.channels))
        for j in range(self.coefficients.shape[2]):
            out = out * s[:, None] + self.coefficients[k, :, j]
        return out


@dataclass(frozen=True, slots=True)
class Driving:
    """What acts on a robot.

    law       the drive's law
    gains     numbers that it takes
    channels  signals that it takes
    states    its own continuous states, which follow the signals
    loads     coordinates on which further signals act, as efforts that are not the drive's
    driven    coordinates whose positions, rates and accelerations are the first signals; the law gives their
              accelerations in the place of forces
    """

    law: Law
    gains: Sequence[float] = ()
    channels: int = 0
    states: int = 0
    loads: tuple[int, ...] = ()
    driven: tuple[int, ...] = ()

    @property
    def signals(self) -> int:
        return self.channels + len(self.loads)

    @property
    def rest(self) -> int:
        """Number of states after q and v."""
        return self.states + BALANCES


def drive_program(tree: Tree, driving: Driving, seeds: tuple[str, ...] = ()) -> RolledProgram:
    """The drive's kernel: (q, v, signals and states, the robot's constants) -> forces and rates of the states after v.

    With seeds: the tangents of the forces.
    """
    gains = driving.gains
    tape = Tape()
    n = tree.size

    def symbols(array: str, count: int) -> list[Node]:
        return [tape.symbol(Address(array, "own", k)) for k in range(count)]

    q, v, r = symbols("q", n), symbols("v", n), symbols("r", driving.signals + driving.states)
    own = [*r[: driving.channels], *r[driving.signals :]]
    found = list(driving.law(q, v, own, symbols("constants", len(gains))))
    f, rates = found[:n], found[n:]
    load: Vector = [0.0] * n
    for k, i in enumerate(driving.loads):
        load[i] = load[i] + r[driving.channels + k]
    lost = dissipation(tree, _traced_constants(tree, tape), q, v)
    powers = [dot(f, v), dot(load, v), lost]
    f = [a + b for a, b in zip(f, load, strict=True)]
    outputs: list[Scalar] = [*f, *rates, *powers]
    if seeds:
        inputs = {"q": q, "v": v}
        given = {
            node.index: tape.symbol(Address(f"d{name}", "own", k))
            for name in seeds
            for k, node in enumerate(inputs[name])
        }
        outputs = tangents(f, given)
    return one_kernel("drive", ("q", "v", "r", "arm"), tape, outputs, list(gains), n, seeds)


def _traced_constants(tree: Tree, tape: Tape) -> list[LinkConstants]:
    """What of the links' constants takes energy; the rest is left out."""
    out: list[LinkConstants] = []
    start = 0
    for split in split_tree(tree):

        def read(k: int, start: int = start) -> Node:
            return tape.symbol(Address("arm", "own", start + k))

        out.append(from_slots(split.pattern, read))
        start += len(split.values)
    return out


def dissipation(tree: Tree, constants: Sequence[LinkConstants], q: Vector, v: Vector) -> Scalar:
    """Power lost in structural damping, dampers and friction."""
    power: Scalar = 0.0
    for link, values in zip(tree.links, constants, strict=True):
        own_v = v[link.own]
        v_e = elastic(link.kind, own_v)
        power = power + values.body.loss(v_e)
        if link.kind.joint != "fixed":
            power = power + values.drive.power(values.drive.on_motor(own_v[0], v_e))
    return power


def signals_ir() -> str:
    """``signals(table, pieces, channels, terms, t, r)``: table holds start, piece, then the coefficients."""
    w = Flow()
    place = w.fdiv(w.fsub("%t", w.read("%table", 0)), w.read("%table", 1))
    k = w.let(f"fptosi double {w.fmax(place, number(0.0))} to i64")
    last = w.iadd("%pieces", -1)
    k = w.let(f"select i1 {w.iless(k, last)}, i64 {k}, i64 {last}")
    s = w.fsub(w.fmul(number(2.0), w.fsub(place, w.let(f"sitofp i64 {k} to double"))), number(1.0))
    row = w.imul(k, "%channels")
    with w.repeat("%channels") as c:
        first = w.iadd(w.imul(w.iadd(row, c), "%terms"), 2)
        value = w.variable("double", number(0.0))
        w.put("double", number(0.0), value)
        with w.repeat("%terms") as j:
            coefficient = w.read("%table", w.iadd(first, j))
            w.put("double", w.fadd(w.fmul(w.get("double", value), s), coefficient), value)
        w.write(w.get("double", value), "%r", c)
    arguments = "ptr %table, i64 %pieces, i64 %channels, i64 %terms, double %t, ptr %r"
    return w.text("signals", arguments, attributes="internal")


@dataclass(frozen=True, slots=True)
class Split:
    """Which of the n coordinates are driven; the signals begin with their positions, rates and accelerations."""

    n: int
    driven: tuple[int, ...] = ()

    @property
    def moving(self) -> tuple[int, ...]:
        """The others: they are in x."""
        return tuple(k for k in range(self.n) if k not in self.driven)

    def whole(self, w: Flow, parts: Sequence[str], full: str, signals: str) -> list[str]:
        """Arrays of all coordinates, their rates (and accelerations), from those that move."""
        if not self.driven:
            return list(parts)
        out = []
        for level, part in enumerate(parts):
            target = w.at(full, level * self.n)
            for j, k in enumerate(self.moving):
                w.write(w.read(part, j), target, k)
            for j, k in enumerate(self.driven):
                w.write(w.read(signals, level * len(self.driven) + j), target, k)
            out.append(target)
        return out

    def work(self, w: Flow, efforts: Sequence[str], v: str) -> str:
        """Power of the drives."""
        power = number(0.0)
        for effort, k in zip(efforts, self.driven, strict=True):
            power = w.fadd(power, w.fmul(effort, w.read(v, k)))
        return power


CONTEXT = (
    "constants",
    "gravity",
    "store",
    "rows",
    "links",
    "arm",
    "gains",
    "drive_rows",
    "r",
    "f",
    "full",
    "out",
    "table",
    "pieces",
    "channels",
    "terms",
)
TABLE = slice(CONTEXT.index("table"), None)
"""What changes with the signals."""


def follow(w: Flow, held: dict[str, str], driving: Driving, x: str) -> None:
    """The signals at ``%t`` into r, and behind them the drive's states, which stand first in x."""
    table = ", ".join(f"i64 {held[k]}" for k in ("pieces", "channels", "terms"))
    w.do(f"call void @signals(ptr {held['table']}, {table}, double %t, ptr {held['r']})")
    for k in range(driving.states):
        w.write(w.read(x, k), held["r"], driving.signals + k)


def rhs_ir(forward: str, drive: str, split: Split, driving: Driving) -> str:
    """``rhs(context, t, x, dx)``."""
    w = Flow()
    numbers = ("links", "pieces", "channels", "terms")
    held = {
        name: w.get("i64" if name in numbers else "ptr", w.let(f"getelementptr inbounds i64, ptr %context, i64 {k}"))
        for k, name in enumerate(CONTEXT)
    }
    n, m, count = split.n, len(split.driven), len(split.moving)
    dv, extra = w.at("%dx", count), w.at("%dx", 2 * count)
    follow(w, held, driving, w.at("%x", 2 * count))
    q, v = split.whole(w, ("%x", w.at("%x", count)), held["full"], held["r"])
    pointers = [held["gains"], held["gravity"], q, v, held["r"], held["arm"], held["store"], held["f"]]
    call = ", ".join(f"ptr {p}" for p in (*pointers, held["drive_rows"]))
    w.do(f"call void @{drive}({call}, i64 1)")
    out = held["out"] if m else dv
    pointers = [held["constants"], held["gravity"], q, v, held["f"], held["store"], out, held["rows"]]
    w.do(f"call void @{forward}({', '.join(f'ptr {p}' for p in pointers)}, i64 {held['links']})")
    with w.repeat(count) as i:
        w.write(w.read("%x", w.iadd(i, count)), "%dx", i)
    for k in range(driving.rest):
        w.write(w.read(held["f"], n + k), extra, k)
    if m:
        for j, k in enumerate(split.moving):
            w.write(w.read(out, m + k), dv, j)
        w.write(split.work(w, [w.read(out, k) for k in range(m)], v), extra, driving.states)
    return w.text("rhs", "ptr %context, double %t, ptr %x, ptr %dx", attributes="internal")


def constants_of(tree: Tree) -> Floats:
    """The constants of all links, as the kernels read them."""
    return np.array([x for split in split_tree(tree) for x in split.values])


class ExplicitSystem:
    """A robot with a drive, ready to be integrated. Not shared between threads.

    forward  (q, v, f) -> accelerations; with driven coordinates it takes their accelerations in f, and its results
             begin with their efforts
    """

    def __init__(self, tree: Tree, driving: Driving, forward: Traced) -> None:
        self.tree = tree
        self.size = tree.size
        split = Split(tree.size, driving.driven)
        self.states = 2 * len(split.moving) + driving.rest
        program = Program(*forward)
        drive = drive_program(tree, driving)

        def make() -> tuple[dict[str, Any], str]:
            return asdict(BufferLayout.of(program.traced)), _module(program.traced, drive, split, driving)

        described = program.identity, program_ir(drive, 1), driving.signals, driving.states, driving.driven
        description, self._code = stored(("system", *described), make)
        plan = BufferLayout(**description)
        self.constants = program.constants
        self._arm = constants_of(tree)
        self._full, self._out = aligned(2 * tree.size), aligned(plan.outputs)
        self.gravity = np.array(tree.gravity, dtype=float)
        self.gains = np.array([*driving.gains, 0.0])
        self._rows, self._drive_rows = np.array(plan.rows, dtype=np.int64), rows(drive)
        self._store = aligned(plan.record_size)
        self._r, self._f = aligned(driving.signals + driving.states + 1), aligned(self.size + driving.rest)
        self.channels = driving.signals
        arrays = {
            "constants": self.constants,
            "gravity": self.gravity,
            "store": self._store,
            "rows": self._rows,
            "arm": self._arm,
            "gains": self.gains,
            "drive_rows": self._drive_rows,
            "r": self._r,
            "f": self._f,
            "full": self._full,
            "out": self._out,
        }
        held = {**{name: array.ctypes.data for name, array in arrays.items()}, "links": len(self._rows)}
        self._context = np.array([held.get(name, 0) for name in CONTEXT], dtype=np.int64)
        self.work = aligned((ALL_STAGES + 2) * self.states)
        self.set_signals(Signals.zero(self.channels))
        p, i = ctypes.c_void_p, ctypes.c_int64
        self._dop853 = ctypes.CFUNCTYPE(i, *[p] * 6, i, p, i, p, p)(self._code.address("dop853"))
        self._fixed = {
            name: ctypes.CFUNCTYPE(i, *[p] * 6, i)(self._code.address(name.replace("-", "_")))
            for name in ("rk4", "semi-implicit")
        }
        self._rhs = ctypes.CFUNCTYPE(None, p)(self._code.address("evaluate_call"))

    def set_signals(self, signals: Signals) -> None:
        """What the drive follows from now on."""
        if signals.channels != self.channels:
            raise ValueError(f"the drive has {self.channels} signals, {signals.channels} were given")
        self._table = signals.table
        self._context[TABLE] = self._table.ctypes.data, *signals.coefficients.shape

    def slope(self, t: float, x: Floats) -> Floats:
        """dx/dt, for checks and other integrators."""
        x = np.ascontiguousarray(x, dtype=float)
        out, time = np.empty(self.states), np.array([t])
        packed = np.array([a.ctypes.data for a in (self._context, time, x, out)], dtype=np.int64)
        self._rhs(packed.ctypes.data)
        return out

    def forces(self, t: float, x: Floats) -> Floats:
        """Generalised forces of the drive at a state."""
        self.slope(t, x)
        return self._f[: self.size].copy()

    def dop853(
        self,
        clock: Floats,
        x: Floats,
        tolerance: Floats,
        knots: Floats,
        grid: Floats,
        following: NDArray[np.int64],
        samples: Floats,
    ) -> Status:
        """Advance x in place until clock[END] or as many steps as there are knots for.

        See ``integrators.dop853_ir`` for the arrays.
        """
        addresses = [a.ctypes.data for a in (self._context, clock, x, tolerance, self.work, knots)]
        wanted = [grid.ctypes.data, len(grid), following.ctypes.data, samples.ctypes.data]
        return Status(self._dop853(*addresses, len(knots) - 1, *wanted))

    def fixed(self, method: str, clock: Floats, x: Floats, knots: Floats) -> Status:
        """The same with equal steps of clock[STEP], by ``rk4`` or ``semi-implicit``."""
        addresses = [a.ctypes.data for a in (self._context, clock, x, x, self.work, knots)]
        return Status(self._fixed[method](*addresses, len(knots) - 1))


def _module(program: RolledProgram, drive: RolledProgram, split: Split, driving: Driving) -> str:
    n = len(split.moving)
    states = 2 * n + driving.rest
    tapes = [kernel.tape for p in (program, drive) for each in p.passes for kernel in each.kernels]
    parts = [declarations({1}), library(1, stumpff_orders(tapes))]
    text, forward = program_ir(program, 1)
    drive_text, drive_name = program_ir(drive, 1)
    parts += [text, drive_text, signals_ir(), rhs_ir(forward, drive_name, split, driving)]
    parts += [dop853_ir(states, states - BALANCES), rk4_ir(states), semi_implicit_ir(states, n)]
    evaluate = Flow()
    t = evaluate.get("double", "%time")
    evaluate.do(f"call void @rhs(ptr %context, double {t}, ptr %x, ptr %dx)")
    parts.append(evaluate.text("evaluate", "ptr %context, ptr %time, ptr %x, ptr %dx"))
    parts.append(entry_ir("evaluate", dict.fromkeys(("context", "time", "x", "dx"), "ptr")))
    parts.append(ATTRIBUTES)
    return "".join(parts)
