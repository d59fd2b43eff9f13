"""``semi-implicit``: Euler's method with rates first, then positions with the new rates (symplectic Euler).

Of first order, but it does not pump energy into vibrations (Hairer, Lubich and Wanner, Geometric Numerical Integration,
section I.1).
"""

from __future__ import annotations

from pliant.engine.stepping.integrators import Explicit
from pliant.engine.stepping.stepper import Stepper, StepShape


class SemiImplicit(Stepper):
    """The method."""

    name, order = "semi-implicit", 1
    words = "explicit, equal steps that keep the energy of vibrations"
    fixed, substitute = True, "RK45"

    def work(self, shape: StepShape) -> int:
        return shape.layout.size

    def text(self, shape: StepShape) -> str:
        m, n = shape.layout.size, shape.layout.count
        w = Explicit(m, shape.turning)
        with w.flushed():
            w.begin()
            with w.steps() as (_, h, reach, _):
                with w.repeat(m - n) as q:
                    i = w.iadd(q, n)
                    w.write(w.fadd(w.read("%x", i), w.fmul(h, w.read(w.slope, i))), "%x", i)
                with w.repeat(n) as q:
                    w.write(w.fadd(w.read("%x", q), w.fmul(h, w.read("%x", w.iadd(q, n)))), "%x", q)
                w.rhs(reach, "%x", w.slope)
                w.finish(reach)
        return w.entry("semi_implicit")
