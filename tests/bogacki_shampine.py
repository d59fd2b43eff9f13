"""An integrator as a user writes one: Bogacki and Shampine's pair of orders 3 and 2 with error control.

Bogacki and Shampine, Applied Mathematics Letters 2 (1989) 321.
"""

from pliant.engine.compile.llvm_ir import number
from pliant.engine.stepping.integrators import Clock, Explicit, weighted
from pliant.engine.stepping.stepper import Stepper

A = ((1 / 2,), (0.0, 3 / 4), (2 / 9, 1 / 3, 4 / 9))
C = (1 / 2, 3 / 4)
ERROR = (2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8)
SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 5.0


class BogackiShampine(Stepper):
    """Explicit, for rough tolerances."""

    name, order, words = "bs32", 3, "explicit, for rough tolerances"
    substitute = "RK23"

    def work(self, shape):
        return 5 * shape.layout.size

    def text(self, shape):
        m, steering = shape.layout.size, shape.layout.controlled
        w = Explicit(m, shape.turning)
        K, y = [w.at("%work", i * m) for i in range(4)], w.at("%work", 4 * m)

        def stage(t, row, h, out):
            with w.repeat(m) as q:
                w.write(w.fadd(w.read("%x", q), w.fmul(h, weighted(w, row, K, q))), y, q)
            w.rhs(t, y, out)

        with w.flushed():
            w.begin()
            with w.steps() as (t, h, reach, last):
                for row, c, out in zip(A[:2], C, K[1:3], strict=True):
                    stage(w.fadd(t, w.fmul(number(c), h)), row, h, out)
                stage(reach, A[2], h, K[3])
                total = w.variable("double", number(0.0))
                with w.repeat(m) as q:
                    size = w.fmax(w.fabs(w.read("%x", q)), w.fabs(w.read(y, q)))
                    scale = w.fadd(w.read("%tolerance", q), w.fmul(w.clock(Clock.RELATIVE), size))
                    e = w.fdiv(w.fmul(h, weighted(w, ERROR, K, q)), scale)
                    w.put("double", w.fadd(w.get("double", total), w.fmul(e, e)), total)
                error = w.sqrt(w.fmul(w.get("double", total), number(1.0 / max(steering, 1))))
                good = w.less(error, number(1.0))
                factor = w.fmul(number(SAFETY), w.power(w.fmax(error, number(1e-10)), -1.0 / 3.0))
                factor = w.fmin(w.fmax(factor, number(SLOWEST)), number(FASTEST))
                with w.when(w.negated(good)):
                    w.set_clock(w.fmul(h, w.fmin(factor, number(SAFETY))), Clock.STEP)
                    w.count(Clock.REJECTED)
                with w.when(good):
                    # a step cut short by the end says nothing against the size before it
                    grown = w.fmul(h, factor)
                    w.set_clock(w.select(last, w.fmax(w.clock(Clock.STEP), grown), grown), Clock.STEP)
                    with w.repeat(m) as q:
                        w.write(w.read(y, q), "%x", q)
                        w.write(w.read(K[3], q), K[0], q)
                    w.finish(reach)
        return w.entry(self.symbol)
