"""Listings: readable, complete, without dead variables, and right when they are run."""

import math
import re
import subprocess

import numpy as np
import pytest

from pliant import Dynamics
from pliant.export import FUNCTIONS, generate_listing, listing

TOLERANCE = 1e-12
"""Of the largest entry: the same operations, but for the engine's fused multiply-adds and its sine."""

INDEX = re.compile(r"\b([qvafhMJ]|energies|poses)\((\d+)\)")
ASSIGNMENT = re.compile(r"^    (\w+) = (.*)$")


def run(text, function, inputs):
    """Run a Python listing."""
    scope = {}
    exec(text, scope)
    return scope[function](*inputs)


def from_matlab(text):
    """A Matlab listing as Python: only comments, brackets of indices and the ends of functions differ."""
    out = []
    for line in text.splitlines():
        line = line.partition("%")[0].rstrip().rstrip(";")
        head = re.match(r"function (\w+) = (\w+)\((.*)\)$", line)
        if head:
            result, name, arguments = head.groups()
            out.append(f"def {name}({arguments}):")
        elif line == "end":
            out.append(f"    return {result}")
        else:
            line = re.sub(r"zeros\((\d+), 1\)", r"[0.0]*\1", line)
            out.append(INDEX.sub(lambda m: f"{m[1]}[{int(m[2]) - 1}]", line))
    return "from math import sin, cos, sqrt, tanh\n" + "\n".join(out)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ["lin-lewis-rfr", "six-dof", "branches-exponential", "drives", "fixed"])
def test_python_and_matlab_equal_the_engine(arm, expected, error, name, function):
    inputs, out = expected(arm(name), function)
    for text in (
        listing(arm(name), function, language="python"),
        from_matlab(listing(arm(name), function, language="matlab")),
    ):
        assert error(run(text, function, inputs), out) < TOLERANCE


@pytest.mark.parametrize("function", FUNCTIONS)
def test_c_compiles_without_warnings(arm, compiler, tmp_path, function):
    path = generate_listing(arm("six-dof"), tmp_path / "model.c", function)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "-o", tmp_path / "model.o"]
    subprocess.run([compiler, *flags, path], check=True, timeout=120)


@pytest.mark.parametrize("function", ["forward", "inverse"])
def test_operator_count(arm, function):
    """The count at the top is that of the lines below, signs left out as in the published counts."""
    robot = arm("seven-joint-arm")
    text = listing(robot, function, language="python")
    # the head counts the variables that it writes; a tape has those of signs too
    assert str(robot.operations(function)).rpartition(", ")[0] in text
    body = text[text.index(f"def {function}") :]
    code = [re.sub(r"e[+-]\d+", "", line.partition("#")[0]) for line in body.splitlines()]
    # nothing is multiplied in the lines that only name inputs and parameters
    products = sum(line.count("*") for line in code if "[0.0]*" not in line)
    assert products == robot.operations(function).multiplications
    assert sum(line.count("/") for line in code) == robot.operations(function).divisions


@pytest.mark.parametrize("function", ["forward", "mass_matrix"])
def test_no_dead_variables_and_nothing_undefined(arm, function):
    text = listing(arm("seven-joint-arm"), function, language="python")
    body = text[text.index(f"def {function}") :].splitlines()
    defined, used = {}, set()
    for line in body:
        line = line.partition("  #")[0]
        match = ASSIGNMENT.match(line)
        right = match[2] if match else line.partition(" = ")[2] or line
        names = {name for name in re.findall(r"(?<![\w.])[A-Za-z_]\w*", right) if not hasattr(math, name)}
        if match and match[1] not in "aM":
            unknown = {name for name in names if name not in defined} - set("qvfaM")
            assert not {name for name in unknown if not name.startswith("stumpff")}, line
            assert match[1] not in defined, f"{match[1]} is assigned twice"
            defined[match[1]] = True
        used |= names
    assert not set(defined) - used


def test_readable_names(arm):
    text = listing(arm("two-link-flexible"), "forward", language="c")
    assert "const double q_shoulder = q[0];" in text
    assert "cos_q_elbow = cos(q_elbow);" in text
    assert "/* articulate: forearm */" in text
    assert "a[0] = " in text
    assert "/* shoulder */" in text


def test_endings_choose_the_language(arm, tmp_path):
    starts = {"m.c": "/*", "m.py": "#", "m.m": "%"}
    for name, start in starts.items():
        assert generate_listing(arm("lin-lewis-rfr"), tmp_path / name).read_text().startswith(start)
    with pytest.raises(ValueError, match=r"must end in .c or .py or .m"):
        generate_listing(arm("lin-lewis-rfr"), tmp_path / "m.txt")
    with pytest.raises(ValueError, match="language is 'fortran'"):
        listing(arm("lin-lewis-rfr"), language="fortran")
    with pytest.raises(ValueError, match="no function 'backward'"):
        listing(arm("lin-lewis-rfr"), "backward")


def test_equal_words_stay_apart(arm):
    """Names that differ only in characters no language allows."""
    robot = arm("lin-lewis-rfr").robot
    names = ("arm-1", "arm+1", "arm_1")
    parents = dict(zip((link.name for link in robot.links), names, strict=True))
    links = []
    for link, name in zip(robot.links, names, strict=True):
        parent, frame = robot.parent_of(link.name)
        joint = link.joint.with_changes(
            name=f"{name}-joint", parent="base" if parent == "base" else f"{parents[parent]}.{frame}"
        )
        links.append(link.with_changes(name=name, joint=joint))
    from pliant.dynamics import Dynamics

    other = Dynamics(robot.with_changes(links=links, pose={}))
    q, v, f = np.random.default_rng(2).normal(size=(3, other.size))
    found = run(listing(other, language="python"), "forward", (q, v, f))
    assert np.allclose(found, other.forward(q, v, force=f), rtol=1e-9)


def test_the_head_counts_the_variables_that_are_assigned():
    text = listing(Dynamics("dualemps", compile="never"), language="python")
    told = int(re.search(r"(\d+) intermediate variables", text)[1])
    # inputs and parameters stand before the first empty line after them
    lines = text[text.index("# parameters") : text.index("# results")].splitlines()
    assert told == sum(" = " in line for line in lines[lines.index("") :])
