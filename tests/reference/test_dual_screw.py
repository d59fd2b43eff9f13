"""The four-joint arm of Cibicik & Egeland: bending, torsion, sections that turn, both rotation rules."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

import pliant
from pliant.dynamics import Dynamics

REFERENCE = json.loads((Path(__file__).parent / "data" / "dual_screw_arm.json").read_text())

TOLERANCE = 1e-9
"""Of the largest entry of each array, as the reference states."""

RULES = {"N": "xyz", "N_exp": "exponential"}


@pytest.fixture(scope="module", params=RULES)
def variant(request):
    return request.param


@pytest.fixture(scope="module")
def arm(variant):
    # NumPy: turning sections make long tapes, and each variant is asked once or twice
    robot = pliant.load("cibicik-4dof").with_changes(attachment_rotation=RULES[variant])
    return Dynamics(robot, compile="never")


@pytest.fixture(scope="module")
def layout(arm):
    """(index, sign) of each coordinate of the reference: q1..q4, then per link torsion, xy, xz.

    The reference's torsion shapes have alternating signs and unit tip values, as ours normalised to the tip.
    """
    names = ["q1", "q2", "q3", "q4"]
    for link in ("boom", "jib"):
        names += [f"{link}.{family}.{k}" for family in ("torsion", "bend_y", "bend_z") for k in (1, 2)]
    return [arm.names.index(name) for name in names]


def agrees(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return np.abs(ours - theirs).max() <= TOLERANCE * max(np.abs(theirs).max(), TOLERANCE)


@pytest.mark.parametrize("number", range(len(REFERENCE["states"])))
def test_states(arm, variant, layout, number):
    state = REFERENCE["states"][number]
    wanted = state[variant]
    q, v = np.zeros(arm.size), np.zeros(arm.size)
    q[layout], v[layout] = state["q"], state["u"]
    strain = arm.stiffness @ q
    gravity = arm.gravity(q)
    assert agrees(arm.mass_matrix(q)[np.ix_(layout, layout)], wanted["M"])
    assert agrees(gravity[layout], wanted["g"])
    assert agrees((arm.bias(q, v) - gravity - strain)[layout], wanted["c"])
    if "h" in wanted:
        assert agrees(arm.bias(q, v)[layout], wanted["h"])
    M, h = np.array(wanted["M"]), np.array(wanted["c"]) + wanted["g"] + strain[layout]
    tau = np.array([10.0, -50.0, 30.0, 5.0])
    right = np.concatenate([tau, np.zeros(arm.size - 4)]) - h
    assert agrees(arm.forward(q, v, tau)[layout], np.linalg.solve(M, right))


def test_stiffness(arm, layout):
    assert agrees(arm.stiffness[np.ix_(layout, layout)], REFERENCE["K"])


def test_locked_frequencies(arm, layout):
    q = np.zeros(arm.size)
    q[layout[:4]] = REFERENCE["locked_pose"]
    elastic = np.ix_(layout[4:], layout[4:])
    squares = eigh(arm.stiffness[elastic], arm.mass_matrix(q)[elastic], eigvals_only=True)
    assert np.sqrt(squares[:4]) / (2 * np.pi) == pytest.approx(REFERENCE["locked_frequencies_Hz"], abs=6e-4)
