"""Shapers that are tried on a study: the table of a two-link arm, what is recommended, and what is said about it."""

import json
from math import pi
from pathlib import Path

import numpy as np
import pytest

from pliant import PID, PrescribedMotion, Quintic, Shaped, Start, Study, recommend_shaper
from pliant.errors import ModelError
from pliant.model.readers.library import read_text
from pliant.simulation.shaping import ramp_remaining

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "data" / "control.json").read_text())
LEFT = {"zv": (15, 0.6), "mzv": (10, 0.3), "zvd": (5.4, 0.15), "ei": (5.3, 0.15), "ei2": (3.2, 0.1)}
"""Percent of the swing that another program left of this move, and digits that depend on how swings are measured."""
BAND = (2.80, 3.22)
"""Hz: the lowest frequency at the end and at the start of the move, by that program."""


def fast_move(**start):
    to = {"shoulder": 1.1, "elbow": 0.5}
    return Study(
        name="fast",
        robot=read_text(REFERENCE["robots"]["two-link"]),
        until=1.0,
        start=Start(position={"shoulder": 0.4, "elbow": 1.4}, **start),
        drive=PrescribedMotion(trajectory=Quintic(to=to, duration=0.35)),
    )


@pytest.fixture(scope="module")
def found():
    return recommend_shaper(fast_move(links="equilibrium"), kinds=list(LEFT))


def test_the_swing_of_a_large_fast_move(found):
    assert found.vibrations.band(1) == pytest.approx(BAND, abs=0.006)
    assert not found.vibrations.driven
    for kind, (percent, digits) in LEFT.items():
        row = found.row(kind)
        assert 100 * row.simulated == pytest.approx(percent, abs=digits)
        assert row.added == pytest.approx(found.shaper(kind).duration)
    # the formula knows the band and not the motion: these leave the more the farther the frequency is off
    start, ratio = found.vibrations.omega[0, 0], found.vibrations.damping[0, 0]
    for kind in ("zv", "mzv", "zvd"):
        assert found.row(kind).left[0] == pytest.approx(float(found.shaper(kind).remaining(start, ratio)), rel=1e-9)
    assert 100 * found.row("slower").simulated == pytest.approx(4.5, abs=0.5)


def test_the_shortest_that_is_good_enough_is_recommended(found):
    assert found.best == "ei2"
    assert found.trajectory() == Shaped(motion=found.study.drive.trajectory, shaper="ei2")
    assert not found.warnings
    loose = recommend_shaper(fast_move(links="equilibrium"), kinds=["zv", "zvd"], tolerance=0.2)
    assert loose.best == "zv"
    none = recommend_shaper(fast_move(links="equilibrium"), kinds=["zv", "mzv"], tolerance=0.01)
    assert none.best == "mzv"
    assert "no shaper leaves 1 % or less; mzv leaves the least" in " ".join(none.warnings)


def test_shares_tell_how_much_a_mode_moves_the_frame(found):
    shares = found.vibrations.shares
    assert shares.sum(axis=1) == pytest.approx(np.ones(len(shares)))
    assert 0.9 < shares[:, 0].min() < shares[:, 0].max() < 0.99
    row = found.row("zvd")
    assert row.left[0] * shares[:, 0].min() < row.weighted < row.left[:2].max()


def test_jerk_limits_are_whole_periods(found):
    one, two = found.limits
    w, z = float(found.design.omega[0]), float(found.design.damping[0])
    assert one.tau == pytest.approx(2 * pi / (w * np.sqrt(1 - z**2)))
    assert two.tau == pytest.approx(2 * one.tau)
    # a quintic has its largest acceleration 10/sqrt(3) D/T^2
    assert one.jerk == pytest.approx(10 / np.sqrt(3) / 0.35**2 * np.array([0.7, 0.9]) / one.tau, rel=1e-5)
    undamped = np.array([0.9, 1.0, 1.3])
    assert ramp_remaining(2 * pi, undamped, np.zeros(3)) == pytest.approx(np.abs(np.sinc(undamped)), abs=1e-12)
    # a ramp is many small impulses
    times = np.linspace(0.0, 5.0, 20001)
    z = 0.2
    rows = np.exp(-z * 1.3 * (5.0 - times) + 1j * 1.3 * np.sqrt(1 - z**2) * times)
    assert ramp_remaining(5.0, np.array([1.3]), np.array([z])) == pytest.approx(abs(rows.mean()), rel=1e-3)


def test_links_that_do_not_begin_at_rest_are_told_of():
    found = recommend_shaper(fast_move(), kinds=["zv"])
    assert "the links do not begin at rest" in found.warnings[0]


def test_an_interrupt_keeps_what_is_done():
    def report(kind, part):
        assert 0 <= part <= 1
        return kind == "zvd"

    found = recommend_shaper(fast_move(links="equilibrium"), kinds=["zv", "zvd"], report=report)
    assert [row.kind for row in found.rows] == ["none", "zv"]
    assert not found.finished


def test_what_is_given_in_a_shaped_trajectory_is_kept(tmp_path):
    study = fast_move(links="equilibrium")
    motion = study.drive.trajectory
    soft = PID(trajectory=Shaped(motion=motion, frequencies=[1.16], shaper="zv"), kp=60.0, kd=6.0, gravity="desired")
    found = recommend_shaper(study.with_changes(drive=soft), kinds=["zvd"])
    assert found.design.omega == pytest.approx([2 * pi * 1.16])
    assert found.vibrations.driven
    assert found.row("zvd").simulated < 0.2
    assert "frequencies: [1.16]" in found.to_yaml()
    found.plot(tmp_path / "shape.png")
    assert (tmp_path / "shape.png").read_bytes()[:4] == b"\x89PNG"


def test_studies_without_a_motion_are_refused():
    study = fast_move(links="equilibrium")
    with pytest.raises(ModelError, match="needs a drive with a trajectory"):
        recommend_shaper(study.with_changes(drive=None))
    with pytest.raises(ModelError, match="frame is 'hand'"):
        recommend_shaper(study, frame="hand")
    with pytest.raises(ModelError, match="mode 9: there are 4 vibrations"):
        recommend_shaper(study, modes=[9])
