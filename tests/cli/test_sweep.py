"""``pliant sweep`` on the command line."""

import pytest
from typer.testing import CliRunner

from pliant import ModelError
from pliant.cli.app import app
from pliant.cli.terminal import WRONG_INPUT

ROBOT = """
name: boom
links:
  - name: arm
    joint: {name: hinge, type: revolute, axis: y, actuated: true}
    beam: {length: 1 m, properties: {mass_per_length: 0.5, EIy: 20, EIz: 20}, modes: {bend_z: 1}}
    payloads: [{frame: tip, mass: 0.2 kg}]
"""
STUDY = "robot: boom.yaml\nuntil: 0.1 s\ndrive: {pid: {kp: 50, kd: 2}}\noutputs: {step: 10 ms}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "boom.yaml").write_text(ROBOT)
    (tmp_path / "hold.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["sweep", *words])


def test_a_robot_and_a_study(folder):
    found = run("boom.yaml", "--vary", "arm.payloads[0].mass=0.1:1:3 kg", "--jobs", "1", "--csv", "t.csv")
    assert found.exit_code == 0, found.output
    assert "frequency.1" in found.output
    assert "written to boom-sweep.h5" in found.output
    assert len((folder / "t.csv").read_text().splitlines()) == 4
    found = run("hold.yaml", "--vary", "drive.kp[0]=50, 60", "--keep", "final(hinge)", "--jobs", "1", "-o", "k.h5")
    assert found.exit_code == 0, found.output
    assert "final(hinge)" in found.output


def test_numbers_are_whole_where_there_is_little_room(folder):
    kept = [f"{how}(arm.deflection)" for how in ("max", "min", "mean", "rms", "peak", "final")]
    words = [word for one in kept for word in ("--keep", one)]
    found = run("hold.yaml", "--vary", "arm.payloads[0].mass=0.1:0.3:13", *words, "--jobs", "1", "--csv", "t.csv")
    assert found.exit_code == 0, found.output
    assert "one case in 2 shown" in found.output
    assert "…" not in found.output
    # the last case that is shown
    last = (folder / "t.csv").read_text().splitlines()[-1].split(",")[:7]
    assert all(f"{float(entry):.4g}" in found.output for entry in last)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("boom.yaml",), "nothing varies"),
        (("boom.yaml", "--vary", "arm.mass"), "PLACE=VALUES"),
        (("boom.yaml", "--vary", "arm.payloads[0].mass=0:1:2", "-o", "x.txt"), "must end in"),
        (("boom.yaml", "--vary", "arm.payloads[0].mass=0:1:2", "-o", "boom.h5"), "is no sweep"),
    ],
)
def test_mistakes_are_told(folder, words, told):
    (folder / "boom.h5").write_bytes(b"another program's")
    found = run(*words)
    if isinstance(found.exception, ModelError):
        assert told in str(found.exception)
    else:
        assert found.exit_code == WRONG_INPUT
        assert told in found.output


def test_failures_are_told_and_kept(folder):
    found = run("boom.yaml", "--vary", "arm.payloads[0].mass=0.1, -1", "--jobs", "1")
    assert found.exit_code == 0
    assert "case 1:" in found.output
    assert (folder / "boom-sweep.h5").exists()
