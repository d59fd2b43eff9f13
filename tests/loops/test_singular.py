"""Singular configurations: found, named and not divided by; what is regular nearby goes on."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from closed_robots import ALIGNED, five_bar, four_bar
from pliant import Dynamics
from pliant.formulations.loops.loops import SingularConfigurationError

FLAT = {"lengths": (0.4, 0.2, 0.4, 0.2), "pose": {"motor": 1.0, "pin": -1.0, "ground_pin": 1.0}}
"""A parallelogram: stretched out flat it may go on as itself or as an anti-parallelogram."""


@pytest.fixture(scope="module", params=["auto", "never"])
def parallelogram(request):
    return Dynamics(four_bar(**FLAT), compile=request.param)


@pytest.fixture(scope="module", params=["auto", "never"])
def five(request):
    return Dynamics(five_bar(), compile=request.param)


@pytest.fixture(scope="module")
def aligned(five):
    return np.array([ALIGNED[name] for name in five.names])


def test_a_loop_that_loses_a_constraint_is_named(parallelogram):
    flat = np.zeros(3)
    assert np.abs(parallelogram.closure(flat)).max() < 1e-15
    for solver in ("recursive", "dense", "minimal"):
        with pytest.raises(SingularConfigurationError, match="singular at this configuration: loop 'closure'") as error:
            parallelogram.forward(flat, flat, [0.1], solver=solver)
        assert error.value.loops == ("closure",)
        assert error.value.condition > 1e6
    with pytest.raises(SingularConfigurationError):
        parallelogram.forward(np.zeros((3, 3)), np.zeros((3, 3)))
    with pytest.raises(SingularConfigurationError):
        parallelogram.project(flat, flat)
    with pytest.raises(SingularConfigurationError):
        parallelogram.inverse(flat, flat, [1.0])


def test_beside_the_singular_pose_all_is_well(parallelogram):
    """A thousandth of a radian away the parallelogram still turns as one: the accelerations stay equal and opposite."""
    q = 1e-3 * np.array([1.0, -1.0, 1.0])
    a = parallelogram.forward(q, np.zeros(3), [0.1])
    np.testing.assert_allclose(a, a[0] * np.array([1.0, -1.0, 1.0]), rtol=1e-6)
    np.testing.assert_allclose(parallelogram.forward(q, np.zeros(3), [0.1], solver="dense"), a, rtol=1e-6)
    assert 1e2 < parallelogram.loops.condition(q) < 1e6


def test_aligned_couplers_are_singular_for_the_drives_only(five, aligned):
    """All constraints hold, so that the motion is determined; held cranks would not hold the tool."""
    still = np.zeros(4)
    assert five.loops.condition(aligned) < 10
    a = five.forward(aligned, still, [0.1, 0.2])
    np.testing.assert_allclose(five.forward(aligned, still, [0.1, 0.2], solver="dense"), a, rtol=1e-12)
    # the automatic choice of coordinates changes instead of failing
    assert five.independent == ("left_motor", "right_motor")
    assert five.reduced(aligned, still).names != five.independent
    np.testing.assert_allclose(five.forward(aligned, still, [0.1, 0.2], solver="minimal"), a, rtol=1e-12)


def test_inverse_dynamics_there_are_refused_with_a_name(five, aligned):
    with pytest.raises(
        SingularConfigurationError, match="singular pose of its drives left_motor, right_motor: loop 'tool'"
    ):
        five.inverse(aligned, np.zeros(4), [1.0, 1.0])


def test_a_fixed_choice_of_coordinates_is_refused_there(five, aligned):
    message = "left_motor, right_motor do not determine the motion"
    with pytest.raises(SingularConfigurationError, match=message) as error:
        five.reduced(aligned, np.zeros(4), independent=["left_motor", "right_motor"])
    assert error.value.loops == ("tool",)
    fixed = Dynamics(five_bar(), compile="never", independent=["left_motor", "right_motor"])
    with pytest.raises(SingularConfigurationError, match=message):
        fixed.reduced(aligned, np.zeros(4))
    # the accelerations do not need it
    np.testing.assert_allclose(fixed.forward(aligned, np.zeros(4)), five.forward(aligned, np.zeros(4)), atol=1e-12)


def test_driven_through_the_singular_pose(five, aligned):
    """The tool crosses the line between the elbows: the motion goes on smoothly, energy and loop are kept."""
    q0 = five.assemble(aligned + 0.02 * np.array([1.0, -2.0, -1.0, 2.0]), hold=[])
    q0, v0 = five.project(q0, np.array([-1.0, 3.0, 1.0, -3.0]))
    side = [five.pose("left_coupler.tip", q0).position[1] - five.pose("left_crank.tip", q0).position[1]]

    def rhs(_, x):
        return np.concatenate([x[4:], five.forward(x[:4], x[4:])])

    run = solve_ivp(rhs, (0.0, 0.15), np.concatenate([q0, v0]), method="DOP853", rtol=1e-11, atol=1e-11)
    assert run.success
    for x in run.y.T:
        side.append(five.pose("left_coupler.tip", x[:4]).position[1] - five.pose("left_crank.tip", x[:4]).position[1])
        assert np.abs(five.closure(x[:4])).max() < 1e-9
    assert min(side) < 0 < max(side)
    energies = [five.energy(x[:4], x[4:]).total for x in run.y.T]
    assert np.ptp(energies) < 1e-9 * max(energies)


def test_flexible_links_take_the_singularity_away():
    """With bending couplers the drives' accelerations determine all others, also in line."""
    arm = Dynamics("five-bar", compile="never")
    q = np.zeros(arm.size)
    for name, value in ALIGNED.items():
        q[arm.names.index(name)] = value
    tau, _ = arm.inverse(q, np.zeros(arm.size), [1.0, -1.0])
    assert np.isfinite(tau).all()


def test_other_rows_are_kept_where_those_are_lost():
    """An over-constrained loop in a skew plane: the kept rows must change when the plane's image degenerates."""
    arm = Dynamics(four_bar(loop={"planar": None}), compile="never")
    q = arm.assemble()
    a = arm.forward(q, np.zeros(3), [0.2])
    # pretend that rows were kept which say the same twice
    selection = arm.loops.coordinates.selection
    arm.loops.coordinates.selection = selection._replace(kept=(0, 2), redundant=(1, 3, 4))
    np.testing.assert_allclose(arm.forward(q, np.zeros(3), [0.2]), a, rtol=1e-12)
    assert arm.loops.coordinates.kept_at(q) == selection.kept
    # an evaluation changes nothing
    assert arm.loops.coordinates.selection.kept == (0, 2)


def test_bad_numbers_are_named(parallelogram):
    with pytest.raises(ValueError, match="q of 'pin' is nan"):
        parallelogram.forward([0.1, np.nan, 0.1], np.zeros(3))


def test_a_batch_mixes_states_that_need_different_rows():
    arm = Dynamics(four_bar(loop={"planar": None}), compile="never")
    q = np.stack([arm.assemble(), arm.assemble([1.2, -1.0, 1.6])])
    a = arm.forward(q, np.zeros_like(q), [[0.2], [0.2]])
    selection = arm.loops.coordinates.selection
    arm.loops.coordinates.selection = selection._replace(kept=(1, 2), redundant=(0, 3, 4))
    np.testing.assert_allclose(arm.forward(q, np.zeros_like(q), [[0.2], [0.2]]), a, rtol=1e-12)
