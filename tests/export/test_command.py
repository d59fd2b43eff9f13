"""``pliant export``: files written, and messages with exit code 2 for what cannot be."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from pliant.cli.app import app

WRONG_INPUT = 2


@pytest.fixture
def run(tmp_path, monkeypatch):
    """run(words...): the command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        return CliRunner().invoke(app, ["export", *words])

    return call


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (("--to", "c", "-o", "arm.c"), {"arm.c", "arm.h"}),
        (
            ("--to", "c", "-o", "arm.c", "--function", "bias", "--function", "pose", "--frame", "hand"),
            {"arm.c", "arm.h"},
        ),
        (("--to", "python", "-o", "arm.py"), {"arm.py"}),
        (("--to", "listing", "-o", "arm.m"), {"arm.m"}),
        (("--to", "listing", "--function", "mass_matrix", "--output", "arm.c"), {"arm.c"}),
        (("--to", "listing", "--functions", "bias,pose", "-o", "arm.py"), {"arm_bias.py", "arm_pose.py"}),
        (("--to", "matlab", "--functions", "inverse,forward_by_v", "-o", "arm.m"), {"arm.m"}),
        (("--to", "c", "--functions", "bias, rk4", "--function", "inverse_by_p", "-o", "arm.c"), {"arm.c", "arm.h"}),
    ],
)
def test_files(run, tmp_path, words, files):
    result = run("lin-lewis-rfr", *words)
    assert result.exit_code == 0, result.output
    assert {file.name for file in tmp_path.iterdir()} == files
    assert all(name in result.output for name in files)
    # C says how it is linked, in the file and on the screen
    linked = "cc -std=c99 -O2 your_program.c arm.c -lm -o your_program"
    assert (linked in result.output) == ("arm.h" in files)
    if "arm.h" in files:
        assert linked in " ".join((tmp_path / "arm.c").read_text().replace("\n *", "").split())


def test_casadi_file(run, tmp_path):
    casadi = pytest.importorskip("casadi", reason="casadi is not installed")
    assert run("lin-lewis-rfr", "--to", "casadi", "-o", "arm.casadi").exit_code == 0
    assert casadi.Function.load(str(tmp_path / "arm.casadi")).name() == "forward"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("canadarm", "--to", "c", "-o", "arm.c", "--function", "forwards"), "did you mean 'forward'?"),
        (("canadarm", "--to", "c", "-o", "my-arm.c"), "not a C identifier"),
        (("canadarm", "--to", "c", "-o", "nowhere/arm.c"), "does not exist"),
        (("canadarm", "--to", "c", "-o", "."), "must end in .c"),
        (("canadarm", "--to", "c", "-o", "arm.c", "--frame", "tipp"), "no frame 'tipp'"),
        (("canadarm", "--to", "python", "-o", "arm.c"), "must end in .py"),
        (("canadarm", "--to", "listing", "-o", "arm.f90"), "must end in .c or .py or .m"),
        (("canadarm", "--to", "matlab", "-o", "my-arm.m"), "no name of a MATLAB function"),
        (("canadarm", "--to", "python", "-o", "arm.py", "--bench"), "--bench times compiled C"),
        (("canadarm", "--to", "fortran", "-o", "arm.f90"), "fortran"),
        (("canadarm", "--to", "c", "-o", "arm.c", "--function", "forward,project"), "no closed loops"),
    ],
)
def test_refusals(run, tmp_path, words, message):
    result = run(*words)
    assert result.exit_code == WRONG_INPUT
    assert message in result.output
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


def test_a_wrong_robot_ends_as_everywhere(tmp_path):
    command = [sys.executable, "-m", "pliant", "export", "nobody", "--to", "c", "-o", str(tmp_path / "arm.c")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == WRONG_INPUT
    assert "there is no robot 'nobody'" in run.stderr
    assert "Traceback" not in run.stderr


def test_times_of_compiled_functions(run, compiler):
    result = run("lin-lewis-rfr", "--to", "c", "-o", "arm.c", "--functions", "forward,inverse,rk4", "--bench")
    assert result.exit_code == 0, result.output
    rows = {line.split()[0]: line.split()[1:4] for line in result.output.splitlines() if line[:1].islower()}
    for function in ("forward", "inverse", "rk4"):
        median, most, longest = map(float, rows[function])
        assert 0.0 <= median <= most <= longest
    # four evaluations of forward and more
    assert float(rows["rk4"][0]) > float(rows["forward"][0])
