"""``dop853``: Dormand and Prince's eighth-order pair with error estimates of orders 5 and 3 and dense output.

Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section II.10. Importing the coefficients from a
solver package would take longer than most runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number
from pliant.engine.stepping.integrators import Clock, Explicit, is_wanted, weighted
from pliant.engine.stepping.stepper import Stepper, StepShape

ORDER = 8
SLOWEST, FASTEST = 0.2, 10.0
SAFETY = 0.75
"""Of the largest step that the error allows. The error of a vibrating state rises and falls with its phase; a step that
aims closer to the limit is refused every third time."""
GAIN, MEMORY = 0.1 / ORDER, 0.1 / ORDER
"""Exponents of the error and of its change: proportional-integral control (Gustafsson, ACM TOMS 17 (1991) 533), slow
enough to average over a vibration and to settle at the limit of stability instead of bouncing at it."""
LEAST_ERROR = 1e-6
"""Smaller errors say no more about the next step."""
STAGES, ALL_STAGES = 12, 16
"""Stages of a step, and with those of the end and of the dense output."""

_A: dict[int, dict[int, float]] = {
    1: {0: 0.05260015195876773},
    2: {0: 0.0197250569845379, 1: 0.0591751709536137},
    3: {0: 0.02958758547680685, 2: 0.08876275643042054},
    4: {0: 0.2413651341592667, 2: -0.8845494793282861, 3: 0.924834003261792},
    5: {0: 0.037037037037037035, 3: 0.17082860872947386, 4: 0.12546768756682242},
    6: {0: 0.037109375, 3: 0.17025221101954405, 4: 0.06021653898045596, 5: -0.017578125},
    7: {
        0: 0.03709200011850479,
        3: 0.17038392571223998,
        4: 0.10726203044637328,
        5: -0.015319437748624402,
        6: 0.008273789163814023,
    },
    8: {
        0: 0.6241109587160757,
        3: -3.3608926294469414,
        4: -0.868219346841726,
        5: 27.59209969944671,
        6: 20.154067550477894,
        7: -43.48988418106996,
    },
    9: {
        0: 0.47766253643826434,
        3: -2.4881146199716677,
        4: -0.590290826836843,
        5: 21.230051448181193,
        6: 15.279233632882423,
        7: -33.28821096898486,
        8: -0.020331201708508627,
    },
    10: {
        0: -0.9371424300859873,
        3: 5.186372428844064,
        4: 1.0914373489967295,
        5: -8.149787010746927,
        6: -18.52006565999696,
        7: 22.739487099350505,
        8: 2.4936055526796523,
        9: -3.0467644718982196,
    },
    11: {
        0: 2.273310147516538,
        3: -10.53449546673725,
        4: -2.0008720582248625,
        5: -17.9589318631188,
        6: 27.94888452941996,
        7: -2.8589982771350235,
        8: -8.87285693353063,
        9: 12.360567175794303,
        10: 0.6433927460157636,
    },
    12: {
        0: 0.054293734116568765,
        5: 4.450312892752409,
        6: 1.8915178993145003,
        7: -5.801203960010585,
        8: 0.3111643669578199,
        9: -0.1521609496625161,
        10: 0.20136540080403034,
        11: 0.04471061572777259,
    },
    13: {
        0: 0.056167502283047954,
        6: 0.25350021021662483,
        7: -0.2462390374708025,
        8: -0.12419142326381637,
        9: 0.15329179827876568,
        10: 0.00820105229563469,
        11: 0.007567897660545699,
        12: -0.008298,
    },
    14: {
        0: 0.03183464816350214,
        5: 0.028300909672366776,
        6: 0.053541988307438566,
        7: -0.05492374857139099,
        10: -0.00010834732869724932,
        11: 0.0003825710908356584,
        12: -0.00034046500868740456,
        13: 0.1413124436746325,
    },
    15: {
        0: -0.42889630158379194,
        5: -4.697621415361164,
        6: 7.683421196062599,
        7: 4.06898981839711,
        8: 0.3567271874552811,
        12: -0.0013990241651590145,
        13: 2.9475147891527724,
        14: -9.15095847217987,
    },
}
"""Stage -> stages before it -> weight."""
_C: dict[int, float] = {
    1: 0.05260015195876773,
    2: 0.0789002279381516,
    3: 0.1183503419072274,
    4: 0.2816496580927726,
    5: 0.3333333333333333,
    6: 0.25,
    7: 0.3076923076923077,
    8: 0.6512820512820513,
    9: 0.6,
    10: 0.8571428571428571,
    11: 1.0,
    12: 1.0,
    13: 0.1,
    14: 0.2,
    15: 0.7777777777777778,
}
"""Places of the stages in the step."""
_B: dict[int, float] = {
    0: 0.054293734116568765,
    5: 4.450312892752409,
    6: 1.8915178993145003,
    7: -5.801203960010585,
    8: 0.3111643669578199,
    9: -0.1521609496625161,
    10: 0.20136540080403034,
    11: 0.04471061572777259,
}
"""Weights of the step."""
_E3: dict[int, float] = {
    0: -0.18980075407240762,
    5: 4.450312892752409,
    6: 1.8915178993145003,
    7: -5.801203960010585,
    8: -0.4226823213237919,
    9: -0.1521609496625161,
    10: 0.20136540080403034,
    11: 0.02265179219836082,
}
"""Error of order 3."""
_E5: dict[int, float] = {
    0: 0.01312004499419488,
    5: -1.2251564463762044,
    6: -0.4957589496572502,
    7: 1.6643771824549864,
    8: -0.35032884874997366,
    9: 0.3341791187130175,
    10: 0.08192320648511571,
    11: -0.022355307863886294,
}
"""Error of order 5."""
_D: dict[int, dict[int, float]] = {
    0: {
        0: -8.428938276109013,
        5: 0.5667149535193777,
        6: -3.0689499459498917,
        7: 2.38466765651207,
        8: 2.117034582445028,
        9: -0.871391583777973,
        10: 2.2404374302607883,
        11: 0.6315787787694688,
        12: -0.08899033645133331,
        13: 18.148505520854727,
        14: -9.194632392478356,
        15: -4.436036387594894,
    },
    1: {
        0: 10.427508642579134,
        5: 242.28349177525817,
        6: 165.20045171727028,
        7: -374.5467547226902,
        8: -22.113666853125306,
        9: 7.733432668472264,
        10: -30.674084731089398,
        11: -9.332130526430229,
        12: 15.697238121770845,
        13: -31.139403219565178,
        14: -9.35292435884448,
        15: 35.81684148639408,
    },
    2: {
        0: 19.985053242002433,
        5: -387.0373087493518,
        6: -189.17813819516758,
        7: 527.8081592054236,
        8: -11.57390253995963,
        9: 6.8812326946963,
        10: -1.0006050966910838,
        11: 0.7777137798053443,
        12: -2.778205752353508,
        13: -60.19669523126412,
        14: 84.32040550667716,
        15: 11.99229113618279,
    },
    3: {
        0: -25.69393346270375,
        5: -154.18974869023643,
        6: -231.5293791760455,
        7: 357.6391179106141,
        8: 93.40532418362432,
        9: -37.45832313645163,
        10: 104.0996495089623,
        11: 29.8402934266605,
        12: -43.53345659001114,
        13: 96.32455395918828,
        14: -39.17726167561544,
        15: -149.72683625798564,
    },
}
"""Highest terms of the dense output."""


class Tableau(NamedTuple):
    """The coefficients as arrays."""

    A: NDArray[np.float64]
    B: NDArray[np.float64]
    C: NDArray[np.float64]
    E3: NDArray[np.float64]
    E5: NDArray[np.float64]
    D: NDArray[np.float64]


@cache
def dormand_prince_853() -> Tableau:
    """The pair."""
    A, D = np.zeros((ALL_STAGES, ALL_STAGES)), np.zeros((4, 16))
    for matrix, rows in ((A, _A), (D, _D)):
        for i, row in rows.items():
            matrix[i, list(row)] = list(row.values())
    vectors = [np.zeros(n) for n in (12, 16, 13, 13)]
    for vector, entries in zip(vectors, (_B, _C, _E3, _E5), strict=True):
        vector[list(entries)] = list(entries.values())
    B, C, E3, E5 = vectors
    return Tableau(A, B, C, E3, E5, D)


class DormandPrince(Stepper):
    """The method."""

    name, order, words = "dop853", 8, "explicit, for all that is not stiff"
    dense = lanes = True

    def work(self, shape: StepShape) -> int:
        return (ALL_STAGES + 2) * shape.layout.size

    def text(self, shape: StepShape) -> str:
        return dop853_ir(shape.layout.size, shape.layout.controlled, shape.turning)


def dop853_ir(states: int, steering: int, turning: Sequence[int] = ()) -> str:
    """``dop853``; see ``Stepping`` for its arguments.

    The error of a step is the mean over as many states as steer it; the others have an infinite tolerance.

    work      K (16 states), y (states), stage of the dense output (states)
    """
    pair = dormand_prince_853()
    w = Explicit(states, turning)
    m = states
    with w.flushed():
        K = [w.at("%work", i * m) for i in range(ALL_STAGES)]
        y = w.at("%work", ALL_STAGES * m)
        rejected = w.variable("i1", "false")

        def combine(row: Any, target: str, h: str) -> None:
            """target = x + h sum_j row_j K_j."""

            def one(q: str | int) -> None:
                total = weighted(w, row, K, q)
                w.write(w.fadd(w.read("%x", q), w.fmul(w.spread(h), total)), target, q)

            w.each(m, one)

        w.begin()
        with w.steps() as (t, h, reach, last):
            for i in range(1, STAGES):
                combine(pair.A[i], y, h)
                w.rhs(w.fadd(t, w.fmul(number(pair.C[i]), h)), y, K[i])
            combine(pair.A[STAGES], y, h)
            w.rhs(reach, y, K[STAGES])
            error = step_error(w, pair, K, "%x", y, "%tolerance", h, m, steering, w.clock(Clock.RELATIVE))
            with w.when(controlled(w, "%clock", error, h, last, rejected)):
                _dense(w, pair, K, y, t, h, reach, m, combine)
                with w.repeat(m) as q:
                    w.write(w.read(y, q), "%x", q)
                    w.write(w.read(K[STAGES], q), K[0], q)
                w.finish(reach)
    return w.entry("dop853")


def controlled(w: Flow, clock: str, error: str, h: str, last: str, rejected: str) -> str:
    """Whether a step is accepted; the clock gets the size of the next one. ``rejected``: the last one was not."""
    accepted = w.less(error, number(1.0))
    # what the error alone would allow; a vanishing one and one that is not a number both need care
    allowed = w.fmul(number(SAFETY), w.power(w.fmax(error, number(1e-30)), -1.0 / ORDER))
    before = w.read(clock, Clock.ERROR_BEFORE)
    with w.when(w.negated(accepted)):
        valid = w.let(f"fcmp ord double {error}, {error}")
        shrink = w.select(valid, w.fmax(allowed, number(SLOWEST)), number(SLOWEST))
        w.write(w.fmul(h, shrink), clock, Clock.STEP)
        w.write(w.fmax(before, number(LEAST_ERROR)), clock, Clock.ERROR_BEFORE)
        w.write(w.fadd(w.read(clock, Clock.REJECTED), number(1.0)), clock, Clock.REJECTED)
        w.put("i1", "true", rejected)
    with w.when(accepted):
        # until an error is seen or a step refused, steps grow as fast as they can
        seen = w.less(number(0.0), before)
        known = w.fmax(error, number(LEAST_ERROR))
        steady = w.fmul(w.power(known, -GAIN - MEMORY), w.power(before, MEMORY))
        steady = w.fmul(number(SAFETY ** (ORDER * GAIN)), steady)
        grow = w.select(seen, steady, w.fmin(allowed, number(FASTEST)))
        grow = w.select(w.get("i1", rejected), w.fmin(grow, number(1.0)), grow)
        small = w.let(f"and i1 {w.negated(seen)}, {w.less(error, number(LEAST_ERROR))}")
        w.write(w.select(small, number(0.0), known), clock, Clock.ERROR_BEFORE)
        # a step cut short by the end says nothing against the size before it
        size = w.read(clock, Clock.STEP)
        longer = w.fmax(size, w.fmin(w.fmul(size, grow), w.fmul(h, allowed)))
        w.write(w.select(last, longer, w.fmul(h, grow)), clock, Clock.STEP)
        w.put("i1", "false", rejected)
    return accepted


def step_error(
    w: Flow,
    pair: Tableau,
    K: Sequence[str],
    x: str,
    y: str,
    tolerance: str,
    h: str,
    m: int,
    steering: int,
    relative: str,
) -> str:
    """The weighted norm of the step's error estimate; 1 is just acceptable."""
    zero = w.number(0.0)
    fifth, third = w.variable(w.kind, zero), w.variable(w.kind, zero)
    with w.repeat(m) as q:
        size = w.fmax(w.fabs(w.read(x, q)), w.fabs(w.read(y, q)))
        scale = w.fadd(w.read(tolerance, q), w.fmul(relative, size))
        for row, total in ((pair.E5, fifth), (pair.E3, third)):
            e = w.fdiv(weighted(w, row, K, q), scale)
            w.put(w.kind, w.fadd(w.get(w.kind, total), w.fmul(e, e)), total)
    e5, e3 = w.get(w.kind, fifth), w.get(w.kind, third)
    below = w.sqrt(w.fmul(w.fadd(e5, w.fmul(w.number(0.01), e3)), w.number(float(max(steering, 1)))))
    return w.fdiv(w.fmul(h, e5), w.fmax(below, w.number(1e-300)))


def dense_terms(w: Flow, pair: Tableau, K: Sequence[str], x: str, y: str, h: str, q: str) -> list[str]:
    """Coefficients of state q within a step."""
    delta = w.fsub(w.read(y, q), w.read(x, q))
    f0, f1 = w.fmul(h, w.read(K[0], q)), w.fmul(h, w.read(K[STAGES], q))
    F = [delta, w.fsub(f0, delta), w.fsub(w.fadd(delta, delta), w.fadd(f0, f1))]
    return [*F, *(w.fmul(h, weighted(w, line, K, q)) for line in pair.D)]


def dense_value(w: Flow, x: str, F: Sequence[str], s: str, rest: str) -> str:
    """x at the fraction s = 1 - rest of a step."""
    value = number(0.0)
    for k, f in enumerate(reversed(F)):
        value = w.fmul(w.fadd(value, f), s if k % 2 == 0 else rest)
    return w.fadd(x, value)


def _dense(w: Explicit, pair: Tableau, K: list[str], y: str, t: str, h: str, reach: str, m: int, combine: Any) -> None:
    """Write x at the grid times within the step, through three further stages."""

    with w.when(is_wanted(w, reach)):
        stage = w.at("%work", (ALL_STAGES + 1) * m)
        for i in range(STAGES + 1, ALL_STAGES):
            combine(pair.A[i], stage, h)
            w.rhs(w.fadd(t, w.fmul(number(pair.C[i]), h)), stage, K[i])
        with w.loop(lambda: is_wanted(w, reach)):
            n = w.get("i64", "%next")
            s = w.fdiv(w.fsub(w.read("%grid", n), t), h)
            rest = w.fsub(number(1.0), s)
            row = w.imul(n, m)
            with w.repeat(m) as q:
                F = dense_terms(w, pair, K, "%x", y, h, q)
                w.write(dense_value(w, w.read("%x", q), F, s, rest), "%samples", w.iadd(row, q))
            w.put("i64", w.iadd(n, 1), "%next")
