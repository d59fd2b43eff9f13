"""A computer beside a run: at multiples of a period it samples the state and computes, and holds its command.

Integrators end their steps at the ticks. ``ticked`` is a loop in machine code around the steps of any of them: it lets
the kernel of a law compute, writes its commands to a log and holds them. What is known of a computer is in arrays that
Python reads and writes as well: it computes the ticks of a user's function, and those that a kernel refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.evaluator import stored
from pliant.engine.call.row_kernel import FIRST_INPUT, BoundRow
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.jit import LoadedCode
from pliant.engine.compile.llvm_ir import number
from pliant.engine.compile.module import ATTRIBUTES
from pliant.engine.stepping.integrators import ARGUMENTS, SLIVER, Clock, Status

Floats = NDArray[np.float64]

BLOCK = 1024
"""Ticks whose signals are found together; blocks begin at multiples of it."""
SAME = 1e-9
"""Instants closer than this part of a period are one."""


class Entry(IntEnum):
    """Entries of the array of numbers: period, delay, next tick, next one whose command takes effect, tick of the first
    row of the log, first tick of the table of signals and the one behind its last; size of equal steps (zero: of their
    own choice), rows of knots that a call wrote."""

    PERIOD = 0
    DELAY = 1
    COUNT = 2
    EFFECT = 3
    FIRST = 4
    TABLE = 5
    TABLE_END = 6
    SIZE = 7
    ROWS = 8


CONTEXT = ("numbers", "kernel", "arguments", "out", "table", "log", "held", "discrete")
SIZES = ("coordinates", "states", "inputs", "channels", "capacity", "width", "per_step", "refuses", "size")
"""What the machine code is given: arrays, the kernel and whether it may refuse; sizes, of a row of knots too."""


class Ticks:
    """What a computer knows; see ``Entry`` for its numbers.

    table  signals of some ticks (BLOCK, channels), found by ``find(first, count)``
    log    discrete states and commands, a row for each tick since the oldest command that may still be asked for
    held   the command in force
    until  end of the run: later signals are not asked for
    kernel a tick in machine code, (q, v, discrete states, signals, ...) -> (discrete states, command); None: Python
           computes. Where it may refuse, results that are no numbers are not taken
    """

    def __init__(
        self,
        find: Callable[[int, int], Floats],
        initial: Floats,
        inputs: int,
        channels: int,
        *,
        period: float,
        delay: float = 0.0,
        until: float = inf,
    ) -> None:
        self._find, self.until = find, until
        self.numbers = np.zeros(len(Entry))
        self.numbers[[Entry.PERIOD, Entry.DELAY]] = period, delay
        self.period, self.delay = period, delay
        self.table = np.zeros((BLOCK, max(channels, 1)))
        self.channels = channels
        self.log = np.zeros((BLOCK, len(initial) + inputs))
        self.initial, self.discrete, self.held = initial, initial.copy(), np.zeros(inputs)
        self.kernel: BoundRow | None = None
        self.may_refuse = False

    def _number(self, entry: Entry) -> int:
        return int(self.numbers[entry])

    @property
    def count(self) -> int:
        """The next tick."""
        return self._number(Entry.COUNT)

    @property
    def upcoming(self) -> float:
        """When the next tick is, or a command takes effect."""
        effect = self._number(Entry.EFFECT)
        waits = effect < self.count
        return min(self.count * self.period, effect * self.period + self.delay if waits else inf)

    def signals(self) -> Floats:
        """Signals of the next tick; the block that it is in is found if need be."""
        k = self.count
        if not self.numbers[Entry.TABLE] <= k < self.numbers[Entry.TABLE_END]:
            first = k - k % BLOCK
            last = inf if self.until == inf else max(np.ceil(self.until / self.period) - 1, k)
            count = int(min(BLOCK, last - first + 1))
            self.table[:count, : self.channels] = self._find(first, count)
            self.numbers[[Entry.TABLE, Entry.TABLE_END]] = first, first + count
        return self.table[k - self._number(Entry.TABLE), : self.channels]

    def take(self, t: float, compute: Callable[[], tuple[Floats, Floats]]) -> None:
        """All that is due at a time; ``compute`` gives discrete states and the command of a tick."""
        close = SAME * self.period
        if t >= self.count * self.period - close:
            self.discrete[:], command = compute()
            self.make_room()
            self.log[self.count - self._number(Entry.FIRST)] = *self.discrete, *command
            self.numbers[Entry.COUNT] += 1
        while (k := self._number(Entry.EFFECT)) < self.count and t >= k * self.period + self.delay - close:
            self.held[:] = self.log[k - self._number(Entry.FIRST), len(self.discrete) :]
            self.numbers[Entry.EFFECT] += 1

    def make_room(self, rows: int = 1) -> None:
        """Forget what was before the command in force where the log has less room."""
        first, needed = self._number(Entry.FIRST), max(self._number(Entry.EFFECT) - 1, 0)
        kept = self.count - needed
        if self.count - first + rows > len(self.log):
            own = self.log[needed - first : self.count - first].copy()
            if kept + rows > len(self.log):
                self.log = np.zeros((kept + max(rows, BLOCK), self.log.shape[1]))
            self.log[:kept] = own
            self.numbers[Entry.FIRST] = needed

    # ---- what was

    def _index(self, times: Floats, delay: float, last: int) -> NDArray[np.int64]:
        """Ticks of which something is in force at times; at a tick, the one before, but for the first instant."""
        k = np.ceil((times - delay) / self.period).astype(np.int64) - 1
        # rounding of the quotient does not matter, only whether an instant was before
        k += (k + 1) * self.period + delay < times
        k -= k * self.period + delay >= times
        return np.clip(np.where(times <= 0, 0 if delay == 0 else -1, k), -1, last - 1)

    def _part(self, k: NDArray[np.int64], start: int, before: Floats) -> Floats:
        """Entries of the log from ``start`` on at ticks; before the first tick there were others."""
        row = k - self._number(Entry.FIRST)
        if (row[k >= 0] < 0).any():
            raise ValueError(f"what was computed at tick {k[k >= 0].min()} is no longer known")
        known = self.log[np.maximum(row, 0), start : start + len(before)]
        return np.where((k >= 0)[:, None], known, before)

    def commands(self, times: Floats) -> Floats:
        """Commands in force at times (times, inputs)."""
        k = self._index(times, self.delay, self._number(Entry.EFFECT))
        return self._part(k, len(self.discrete), np.zeros(len(self.held)))

    def states(self, times: Floats) -> Floats:
        """Discrete states at times (times, states)."""
        return self._part(self._index(times, 0.0, self.count), 0, self.initial)

    def within(self, start: float, end: float) -> tuple[Floats, Floats]:
        """Commands in force between two times (commands, inputs), and since when, not before the first of these."""
        first, last = self._index(np.array([np.nextafter(start, inf), end]), self.delay, self._number(Entry.EFFECT))
        k = np.arange(first, last + 1)
        times = np.maximum(k * self.period + self.delay, start)
        return times, self._part(k, len(self.discrete), np.zeros(len(self.held)))

    # ---- checkpoints

    def memory(self) -> dict[str, Any]:
        """What must be kept to go on."""
        first, needed = self._number(Entry.FIRST), max(self._number(Entry.EFFECT) - 1, 0)
        log = self.log[needed - first : self.count - first].copy()
        return {
            "x": self.discrete.copy(),
            "held": self.held.copy(),
            "count": np.array([self.count, self._number(Entry.EFFECT)]),
            "log": log,
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from what ``memory`` gave."""
        self.discrete[:], self.held[:] = memory["x"], memory["held"]
        count, effect = (int(x) for x in memory["count"])
        self.numbers[[Entry.COUNT, Entry.EFFECT, Entry.FIRST]] = count, effect, max(effect - 1, 0)
        self.numbers[[Entry.TABLE, Entry.TABLE_END]] = 0
        kept = len(memory["log"])
        if kept > len(self.log):
            self.log = np.zeros((kept + BLOCK, self.log.shape[1]))
        self.log[:kept] = memory["log"]

    # ---- what machine code is told

    def told(self, sizes: tuple[int, int, int, int]) -> NDArray[np.int64]:
        """``CONTEXT`` and ``SIZES``: how many coordinates, numbers in a row of knots, rows that a step has, numbers in
        a state; the others are its own."""
        kernel, (coordinates, width, per_step, size) = self.kernel, sizes
        own = (len(self.discrete), len(self.held), self.table.shape[1], len(self.log))
        called = (0, 0, 0) if kernel is None else (kernel.address, kernel.arguments.ctypes.data, kernel.out.ctypes.data)
        held = (array.ctypes.data for array in (self.table, self.log, self.held, self.discrete))
        told = (coordinates, *own, width, per_step, self.may_refuse, size)
        return np.array([self.numbers.ctypes.data, *called, *held, *told], dtype=np.int64)


class Ticking(NamedTuple):
    """What a call of an integrator needs where a computer is beside the run.

    compute  lets Python take what is due at a time and state
    size     of equal steps; zero: the integrator chooses them
    """

    ticks: Ticks
    compute: Callable[[float, Floats], None]
    size: float = 0.0

    def compute_due(self, clock: Floats, x: Floats) -> None:
        """What machine code left to Python: a tick, unless signals of further ones were all that it lacked."""
        if self.ticks.count < self.ticks.numbers[Entry.TABLE_END]:
            self.compute(float(clock[Clock.T]), x)
            clock[[Clock.HAS_SLOPE, Clock.JUMPED]] = 0.0, 1.0


def ticking_code() -> LoadedCode:
    """``ticked`` in machine code."""
    module = "pliant.engine.stepping.ticks"
    return stored(("ticks",), lambda: ({}, "".join([prelude([], 1), ticked_ir(), ATTRIBUTES])), homes={module})[1]


def is_finite(w: Flow, array: str, count: str) -> str:
    """Whether all numbers of an array are finite."""
    total = w.variable("double", number(0.0))
    with w.repeat(count) as i:
        w.put("double", w.fadd(w.get("double", total), w.fmul(number(0.0), w.read(array, i))), total)
    return w.let(f"fcmp ord double {w.get('double', total)}, {number(0.0)}")


class Computer:
    """Code of what a computer does, in a function ``w``; ``told`` is its array of addresses and sizes."""

    def __init__(self, w: Flow, told: str) -> None:
        self.w = w
        self.held = {
            name: w.get("ptr" if name in CONTEXT else "i64", self.entry(told, k))
            for k, name in enumerate((*CONTEXT, *SIZES))
        }

    def entry(self, base: str, k: str | int) -> str:
        return self.w.let(f"getelementptr inbounds i64, ptr {base}, i64 {k}")

    def number_of(self, entry: Entry) -> str:
        return self.w.read(self.held["numbers"], int(entry))

    def whole(self, x: str) -> str:
        return self.w.let(f"fptosi double {x} to i64")

    def time_of(self, tick: str, delay: str) -> str:
        # rounded as Python does, not fused
        product = self.w.let(f"fmul double {tick}, {self.number_of(Entry.PERIOD)}")
        return self.w.let(f"fadd double {product}, {delay}")

    def log_row(self, tick: str) -> str:
        row = self.whole(self.w.fsub(tick, self.number_of(Entry.FIRST)))
        return self.w.at(self.held["log"], self.w.imul(row, self.w.iadd(self.held["states"], self.held["inputs"])))

    def due(self, t: str, q: str, v: str, refused: Callable[[], None]) -> str:
        """All that is due at a time, of coordinates and rates; whether a command took effect. ``refused`` leaves."""
        w, held = self.w, self.held
        close = w.fmul(number(SAME), self.number_of(Entry.PERIOD))
        now = self.number_of(Entry.COUNT)
        with w.when(w.negated(w.less(t, w.fsub(self.time_of(now, number(0.0)), close)))):
            full = w.iless(self.whole(w.fsub(now, self.number_of(Entry.FIRST))), held["capacity"])
            known = w.less(now, self.number_of(Entry.TABLE_END))
            able = w.let(f"icmp ne ptr {held['kernel']}, null")
            able = w.let(f"and i1 {able}, {known}")
            able = w.let(f"and i1 {able}, {full}")
            with w.when(w.negated(able)):
                refused()
            row = w.imul(self.whole(w.fsub(now, self.number_of(Entry.TABLE))), held["channels"])
            signals = w.at(held["table"], row)
            for k, array in enumerate((q, v, held["discrete"], signals)):
                w.put("ptr", array, self.entry(held["arguments"], FIRST_INPUT + 2 * k))
            w.do(f"call void {held['kernel']}(ptr {held['arguments']})")
            found = w.iadd(held["states"], held["inputs"])
            may = w.let(f"icmp ne i64 {held['refuses']}, 0")
            with w.when(w.let(f"and i1 {may}, {w.negated(is_finite(w, held['out'], found))}")):
                refused()
            log = self.log_row(now)
            with w.repeat(found) as i:
                w.write(w.read(held["out"], i), log, i)
            with w.repeat(held["states"]) as i:
                w.write(w.read(held["out"], i), held["discrete"], i)
            w.write(w.fadd(now, number(1.0)), held["numbers"], Entry.COUNT)
        jumped, goes_on = w.variable("i1", "false"), w.variable("i1", "true")
        with w.loop(lambda: w.get("i1", goes_on)):
            effect = self.number_of(Entry.EFFECT)
            late = w.fsub(self.time_of(effect, self.number_of(Entry.DELAY)), close)
            waits = w.less(effect, self.number_of(Entry.COUNT))
            is_due = w.let(f"and i1 {waits}, {w.negated(w.less(t, late))}")
            w.put("i1", is_due, goes_on)
            with w.when(is_due):
                command = w.at(self.log_row(effect), held["states"])
                with w.repeat(held["inputs"]) as i:
                    w.write(w.read(command, i), held["held"], i)
                w.write(w.fadd(effect, number(1.0)), held["numbers"], Entry.EFFECT)
                w.put("i1", "true", jumped)
        return w.get("i1", jumped)

    def upcoming(self) -> str:
        """The next time at which something is due."""
        w, effect, now = self.w, self.number_of(Entry.EFFECT), self.number_of(Entry.COUNT)
        sample, later = self.time_of(now, number(0.0)), self.time_of(effect, self.number_of(Entry.DELAY))
        return w.fmin(sample, w.select(w.less(effect, now), later, sample))


def ticked_ir() -> str:
    """``ticked(told, function, ...)``: an integrator, by its address and with its arguments, and ticks on its way.

    The last argument but those of the grid is the number of rows of knots. Where a command takes effect the time stands
    in two rows, with the slopes of either side.
    """
    w = Flow()
    computer = Computer(w, "%told")
    held = computer.held
    status, used = w.variable("i64", str(int(Status.FINISHED))), w.variable("i64", "0")
    begun, leave, end = w.variable("i1", "false"), w.label("exit"), w.read("%clock", Clock.END)
    per_step = held["per_step"]

    def out(why: Status) -> None:
        w.put("i64", str(int(why)), status)
        w.leave(leave)

    with w.loop(lambda: w.less(w.read("%clock", Clock.T), end)):
        t = w.read("%clock", Clock.T)
        jumped = computer.due(t, "%x", w.at("%x", held["coordinates"]), lambda: out(Status.TICK))
        with w.when(jumped):
            w.write(number(0.0), "%clock", Clock.HAS_SLOPE)
            w.write(number(1.0), "%clock", Clock.JUMPED)
        again = w.let(f"and i1 {jumped}, {w.get('i1', begun)}")
        first = w.iadd(w.get("i64", used), w.let(f"zext i1 {again} to i64"))
        left = w.let(f"sub i64 {w.iadd('%pause', -1)}, {first}")
        room = w.let(f"sdiv i64 {left}, {per_step}")
        with w.when(w.iless(room, 1)):
            out(Status.PAUSED)
        w.put("i64", first, used)
        w.put("i1", "true", begun)
        stop = w.fmin(end, computer.upcoming())
        w.write(stop, "%clock", Clock.END)
        size = computer.number_of(Entry.SIZE)
        with w.when(w.less(number(0.0), size)):
            left = w.fsub(stop, t)
            steps = w.ceil(w.fsub(w.fdiv(left, size), number(SLIVER)))
            w.write(w.fdiv(left, w.fmax(steps, number(1.0))), "%clock", Clock.STEP)
        before = w.read("%clock", Clock.STEPS)
        knots = w.at("%knots", w.imul(first, held["width"]))
        given = ARGUMENTS.replace("%pause", room).replace("%knots", knots)
        found = w.let(f"call i64 %function({given})")
        taken = w.imul(computer.whole(w.fsub(w.read("%clock", Clock.STEPS), before)), per_step)
        w.put("i64", w.iadd(first, taken), used)
        w.put("i64", found, status)
        # equal steps do not notice that a motion diverges
        finite = is_finite(w, "%x", held["size"])
        done = w.let(f"and i1 {w.let(f'icmp eq i64 {found}, 0')}, {finite}")
        # whoever raised an error has moved the end
        unmoved = w.let(f"fcmp oeq double {w.read('%clock', Clock.END)}, {stop}")
        done = w.let(f"and i1 {done}, {unmoved}")
        with w.when(w.negated(done)):
            w.leave(leave)
    w.place(leave)
    w.write(end, "%clock", Clock.END)
    rows = w.iadd(w.get("i64", used), 1)
    rows = w.let(f"select i1 {w.get('i1', begun)}, i64 {rows}, i64 0")
    w.write(w.let(f"sitofp i64 {rows} to double"), held["numbers"], Entry.ROWS)
    w.do(f"ret i64 {w.get('i64', status)}")
    return w.text("ticked", f"ptr %told, ptr %function, {ARGUMENTS}", "i64")
