"""Rank, redundant constraints and the choice of independent coordinates."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from closed_robots import five_bar, four_bar, state
from pliant import Dynamics, Loop, load

SKEW = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()
IN_SPACE = {"planar": None}


def test_passive_joints_are_dependent():
    assert Dynamics("dualemps", compile="never").dependent == ("q12", "q22", "q25")
    assert Dynamics("five-bar", compile="never").dependent == ("left_elbow", "right_elbow")
    assert Dynamics("four-bar", compile="never").dependent == ("crank_pin", "ground_pin")


def test_identical_legs_are_treated_alike():
    """Three legs, nine constraints: the three hinges and the platform, never two hinges only."""
    arm = Dynamics("three-prs", compile="never")
    expected = ("hinge_1", "hinge_2", "hinge_3", *(f"platform.{x}" for x in ("x", "y", "z", "rx", "ry", "rz")))
    assert arm.dependent == expected


def test_elastic_choice_is_the_ends_of_the_closing_legs():
    arm = Dynamics("dualemps", compile="never", independent="elastic")
    assert arm.dependent == ("beam_23.bend_y.1", "beam_23.bend_y.2", "beam_23.axial.1")
    arm = Dynamics("three-prs", compile="never", independent="elastic")
    ends = {name.rpartition(".")[0] for name in arm.dependent}
    assert len(arm.dependent) == 9
    assert ends == {f"rod_{k}.{family}" for k in (1, 2, 3) for family in ("bend_y", "bend_z", "axial")}


def test_own_choice():
    arm = Dynamics(four_bar(), compile="never", independent=["pin"])
    assert arm.independent == ("pin",)
    assert arm.dependent == ("motor", "ground_pin")
    q, v = state(arm)
    np.testing.assert_allclose(arm.forward(q, v, [0.1], solver="minimal"), arm.forward(q, v, [0.1]), rtol=1e-10)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (["motor", "pin"], "has 2 coordinates; the loops of robot 'four-bar' leave 1"),
        (["moter"], "no coordinate 'moter'; did you mean 'motor'"),
        ("last", "must be 'auto', 'elastic' or names"),
    ],
)
def test_wrong_choices_are_explained(choice, message):
    with pytest.raises(ValueError, match=message):
        _ = Dynamics(four_bar(), compile="never", independent=choice).independent


def test_a_choice_that_determines_nothing_is_refused():
    """The passive coordinate of a link that hangs beside the loop does not move it."""
    robot = load("dualemps")
    arm = Dynamics(robot, compile="never")
    bad = [name for name in arm.names if name not in ("q11", "beam_16.bend_y.1", "beam_16.axial.1")]
    with pytest.raises(ValueError, match="do not determine the configuration"):
        _ = Dynamics(robot, compile="never", independent=bad).independent


@pytest.mark.parametrize("R", [None, SKEW], ids=["straight", "skew"])
def test_a_planar_loop_modelled_in_space(R):
    """Five constraints of which three follow from the others; the motion is the planar one."""
    plain = Dynamics(four_bar(), compile="never")
    arm = Dynamics(four_bar(R=R, loop=IN_SPACE), compile="never")
    assert len(arm.loops.rows) == 5
    assert arm.loops.rank == 2
    assert len(arm.loops.redundant) == 3
    assert {"closure.rx", "closure.ry"} < set(arm.loops.redundant)
    q, v = state(plain)
    assert np.abs(arm.closure(q)).max() < 1e-14
    a = plain.forward(q, v, [0.3])
    for form in ("recursive", "dense", "minimal"):
        np.testing.assert_allclose(arm.forward(q, v, [0.3], solver=form), a, rtol=1e-10)
    np.testing.assert_allclose(arm.inverse(q, v, a[:1])[0], [0.3], rtol=1e-9)


def test_forces_of_an_over_constrained_loop_are_the_smallest():
    """In the plane of motion they are determined, and nothing acts across it."""
    plain = Dynamics(four_bar(), compile="never")
    arm = Dynamics(four_bar(R=SKEW, loop=IN_SPACE), compile="never")
    q, v = state(plain)
    flat = np.append(plain.multipliers(q, v, [0.3]), 0.0)
    found = arm.multipliers(q, v, [0.3])
    np.testing.assert_allclose(found[:3], SKEW @ flat, atol=1e-10 * np.abs(flat).max())
    np.testing.assert_allclose(found[3:], 0, atol=1e-10)


def test_bending_links_make_the_same_loop_determined():
    elements = {"bend_y": True, "bend_z": True, "torsion": True, "axial": True}
    arm = Dynamics(four_bar(loop=IN_SPACE, **elements), compile="never")
    assert arm.loops.rank == 5
    assert arm.loops.redundant == ()
    assert {"pin", "ground_pin"} < set(arm.dependent)


def test_a_loop_closed_twice():
    robot = five_bar()
    again = Loop(name="again", type="revolute", frames=robot.loops[0].frames, planar="xy")
    arm = Dynamics(robot.model_copy(update={"loops": (*robot.loops, again)}), compile="never")
    assert arm.loops.redundant == ("again.x", "again.y")
    q, v = state(arm)
    once = Dynamics(robot, compile="never")
    np.testing.assert_allclose(arm.forward(q, v, [1, 2]), once.forward(q, v, [1, 2]), rtol=1e-11)
    # two pins share the force
    np.testing.assert_allclose(arm.multipliers(q, v, [1, 2]), np.tile(once.multipliers(q, v, [1, 2]) / 2, 2), rtol=1e-9)


def test_units_do_not_matter():
    """A robot a thousand times larger has the same rank, choice and condition."""
    small = Dynamics(four_bar(), compile="never")
    large = Dynamics(four_bar(lengths=(400.0, 120.0, 360.0, 280.0)), compile="never")
    assert small.dependent == large.dependent
    q = small.assemble()
    assert small.loops.condition(q) == pytest.approx(large.loops.condition(q), rel=1e-9)


def test_trees_have_all_coordinates_independent():
    arm = Dynamics("canadarm", compile="never")
    q = np.zeros(arm.size)
    assert arm.loops.rows == () == arm.loops.redundant
    assert arm.loops.jacobian(q).shape == (0, arm.size)
    assert arm.independent == arm.names
    assert arm.dependent == ()
    assert arm.closure(q).shape == arm.closure_rate(q, q).shape == arm.multipliers(q, q).shape == (0,)
    np.testing.assert_array_equal(arm.assemble(q), q)
    np.testing.assert_array_equal(arm.project(q, q)[0], q)
    model = arm.reduced(q, q)
    np.testing.assert_array_equal(model.M, arm.mass_matrix(q))
    np.testing.assert_array_equal(model.N, np.eye(arm.size))
    with pytest.raises(ValueError, match="has no loops"):
        arm.reduced(q, q, platform="tip")
    with pytest.raises(ValueError, match="must be 'recursive' or 'dense'"):
        arm.forward(q, q, solver="platform")
