"""Controllers as C: ticks equal those of the simulation, and what has no such form is refused."""

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pliant import (
    LQR,
    PID,
    Dynamics,
    Outputs,
    Quintic,
    Sampling,
    Start,
    Study,
    generate_c,
    generate_controller,
    run_study,
)
from pliant.cli.app import app
from pliant.model.readers.library import read_text

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from payload_runs import PLACE, ROBOT

FLAGS = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off", "-shared", "-fPIC")
SAME = 1e-12
"""Of the largest entry: the same operations, whose sums another compiler may order in its own way."""
PERIOD = 1e-3
GIVEN = {
    "trajectory": Quintic(to={"shoulder": 0.005}, duration=0.03),
    "weights": {"tip": 1e3, "coordinates": 1.0, "rates": 0.01, "effort": 1.0},
    "sampling": Sampling(period=PERIOD, delay=PERIOD),
}
BELIEVED = {"place": PLACE, "start": 0.1, "sigma": 0.05, "walk": 1e-3}
CALM = {"uncertainty": {"coordinates": 1e-4, "rates": 1e-3}, "process": {"effort": 0.01, "states": 1e-5}}
DRIVES = {
    "states": LQR(**GIVEN),
    "kalman": LQR(**GIVEN, estimator="kalman", schedule=2, saturate=True, seed=4),
    "ekf": LQR(**GIVEN, **CALM, estimator="ekf", parameters=(BELIEVED,)),
    "pid": PID(trajectory=GIVEN["trajectory"], kp=20.0, kd=2.0, ki=5.0, sampling=Sampling(period=PERIOD)),
}


@pytest.fixture(scope="module")
def arm():
    return Dynamics(read_text(ROBOT).set("shoulder.motor", {"max_effort": 0.2}))


def study_of(arm, drive):
    return Study(name="move", robot=arm.robot, until=0.04, drive=drive, start=Start(), outputs=Outputs(step=PERIOD))


def pointer(x):
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


@pytest.mark.filterwarnings("ignore::pliant.SimulationWarning")  # of limits that only one of them keeps
@pytest.mark.parametrize("name", list(DRIVES))
def test_ticks_are_those_of_the_simulation(arm, tmp_path, compiler, name):
    study = study_of(arm, DRIVES[name])
    run = run_study(study, arm)
    source, header, reference = generate_controller(study, tmp_path / "control.c")
    library = tmp_path / "control.so"
    subprocess.run([compiler, *FLAGS, source, "-lm", "-o", library], check=True)
    code = ctypes.CDLL(str(library))
    names = [each.removeprefix("drive.") for each, _ in run.info.states]
    assert all(each in header.read_text() for each in names)
    states = np.array((ctypes.c_double * len(names)).in_dll(code, "control_start")) if names else np.zeros(1)
    rows = np.loadtxt(reference, delimiter=",", skiprows=1)
    assert rows[:, 0] == pytest.approx(PERIOD * np.arange(41))
    sensors = [sensor.name for sensor in arm.robot.sensors]
    delay = 1 if name != "pid" else 0
    waiting = []
    # a sample at a tick has what was before: the next one has what the tick made
    for k in range(38):
        if name in ("kalman", "ekf"):
            readings = np.array([run[f"drive.reading.{each}"][k + 1] for each in sensors])
        else:
            readings = np.concatenate([run.samples.q[k], run.samples.v[k]])
        efforts, row = np.zeros(1), np.ascontiguousarray(rows[k, 1:])
        code.control_tick(pointer(readings), pointer(row), pointer(states), pointer(efforts))
        wanted = np.array([run[f"drive.{each}"][k + 1] for each in names])
        assert states[: len(names)] == pytest.approx(wanted, abs=SAME * max(np.abs(wanted).max(initial=0.0), 1.0))
        waiting.append(efforts)
        if k >= delay:
            assert waiting[k - delay] == pytest.approx(
                run.samples.tau[k + 1], abs=SAME * max(np.abs(efforts).max(), 100.0)
            )


STUDY = """
name: hold
robot: single-flexible-link
until: 0.1
drive: {pid: {kp: 20, kd: 2%s}}
"""


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("hold.yaml").write_text(STUDY % ", sampling: {period: 1 ms}")
    Path("smooth.yaml").write_text(STUDY % "")

    def call(*words):
        return CliRunner().invoke(app, ["export", *words, "--to", "c", "-o", "hold.c"])

    done = call("hold.yaml", "--controller")
    assert done.exit_code == 0, done.output
    assert {each.name for each in tmp_path.glob("hold*")} >= {"hold.c", "hold.h", "hold_reference.csv"}
    refused = call("smooth.yaml", "--controller", "--force")
    assert refused.exit_code == 2
    assert "is no sampled controller that has a text of its own" in " ".join(refused.stderr.split())
    refused = call("hold.yaml", "--controller", "--frame", "tip")
    assert "without --function, --frame, --strain, --dynamics and --bench" in refused.stderr


LOOP = """#include "control.h"
#include "robot.h"
#include <stdio.h>

static double states[CONTROL_STATES > 0 ? CONTROL_STATES : 1];
static double reference[%(ticks)d][CONTROL_REFERENCE] = {%(rows)s};
static robot_instance plant;

int main(void)
{
    double q[ROBOT_SIZE] = {0.0}, v[ROBOT_SIZE] = {0.0}, readings[2 * ROBOT_SIZE];
    robot_start(&plant);
    for (int i = 0; i < CONTROL_STATES; ++i) states[i] = control_start[i];
    for (int k = 0; k < %(ticks)d - 1; ++k) {
        for (int i = 0; i < ROBOT_SIZE; ++i) {
            readings[i] = q[i];
            readings[ROBOT_SIZE + i] = v[i];
        }
        control_tick(readings, reference[k], states, plant.tau);
        for (int s = 0; s < 20; ++s) {
            if (robot_esdirk(&plant, 0.0, CONTROL_PERIOD / 20.0, q, v)) return 1;
        }
    }
    for (int i = 0; i < ROBOT_SIZE; ++i) printf("%%.17g\\n", q[i]);
    return 0;
}
"""


@pytest.mark.filterwarnings("ignore::pliant.SimulationWarning")  # of limits that only one of them keeps
def test_a_controller_beside_its_robot_in_one_program(arm, tmp_path, compiler):
    """Both generated, linked and run as one program: the end of the simulation."""
    study = study_of(arm, DRIVES["pid"])
    run = run_study(study.with_changes(integrator={"tolerance": 1e-11}), arm)
    _, _, table = generate_controller(study, tmp_path / "control.c")
    generate_c(arm, tmp_path / "robot.c", ("esdirk",))
    rows = np.loadtxt(table, delimiter=",", skiprows=1)[:, 1:]
    text = ", ".join("{" + ", ".join(map(repr, row)) + "}" for row in rows.tolist())
    (tmp_path / "main.c").write_text(LOOP % {"ticks": len(rows), "rows": text})
    sources = [tmp_path / f"{name}.c" for name in ("main", "control", "robot")]
    flags = [flag for flag in FLAGS if flag not in ("-shared", "-fPIC")]
    subprocess.run([compiler, *flags, *sources, "-lm", "-o", tmp_path / "loop"], check=True)
    out = subprocess.run([tmp_path / "loop"], capture_output=True, text=True, check=True, timeout=60).stdout
    found = np.array(out.split(), dtype=float)
    assert found == pytest.approx(run.samples.q[-1], abs=1e-6 * np.abs(run.samples.q[-1]).max())
