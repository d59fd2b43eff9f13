"""States between rows and lanes: blocks of every length, and nothing written beside them."""

import ctypes

import numpy as np
import pytest

from pliant.engine.backends import jit
from pliant.engine.backends.evaluator import aligned
from pliant.engine.backends.flow import Flow
from pliant.engine.backends.lanes import lanes_to_rows, padded, rows_to_lanes, transposition_declarations
from pliant.engine.backends.module import ATTRIBUTES

UNTOUCHED = -7.0


@pytest.fixture(scope="module", params=[2, 4, 8])
def moves(request):
    """Compiled (rows, lanes, size) -> nothing, both ways, for a number of lanes; lane k is row (k + 1) % lanes."""
    lanes = request.param
    texts = [transposition_declarations(lanes)]
    for move in (rows_to_lanes, lanes_to_rows):
        w = Flow()
        states = [str((k + 1) % lanes) for k in range(lanes)]
        ends = ({"%rows": "%wide"},) if move is rows_to_lanes else ("%wide", "%rows")
        move(w, *ends, "%size", states, lanes)
        texts.append(w.text(move.__name__, "ptr %rows, ptr %wide, i64 %size"))
    code = jit.LoadedCode(jit.machine_code("".join([*texts, ATTRIBUTES])))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return lanes, *(kind(code.address(move.__name__)) for move in (rows_to_lanes, lanes_to_rows)), code


def test_rows_of_every_length(moves):
    lanes, to_lanes, to_rows, _ = moves
    order = np.roll(np.arange(lanes), -1)
    for size in range(1, 2 * lanes + 2):
        rows = np.arange(1.0, lanes * size + 1).reshape(lanes, size)
        wide = aligned(padded(size, lanes) * lanes)
        to_lanes(rows.ctypes.data, wide.ctypes.data, size)
        assert np.array_equal(wide[: size * lanes].reshape(size, lanes), rows[order].T)
        around = np.full(lanes * size + 2 * lanes, UNTOUCHED)
        to_rows(around[lanes:].ctypes.data, wide.ctypes.data, size)
        assert np.array_equal(around[lanes:-lanes].reshape(lanes, size), rows)
        assert (around[:lanes] == UNTOUCHED).all()
        assert (around[-lanes:] == UNTOUCHED).all()
