"""Gauss's collocation of order 32 in compiled code, for vibrations that are followed over many periods.

A step finds the accelerations at its sixteen stages, all at once, by Newton's method: the lanes of vector registers are
stages. The Newton matrix is taken apart by the vibrations about an earlier state (``stage_modes``). They are brought
up to date by perturbation wherever that saves more iterations than it costs, and found anew where it does not. The first
guess is the motion of these vibrations under what else was seen to act on them in the step before.

Nothing is damped, and a step may be longer than the period of the fastest vibration. Between the stages the motion is
the polynomial through them, and its last Legendre coefficients say how well it follows the motion; at the end of a step
it is far better than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.backends.flow import Flow
from pliant.engine.backends.llvm_ir import number, vector_type
from pliant.engine.stepping.driven_system import call_drive, held_in
from pliant.engine.stepping.driving import Driving
from pliant.engine.stepping.gauss_legendre import STAGES, gauss_legendre, integrals, legendre
from pliant.engine.stepping.integrators import Clock, Status, Step, Stepping
from pliant.engine.stepping.layout import StateLayout

Floats = NDArray[np.float64]

ITERATIONS = 10
"""Newton steps after which a step is given up ..."""
SLOW = 0.5
"""... or if one is not this much smaller than the one before it."""
CONVERGED = 0.05
"""Error of the stages, in units of the tolerance, that Newton's method may leave ..."""
FOUND = 1e-3
"""... and a change that is that small whatever comes next."""
MEMORY = 0.8
"""Power of the last rate of convergence that the first Newton step of a step is judged by."""
SLOWEST, FASTEST, SAFETY = 0.2, 4.0, 0.85
KEEP_FROM, KEEP_TO = 0.95, 1.15
"""Factors by which a step is not worth to be changed: other sizes need other matrices."""
ORDER = STAGES + 1
"""With which the error between the stages falls."""
UPDATE, RENEWAL = 4, 36
"""Newton steps that bringing the vibrations up to date takes the time of, and that finding them anew does."""
LARGEST_TURN = 0.2
"""Part of one vibration in another one up to which perturbation mixes them."""
GUESS = 2
"""Legendre coefficients by which forces are foretold for the next step."""
SUBSTEPS = 8
"""Parts of a step at whose ends state and slope are handed out: one of its own is longer than a vibration."""
LAST = 4
"""Legendre coefficients of the accelerations that tell the error."""
DIFFERENCE = 1e-6
"""Step of the difference quotients of accelerations; derivatives only speed up convergence."""

CONTEXT = ("links",)


class Own(IntEnum):
    """Numbers that a step hands on to the next one.

    AGE      steps since the vibrations were brought up to date; negative: they must be found
    RATE     rate of convergence
    OWED     Newton steps more than needed after they were found, since they were brought up to date
    FEWEST   Newton steps that were needed after they were found
    LOST     those that were still too many right after they were brought up to date
    FILTER   size of the step that the filters are for
    BEFORE   size of the step before; zero: nothing is known of it
    """

    AGE = 0
    RATE = 1
    OWED = 2
    FEWEST = 3
    LOST = 4
    FILTER = 5
    BEFORE = 6


class GaussWork(NamedTuple):
    """Where the arrays of a step begin, in doubles.

    Arrays of stages hold vectors of lanes, coordinate by coordinate, for one group of stages after the other.
    """

    shapes: int
    inverse: int
    squares: int
    damping: int
    own: int
    slope: int
    weights: int
    at_rest: int
    filters: int
    places: int
    rates: int
    found: int
    accelerations: int
    remainder: int
    foretold: int
    residual: int
    change: int
    trial_places: int
    trial_rates: int
    trial_found: int
    drive_states: int
    signals: int
    differences: int
    products: int
    end: int

    @classmethod
    def of(cls, layout: StateLayout, channels: int) -> GaussWork:
        n, stages = layout.count, layout.count * STAGES
        sizes = [n * n, n * n, n, n, len(Own), layout.size, n, 2 * n, stages * STAGES, *[stages] * 11]
        sizes += [layout.states * STAGES, channels + 1, 2 * n * n, 2 * n * n]
        return cls(*accumulate((-(-size // 8) * 8 for size in sizes), initial=0))


class GaussCode:
    """Functions of one robot's steps, ``linearise`` and ``gauss`` for use from outside."""

    def __init__(self, driving: Driving, layout: StateLayout, lanes: int, turning: Sequence[int]) -> None:
        self.driving, self.layout, self.lanes, self.turning = driving, layout, lanes, turning
        self.n, self.groups = layout.count, STAGES // lanes
        self.kind = vector_type(lanes)
        self.at = GaussWork.of(layout, driving.signals)

    @property
    def text(self) -> str:
        """All but those that call the drive."""
        parts = [self._declarations(), self._modal(), self._filtered(), self._placed(), self._filters()]
        parts += [self._signals(), self._linearise(), self._product(), self._update()]
        return "".join([*parts, self._gauss()])

    def _declarations(self) -> str:
        t, inverse = self.kind, gauss_legendre().inverse
        tables = [("real", inverse.real), ("imaginary", inverse.imag)]
        out = [f"declare double @llvm.vector.reduce.fadd.v{self.lanes}f64(double, {t})\n"]
        for name, table in tables:
            listed = ", ".join(f"double {number(x)}" for x in table.ravel().tolist())
            out.append(f"@inverse_{name} = internal constant [{table.size} x double] [{listed}]\n")
        return "".join(out)

    # ---- pieces of code

    def vector(self, values: Floats) -> str:
        """Numbers that are known, one per lane."""
        return "<" + ", ".join(f"double {number(x)}" for x in values.tolist()) + ">"

    def per_group(self, w: Flow, rows: Floats, value: Callable[[int], str], totals: Sequence[str] = ()) -> list[str]:
        """Sums of rows (stages, terms) times values, which are the same in all lanes, by group, onto totals."""
        out = list(totals)
        for k, column in enumerate(rows.T):
            x = w.spread(value(k))
            for g, part in enumerate(column.reshape(-1, self.lanes)):
                term = w.fmul(self.vector(part), x)
                if g < len(out):
                    out[g] = w.fadd(out[g], term)
                else:
                    out.append(term)
        return out

    def scalar(self, w: Flow, base: str, index: str | int) -> str:
        """A number of an array."""
        with w.on_lanes(1):
            return w.read(base, index)

    def stage(self, w: Flow, base: str, i: int, j: str, size: int | None = None) -> str:
        """The value of stage i in row j of an array of stages with so many rows."""
        first = (i // self.lanes) * (self.n if size is None else size) * self.lanes + i % self.lanes
        return self.scalar(w, base, w.iadd(w.imul(j, self.lanes), first))

    def total(self, w: Flow, vector: str) -> str:
        """The sum of all lanes."""
        name = f"@llvm.vector.reduce.fadd.v{self.lanes}f64"
        return w.let(f"call reassoc double {name}(double {number(0.0)}, {self.kind} {vector})")

    # ---- functions

    def evaluations(self, drive: str) -> str:
        """``stages(context, q, v, z, out)``: accelerations at all stages; z are the drive's states there.

        ``driven(context, q, v, z)``: the drive's forces, rates of its states and powers alone.
        """
        return self._evaluation(drive, "driven", moves=False) + self._evaluation(drive, "stages", moves=True)

    def _evaluation(self, drive: str, name: str, *, moves: bool) -> str:
        w, states = Flow(), self.driving.states
        held = held_in(w, CONTEXT)
        rows = self.driving.signals + states
        with w.on_lanes(self.lanes), w.repeat(self.groups) as g:
            q, v = (w.at(base, w.imul(g, self.n)) for base in ("%q", "%v"))
            # one entry more than rows: there may be none
            r, f = w.at(held["r"], w.imul(g, rows + 1)), w.at(held["f"], w.imul(g, self.n + self.layout.further))
            for k in range(states):
                w.write(w.read("%z", w.iadd(w.imul(g, states), k)), r, self.driving.signals + k)
            call_drive(w, {**held, "r": r, "f": f}, drive, q, v)
            if moves:
                given = [held["constants"], held["gravity"], q, v, f, held["store"]]
                given += [w.at("%out", w.imul(g, self.n)), held["rows"]]
                pointers = ", ".join(f"ptr {p}" for p in given)
                w.do(f"call void {held['dynamics']}({pointers}, i64 {held['links']}, ptr null)")
        arguments = "ptr %context, ptr %q, ptr %v, ptr %z" + (", ptr %out" if moves else "")
        return w.text(name, arguments, attributes="internal")

    def _modal(self) -> str:
        """``modal(matrix, source, target)``: a matrix (n, n) times all stages."""
        w, n = Flow(), self.n

        def rows(first: str, count: int) -> None:
            with w.on_lanes(self.lanes):
                sums = [[w.variable(self.kind, "zeroinitializer") for _ in range(self.groups)] for _ in range(count)]
                for each in sums:
                    for total in each:
                        w.put(self.kind, "zeroinitializer", total)
                with w.repeat(n) as j:
                    source = [w.read("%source", w.iadd(j, g * n)) for g in range(self.groups)]
                    for k in range(count):
                        entry = w.iadd(w.imul(w.iadd(first, k), n), j)
                        factor = w.spread(self.scalar(w, "%matrix", entry))
                        for total, x in zip(sums[k], source, strict=True):
                            w.put(self.kind, w.fadd(w.get(self.kind, total), w.fmul(factor, x)), total)
                for k in range(count):
                    for g in range(self.groups):
                        w.write(w.get(self.kind, sums[k][g]), "%target", w.iadd(w.iadd(first, k), g * n))

        with w.repeat(n // 2) as pair:
            rows(w.imul(pair, 2), 2)
        if n % 2:
            rows(w.iadd(n - 1, 0), 1)
        return w.text("modal", "ptr %matrix, ptr %source, ptr %target", attributes="internal")

    def _filtered(self) -> str:
        """``filtered(filters, source, target)``: every vibration by its own matrix."""
        w, n = Flow(), self.n
        with w.repeat(n) as m, w.on_lanes(self.lanes):
            matrix = w.at("%filters", w.imul(m, STAGES * self.groups))
            sums: list[str] = []
            for i in range(STAGES):
                x = w.spread(self.stage(w, "%source", i, m))
                terms = [w.fmul(w.read(matrix, i * self.groups + g), x) for g in range(self.groups)]
                sums = [w.fadd(a, b) for a, b in zip(sums, terms, strict=True)] if sums else terms
            for g, total in enumerate(sums):
                w.write(total, "%target", w.iadd(m, g * n))
        return w.text("filtered", "ptr %filters, ptr %source, ptr %target", attributes="internal")

    def _placed(self) -> str:
        """``placed(h, x, a, q, v)``: coordinates and rates at the stages that accelerations lead to."""
        w, n, gauss = Flow(), self.n, gauss_legendre()
        with w.repeat(n) as j:
            q0, v0 = w.read("%x", j), w.read("%x", w.iadd(j, n))
            with w.on_lanes(self.lanes):
                values = [self.stage(w, "%a", i, j) for i in range(STAGES)]
                h, q0, v0 = (w.spread(x) for x in ("%h", q0, v0))
                once = self.per_group(w, gauss.A, lambda i: values[i])
                twice = self.per_group(w, gauss.AA, lambda i: values[i])
                for g, c in enumerate(gauss.c.reshape(-1, self.lanes)):
                    w.write(w.fadd(v0, w.fmul(h, once[g])), "%v", w.iadd(j, g * n))
                    inner = w.fadd(w.fmul(self.vector(c), v0), w.fmul(h, twice[g]))
                    w.write(w.fadd(q0, w.fmul(h, inner)), "%q", w.iadd(j, g * n))
        return w.text("placed", "double %h, ptr %x, ptr %a, ptr %q, ptr %v", attributes="internal")

    def _filters(self) -> str:
        """``filters(h, squares, damping, filters)``: see ``stage_modes``; (n, stages, stages), column by column."""
        w, gauss = Flow(), gauss_legendre()
        pairs = len(gauss.eigenvalues)
        with w.repeat(self.n) as m:
            d = w.fmul("%h", w.read("%damping", m))
            s = w.fmul(w.fmul("%h", "%h"), w.read("%squares", m))
            scaled = []
            for x in gauss.eigenvalues.tolist():
                re, im = (
                    w.fadd(number(first), w.fadd(w.fmul(d, number(one)), w.fmul(s, number(two))))
                    for first, one, two in ((1.0, x.real, (x * x).real), (0.0, x.imag, (x * x).imag))
                )
                size = w.fdiv(number(2.0), w.fadd(w.fmul(re, re), w.fmul(im, im)))
                scaled.append((w.fmul(re, size), w.fmul(w.fsub(number(0.0), im), size)))
            with w.repeat(STAGES) as i:
                sums: list[str] = []
                for p, (re, im) in enumerate(scaled):
                    a, b = (w.read(f"@inverse_{part}", w.iadd(i, p * STAGES)) for part in ("real", "imaginary"))
                    real, imaginary = w.fsub(w.fmul(re, a), w.fmul(im, b)), w.fadd(w.fmul(re, b), w.fmul(im, a))
                    with w.on_lanes(self.lanes):
                        T = np.column_stack([gauss.T[:, p].real, -gauss.T[:, p].imag])
                        sums = self.per_group(w, T, lambda k: (real, imaginary)[k], sums)
                place = w.iadd(w.imul(w.iadd(w.imul(m, STAGES), i), self.groups), 0)
                with w.on_lanes(self.lanes):
                    for g, total in enumerate(sums):
                        w.write(total, "%filters", w.iadd(place, g))
        assert pairs == STAGES // 2
        return w.text("filters", "double %h, ptr %squares, ptr %damping, ptr %filters", attributes="internal")

    def _signals(self) -> str:
        """``followed(context, scratch, t, h)``: what the drive follows, at all stages."""
        w, channels = Flow(), self.driving.signals
        held = held_in(w, CONTEXT)
        table = ", ".join(f"i64 {held[k]}" for k in ("pieces", "channels", "terms"))
        rows = channels + self.driving.states + 1
        for i, c in enumerate(gauss_legendre().c.tolist() if channels else ()):
            time = w.fadd("%t", w.fmul("%h", number(c)))
            w.do(f"call void @signals(ptr {held['table']}, {table}, double {time}, ptr %scratch)")
            first = (i // self.lanes) * rows * self.lanes + i % self.lanes
            with w.repeat(channels) as k:
                w.write(w.read("%scratch", k), held["r"], w.iadd(w.imul(k, self.lanes), first))
        return w.text("followed", "ptr %context, ptr %scratch, double %t, double %h", attributes="internal")

    def _linearise(self) -> str:
        """``linearise(context, t, x, work, blocks)``: the slope at x, and da/d(q, v) (2n, n) by rows, into the work.

        blocks  of as many directions as there are stages, less one for the state itself
        """
        w, n, at = Flow(), self.n, self.at
        used = at.trial_places, at.trial_rates, at.trial_found, at.drive_states, at.slope, at.differences
        q, v, found, z, slope, J = (w.at("%work", start) for start in used)
        w.do(f"call void @followed(ptr %context, ptr {w.at('%work', at.signals)}, double %t, double {number(0.0)})")
        held = held_in(w, CONTEXT)
        for k in range(self.layout.states):
            with w.on_lanes(1):
                value = w.read("%x", self.layout.drive.start + k)
            with w.on_lanes(self.lanes):
                for g in range(self.groups):
                    w.write(w.spread(value), z, g * self.layout.states + k)
        with w.repeat("%blocks") as block:
            for base, first in ((q, 0), (v, n)):
                with w.repeat(n) as j:
                    value = w.read("%x", w.iadd(j, first))
                    with w.on_lanes(self.lanes):
                        for g in range(self.groups):
                            w.write(w.spread(value), base, w.iadd(j, g * n))
            # the first state is the one about which the others are moved
            for i in range(STAGES):
                moved = w.iadd(w.imul(block, STAGES), i - 1)
                for base, first in ((q, 0), (v, n)):
                    j = w.iadd(moved, -first)
                    inside = w.let(f"icmp ult i64 {j}, {n}")
                    with w.when(inside):
                        place = w.iadd(w.imul(j, self.lanes), (i // self.lanes) * n * self.lanes + i % self.lanes)
                        w.write(w.fadd(w.read(base, place), number(DIFFERENCE)), base, place)
            w.do(f"call void @stages(ptr %context, ptr {q}, ptr {v}, ptr {z}, ptr {found})")
            with w.when(w.let(f"icmp eq i64 {block}, 0")):
                with w.repeat(n) as j:
                    w.write(w.read("%x", w.iadd(j, n)), slope, j)
                    w.write(self.stage(w, found, 0, j), slope, w.iadd(j, n))
                for k in range(self.layout.further):
                    w.write(w.read(held["f"], (n + k) * self.lanes), slope, 2 * n + k)
            for i in range(STAGES):
                moved = w.iadd(w.imul(block, STAGES), i - 1)
                with w.when(w.let(f"icmp ult i64 {moved}, {2 * n}")), w.repeat(n) as j:
                    change = w.fsub(self.stage(w, found, i, j), w.read(slope, w.iadd(j, n)))
                    w.write(w.fmul(change, number(1.0 / DIFFERENCE)), J, w.iadd(w.imul(moved, n), j))
        return w.text("linearise", "ptr %context, double %t, ptr %x, ptr %work, i64 %blocks")

    def _product(self) -> str:
        """``product(a, b, c)``: c = a b, all (n, n)."""
        w, n, lanes = Flow(), self.n, self.lanes
        columns = [(k, lanes) for k in range(0, n - n % lanes, lanes)] + [(k, 1) for k in range(n - n % lanes, n)]
        with w.repeat(n) as i:
            sums = [w.variable(vector_type(width), "zeroinitializer") for _, width in columns]
            for total, (_, width) in zip(sums, columns, strict=True):
                w.put(vector_type(width), "zeroinitializer", total)
            with w.repeat(n) as j:
                factor = w.read("%a", w.iadd(w.imul(i, n), j))
                for total, (k, width) in zip(sums, columns, strict=True):
                    place = w.at("%b", w.iadd(w.imul(j, n), k))
                    with w.on_lanes(width):
                        term = w.fmul(w.spread(factor), w.read(place, 0))
                        w.put(w.kind, w.fadd(w.get(w.kind, total), term), total)
            for total, (k, width) in zip(sums, columns, strict=True):
                w.put(vector_type(width), w.get(vector_type(width), total), w.at("%c", w.iadd(w.imul(i, n), k)))
        return w.text("product", "ptr %a, ptr %b, ptr %c", attributes="internal")

    def _update(self) -> str:
        """``update(context, t, x, work)``: the vibrations about x, by perturbation of those about a state near it.

        With B = inverse (-da/dq) shapes, almost diagonal, the shapes mix by E_ij = B_ij / (B_jj - B_ii); their inverse
        follows by a step of Newton's method for it.
        """
        w, n, at = Flow(), self.n, self.at
        array = {name: w.at("%work", start) for name, start in at._asdict().items() if name != "end"}
        J, first, second = array["differences"], array["products"], w.at(array["products"], n * n)

        def product(a: str, b: str, c: str) -> None:
            w.do(f"call void @product(ptr {a}, ptr {b}, ptr {c})")

        def each(body: Callable[[str, str, str], None]) -> None:
            with w.repeat(n) as i, w.repeat(n) as j:
                body(i, j, w.iadd(w.imul(i, n), j))

        blocks = -(-(n + 1) // STAGES)
        w.do(f"call void @linearise(ptr %context, double %t, ptr %x, ptr %work, i64 {blocks})")
        transposed = w.at(J, n * n)
        each(lambda i, j, k: w.write(w.fsub(number(0.0), w.read(J, w.iadd(w.imul(j, n), i))), transposed, k))
        product(transposed, array["shapes"], first)
        product(array["inverse"], first, second)

        def mix(i: str, j: str, k: str) -> None:
            apart = w.fsub(w.read(second, w.imul(j, n + 1)), w.read(second, w.imul(i, n + 1)))
            part = w.fdiv(w.read(second, k), apart)
            # what is nearly of one frequency, and a shape itself, is left as it is
            is_small = w.less(w.fabs(part), number(LARGEST_TURN))
            is_other = w.let(f"icmp ne i64 {i}, {j}")
            w.write(w.select(w.let(f"and i1 {is_small}, {is_other}"), part, number(0.0)), first, k)

        each(mix)
        with w.repeat(n) as m:
            w.write(w.read(second, w.imul(m, n + 1)), array["squares"], m)
        product(array["shapes"], first, second)
        each(lambda i, j, k: w.write(w.fadd(w.read(array["shapes"], k), w.read(second, k)), array["shapes"], k))
        product(first, array["inverse"], second)
        each(lambda i, j, k: w.write(w.fsub(w.read(array["inverse"], k), w.read(second, k)), array["inverse"], k))
        product(array["inverse"], array["shapes"], first)
        product(first, array["inverse"], second)
        two = number(2.0)
        each(
            lambda i, j, k: w.write(
                w.fsub(w.fmul(two, w.read(array["inverse"], k)), w.read(second, k)), array["inverse"], k
            )
        )
        self._acting(w, array)
        return w.text("update", "ptr %context, double %t, ptr %x, ptr %work", attributes="internal")

    def _acting(self, w: Flow, array: dict[str, str]) -> None:
        """What acted beside the vibrations in the step before, in their new shapes."""
        n = self.n
        w.do(f"call void @modal(ptr {array['inverse']}, ptr {array['accelerations']}, ptr {array['remainder']})")
        for source, factor in (("places", "squares"), ("rates", "damping")):
            w.do(f"call void @modal(ptr {array['inverse']}, ptr {array[source]}, ptr {array['change']})")
            with w.repeat(n) as m:
                value = w.read(array[factor], m)
                with w.on_lanes(self.lanes):
                    for g in range(self.groups):
                        place = w.iadd(m, g * n)
                        term = w.fmul(w.spread(value), w.read(array["change"], place))
                        w.write(w.fadd(w.read(array["remainder"], place), term), array["remainder"], place)

    # ---- a step

    def _gauss(self) -> str:
        """``gauss(..., grid, count, next, samples)``; see ``Stepping`` and ``dop853_ir`` for the arguments."""
        w = Stepping(self.turning)
        step = _Steps(self, w)
        with w.flushed():
            step.first_knot()
            with w.steps() as now:
                step.take(now)
        return w.entry("gauss", "ptr %grid", "i64 %count", "ptr %next", "ptr %samples")


class _Steps:
    """The code of one step, in its order."""

    def __init__(self, code: GaussCode, w: Stepping) -> None:
        self.code, self.w, self.n, self.layout = code, w, code.n, code.layout
        self.groups, self.lanes = code.groups, code.lanes
        self.array = {name: w.at("%work", start) for name, start in code.at._asdict().items() if name != "end"}
        self.held = held_in(w, CONTEXT)
        self.square = w.variable("double", number(0.0))

    def own(self, entry: Own) -> str:
        return self.w.read(self.array["own"], int(entry))

    def set_own(self, value: str, entry: Own) -> None:
        self.w.write(value, self.array["own"], int(entry))

    def call(self, name: str, *arguments: str) -> None:
        self.w.do(f"call void @{name}({', '.join(arguments)})")

    def arrays(self, *names: str) -> list[str]:
        return [f"ptr {self.array[name]}" for name in names]

    def first_knot(self) -> None:
        self.w.keep_knot(("%x", self.layout.size), (self.array["slope"], self.layout.size))

    def take(self, now: Step) -> None:
        w = self.w
        with w.when(w.less(self.own(Own.AGE), number(0.0))):
            w.put("i64", str(int(Status.STALE)), w.status)
            w.leave(w.exit)
        with w.when(w.let(f"fcmp une double {now.h}, {self.own(Own.FILTER)}")):
            self.call("filters", f"double {now.h}", *self.arrays("squares", "damping", "filters"))
            self.set_own(now.h, Own.FILTER)
        self.call("followed", "ptr %context", *self.arrays("signals"), f"double {now.t}", f"double {now.h}")
        self._weigh(now.h)
        self._guess(now.h)
        iterations, is_found = self._newton(now.h)
        error = self._error()
        good = w.let(f"and i1 {is_found}, {w.less(error, number(1.0))}")
        allowed = w.fmul(number(SAFETY), w.power(w.fmax(error, number(1e-30)), -1.0 / ORDER))
        with w.when(w.negated(good)):
            self._refuse(now.h, is_found, error, allowed)
        with w.when(good):
            self._accept(now, iterations, allowed)

    def _weigh(self, h: str) -> None:
        """What a change of an acceleration makes of a rate and of a coordinate, in units of their tolerances."""
        w, n, relative = self.w, self.n, self.w.clock(Clock.RELATIVE)
        with w.repeat(n) as j:
            scale = []
            for place in (j, w.iadd(j, n)):
                size = w.fmul(relative, w.fabs(w.read("%x", place)))
                scale.append(w.fadd(w.read("%tolerance", place), size))
            weight = w.fmax(w.fdiv(h, scale[1]), w.fdiv(w.fmul(h, h), scale[0]))
            w.write(weight, self.array["weights"], j)

    def _guess(self, h: str) -> None:
        """What acts beside the vibrations, as in the step before; accelerations that follow from it."""
        w, n, lanes, gauss = self.w, self.n, self.lanes, gauss_legendre()
        rest, code = self.array["at_rest"], self.code
        with w.repeat(n) as m:
            for first in (0, n):
                total = w.variable("double", number(0.0))
                w.put("double", number(0.0), total)
                with w.repeat(n) as j:
                    term = w.fmul(w.read(self.array["inverse"], w.iadd(w.imul(m, n), j)), w.read("%x", w.iadd(j, first)))
                    w.put("double", w.fadd(w.get("double", total), term), total)
                w.write(w.get("double", total), rest, w.iadd(m, first))
        before = self.own(Own.BEFORE)
        known = w.less(number(0.0), before)
        ratio = w.select(known, w.fdiv(w.fmul(number(2.0), h), before), number(0.0))
        remainder = self.array["remainder"]
        with w.repeat(n) as m:
            q, v = w.read(rest, m), w.read(rest, w.iadd(m, n))
            s, d = w.read(self.array["squares"], m), w.read(self.array["damping"], m)
            with w.on_lanes(lanes):
                old = [w.read(remainder, w.iadd(m, g * n)) for g in range(self.groups)]
                sums = []
                for row in gauss.coefficients[:GUESS]:
                    terms = [w.fmul(code.vector(c), x) for c, x in zip(row.reshape(-1, lanes), old, strict=True)]
                    while len(terms) > 1:
                        terms = [w.fadd(a, b) for a, b in zip(terms[::2], terms[1::2], strict=True)]
                    sums.append(w.spread(code.total(w, terms[0])))
                q, v, s, d, step, ratios = (w.spread(x) for x in (q, v, s, d, h, ratio))
                for g, c in enumerate(gauss.c.reshape(-1, lanes)):
                    # places in the interval [-1, 1] of the step before
                    x = w.fadd(w.number(1.0), w.fmul(ratios, code.vector(c)))
                    P = [w.number(1.0), x]
                    for k in range(1, GUESS - 1):
                        upper = w.fmul(w.number((2 * k + 1) / (k + 1)), w.fmul(x, P[k]))
                        P.append(w.fsub(upper, w.fmul(w.number(k / (k + 1)), P[k - 1])))
                    total = w.fmul(P[0], sums[0])
                    for a, b in zip(P[1:], sums[1:], strict=True):
                        total = w.fadd(total, w.fmul(a, b))
                    w.write(total, self.array["foretold"], w.iadd(m, g * n))
                    there = w.fadd(q, w.fmul(w.fmul(step, code.vector(c)), v))
                    held_back = w.fadd(w.fmul(s, there), w.fmul(d, v))
                    w.write(w.fsub(total, held_back), self.array["residual"], w.iadd(m, g * n))
        self.call("filtered", *self.arrays("filters", "residual", "change"))
        self.call("modal", *self.arrays("shapes", "change", "accelerations"))

    def _newton(self, h: str) -> tuple[str, str]:
        """Accelerations at the stages; how many iterations it took, and whether they were found."""
        w = self.w
        count, found = w.variable("i64", "0"), w.variable("i1", "false")
        on, last = w.variable("i1", "true"), w.variable("double", number(0.0))
        w.put("i64", "0", count)
        w.put("i1", "false", found)
        w.put("i1", "true", on)
        w.put("double", number(0.0), last)
        rate = w.variable("double", number(1.0))
        w.put("double", self.own(Own.RATE), rate)
        with w.loop(lambda: w.get("i1", on)):
            self._evaluate(h)
            size = w.sqrt(w.fmul(w.get("double", self.square), number(1.0 / (STAGES * self.n))))
            before = w.get("double", last)
            is_first = w.let(f"icmp eq i64 {w.get('i64', count)}, 0")
            now = w.select(is_first, w.get("double", rate), w.fdiv(size, w.fmax(before, number(1e-300))))
            w.put("double", now, rate)
            w.put("double", size, last)
            w.put("i64", w.iadd(w.get("i64", count), 1), count)
            ahead = w.fdiv(w.fmul(size, now), w.fmax(w.fsub(number(1.0), now), number(1e-300)))
            is_small = w.let(f"or i1 {w.less(ahead, number(CONVERGED))}, {w.less(size, number(FOUND))}")
            is_found = w.let(f"and i1 {is_small}, {w.less(now, number(1.0))}")
            w.put("i1", is_found, found)
            # what is not a number is not smaller, either
            is_slow = w.let(f"or i1 {is_first}, {w.less(now, number(SLOW))}")
            is_slow = w.let(f"and i1 {is_slow}, {w.less(size, number(1e300))}")
            more = w.let(f"and i1 {is_slow}, {w.iless(w.get('i64', count), ITERATIONS)}")
            w.put("i1", w.let(f"and i1 {more}, {w.negated(is_found)}"), on)
        is_found = w.get("i1", found)
        kept = w.power(w.fmax(w.get("double", rate), number(1e-6)), MEMORY)
        self.set_own(w.select(is_found, kept, number(1.0)), Own.RATE)
        return w.get("i64", count), is_found

    def _place(self, h: str) -> None:
        """Coordinates, rates and the drive's own states at the stages, from the slopes that were seen last."""
        w, n, states = self.w, self.n, self.layout.states
        self.call("placed", f"double {h}", "ptr %x", *self.arrays("accelerations", "places", "rates"))
        for k in range(states):
            slopes = [self.code.stage(w, self.held["f"], i, str(n + k), n + self.layout.further) for i in range(STAGES)]
            value = w.read("%x", self.layout.drive.start + k)
            with w.on_lanes(self.lanes):
                value, step = w.spread(value), w.spread(h)
                for g, total in enumerate(self.code.per_group(w, gauss_legendre().A, lambda i: slopes[i])):
                    w.write(w.fadd(value, w.fmul(step, total)), self.array["drive_states"], g * states + k)

    def _evaluate(self, h: str) -> None:
        """One Newton step; the sum of its weighted squares."""
        w, n, lanes = self.w, self.n, self.lanes
        self._place(h)
        self.call("stages", "ptr %context", *self.arrays("places", "rates", "drive_states", "found"))
        w.set_clock(w.fadd(w.clock(Clock.CALLS), number(float(STAGES))), Clock.CALLS)
        with w.on_lanes(lanes), w.repeat(n * self.groups) as i:
            w.write(w.fsub(w.read(self.array["found"], i), w.read(self.array["accelerations"], i)), self.array["change"], i)
        self.call("modal", *self.arrays("inverse", "change", "residual"))
        with w.on_lanes(lanes), w.repeat(n * self.groups) as i:
            total = w.fadd(w.read(self.array["foretold"], i), w.read(self.array["residual"], i))
            w.write(total, self.array["foretold"], i)
        self.call("filtered", *self.arrays("filters", "residual", "change"))
        self.call("modal", *self.arrays("shapes", "change", "residual"))
        squares = w.variable(self.code.kind, "zeroinitializer")
        w.put(self.code.kind, "zeroinitializer", squares)
        with w.repeat(n) as j:
            weight = w.read(self.array["weights"], j)
            with w.on_lanes(lanes):
                weights = w.spread(weight)
                for g in range(self.groups):
                    place = w.iadd(j, g * n)
                    change = w.read(self.array["residual"], place)
                    total = w.fadd(w.read(self.array["accelerations"], place), change)
                    w.write(total, self.array["accelerations"], place)
                    part = w.fmul(change, weights)
                    w.put(self.code.kind, w.fadd(w.get(self.code.kind, squares), w.fmul(part, part)), squares)
        w.put("double", self.code.total(w, w.get(self.code.kind, squares)), self.square)

    def _error(self) -> str:
        """How far the polynomial through the stages may be from the motion; 1 is just acceptable.

        The first coefficient that is left out is smaller than the last ones, by as much as they are than those before.
        """
        w, n, lanes, code = self.w, self.n, self.lanes, self.code
        parts = [w.variable("double", number(0.0)) for _ in range(2)]
        for part in parts:
            w.put("double", number(0.0), part)
        with w.repeat(n) as j:
            weight = w.read(self.array["weights"], j)
            with w.on_lanes(lanes):
                a = [w.read(self.array["accelerations"], w.iadd(j, g * n)) for g in range(self.groups)]
            for k, row in enumerate(gauss_legendre().coefficients[-LAST:]):
                with w.on_lanes(lanes):
                    terms = [w.fmul(code.vector(c), x) for c, x in zip(row.reshape(-1, lanes), a, strict=True)]
                    while len(terms) > 1:
                        terms = [w.fadd(x, y) for x, y in zip(terms[::2], terms[1::2], strict=True)]
                value = w.fmul(code.total(w, terms[0]), weight)
                part = parts[k * 2 // LAST]
                w.put("double", w.fadd(w.get("double", part), w.fmul(value, value)), part)
        per = number(1.0 / (LAST // 2 * n))
        low, high = (w.sqrt(w.fmul(w.get("double", part), per)) for part in parts)
        falling = w.fmin(number(1.0), w.fdiv(high, w.fmax(low, number(1e-300))))
        return w.fmul(w.fmul(high, falling), number(1.0 / (2 * (2 * STAGES + 1))))

    def _refuse(self, h: str, is_found: str, error: str, allowed: str) -> None:
        w = self.w
        w.count(Clock.REJECTED)
        age = self.own(Own.AGE)
        # vibrations about another state may be to blame
        is_old = w.let(f"and i1 {w.negated(is_found)}, {w.less(number(0.5), age)}")
        valid = w.let(f"and i1 {is_found}, {w.let(f'fcmp ord double {error}, {error}')}")
        shrink = w.select(valid, w.fmax(allowed, number(SLOWEST)), number(SLOWEST))
        w.set_clock(w.fmul(h, w.select(is_old, number(1.0), shrink)), Clock.STEP)
        self.set_own(w.select(is_old, number(-1.0), age), Own.AGE)
        self.set_own(w.select(is_old, number(0.0), self.own(Own.BEFORE)), Own.BEFORE)
        w.set_clock(number(1.0), Clock.ERROR_BEFORE)

    def _accept(self, now: Step, iterations: str, allowed: str) -> None:
        w = self.w
        with w.on_lanes(self.lanes), w.repeat(self.n * self.groups) as i:
            w.write(w.read(self.array["foretold"], i), self.array["remainder"], i)
        self._place(now.h)
        self.call("driven", "ptr %context", *self.arrays("places", "rates", "drive_states"))
        self._sample(now)
        self._knots(now)
        self.set_own(now.h, Own.BEFORE)
        self._keep_up(now.reach, w.let(f"sitofp i64 {iterations} to double"))
        # after a step that was refused the next one does not grow
        refused = w.less(number(0.5), w.clock(Clock.ERROR_BEFORE))
        factor = w.fmin(allowed, w.select(refused, number(1.0), number(FASTEST)))
        is_same = w.let(f"and i1 {w.less(number(KEEP_FROM), factor)}, {w.less(factor, number(KEEP_TO))}")
        size = w.clock(Clock.STEP)
        changed = w.select(is_same, now.h, w.fmul(now.h, factor))
        # a step cut short by the end says nothing against the size before it
        w.set_clock(w.select(now.last, w.fmax(size, changed), changed), Clock.STEP)
        w.set_clock(number(0.0), Clock.ERROR_BEFORE)
        w.accept(now.reach)

    def _keep_up(self, t: str, iterations: str) -> None:
        """Vibrations that have become too old are brought up to date, or must be found anew."""
        w, age = self.w, self.own(Own.AGE)
        fewest = w.fmin(self.own(Own.FEWEST), iterations)
        self.set_own(fewest, Own.FEWEST)
        more = w.fsub(iterations, fewest)
        owed = w.fadd(self.own(Own.OWED), more)
        is_fresh = w.less(age, number(0.5))
        lost = w.fadd(self.own(Own.LOST), w.select(is_fresh, more, number(0.0)))
        self.set_own(lost, Own.LOST)
        self.set_own(owed, Own.OWED)
        self.set_own(w.fadd(age, number(1.0)), Own.AGE)
        is_due = w.less(number(UPDATE - 0.5), owed)
        is_lost = w.less(number(RENEWAL - 0.5), lost)
        with w.when(w.let(f"and i1 {is_due}, {w.negated(is_lost)}")):
            self.call("update", "ptr %context", f"double {t}", "ptr %x", "ptr %work")
            for entry in (Own.AGE, Own.OWED, Own.FILTER):
                self.set_own(number(0.0), entry)
        with w.when(is_lost):
            self.set_own(number(-1.0), Own.AGE)

    def _slopes(self) -> list[tuple[str, int, int, int]]:
        """Slopes at the stages, part by part of x: array, its rows, the first of them, how many."""
        rows = self.n + self.layout.further
        return [
            (self.array["rates"], self.n, 0, self.n),
            (self.array["accelerations"], self.n, 0, self.n),
            (self.held["f"], rows, self.n, self.layout.further),
        ]

    def _knots(self, now: Step) -> None:
        """State and slope at the ends of the parts; the last ones are those of the next step's start."""
        w, lanes, code, size = self.w, self.lanes, self.code, self.layout.size
        fractions = np.arange(1, SUBSTEPS + 1) / SUBSTEPS
        C = gauss_legendre().coefficients
        weights = integrals(fractions) @ C, legendre(2 * fractions - 1)[:, :-1] @ C
        width = 1 + 2 * size
        taken = w.imul(w.get("i64", w.taken), SUBSTEPS)
        first = w.imul(w.iadd(taken, 1), width)
        for k, fraction in enumerate(fractions.tolist()):
            t = now.reach if k == SUBSTEPS - 1 else w.fadd(now.t, w.fmul(now.h, number(fraction)))
            w.write(t, "%knots", w.iadd(first, k * width))
        start = 0
        for base, rows, skip, count in self._slopes():
            with w.repeat(count) as j:
                place = w.iadd(j, start)
                x = w.read("%x", place)
                with w.on_lanes(lanes):
                    slopes = [code.stage(w, base, i, w.iadd(j, skip), rows) for i in range(STAGES)]
                    states, rates = (code.per_group(w, rule, lambda i: slopes[i]) for rule in weights)
                    step, at_start = w.spread(now.h), w.spread(x)
                    states = [w.fadd(at_start, w.fmul(step, total)) for total in states]
                for k in range(SUBSTEPS):
                    for vectors, shift in ((states, 1), (rates, 1 + size)):
                        value = w.let(f"extractelement {code.kind} {vectors[k // lanes]}, i32 {k % lanes}")
                        w.write(value, "%knots", w.iadd(w.iadd(first, place), k * width + shift))
                        if k == SUBSTEPS - 1:
                            w.write(value, "%x" if shift == 1 else self.array["slope"], place)
            start += count

    def _sample(self, now: Step) -> None:
        """x at the grid times within the step."""
        w, lanes, code = self.w, self.lanes, self.code
        C = gauss_legendre().coefficients

        def wanted() -> str:
            n = w.get("i64", "%next")
            inside = w.iless(n, "%count")
            safe = w.let(f"select i1 {inside}, i64 {n}, i64 0")
            in_time = w.let(f"fcmp ole double {w.read('%grid', safe)}, {now.reach}")
            return w.let(f"and i1 {inside}, {in_time}")

        with w.loop(wanted):
            n = w.get("i64", "%next")
            s = w.fdiv(w.fsub(w.read("%grid", n), now.t), now.h)
            x = w.fsub(w.fmul(number(2.0), s), number(1.0))
            P = [number(1.0), x]
            for k in range(1, STAGES):
                upper = w.fmul(number((2 * k + 1) / (k + 1)), w.fmul(x, P[k]))
                P.append(w.fsub(upper, w.fmul(number(k / (k + 1)), P[k - 1])))
            parts = [s]
            for k in range(1, STAGES):
                parts.append(w.fmul(w.fsub(P[k + 1], P[k - 1]), number(1.0 / (2 * (2 * k + 1)))))
            with w.on_lanes(lanes):
                weights = [w.fmul(w.spread(now.h), x) for x in code.per_group(w, C.T, lambda k: parts[k])]
            row, start = w.imul(n, self.layout.size), 0
            for base, rows, skip, count in self._slopes():
                with w.repeat(count) as j:
                    with w.on_lanes(lanes):
                        total = w.number(0.0)
                        for g, weight in enumerate(weights):
                            slope = w.read(base, w.iadd(j, skip + g * rows))
                            total = w.fadd(total, w.fmul(weight, slope))
                    place = w.iadd(j, start)
                    w.write(w.fadd(w.read("%x", place), code.total(w, total)), "%samples", w.iadd(row, place))
                start += count
            w.put("i64", w.iadd(n, 1), "%next")
