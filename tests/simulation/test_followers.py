"""Disturbances that turn with their frames, in runs: against the same wrench in base axes, and by their work."""

import numpy as np
import pytest

from pliant import Dynamics, ModelError, Study, inverse_dynamics, load, load_study, run_study
from pliant.loads.disturbance import Disturbance

PUSH = ("3*sin(9*t)", 1.5, -0.8)
TURN = (0.1, "0.2*t", -0.15)


@pytest.fixture(scope="module")
def run():
    force = {"frame": "tip", "force": PUSH, "moment": TURN, "follows": True, "start": 0.05}
    study = Study(robot=load("two-link-flexible"), until=0.45, disturbances=[force], outputs={"step": 0.05})
    return run_study(study)


def test_it_is_the_same_wrench_turned_into_base_axes(run):
    """Accelerations at the samples, from wrenches that the test turns itself."""
    arm = Dynamics(run.robot, compile="never")
    R = arm.pose("tip", run.q).rotation
    assert np.abs(R[-1] - R[0]).max() > 0.2
    for k in range(2, len(run), 3):
        t = run.time[k]
        own = np.array([3 * np.sin(9 * t), 1.5, -0.8]), np.array([0.1, 0.2 * t, -0.15])
        wrench = np.concatenate([R[k] @ x for x in own])
        wanted = arm.forward(run.q[k], run.v[k], run.samples.tau[k], wrenches={"tip": wrench})
        found = run.quantities.accelerations[k]
        np.testing.assert_allclose(found, wanted, atol=1e-8 * np.abs(wanted).max())
        np.testing.assert_allclose(run.samples.wrenches[k], wrench, atol=1e-12)


def test_energy_is_balanced_and_it_is_not_the_fixed_force(run):
    assert np.abs(run["energy.balance"]).max() < 1e-6 * np.ptp(run["energy.total"])
    fixed = {"frame": "tip", "force": PUSH, "moment": TURN, "start": 0.05}
    other = run_study(Study(robot=run.robot, until=0.45, disturbances=[fixed], outputs={"step": 0.05}))
    assert np.abs(other.q[-1] - run.q[-1]).max() > 0.01


def test_what_it_does_not_go_with_is_refused():
    with pytest.raises(ModelError, match="follows belongs to forces on frames"):
        Disturbance(joint="shoulder", effort=1.0, follows=True)
    study = load_study("two-link-circle").with_changes(
        disturbances=[{"frame": "tip", "force": (1.0, 0.0, 0.0), "follows": True}]
    )
    with pytest.raises(ModelError, match="follows its frame, which the inverse does not take"):
        inverse_dynamics(study)
