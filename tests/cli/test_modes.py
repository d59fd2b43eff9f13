"""``pliant modes`` as a user runs it."""

import pytest


@pytest.fixture
def run(run):
    """``pliant modes ARGUMENTS...``"""
    return lambda *arguments: run("modes", *arguments)


def test_table(run):
    done = run("canadarm")
    assert done.returncode == 0
    assert "drives hold the joints" in done.stdout
    assert "0.9768" in done.stdout
    assert "upper.bend_" in done.stdout


def test_configuration_with_units(run):
    straight, bent = run("two-link-flexible", "--at", "elbow=0deg"), run("two-link-flexible", "--at", "elbow = -90 deg")
    assert "elbow 0" in straight.stdout
    assert "elbow -1.571" in bent.stdout
    assert straight.stdout.splitlines()[-4:] != bent.stdout.splitlines()[-4:]


def test_free_joints(run):
    done = run("lin-lewis-rfr", "--free", "--count", "2")
    assert "all joints free" in done.stdout
    assert "and 2 more" in done.stdout


def test_straight_and_weightless_links_with_their_convergence(run):
    done = run("two-link-flexible", "--straight", "--weightless", "--convergence", "--count", "4")
    assert done.returncode == 0, done.stderr
    assert "straight links, without gravity" in done.stdout
    assert "3 times" in done.stdout
    assert "65.98" in done.stdout
    assert "frequency 3 goes from 67.9 to 65.98 Hz (2.9 %)" in done.stderr


@pytest.mark.parametrize("robot", ["two-link-flexible", "dualemps", "seven-joint-arm"])
def test_pictures(run, tmp_path, robot):
    done = run(robot, "--plot", "modes.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "modes.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("two-link-flexible", "--at", "elbo=3"), "elbo"),
        (("two-link-flexible", "--at", "elbow"), "joint=value"),
        (("two-link-flexible", "--at", "elbow=3 kg"), "elbow"),
        (("two-link-flexible", "--plot", "modes.doc"), "must end in"),
        (("no-such-robot",), "there is no robot"),
    ],
)
def test_wrong_input(run, arguments, words):
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
