"""The two-link arm of De Luca & Siciliano: frequencies of the loaded links and of the whole arm."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

import pliant
from pliant.bodies.build import build_body
from pliant.dynamics import Dynamics

REFERENCE = json.loads((Path(__file__).parent / "data" / "de_luca_siciliano.json").read_text())

PRINTED_HZ = 6e-3
"""Half a digit of the printed frequencies (two decimals)."""

PRINTED_SHAPE = 6e-4
"""Half a digit of the printed tip values (three decimals)."""

FROM_PRINTED_CONSTANTS = 2e-3
"""The reference's whole-arm modes rest on the printed, rounded link constants; its finite elements do not."""


@pytest.fixture(scope="module")
def arm():
    return Dynamics("de-luca-siciliano")


def link_frequencies(arm, number):
    """A link clamped at its motor, carrying mass and inertia at its tip, Hz."""
    link = arm.robot.link(f"link_{number}")
    family = link.beam.modes.resolve("bend_y")
    # the bare beam, without hub and payload
    bare = build_body(link, arm.robot)
    tip = bare.frames["tip"]
    w, s = tip.Phi_d[1], tip.Phi_r[2]
    M = bare.M_ee + float(family.tip_mass) * np.outer(w, w) + float(family.tip_inertia) * np.outer(s, s)
    return np.sqrt(eigh(bare.K_ee, M, eigvals_only=True)) / (2 * np.pi), w, s


@pytest.mark.parametrize("number", [1, 2])
def test_links(arm, number):
    frequencies, w, s = link_frequencies(arm, number)
    assert frequencies == pytest.approx(REFERENCE["link_frequencies_Hz"][number - 1], abs=PRINTED_HZ)
    assert w == pytest.approx(REFERENCE["phi_tip"][number - 1], abs=PRINTED_SHAPE)
    assert s == pytest.approx(REFERENCE["slope_tip"][number - 1], abs=PRINTED_SHAPE)


def elastic_block(arm):
    """Index of the elastic block, and M of the stretched arm."""
    joints = set(arm.robot.joint_coordinates)
    elastic = [k for k, name in enumerate(arm.names) if name not in joints]
    return np.ix_(elastic, elastic), arm.mass_matrix(np.zeros(arm.size))


def locked_frequencies(arm):
    at, M = elastic_block(arm)
    return np.sqrt(eigh(arm.stiffness[at], M[at], eigvals_only=True)) / (2 * np.pi)


def test_whole_arm(arm):
    frequencies = locked_frequencies(arm)
    assert frequencies == pytest.approx(REFERENCE["locked_frequencies_Hz"], rel=FROM_PRINTED_CONSTANTS)
    # against finite elements: all digits but for the fourth, which two modes per link approach from above
    assert frequencies[:3] == pytest.approx(REFERENCE["finite_elements_Hz"][:3], abs=6e-5)
    assert 0 < frequencies[3] - REFERENCE["finite_elements_Hz"][3] < 2e-3


def test_whole_arm_with_the_printed_link_frequencies(arm):
    """What the reference's whole-arm numbers are made of: stiffnesses from frequencies of two decimals."""
    at, M = elastic_block(arm)
    printed = np.concatenate(REFERENCE["link_frequencies_Hz"])
    K = np.diag(0.1 * (2 * np.pi * printed) ** 2)
    frequencies = np.sqrt(eigh(K, M[at], eigvals_only=True)) / (2 * np.pi)
    assert frequencies[:2] == pytest.approx(REFERENCE["locked_frequencies_Hz"][:2], abs=2e-4)


def test_whole_arm_in_finite_elements():
    """Beam elements instead of loaded modes: eight per link agree with the reference in all digits."""
    robot = pliant.load("de-luca-siciliano")
    links = []
    for link in robot.links:
        beam = pliant.Beam(
            length=link.beam.length,
            properties=link.beam.properties,
            elements=pliant.Elements(number=8, bend_z=False, reduce={"craig_bampton": 4}),
        )
        links.append(link.with_changes(beam=beam))
    arm = Dynamics(robot.with_changes(links=links), compile="never")
    assert locked_frequencies(arm)[:4] == pytest.approx(REFERENCE["finite_elements_Hz"], abs=2e-4)
