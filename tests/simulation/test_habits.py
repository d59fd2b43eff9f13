"""What a person writes first works: a robot by its name, a bare function as a drive, one name for one frame."""

import pickle

import numpy as np
import pytest

import pliant
from pliant import (
    PID,
    Dynamics,
    GivenTorque,
    Hold,
    ModelError,
    Quintic,
    SetPoint,
    Steps,
    Study,
    load_study,
    run_study,
    simulate,
)
from pliant.trajectories.per_joint import turn_limits

UNTIL = 0.02
CONTROLLED = 1e-7
"""Joint angles of two ways of writing one control law, at a tolerance of 1e-8."""


@pytest.fixture(scope="module")
def arm():
    return Dynamics("two-link-flexible", compile="never")


def test_a_study_takes_the_name_of_a_robot():
    study = Study(robot="two-link-flexible", until=UNTIL)
    assert study.robot == pliant.load("two-link-flexible")
    assert Study(robot=pliant.load("two-link-flexible"), until=UNTIL) == study


def test_a_wrong_name_of_a_robot_is_told():
    with pytest.raises(ModelError, match=r"robot is 'two-link-flexibel'; .*did you mean 'two-link-flexible'"):
        Study(robot="two-link-flexibel", until=UNTIL)


def test_a_bare_function_is_a_continuous_law(arm):
    """tau = kp (target - q) - kd v as a function, and by names, moves as the same law of the package."""
    kp, kd = np.array([30.0, 10.0]), np.array([3.0, 1.0])
    start = arm.q(shoulder=1.0, elbow=0.4)
    target = start[[0, 3]] + 0.1

    def law(t, q, v):
        return kp * (target - q[[0, 3]]) - kd * v[[0, 3]]

    def named(t, q, v):
        tau = law(t, q, v)
        return {"shoulder": tau[0], "elbow": tau[1]}

    options = {"until": UNTIL, "start": {"shoulder": 1.0, "elbow": 0.4}}
    free = simulate(arm, drive=law, **options)
    spring = pliant.PID(trajectory=pliant.Hold(to=tuple(target)), kp=tuple(kp), kd=tuple(kd))
    ours = simulate(arm, drive=spring, **options)
    assert np.abs(free.q[-1] - ours.q[-1]).max() < CONTROLLED
    assert np.array_equal(simulate(arm, drive=named, **options).q, free.q)
    # the joints did move
    assert np.abs(free.q[-1] - free.q[0]).max() > 100 * CONTROLLED


def test_a_class_is_no_drive(arm):
    with pytest.raises(ModelError, match=r"drive is .*it must be a mapping with one key"):
        simulate(arm, drive=GivenTorque, until=UNTIL)


def test_unknown_inputs_of_a_law_are_told(arm):
    with pytest.raises(ModelError, match=r"control law failed .* did you mean 'elbow'"):
        simulate(arm, drive=lambda t, q, v: {"elbw": 1.0}, until=UNTIL)


def test_one_frame_is_one_name(arm):
    run = simulate(arm, until=UNTIL, frames="upper")
    assert run.info.frames == ("tip", "upper.tip")
    study = Study(robot="two-link-flexible", until=UNTIL, outputs={"frames": "upper"})
    assert study.outputs.frames == ("upper",)


def test_states_by_name_at_the_start(arm):
    run = simulate(arm, until=UNTIL, start=({"elbow": 0.5, "upper.bend_y.1": 1e-3}, {"elbow": 0.2}))
    assert np.array_equal(run.q[0], arm.q({"upper.bend_y.1": 1e-3}, elbow=0.5))
    assert np.array_equal(run.v[0], arm.v(elbow=0.2))


def test_public_names_of_a_study():
    points = (SetPoint(time=0.01, to={"elbow": 0.4}),)
    drive = pliant.PID(trajectory=Steps(points=points), kp=10, kd=1)
    options = pliant.IntegratorOptions(method="dop853", tolerance=1e-6)
    study = Study(robot="two-link-flexible", until=UNTIL, drive=drive, integrator=options, compile=False)
    assert run_study(study).finished


def test_one_output_is_one_name(arm):
    """Names alone are the channels that tables show; an entry of a vector and a position of a frame are channels."""
    run = run_study(Study(robot="two-link-flexible", until=UNTIL, outputs="tip.z", compile=False), arm)
    assert run.to_dataframe().columns.tolist() == ["tip.z"]
    assert run.unit("tip.z") == "m"
    assert np.array_equal(run["tip.z"], run["tip.position"][:, 2])
    assert np.array_equal(run["elbow.reaction.5"], run["elbow.reaction"][:, 4])
    assert (run.unit("elbow.reaction.3"), run.unit("elbow.reaction.4")) == ("N", "N m")
    assert np.array_equal(run["tip.rotation.2"], run["tip.rotation"][:, 0, 1])
    assert "tip.position.w" not in run
    assert "elbow.x" not in run
    assert pickle.loads(pickle.dumps(run)).info.channels == ("tip.z",)


def test_outputs_of_a_file_are_names_too(arm, tmp_path):
    file = tmp_path / "swing.yaml"
    file.write_text(f"robot: two-link-flexible\nuntil: {UNTIL}\noutputs: tip.z\n")
    assert load_study(file).outputs.channels == ("tip.z",)
    # what the command line adds keeps them
    assert load_study(file, changes={"outputs": {"step": 0.01}}).outputs.channels == ("tip.z",)
    file.write_text(f"robot: two-link-flexible\nuntil: {UNTIL}\noutputs: [tip.z, upper.deflection, elbw]\n")
    with pytest.raises(ModelError, match=r"swing.yaml, line 3: .*channels\[2\]: .*did you mean 'elbow'"):
        run_study(load_study(file), arm)


# ---------------------------------------------------------------- degrees that were forgotten


def forgotten(study):
    """What is told about positions of many turns."""
    return list(turn_limits(study.robot, study.start, study.drive))


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"start": {"position": {"elbow": 90}}}, "position"),
        ({"drive": PID(trajectory=Quintic(to={"elbow": 90}, duration=1.0), kp=1.0, kd=1.0)}, "trajectory.quintic.to"),
        ({"drive": PID(trajectory=Hold(to=[0.1, 90]), kp=1.0, kd=1.0)}, "to"),
    ],
)
def test_angles_of_many_turns_are_told(keys, place):
    (text,) = forgotten(Study(robot="two-link-flexible", until=UNTIL, **keys))
    assert "joint 'elbow': its position under" in text
    assert place in text
    assert text.endswith("is 90 rad, which is 14.3 turns; write '90 deg' if degrees are meant")


def test_angles_of_less_than_a_turn_are_not():
    quintic = Quintic(to={"elbow": 6.2}, duration=1.0)
    keys = {"start": {"position": {"elbow": -6.2}}, "drive": PID(trajectory=quintic, kp=90.0, kd=100.0)}
    assert not forgotten(Study(robot="two-link-flexible", until=UNTIL, **keys))


def test_a_run_tells_them():
    with pytest.warns(pliant.SimulationWarning, match="joint 'elbow': its position under position is 30 rad"):
        simulate("two-link-flexible", until=0.001, start={"elbow": 30}, limits="ignore")
