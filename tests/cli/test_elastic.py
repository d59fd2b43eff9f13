"""``pliant elastic``: what links do beside a nominal motion, from the command line."""

import numpy as np


def test_an_elastic_motion_is_told_and_written(run, tmp_path):
    options = ("--steps", "600", "--frame", "tip", "--frame", "fore.2", "--frequencies", "2", "--nodes", "--full")
    done = run("elastic", "two-link-circle", *options, "--plot", "x.svg", "--csv", "x.csv", "-o", "x.h5")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "as its trajectory says; 16 displacements, 600 steps" in text
    # as if rigid the tip leaves its circle by 1.82 mm, the iteration 0 of successive approximation
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith("tip "))
    assert abs(float(row[1]) - 1.82) < 0.01
    assert "upper.4" in text
    assert "simulated on the full model with these motions of the joints: the tip is 0.00" in text
    columns = (tmp_path / "x.csv").read_text().splitlines()
    assert len(columns) == 602
    assert "fore.2.turn.z [rad]" in columns[0]
    assert (tmp_path / "x.h5").stat().st_size > 10_000


def test_approximate_forward_dynamics_from_the_command_line(run, tmp_path):
    """Efforts that are needed beside those given; the same study with its trajectory left aside."""
    (tmp_path / "push.yaml").write_text(
        "robot: two-link-flexible\nuntil: 0.3 s\n"
        "drive: {given: {joints: {shoulder: '20*sin(10*t)', elbow: '5*sin(10*t)'}}}\nstart: {links: equilibrium}\n"
    )
    done = run("elastic", "push.yaml", "--steps", "300", "--full")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "moves under its drive, as if rigid" in text
    assert "largest given" in text
    assert "approximate forward dynamics: the motion needs efforts within" in text
    assert "simulated on the full model: the tip is" in text
    done = run("elastic", "push.yaml", "--load", "tip=1,0,0")
    assert done.returncode == 2
    assert "let them act as disturbances" in done.stderr


def test_loads_on_nodes_move_the_tip(run, tmp_path):
    tips = []
    for options in ((), ("--load", "fore.2=0,3,0", "--balanced")):
        done = run("elastic", "two-link-circle", "--steps", "300", "--csv", "x.csv", "-q", *options)
        assert done.returncode == 0, done.stderr
        head, first, *_ = (tmp_path / "x.csv").read_text().splitlines()
        tips.append(np.array(first.split(","), dtype=float)[head.split(",").index("tip.displacement.y [m]")])
    assert abs(tips[0]) < 1e-12
    assert tips[1] > 1e-4
    done = run("elastic", "two-link-circle", "--equations", "mine")
    assert done.returncode == 2
    assert "they must be one of complete, absolute, printed" in done.stderr


def test_matrices_are_printed_alone(run):
    done = run("elastic", "two-link-circle", "--steps", "300", "--elements", "1", "--matrices", "upper.1", "--at", "1")
    assert done.returncode == 0, done.stderr
    assert "C_N(w)  nodal dynamic damping matrix (4.2)" in done.stdout
    printed = run(
        "elastic", "two-link-circle", "--steps", "300", "--elements", "1", "--matrices", "upper.1", "--at", "1",
        "--equations", "printed",
    )  # fmt: skip
    assert "as printed: gamma is absolute" in printed.stdout
    for options, words in (
        (("--at", "1"), "--at is the instant of --matrices"),
        (("--matrices", "robot", "--nodes"), "prints matrices and nothing else; leave --nodes out"),
        (("--matrices", "upper", "--at", "9", "--steps", "300"), "--at is 9 s; the motion ends at 2.6 s"),
    ):
        done = run("elastic", "two-link-circle", *options)
        assert done.returncode == 2
        assert words in done.stderr
