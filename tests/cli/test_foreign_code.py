"""Python code that a study names runs where the user has allowed it, and nowhere else."""

import pickle
import py_compile

import pytest

import pliant
from pliant.cli.app import app
from pliant.cli.simulation_job import Job
from pliant.drives.callback import AllowedCode
from pliant.simulation.run import Run
from pliant.simulation.study import Study, study_from, unrun_study

STUDY = """
name: own
robot: single-flexible-link
until: 4 ms
drive: {callback: {function: 'law.py:law', period: 1 ms}}
"""
LAW = "open('ran', 'a').close()\ndef law(t, q, v):\n    open('ran', 'a').close()\n    return [1.0]\n"
REFUSED = "line 5: Study 'own': drive.callback.function is 'law.py:law': the study wants to run Python code"
ARGUMENTS = {
    "simulate": ("own.yaml",),
    "sweep": ("own.yaml", "--vary", "until=2 ms, 4 ms", "--jobs", "1"),
    "elastic": ("own.yaml",),
    "inverse": ("own.yaml",),
    "move": ("own.yaml", "--to", "shoulder=0.1"),
    "check": ("own.yaml",),
    "show": ("own.yaml",),
    "view": ("own.yaml",),
    "report": ("own.yaml",),
    "compare": ("own.yaml", "own.yaml"),
    "modes": ("own.yaml",),
    "equilibrium": ("own.yaml",),
    "buckling": ("own.yaml",),
    "stiffness": ("own.yaml",),
    "singularity": ("own.yaml",),
    "workspace": ("own.yaml", "--over", "x=-0.3:0.3:3"),
    "parameters": ("own.yaml",),
    "methods": ("own.yaml",),
    "shape": ("own.yaml",),
    "frf": ("own.yaml", "--output", "tip.y"),
    "zeros": ("own.yaml", "--output", "tip.y"),
    "denoc": ("own.yaml",),
    "derive": ("own.yaml",),
    "export": ("own.yaml", "--to", "c", "-o", "x.c"),
    "shapes": ("own.yaml",),
    "export-link": ("own.yaml", "link", "--format", "sid"),
    "body": ("own.yaml", "--root", "x=0", "--tip", "x=max"),
    "bench": ("own.yaml",),
    "reproduce": ("own.yaml",),
}
WITHOUT_FILES = {"doctor", "robots", "schema", "verify"}


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """Whether the code of the study has run; the study is there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "law.py").write_text(LAW)
    (tmp_path / "own.yaml").write_text(STUDY)
    return (tmp_path / "ran").exists


def test_every_command_is_tried():
    assert {command.name for command in app.registered_commands} == ARGUMENTS.keys() | WITHOUT_FILES


@pytest.mark.parametrize("command", ARGUMENTS)
def test_no_command_runs_code_unasked(run, ran, command):
    done = run(command, *ARGUMENTS[command])
    assert not ran()
    assert "Traceback" not in done.stderr
    assert done.returncode == (0 if command == "check" else 2)


def test_a_checker_looks_at_code_and_never_runs_it(run, ran, tmp_path):
    done = run("check", ".")
    assert done.returncode == 0
    assert "a study of single-flexible-link until 0.004 s; its Python code was not run: " in done.stdout
    for code, message in {
        "def other(): pass": "law.py has no function 'law'",
        "def law(t, q, v:": "law.py cannot be loaded: SyntaxError: '(' was never closed",
        "(" * 10_000: "law.py cannot be loaded",
        "\0": "law.py cannot be loaded",
    }.items():
        (tmp_path / "law.py").write_text(code)
        done = run("check", "own.yaml")
        assert done.returncode == 2, code
        assert "own.yaml, line 5: Study 'own': drive.callback: " in done.stdout
        assert message in done.stdout
    for code in ("law = print", "from math import hypot as law", "from elsewhere import *", "if True:\n  law = abs"):
        (tmp_path / "law.py").write_text(code)
        assert run("check", "own.yaml").returncode == 0, code


def test_what_is_refused_names_the_way(run, ran):
    for command in ("simulate", "sweep"):
        assert REFUSED in run(command, *ARGUMENTS[command]).stderr
    with pytest.raises(pliant.ModelError, match=r"load_study\(\.\.\., python=True\)"):
        pliant.load_study("own.yaml")
    with pytest.raises(pliant.ModelError, match="wants to run Python code"):
        pliant.sweep("own.yaml", {"until": [0.002]})
    assert not ran()


def test_sweeps_run_code_that_is_allowed(run, ran):
    done = run("sweep", *ARGUMENTS["sweep"], "--allow-python")
    assert done.returncode == 0, done.stderr
    assert ran()
    assert pliant.sweep("own.yaml", {"until": [0.002]}, python=True).failed == 0


def test_a_varied_value_names_no_code(run, ran, tmp_path):
    (tmp_path / "harmless.py").write_text("law = lambda t, q, v: [0.0]\n")
    (tmp_path / "own.yaml").write_text(STUDY.replace("law.py", "harmless.py"))
    study = pliant.load_study("own.yaml", python=True)
    place = {"drive.function": ["law.py:law"]}
    with pytest.raises(pliant.ModelError, match="wants to run Python code"):
        pliant.sweep(study, place)
    assert not ran()
    assert pliant.sweep(study, place, python=True).failed == 0
    assert ran()


def test_a_stored_run_does_not_bring_its_code(run, ran, tmp_path):
    assert run("simulate", "own.yaml", "--allow-python", "-q").returncode == 0
    (tmp_path / "ran").unlink()
    for what in (("own.h5",), ("own.yaml",)):
        done = run("simulate", *what, "--resume", "--until", "0.006")
        assert done.returncode == 2
        assert "wants to run Python code" in done.stderr
        assert not ran()
    # a run of a study that names code is another one than that of a study without it
    (tmp_path / "own.yaml").write_text(STUDY.partition("drive:")[0])
    done = run("simulate", "own.yaml", "--resume", "--until", "0.006")
    assert "own.h5: the study has changed since (drive)" in done.stderr
    for command in (("view", "own.h5", "--no-browser"), ("report", "own.h5")):
        assert run(*command).returncode == 0
    assert not ran()
    assert run("simulate", "own.h5", "--resume", "--until", "0.006", "--allow-python", "-q").returncode == 0
    assert ran()


def test_text_in_a_program_is_no_permission(ran):
    with pytest.raises(pliant.ModelError, match="wants to run Python code"):
        pliant.Callback(function="law.py:law")
    with pytest.raises(pliant.ModelError, match="wants to run Python code"):
        Study(robot="single-flexible-link", until=1, drive={"callback": {"function": "law.py:law"}})
    sneaked = pliant.load_study("two-link").model_copy(update={"drive": pliant.Callback(function=print)})
    sneaked = sneaked.model_copy(update={"drive": sneaked.drive.model_copy(update={"function": "law.py:law"})})
    with pytest.raises(pliant.ModelError, match="nobody allowed"):
        Run(sneaked)
    assert not ran()


def test_permission_stays_with_the_study(ran):
    study = pliant.load_study("own.yaml", python=True).with_changes(until=0.002)
    again = pickle.loads(pickle.dumps(study))
    assert isinstance(again.drive.function, AllowedCode)
    assert again == study
    assert "/law.py:law" in study.to_yaml()
    assert "/law.py:law" in unrun_study("own.yaml").to_yaml()
    Run(again)
    assert ran()


def test_what_was_looked_at_is_what_runs(ran, tmp_path):
    """Bytecode beside a file counts for nothing, though its date and size be those of the file."""
    (tmp_path / "law.py").write_text("law = lambda t, q, v: [exit]")
    other = tmp_path / "other.py"
    other.write_text("open('ran', 'w').close(); law = 1 ")
    assert other.stat().st_size > (tmp_path / "law.py").stat().st_size
    other.write_text("open('ran','w')".ljust((tmp_path / "law.py").stat().st_size))
    from importlib.util import cache_from_source

    py_compile.compile(
        str(other),
        cfile=cache_from_source(str(tmp_path / "law.py")),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    Run(pliant.load_study("own.yaml", python=True))
    assert not ran()


def test_jobs_and_documents_refuse_by_default(ran):
    from pliant.model.readers.library import read_document

    with pytest.raises(pliant.ModelError, match="wants to run Python code"):
        study_from(read_document("own.yaml"), "")
    with pytest.raises(pliant.ModelError, match="wants to run Python code"):
        Job.prepare("own.yaml", None, {}, resume=False, force=False, python=False)
    assert not ran()
