"""Long sums of products that lie side by side: loops on vectors give what the operations give one after the other."""

import numpy as np
import pytest

import pliant
from compiled_tapes import evaluated
from pliant.algorithm import result, run
from pliant.dynamics import Dynamics
from pliant.engine.call.evaluator import Evaluator, Program
from pliant.engine.compile.module import module_ir
from pliant.engine.compile.sums import LEAST, TURN, long_sums
from pliant.engine.trace.program import Address
from pliant.engine.trace.tape import Tape, live
from pliant.formulations.recursive.recursions import FORWARD, INVERSE

TOLERANCE = 1e-13
"""Of the sum of sizes: the same numbers in another order."""
LOOP = "_k = phi i64"


def dot(x, y):
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total = total + a * b
    return total


def halves(q):
    return [dot(q[: len(q) // 2], q[len(q) // 2 :])]


def with_gaps(q):
    """Some products are left out; what follows them is another stretch."""
    n = len(q) // 2
    kept = [k for k in range(n) if k not in (3, 4, 60)]
    return [dot([q[k] for k in kept], [q[n + k] for k in kept])]


def after_a_head(q):
    """What a sum begins with may be anything."""
    n, total = len(q) // 2, q[0] / q[1]
    for a, b in zip(q[:n], q[n:], strict=True):
        total = total + a * b
    return [total, total * q[2]]


def wanted_in_its_middle(q):
    n, total, middle = len(q) // 2, 0.0, 0.0
    for k in range(n):
        total = total + q[k] * q[n + k]
        middle = total if k == n // 2 else middle
    return [total, middle]


def with_shared_products(q):
    """Products that others need too stay as they are."""
    n = len(q) // 2
    return [dot(q[:n], q[n:]), q[5] * q[n + 5] - q[0], q[50] * q[n + 50]]


def every_second(q):
    return [dot(q[: len(q) // 2 : 2], q[len(q) // 2 :: 2])]


def squares(q):
    return [dot(q, q)]


def of_sums(q):
    """A sum of angles, and its sine."""
    n = len(q) // 2
    x = dot(q[:n], q[n:])
    return [x * x, x.sin() if hasattr(x, "sin") else np.sin(x)]


CASES = {
    halves: 1,
    with_gaps: 2,
    after_a_head: 1,
    wanted_in_its_middle: 2,
    with_shared_products: 2,
    every_second: 0,
    squares: 1,
    of_sums: 1,
}


@pytest.mark.parametrize("function", CASES)
@pytest.mark.parametrize("n", [260, 292])
def test_sums_are_those_of_python(function, n):
    out, text, expected = evaluated(function, n)
    assert text.count(LOOP) == CASES[function]
    assert np.abs(out - expected).max() <= TOLERANCE * n


@pytest.mark.parametrize(("length", "found"), [(LEAST - 1, 0), (LEAST, 1), (LEAST + 1, 1), (5 * TURN + 7, 1)])
def test_few_products_stay_as_they_are(length, found):
    tape = Tape()
    q = [tape.symbol(Address("q", "own", k)) for k in range(2 * length)]
    results = [(Address("out", "own", 0), halves(q)[0])]
    order = live([x for _, x in results])
    sums, rest = long_sums(tape, order, results, {})
    assert len(sums) == found
    if found:
        (total,) = sums.values()
        assert sum(each.length for each in total.stretches) + len(total.alone) == length
        # the symbols of what is in a loop are gone, too
        assert len(rest) == 1 + 3 * len(total.alone)


# ---------------------------------------------------------------- a body whose coordinates all act on each other


@pytest.fixture(scope="module")
def frame():
    """A reduced body with 70 coordinates that turns any way, and a link at its end."""
    rng = np.random.default_rng(3)
    nodes = np.column_stack([np.linspace(0.0, 1.0, 16), 0.05 * np.cos(np.arange(16.0)), 0.05 * np.sin(np.arange(16.0))])
    size = 6 * len(nodes)
    M = np.diag(np.repeat(rng.uniform(0.5, 1.0, 2 * len(nodes)) * np.tile([1e-1, 1e-4], len(nodes)), 3))
    rigid = np.zeros((size, 6))
    for k, r in enumerate(nodes):
        rigid[6 * k : 6 * k + 6, :] = np.eye(6)
        rigid[6 * k : 6 * k + 3, 3:] = -np.cross(np.eye(3), r)
    spread = rng.normal(size=(size, size))
    stiff = spread @ spread.T * 1e3
    # rigid motions cost nothing
    keep = np.eye(size) - rigid @ np.linalg.pinv(rigid)
    K = keep.T @ stiff @ keep
    data = pliant.finite_elements((K + K.T) / 2, M, nodes).reduced([0], {"tip": [15]}, 64)
    links = [
        {"name": "frame", "joint": {"name": "j", "type": "spherical"}, "modal": data},
        {"name": "hand", "joint": {"name": "k", "axis": "y"}, "rigid": {"mass": 1.0, "com": [0.1, 0.0, 0.0]}},
    ]
    return Dynamics(pliant.Robot(name="frame", links=links))


def states(arm, count):
    rng = np.random.default_rng(7)
    return [rng.normal(size=(count, arm.size)) * scale for scale in (0.01, 0.5, 1.0)]


@pytest.mark.parametrize("algorithm", [FORWARD, INVERSE])
def test_a_dense_body_is_that_of_python(frame, algorithm):
    program = Program(algorithm, frame.tree)
    assert module_ir(program.traced, "single", 1)[0].count(LOOP) > 0
    inputs = states(frame, 9)
    evaluator = Evaluator(program)
    many = evaluator.batch(*inputs)
    names = algorithm.inputs
    for k in range(9):
        given = {name: x[k].tolist() for name, x in zip(names, inputs, strict=True)}
        plain = result(algorithm, run(algorithm, frame.tree, given))
        one = evaluator(*(x[k] for x in inputs))
        size = np.abs(plain).max()
        assert np.abs(one - plain).max() <= 1e-9 * size
        assert np.abs(many[k] - plain).max() <= 1e-9 * size


@pytest.mark.parametrize(("seed", "step"), [("q", 1e-6), ("v", 0.5)])
def test_derivatives_of_a_dense_body_are_quotients(frame, seed, step):
    given = dict(zip(INVERSE.inputs, (x[0] for x in states(frame, 1)), strict=True))
    slopes = Evaluator(Program(INVERSE, frame.tree, (seed,)))(*given.values())
    plain = Evaluator(Program(INVERSE, frame.tree))
    # what is left of digits in differences of large forces
    rounding = 1e-15 * np.abs(plain(*given.values())) / step
    for k in range(0, frame.size, 9):
        there, back = (
            plain(*(given | {seed: given[seed] + sign * step * np.eye(frame.size)[k]}).values()) for sign in (1, -1)
        )
        quotient = (there - back) / (2 * step)
        assert (np.abs(slopes[:, k] - quotient) <= 10 * rounding + 1e-7 * np.abs(quotient).max()).all()
