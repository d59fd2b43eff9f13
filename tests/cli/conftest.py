"""The program as a user runs it: in a folder of its own, in this process or in one of its own."""

import io
import os
import subprocess
import sys
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest
import typer.main

import pliant
from pliant.cli.app import main

ROOT = Path(__file__).parents[2]
SOURCE = Path(pliant.__file__).parents[1]
# no command of these tests takes more than a few seconds; the limit is for a machine under load
LONGEST = 120


@pytest.fixture(scope="session", autouse=True)
def _commands_built_once():
    """A process builds its commands once; runs without a process of their own would do so hundreds of times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", cache(typer.main.get_command))
        yield


@pytest.fixture
def python(tmp_path):
    """Run ``python ARGUMENTS...`` in an empty folder; the result has returncode, stdout and stderr."""

    def python(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error", "PYTHONUTF8": "1"}
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", timeout=LONGEST
        )

    return python


@pytest.fixture
def process(python):
    """Run ``pliant ARGUMENTS...`` in the same way."""
    return lambda *arguments: python("-m", "pliant", *arguments)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """``pliant ARGUMENTS...`` with the same result, without the start of a process: most tests are not about that."""

    def run(*arguments):
        out, err = io.StringIO(), io.StringIO()
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("error")
            patch.chdir(tmp_path)
            patch.setattr(sys, "argv", ["pliant", *map(str, arguments)])
            code = 0
            with redirect_stdout(out), redirect_stderr(err):
                try:
                    main()
                except SystemExit as end:
                    code = end.code or 0
                except Exception:
                    # what the interpreter would do
                    traceback.print_exc()
                    code = 1
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def example():
    """The text of the robot file of the README."""
    return (ROOT / "examples" / "01_two_link.yaml").read_text(encoding="utf-8")


@pytest.fixture
def mistaken(example):
    """The same file with a misspelt key, a negative width and a misspelt joint, in lines 9, 11 and 20."""
    text = example.replace("length: 0.5 m", "lenght: 0.5 m").replace("width: 4 mm", "width: -4 mm")
    return text.replace("elbow: -80 deg", "elbo: -80 deg")
