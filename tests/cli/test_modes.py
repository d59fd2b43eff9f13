"""``pliant modes`` as a user runs it."""

import re

import pytest

import pliant


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
        (("two-link-flexible", "--at", "elbow=30"), "30deg, or 30rad if so many turns are meant"),
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


def test_frequencies_over_the_speed_of_a_joint(run, tmp_path):
    """Dynamic stiffness alone stops the first swing; second-order links stiffen."""
    done = run("single-flexible-link", "--spin", "shoulder=300rpm", "--plot", str(tmp_path / "speed.png"))
    assert done.returncode == 0, done.stderr
    last = next(line for line in done.stdout.splitlines() if line.strip().startswith("300"))
    _, speed, dynamic, stiffened, *_ = last.split()
    assert (speed, dynamic) == ("31.42", "0")
    assert float(stiffened) == pytest.approx(3.09, abs=0.01)
    assert (tmp_path / "speed.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--spin", "shoulder"), "write it as joint=speed"),
        (("--spin", "shoulder=3m"), "it must be an angular velocity"),
        (("--spin", "shoulde=3rpm"), "has no actuated joint 'shoulde'; did you mean 'shoulder'"),
        (("--spin", "shoulder=3rpm", "--free"), "--spin: it stands alone"),
        (("--spin", "shoulder=3rpm", "--load", "tip=0,0,1"), "leave --load out"),
        (("--spin", "shoulder=3rpm", "--follower", "tip=0,0,1"), "leave --follower out"),
        (("--spin", "shoulder=3rpm", "--rate", "shoulder=1"), "leave --rate out"),
    ],
)
def test_what_cannot_spin_is_refused(run, arguments, words):
    done = run("single-flexible-link", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_an_assembly_mode_by_its_name(run, tmp_path):
    """Elbows to the other side: the drives stay, the passive joints follow."""
    file, robot = tmp_path / "five.yaml", pliant.load("five-bar")
    modes = {"elbows out": {"left_elbow": 1.3717, "right_elbow": -1.3717}}
    file.write_text(robot.with_changes(assembly={"modes": modes}).to_yaml(), encoding="utf-8")
    done = run(str(file), "--at", "elbows out")
    assert done.returncode == 0, done.stderr
    assert "left_elbow" in done.stdout
    values = re.search(r"left_elbow (-?[\d.]+) rad.*right_elbow (-?[\d.]+) rad", done.stdout.replace("\n", " "))
    assert float(values[1]) > 0 > float(values[2])
    refused = run(str(file), "--at", "elbows in")
    assert "or give an assembly mode (elbows out)" in refused.stderr
