"""Whatever is asked for, the program answers in words: no traceback, no waiting, no memory without end."""

import os
import subprocess
import sys

import numpy as np
import pytest

import pliant
from closed_robots import four_bar
from pliant import Dynamics, Joint, Link, Rigid, Robot
from pliant.cli.app import main
from pliant.drives.given import GivenTorque, NoDrive
from pliant.loads.stops import Stops
from pliant.simulation.choice import choose
from pliant.simulation.run import simulate
from pliant.simulation.start import Start
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import IntegratorOptions
from pliant.trajectories.cartesian import Circle
from pliant.trajectories.signals import parse_signal

FLAT = {"lengths": (0.4, 0.2, 0.4, 0.2), "pose": {"motor": 1.0, "pin": -1.0, "ground_pin": 1.0}}
"""A parallelogram, which stretched out flat is singular."""
STUDY = "robot: ROBOT\nuntil: 10 ms\nMORE\n"


@pytest.fixture
def answer(tmp_path, monkeypatch, capsys):
    """Run the program in a folder with files; its exit code and all that it says."""

    def answer(*arguments, **files):
        monkeypatch.chdir(tmp_path)
        for name, content in files.items():
            path = tmp_path / name.replace("_", ".")
            path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
        monkeypatch.setattr(sys, "argv", ["pliant", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, " ".join("".join(capsys.readouterr()).split())

    return answer


def massless():
    """A last link whose mass is a point on its axis."""
    arm = Link(name="a", joint=Joint(name="j"), rigid=Rigid(mass=1.0, com=(0.1, 0.0, 0.0), length=0.3))
    last = Link(name="b", joint=Joint(name="k"), rigid=Rigid(mass=1.0, length=0.2))
    return Robot(name="massless", links=[arm, last]).to_yaml()


@pytest.mark.parametrize("command", ["simulate own.yaml -q", "bench robot.yaml", "check robot.yaml", "check own.yaml"])
def test_a_coordinate_without_inertia(answer, command):
    study = STUDY.replace("ROBOT", "robot.yaml").replace("MORE", "")
    code, said = answer(*command.split(), robot_yaml=massless(), own_yaml=study)
    assert code == 2
    assert "'b'" in said or "'k'" in said
    assert "inertia" in said


def test_an_integrator_as_text(answer):
    study = STUDY.replace("ROBOT", "single-flexible-link").replace("MORE", "integrator: dop853")
    code, said = answer("simulate", "own.yaml", "--tolerance", "1e-6", own_yaml=study)
    assert code == 2
    assert "own.yaml, line 3: " in said
    assert "integrator" in said


def test_a_loop_that_cannot_close(answer):
    text = four_bar(lengths=(0.4, 0.1, 0.1, 0.1), pose={"motor": 1.0}).to_yaml()
    for command in ("bench robot.yaml", "check robot.yaml"):
        code, said = answer(*command.split(), robot_yaml=text)
        assert code == 2
        assert "'closure' stays open by" in said


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"t,shoulder\n0,\xff\xfe\n1,2\n", "byte 13 is no UTF-8 text"),
        (b"t,shoulder\n0,1\n1," + b"2" * 200_000 + b"\n", "field larger than field limit"),
        (b"\0\0\0\n", "needs a line of names"),
    ],
)
def test_tables_that_are_none(answer, content, words):
    study = STUDY.replace("ROBOT", "single-flexible-link").replace("MORE", "drive: {given: {file: tau.csv}}")
    code, said = answer("simulate", "own.yaml", "-q", own_yaml=study, tau_csv=content)
    assert code == 2
    assert "tau.csv" in said
    assert words in said


@pytest.mark.parametrize("text", ["(t - 1)^0.5", "1/(t - 0.5)^2", "exp(1e6*t)", "1e308*1e308*t", "log(t - 1)"])
def test_signals_without_a_value(text):
    signal = parse_signal(text)
    with pytest.raises(pliant.ModelError, match=r"has no value at t = 0\.5 s"):
        signal(0.5)


def test_powers_of_signals_are_as_before():
    for t in (0.0, 0.3, 2.0):
        assert parse_signal("t^3 - 2*t^0.5")(t) == t**3 - 2 * t**0.5


# ---------------------------------------------------------------- files that never end, numbers without end


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("name", ["robot.yaml", "robot.urdf", "tau.csv", "run.h5", "run.h5.partial"])
def test_pipes_are_refused(answer, tmp_path, name):
    os.mkfifo(tmp_path / name)
    study = STUDY.replace("ROBOT", "single-flexible-link").replace("MORE", "drive: {given: {file: tau.csv}}")
    command = {"robot.yaml": "show robot.yaml", "robot.urdf": "show robot.urdf", "tau.csv": "simulate own.yaml"}
    code, said = answer(*command.get(name, f"simulate {name} --resume").split(), own_yaml=study)
    assert code == 2
    assert "this is a device or a pipe; it must be a file" in said


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
def test_devices_are_refused(answer):
    for command in ("show", "check", "simulate"):
        code, said = answer(command, "/dev/zero")
        assert code == 2
        assert "/dev/zero" in said


def test_numbers_have_limits():
    with pytest.raises(pliant.ModelError, match=r"turns is 1e\+09; at most 1000 are followed"):
        Circle(frame="tip", centre=(0, 0, 0), turns=1e9, duration=1)
    segment = {"length": 1e-3, "section": {"rectangle": {"width": 0.01, "height": 0.01}}}
    beam = {"material": "steel", "segments": [segment] * 1001, "modes": {"shape": "clamped-free", "bend_y": 1}}
    with pytest.raises(pliant.ModelError, match="has 1001 entries; there may be 1000"):
        Robot(name="long", links=[{"name": "a", "joint": {"name": "j"}, "beam": beam}])


def test_samples_that_no_memory_holds(monkeypatch):
    monkeypatch.setattr("pliant.simulation.run.MOST_NUMBERS", 10_000)
    with pytest.raises(pliant.ModelError, match=r"samples of 4 coordinates need .* GB; write outputs.step of at least"):
        simulate("single-flexible-link", until=1.0)


# ---------------------------------------------------------------- stiff and singular


def test_a_start_at_a_singular_loop_is_named():
    flat = np.zeros(3)
    with pytest.raises(pliant.ModelError, match=r"the run cannot begin there: .* is singular .* loop 'closure'"):
        simulate(Dynamics(four_bar(**FLAT), compile="never"), until=0.1, start=(flat, flat))


def test_stiff_stops_are_for_implicit_steps():
    arm = Dynamics("two-link-flexible")
    state = Start().state(arm)
    for stiffness, method in ((1e3, "dop853"), (1e10, "esdirk")):
        equations = StateEquations(arm, NoDrive(2), [Stops(stiffness=stiffness).bind(arm)])
        chosen, reason = choose(IntegratorOptions(), equations, *state, 6.0)
        assert chosen == method
    assert "a touched stop rings at" in reason


def test_the_rate_of_a_stop_is_that_of_a_mass_on_a_spring():
    """A slide of 2 kg at its limit, on stops of 800 N/m: 20 rad/s."""
    slide = Joint(name="x", type="prismatic", limits={"position": (-1.0, 0.0)})
    arm = Dynamics(Robot(name="slide", gravity=(0, 0, 0), links=[Link(name="a", joint=slide, rigid=Rigid(mass=2.0))]))
    stops = Stops(stiffness=800.0, loss=0.0).bind(arm)
    assert stops.rate(arm.reference_pose(), lambda f: 0.5 * float(f @ f)) == pytest.approx(20.0)
    run = simulate(
        arm, until=0.2, start={"x": 0.01}, stops=Stops(stiffness=800.0, loss=0.0), limits="ignore",
        drive=GivenTorque(joints={"x": 0.0}), output_step=0.001,
    )  # fmt: skip
    inside = run["x"] > 1e-4
    assert run["x"][inside] == pytest.approx(0.01 * np.cos(20.0 * run.time[inside]), abs=1e-6)


@pytest.mark.skipif(os.name != "posix", reason="closes files as a shell does")
def test_closed_outputs_are_no_mistake(tmp_path):
    """As a daemon may start a program; no file of ours takes the place of the output."""
    command = f"exec {sys.executable} -m pliant simulate single-link --until 0.002 -o x.h5"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", f"{command} {closed}"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert pliant.Result.load(tmp_path / "x.h5").finished
