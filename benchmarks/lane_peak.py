"""What the lanes of this processor attain: independent operations in straight code, on lanes and on single numbers.

A register of eight numbers promises eight times as much, but some processors take it in halves, and their lanes give
four times as much at most. Nothing here waits for memory or for another result, so what remains is the arithmetic.
"""

from __future__ import annotations

from compiled import loop
from timing import Looped

from pliant.engine.call.evaluator import aligned
from pliant.engine.compile import jit
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.module import ATTRIBUTES

CHAINS = 12
"""Results that do not wait for each other: as many as hide the time until one is there, and as registers can hold."""
TURNS = 64
FACTOR, SUMMAND = 0.9, 0.1
"""The results stay near one."""
PRODUCTS = 3 * CHAINS * TURNS
"""Products of one call, and a third as many sums besides those that are fused with products, as tapes have them."""


def independent(lanes: int) -> Looped:
    """Calls of the operations on registers of some lanes."""
    w = Flow()
    with w.on_lanes(lanes):
        chains = [w.variable(w.kind, w.read("%values", k)) for k in range(CHAINS)]
        with w.repeat(TURNS):
            for kind in ("fused", "product", "fused", "sum"):
                for chain in chains:
                    x = w.get(w.kind, chain)
                    x = x if kind == "sum" else w.fmul(x, w.number(FACTOR))
                    x = x if kind == "product" else w.fadd(x, w.number(SUMMAND))
                    w.put(w.kind, x, chain)
        for k, chain in enumerate(chains):
            w.write(w.get(w.kind, chain), "%values", k)
    code = jit.LoadedCode(jit.machine_code(w.text("independent", "ptr %values") + ATTRIBUTES))
    values = aligned(CHAINS * lanes)
    values[:] = 1.0
    return loop(code.address("independent"), values.ctypes.data, values, code)
