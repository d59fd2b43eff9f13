"""A robot with its drive as one compiled right-hand side, and the integrators on it.

The state is x = (q, v, work of the drive, dissipated energy). The drive's law is traced like the dynamics; what it
follows (reference positions, feed-forward efforts) comes from signals: piecewise polynomials of time that the compiled
code evaluates itself. The dynamics are any algorithm (q, v, f) -> accelerations of all coordinates, of a tree or of
closed loops. Coordinates may be driven: their motion comes from signals, and x holds the others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.engine.dormand_prince import ALL_STAGES
from pliant.engine.evaluator import Plan, Program, aligned, stored
from pliant.engine.flow import Flow
from pliant.engine.integrators import Status, dop853_ir, rk4_ir, semi_implicit_ir
from pliant.engine.llvm_ir import declarations, library, number, stumpff_orders
from pliant.engine.module import ATTRIBUTES, entry_ir, program_ir, rows
from pliant.engine.rolled import Address, RolledProgram, one_kernel
from pliant.engine.structure import from_slots, split_tree
from pliant.engine.tape import Node, Tape, tangents
from pliant.formulations.connection import elastic, joint_force, joint_rates
from pliant.formulations.link import BodyConstants, LinkConstants
from pliant.formulations.passes import FORWARD, Algorithm
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector, dot, times
from pliant.tree import Tree

Floats = NDArray[np.float64]
Law = Callable[[Vector, Vector, Vector, Vector], Vector]
"""law(q, v, signals, gains) -> generalised forces (n)."""

BALANCES = 2
"""Further states: work of the drive, dissipated energy."""


SIGNAL_ERROR = 1e-11
"""Of the largest value of a channel."""
MOST_PIECES = 4096


class RoughSignalError(ValueError):
    """A signal that polynomials cannot follow."""


@dataclass(frozen=True, slots=True)
class Signals:
    """Channels as polynomials on equal pieces of time: coefficients (pieces, channels, degree + 1), highest first."""

    start: float
    piece: float
    coefficients: Floats

    @classmethod
    def none(cls) -> Signals:
        return cls(0.0, 1.0, np.zeros((1, 0, 1)))

    @classmethod
    def fit(
        cls, f: Callable[[Floats], Floats], start: float, stop: float, *, pieces: int = 64, degree: int = 9
    ) -> Signals:
        """Fit f(t (k,)) -> (k, channels) by Chebyshev interpolation, with more pieces until it is good everywhere.

        Raises RoughSignalError where f has kinks or jumps.
        """
        while pieces <= MOST_PIECES:
            signals = cls._interpolate(f, start, stop, pieces, degree)
            # between the nodes, where an interpolant is worst
            check = start + (stop - start) * (np.arange(pieces)[:, None] + np.array([0.03, 0.41, 0.92])) / pieces
            wanted = f(check.ravel())
            scale = np.abs(wanted).max(initial=0.0, axis=0)
            if np.all(np.abs(signals(check.ravel()) - wanted) <= SIGNAL_ERROR * np.maximum(scale, 1e-12)):
                return signals
            pieces *= 4
        raise RoughSignalError(f"a signal is not smooth between {start:g} s and {stop:g} s")

    @classmethod
    def _interpolate(
        cls, f: Callable[[Floats], Floats], start: float, stop: float, pieces: int, degree: int
    ) -> Signals:
        width = (stop - start) / pieces
        nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
        t = start + width * (np.arange(pieces)[:, None] + (nodes + 1) / 2)
        values = f(t.ravel()).reshape(pieces, degree + 1, -1)
        # monomials of the fraction of a piece, centred: well conditioned at this degree
        matrix = np.vander(nodes, degree + 1)
        return cls(start, width, np.moveaxis(np.linalg.solve(matrix, values), 1, 2).copy())

    @property
    def channels(self) -> int:
        return int(self.coefficients.shape[1])

    def __call__(self, t: Floats) -> Floats:
        """Values (len(t), channels)."""
        t = np.atleast_1d(np.asarray(t, dtype=float))
        k = np.clip(((t - self.start) / self.piece).astype(int), 0, len(self.coefficients) - 1)
        s = 2 * ((t - self.start) / self.piece - k) - 1
        out = np.zeros((len(t), self.channels))
        for j in range(self.coefficients.shape[2]):
            out = out * s[:, None] + self.coefficients[k, :, j]
        return out


def drive_program(
    tree: Tree, law: Law, channels: int, gains: Sequence[float], seeds: tuple[str, ...] = ()
) -> RolledProgram:
    """The drive's kernel: (q, v, signals, the robot's constants) -> forces, their power, the dissipated power.

    With seeds: the tangents of the forces.
    """
    tape = Tape()
    n = tree.size

    def symbols(array: str, count: int) -> list[Node]:
        return [tape.symbol(Address(array, "own", k)) for k in range(count)]

    q, v, r = symbols("q", n), symbols("v", n), symbols("r", channels)
    f = list(law(q, v, r, symbols("constants", len(gains))))
    outputs: list[Scalar] = [*f, dot(f, v), dissipation(tree, _traced_constants(tree, tape), q, v)]
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

        nothing: Any = ()
        body = BodyConstants(*[nothing] * len(BodyConstants._fields))._replace(D_ee=split.pattern.body.D_ee)
        out.append(from_slots(split.pattern._replace(seat=nothing, body=body), read))
        start += len(split.values)
    return out


def dissipation(tree: Tree, constants: Sequence[LinkConstants], q: Vector, v: Vector) -> Scalar:
    """Power lost in structural damping, dampers and friction."""
    power: Scalar = 0.0
    for link, values in zip(tree.links, constants, strict=True):
        own_q, own_v = q[link.own], v[link.own]
        v_e = elastic(link.kind, own_v)
        power = power + dot(v_e, times(values.body.D_ee, v_e))
        if link.kind.joint != "fixed":
            _, rate = joint_rates(link.kind, own_q, own_v)
            rate = rate + dot(values.motor_row, v_e)
            lossy = values._replace(joint=values.joint._replace(stiffness=0.0))
            power = power + joint_force(lossy, 0.0, rate) * rate
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


def rhs_ir(forward: str, drive: str, split: Split) -> str:
    """``rhs(context, t, x, dx)``."""
    w = Flow()
    numbers = ("links", "pieces", "channels", "terms")
    held = {
        name: w.get("i64" if name in numbers else "ptr", w.let(f"getelementptr inbounds i64, ptr %context, i64 {k}"))
        for k, name in enumerate(CONTEXT)
    }
    n, m, count = split.n, len(split.driven), len(split.moving)
    dv, extra = w.at("%dx", count), w.at("%dx", 2 * count)
    table = ", ".join(f"i64 {held[k]}" for k in ("pieces", "channels", "terms"))
    w.do(f"call void @signals(ptr {held['table']}, {table}, double %t, ptr {held['r']})")
    q, v = split.whole(w, ("%x", w.at("%x", count)), held["full"], held["r"])
    pointers = [held["gains"], held["gravity"], q, v, held["r"], held["arm"], held["store"], held["f"]]
    call = ", ".join(f"ptr {p}" for p in (*pointers, held["drive_rows"]))
    w.do(f"call void @{drive}({call}, i64 1)")
    out = held["out"] if m else dv
    pointers = [held["constants"], held["gravity"], q, v, held["f"], held["store"], out, held["rows"]]
    w.do(f"call void @{forward}({', '.join(f'ptr {p}' for p in pointers)}, i64 {held['links']})")
    with w.repeat(count) as i:
        w.write(w.read("%x", w.iadd(i, count)), "%dx", i)
    for k in range(BALANCES):
        w.write(w.read(held["f"], n + k), extra, k)
    if m:
        for j, k in enumerate(split.moving):
            w.write(w.read(out, m + k), dv, j)
        w.write(split.work(w, [w.read(out, k) for k in range(m)], v), extra, 0)
    return w.text("rhs", "ptr %context, double %t, ptr %x, ptr %dx", attributes="internal")


def constants_of(tree: Tree) -> Floats:
    """The constants of all links, as the kernels read them."""
    return np.array([x for split in split_tree(tree) for x in split.values])


class System:
    """A robot with a drive, ready to be integrated. Not shared between threads.

    forward  the algorithm (q, v, f) -> accelerations and the tree that it runs over; default: that of the tree itself
    driven   coordinates whose positions, rates and accelerations are the first signals; ``forward`` then takes their
             accelerations in f, as the law gives them, and its results begin with their efforts
    """

    def __init__(
        self,
        tree: Tree,
        law: Law,
        *,
        gains: Sequence[float] = (),
        channels: int = 0,
        forward: tuple[Algorithm, Tree] | None = None,
        driven: tuple[int, ...] = (),
    ) -> None:
        self.tree = tree
        self.size = tree.size
        split = Split(tree.size, driven)
        self.states = 2 * len(split.moving) + BALANCES
        program = Program(*(forward or (FORWARD, tree)))
        drive = drive_program(tree, law, channels, gains)

        def make() -> tuple[dict[str, Any], str]:
            return asdict(Plan.of(program.traced)), _module(program.traced, drive, self.states, split)

        description, self._code = stored(("system", program.identity, program_ir(drive, 1), driven), make)
        plan = Plan(**description)
        self.constants = program.constants
        self._arm = constants_of(tree)
        self._full, self._out = aligned(2 * tree.size), aligned(plan.outputs)
        self.gravity = np.array(tree.gravity, dtype=float)
        self.gains = np.array([*gains, 0.0])
        self._rows, self._drive_rows = np.array(plan.rows, dtype=np.int64), rows(drive)
        self._store = aligned(plan.record_size)
        self._r, self._f = aligned(max(channels, 1)), aligned(self.size + BALANCES)
        self.channels = channels
        self._context = np.zeros(len(CONTEXT), dtype=np.int64)
        self.work = aligned((ALL_STAGES + 2) * self.states)
        self.set_signals(Signals.none() if channels == 0 else Signals(0.0, 1.0, np.zeros((1, channels, 1))))
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
        pieces, channels, terms = signals.coefficients.shape
        self._table = np.concatenate([[signals.start, signals.piece], signals.coefficients.ravel()])
        held: dict[str, int] = {
            "constants": self.constants.ctypes.data,
            "gravity": self.gravity.ctypes.data,
            "store": self._store.ctypes.data,
            "rows": self._rows.ctypes.data,
            "links": len(self._rows),
            "arm": self._arm.ctypes.data,
            "gains": self.gains.ctypes.data,
            "drive_rows": self._drive_rows.ctypes.data,
            "r": self._r.ctypes.data,
            "f": self._f.ctypes.data,
            "full": self._full.ctypes.data,
            "out": self._out.ctypes.data,
            "table": self._table.ctypes.data,
            "pieces": pieces,
            "channels": channels,
            "terms": terms,
        }
        self._context[:] = [held[name] for name in CONTEXT]

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


def _module(program: RolledProgram, drive: RolledProgram, states: int, split: Split) -> str:
    tapes = [kernel.tape for p in (program, drive) for each in p.passes for kernel in each.kernels]
    parts = [declarations({1}), library(1, stumpff_orders(tapes))]
    text, forward = program_ir(program, 1)
    drive_text, drive_name = program_ir(drive, 1)
    parts += [text, drive_text, signals_ir(), rhs_ir(forward, drive_name, split)]
    parts += [dop853_ir(states), rk4_ir(states), semi_implicit_ir(states, len(split.moving))]
    evaluate = Flow()
    t = evaluate.get("double", "%time")
    evaluate.do(f"call void @rhs(ptr %context, double {t}, ptr %x, ptr %dx)")
    parts.append(evaluate.text("evaluate", "ptr %context, ptr %time, ptr %x, ptr %dx"))
    parts.append(entry_ir("evaluate", dict.fromkeys(("context", "time", "x", "dx"), "ptr")))
    parts.append(ATTRIBUTES)
    return "".join(parts)
