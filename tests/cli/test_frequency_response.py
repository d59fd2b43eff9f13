"""``pliant frf`` and ``pliant zeros`` as a user runs them."""

import numpy as np
import pytest


def test_response_with_picture_and_file(run, tmp_path):
    done = run(
        "frf", "two-link-flexible", "--input", "shoulder", "--output", "tip.z", "--at", "elbow=40deg",
        "--kp", "60", "--kd", "6", "--plot", "bode.png", "--csv", "bode.csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "two-link-flexible: tip.z / shoulder" in done.stdout
    assert (tmp_path / "bode.png").stat().st_size > 5000
    rows = np.loadtxt(tmp_path / "bode.csv", delimiter=",", skiprows=1)
    assert rows.shape[0] > 800
    # its own file laid over it is no distance away
    again = run(
        "frf", "two-link-flexible", "--input", "shoulder", "--output", "tip.z", "--at", "elbow=40deg",
        "--kp", "60", "--kd", "6", "--measured", "bode.csv",
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    (line,) = [line for line in again.stdout.splitlines() if line.startswith("magnitudes are")]
    assert float(line.split()[2]) < 1e-6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--output", "tip.z"), "--input: which joint? The robot has shoulder, elbow"),
        (("--output", "tip.q", "--input", "elbow"), "has no output 'tip.q'"),
        (("--output", "tip.z", "--input", "wrist"), "has no input 'wrist'"),
        (("--output", "tip.z", "--input", "elbow", "--from", "10", "--to", "1"), "they must be positive and increase"),
        (("--output", "tip.z", "--input", "elbow", "--measured", "no.csv"), "no.csv"),
        (("--output", "tip.z", "--input", "elbow", "--measured", "bad.csv"), "bad.csv, line 3: 2,x,3"),
        (("--output", "tip.z", "--input", "elbow", "--measured", "odd.csv"), "odd.csv, line 1: the columns are f,g"),
    ],
)
def test_wrong_input(run, tmp_path, arguments, words):
    (tmp_path / "bad.csv").write_text("frequency [Hz],magnitude,phase [deg]\n1,2,3\n2,x,3\n", encoding="utf-8")
    (tmp_path / "odd.csv").write_text("f,g\n1,2\n", encoding="utf-8")
    done = run("frf", "two-link-flexible", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_outputs_in_another_plane_are_told(run):
    done = run("frf", "two-link-flexible", "--input", "shoulder", "--output", "tip.y", "--kp", "60", "--kd", "6")
    assert done.returncode == 0, done.stderr
    assert "tip.y does not answer shoulder at all" in done.stderr


def test_zeros_with_a_verdict(run):
    done = run("zeros", "single-flexible-link", "--output", "tip.y")
    assert done.returncode == 0, done.stderr
    assert "not minimum phase from shoulder to tip.y: 3 of 6 zeros lie in the right half" in done.stdout
    assert "moves by 38 % where links are finer" in done.stderr
    hub = run("zeros", "single-flexible-link", "--output", "shoulder")
    assert "minimum phase from shoulder to shoulder" in hub.stdout
    wrong = run("zeros", "single-flexible-link", "--output", "tip.y.rate")
    assert wrong.returncode == 2
    assert "zeros are those of positions" in wrong.stderr
