"""Links of solids in robots: rotation, large tip forces and stress against nonlinear solids and closed forms."""

from functools import cache

import numpy as np
import pytest

import pliant
from pliant import Dynamics, Joint, Link, Robot, StressData, build_body, frequencies_in_rotation
from pliant.analysis.along import moving_links
from pliant.analysis.equilibrium import settle
from pliant.analysis.link_stress import nodal_stress
from pliant.model.readers.solid_links import modal_data, surface_stress
from pliant.solid_mechanics.interfaces import make_interface
from pliant.solid_mechanics.reduced_solid import reduced_solid
from pliant.solid_mechanics.tetrahedra import Elastic, MeshedSolid
from solids import bar_mesh, end, reference_solid

TURNING = {"bar": {100.0: 1e-3, 200.0: 1e-3}, "bracket": {50.0: 1.5e-3, 100.0: 4e-3, 150.0: 1e-2}}
"""Allowed of the first four frequencies of the full nonlinear solid, by speed, rad/s."""


@cache
def link_of(name, modes=10):
    case, solid = reference_solid(name)
    origin = np.array(case["tip_origin"])
    tip = make_interface("tip", solid.mesh.nodes, np.array(case["tip_nodes"]), origin, "average")
    return case, modal_data(reduced_solid(solid, np.array(case["root_nodes"]), [tip], modes=modes))


def robot_of(modal, **joint):
    return Robot(name="solid", gravity=(0, 0, 0), links=[Link(name="link", joint=Joint(**joint), modal=modal)])


@pytest.mark.parametrize("axis", ["z", "y"])
@pytest.mark.parametrize("name", TURNING)
def test_frequencies_in_rotation(name, axis):
    case, modal = link_of(name)
    rows = [row for row in case["rotating"][axis] if row["omega"] in TURNING[name]]
    speeds = [row["omega"] for row in rows]
    found = frequencies_in_rotation(robot_of(modal, name="hub", axis=axis), "hub", speeds, count=4)
    for row, stiff, soft in zip(rows, found.stiffened, found.softened, strict=True):
        wanted = 2 * np.pi * np.array(row["hz"][:4])
        assert np.abs(stiff / wanted - 1).max() < TURNING[name][row["omega"]]
        assert np.abs(soft / wanted - 1).max() > 4 * TURNING[name][row["omega"]]


def test_fields_that_are_left_out_do_not_matter(monkeypatch):
    """Eight of twelve: the frequencies of the turning bracket stay within a part in a thousand."""
    _, modal = link_of("bracket")
    kept = build_body(Link(name="link", joint=Joint(type="fixed"), modal=modal)).large
    assert (len(kept.fields.forms), kept.left_out) == (8, 4)
    robot = robot_of(modal, name="hub", axis="z")
    few = frequencies_in_rotation(robot, "hub", [100.0], count=4).stiffened
    monkeypatch.setattr("pliant.bodies.foreshortening.MOST_FIELDS", 12)
    other = modal.with_changes(length=0.5)
    assert not build_body(Link(name="link", joint=Joint(type="fixed"), modal=other)).large.left_out
    every = frequencies_in_rotation(robot_of(other, name="hub", axis="z"), "hub", [100.0], count=4).stiffened
    np.testing.assert_allclose(few, every, rtol=1e-3)


@pytest.mark.parametrize("name", TURNING)
def test_large_tip_forces(name):
    """Places and turns of the tip of the nonlinear solid; without the second-order turn the bracket's misses more."""
    case, modal = link_of(name)
    arm = Dynamics(robot_of(modal, type="fixed"), compile="never")
    for row in case["dead_tip_force_nonlinear"]["rows"]:
        rest = settle(arm, loads={"tip": row["force"]})
        tip = arm.pose("tip", rest.q)
        moved, wanted = tip.position - case["tip_origin"], np.array(row["tip_displacement"])
        assert np.linalg.norm(moved - wanted) < 5e-3 * np.linalg.norm(wanted)
        turn = np.array([tip.rotation[2, 1], tip.rotation[0, 2], tip.rotation[1, 0]])
        turn = (turn - [tip.rotation[1, 2], tip.rotation[2, 0], tip.rotation[0, 1]]) / 2
        known = np.array(row["tip_turn_vector"])
        known = known * np.sinc(np.linalg.norm(known) / np.pi)
        assert np.linalg.norm(turn - known) < 5e-3 * np.linalg.norm(known)


@pytest.fixture(scope="module")
def fine_bar(tmp_path_factory):
    """The bar of the reference, finer, with a rigid tip and stresses at its nodes."""
    mesh = bar_mesh((0.5, 0.02, 0.04), (20, 2, 4))
    solid = MeshedSolid(mesh, Elastic(70e9, 0.3, 2700.0))
    tip = make_interface("tip", mesh.nodes, end(mesh, 0.5), np.array([0.5, 0, 0]), "rigid")
    reduced = reduced_solid(solid, end(mesh, 0.0), [tip], modes=8)
    path = tmp_path_factory.mktemp("bar") / "bar.npz"
    StressData(**surface_stress(reduced, 250e6)._asdict()).save(path)
    return modal_data(reduced, stress=str(path))


def stress_at(arm, x, rest):
    """Largest stress along the axis in the middle of the upper and lower side at a section, in one state."""
    data = StressData.load(arm.robot.links[0].modal.stress)
    here = np.abs(data.points[:, :2] - [x, 0.0]).max(axis=1) < 1e-6
    stress = nodal_stress("link", data, moving_links(arm, rest)["link"])
    assert here.any()
    return np.abs(stress.tensor(0)[here, 0]).max(), stress


def test_stress_of_a_spinning_bar(fine_bar):
    """rho w^2 (L^2 - x^2) / 2, of which the eight shapes alone show nothing."""
    arm = Dynamics(robot_of(fine_bar, name="hub", axis="z"), compile="never")
    rest = settle(arm, rates={"hub": 300.0})
    found, stress = stress_at(arm, 0.25, rest)
    assert found == pytest.approx(2700 * 300.0**2 * (0.25 - 0.0625) / 2, rel=5e-3)
    shapes = np.einsum("pk,k->p", stress.data.modes[:, 0], stress.q_e[0])
    middle = np.abs(stress.data.points[:, 0] - 0.25) < 1e-6
    assert np.abs(shapes[middle].mean()) < 1e-3 * found


def test_stress_of_a_loaded_bar(fine_bar):
    """M c / I at mid-span under its weight, a tip force and a payload, and the largest with its utilisation."""
    load, mass = 200.0, 3.0
    robot = robot_of(fine_bar, type="fixed").with_changes(gravity=(0, 0, -9.81))
    link = robot.links[0].with_changes(payloads=[{"mass": mass}])
    arm = Dynamics(robot.with_changes(links=[link]), compile="never")
    rest = settle(arm, loads={"tip": [0, 0, -load]})
    found, _ = stress_at(arm, 0.25, rest)
    line = 2700 * 0.02 * 0.04 * 9.81
    moment = (load + mass * 9.81) * 0.25 + line * 0.25**2 / 2
    assert found == pytest.approx(moment * 0.02 / (0.02 * 0.04**3 / 12), rel=5e-3)
    peak = pliant.stress_peak(arm, "link", rest)
    assert peak.place[0] < 0.05
    assert peak.utilisation == pytest.approx(peak.value / 250e6)
    assert pliant.stress_peak(arm, "link", rest, near_rigid=True).value > peak.value
