"""Text from tapes: expressions keep the order of operations, and compiled C equals the readable passes."""

import ctypes
import math
import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zoo
from pliant.algorithm import result, run
from pliant.dynamics import Dynamics
from pliant.engine.compile.c_code import (
    RESTRICT_DEFINED,
    c_function,
    comment,
    number,
    signature,
    stumpff_function,
    table,
)
from pliant.engine.compile.statements import (
    link_rows,
    stages,
    start_column,
    statements,
    stumpff_polynomial,
    stumpff_used,
)
from pliant.engine.trace.program import Address
from pliant.engine.trace.roller import rolled, whole
from pliant.engine.trace.tape import Node, Tape
from pliant.formulations.recursive.recursions import FORWARD, INVERSE
from pliant.spatial.scalars import stumpff

TOLERANCE = 1e-12
"""Of the largest entry: the same operations, but for contractions and the library's sine."""


# ---- statements

LEAVES = ("x", "y", "z")
EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from(LEAVES), st.floats(-3, 3).map(lambda x: round(x, 3))),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*/"), inner, inner),
        st.tuples(st.sampled_from(("neg", "sin", "cos")), inner),
    ),
    max_leaves=25,
)


def traced(tape, tree):
    """A tree of operations on a tape."""
    if isinstance(tree, str):
        return tape.symbol(tree)
    if isinstance(tree, float):
        return tree
    op, *parts = tree
    a, *rest = (traced(tape, part) for part in parts)
    if op == "neg":
        return -a
    if op in ("sin", "cos"):
        return getattr(a, op)() if type(a) is Node else getattr(math, op)(a)
    (b,) = rest
    if op == "/":
        # keep away from zero
        return a / (b * b + 1.5)
    return a + b if op == "+" else a - b if op == "-" else a * b


def replayed(tape, x, values):
    """The value of a node, one operation at a time."""
    done = []
    for i in range(len(tape.op)):
        op, a, b = tape.op[i], tape.a[i], tape.b[i]
        if op == "constant":
            done.append(a)
        elif op == "symbol":
            done.append(values[a])
        elif op == "negate":
            done.append(-done[a])
        elif op in ("sin", "cos"):
            done.append(getattr(math, op)(done[a]))
        else:
            p, q = done[a], done[b]
            done.append(p + q if op == "+" else p - q if op == "-" else p * q if op == "*" else p / q)
    return done[x.index] if type(x) is Node else float(x)


@settings(max_examples=100, deadline=None)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=3))
def test_statements_keep_every_bit(trees):
    """Parentheses in the right places: not one rounding differs from the tape's."""
    tape = Tape()
    results = [traced(tape, tree) for tree in trees]
    lines, values = statements(tape, results, str)
    numbers = {"x": 0.7316, "y": -1.273, "z": 2.113}
    scope = {**numbers, "sin": math.sin, "cos": math.cos}
    for each in lines:
        scope[each.name] = eval(each.expression, scope)
    assert [float(eval(value, scope)) for value in values] == [replayed(tape, x, numbers) for x in results]


def test_parentheses_only_where_they_matter():
    tape = Tape()
    x, y, z = map(tape.symbol, LEAVES)
    for value, text in [
        (x + y - z, "x + y - z"),
        (z + (x + y), "x + y + z"),
        (x - (y - z), "x - (y - z)"),
        (x * y * z, "x*y*z"),
        (x / (y * z), "x/(y*z)"),
        ((x + y) * z, "z*(x + y)"),
        (-(x * y), "-x*y"),
        (1.0 / x, "1.0/x"),
    ]:
        assert statements(tape, [value], str)[1] == [text]


def test_a_value_that_is_used_twice_gets_a_variable():
    tape = Tape()
    x, y = tape.symbol("x"), tape.symbol("y")
    common = x * y
    lines, values = statements(tape, [common + x, common - y, 0.0], str)
    assert [(each.name, each.expression) for each in lines] == [("t1", "x*y")]
    assert values == ["x + t1", "t1 - y", "0.0"]


def test_given_entries_are_inputs():
    tape = Tape()
    x, y = tape.symbol("x"), tape.symbol("y")
    inner = (x * y).sin()
    lines, values = statements(tape, [inner + y], str, given={inner.index: "saved"})
    assert (lines, values) == ([], ["y + saved"])


@pytest.mark.parametrize("k", [4, 5, 6, 9])
def test_stumpff_polynomial(k):
    for s in (0.0, 0.3, 4.0, 10.0):
        assert eval(stumpff_polynomial(k), {"s": s}) == pytest.approx(float(stumpff(k, s)), rel=1e-15)


# ---- the table of the links


@pytest.mark.parametrize("name", ["branches-exponential", "satellite", "rigid-tree", "rod-in-space"])
def test_rows_point_at_every_neighbour(name):
    tree = Dynamics(zoo.robot(name)).tree
    program = rolled(INVERSE, tree, ("a",))
    rows = link_rows(program)
    assert len({len(row) for row in rows}) == 1
    for i, row in enumerate(rows):
        roles = {"own": i, "parent": program.parents[i]}
        roles |= {f"child{k}": j for k, j in enumerate(program.children[i])}
        for role, j in roles.items():
            if j >= 0:
                assert row[start_column(program, "constants", role)] == program.constant_start[j]
                assert row[start_column(program, "q", role)] == program.coordinate_start[j]
                assert row[start_column(program, "da", role)] == program.coordinate_start[j]
                assert row[start_column(program, "dstore", role)] == program.record_start[j]
        assert row[start_column(program, "dout", "own")] == program.output_start[i]
        assert row[: len(program.passes)] == [each.kernel_of[i] for each in program.passes]


def test_values_run_once_and_tangents_in_each_direction():
    program = rolled(INVERSE, Dynamics(zoo.robot("clamped-free")).tree, ("a",))
    once, each_direction = stages(program)
    for group, tangent in ((once, False), (each_direction, True)):
        for task in (task for stage in group for task in stage.tasks if task is not None):
            assert all(address.is_tangent == tangent for address, _ in task.results)
    assert each_direction


# ---- C


def test_pieces_of_c():
    assert comment("a */ b /* c\n??/ \\") == "a * / b / * c ? ?/ "
    assert float(number(0.1)) == 0.1
    assert number(3) == "3.0"
    assert table("static const int x[2]", ["1", "2"]) == "static const int x[2] = {\n    1, 2,\n};\n"
    long = signature("void f", [f"const double *argument_number_{i}" for i in range(9)])
    assert max(map(len, long.splitlines())) <= 100
    assert re.sub(r"\s+", " ", long).count("const double *argument") == 9


@pytest.fixture(scope="module")
def compiler():
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found is None:
        pytest.skip("no C compiler (cc, gcc or clang) on the path")
    return found


@pytest.mark.parametrize("algorithm", [FORWARD, INVERSE], ids=lambda a: a.name)
@pytest.mark.parametrize("make", [rolled, whole], ids=lambda f: f.__name__)
def test_compiled_c_equals_the_passes_on_floats(compiler, tmp_path, algorithm, make):
    arm = Dynamics(zoo.robot("pinned"))
    program = make(algorithm, arm.tree)
    function = c_function(program, "f", algorithm.inputs, "result", defaults="defaults")
    values = [*arm.tree.gravity.tolist(), *program.constants]
    kernels = [kernel for each in program.passes for kernel in each.kernels]
    parts = ["#include <math.h>\n", RESTRICT_DEFINED, f"{function.prototype};\n"]
    parts += [table(f"static const double defaults[{len(values)}]", map(number, values))]
    parts += [stumpff_function(k) for k in stumpff_used(kernels)]
    (tmp_path / "f.c").write_text("\n".join([*parts, function.text]))
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fPIC", "-shared"]
    command = [compiler, *flags, "-o", tmp_path / "f.so", tmp_path / "f.c", "-lm"]
    subprocess.run(command, check=True, timeout=300)
    q, v, a = zoo.state(arm)
    out, work = np.zeros(arm.size), np.full(max(1, function.workspace), np.nan)
    arrays = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, a, out, work)]
    ctypes.CDLL(str(tmp_path / "f.so")).f(*arrays, None)
    inputs = dict(zip(algorithm.inputs, (q, v, a), strict=True))
    reference = np.array(result(algorithm, run(algorithm, arm.tree, inputs)), dtype=float)
    assert np.abs(out - reference).max() < TOLERANCE * np.abs(reference).max()


def test_a_function_that_needs_nothing_still_takes_its_arguments():
    """An input that does not matter is no warning."""
    tape = Tape()
    x = tape.symbol(Address("q", "own", 0))
    program = whole(INVERSE, Dynamics(zoo.robot("rigid-1")).tree)
    program.passes[0].kernels[0].tape = tape
    program.passes[0].kernels[0].outputs = [x * x, 0.0]
    text = c_function(program, "f", ("q", "v"), "out", defaults="d").text
    assert "(void)v;" in text
    assert "(void)workspace;" in text
    assert "(void)parameters;" in text
