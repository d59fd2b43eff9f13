"""The explicit integrator of eighth order in the lanes of vector registers: a run in each, with steps of its own.

All lanes try a step together, each from its own time and of its own size. Those that are at their end, or that cannot
go on, wait with steps of no length; nothing passes from lane to lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number
from pliant.engine.stepping.dormand_prince import (
    ALL_STAGES,
    STAGES,
    controlled,
    dense_terms,
    dense_value,
    dormand_prince_853,
    step_error,
)
from pliant.engine.stepping.driven_system import call_drive, call_dynamics
from pliant.engine.stepping.driving import Driving
from pliant.engine.stepping.integrators import Clock, Status, next_step, weighted
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.stepping.ticks import Computer

RUNNING = 2
"""Status of a lane on its way; see ``Status`` for the others."""
TERMS = 7
"""Coefficients of a state within a step."""
WORK = ALL_STAGES + 2 + TERMS
"""Arrays of states for the work of a step: slopes of the stages, the end, a further stage, coefficients."""
ARRAYS = (
    "constants",
    "gravity",
    "store",
    "rows",
    "arm",
    "gains",
    "drive_rows",
    "r",
    "f",
    "held",
    "x",
    "tolerance",
    "work",
)
BY_LANE = (
    "tables",
    "clocks",
    "knots",
    "grids",
    "counts",
    "nexts",
    "samples",
    "status",
    "taken",
    "accepted",
    "computers",
    "begun",
)
TIMES = ("t", "h", "reach", "last", "error", "relative", "stage", "ends")
SIZES = ("links", "pieces", "channels", "terms")
CONTEXT = (*ARRAYS, *BY_LANE, *TIMES, *SIZES)
"""What the code is given: arrays of lanes, one entry per lane (addresses and whole numbers, then times), sizes."""


class LaneFlow(Flow):
    """A function of the context whose lanes are runs."""

    def __init__(self, lanes: int) -> None:
        super().__init__()
        self.count = lanes
        self.held = {
            name: self.get("i64" if name in SIZES else "ptr", self._entry("%context", str(k)))
            for k, name in enumerate(CONTEXT)
        }

    def _entry(self, base: str, k: str) -> str:
        return self.let(f"getelementptr inbounds i64, ptr {base}, i64 {k}")

    def address(self, name: str, k: str) -> str:
        """The array of a lane."""
        return self.get("ptr", self._entry(self.held[name], k))

    def whole(self, name: str, k: str) -> str:
        """A whole number of a lane."""
        return self.get("i64", self._entry(self.held[name], k))

    def set_whole(self, value: str | int, name: str, k: str) -> None:
        self.put("i64", str(value), self._entry(self.held[name], k))

    def is_running(self, k: str) -> str:
        return self.let(f"icmp eq i64 {self.whole('status', k)}, {RUNNING}")

    def of_lane(self, i: str, k: str) -> str:
        """Place of entry i of lane k in an array of lanes, counted in doubles."""
        return self.iadd(self.imul(i, self.count), k)

    def vector(self, name: str) -> str:
        """Times of all lanes."""
        with self.on_lanes(self.count):
            return self.read(self.held[name], 0)

    def add_to(self, clock: str, entry: Clock, change: float) -> None:
        self.write(self.fadd(self.read(clock, entry), number(change)), clock, entry)

    def rhs(self, x: str, out: str) -> None:
        """Slopes at the times ``stage``."""
        self.do(f"call void @rhs(ptr %context, ptr {x}, ptr {out})")


def lane_rhs_ir(forward: str, drive: str, driving: Driving, layout: StateLayout, n: int, lanes: int) -> str:
    """``rhs(context, x, dx)`` at the times ``stage``, of robots whose coordinates all move."""
    w = LaneFlow(lanes)
    if driving.signals > driving.held:
        _follow(w)
    with w.on_lanes(lanes):
        for k in range(driving.held):
            w.write(w.read(w.held["held"], k), w.held["r"], k)
        for k in range(driving.states):
            w.write(w.read("%x", layout.drive.start + k), w.held["r"], driving.signals + k)
        v, dv = w.at("%x", layout.v.start), w.at("%dx", layout.v.start)
        call_drive(w, w.held, drive, "%x", v)
        call_dynamics(w, w.held, f"@{forward}", ("%x", v, w.held["f"]), dv)
        with w.repeat(layout.count) as i:
            w.write(w.read(v, i), "%dx", i)
        for k in range(layout.further):
            w.write(w.read(w.held["f"], n + k), "%dx", layout.rest.start + k)
    return w.text("rhs", "ptr %context, ptr %x, ptr %dx", attributes="internal")


def _follow(w: LaneFlow) -> None:
    """The signals of every lane at its time into r; the polynomials of all lanes have the same shape."""
    t = f"<{w.count} x double>"
    last, firsts, s = w.iadd(w.held["pieces"], -1), [], "undef"
    for k in range(w.count):
        table = w.address("tables", str(k))
        place = w.fdiv(w.fsub(w.read(w.held["stage"], k), w.read(table, 0)), w.read(table, 1))
        # what is not a number, or beyond the end, is in the last piece
        piece = w.let(f"fptosi double {w.fmax(w.fmin(place, _double(w, last)), number(0.0))} to i64")
        within = w.fsub(w.fmul(number(2.0), w.fsub(place, _double(w, piece))), number(1.0))
        s = w.let(f"insertelement {t} {s}, double {within}, i32 {k}")
        row = w.imul(w.imul(piece, w.held["channels"]), w.held["terms"])
        firsts.append(w.at(table, w.iadd(row, 2)))
    value = w.variable(t, "zeroinitializer")
    with w.repeat(w.held["channels"]) as c:
        w.put(t, "zeroinitializer", value)
        start = w.imul(c, w.held["terms"])
        with w.repeat(w.held["terms"]) as j:
            coefficient, at = "undef", w.iadd(start, j)
            for k, first in enumerate(firsts):
                coefficient = w.let(f"insertelement {t} {coefficient}, double {w.read(first, at)}, i32 {k}")
            with w.on_lanes(w.count):
                w.put(t, w.fadd(w.fmul(w.get(t, value), s), coefficient), value)
        with w.on_lanes(w.count):
            w.write(w.get(t, value), w.held["r"], c)


def _double(w: Flow, i: str) -> str:
    return w.let(f"sitofp i64 {i} to double")


def lane_dop853_ir(states: int, steering: int, lanes: int) -> str:
    """``dop853(context, pause)``: every lane to its end, or by as many steps as it has knots for."""
    pair, m = dormand_prince_853(), states
    w = LaneFlow(lanes)
    x, tolerance, stage_time = w.held["x"], w.held["tolerance"], w.held["stage"]
    with w.on_lanes(lanes):
        K = [w.at(w.held["work"], i * m) for i in range(ALL_STAGES)]
        y, further = (w.at(w.held["work"], i * m) for i in (ALL_STAGES, ALL_STAGES + 1))
        terms = w.at(w.held["work"], (ALL_STAGES + 2) * m)
    rejected = [w.variable(f"[{lanes} x i1]", "zeroinitializer")]
    active, dense = w.variable("i64", "1"), w.variable("i64", "0")

    def combine(row: Any, target: str) -> None:
        """target = x + h sum_j row_j K_j."""
        h = w.vector("h")
        with w.on_lanes(lanes), w.repeat(m) as q:
            w.write(w.fadd(w.read(x, q), w.fmul(h, weighted(w, row, K, q))), target, q)

    def at_fraction(c: float) -> None:
        t, h = w.vector("t"), w.vector("h")
        with w.on_lanes(lanes):
            w.write(w.fadd(t, w.fmul(w.number(c), h)), stage_time, 0)

    def at_times(name: str) -> None:
        times = w.vector(name)
        with w.on_lanes(lanes):
            w.write(times, stage_time, 0)

    with w.flushed():
        _begin(w, x, y, K[0], m, at_times)
        with w.loop(lambda: w.iless("0", w.get("i64", active))):
            _plan(w, active)
            for i in range(1, STAGES):
                combine(pair.A[i], y)
                at_fraction(pair.C[i])
                w.rhs(y, K[i])
            combine(pair.A[STAGES], y)
            at_times("reach")
            w.rhs(y, K[STAGES])
            h, relative = w.vector("h"), w.vector("relative")
            with w.on_lanes(lanes):
                w.write(step_error(w, pair, K, x, y, tolerance, h, m, steering, relative), w.held["error"], 0)
            _control(w, rejected[0], dense)
            with w.when(w.iless("0", w.get("i64", dense))):
                for i in range(STAGES + 1, ALL_STAGES):
                    combine(pair.A[i], further)
                    at_fraction(pair.C[i])
                    w.rhs(further, K[i])
                h = w.vector("h")
                with w.on_lanes(lanes), w.repeat(m) as q:
                    for i, term in enumerate(dense_terms(w, pair, K, x, y, h, q)):
                        w.write(term, terms, w.iadd(q, i * m))
                _sample(w, x, terms, m)
            _accept(w, x, y, K, m)
    return w.text("dop853", "ptr %context, i64 %pause")


def lane_ticked_ir(layout: StateLayout, lanes: int) -> str:
    """``ticked(context, pause)``: ``dop853`` with a computer beside every lane, from tick to tick.

    A lane that needs Python for a tick has the status ``TICK``. Where a command takes effect the time stands in two
    rows of knots, which count as steps taken.
    """
    w, n = LaneFlow(lanes), layout.count
    state = w.variable(f"[{2 * n} x double]", "zeroinitializer")
    active = w.variable("i64", "1")
    with w.loop(lambda: w.iless("0", w.get("i64", active))):
        w.put("i64", "0", active)
        with w.repeat(lanes) as k:
            clock, end, status = w.address("clocks", k), w.read(w.held["ends"], k), w.whole("status", k)
            t = w.read(clock, Clock.T)
            goes_on = w.let(f"or i1 {w.let(f'icmp eq i64 {status}, 0')}, {w.is_running(k)}")
            with w.when(w.let(f"and i1 {goes_on}, {w.less(t, end)}")):
                _tick(w, k, clock, t, end, state, n, active)
        with w.when(w.iless("0", w.get("i64", active))):
            w.do("call void @dop853(ptr %context, i64 %pause)")
    with w.repeat(lanes) as k:
        w.write(w.read(w.held["ends"], k), w.address("clocks", k), Clock.END)
    return w.text("ticked", "ptr %context, i64 %pause")


def _tick(w: LaneFlow, k: str, clock: str, t: str, end: str, state: str, n: int, active: str) -> None:
    """What is due in a lane, and how far its next steps go."""
    computer, done = Computer(w, w.address("computers", k)), w.label("done")

    def out(status: Status) -> None:
        w.set_whole(int(status), "status", k)
        w.leave(done)

    with w.repeat(2 * n) as i:
        w.write(w.read(w.held["x"], w.of_lane(i, k)), state, i)
    jumped = computer.due(t, state, w.at(state, n), lambda: out(Status.TICK))
    with w.when(jumped):
        w.write(number(0.0), clock, Clock.HAS_SLOPE)
        w.set_whole(w.iadd(w.whole("taken", k), w.whole("begun", k)), "taken", k)
    with w.repeat(computer.held["inputs"]) as i:
        w.write(w.read(computer.held["held"], i), w.held["held"], w.of_lane(i, k))
    with w.when(w.let(f"icmp sge i64 {w.whole('taken', k)}, %pause")):
        out(Status.PAUSED)
    w.write(w.fmin(end, computer.upcoming()), clock, Clock.END)
    w.set_whole(RUNNING, "status", k)
    w.set_whole(1, "begun", k)
    w.put("i64", w.iadd(w.get("i64", active), 1), active)
    w.place(done)


def _begin(w: LaneFlow, x: str, y: str, slope: str, m: int, at_times: Any) -> None:
    """Slopes of the lanes that have none, and the first knots."""
    with w.repeat(w.count) as k:
        w.write(w.read(w.address("clocks", k), Clock.T), w.held["t"], k)
    at_times("t")
    w.rhs(x, y)
    with w.repeat(w.count) as k, w.when(w.is_running(k)):
        clock = w.address("clocks", k)
        with w.when(w.less(w.read(clock, Clock.HAS_SLOPE), number(0.5))):
            with w.repeat(m) as q:
                at = w.of_lane(q, k)
                w.write(w.read(y, at), slope, at)
            w.write(number(1.0), clock, Clock.HAS_SLOPE)
            w.add_to(clock, Clock.CALLS, 1.0)
        _keep_knot(w, k, clock, x, slope, m)


def _plan(w: LaneFlow, active: str) -> None:
    """The next step of each lane; one that does not go on takes steps of no length."""
    w.put("i64", "0", active)
    with w.repeat(w.count) as k:
        clock = w.address("clocks", k)
        for name in ("t", "reach"):
            w.write(w.read(clock, Clock.T), w.held[name], k)
        for name in ("h", "last"):
            w.write(number(0.0), w.held[name], k)
        w.set_whole(0, "accepted", k)
        with w.when(w.is_running(k)):
            step, is_too_small = next_step(w, clock)
            is_over = w.negated(w.less(step.t, w.read(clock, Clock.END)))
            is_full = w.let(f"icmp sge i64 {w.whole('taken', k)}, %pause")
            now = w.let(f"select i1 {is_too_small}, i64 {int(Status.STEP_TOO_SMALL)}, i64 {RUNNING}")
            now = w.let(f"select i1 {is_full}, i64 {int(Status.PAUSED)}, i64 {now}")
            now = w.let(f"select i1 {is_over}, i64 {int(Status.FINISHED)}, i64 {now}")
            w.set_whole(now, "status", k)
            with w.when(w.is_running(k)):
                w.write(step.h, w.held["h"], k)
                w.write(step.reach, w.held["reach"], k)
                w.write(w.select(step.last, number(1.0), number(0.0)), w.held["last"], k)
                w.put("i64", w.iadd(w.get("i64", active), 1), active)


def _control(w: LaneFlow, rejected: str, dense: str) -> None:
    """Which lanes accept their step, and the size of the next one; whether samples are wanted within a step."""
    w.put("i64", "0", dense)
    with w.repeat(w.count) as k, w.when(w.is_running(k)):
        clock = w.address("clocks", k)
        w.add_to(clock, Clock.CALLS, float(STAGES))
        h, error = w.read(w.held["h"], k), w.read(w.held["error"], k)
        last = w.less(number(0.5), w.read(w.held["last"], k))
        before = w.let(f"getelementptr inbounds [{w.count} x i1], ptr {rejected}, i64 0, i64 {k}")
        with w.when(controlled(w, clock, error, h, last, before)):
            w.set_whole(1, "accepted", k)
            with w.when(_wanted(w, k)):
                w.add_to(clock, Clock.CALLS, float(ALL_STAGES - STAGES - 1))
                w.put("i64", w.iadd(w.get("i64", dense), 1), dense)


def _wanted(w: LaneFlow, k: str) -> str:
    """Whether the next grid time of a lane lies within its step."""
    n = w.get("i64", w.address("nexts", k))
    inside = w.iless(n, w.whole("counts", k))
    safe = w.let(f"select i1 {inside}, i64 {n}, i64 0")
    in_time = w.let(f"fcmp ole double {w.read(w.address('grids', k), safe)}, {w.read(w.held['reach'], k)}")
    return w.let(f"and i1 {inside}, {in_time}")


def _sample(w: LaneFlow, x: str, terms: str, m: int) -> None:
    """x of each lane at the grid times within its step."""
    with w.repeat(w.count) as k, w.when(w.let(f"icmp eq i64 {w.whole('accepted', k)}, 1")):
        following, samples, grid = (w.address(name, k) for name in ("nexts", "samples", "grids"))
        t, h = w.read(w.held["t"], k), w.read(w.held["h"], k)
        with w.loop(lambda: _wanted(w, k)):
            n = w.get("i64", following)
            s = w.fdiv(w.fsub(w.read(grid, n), t), h)
            rest = w.fsub(number(1.0), s)
            with w.repeat(m) as q:
                F = [w.read(terms, w.of_lane(w.iadd(q, i * m), k)) for i in range(TERMS)]
                value = dense_value(w, w.read(x, w.of_lane(q, k)), F, s, rest)
                w.write(value, samples, w.iadd(w.imul(n, m), q))
            w.put("i64", w.iadd(n, 1), following)


def _accept(w: LaneFlow, x: str, y: str, K: Sequence[str], m: int) -> None:
    """Lanes whose step is good go on."""
    with w.repeat(w.count) as k, w.when(w.let(f"icmp eq i64 {w.whole('accepted', k)}, 1")):
        clock = w.address("clocks", k)
        with w.repeat(m) as q:
            at = w.of_lane(q, k)
            w.write(w.read(y, at), x, at)
            w.write(w.read(K[STAGES], at), K[0], at)
        w.write(w.read(w.held["reach"], k), clock, Clock.T)
        w.add_to(clock, Clock.STEPS, 1.0)
        w.set_whole(w.iadd(w.whole("taken", k), 1), "taken", k)
        _keep_knot(w, k, clock, x, K[0], m)


def _keep_knot(w: LaneFlow, k: str, clock: str, x: str, slope: str, m: int) -> None:
    """Time, state and slope of a lane into the row of its step."""
    knots, row = w.address("knots", k), w.imul(w.whole("taken", k), 1 + 2 * m)
    w.write(w.read(clock, Clock.T), knots, row)
    with w.repeat(m) as q:
        at, place = w.of_lane(q, k), w.iadd(row, q)
        w.write(w.read(x, at), knots, w.iadd(place, 1))
        w.write(w.read(slope, at), knots, w.iadd(place, 1 + m))
