"""The Canadarm of Mohan & Saha: states with both bending planes, the forced run, locked frequencies."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

import pliant
from pliant import Beam, Modes
from pliant.dynamics import Dynamics

REFERENCE = json.loads((Path(__file__).parent / "data" / "canadarm.json").read_text())

TOLERANCE = 1e-9
"""Of the largest entry of each array, as the reference states."""

RUN_TOLERANCE = 1e-6
"""Radians: the digits in which the reference's own integrations of the forced run agree."""


@pytest.fixture(scope="module")
def arm():
    return Dynamics("canadarm")


def planar_arm():
    """Two in-plane modes per link, as in the paper's runs."""
    robot = pliant.load("canadarm")
    links = [
        link.with_changes(beam=link.beam.with_changes(modes=Modes(shape="clamped-free", bend_y=2)))
        for link in robot.links
    ]
    return robot.with_changes(links=links)


def rigid_arm():
    robot = pliant.load("canadarm")
    links = [
        link.with_changes(beam=Beam(length=link.beam.length, properties=link.beam.properties, rigid=True))
        for link in robot.links
    ]
    return robot.with_changes(links=links)


def agrees(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return np.abs(ours - theirs).max() <= TOLERANCE * max(np.abs(theirs).max(), TOLERANCE)


@pytest.mark.parametrize("number", range(len(REFERENCE["states"])))
def test_states(arm, number):
    state, wanted = REFERENCE["states"][number], REFERENCE["exact"][number]
    q, v, tau = (np.array(state[key]) for key in ("q", "qd", "tau"))
    assert [arm.names.index(name) for name in arm.inputs] == REFERENCE["joint_index"]
    assert agrees(arm.mass_matrix(q), wanted["M"])
    assert agrees(arm.bias(q, v), wanted["h"])
    assert agrees(arm.coriolis(q, v) @ v, wanted["h_vel"])
    assert agrees(arm.gravity(q), wanted["h_grav"])
    assert agrees(arm.stiffness @ q, wanted["h_strain"])
    assert agrees(arm.forward(q, v, tau), wanted["qdd"])
    assert agrees(arm.forward(q, v, tau, solver="dense"), wanted["qdd"])
    energy = arm.energy(q, v)
    assert agrees([energy.kinetic, energy.gravity, energy.strain], [wanted[k] for k in ("T", "V_gravity", "V_strain")])
    tip = arm.pose("tip", q)
    assert agrees(tip.position, wanted["tip_position"])
    assert agrees(tip.rotation, wanted["tip_frame"])


def test_locked_frequencies(arm):
    """First in-plane frequencies at q = 0 with the joints locked."""
    elastic = [k for k, name in enumerate(arm.names) if "bend_y" in name]
    at = np.ix_(elastic, elastic)
    squares = eigh(arm.stiffness[at], arm.mass_matrix(np.zeros(arm.size))[at], eigvals_only=True)
    assert np.sqrt(squares[:3]) == pytest.approx(REFERENCE["locked_frequencies_rad_s"], rel=1e-8)


def test_forced_run():
    """Efforts of the rigid arm along eq. (44) drive the flexible one from rest."""
    run = REFERENCE["forced_run"]
    k, T = np.array(run["k"]), np.array(run["T"])
    flexible, rigid = Dynamics(planar_arm()), Dynamics(rigid_arm())
    n = flexible.size

    def efforts(t):
        angle = np.pi * t / T
        theta = k * (t - T / np.pi * np.sin(angle))
        return rigid.forces(theta, k * (1 - np.cos(angle)), k * np.pi / T * np.sin(angle))

    def rate(t, x):
        # the last entry is the work of the drives
        tau = efforts(t)
        power = tau @ x[n : 2 * n][joints]
        return np.concatenate([x[n : 2 * n], flexible.forward(x[:n], x[n : 2 * n], tau), [power]])

    joints = [flexible.names.index(name) for name in flexible.inputs]
    times = [*run["t"], run["largest_tip_deflection_1"]["at"]]
    solution = solve_ivp(
        rate, (0.0, 5.0), np.zeros(2 * n + 1), method="DOP853", rtol=1e-9, atol=1e-10, t_eval=sorted(times)
    )
    at = dict(zip(solution.t, solution.y.T, strict=True))
    for t, theta in zip(run["t"], run["theta"], strict=True):
        assert at[t][joints] == pytest.approx(theta, abs=RUN_TOLERANCE)
    # tip values of the modes are +2 and -2
    bent = at[run["largest_tip_deflection_1"]["at"]]
    first = flexible.names.index("upper.bend_y.1")
    assert 2 * (bent[first] - bent[first + 1]) == pytest.approx(run["largest_tip_deflection_1"]["value"], abs=1e-6)
    # the energy is the work of the drives
    for x in solution.y.T:
        assert flexible.energy(x[:n], x[n : 2 * n]).total == pytest.approx(x[-1], abs=1e-5)
