"""States between rows and lanes: blocks of every length, and nothing written beside them."""

import ctypes

import numpy as np
import pytest

from pliant.engine.call.evaluator import aligned
from pliant.engine.compile import jit
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.lanes import lane_numbers, lanes_to_rows, rows_to_lanes, transposition_declarations
from pliant.engine.compile.module import ATTRIBUTES

UNTOUCHED = -7.0
APART = 256


@pytest.fixture(scope="module", params=[2, 4, 8])
def moves(request):
    """Compiled (rows, lanes, size) -> nothing, both ways, for a number of lanes; lane k is row (k + 1) % lanes.

    Two arrays go to lanes at once: the second ones follow the first after ``APART`` numbers.
    """
    lanes = request.param
    texts = [transposition_declarations(lanes)]
    for move in (rows_to_lanes, lanes_to_rows):
        w = Flow()
        states = [str((k + 1) % lanes) for k in range(lanes)]
        there = {end: w.at(end, APART) for end in ("%rows", "%wide")}
        both = {"%rows": "%wide", there["%rows"]: there["%wide"]}
        ends = (both,) if move is rows_to_lanes else ("%wide", "%rows")
        move(w, *ends, "%size", states, lanes)
        texts.append(w.text(move.__name__, "ptr %rows, ptr %wide, i64 %size"))
    code = jit.LoadedCode(jit.machine_code("".join([*texts, ATTRIBUTES])))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return lanes, *(kind(code.address(move.__name__)) for move in (rows_to_lanes, lanes_to_rows)), code


def test_rows_of_every_length(moves):
    lanes, to_lanes, to_rows, _ = moves
    order = np.roll(np.arange(lanes), -1)
    for size in range(2 * lanes + 2):
        given = np.arange(1.0, 2 * APART + 1)
        rows, others = (given[k : k + lanes * size].reshape(lanes, size) for k in (0, APART))
        wide = aligned(APART + lane_numbers(size, lanes) + 1)
        wide[:] = UNTOUCHED
        to_lanes(given.ctypes.data, wide.ctypes.data, size)
        for found, expected in ((wide, rows), (wide[APART:], others)):
            assert np.array_equal(found[: size * lanes].reshape(size, lanes), expected[order].T)
            assert found[lane_numbers(size, lanes)] == UNTOUCHED
        around = np.full(lanes * size + 2 * lanes, UNTOUCHED)
        to_rows(around[lanes:].ctypes.data, wide.ctypes.data, size)
        assert np.array_equal(around[lanes:-lanes].reshape(lanes, size), rows)
        assert (around[:lanes] == UNTOUCHED).all()
        assert (around[-lanes:] == UNTOUCHED).all()
