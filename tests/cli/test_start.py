"""Help, version, start-up time, and how the program ends when its surroundings fail."""

import os
import resource

import pytest

COMMANDS = (
    *("robots", "check", "show", "shapes", "schema", "modes"),
    *("simulate", "view", "report", "derive", "export", "reproduce", "bench"),
)
# seconds; what a user takes for instantaneous
INSTANT = 0.5


def test_help_names_every_command(run):
    done = run("--help")
    assert done.returncode == 0
    assert all(command in done.stdout for command in COMMANDS)
    assert run().stdout.split() == done.stdout.split()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run, command):
    done = run(command, "-h")
    assert done.returncode == 0
    assert "Usage" in done.stdout


def test_version(run):
    import pliant

    assert run("--version").stdout.strip() == f"pliant {pliant.__version__}"


def test_help_is_instant(run):
    """In processor time, which does not depend on what else the machine does."""

    def processor_time():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    times = []
    for _ in range(3):
        before = processor_time()
        run("--help")
        times.append(processor_time() - before)
    assert min(times) < INSTANT


def test_an_unknown_command_is_wrong_input(run):
    done = run("wobble")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_is_no_error(python):
    code = """
import subprocess, sys
program = subprocess.Popen([sys.executable, "-m", "pliant", "schema"], stdout=subprocess.PIPE)
program.stdout.readline()
program.stdout.close()
sys.exit(program.wait())
"""
    done = python("-c", code)
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device that is always full")
def test_a_full_disk_is_named(run, tmp_path):
    (tmp_path / "arm.svg").symlink_to("/dev/full")
    done = run("show", "canadarm", "--plot", "arm.svg")
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_plain_text_without_unicode(run, monkeypatch):
    """A terminal that knows only ASCII gets replacements, not an error."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii:strict")
    done = run("show", "canadarm")
    assert done.returncode == 0
    assert "shoulder" in done.stdout


def test_shells_complete_commands_and_robots(run, python, monkeypatch):
    """What a shell asks when the tabulator is pressed."""
    assert "--show-completion" in run("--help").stdout
    program = "import sys; from pliant.cli.app import main; sys.argv = ['pliant']; main()"
    monkeypatch.setenv("_PLIANT_COMPLETE", "complete_bash")
    for words, index, expected in (("pliant sim", 1, "simulate"), ("pliant show cana", 2, "canadarm")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(index))
        assert expected in python("-c", program).stdout.split()
