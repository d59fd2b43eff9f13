"""The recipes of CONTRIBUTING, followed: what is added stands here, and nothing of the package is changed for it."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import pliant
from pliant.model.readers import library

HERE = Path(__file__).parent


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_joint_and_a_closure_are_one_class_and_one_line_each(tmp_path):
    """A new kind is known to all rooms; see gantry.py."""
    source = str(Path(pliant.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONWARNINGS": "error"}
    command = [sys.executable, str(HERE / "gantry.py"), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["dynamics", "loops", "C", "drawing", "files", "simulation"]


# ---------------------------------------------------------------- an importer

IMPORTER = '''
def expand_rods(data, folder):
    """``rods: [length, ...]``: a pendulum of thin rods."""
    links = [
        {"name": f"rod{k}", "joint": {"name": f"j{k}", "axis": "y"},
         "rigid": {"mass": length, "com": [length / 2, 0, 0], "inertia": length**3 / 12, "length": length}}
        for k, length in enumerate(data["rods"])
    ]
    return {**{key: value for key, value in data.items() if key != "rods"}, "links": links}
'''
ROBOT = "name: pendulum\nrods: [0.5, 0.3]\n"
INLINE = "robot: {name: pendulum, rods: [0.5, 0.3]}\n"


@pytest.fixture
def rods(tmp_path, monkeypatch):
    """A folder with a robot that only a new importer reads; the importer is a module and its line in the list."""
    (tmp_path / "rods_importer.py").write_text(IMPORTER)
    monkeypatch.syspath_prepend(tmp_path)
    line = ("rods", "rods_importer", "expand_rods")
    monkeypatch.setattr(library, "IMPORTERS", (*library.IMPORTERS, line))
    (tmp_path / "pendulum.yaml").write_text(ROBOT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same(robot):
    assert [link.length for link in robot.links] == [0.5, 0.3]
    return True


def command(*words):
    from pliant.cli.app import app

    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def test_an_importer_is_known_at_every_entrance(rods):
    assert same(pliant.load("pendulum.yaml"))
    assert "2 links" in command("check", "pendulum.yaml")
    assert "rod1" in command("show", "pendulum.yaml")
    for name, robot in (("by-file", "robot: pendulum.yaml\n"), ("inline", INLINE)):
        (rods / f"{name}.yaml").write_text(f"{robot}until: 0.05 s\n")
        study = pliant.load_study(f"{name}.yaml")
        assert same(study.robot)
        assert pliant.run_study(study).q.shape[1] == 2
        command("check", f"{name}.yaml")
        command("simulate", f"{name}.yaml", "--output", f"{name}.h5")


def test_a_sweep_varies_what_an_importer_reads(rods):
    study = pliant.load_study(_written(rods, "study.yaml", f"{INLINE}until: 0.05 s\n"))
    for subject in (study, "study.yaml"):
        found = pliant.sweep(subject, {"rod1.rigid.mass": [0.2, 0.4]}, outputs=["max(energy.kinetic)"])
        assert np.isfinite(found["max(energy.kinetic)"]).all()
    found = pliant.sweep("pendulum.yaml", {"rod1.rigid.mass": [0.2, 0.4]}, do=lambda arm: arm.robot.mass)
    np.testing.assert_allclose(found["value"], [0.7, 0.9])
    command("sweep", "study.yaml", "--vary", "rod1.rigid.mass=0.2, 0.4", "--keep", "max(energy.kinetic)", "-o", "a.h5")


def _written(folder, name, text):
    (folder / name).write_text(textwrap.dedent(text))
    return name


# ---------------------------------------------------------------- an analysis


def reach_of(arm, q=None, frame="tip"):
    """How far a frame moves at most per unit rate of all drives, m: the largest singular value of its Jacobian.

    The whole recipe: it takes a Dynamics, closes its loops, and asks for nothing by the kind of a joint or a link.
    """
    q = arm.assemble() if q is None else arm.q(q)
    along = np.eye(arm.size)
    if arm.loops.rows:
        _, _, Vt = np.linalg.svd(arm.loops.scaled(q))
        along = arm.loops.column_scale[:, None] * Vt[arm.loops.rank :].T
    return float(np.linalg.svd(arm.jacobian(frame, q)[:3] @ along, compute_uv=False)[0])


@pytest.mark.parametrize("name", ["two-link-flexible", "six-dof", "four-bar", "canadarm"])
def test_an_analysis_asks_for_dynamics_and_no_kinds(name):
    arm = pliant.Dynamics(name, compile="never")
    assert 0.0 < reach_of(arm) < 1e3


# ---------------------------------------------------------------- a command


def test_a_command_is_a_function_and_its_line():
    from pliant.cli.terminal import RobotArgument, emit

    app = typer.Typer()

    def reach(robot: RobotArgument) -> None:
        """How far the tip of a robot moves per unit rate of its drives."""
        emit(f"{reach_of(pliant.Dynamics(pliant.load(robot), compile='never')):.3g} m")

    app.command(name="reach")(reach)
    done = CliRunner().invoke(app, ["two-link-flexible"])
    assert done.exit_code == 0, done.output
    assert done.output.strip().endswith(" m")
