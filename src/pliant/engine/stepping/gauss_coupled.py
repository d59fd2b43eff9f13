"""Newton steps of Gauss's collocation where the drive has states of its own, z' = g(q, v, z).

The unknowns of a stage are its accelerations and the rates of z. In the eigenvectors of the collocation's matrix A the
steps fall apart into one system for every eigenvalue c of it, with p = h c (Hairer and Wanner, Solving Ordinary
Differential Equations II, section IV.8):

    [ 1 - p da/dv - p^2 da/dq   -p da/dz    ]
    [ -p dg/dv - p^2 dg/dq      1 - p dg/dz ]

A complex system of n equations is a real one of twice as many, which the code of implicit steps solves.
"""

from __future__ import annotations

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number
from pliant.engine.stepping.gauss_legendre import STAGES, gauss_legendre
from pliant.engine.stepping.gauss_stages import table_text
from pliant.engine.stepping.gauss_vibrations import VibrationCode
from pliant.engine.stepping.implicit import lu_ir


class CoupledCode(VibrationCode):
    """Functions on the coupled systems; there are none without states."""

    @property
    def order(self) -> int:
        """Number of complex unknowns."""
        return self.n + self.layout.states

    def coupled_functions(self) -> str:
        """``coupled_factors(h, work)`` and ``coupled_change(work)``."""
        if not self.layout.states:
            return ""
        gauss = gauss_legendre()
        tables = {
            "eigenvalues": gauss.eigenvalues,
            "into_pairs": gauss.inverse,
            "from_pairs": 2.0 * gauss.T.T,
        }
        parts = [
            table_text(f"{name}_real", x.real) + table_text(f"{name}_imaginary", x.imag) for name, x in tables.items()
        ]
        return "".join([*parts, lu_ir(), self._factors(), self._change()])

    def _factors(self) -> str:
        """The systems of all eigenvalues for a step h, factorised."""
        w, n, size = Flow(), self.n, self.order
        array = self.arrays(w)
        J = array["jacobian"]
        with w.repeat(STAGES // 2) as p:
            re, im = (w.fmul("%h", w.read(f"@eigenvalues_{part}", p)) for part in ("real", "imaginary"))
            squared = w.fsub(w.fmul(re, re), w.fmul(im, im)), w.fmul(number(2.0), w.fmul(re, im))
            S = w.at(array["systems"], w.imul(p, 4 * size * size))
            with w.repeat(size) as i, w.repeat(size) as j:
                is_state = w.iless(n - 1, j)
                # a change of an acceleration moves coordinate and rate, one of a state's rate the state alone
                by_q = w.read(J, w.iadd(w.imul(j, size), i))
                by_q = w.select(is_state, number(0.0), by_q)
                by_v = w.read(J, w.iadd(w.imul(w.iadd(j, n), size), i))
                own = w.select(w.let(f"icmp eq i64 {i}, {j}"), number(1.0), number(0.0))
                real = w.fsub(own, w.fadd(w.fmul(re, by_v), w.fmul(squared[0], by_q)))
                imaginary = w.fsub(number(0.0), w.fadd(w.fmul(im, by_v), w.fmul(squared[1], by_q)))
                upper, lower = w.imul(i, 2 * size), w.imul(w.iadd(i, size), 2 * size)
                right = w.iadd(j, size)
                w.write(real, S, w.iadd(upper, j))
                w.write(w.fsub(number(0.0), imaginary), S, w.iadd(upper, right))
                w.write(imaginary, S, w.iadd(lower, j))
                w.write(real, S, w.iadd(lower, right))
            pivots = w.at(array["system_pivots"], w.imul(p, 2 * size))
            w.do(f"call void @lu(ptr {S}, ptr {pivots}, i64 {2 * size})")
        return w.text("coupled_factors", "double %h, ptr %work", attributes="internal")

    def _change(self) -> str:
        """From what is missing in the stages (``change``, ``drive_change``) to the steps that they take
        (``residual``, ``drive_residual``)."""
        w, n, m, size = Flow(), self.n, self.layout.states, self.order
        array = self.arrays(w)
        known = ((array["change"], n, 0), (array["drive_change"], m, n))
        wanted = ((array["residual"], n, 0), (array["drive_residual"], m, n))
        for target, rows, _ in wanted:
            with w.on_lanes(self.lanes), w.repeat(rows * self.groups) as i:
                w.write(w.number(0.0), target, i)
        x = array["system_sides"]
        with w.repeat(STAGES // 2) as p:
            first = w.imul(p, self.groups)
            for source, rows, start in known:
                with w.repeat(rows) as j:
                    for part, shift in (("real", start), ("imaginary", start + size)):
                        with w.on_lanes(self.lanes):
                            terms = [
                                w.fmul(
                                    w.read(f"@into_pairs_{part}", w.iadd(first, g)), w.read(source, w.iadd(j, g * rows))
                                )
                                for g in range(self.groups)
                            ]
                            for term in terms[1:]:
                                terms[0] = w.fadd(terms[0], term)
                        w.write(self.total(w, terms[0]), x, w.iadd(j, shift))
            S, pivots = (
                w.at(array["systems"], w.imul(p, 4 * size * size)),
                w.at(array["system_pivots"], w.imul(p, 2 * size)),
            )
            w.do(f"call void @lu_solve(ptr {S}, ptr {pivots}, ptr {x}, i64 {2 * size})")
            for target, rows, start in wanted:
                with w.repeat(rows) as j:
                    real, imaginary = (w.read(x, w.iadd(j, shift)) for shift in (start, start + size))
                    with w.on_lanes(self.lanes):
                        real, imaginary = w.spread(real), w.spread(imaginary)
                        for g in range(self.groups):
                            a, b = (w.read(f"@from_pairs_{part}", w.iadd(first, g)) for part in ("real", "imaginary"))
                            term = w.fsub(w.fmul(a, real), w.fmul(b, imaginary))
                            place = w.iadd(j, g * rows)
                            w.write(w.fadd(w.read(target, place), term), target, place)
        return w.text("coupled_change", "ptr %work", attributes="internal")
