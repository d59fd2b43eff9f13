"""The papers again: what is said about them follows from numbers."""

import io
from importlib.util import find_spec

import numpy as np
import pytest
from rich.console import Console

from pliant.reproduce import canadarm, cibicik, dualemps
from pliant.simulation.run import run_study
from pliant.simulation.study import load_study


def test_the_dense_solution_does_not_fail():
    """Mohan & Saha, section 7.2, as ERRATA has it: fixed steps agree to 1e-14 rad, and to the end."""
    study = load_study("canadarm", changes={"until": 1.0})
    found = canadarm.compare(study.with_changes(robot=canadarm.planar_canadarm()), "rk4, 2 ms")
    assert found.angle < 1e-13
    assert found.dense.finished
    assert found.balance_dense == pytest.approx(found.balance_recursive, rel=1e-3)


def test_the_power_difference_is_no_error():
    """It is large (25 W at its peak) in a solution whose energy balance is good."""
    study = load_study("canadarm", changes={"until": 3.0})
    run = run_study(study.with_changes(robot=canadarm.planar_canadarm()))
    assert np.abs(canadarm.power_difference(run)).max() > 20.0
    assert np.abs(run["energy.balance"]).max() < 1e-8


def test_the_manoeuvre_is_that_of_the_paper(tmp_path, monkeypatch):
    """Shortened: nothing moves before 0.5 s but under gravity, and then joints 2 to 4 only."""
    monkeypatch.setattr(cibicik, "UNTIL", 0.55)
    monkeypatch.setattr(cibicik, "GROWTH_EVERY", 0.2)
    monkeypatch.setattr(cibicik, "_ends", lambda run, console: None)
    text = io.StringIO()
    cibicik.main(tmp_path, Console(file=text, width=160))
    said = text.getvalue()
    assert "our own" in said
    assert "not symmetric" in said
    if find_spec("sympy"):
        # appendix B, and derivatives beside 11 s and 181 s
        assert "(149) is the first-order part of the true velocity" in said
        assert "chain rule" in said
    figures = {f"cibicik-figure-{k}.png" for k in range(5, 11)} | {"cibicik-printed.png"}
    assert {p.name for p in tmp_path.iterdir()} == figures | {"cibicik.html"}
    # bent by gravity, and straight
    assert "3.986, 4.331, 8.230, 8.469 Hz about the arm that gravity bends, 3.965, 4.310" in " ".join(said.split())


def test_rates_and_torques_of_the_manoeuvre_have_their_peaks(monkeypatch):
    """Samples resolve the fastest vibration, and torques right after a set point jumps are there: kp times the jump."""
    monkeypatch.setattr(cibicik, "UNTIL", 0.52)
    run = cibicik.simulate("recursive")
    fastest = 1064.3
    assert np.diff(run.result.time).max() < 1 / (8 * fastest)
    before, after = run.result.tau[int(np.argmin(np.abs(run.result.time - 0.5)))], run.jumps[0.5]
    kp = cibicik.drive()[0]
    jump = np.array([0.0, np.pi / 3 - 0.5235987756, np.pi / 3 - 2.0943951024, np.pi / 3 - 0.5235987756])
    # gravity is that of the desired pose
    np.testing.assert_allclose((after - before)[3], (kp * jump)[3], rtol=0.01)
    times, tau = run.torques()
    assert len(times) == len(tau) == len(run.result.time) + 1
    assert np.abs(tau[:, 2]).max() == pytest.approx(758.0, rel=1e-3)
    assert np.abs(run.result.tau[:, 2]).max() < 740
    slow = run.result["jib.bend_y.1.rate"][::50]
    assert np.abs(run.result["jib.bend_y.1.rate"]).max() > 1.5 * np.abs(slow).max()


def test_the_linearised_manoeuvre_is_near_the_nonlinear_one(monkeypatch):
    """Both models of the fold: joints to a tenth of a percent, flexure to two; fewer operations."""
    monkeypatch.setattr(cibicik, "UNTIL", 0.8)
    exact, linear = (cibicik.simulate(method) for method in ("recursive", "dual_screw"))
    assert linear.operations < exact.operations
    assert not linear.trouble
    for family, share in (("", 1e-3), ("bend_y", 2e-2)):
        apart, largest = cibicik.difference(linear.result, exact.result, family)
        assert 0 < apart < share * largest


# the coarse run is compared with the fine one
@pytest.mark.filterwarnings("ignore:the run is off by")
def test_the_square_and_the_circle_of_the_dualemps(tmp_path, monkeypatch):
    """Shortened to the first edge and its rest, and the first part of the circle."""
    monkeypatch.setattr(dualemps, "FINE_ELEMENTS", 2)
    monkeypatch.setattr(dualemps, "FINE_MODES", 1)
    found = dualemps.runs(until=4.0)
    monkeypatch.setattr(dualemps, "runs", lambda: found)
    text = io.StringIO()
    dualemps.main(tmp_path, Console(file=text, width=110))
    assert "365 (square)" in text.getvalue()
    figures = {f"dualemps-figures-{numbers}.png" for numbers in ("7-8", "9-11", "12-14")}
    tables = {f"dualemps-{name}.csv" for name in ("frequencies", "square", "circle")}
    assert {p.name for p in tmp_path.iterdir()} == figures | tables
    square, implicit, circle = found
    # section 5: the carriage of 95 kg at 0.347 m/s^2, friction 25 N + 250 N s/m, at the end of the first ramp
    k = int(np.argmin(np.abs(square.time - 0.599)))
    rigid = 96.5 * 0.25 / 1.8**2 * 4.5 + 25 + 250 * square["q11.rate"][k]
    assert square["q11.force"][k] == pytest.approx(rigid, rel=0.03)
    # the rest: friction holds the pivots, and P rings as the beams alone do
    stuck = dualemps.held_frequencies(square.arm, square.q[-1], (*dualemps.DRIVES, *dualemps.PIVOTS))[0]
    assert dualemps.ringing(square, *dualemps.REST) == pytest.approx(stuck, rel=5e-3)
    # implicit steps stretch the period as the amplitude falls to their tolerance
    assert dualemps.ringing(implicit, *dualemps.REST) == pytest.approx(stuck, rel=4e-2)
    # P keeps to the circle but for bending, at 0.2 m/s
    p = circle["tool_17.root.position"]
    assert np.abs(np.linalg.norm(p - [0.28, 0.0, 0.9], axis=1) - 0.1).max() < 3e-4
    speed = np.linalg.norm(circle["tool_17.root.velocity"], axis=1)
    assert speed[500:].mean() == pytest.approx(0.2, rel=1e-3)
    for run in (square, circle):
        assert run["loops.gap"].max() < 1e-9
        assert np.abs(run["energy.balance"]).max() < 1e-8 * run["work"][-1]
