"""Study files: what is read, and what is refused with its line."""

import pytest

import pliant
from pliant.simulation.drives.controllers import PID
from pliant.simulation.study import Study, load_study, round_step, study_from

GOOD = """
name: own
robot: single-flexible-link
until: 20 ms
drive:
  pid: {kp: 20 N m/rad, kd: 1, trajectory: {quintic: {to: {shoulder: 10 deg}, duration: 10 ms}}}
"""
BAD = {
    "no robot": (GOOD.replace("robot: single-flexible-link", ""), "key 'robot' is missing"),
    "unknown robot": (GOOD.replace("single-flexible-link", "single-flexible-lick"), "did you mean"),
    "negative time": (GOOD.replace("20 ms", "-20 ms"), "line 4: Study 'own': until is -20 ms; it must be positive"),
    "wrong unit": (GOOD.replace("20 ms", "20 mm"), "line 4: Study 'own': until is '20 mm'; its unit is wrong"),
    "misspelt key": (
        GOOD.replace("kp:", "kpp:"),
        "line 6: Study 'own': drive.pid: unknown key 'kpp'; did you mean 'kp'?",
    ),
    "unknown drive": (GOOD.replace("pid:", "pit:"), "unknown drive 'pit'"),
    "unknown trajectory": (GOOD.replace("quintic", "quintik"), "did you mean 'quintic'?"),
    "unknown joint": (
        GOOD.replace("{shoulder: 10 deg}", "{shoulders: 1}"),
        "no actuated joint 'shoulders'; did you mean",
    ),
    "not yaml": ("name: [", "not YAML"),
    "unknown frame": (GOOD + "outputs: {frames: [arm.top]}\n", "line 7: Study 'own': outputs.frames[0]"),
    "strain outside": (
        GOOD + "outputs: {strains: [{name: a, link: arm, x: 2 m}]}\n",
        "outputs.strains[0].x is 2 m; the beam is 0.8 m long",
    ),
    "event": (GOOD + "events: [{quantity: shoulder}]\n", "give either above or below"),
    "expression": (
        GOOD + "disturbances: [{frame: tip, force: [0, 'sin(q)', 0]}]\n",
        "line 7: Study 'own': disturbances[0].force[1] is 'sin(q)', which cannot be read: 'q' is not known",
    ),
    "code": (
        GOOD.replace("pid: {", "callback: {function: 'law.py:law', period: 1 ms} # "),
        "--allow-python",
    ),
}


def read(tmp_path, text, **options):
    (tmp_path / "own.yaml").write_text(text)
    return load_study(tmp_path / "own.yaml", **options)


@pytest.mark.parametrize("case", BAD)
def test_bad_studies(tmp_path, case):
    text, message = BAD[case]
    with pytest.raises(pliant.ModelError) as error:
        read(tmp_path, text, python=False)
    assert message in str(error.value)


def test_all_problems_at_once(tmp_path):
    with pytest.raises(pliant.ModelError) as error:
        read(tmp_path, GOOD.replace("20 ms", "-1 s").replace("kp:", "kpp:") + "limits: maybe\n")
    assert [problem.line for problem in error.value.problems] == [4, 6, 7]


def test_an_unknown_study_gets_a_hint():
    with pytest.raises(pliant.ModelError, match="did you mean 'canadarm'"):
        load_study("canadram")


def test_units_follow_the_joint(tmp_path):
    study = read(tmp_path, GOOD)
    assert isinstance(study.drive, PID)
    assert study.drive.kp == 20.0
    assert study.until == 0.02
    assert study.drive.trajectory.to["shoulder"] == pytest.approx(0.17453292519943295)


SLIDING = """
robot:
  name: slider
  links:
    - {name: a, joint: {name: slide, type: prismatic, axis: x}, rigid: {mass: 2 kg}}
until: 1 s
start: {position: {slide: 30 mm}}
drive: {given: {joints: {slide: 3 N}}}
"""


def test_a_robot_written_out_with_a_sliding_joint(tmp_path):
    study = read(tmp_path, SLIDING)
    assert study.name == "own"
    assert study.start.position["slide"] == pytest.approx(0.03)
    assert study.drive.joints["slide"] == 3.0
    with pytest.raises(pliant.ModelError, match="its unit is wrong"):
        read(tmp_path, SLIDING.replace("30 mm", "30 deg"))


def test_a_robot_beside_the_study(tmp_path):
    pliant.load("single-flexible-link").save(tmp_path / "arm.yaml")
    study = read(tmp_path, GOOD.replace("single-flexible-link", "arm.yaml"))
    assert study.robot == pliant.load("single-flexible-link")


@pytest.mark.parametrize("name", ["canadarm", "two-link", "single-link", "seven-joint"])
def test_bundled_studies_read_back_the_same(name):
    from pliant.model.yaml_file import parse_document

    study = load_study(name)
    again = study_from(parse_document(study.to_yaml(), "again"), "", changes={"robot": study.robot})
    assert again == study
    assert study.description


def test_sample_steps_are_round():
    assert round_step(0.01) == pytest.approx(0.01)
    assert round_step(0.0034) == pytest.approx(0.002)
    assert Study(robot=pliant.load("canadarm"), until=7.0).sample_step == pytest.approx(0.005)


def test_a_study_is_checked_in_python_too():
    with pytest.raises(pliant.ModelError, match="no actuated joint 'elbow'"):
        Study(robot=pliant.load("single-flexible-link"), until=1.0, drive=PID(kp={"elbow": 1.0}))


def test_every_key_is_documented():
    import re
    from pathlib import Path

    from pliant.model.element import Element
    from pliant.simulation.drives.kinds import AnyDrive
    from pliant.simulation.trajectories.kinds import AnyTrajectory

    page = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", page))
    seen = set()

    def walk(annotation):
        own = isinstance(annotation, type) and issubclass(annotation, Element) and annotation is not pliant.Robot
        if own and annotation not in seen:
            seen.add(annotation)
            kind = [annotation.kind] if hasattr(annotation, "kind") else []
            missing = {*annotation.model_fields, *kind} - words
            assert not missing, f"{annotation.__name__}: {sorted(missing)}"
            for field in annotation.model_fields.values():
                walk(field.annotation)
        for part in getattr(annotation, "__args__", ()):
            walk(part)

    for start in (Study, AnyDrive, AnyTrajectory):
        walk(start)
    assert len(seen) > 20
