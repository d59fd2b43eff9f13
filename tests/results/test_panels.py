"""What plots and tables show: numbers as engineers write them, no noise, no crowd of passive joints."""

import numpy as np
import pytest

from pliant import Beam, Joint, Link, Modes, Properties, Robot
from pliant.dynamics import Dynamics
from pliant.pictures.animation import make_film
from pliant.pictures.bent_links import BentLinks
from pliant.pictures.picture_words import engineering
from pliant.results.plots import MOST_PASSIVE, noise, panels
from pliant.results.report import _extremes
from pliant.results.result import Result
from pliant.simulation.run import simulate

PROPERTIES = Properties(mass_per_length=1.0, EIy=40.0, EIz=60.0)
SAME = 1e-12
"""m: of positions of about one metre."""


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (69_412.0, "N m", "69.4 kN m"),
        (-0.002_5, "m", "-2.5 mm"),
        (999.96, "J", "1 kJ"),
        (1.2, "N", "1.2 N"),
        (3.4e-7, "J", "340 nJ"),
        (2.5e13, "Pa", "2.50e+04 GPa"),
        (np.pi / 6, "rad", "0.524 rad (30°)"),
        (-0.0, "rad", "0 rad"),
        (0.0, "N m", "0 N m"),
        (0.25, "", "0.25"),
        (1500.0, "kg", "1.5e+03 kg"),
        (float("inf"), "N", "inf N"),
    ],
)
def test_engineering_numbers(value, unit, text):
    assert engineering(value, unit) == text


@pytest.fixture(scope="module")
def parallel():
    """Rods held at both ends, five passive joints, and motors that are off."""
    return simulate("three-prs", until=0.02)


@pytest.fixture(scope="module")
def arm_run():
    return simulate(Dynamics("two-link-flexible", compile="never"), until=0.02)


def shown(run):
    return {panel.title: panel for panel in panels(run)}


def test_motors_that_are_off_need_no_plot(arm_run):
    titles = shown(arm_run)
    assert "joint angles" in titles
    assert not any("motor" in title for title in titles)


def test_noise_is_zero(arm_run):
    """Torques and deflections a little above zero, as rounding leaves them."""
    quiet = arm_run.samples.arrays()
    rng = np.random.default_rng(1)
    level = 1e-3 * noise(arm_run, "N m")
    noisy = type(arm_run.samples)(**{**quiet, "tau": level * rng.standard_normal(quiet["tau"].shape)})
    run = Result(arm_run.robot, noisy, arm_run.info, arm_run.arm)
    assert not any("motor" in title for title in shown(run))
    table = {row[0]: row for row in _extremes(run)}
    assert table["elbow.torque"][1] == table["elbow.torque"][3] == "0 N m"
    loud = type(arm_run.samples)(**{**quiet, "tau": np.full_like(quiet["tau"], 0.5)})
    heard = Result(arm_run.robot, loud, arm_run.info, arm_run.arm)
    assert "motor torques" in shown(heard)
    assert {row[0]: row for row in _extremes(heard)}["elbow.torque"][3] == "500 mN m"


def test_an_energy_error_is_plotted_where_there_is_one(arm_run):
    """What rounding leaves of the balance is zero and needs no plot; what a coarse integration leaves is shown."""
    title = "energy balance: gained - work + losses"
    assert np.abs(arm_run["energy.balance"]).max() < noise(arm_run, "J")
    assert title not in shown(arm_run)
    coarse = simulate(arm_run.arm, until=0.02, method="rk4", step=2e-3)
    assert title in shown(coarse)


def test_angles_are_in_degrees_too(arm_run):
    table = {row[0]: row for row in _extremes(arm_run)}
    assert table["elbow"][3].endswith("°)")
    assert table["|upper.deflection|"][3].endswith((" mm", " µm"))


def test_passive_joints_have_a_panel_of_their_own(parallel):
    titles = shown(parallel)
    inputs = set(parallel.arm.inputs)
    assert set(titles["joint shifts"].curves) == inputs
    passive = next(panel for title, panel in titles.items() if title.startswith("passive joint angles"))
    assert not inputs & set(passive.curves)
    assert len(passive.curves) <= MOST_PASSIVE
    joints = parallel.robot.joint_coordinates
    many = [name for name in joints if name not in inputs and parallel.unit(name) == "rad"]
    assert ("of" in passive.title) == (len(many) > MOST_PASSIVE)


def test_rods_between_two_joints_bend_in_the_middle(parallel):
    """What a rod does between its ends is plotted, and is what its axis does in space."""
    title = "bending of links between their ends, link axes"
    rods = [link.name for link in parallel.robot.links if link.is_flexible]
    assert {name.split()[0] for name in shown(parallel)[title].curves} == set(rods)
    at = BentLinks(parallel.arm, parallel.q)
    for name in rods:
        axis = at.axis(parallel.robot.link(name), 3)
        away = np.linalg.norm(axis[:, 1] - (axis[:, 0] + axis[:, 2]) / 2, axis=1)
        assert np.abs(np.linalg.norm(parallel[f"{name}.bending"], axis=1) - away).max() < SAME


def test_chords_show_their_middle():
    """A beam whose frame is its chord has no deflection at the tip; its bending is seen all the same."""
    # to second order the tip moves back
    shape = Modes(shape="pinned-pinned", bend_y=1)
    beam = Beam(length=1.0, properties=PROPERTIES, bending="linear", modes=shape)
    robot = Robot(name="chord", links=[Link(name="bar", joint=Joint(name="pin", axis="z"), beam=beam)])
    arm = Dynamics(robot, compile="never")
    run = simulate(arm, until=0.01, start=({"bar.bend_y.1": 0.01}, {}))
    titles = shown(run)
    assert not any("link tips" in title for title in titles)
    (curve,) = titles["bending of links between their ends, link axes"].curves.values()
    # one half wave of unit modal mass times 0.01
    assert curve[0] == pytest.approx(1e3 * run["bar.bending"][0, 1])
    assert abs(curve[0]) > 1.0


def test_loads_are_in_the_film(arm_run):
    """The payload of the forearm is at its tip in every picture."""
    film = make_film(arm_run.arm, arm_run.time, arm_run.q, 5)
    members = arm_run.arm.mechanism.members
    assert film.loads.shape == (5, sum(len(member.parts) for member in members), 3)
    assert np.abs(film.loads[:, -1] - film.tip).max() < SAME
