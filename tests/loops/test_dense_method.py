"""Method dense with closed loops: the whole mass matrix with multipliers, against the elimination by links."""

import numpy as np
import pytest

import pliant
from closed_robots import bent_four_bar, four_bar, state
from pliant import MethodError
from pliant.drives.given import GivenTorque
from pliant.dynamics import Dynamics
from pliant.simulation.run import run_study
from pliant.simulation.study import Study
from random_loops import random_robot

AGREES = 1e-9
"""Of the largest scaled acceleration: mass matrices of stiff chains have condition numbers of 1e6."""

ROBOTS = {
    "four-bar": four_bar,
    "bent": bent_four_bar,
    "massless pivot": lambda: pliant.load("dualemps"),
    "in space": lambda: pliant.load("three-prs"),
    **{f"random {seed}": lambda seed=seed: random_robot(seed) for seed in (3, 12, 33)},
}


@pytest.mark.parametrize("name", ROBOTS)
def test_it_moves_as_the_recursion_says(name):
    robot = ROBOTS[name]()
    recursive, dense = (Dynamics(robot, method=method, compile="never") for method in ("recursive", "dense"))
    q, v = state(recursive, size=1e-3, speed=0.1)
    f = np.random.default_rng(1).standard_normal(recursive.size)
    scale = recursive.loops.column_scale
    expected = recursive.forward(q, v, force=f) / scale
    assert dense.forward(q, v, force=f) / scale == pytest.approx(expected, abs=AGREES * np.abs(expected).max(), rel=0)


def test_its_efforts_are_those_of_the_recursion():
    robot = pliant.load("five-bar")
    recursive, dense = (Dynamics(robot, method=method, compile="never") for method in ("recursive", "dense"))
    q, v = state(recursive, size=1e-3, speed=0.1)
    a = np.array([1.0, -2.0])
    expected, found = (arm.inverse(q, v, a)[0] for arm in (recursive, dense))
    assert found == pytest.approx(expected, abs=AGREES * np.abs(expected).max(), rel=0)


def test_it_runs_a_study_of_loops_as_the_recursion_does():
    robot = four_bar()
    ends = []
    for method in ("recursive", "dense"):
        drive = GivenTorque(joints={"motor": 0.5})
        run = run_study(Study(robot=robot, until=0.3, drive=drive, dynamics=method))
        ends.append(run.q[-1])
    assert ends[1] == pytest.approx(ends[0], abs=1e-6)


def test_motions_of_drives_in_loops_are_left_to_the_recursion():
    arm = Dynamics(four_bar(), method="dense", compile="never")
    with pytest.raises(MethodError, match="method 'recursive' has"):
        arm.loops.traced_forward((0,))


@pytest.mark.parametrize(
    ("robot", "refused"),
    [("four-bar-rigid", {"dual_screw": "does not close", "lagrange": "does not close"}), ("two-link-flexible", {})],
)
def test_one_table_says_which_methods_take_a_robot(robot, refused):
    found = {each.name: each for each in pliant.method_table(robot)}
    assert set(pliant.METHODS) | {"lumped_fe", "dual_screw_literal"} == set(found)
    assert found["recursive"].takes
    assert found["dense"].takes
    assert found["recursive"].error == "exact"
    for name, words in refused.items():
        assert not found[name].takes
        assert words in found[name].reason
    # what is taken can be made, and what is not is refused in the same words
    for name in pliant.METHODS:
        if found[name].takes:
            Dynamics(robot, method=name, compile="never")
        else:
            with pytest.raises(MethodError) as error:
                Dynamics(robot, method=name, compile="never")
            assert str(error.value) == found[name].reason
