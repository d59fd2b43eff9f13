"""Long tapes in which operations come again and again: loops give what the operations give one after the other."""

import ctypes
import random
from itertools import pairwise

import numpy as np
import pytest

import pliant
from compiled_tapes import evaluated, traced
from pliant.algorithm import result, run
from pliant.dynamics import Dynamics
from pliant.engine.call.evaluator import BufferLayout, Evaluator, Program, aligned
from pliant.engine.compile import jit
from pliant.engine.compile.module import module_ir
from pliant.engine.compile.repeats import _runs, operands
from pliant.engine.trace.program import Address
from pliant.engine.trace.roller import one_kernel
from pliant.engine.trace.tape import Tape, tangents
from pliant.formulations.recursive.recursions import FORWARD, INVERSE

TOLERANCE = 1e-10
"""Of the largest entry: the same operations, contracted differently."""
LOOP = "%k = phi i64"
TABLE = "_places = private"


@pytest.fixture
def loops_at_once(monkeypatch):
    """Loops in tapes that would be straight, from few turns on."""
    monkeypatch.setattr("pliant.engine.compile.tape_pieces.LONG", 60)
    monkeypatch.setattr("pliant.engine.compile.tape_pieces.PIECE", 25)
    monkeypatch.setattr("pliant.engine.compile.repeats.LEAST", 4)
    monkeypatch.setattr("pliant.engine.compile.repeats.SHORTEST", 4)
    monkeypatch.setattr("pliant.engine.compile.repeats.WORTHWHILE", 0.0)


def close(left, right, tolerance=TOLERANCE):
    left, right = np.asarray(left), np.asarray(right)
    assert left.shape == right.shape
    return np.abs(left - right).max() <= tolerance * np.abs(right).max()


# ---------------------------------------------------------------- tapes


def chain(q):
    """Each of the one before it and of the third before it; the first is a factor of all."""
    x = q[:3]
    for k in range(3, len(q)):
        x.append(q[0] * x[-1] - q[k] * x[-3])
    return x


def there_and_back(q):
    """The last first, of what was found before."""
    x = [q[0]]
    for a in q[1:]:
        x.append(x[-1] * 0.5 + a * a)
    back = [x[-1]]
    for a in reversed(x):
        back.append(a - back[-1] * 0.25)
    return back[::-1]


def two_of_a_kind(q):
    """Two that take turns: one period has both."""
    even, odd = [q[0]], [q[1]]
    for a, b in zip(q[2::2], q[3::2], strict=True):
        even.append(even[-1] + a * b)
        odd.append(odd[-1] + b * even[-1])
    return [x for pair in zip(odd, even, strict=True) for x in pair]


def sums(q):
    """Only the last of a sum is wanted, and one in its middle."""
    total, middle = 0.0, 0.0
    for k, x in enumerate(q):
        total = total + x * x
        middle = total if k == len(q) // 2 else middle
    return [total, middle, middle * q[0]]


def products(q):
    """Results in an order that is no order."""
    x = [a * b - b / q[0] for a, b in pairwise(q)]
    random.Random(1).shuffle(x)
    return x


def with_functions(q):
    """Sines between stretches, of sums in pieces and loops."""
    total = q[0]
    out = []
    for x in q:
        total = total * 0.9 + x
        out.append(total - x * x)
    turned = [pliant.spatial.scalars.sin(x) for x in out[::9]]
    return [x * y for x in turned for y in q]


def irregular_sum(q):
    """A sum over places in no order, of which one lies in what the sum has stored."""
    dice = random.Random(2)
    squares = [x * x for x in q]
    total = [q[0]]
    for _ in q:
        total.append(total[-1] * 0.5 + dice.choice(q) * dice.choice(squares))
    return [total[-1] - x for x in total]


def missing_terms(q):
    """Each of some that were found before, all from turns long past or from outside."""
    dice = random.Random(3)
    x = [a * q[1] for a in q]
    for a in q:
        x.append(dice.choice(x[:-8]) - a * dice.choice(x[: len(q)]))
    return x


@pytest.mark.parametrize(
    "function",
    [chain, there_and_back, two_of_a_kind, sums, products, with_functions, irregular_sum, missing_terms],
)
def test_loops_are_what_they_stand_for(function, loops_at_once):
    ours, text, plain = evaluated(function, 64)
    assert LOOP in text
    assert (TABLE in text) == (function in (irregular_sum, missing_terms))
    assert close(ours, plain)


@pytest.mark.parametrize("number", range(12))
def test_loops_of_random_steps(number, loops_at_once):
    """Rounds of operations on what is near or far away: whatever is found to repeat, the result is the same."""
    dice = random.Random(number)
    rounds = []
    for _ in range(4):
        steps = [(dice.choice("+-*"), dice.randint(1, 9), dice.randint(1, 40)) for _ in range(dice.randint(1, 6))]
        rounds.append((steps, dice.randint(6, 20)))

    def function(q):
        x = list(q)
        for steps, times in rounds:
            for _ in range(times):
                for op, near, far in steps:
                    a, b = x[-near], x[-far]
                    x.append(0.5 * a + 0.5 * b if op == "+" else 0.5 * (a - b) if op == "-" else a * b)
        return x[len(q) :]

    ours, text, plain = evaluated(function, 41)
    assert LOOP in text
    assert close(ours, plain)


def random_rounds(number):
    """A function of repeated steps whose operands stay, move on, move back, or lie anywhere; some turns leave one out.

    What is at hand (of this turn or the one before) mostly stays so, as in sums.
    """
    dice = random.Random(number)
    rounds = []
    for _ in range(dice.randint(2, 5)):
        steps = [
            (dice.choice("+-*"), [(dice.choice(KINDS), dice.randint(1, 9), dice.randint(-4, 4)) for _ in range(2)])
            for _ in range(dice.randint(1, 5))
        ]
        rounds.append((steps, dice.randint(4, 24), dice.random() < 0.2))
    wanted = dice.random()

    def function(q):
        dice = random.Random(number)
        x = list(q)
        for steps, times, gaps in rounds:
            start = len(x)
            for turn in range(times):
                for op, (left, right) in steps:
                    a, b = (_taken(x, start, turn, dice, *each) for each in (left, right))
                    if not (gaps and dice.random() < 0.1):
                        x.append(0.5 * a + 0.5 * b if op == "+" else 0.5 * (a - b) if op == "-" else a * b)
        # some of them, some twice, in an order of their own or in theirs
        own = [y for y in x[len(q) :] if dice.random() < wanted]
        own += [dice.choice(x) for _ in range(9)]
        if number % 2:
            dice.shuffle(own)
        return own

    return function


KINDS = ("near", "near", "steady", "steady", "back", "anywhere", "fixed")


def _taken(x, start, turn, dice, kind, near, step):
    """An operand of a step, of what there is."""
    if kind == "near":
        return x[-near]
    if kind == "steady":
        return x[(near + abs(step) * turn) % start]
    if kind == "back":
        return x[(start - near - abs(step) * turn) % start]
    return dice.choice(x[:-4]) if kind == "anywhere" else x[start - near]


@pytest.mark.parametrize("number", range(40))
def test_random_rounds_in_scalars_and_lanes(number, loops_at_once):
    """One state, and lanes of tangents, where values that directions do not move are scalars among vectors."""
    n = 23
    function = random_rounds(number)
    ours, _, plain = evaluated(function, n)
    assert close(ours, plain)
    program = traced(function, n)
    tape = program.passes[0].kernels[0].tape
    # every third number moves
    seeds = {
        i: tape.symbol(tape.a[i]._replace(array="dq"))
        for i in range(len(tape.op))
        if tape.op[i] == "symbol" and tape.a[i].index % 3 == 0
    }
    outputs = tangents(program.passes[0].kernels[0].outputs, seeds)
    moved = one_kernel("several", ("q",), tape, outputs, [], n, ("q",))
    columns = jacobian(moved, n)
    for k in range(0, n, 3):
        q = np.cos(np.arange(1.0, n + 1)) + 1e-30j * np.eye(n)[k]
        assert close(columns[:, k], np.array(function(q.tolist())).imag / 1e-30)


def jacobian(program, n):
    """The tangents of a program of one kernel along all directions."""
    lanes = jit.lanes()
    text, entry = module_ir(program, "jacobian", lanes)
    code = jit.LoadedCode(jit.machine_code(text))
    layout = BufferLayout.of(program, entry)
    width = -(-n // lanes) * lanes
    q = np.cos(np.arange(1.0, n + 1))
    units = np.zeros((2 * n + lanes, lanes))
    units[n : n + lanes] = np.eye(lanes)
    nothing = aligned(lanes)
    matrix = aligned(program.outputs * width)
    owners, still = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
    arrays = (
        *(nothing, nothing, q, units, nothing, nothing, aligned(max(program.saved_size, 1))),
        *(aligned(program.outputs * lanes), layout.table),
    )
    context = [*(a.ctypes.data for a in arrays), len(layout.table)]
    context += [*(a.ctypes.data for a in (owners, still, matrix)), n, program.outputs]
    told = np.array(context, dtype=np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(entry))(told.ctypes.data)
    return matrix.reshape(program.outputs, width)[:, :n]


def test_a_stretch_is_cut_where_least_is_handed_on():
    """A sum of products, three operations in a turn: between two turns only the sum is handed on."""
    tape = Tape()
    total = tape.symbol(Address("q", "own", 0))
    for k in range(1, 30):
        x = tape.symbol(Address("q", "own", k))
        total = total + (x * x) * x
    entries = [i for i in range(len(tape.op)) if tape.op[i] != "symbol"]
    # from within a turn on
    tokens = np.array([0, 1, 2] * 29)[1:]
    found = operands(tape, entries[1:], {})
    (own,) = _runs(tokens, found)
    assert own.period == 3
    assert (own.start + 1) % 3 == 0


# ---------------------------------------------------------------- robots


def girder(elements=10):
    """A beam of many elements whose section changes, with a link that it carries."""
    thick, thin = ({"rectangle": {"width": 0.02, "height": height}} for height in (0.04, 0.02))
    bar = {"material": "aluminium", "segments": [{"length": 1.0, "section": thick, "taper_to": thin}]}
    links = [
        {
            "name": "arm",
            "joint": {"name": "root", "axis": "z"},
            "beam": {**bar, "elements": {"number": elements, "bend_y": True, "bend_z": False}},
        },
        {
            "name": "hand",
            "joint": {"name": "hinge", "axis": "y"},
            "rigid": {"mass": 0.3, "com": [0.1, 0.0, 0.0], "inertia": [1e-3, 2e-3, 2e-3]},
        },
    ]
    return pliant.Robot(name="girder", links=links)


@pytest.fixture
def arm(loops_at_once, monkeypatch, tmp_path):
    monkeypatch.setattr("pliant.engine.trace.structure.LONG_LIST", 10)
    monkeypatch.setattr("pliant.engine.trace.known_patterns.LONG_LIST", 10)
    monkeypatch.setattr("pliant.engine.call.evaluator._RECENT", {})
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    return Dynamics(girder())


def state(arm, number):
    dice = np.random.default_rng(number)
    return {
        name: scale * dice.standard_normal(arm.size) for name, scale in (("q", 0.1), ("v", 1.0), ("a", 1.0), ("f", 1.0))
    }


@pytest.mark.parametrize("algorithm", [FORWARD, INVERSE], ids=lambda each: each.name)
def test_elements_in_loops(algorithm, arm):
    """One state, lanes of states and lanes of tangents, against the passes on plain numbers and on complex ones."""
    several = [{name: state(arm, number)[name] for name in algorithm.inputs} for number in range(5)]

    def plain(inputs):
        return np.array(result(algorithm, run(algorithm, arm.tree, {k: x.tolist() for k, x in inputs.items()})))

    program, tangents = Program(algorithm, arm.tree), Program(algorithm, arm.tree, ("q",))
    for each, mode in ((program, "single"), (program, "batch"), (tangents, "jacobian")):
        assert module_ir(each.traced, mode, jit.lanes())[0].count(LOOP) > 5
    expected = np.array([plain(inputs) for inputs in several])
    ours = Evaluator(program)
    assert close(ours(*several[0].values()), expected[0])
    assert close(ours.batch(*(np.array([x[name] for x in several]) for name in algorithm.inputs)), expected)
    columns = Evaluator(tangents)(*several[0].values())
    for k in (0, 1, arm.size // 2, arm.size - 1):
        moved = {**several[0], "q": several[0]["q"] + 1e-30j * np.eye(arm.size)[k]}
        assert close(columns[:, k], plain(moved).imag / 1e-30)
