"""Closing the loops from a guess, and saying why that cannot be."""

import numpy as np
import pytest

from closed_robots import five_bar, four_bar, pendulum_ring, state
from pliant import Dynamics, load
from pliant.formulations.loops.errors import AssemblyError, LoopError

BUNDLED = ("four-bar", "four-bar-rigid", "five-bar", "three-prs", "closed-frame", "dualemps")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_poses_are_closed(name):
    arm = Dynamics(name, compile="never")
    assert np.abs(arm.closure(arm.reference_pose())).max() < 1e-12
    np.testing.assert_allclose(arm.assemble(), arm.reference_pose(), atol=1e-12)


@pytest.mark.parametrize("name", BUNDLED)
def test_from_a_bad_guess_with_the_drives_held(name):
    arm = Dynamics(name, compile="never")
    guess = arm.reference_pose()
    joints = arm.tree.joints.tolist()
    driven = [arm.names.index(name) for name in arm.inputs]
    passive = [k for k in joints if k not in driven]
    rng = np.random.default_rng(2)
    guess[passive] += 0.15 * rng.standard_normal(len(passive))
    guess[driven] += 0.03 * rng.standard_normal(len(driven))
    q = arm.assemble(guess)
    assert np.abs(arm.closure(q)).max() < 1e-13
    held = [*driven, *(k for k in range(arm.size) if k not in joints)]
    np.testing.assert_array_equal(q[held], guess[held])


def test_hold_and_bend():
    arm = Dynamics("five-bar", compile="never")
    guess = arm.reference_pose() + 0.02
    q = arm.assemble(guess, hold=["left_elbow", "right_elbow"])
    assert np.abs(arm.closure(q)).max() < 1e-13
    assert q[arm.names.index("left_elbow")] == guess[arm.names.index("left_elbow")]
    assert q[arm.names.index("left_motor")] != guess[arm.names.index("left_motor")]
    bent = arm.assemble(guess, hold=[name for name in arm.names if "elbow" in name or "motor" in name], bend=True)
    assert np.abs(arm.closure(bent)).max() < 1e-13


def test_unknown_name_is_suggested():
    with pytest.raises(ValueError, match="no coordinate 'left_moter'; did you mean 'left_motor'"):
        Dynamics("five-bar", compile="never").assemble(hold=["left_moter"])


def test_batch():
    arm = Dynamics("four-bar-rigid", compile="never")
    guesses = arm.reference_pose() + 0.1 * np.random.default_rng(0).standard_normal((5, arm.size))
    q = arm.assemble(guesses)
    assert q.shape == guesses.shape
    assert np.abs(arm.closure(q)).max() < 1e-13


def test_an_impossible_loop_names_itself_and_its_gap():
    """Bars of 0.12 + 0.36 + 0.28 m on a ground of 1 m: 0.24 m are missing."""
    arm = Dynamics(four_bar(lengths=(1.0, 0.12, 0.36, 0.28)), compile="never")
    with pytest.raises(AssemblyError, match=r"'closure' stays open by 0\.24 m") as error:
        arm.assemble(hold=[])
    assert error.value.gaps["closure"][0] == pytest.approx(0.24, rel=1e-6)
    assert isinstance(error.value, LoopError)
    with pytest.raises(AssemblyError, match=r"with motor held; free them with hold=\[\]") as error:
        arm.assemble()
    assert error.value.gaps["closure"][0] > 0.24


def test_only_the_loop_that_cannot_close_is_named():
    robot = load("three-prs")
    links = []
    for link in robot.links:
        if link.name == "rod_2":
            link = link.model_copy(update={"beam": link.beam.model_copy(update={"length": 0.2})})
        links.append(link)
    arm = Dynamics(robot.model_copy(update={"links": tuple(links)}), compile="never")
    held = [name for name in arm.names if name.startswith(("rail", "platform", "hinge_1", "hinge_3"))]
    with pytest.raises(AssemblyError, match="'ball_2' stays open by") as error:
        arm.assemble(hold=held)
    assert list(error.value.gaps) == ["ball_2"]


def test_projection_restores_both_levels():
    arm = Dynamics(pendulum_ring(), compile="never")
    q, v = state(arm)
    rng = np.random.default_rng(3)
    q2, v2 = arm.project(q + 1e-3 * rng.standard_normal(arm.size), v + 1e-2 * rng.standard_normal(arm.size))
    assert np.abs(arm.closure(q2)).max() < 1e-15
    assert np.abs(arm.closure_rate(q2, v2)).max() < 1e-14
    # a state on the constraints stays where it is
    q3, v3 = arm.project(q2, v2)
    np.testing.assert_allclose(q3, q2, atol=1e-15)
    np.testing.assert_allclose(v3, v2, atol=1e-13)


def test_projection_of_velocities_is_a_blow_of_the_closures():
    """It changes the momentum only along the constraints, and never adds energy."""
    arm = Dynamics(five_bar(), compile="never")
    q, _ = state(arm)
    v = np.random.default_rng(4).standard_normal(arm.size)
    _, after = arm.project(q, v)
    M, N = arm.mass_matrix(q), arm.reduced(q, np.zeros(arm.size)).N
    np.testing.assert_allclose(N.T @ M @ (after - v), 0, atol=1e-14)
    assert after @ M @ after <= v @ M @ v
