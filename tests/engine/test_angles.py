"""Sines and cosines of several angles are found together, in the lanes of one vector."""

import ctypes

import numpy as np
import pytest

from pliant.engine.call.evaluator import BufferLayout, aligned
from pliant.engine.compile import jit
from pliant.engine.compile.llvm_ir import PACK, packed_angles
from pliant.engine.compile.module import module_ir
from pliant.engine.trace.program import Address
from pliant.engine.trace.roller import one_kernel
from pliant.engine.trace.tape import Tape, live

ROUNDING = 4e-16
"""Two units of the last place of a sine."""


def turned(count):
    """A tape of sines and cosines of ``count`` angles, of which every fifth needs the sine before it."""
    tape, outputs, before = Tape(), [], 0.0
    for k in range(count):
        angle = tape.symbol(Address("q", "own", k)) * 1.5 + (before if k % 5 == 4 else 0.25)
        before = angle.sin()
        outputs += [before, angle.cos()]
    return tape, outputs


def expected(q):
    out, before = [], 0.0
    for k, x in enumerate(q):
        angle = 1.5 * x + (before if k % 5 == 4 else 0.25)
        before = np.sin(angle)
        out += [before, np.cos(angle)]
    return np.array(out)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 11])
def test_every_angle_gets_its_own_sine_and_cosine(count):
    tape, outputs = turned(count)
    program = one_kernel("turns", ("q",), tape, outputs, [], count)
    text, entry = module_ir(program, "single", jit.lanes())
    code = jit.LoadedCode(jit.machine_code(text))
    plan = BufferLayout.of(program, entry)
    q, out, rows = np.linspace(-4.0, 3.0, count), aligned(plan.outputs), np.array(plan.rows, dtype=np.int64)
    held = [np.zeros(1), np.zeros(3), q, aligned(1), out, rows]
    context = np.array([*(a.ctypes.data for a in held), 1], dtype=np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(entry))(context.ctypes.data)
    assert np.abs(out - expected(q)).max() < ROUNDING


def test_angles_wait_for_each_other_and_for_nothing_else():
    tape, outputs = turned(11)
    order, packs = packed_angles(tape, live(outputs), {})
    assert sorted(order) == live(outputs)
    place = {i: k for k, i in enumerate(order)}
    for i in order:
        needed = [] if tape.op[i] in ("constant", "symbol") else [tape.a[i], *([tape.b[i]] if tape.b[i] >= 0 else [])]
        assert all(place[k] < place[i] for k in needed)
    # the fifth and the tenth angle need a sine themselves
    assert len(packs) == 9
    assert max(len(pack) for pack in packs.values()) == PACK
