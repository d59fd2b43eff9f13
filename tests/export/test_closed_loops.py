"""Robots with closed loops: their forward dynamics leaves the program as C and as plain Python."""

import ctypes

import numpy as np
import pytest

from pliant.export import generate_python, parameters

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


def test_what_a_robot_has_not_is_refused(arm, tmp_path):
    with pytest.raises(ValueError, match=r"'canadarm' has no closed loops, so there is no assemble"):
        generate_python(arm("canadarm"), tmp_path / "arm.py", ("forward", "assemble"))
    with pytest.raises(ValueError, match=r"motors that also bend links \(pinned shapes\).*efforts"):
        generate_python(arm("lin-lewis-one-link"), tmp_path / "arm.py", ("efforts",))
    with pytest.raises(ValueError, match=r"has derivatives by q, v, f, p, not by a"):
        generate_python(arm("canadarm"), tmp_path / "arm.py", ("forward_by_a",))
    with pytest.raises(ValueError, match="no function 'assemble_by_q'"):
        generate_python(arm("five-bar"), tmp_path / "arm.py", ("assemble_by_q",))


def test_loops_that_cannot_close_are_told(arm, build, tmp_path):
    """Pins too far apart: the code says so; a guess far away is closed by shorter steps."""
    robot = arm("four-bar-rigid")
    far = np.array(parameters(robot.set("rocker.joint.placement.position", [2.0, 0.0, 0.0])))
    c = build(robot, "assemble", "project")
    q, n = robot.assemble(), robot.size
    lost = np.where(np.arange(n) == 1, np.nan, q)

    def status(function, *inputs, given=None):
        arrays = [np.ascontiguousarray(x) for x in (*inputs, np.zeros(2 * n), c.workspace())]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in arrays]
        return getattr(c.library, f"arm_{function}")(*pointers, given)

    pointer = ctypes.c_void_p(far.ctypes.data)
    assert status("assemble", q, given=pointer) == -1
    assert status("project", q, np.zeros(n), given=pointer) == -1
    assert status("assemble", lost) == -1
    away = q + [0.0, 1.2, -0.9]
    assert status("assemble", away) > 3
    closed = c("assemble", n, away)
    assert closed[0] == away[0]
    assert np.abs(robot.closure(closed)).max() < 1e-12
    scope = {"__name__": "exported"}
    exec(generate_python(robot, tmp_path / "arm.py", ("assemble",)).read_text(), scope)
    assert np.abs(np.subtract(scope["assemble"](away.tolist()), closed)).max() < 1e-12
    with pytest.raises(ValueError, match="the loops stay open by"):
        scope["assemble"](q.tolist(), far.tolist())
