"""``floor`` and ``atan2``, which sensors need, mean the same on floats, arrays, tapes, in machine code and in texts."""

import ctypes
import math

import numpy as np
import pytest

from pliant.engine.call.evaluator import aligned, stored
from pliant.engine.call.row_kernel import RowKernel
from pliant.engine.compile import jit
from pliant.engine.compile.elementary import prelude
from pliant.engine.compile.module import ATTRIBUTES, program_ir, rows
from pliant.engine.compile.statements import statements
from pliant.engine.trace.tape import Tape, tangents
from pliant.spatial.scalars import atan2, floor

POINTS = np.array([[0.3, -1.2], [-2.7, 0.4], [5.0, 5.5], [-0.1, -0.2], [0.0, 1.0], [1e-3, -4.0], [-7.25, 0.0], [2, 2]])
ROUNDING = 1e-15


def encoder(y, x):
    """Counts of an encoder on the angle of a vector, the angle itself, and angles of vectors along one axis."""
    return [floor(8192 / (2 * math.pi) * atan2(y, x)), atan2(y, x), atan2(y, 2.0), atan2(-3.0, x), floor(y)]


def wanted():
    y, x = POINTS.T
    angle = np.arctan2(y, x)
    return np.array([np.floor(8192 / (2 * np.pi) * angle), angle, np.arctan2(y, 2.0), np.arctan2(-3.0, x), np.floor(y)])


def close(found):
    assert pytest.approx(wanted().T, rel=ROUNDING, abs=ROUNDING) == np.asarray(found, dtype=float).T


def test_floats_and_columns():
    close(encoder(*POINTS.T))
    close(np.array([encoder(*row) for row in POINTS.tolist()]).T)


def test_machine_code_of_one_row_and_of_lanes():
    kernel = RowKernel(lambda s: encoder(*s), {"s": 2})
    close(kernel(POINTS).T)
    lanes, program = jit.lanes(), kernel.program
    text, name = program_ir(program, lanes)
    module = "".join([prelude([program], lanes), text.replace("define internal", "define"), ATTRIBUTES])
    _, code = stored(("sensor functions", lanes), lambda: ({}, module))
    store, out, given = aligned(lanes * 64), aligned(lanes * 5), aligned(lanes * 2)
    given[:] = POINTS[np.arange(lanes) % len(POINTS)].T.ravel()
    p, table = ctypes.c_void_p, rows(program)
    ctypes.CFUNCTYPE(None, *[p] * 6, ctypes.c_int64)(code.address(name))(
        *(a.ctypes.data for a in (store, store, given, store, out, table)), 1
    )
    own = wanted()[:, np.arange(lanes) % len(POINTS)]
    assert out.reshape(5, lanes) == pytest.approx(own, rel=ROUNDING, abs=ROUNDING)


def test_texts_of_languages():
    tape = Tape()
    symbols = [tape.symbol(name) for name in "yx"]
    lines, results = statements(tape, encoder(*symbols), str)
    code = compile("\n".join(f"{each.name} = {each.expression}" for each in lines), "listing", "exec")
    found = []
    for y, x in POINTS.tolist():
        scope = {"y": y, "x": x, "floor": math.floor, "atan2": math.atan2}
        exec(code, scope)
        found.append([eval(each, scope) for each in results])
    close(np.array(found).T)


def test_tangents():
    """The angle turns by (x dy - y dx)/(x^2 + y^2); counts do not move."""
    rate = np.array([0.7, -0.4])

    def moved(s):
        tape = s[0].tape
        outputs = encoder(*s[:2])
        return tangents(outputs, {each.index: given for each, given in zip(s[:2], s[2:], strict=True)}) + [
            tape.nodes[0]
        ]

    found = RowKernel(moved, {"s": 4})(np.hstack([POINTS, np.tile(rate, (len(POINTS), 1))]))
    h = 1e-6
    for (y, x), row in zip(POINTS.tolist(), found, strict=True):
        a, b = (np.array(encoder(y + s * h * rate[0], x + s * h * rate[1])) for s in (1, -1))
        assert row[1:4] == pytest.approx((a - b)[1:4] / (2 * h), rel=1e-8, abs=1e-8)
        assert not row[[0, 4]].any()


def test_casadi():
    ca = pytest.importorskip("casadi", reason="casadi is not installed")
    from pliant.export.casadi import _applied

    y, x = ca.SX.sym("y"), ca.SX.sym("x")
    f = ca.Function("f", [y, x], [_applied(ca, "atan2", y, x), _applied(ca, "floor", y, None)])
    for row in POINTS.tolist():
        assert [float(each) for each in f(*row)] == pytest.approx([math.atan2(*row), math.floor(row[0])])
