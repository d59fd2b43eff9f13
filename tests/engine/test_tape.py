"""Tracing: a traced expression is the float expression, folded as promised, with exact tangents."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.dynamics import Dynamics
from pliant.engine.trace.tape import BINARY, STUMPFF, Node, Operations, Tape, count, live, tangents
from pliant.spatial import scalars
from zoo import Joint, Link, Modes, Placement, RigidPart, Robot, Rotation, beam

ROUNDING = 1e-11
"""Folding changes the order of a few operations; sums may cancel, hence also absolute."""

STEP = 1e-30
SYMBOLS = ("x", "y", "z")


def replay(outputs, values):
    """Evaluate traced outputs on numbers, operation by operation."""
    tapes = [out.tape for out in outputs if type(out) is Node]
    found = {}
    for i in live(outputs):
        tape = tapes[0]
        op, a = tape.op[i], tape.a[i]
        if op == "constant":
            found[i] = a
        elif op == "symbol":
            found[i] = values[a]
        elif op in BINARY:
            left, right = found[a], found[tape.b[i]]
            found[i] = {"+": left + right, "-": left - right, "*": left * right}.get(op)
            if op == "/":
                found[i] = left / right
        elif op == "negate":
            found[i] = -found[a]
        elif op.startswith(STUMPFF):
            found[i] = scalars.stumpff(int(op.removeprefix(STUMPFF)), found[a])
        else:
            found[i] = getattr(np, op)(found[a])
    return [found[out.index] if type(out) is Node else out for out in outputs]


# expressions as functions of (x, y, z), on whatever scalars: floats, complex numbers, traced ones
leaves = st.one_of(
    st.sampled_from(range(3)).map(lambda k: lambda *s: s[k]),
    st.sampled_from([0.0, 1.0, -1.0, 2.0, -0.5, 3.0]).map(lambda c: lambda *s: c),
)


def combine(children):
    pair = st.tuples(children, children)
    return st.one_of(
        pair.map(lambda p: lambda *s: p[0](*s) + p[1](*s)),
        pair.map(lambda p: lambda *s: p[0](*s) - p[1](*s)),
        pair.map(lambda p: lambda *s: p[0](*s) * p[1](*s)),
        # a divisor that cannot vanish
        pair.map(lambda p: lambda *s: p[0](*s) / (2.0 + scalars.sin(p[1](*s)))),
        children.map(lambda f: lambda *s: -f(*s)),
        children.map(lambda f: lambda *s: scalars.sin(f(*s))),
        children.map(lambda f: lambda *s: scalars.cos(f(*s))),
        children.map(lambda f: lambda *s: scalars.tanh(f(*s))),
        children.map(lambda f: lambda *s: scalars.sqrt(1.5 + scalars.cos(f(*s)))),
        children.map(lambda f: lambda *s: scalars.stumpff(4, scalars.sin(f(*s)))),
    )


expressions = st.recursive(leaves, combine, max_leaves=12)
numbers = st.tuples(*[st.floats(-2.0, 2.0)] * 3)


def trace(*functions):
    tape = Tape()
    symbols = [tape.symbol(name) for name in SYMBOLS]
    return tape, symbols, [f(*symbols) for f in functions]


@given(f=expressions, g=expressions, values=numbers)
@settings(max_examples=50, deadline=None)
def test_a_traced_expression_is_the_float_expression(f, g, values):
    _, _, outputs = trace(f, g)
    found = replay(outputs, dict(zip(SYMBOLS, values, strict=True)))
    for ours, function in zip(found, (f, g), strict=True):
        wanted = function(*values)
        assert ours == pytest.approx(wanted, rel=ROUNDING, abs=ROUNDING)


@given(f=expressions, values=numbers, direction=numbers)
@settings(max_examples=50, deadline=None)
def test_tangents_are_the_derivatives(f, values, direction):
    tape, symbols, outputs = trace(f)
    seeds = {s.index: tape.symbol(f"d{name}") for s, name in zip(symbols, SYMBOLS, strict=True)}
    rates = dict(zip((f"d{name}" for name in SYMBOLS), direction, strict=True))
    (ours,) = replay(tangents(outputs, seeds), dict(zip(SYMBOLS, values, strict=True)) | rates)
    stepped = f(*(x + 1j * STEP * d for x, d in zip(values, direction, strict=True)))
    wanted = np.imag(stepped) / STEP
    assert ours == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@given(f=expressions)
@settings(max_examples=50, deadline=None)
def test_no_operation_is_done_twice(f):
    """Tracing the same expression again adds nothing to the tape."""
    tape, symbols, outputs = trace(f, f)
    assert outputs[0] is outputs[1] or outputs[0] == outputs[1]
    length = len(tape.op)
    f(*symbols)
    assert len(tape.op) == length


def folded(expression):
    """(expression on symbols, the symbols)."""
    _, symbols, (out,) = trace(expression)
    return out, symbols


@pytest.mark.parametrize(
    ("expression", "is_symbol"),
    [
        (lambda x, y, z: x + 0.0, 0),
        (lambda x, y, z: 0 + x, 0),
        (lambda x, y, z: x - 0.0, 0),
        (lambda x, y, z: x * 1.0, 0),
        (lambda x, y, z: 1 * x, 0),
        (lambda x, y, z: x / 1.0, 0),
        (lambda x, y, z: 0.0 - (-x), 0),
        (lambda x, y, z: (-1.0) * (-x), 0),
    ],
)
def test_neutral_elements_vanish(expression, is_symbol):
    out, symbols = folded(expression)
    assert out is symbols[is_symbol]


@pytest.mark.parametrize(
    "expression",
    [
        lambda x, y, z: x * 0.0,
        lambda x, y, z: 0 * x,
        lambda x, y, z: 0.0 / x,
        lambda x, y, z: x - x,
        lambda x, y, z: x * y - y * x,
        lambda x, y, z: 0.0 * (x + y),
    ],
)
def test_structural_zeros_are_plain_zeros(expression):
    out, _ = folded(expression)
    assert type(out) is float
    assert out == 0.0


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (lambda x, y, z: x + y, lambda x, y, z: y + x),
        (lambda x, y, z: x * y, lambda x, y, z: (-x) * (-y)),
        (lambda x, y, z: x / y, lambda x, y, z: (-x) / (-y)),
        (lambda x, y, z: x - y, lambda x, y, z: -(y - x)),
        (lambda x, y, z: x - y, lambda x, y, z: (-y) - (-x)),
        (lambda x, y, z: x + (-y), lambda x, y, z: x - y),
        (lambda x, y, z: 6.0 * x, lambda x, y, z: 2.0 * (3.0 * x)),
        (lambda x, y, z: -(2.0 * x), lambda x, y, z: (-2.0) * x),
        (lambda x, y, z: 0.5 * x, lambda x, y, z: x / 2.0),
        (lambda x, y, z: scalars.cos(-x), lambda x, y, z: scalars.cos(x)),
        (lambda x, y, z: scalars.sin(-x), lambda x, y, z: -scalars.sin(x)),
        (lambda x, y, z: scalars.tanh(-x), lambda x, y, z: -scalars.tanh(x)),
    ],
)
def test_equal_expressions_are_one_entry(left, right):
    _, _, (a, b) = trace(left, right)
    assert a is b


def test_signs_are_free_and_dead_code_does_not_count():
    tape, (x, y, z), _ = trace(lambda x, y, z: x)
    out = -(x * y) - z / x
    _ = scalars.sin(x) + y  # nobody asks for this
    assert count([out]) == Operations(additions=1, multiplications=1, divisions=1, functions=0, variables=3)
    assert all(tape.op[i] not in ("sin",) for i in live([out]))
    assert count([1.0, 0.0]) == Operations()


def test_reciprocals_stay_reciprocals():
    """Several products with one reciprocal: one division."""
    _, _, outputs = trace(lambda x, y, z: y * (1.0 / x), lambda x, y, z: z * (1.0 / x))
    assert count(outputs).divisions == 1


def test_a_division_by_a_structural_zero_is_an_error():
    with pytest.raises(ZeroDivisionError):
        trace(lambda x, y, z: x / 0.0)


def test_counts_add_up():
    a, b = Operations(1, 2, 3, 4, 5), Operations(10, 20, 30, 40, 50)
    assert a + b == Operations(11, 22, 33, 44, 55)
    assert a.total == 6
    assert "2 multiplications, 1 additions, 3 divisions" in str(a)


# ---------------------------------------------------------------- counts of forward dynamics

MOST_MULTIPLICATIONS, MOST_ADDITIONS = 5600, 4900
"""Acceptance for eight spatial links with 2 + 2 modes; Mohan & Saha print 9874 and 7699."""


def spatial_chain(n, normalise):
    """Clamped-free beams of different lengths, general twists, loaded tips, gravity along no joint axis."""
    rng = np.random.default_rng(8)
    links = []
    for i in range(n):
        twist = Placement(rotation=Rotation(x=float(rng.uniform(0.3, 1.3))))
        links.append(
            Link(
                name=f"l{i}",
                joint=Joint(name=f"j{i}", axis="z", placement=twist),
                beam=beam(0.9 + 0.013 * i, modes=Modes(shape="clamped-free", bend_y=2, bend_z=2, normalise=normalise)),
                payloads=(RigidPart(mass=0.2 + 0.01 * i, frame="tip"),),
            )
        )
    return Dynamics(Robot(name="spatial-chain", links=links), compile="never")


def test_forward_dynamics_of_eight_links_is_cheap():
    """With modes of unit tip value, as in the prototype whose figures were set as the goal."""
    found = spatial_chain(8, "tip").operations("forward")
    assert found.multiplications <= MOST_MULTIPLICATIONS
    assert found.additions <= MOST_ADDITIONS


def test_tip_values_other_than_one_cost_a_few_products():
    """The same in total with modes normalised to the mass of the beam: 4 % more products, fewer sums."""
    found = spatial_chain(8, "mass").operations("forward")
    assert found.multiplications + found.additions <= MOST_MULTIPLICATIONS + MOST_ADDITIONS


def test_operations_grow_linearly():
    totals = [spatial_chain(n, "tip").operations("forward").total for n in (3, 5, 7)]
    assert totals[2] - totals[1] == pytest.approx(totals[1] - totals[0], rel=0.01)
