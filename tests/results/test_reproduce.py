"""The papers again: what is said about them follows from numbers."""

import io

import numpy as np
import pytest
from rich.console import Console

from pliant.reproduce import canadarm, cibicik
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
    monkeypatch.setattr(cibicik, "UNTIL", 0.7)
    monkeypatch.setattr(cibicik, "_ends", lambda run, console: None)
    text = io.StringIO()
    cibicik.main(tmp_path, Console(file=text, width=110))
    assert "our own" in text.getvalue()
    assert {p.name for p in tmp_path.iterdir()} == {*(f"cibicik-figure-{k}.png" for k in range(6, 11)), "cibicik.html"}
