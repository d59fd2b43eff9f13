"""Vibrations for the Newton steps of Gauss's collocation, in machine code: found, brought up to date, inverted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number, vector_type
from pliant.engine.stepping.gauss_legendre import STAGES, gauss_legendre
from pliant.engine.stepping.gauss_numbers import APART, DIFFERENCE, LARGEST_TURN
from pliant.engine.stepping.gauss_stages import StageCode, table_text


class VibrationCode(StageCode):
    """Functions on what ``stage_modes`` is about."""

    @property
    def blocks(self) -> int:
        """Blocks of directions in which all states are moved."""
        return -(-(2 * self.n + self.layout.states + 1) // STAGES)

    def vibration_functions(self) -> str:
        """All that is here, ``linearise`` for use from outside."""
        inverse = gauss_legendre().inverse
        tables = table_text("inverse_real", inverse.real) + table_text("inverse_imaginary", inverse.imag)
        return "".join([tables, self._filters(), self._linearise(), self._product(), self._update()])

    def _filters(self) -> str:
        """``filters(h, squares, damping, filters)``: see ``stage_modes``; (n, stages, stages), column by column."""
        w, gauss = Flow(), gauss_legendre()
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
                        sums = self.per_group(w, T, (real, imaginary), sums)
                place = w.imul(w.iadd(w.imul(m, STAGES), i), self.groups)
                with w.on_lanes(self.lanes):
                    for g, total in enumerate(sums):
                        w.write(total, "%filters", w.iadd(place, g))
        return w.text("filters", "double %h, ptr %squares, ptr %damping, ptr %filters", attributes="internal")

    def _linearise(self) -> str:
        """``linearise(context, t, x, work, blocks)``: the slope at x, and da/d(q, v) (2n, n) by rows, into the work.

        With states of the drive also d(a, rates of z)/d(q, v, z), where enough directions are asked for.

        blocks  of as many directions as there are stages, less one for the state itself
        """
        w, n, at = Flow(), self.n, self.at
        used = at.trial_places, at.trial_rates, at.trial_found, at.drive_states, at.slope, at.differences
        q, v, found, z, slope, J = (w.at("%work", start) for start in used)
        w.do(f"call void @followed(ptr %context, ptr {w.at('%work', at.signals)}, double %t, double {number(0.0)})")
        seen = self.seen(w)
        states, first_state = self.layout.states, self.layout.drive.start
        with w.repeat("%blocks") as block:
            for k in range(states):
                with w.on_lanes(1):
                    value = w.read("%x", first_state + k)
                with w.on_lanes(self.lanes):
                    for g in range(self.groups):
                        w.write(w.spread(value), z, g * states + k)
            for base, first in ((q, 0), (v, n)):
                with w.repeat(n) as j:
                    value = w.read("%x", w.iadd(j, first))
                    with w.on_lanes(self.lanes):
                        for g in range(self.groups):
                            w.write(w.spread(value), base, w.iadd(j, g * n))
            # the first state is the one about which the others are moved
            start = w.iadd(w.imul(block, STAGES), -1)
            with w.repeat(STAGES) as i:
                for base, first in ((q, 0), (v, n)):
                    j = w.iadd(w.iadd(start, i), -first)
                    with w.when(w.let(f"icmp ult i64 {j}, {n}")):
                        place = w.iadd(w.imul(j, self.lanes), self.first_of(w, i, n))
                        w.write(w.fadd(w.read(base, place), number(DIFFERENCE)), base, place)
                if states:
                    j = w.iadd(w.iadd(start, i), -2 * n)
                    with w.when(w.let(f"icmp ult i64 {j}, {states}")):
                        place = w.iadd(w.imul(j, self.lanes), self.first_of(w, i, states))
                        w.write(w.fadd(w.read(z, place), self._difference(w, j)), z, place)
            w.do(f"call void @stages(ptr %context, ptr {q}, ptr {v}, ptr {z}, ptr {found})")
            with w.when(w.let(f"icmp eq i64 {block}, 0")):
                with w.repeat(n) as j:
                    w.write(w.read("%x", w.iadd(j, n)), slope, j)
                    w.write(self.stage(w, found, 0, j), slope, w.iadd(j, n))
                for k in range(self.layout.further):
                    w.write(w.read(seen, (self.coordinates + k) * self.lanes), slope, 2 * n + k)
            with w.repeat(STAGES) as i:
                moved, place = w.iadd(start, i), self.first_of(w, i, n)
                with w.when(w.let(f"icmp ult i64 {moved}, {2 * n}")), w.repeat(n) as j:
                    there = w.read(found, w.iadd(w.imul(j, self.lanes), place))
                    change = w.fsub(there, w.read(slope, w.iadd(j, n)))
                    w.write(w.fmul(change, number(1.0 / DIFFERENCE)), J, w.iadd(w.imul(moved, n), j))
                if states:
                    with w.when(w.let(f"icmp ult i64 {moved}, {2 * n + states}")):
                        self._coupling(w, seen, found, slope, moved, i)
        return w.text("linearise", "ptr %context, double %t, ptr %x, ptr %work, i64 %blocks")

    def _difference(self, w: Flow, j: str) -> str:
        """How far a state of the drive is moved: they may be of any size."""
        size = w.fabs(w.read("%x", w.iadd(j, self.layout.drive.start)))
        return w.fmul(number(DIFFERENCE), w.fmax(number(1.0), size))

    def _coupling(self, w: Flow, seen: str, found: str, slope: str, moved: str, i: str) -> None:
        """The row of the Jacobian of accelerations and of the rates of the drive's states that stage i tells."""
        n, states = self.n, self.layout.states
        row = w.at(w.at("%work", self.at.jacobian), w.imul(moved, n + states))
        step = w.variable("double", number(DIFFERENCE))
        w.put("double", number(DIFFERENCE), step)
        with w.when(w.iless(2 * n - 1, moved)):
            w.put("double", self._difference(w, w.iadd(moved, -2 * n)), step)
        per = w.fdiv(number(1.0), w.get("double", step))
        rates = w.at(seen, self.coordinates * self.lanes)
        for source, rows, count, known in ((found, n, n, n), (rates, self.force_rows, states, 2 * n)):
            place = self.first_of(w, i, rows)
            with w.repeat(count) as j:
                there = w.read(source, w.iadd(w.imul(j, self.lanes), place))
                change = w.fsub(there, w.read(slope, w.iadd(j, known)))
                w.write(w.fmul(change, per), row, w.iadd(j, known - n))

    def _product(self) -> str:
        """``product(a, b, c)``: c = a b, all (n, n)."""
        w, n, lanes = Flow(), self.n, self.lanes
        columns = [(k, lanes) for k in range(0, n - n % lanes, lanes)] + [(k, 1) for k in range(n - n % lanes, n)]
        with w.repeat(n) as i:
            sums = [w.variable(vector_type(width), "zeroinitializer") for _, width in columns]
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
        w, n = Flow(), self.n
        array = self.arrays(w)
        J, first, second = array["differences"], array["products"], w.at(array["products"], n * n)

        def product(a: str, b: str, c: str) -> None:
            w.do(f"call void @product(ptr {a}, ptr {b}, ptr {c})")

        def each(body: Callable[[str, str, str], None]) -> None:
            with w.repeat(n) as i, w.repeat(n) as j:
                body(i, j, w.iadd(w.imul(i, n), j))

        blocks = self.blocks if self.layout.states else -(-(n + 1) // STAGES)
        w.do(f"call void @linearise(ptr %context, double %t, ptr %x, ptr %work, i64 {blocks})")
        transposed = w.at(J, n * n)
        each(lambda i, j, k: w.write(w.fsub(number(0.0), w.read(J, w.iadd(w.imul(j, n), i))), transposed, k))
        product(transposed, array["shapes"], first)
        product(array["inverse"], first, second)

        largest = w.variable("double", number(0.0))
        with w.repeat(n) as m:
            size = w.fabs(w.read(second, w.imul(m, n + 1)))
            w.put("double", w.fmax(w.get("double", largest), size), largest)

        def mix(i: str, j: str, k: str) -> None:
            apart = w.fsub(w.read(second, w.imul(j, n + 1)), w.read(second, w.imul(i, n + 1)))
            part = w.fdiv(w.read(second, k), apart)
            # what is nearly of one frequency, and a shape itself, is left as it is
            is_small = w.less(w.fabs(part), number(LARGEST_TURN))
            is_apart = w.less(w.fmul(number(APART), w.get("double", largest)), w.fabs(apart))
            w.write(w.select(w.let(f"and i1 {is_small}, {is_apart}"), part, number(0.0)), first, k)

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
        self.acting(w, array)
        return w.text("update", "ptr %context, double %t, ptr %x, ptr %work", attributes="internal")

    def acting(self, w: Flow, array: dict[str, str]) -> None:
        """What acted beside the vibrations in the step before, in the shapes of now."""
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
