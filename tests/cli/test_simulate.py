"""``pliant simulate``: real processes, interrupted, killed, resumed, and out of space."""

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.errors import ModelError
from pliant.results.result import Result
from pliant.simulation.checkpoint import CheckpointFile, partial_path, read_checkpoint
from pliant.simulation.run import run_study
from pliant.simulation.study import load_study

SOURCE = Path(pliant.__file__).parents[1]
# seconds until a started process must have done something, on a machine under load
PATIENCE = 100
# small tolerance and long time: a run that does not end by itself while a test looks at it
ENDLESS = ("single-link", "--until", "1000", "--tolerance", "1e-11", "-o", "run.h5")
INTERVAL = 0.2


@pytest.fixture
def start(tmp_path):
    """Start ``pliant ARGUMENTS...`` without waiting; whatever still runs at the end is killed."""
    started = []

    def start(*arguments, **options):
        command = [sys.executable, "-m", "pliant", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1"}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8", **options}
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, **streams)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_for(condition, process):
    """Wait until a condition holds; the process must not end before."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    pytest.fail("nothing happened")


def wait_for_checkpoints(path, process, size=0):
    """Wait until some checkpoints have been added to a file of a size, and one of them is whole."""

    def whole():
        try:
            return path.exists() and path.stat().st_size > size + 20_000 and bool(read_checkpoint(path).memory)
        except ModelError:
            return False

    wait_for(whole, process)


def clean(text):
    return "Traceback" not in text


# ---------------------------------------------------------------- a run to its end


def test_a_bundled_study(run, tmp_path):
    done = run("simulate", "single-link", "--until", "0.1", "--plot", "run.png", "--csv", "run.csv")
    assert done.returncode == 0, done.stderr
    assert "integrator dop853: the fastest motion" in done.stdout
    assert "balance within" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.csv", "run.png", "single-link.h5"]
    result = Result.load(tmp_path / "single-link.h5")
    assert result.finished
    assert result.time[-1] == 0.1
    assert (tmp_path / "run.csv").read_text().startswith("time [s],shoulder [rad]")


def test_films_and_views(run, tmp_path):
    done = run("simulate", "single-link", "--until", "0.1", "--film", "run.gif", "--report", "run.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-3:] == [f"written to {name}" for name in ("single-link.h5", "run.gif", "run.html")]
    for name in ("single-link.html", "again.gif", "again.svg", "again.csv"):
        more = () if name == "single-link.html" else ("-o", name)
        done = run("view", "single-link.h5", "--no-browser", *more)
        assert done.stdout == f"written to {name}\n", done.stderr
        assert (tmp_path / name).stat().st_size > 1000
    assert (tmp_path / "again.gif").read_bytes() == (tmp_path / "run.gif").read_bytes()
    (tmp_path / "other.h5").write_bytes((tmp_path / "single-link.h5").read_bytes())
    done = run("report", "single-link.h5", "other.h5")
    assert done.stdout == "written to single-link-other.html\n", done.stderr
    page = (tmp_path / "single-link-other.html").read_text("utf-8")
    assert "<h1>single-link and other</h1>" in page
    for words, why in (
        (("view", "single-link.h5", "other.h5", "-o", "both.gif"), "several runs are compared on a page only"),
        (("view", "canadarm"), "canadarm is no run; a robot is shown by: pliant view canadarm --live"),
        (("view", "canadarm", "--live", "-o", "a.html"), "--live shows a scene and writes nothing"),
        (("view", "canadarm", "single-link.h5", "--live"), "one robot, or one or more runs, are shown"),
        (("report", *["single-link.h5"] * 7), "at most 6 can be compared"),
    ):
        refused = run(*words)
        assert (refused.returncode, why in refused.stderr) == (2, True), refused.stderr
    refused = run("view", "single-link.h5", "-o", "run.txt")
    assert refused.returncode == 2
    assert "must end in .html, .htm, .png" in refused.stderr
    missing = run("view", "nothing.h5")
    assert missing.returncode == 2
    assert missing.stderr == "nothing.h5: there is no such file\n"


STUDIES = ("canadarm", "two-link", "single-link", "seven-joint", "dualemps-square", "dualemps-circle", "cibicik")


def test_list(run):
    done = run("simulate", "--list")
    assert all(name in done.stdout for name in STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_bundled_studies_run(name):
    result = run_study(load_study(name, changes={"until": 0.02}))
    assert result.finished
    assert not result.warnings


def test_a_finished_run_can_be_prolonged(run, tmp_path):
    assert run("simulate", "single-link", "--until", "0.05", "-q").returncode == 0
    done = run("simulate", "single-link", "--until", "0.1", "--resume")
    assert done.returncode == 0, done.stderr
    assert "resumed at 0.05 s" in done.stdout
    whole = Result.load(tmp_path / "single-link.h5")
    assert run("simulate", "single-link", "--until", "0.1", "-q", "-o", "once.h5").returncode == 0
    once = Result.load(tmp_path / "once.h5")
    assert np.array_equal(whole.time, once.time)
    assert np.allclose(whole.q, once.q, atol=1e-9)


def test_a_run_does_not_go_back(run, tmp_path):
    """An end that the run has passed is refused, and nothing is touched."""
    assert run("simulate", "single-link", "--until", "0.1", "-q").returncode == 0
    before = (tmp_path / "single-link.h5").read_bytes()
    for given in ("single-link", "single-link.h5"):
        done = run("simulate", given, "--until", "0.04", "--resume")
        assert done.returncode == 2
        assert "the run has already reached 0.1 s, which is past the end of 0.04 s" in done.stderr
        assert "go on with an --until above 0.1" in done.stderr
    assert (tmp_path / "single-link.h5").read_bytes() == before
    again = run("simulate", "single-link", "--until", "0.1", "--resume")
    assert again.returncode == 0
    assert "simulated" in again.stdout


# ---------------------------------------------------------------- interrupted and killed


def finish(run, tmp_path, more=0.05):
    """Go on a little, and compare with a run that nothing disturbed: not a bit is different."""
    reached = read_checkpoint(tmp_path / "run.h5.partial").samples.time[-1]
    end = round(float(reached) + more, 2)
    done = run("simulate", *ENDLESS[:1], "--until", end, *ENDLESS[3:], "--resume")
    assert done.returncode == 0, done.stderr
    assert "resumed at" in done.stdout
    assert not partial_path(tmp_path / "run.h5").exists()
    resumed = Result.load(tmp_path / "run.h5")
    assert resumed.finished
    once = run_study(load_study("single-link", changes={"until": end, "integrator": {"tolerance": 1e-11}}))
    assert once.samples == resumed.samples
    assert once.info.statistics["steps"] == resumed.info.statistics["steps"]


def test_interrupt_keeps_everything(start, run, tmp_path):
    process = start("simulate", *ENDLESS, "--checkpoint", INTERVAL)
    wait_for_checkpoints(tmp_path / "run.h5.partial", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert clean(out + err)
    assert "go on with: pliant simulate single-link -o run.h5 --resume" in out
    part = Result.load(tmp_path / "run.h5")
    assert not part.finished
    assert "interrupted at" in part.info.ended
    kept = read_checkpoint(tmp_path / "run.h5.partial")
    assert kept.samples == part.samples
    finish(run, tmp_path)


def test_kill_loses_at_most_one_interval(start, run, tmp_path):
    partial = tmp_path / "run.h5.partial"
    process = start("simulate", *ENDLESS, "--checkpoint", INTERVAL)
    wait_for_checkpoints(partial, process)
    before = len(read_checkpoint(partial).samples)
    size = partial.stat().st_size
    wait_for(lambda: partial.stat().st_size > size, process)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    # what was on disk when the process died is there, the newest checkpoint included
    assert not (tmp_path / "run.h5").exists()
    assert len(read_checkpoint(partial).samples) >= before > 1
    finish(run, tmp_path)


def test_an_interrupted_run_is_not_overwritten(start, run, tmp_path):
    process = start("simulate", *ENDLESS, "--checkpoint", INTERVAL)
    wait_for_checkpoints(tmp_path / "run.h5.partial", process)
    process.kill()
    process.communicate()
    done = run("simulate", *ENDLESS)
    assert done.returncode == 2
    assert "--resume goes on with it, --force starts anew" in done.stderr
    changed = run("simulate", "two-link", "-o", "run.h5", "--resume")
    assert changed.returncode == 2
    assert "the study has changed since (robot" in changed.stderr
    reached = read_checkpoint(tmp_path / "run.h5.partial").memory["integrator/t"]
    by_file = run("simulate", "run.h5", "--resume", "--until", f"{float(reached) + 0.01:.6g}", "-q")
    assert by_file.returncode == 0, by_file.stderr


def test_nothing_to_resume(run):
    done = run("simulate", "single-link", "--resume")
    assert done.returncode == 2
    assert "there is nothing to resume" in done.stderr


def test_the_second_interrupt_does_not_wait(start, tmp_path):
    process = start("simulate", *ENDLESS, "--checkpoint", INTERVAL)
    wait_for_checkpoints(tmp_path / "run.h5.partial", process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130


# ---------------------------------------------------------------- no space, no place


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_no_space_is_said_before_the_run(start, tmp_path):
    process = start("simulate", *ENDLESS, preexec_fn=limited(300_000))
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert os.strerror(errno.EFBIG) in err
    assert "run.h5" in err
    assert clean(err)
    # nothing was begun, nothing is left
    assert "simulated" not in out
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fills_up_during_the_run(start, run, tmp_path):
    partial = tmp_path / "run.h5.partial"
    process = start("simulate", *ENDLESS, "--checkpoint", INTERVAL)
    wait_for_checkpoints(partial, process)
    full = partial.stat().st_size + 20_000
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (full, full))
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert clean(out + err)
    assert os.strerror(errno.EFBIG) in err
    assert "the last checkpoint is kept" in err
    assert partial.stat().st_size <= full
    finish(run, tmp_path)


def no_more(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def shown(arguments):
    """The program in this process: a real one takes a second to start."""
    from typer.testing import CliRunner

    from pliant.cli.app import app

    return CliRunner().invoke(app, list(map(str, arguments)))


SHORT = ("simulate", "single-link", "--until", "0.02", "-o", "run.h5")


def test_a_disk_that_is_full_at_the_last_save(tmp_path, monkeypatch):
    """The result is kept where the checkpoints are, and can be written later, the same to the last bit."""
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("pliant.cli.simulation_job.save_run", no_more)
        done = shown(SHORT)
    assert done.exit_code == 1
    assert "the result cannot be written: No space left on device; it is kept in run.h5.partial" in done.output
    assert not (tmp_path / "run.h5").exists()
    done = shown((*SHORT, "--resume"))
    assert done.exit_code == 0, done.output
    assert [file.name for file in tmp_path.iterdir()] == ["run.h5"]
    once = run_study(load_study("single-link", changes={"until": 0.02}))
    assert Result.load("run.h5").samples == once.samples


@pytest.mark.parametrize("option", ["--csv=run.csv", "--report=run.html", "--plot=run.png"])
def test_an_output_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, option):
    """And what was there before stays."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / option.partition("=")[2]
    path.write_bytes(b"before")
    monkeypatch.setattr("pliant.files.shutil.copymode", no_more)
    monkeypatch.setattr("pliant.cli.simulation_job.save_run", lambda *_: None)
    done = shown((*SHORT, option, "--force"))
    assert isinstance(done.exception, OSError) or done.exit_code == 1
    assert path.read_bytes() == b"before"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_run_goes_on_as_it_began(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shown(SHORT).exit_code == 0
    done = shown(("simulate", "run.h5", "--resume", "--until", "0.03", "--method", "rk4"))
    assert done.exit_code == 2
    assert "the study has changed since (integrator)" in done.output


def test_a_run_that_another_process_writes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = CheckpointFile.create(tmp_path / "run.h5.partial", {})
    for more in ((), ("--force",), ("--resume",)):
        done = shown((*SHORT, *more))
        assert done.exit_code == 2
        assert f"run.h5.partial: process {os.getpid()} is writing it" in done.output
    file.remove()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small disk needs root on Linux")
def test_a_small_disk(run, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        done = run("simulate", "single-link", "-o", disk / "run.h5")
    finally:
        subprocess.run(["umount", disk], check=True)
    assert done.returncode == 1
    assert os.strerror(errno.ENOSPC) in done.stderr
    assert "simulated" not in done.stdout


def test_a_folder_that_cannot_be_written(run):
    done = run("simulate", "single-link", "-o", "/sys/run.h5")
    assert done.returncode == 1
    assert "/sys/run.h5" in done.stderr
    assert clean(done.stderr)


def test_wrong_arguments(tmp_path, monkeypatch):
    """In this process: a real one takes a second to start."""
    from typer.testing import CliRunner

    from pliant.cli.app import app

    monkeypatch.chdir(tmp_path)
    for arguments, message in {
        ("-o", "nowhere/run.h5"): "the folder nowhere does not exist",
        ("-o", "run.txt"): "must end in .h5",
        ("--report", "run.pdf"): "must end in .html",
        ("--plot", "run.gif"): "must end in .png",
        ("--film", "run.avi"): "must end in .gif",
        # the rest are the words of typer, which differ between its versions
        ("--checkpoint", "-1"): "Invalid value for '--checkpoint'",
    }.items():
        done = CliRunner().invoke(app, ["simulate", "single-link", *arguments])
        assert done.exit_code == 2, done.output
        assert message in done.output
    for arguments, message in {
        ("--method", "rk5"): "did you mean 'rk4'?",
        ("--until", "-1"): "must be positive",
    }.items():
        done = CliRunner().invoke(app, ["simulate", "single-link", *arguments])
        assert isinstance(done.exception, pliant.ModelError)
        assert message in str(done.exception)
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- studies of one's own

GOOD = """
name: own
robot: single-flexible-link
until: 20 ms
drive:
  pid: {kp: 20 N m/rad, kd: 1, trajectory: {quintic: {to: {shoulder: 10 deg}, duration: 10 ms}}}
"""
CODE = GOOD.replace("pid: {", "callback: {function: 'law.py:law', period: 1 ms} # ")


def test_a_bad_study_is_refused_with_its_lines(run, tmp_path):
    (tmp_path / "own.yaml").write_text(GOOD.replace("20 ms", "-20 ms").replace("kp:", "kpp:"))
    done = run("simulate", "own.yaml")
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first == "own.yaml, line 4: Study 'own': until is -20 ms; it must be positive"
    assert "line 6: Study 'own': drive.pid: unknown key 'kpp'; did you mean 'kp'?" in second
    assert not (tmp_path / "own.h5").exists()


@pytest.mark.parametrize(
    ("code", "message"),
    {
        "return [1 / 0]": "law failed at t = 0 s: ZeroDivisionError: division by zero (law.py, line 2)",
        "return [1, 2]": "the control law returned [1.0, 2.0] at t = 0 s; it must return 1 finite numbers",
        "return 'no'": "law failed at t = 0 s: ValueError: could not convert string to float: 'no'",
        "return [": "law.py cannot be loaded: SyntaxError: '[' was never closed (law.py, line 2)",
    }.items(),
)
def test_errors_of_the_users_code_are_told(run, tmp_path, code, message):
    (tmp_path / "law.py").write_text(f"def law(t, q, v):\n    {code}\n")
    (tmp_path / "own.yaml").write_text(CODE)
    done = run("simulate", "own.yaml", "--allow-python", "-q")
    assert done.returncode == 2
    assert message in done.stderr
    assert clean(done.stderr)
    # nothing that would be in the way of the next run
    assert not partial_path(tmp_path / "own.h5").exists()


def test_an_expression_without_a_value_is_told(run, tmp_path):
    (tmp_path / "own.yaml").write_text(GOOD[: GOOD.index("drive:")] + "drive: {given: {joints: {shoulder: 1/t}}}\n")
    done = run("simulate", "own.yaml", "-q")
    assert done.returncode == 2
    assert "'1/t' has no value at t = 0 s" in done.stderr
    assert clean(done.stderr)
    assert not partial_path(tmp_path / "own.h5").exists()


def test_a_run_is_not_a_study(run, tmp_path):
    (tmp_path / "own.h5").touch()
    done = run("simulate", "own.h5")
    assert done.returncode == 2
    assert "own.h5 is a run; `pliant view own.h5` shows it, --resume goes on with it" in done.stderr


def test_python_code_must_be_allowed(run, tmp_path):
    (tmp_path / "law.py").write_text("def law(t, q, v):\n    return [1.0]\n")
    (tmp_path / "own.yaml").write_text(CODE)
    refused = run("simulate", "own.yaml")
    assert refused.returncode == 2
    assert "allow it with --allow-python" in refused.stderr
    done = run("simulate", "own.yaml", "--allow-python", "-q")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert np.all(Result.load(tmp_path / "own.h5").tau[1:] == 1.0)


def test_progress_is_shown_on_a_terminal(start, tmp_path):
    import pty

    ours, theirs = pty.openpty()
    process = start("simulate", *ENDLESS, "--checkpoint", INTERVAL, stderr=theirs)
    os.close(theirs)
    seen = ""
    end = time.monotonic() + PATIENCE
    while "s left" not in seen and time.monotonic() < end:
        seen += os.read(ours, 10_000).decode(errors="replace")
    process.send_signal(signal.SIGINT)
    assert "x real time" in seen
    assert "of 1000 s" in seen
    assert "step" in seen
    process.communicate(timeout=PATIENCE)
    os.close(ours)
    assert process.returncode == 130
