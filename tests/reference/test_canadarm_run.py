"""The forced run of the Canadarm, Mohan & Saha section 7.1, against an independent brute-force integration."""

import numpy as np
import pytest

import pliant
from pliant.analysis.modes import modes
from pliant.simulation.run import run_study
from pliant.simulation.study import load_study

# joint angles in rad at 1 ... 5 s; printed with nine decimals, made with 2 in-plane modes per link
ANGLES = {
    1: (0.011651676, 0.021037007, 0.008950981),
    2: (0.027894042, 0.055031949, 0.052394789),
    3: (0.052976260, 0.109112627, 0.152664693),
    4: (0.091356348, 0.181731433, 0.311335574),
    5: (0.148186416, 0.265256829, 0.507950395),
}
ANGLE_TOLERANCE = 1e-6
# largest deflection of the tip of link 1, and when
DEFLECTION, WHEN = -0.152824, 3.033
# J, energy of a good integration against the work of the motors
BALANCE = 1e-8
# rad/s, locked joints at q = 0, in the plane
FREQUENCIES = (0.976775650, 7.40791809, 21.7900242)


def planar(robot):
    """The robot with its in-plane modes only, as the paper's runs have it."""
    links = []
    for link in robot.links:
        modes = link.beam.modes.with_changes(bend_z=None)
        links.append(link.with_changes(beam=link.beam.with_changes(modes=modes)))
    return robot.with_changes(links=links)


@pytest.fixture(scope="module")
def run():
    study = load_study("canadarm", changes={"until": 5.0, "outputs": {"step": 0.001}})
    return run_study(study.with_changes(robot=planar(study.robot)))


def check_angles(run, until):
    joints = np.column_stack([run[name] for name in ("shoulder", "elbow", "wrist")])
    for second in range(1, until + 1):
        k = np.argmin(np.abs(run.time - second))
        assert run.time[k] == pytest.approx(second, abs=1e-12)
        assert joints[k] == pytest.approx(ANGLES[second], abs=ANGLE_TOLERANCE)


def test_joint_angles(run):
    check_angles(run, until=5)


def test_modes_out_of_the_plane_change_nothing():
    run = run_study(load_study("canadarm", changes={"until": 5.0}))
    check_angles(run, until=5)
    assert np.abs(run["energy.balance"]).max() < BALANCE
    assert np.abs(run["upper.deflection"][:, 2]).max() < 1e-12


def test_deflection_of_the_first_link(run):
    y = run["upper.deflection"][:, 1]
    k = np.argmax(np.abs(y))
    assert y[k] == pytest.approx(DEFLECTION, abs=1e-6)
    assert run.time[k] == pytest.approx(WHEN, abs=1e-3)


def test_energy_is_the_work_of_the_motors(run):
    assert np.abs(run["energy.total"] - run["energy.total"][0] - run["work"]).max() < BALANCE
    assert np.abs(run["energy.balance"]).max() < BALANCE
    # space is empty and the joints have no friction
    assert np.abs(run["dissipated"]).max() < BALANCE


def test_frequencies_with_locked_joints():
    arm = pliant.Dynamics(planar(pliant.load("canadarm")))
    assert modes(arm, np.zeros(arm.size)).frequencies[:3] == pytest.approx(FREQUENCIES, rel=1e-8)
