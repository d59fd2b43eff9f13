"""Di Gregorio's open chain: independent numbers of a two-link arm with lumped nodes about a nominal motion."""

import json
from pathlib import Path

import numpy as np
import pytest

from lumped_arms import quintic_move, two_link_arm
from pliant.analysis.lumped.elastic_motion import (
    ElasticState,
    elastic_motion,
    frame_displacement,
    nodal_displacements,
    reactions,
    static,
)
from pliant.analysis.lumped.frequencies import natural_frequencies
from pliant.analysis.lumped.lumped_model import LumpedModel

DATA = json.loads((Path(__file__).parent / "data" / "di_gregorio_open_chain.json").read_text())
CHAIN, ARM = DATA["A_open_chain"], DATA["arm_parameters"]

TOLERANCE = 1e-6
"""Of the largest entry: the accuracy to which the reference was integrated."""
STEP = 1 / 3000
"""s: axial vibrations of 6 kHz must still be followed."""
FIRST_ORDER = 1e-3
"""Of the largest entry: what a model of first order may leave of the nonlinear one (0.08 % of the torques)."""


def at_reference_times(variant, until):
    """Displacements and torques at the times of the reference, with the paper's wrenches of second order."""
    model = LumpedModel(two_link_arm(ARM["ne"], pose=ARM["q0"]), variant=variant)
    nominal = quintic_move(model, ARM["q0"], ARM["q_end"], ARM["T"])
    times = np.linspace(0.0, until, round(until / STEP) + 1)
    rest = np.zeros(model.size), np.zeros(model.size)
    run = elastic_motion(model, nominal, times, rest, second_order=True)
    which = [round(t / STEP) for t in CHAIN["inertial"]["t"] if t <= until]
    state = ElasticState(run.state.z[which], run.state.z_dot[which], run.state.z_ddot[which])
    assembled = model.assemble(nominal(times[which]))
    nodes = [nodal_displacements(model, assembled, state, link)[:, 1:, [0, 1, 5]] for link in ("upper", "fore")]
    return np.concatenate(nodes, axis=1).reshape(len(which), -1), reactions(model, assembled, state).efforts


def distance(found, wanted):
    """Largest difference, of the largest entry, at the times that were computed."""
    return np.abs(found - np.array(wanted)[: len(found)]).max() / np.abs(wanted).max()


def test_natural_frequencies():
    model = LumpedModel(two_link_arm(ARM["ne"], pose=ARM["q0"]))
    found = natural_frequencies(model, model.at_rest()) / (2 * np.pi)
    np.testing.assert_allclose(found, CHAIN["natural_freq_hz_q0"], rtol=1e-9)


@pytest.mark.parametrize(("variant", "key", "until"), [("absolute", "inertial", 1.5), ("printed", "literal", 0.5)])
def test_elastic_motion_and_torques(variant, key, until):
    displacements, torques = at_reference_times(variant, until)
    assert distance(displacements, CHAIN[key]["nu"]) < TOLERANCE
    assert distance(torques, CHAIN[key]["torque"]) < TOLERANCE


def test_the_complete_equations_are_near_the_nonlinear_chain():
    displacements, torques = at_reference_times("complete", 0.5)
    assert distance(displacements, CHAIN["exact"]["nu"]) < FIRST_ORDER / 10
    assert distance(torques, CHAIN["exact"]["torque"]) < FIRST_ORDER


def test_static_deflection_under_gravity():
    wanted = DATA["A_static_gravity"]
    model = LumpedModel(two_link_arm(ARM["ne"], gravity=(0, -9.81, 0), pose=(0.0, 0.0)))
    motion = model.at_rest()
    z = static(model, motion)
    state = ElasticState(z[None], 0 * z[None], 0 * z[None])
    assembled = model.assemble(motion)
    tip = frame_displacement(model, assembled, state, "tip")[0, 1]
    assert tip == pytest.approx(wanted["tip_deflection"], rel=1e-9)
    np.testing.assert_allclose(reactions(model, assembled, state).efforts[0], wanted["torque_analytic"], rtol=1e-9)


def test_static_deflection_converges_to_the_continuum_with_order_two():
    wanted = DATA["A_static_gravity"]["analytic_continuum"]
    errors = []
    for nodes in (2, 4, 8):
        model = LumpedModel(two_link_arm(nodes, gravity=(0, -9.81, 0), pose=(0.0, 0.0)))
        motion = model.at_rest()
        z = static(model, motion)[None]
        tip = frame_displacement(model, model.assemble(motion), ElasticState(z, 0 * z, 0 * z), "tip")[0, 1]
        errors.append(abs(tip - wanted))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.1)
