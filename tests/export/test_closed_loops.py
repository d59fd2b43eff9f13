"""Robots with closed loops: their forward dynamics leaves the program as C and as plain Python."""

import numpy as np
import pytest

from pliant.export import generate_python

TOLERANCE = 1e-12
"""Of the largest entry, as for trees."""

CLOSED = ("dualemps", "five-bar")


def closed_state(arm):
    """A state in which the loops are closed, at position and rate."""
    q = arm.assemble()
    rng = np.random.default_rng(4)
    q, v = arm.project(q, 0.05 * rng.standard_normal(arm.size))
    return q, v, arm.B @ np.linspace(-1.0, 1.0, len(arm.inputs))


@pytest.mark.parametrize("name", CLOSED)
def test_c_equals_the_engine(arm, build, error, name):
    robot = arm(name)
    q, v, f = closed_state(robot)
    c = build(robot)
    assert error(c("forward", (robot.size,), q, v, f), robot.forward(q, v, force=f)) < TOLERANCE


@pytest.mark.parametrize("name", CLOSED)
def test_python_equals_the_engine(arm, error, tmp_path, name):
    robot = arm(name)
    q, v, f = closed_state(robot)
    scope = {"__name__": "exported"}
    exec(generate_python(robot, tmp_path / "arm.py").read_text(), scope)
    found = scope["forward"](q.tolist(), v.tolist(), f.tolist())
    assert error(found, robot.forward(q, v, force=f)) < TOLERANCE


def test_other_functions_are_refused(arm, tmp_path):
    with pytest.raises(ValueError, match=r"closed loops \('closure'\).*not energy, bias"):
        generate_python(arm("dualemps"), tmp_path / "arm.py", ("energy", "bias", "forward"))
