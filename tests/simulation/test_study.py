"""Study files: what is read, and what is refused with its line."""

import ast
import re
from pathlib import Path

import pytest

import pliant
from pliant.drives.pid import PID
from pliant.model.readers.library import parse_document
from pliant.simulation.run import Run
from pliant.simulation.study import Study, load_study, round_step, study_from

GOOD = """
name: own
robot: single-flexible-link
until: 20 ms
drive:
  pid: {kp: 20 N m/rad, kd: 1, trajectory: {quintic: {to: {shoulder: 10 deg}, duration: 10 ms}}}
"""
SLIDING = """
robot:
  name: slider
  links:
    - {name: a, joint: {name: slide, type: prismatic, axis: x}, rigid: {mass: 2 kg}}
until: 1 s
start: {position: {slide: 30 mm}}
drive: {given: {joints: {slide: 3 N}}}
"""
BAD = {
    "no robot": (GOOD.replace("robot: single-flexible-link", ""), "key 'robot' is missing"),
    "a robot": ("name: arm\nlinks: []\n", "this is a robot; a study names it, like this: robot: own.yaml, until: 5 s"),
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
    "list too long": (
        GOOD.replace("kp: 20 N m/rad", "kp: [20, 30]"),
        "line 6: Study 'own': drive.pid.kp is a list of 2; it must have one entry for each input of the robot: shoul",
    ),
    "list of a trajectory": (
        GOOD.replace("{shoulder: 10 deg}", "[1, 2]"),
        "line 6: Study 'own': drive.pid.trajectory.quintic.to is a list of 2",
    ),
    "start joint": (
        GOOD + "start: {position: {shouldr: 1}}\n",
        "line 7: Study 'own': start.position.shouldr: the robot has no joint coordinate 'shouldr'; did you mean",
    ),
    "start q": (
        GOOD + "start:\n  q: [1]\n",
        "line 8: Study 'own': start.q is a list of 1; the robot has 4 coordinates",
    ),
    "start v": (
        GOOD + "start:\n  v: [1]\n",
        "line 8: Study 'own': start.v is a list of 1; the robot has 4 coordinates",
    ),
    "event quantity": (
        GOOD + "events:\n  - {quantity: arm.bend_y.7, above: 1}\n",
        "line 8: Study 'own': events[0].quantity is 'arm.bend_y.7', which the robot does not have; did you mean",
    ),
    "event frame": (
        GOOD + "events: [{quantity: x.y, above: 1}]\n",
        "line 7: Study 'own': events[0].quantity is 'x.y'; the robot has no link 'x'; it has arm",
    ),
    "disturbed frame": (
        GOOD + "disturbances: [{frame: arm.top, force: [0, 0, 1]}]\n",
        "line 7: Study 'own': disturbances[0].frame is 'arm.top'; link 'arm' has no frame 'top'; did you mean 'tip'?",
    ),
    "disturbed base": (GOOD + "disturbances: [{frame: base, force: [0, 0, 1]}]\n", "the base does not move"),
    "disturbed joint": (
        GOOD + "disturbances: [{joint: arm.bend_y.8, effort: 1}]\n",
        "line 7: Study 'own': disturbances[0].joint: the robot has no coordinate 'arm.bend_y.8'; did you mean",
    ),
    "no value": (
        GOOD + "disturbances: [{frame: tip, force: [0, 1/t, 0]}]\n",
        "line 7: Study 'own': disturbances[0].force[1]: '1/t' has no value at t = 0 s",
    ),
    "trajectory frame": (
        GOOD.replace("quintic: {to: {shoulder: 10 deg}", "line: {frame: amr, by: [0, 0, 0]"),
        "line 6: Study 'own': drive.pid.trajectory.line.frame is 'amr'; the robot has no link 'amr'; did you mean",
    ),
    "no line": (
        GOOD.replace("quintic: {to: {shoulder: 10 deg}", "line: {orientation: free"),
        "line 6: Study 'own': drive.pid.trajectory.line: give either to or by",
    ),
    "no axis": (
        GOOD.replace("quintic: {to: {shoulder: 10 deg}", "circle: {centre: [0, 0, 0], normal: [0, 0, 0]"),
        "drive.pid.trajectory.circle.normal is zero; it must be a direction",
    ),
    "torques": (
        GOOD.replace("pid: {", "given: {time: [0, 1], torque: [[1, 2], [1, 2]]} # "),
        "line 6: Study 'own': drive.given.torque has 2 columns; it must have one for each input: shoulder",
    ),
    "tolerance too large": (
        GOOD + "integrator: {tolerance: 10}\n",
        "line 7: Study 'own': integrator.tolerance is 10; it must be 1e-13 to 0.1",
    ),
    "tolerance too small": (GOOD + "integrator: {tolerance: 1e-30}\n", "integrator.tolerance is 1e-30; it must be"),
    "tolerance of nothing": (
        GOOD + "integrator:\n  groups: {'leg.*': 1e-6}\n",
        "line 8: Study 'own': integrator.groups.leg.*: no coordinate has such a name; it has shoulder, arm.bend_y.1",
    ),
    "step too small": (
        GOOD + "integrator: {max_step: 1e-20 s}\n",
        "integrator.max_step is 1e-20 s; steps below 3e-17 s vanish in the rounding of a time of 0.02 s",
    ),
    "too many samples": (GOOD + "outputs: {step: 1e-12}\n", "outputs.step is 1e-12 s, which makes 2e+10 samples"),
    "empty": ("# nothing yet\n", "own.yaml: the file is empty; a study needs robot and until"),
    "a list": ("- 1\n", "line 1: the file is a list; it must be a mapping of keys (robot: ..., until: ...)"),
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


LATE = {
    "out of reach": (
        GOOD.replace("quintic: {to: {shoulder: 10 deg}", "line: {by: [9, 0, 0]"),
        "own.yaml, line 6: Study 'own': drive.pid.trajectory.line: frame 'tip' cannot follow the curve",
    ),
    "open loop": (
        "robot: dualemps\nuntil: 1\nstart:\n  position: {q11: 9 m}\n",
        "own.yaml, line 3: Study 'own': start: robot 'dualemps': the loops cannot close",
    ),
    "no stops": (
        SLIDING + "stops: {}\n",
        "own.yaml, line 9: Study 'own': stops: robot 'slider' has no joint with position limits",
    ),
    "bad table": (
        GOOD.replace("pid: {", "given: {file: torques.csv} # "),
        "torques.csv, line 3: 'x,1' is not a line of numbers",
    ),
}


@pytest.mark.parametrize("case", LATE)
def test_problems_that_show_when_the_parts_meet_the_robot(tmp_path, case):
    text, message = LATE[case]
    (tmp_path / "torques.csv").write_text("t,shoulder\n0,1\nx,1\n")
    study = read(tmp_path, text)
    with pytest.raises(pliant.ModelError) as error:
        Run(study)
    assert message in str(error.value)


def test_where_a_study_was_read_does_not_matter(tmp_path):
    first = read(tmp_path, GOOD)
    assert first == study_from(parse_document(GOOD, "elsewhere"), "")
    assert first == Study(**first.given())


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

    from pliant.drives.drive_kinds import AnyDrive
    from pliant.model.element import Element
    from pliant.model.tagged import OneOf
    from pliant.trajectories.kinds import AnyTrajectory

    page = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", page))
    seen = set()

    def walk(annotation, metadata=()):
        own = isinstance(annotation, type) and issubclass(annotation, Element) and annotation is not pliant.Robot
        if own and annotation not in seen:
            seen.add(annotation)
            kind = [annotation.kind] if hasattr(annotation, "kind") else []
            missing = {*annotation.model_fields, *kind} - words
            assert not missing, f"{annotation.__name__}: {sorted(missing)}"
            for field in annotation.model_fields.values():
                walk(field.annotation, field.metadata)
        for part in (*metadata, *getattr(annotation, "__metadata__", ())):
            for each in part.kinds.values() if isinstance(part, OneOf) else ():
                walk(each)
        for part in getattr(annotation, "__args__", ()):
            walk(part)

    for start in (Study, AnyDrive, AnyTrajectory):
        walk(start)
    assert {*AnyDrive.__metadata__[0].kinds.values()} < seen
    assert len(seen) > 30


def test_messages_are_formatted():
    with pytest.raises(pliant.ModelError, match="it ends at 1 s, before it begins at 2 s"):
        pliant.Disturbance(frame="tip", force=[1, 0, 0], start=2, end=1)


def test_no_text_has_lost_its_f():
    """Fields of f-strings in plain texts would be printed as they are."""
    field = re.compile(r"\{[a-zA-Z_][\w.\[\]]*(:[^{}\s]+|![rs])\}")
    formats = {"it ends at {end:g} s, before it begins at {start:g} s"}
    for file in Path(pliant.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
                assert node.value in formats or not field.search(node.value), f"{file.name}, line {node.lineno}"
