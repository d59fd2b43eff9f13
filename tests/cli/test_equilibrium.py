"""``pliant equilibrium`` as a user runs it."""

import pytest


@pytest.fixture
def run(run):
    """``pliant equilibrium ARGUMENTS...``"""
    return lambda *arguments: run("equilibrium", *arguments)


def test_sag_and_holding_efforts(run):
    done = run("two-link-flexible", "--load", "tip=0,0,-5")
    assert done.returncode == 0, done.stderr
    assert "drives hold the joints" in done.stdout
    assert "12.32 N m" in done.stdout
    assert "-0.2218, -14.57, 0" in done.stdout


def test_rigid_robots_have_no_table_of_bending(run, tmp_path):
    (tmp_path / "rod.yaml").write_text("name: rod\nlinks: [{name: a, joint: {axis: y}, rigid: {mass: 1, length: 1}}]\n")
    done = run("rod.yaml")
    assert done.returncode == 0, done.stderr
    assert "no link bends" in done.stdout
    assert "tip deflection" not in done.stdout


def test_limits_are_told(run):
    done = run("two-link-flexible", "--load", "tip=0,0,-200")
    assert done.returncode == 0
    assert "warning: link 'upper' bends until its tip turns by" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("two-link-flexible", "--load", "tip=heavy"), "write it as FRAME=FX,FY,FZ"),
        (("two-link-flexible", "--load", "tipp=0,0,1"), "no frame 'tipp'"),
        (("two-link-flexible", "--follower", "tip=0,1"), "it must be 3 numbers"),
    ],
)
def test_wrong_input(run, arguments, words):
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
