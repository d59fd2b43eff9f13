"""``rk4``: the classical Runge-Kutta method of fourth order (Kutta, Zeitschrift für Mathematik und Physik 46, 1901)."""

from __future__ import annotations

from pliant.engine.compile.llvm_ir import number
from pliant.engine.stepping.integrators import Explicit
from pliant.engine.stepping.stepper import Stepper, StepShape


class RungeKutta(Stepper):
    """The method; the slope at the end of a step is the first stage of the next."""

    name, order, words = "rk4", 4, "explicit, equal steps"
    fixed, substitute = True, "RK45"

    def work(self, shape: StepShape) -> int:
        return 5 * shape.layout.size

    def text(self, shape: StepShape) -> str:
        m = shape.layout.size
        w = Explicit(m, shape.turning)
        K = [w.at("%work", i * m) for i in range(4)]
        y = w.at("%work", 4 * m)

        def stage(t: str, before: str, h: str, out: str) -> None:
            with w.repeat(m) as q:
                w.write(w.fadd(w.read("%x", q), w.fmul(h, w.read(before, q))), y, q)
            w.rhs(t, y, out)

        with w.flushed():
            w.begin()
            with w.steps() as (t, h, reach, _):
                half = w.fmul(h, number(0.5))
                middle = w.fadd(t, half)
                stage(middle, K[0], half, K[1])
                stage(middle, K[1], half, K[2])
                stage(reach, K[2], h, K[3])
                sixth = w.fmul(h, number(1.0 / 6.0))
                with w.repeat(m) as q:
                    k1, k2, k3, k4 = (w.read(k, q) for k in K)
                    total = w.fadd(w.fadd(k1, k4), w.fmul(number(2.0), w.fadd(k2, k3)))
                    w.write(w.fadd(w.read("%x", q), w.fmul(sixth, total)), "%x", q)
                w.rhs(reach, "%x", K[0])
                w.finish(reach)
        return w.entry("rk4")
