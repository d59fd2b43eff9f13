"""Inverse dynamics by successive approximation, confirmed on the nonlinear model."""

import numpy as np
import pytest

from pliant import ModelError, load_study
from pliant.analysis.lumped.elastic_motion import InterruptedMotionError
from pliant.simulation.inverse.inverse_dynamics import inverse_dynamics
from pliant.simulation.run import run_study

MILLIMETRE, MICROMETRE = 1e-3, 1e-6
GOOD = 10 * MICROMETRE
"""Distance from the path that the method shall reach, by its own model and by the nonlinear one."""
IMPLICIT = {"method": "dop853", "tolerance": 1e-7}


@pytest.fixture(scope="module")
def arm():
    return inverse_dynamics(load_study("two-link-circle"), method="successive")


def test_the_tip_of_an_arm_keeps_its_circle(arm):
    """As if rigid it is millimetres off; the nonlinear model confirms what is found."""
    found = arm.solution
    assert found.iterations[0].largest > MILLIMETRE
    assert found.outcome == "converged"
    assert found.iterations[-1].largest < GOOD
    assert len(found.iterations) - 1 <= 10
    run, distances = arm.confirm(integrator=IMPLICIT)
    assert distances.max() < GOOD
    # efforts of the linear model are those of the nonlinear one to first order
    efforts = np.column_stack([np.interp(run.time, found.times, column) for column in found.efforts.T])
    assert np.abs(efforts - run.tau).max() < 0.01 * np.abs(run.tau).max()


def test_interrupted_iterations_leave_the_best_one():
    study = load_study("two-link-circle", changes={"until": 1.5})
    alone = inverse_dynamics(study, steps=300, iterations=1, method="successive").solution
    found = inverse_dynamics(
        study, steps=300, report=lambda k, t, at: k == 1 and at is not None, method="successive"
    ).solution
    assert found.outcome == "interrupted"
    assert found.iterations == alone.iterations
    np.testing.assert_array_equal(found.reached, alone.reached)
    with pytest.raises(InterruptedMotionError, match="interrupted at"):
        inverse_dynamics(study, steps=300, report=lambda k, t, at: True, method="successive")


def test_without_a_band_limit_the_divergence_is_told():
    study = load_study("two-link-circle", changes={"until": 1.5})
    found = inverse_dynamics(study, feedback="full", steps=300, method="successive").solution
    assert found.outcome == "diverged"
    assert "first natural frequency" in found.words
    assert found.iterations[-1].largest > 2 * found.iterations[0].largest


def test_a_closed_chain_keeps_its_circle():
    job = inverse_dynamics(load_study("five-bar-circle"), tolerance=GOOD, method="successive")
    assert job.solution.iterations[0].largest > MILLIMETRE
    assert job.solution.outcome == "converged"
    run, distances = job.confirm(integrator=IMPLICIT)
    assert distances.max() < GOOD
    found = job.solution.reactions()
    for name in ("tool.x", "tool.y"):
        carried = np.interp(run.time, job.solution.times, found.loops[name])
        assert np.abs(carried - run[f"{name}.force"]).max() < 0.02 * np.abs(run[f"{name}.force"]).max()


def test_the_written_studies_run(arm, tmp_path):
    files = arm.write(tmp_path, "circle")
    assert [file.name for file in files[-2:]] == ["circle-prescribed.yaml", "circle-feed-forward.yaml"]
    study = load_study(files[-1], changes={"until": 0.6, "integrator": IMPLICIT})
    run = run_study(study)
    desired = np.interp(run.time, arm.solution.times, arm.solution.motion.q[:, 0])
    # the efforts of the inverse dynamics alone keep the drive near its motion; the loop takes the rest
    assert np.abs(run["shoulder"] - desired).max() < 1e-3
    prescribed = load_study(files[-2])
    assert prescribed.drive.trajectory.kind == "table"


def test_a_study_without_a_path_is_refused():
    study = load_study("two-link-circle").with_changes(drive=None)
    with pytest.raises(ModelError, match="needs a drive with a trajectory"):
        inverse_dynamics(study, method="successive")
