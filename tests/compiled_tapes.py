"""Functions of n numbers as compiled code, to be compared with what Python gives."""

import numpy as np

from pliant.engine.call.evaluator import BufferLayout
from pliant.engine.compile import jit
from pliant.engine.compile.module import module_ir
from pliant.engine.trace.program import Address
from pliant.engine.trace.roller import one_kernel
from pliant.engine.trace.tape import Tape


def traced(function, n):
    """A function of n numbers as a program of one kernel."""
    tape = Tape()
    outputs = function([tape.symbol(Address("q", "own", k)) for k in range(n)])
    return one_kernel("several", ("q",), tape, outputs, [], n)


def evaluated(function, n):
    """Its values by compiled code, the text of that code, and what Python gives."""
    program = traced(function, n)
    text, entry = module_ir(program, "single", 1)
    code = jit.LoadedCode(jit.machine_code(text))
    q, out = np.cos(np.arange(1.0, n + 1)), np.zeros(program.outputs)
    nothing, table = np.zeros(1), BufferLayout.of(program, entry).table
    arrays = nothing, nothing, q, nothing, out, table
    context = np.array([*(a.ctypes.data for a in arrays), len(table)], dtype=np.int64)
    code.called(entry)(context.ctypes.data)
    return out, text, np.array(function(q.tolist()))
