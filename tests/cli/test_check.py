"""``pliant check``: right files, wrong files, folders, and files that are none."""

from pathlib import Path

import pytest

import pliant

BUNDLED = Path(pliant.__file__).parent / "robots"
BAD = Path(__file__).parents[1] / "model" / "bad"


def refused(done):
    """Wrong input, said in plain words."""
    return done.returncode == 2 and "Traceback" not in done.stdout + done.stderr


def test_bundled_robots_pass(run):
    done = run("check", BUNDLED)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("OK ") == len([*BUNDLED.glob("*.yaml"), *BUNDLED.glob("*.urdf")])
    assert "all OK" in done.stdout


def test_names_and_several_files(run, tmp_path, example):
    (tmp_path / "arm.yaml").write_text(example)
    done = run("check", "two-link-flexible", "arm.yaml")
    assert done.returncode == 0
    assert "OK two-link-flexible: 2 links, 2 joint and 4 elastic coordinates" in done.stdout
    assert "OK arm.yaml: 2 links, 2 joint and 2 elastic coordinates" in done.stdout
    assert run("check", "two-link-flexible", "arm.yaml", "--quiet").stdout == ""


def test_all_problems_with_their_lines(run, tmp_path, mistaken):
    (tmp_path / "arm.yaml").write_text(mistaken)
    done = run("check", "arm.yaml", "canadarm")
    assert refused(done)
    lines = done.stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines[:3]] == [f"arm.yaml, line {n}" for n in (9, 12, 21)]
    assert "did you mean 'length'" in lines[0]
    assert lines[-1] == "2 files, 1 with problems"


def test_shapes_that_cannot_be_used_have_a_line(run, tmp_path, example):
    """Two equal shapes read well, but make no sense together."""
    shapes = "modes: {shape: user, bend_y: {expressions: ['x^2', '2*x^2']}}"
    text = example.replace("modes: {shape: clamped-mass, bend_y: 2}", shapes)
    (tmp_path / "arm.yaml").write_text(text)
    done = run("check", "arm.yaml")
    assert refused(done)
    assert done.stdout.startswith("arm.yaml, line 6: links[0] 'upper': ")
    assert "independent" in done.stdout


def test_a_folder_of_bad_files(run):
    """Every file is refused, with its name and the line."""
    files = sorted(file for file in BAD.iterdir() if file.suffix in (".yaml", ".yml", ".urdf"))
    assert len(files) >= 40
    done = run("check", BAD)
    assert refused(done)
    assert "OK " not in done.stdout
    for file in files:
        own = [line for line in done.stdout.splitlines() if line.startswith(str(file))]
        assert own, f"{file.name} is not mentioned"
        # an empty file has no line to name
        assert file.stem == "yaml-empty" or all(", line " in line for line in own)
    assert f"{len(files)} files, {len(files)} with problems" in done.stdout


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("missing.yaml", None, "no such file"),
        ("empty.yaml", b"", "empty"),
        ("noise.yaml", bytes(range(256)) * 8, "noise.yaml"),
        ("list.yaml", b"- 1\n- 2\n", "mapping"),
        ("robot.txt", b"name: a\n", ".yaml"),
    ],
)
def test_files_that_are_no_robots(run, tmp_path, name, content, word):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = run("check", name)
    assert refused(done)
    assert name in done.stdout
    assert word in done.stdout


MASSLESS_LEAF = """
name: arm
links:
  - name: upper
    joint: {name: shoulder, axis: z}
    rigid: {mass: 1 kg, com: [0.2, 0, 0], length: 0.4 m}
  - name: hand
    joint: {name: wrist, axis: z}
"""


def test_what_the_dynamics_refuse_is_told_before(run, tmp_path):
    """A moving link without mass reads well, but its acceleration is not determined."""
    (tmp_path / "arm.yaml").write_text(MASSLESS_LEAF)
    done = run("check", "arm.yaml")
    assert refused(done)
    assert done.stdout.startswith("arm.yaml, line 7: link 'hand': a coordinate of it moves no inertia")
    fixed = MASSLESS_LEAF.replace("{name: wrist, axis: z}", "{name: wrist, type: fixed}")
    (tmp_path / "arm.yaml").write_text(fixed)
    assert run("check", "arm.yaml").returncode == 0


def test_loops_that_cannot_close_are_told(run, tmp_path):
    text = (BUNDLED / "four-bar-rigid.yaml").read_text()
    assert "length: 0.28 m" in text
    (tmp_path / "bar.yaml").write_text(text.replace("length: 0.28 m", "length: 0.028 m"))
    done = run("check", "bar.yaml")
    assert refused(done)
    assert "the loops cannot close" in done.stdout


URDF = """<robot name='r'><link name='a'/><link name='b.0'><inertial><mass value='1'/>
<inertia ixx='1' iyy='1' izz='5'/></inertial></link><link name='tool0'/>
<joint name='j' type='revolute'><parent link='a'/><child link='b.0'/></joint>
<joint name='k' type='fixed'><parent link='b.0'/><child link='tool0'/></joint></robot>
"""


def test_repairs_and_the_tip_of_a_urdf_are_told(run, tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    done = run("check", "arm.urdf")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines[:2]] == ["repaired", "repaired"]
    assert "it is called 'b_0' here" in lines[0]
    assert lines[2].startswith("OK arm.urdf: 2 links")
    assert lines[2].endswith("tip tool0")
    strict = run("check", "arm.urdf", "--strict")
    assert refused(strict)
    assert "none may exceed the sum of the other two" in strict.stdout


def test_a_folder_of_robots_studies_overlays_and_others(run, tmp_path, example):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "arm.yaml").write_text(example)
    (folder / "arm.urdf").write_text(URDF.replace("5'", "1'").replace("b.0", "b"))
    (folder / "bending.yaml").write_text("links:\n  b: {hub: {mass: 1}}\n")
    (folder / "swing.yaml").write_text("robot: arm.yaml\nuntil: 2 s\n")
    (folder / "whole.yaml").write_text("urdf: arm.urdf\nlinks:\n  b: {hub: {mass: 1}}\n")
    (folder / "ci.yaml").write_text("steps: [build, test]\n")
    done = run("check", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    said = {Path(line.split(": ")[0].split()[1]).name: line for line in done.stdout.splitlines()[:-1]}
    assert said["swing.yaml"].endswith("a study of two-link until 2 s")
    assert "an overlay of a URDF file" in said["bending.yaml"]
    assert said["ci.yaml"].endswith("neither a robot nor a study")
    assert said["whole.yaml"].startswith("OK ")
    # a study that is wrong is told as one, and so is a file that is named by itself
    (folder / "swing.yaml").write_text("robot: arm.yaml\nuntil: -2 s\n")
    done = run("check", folder / "swing.yaml", folder / "ci.yaml")
    assert refused(done)
    assert "until is -2 s; it must be positive" in done.stdout
    assert "2 files, 2 with problems" in done.stdout
    # what shows only when the study meets its robot
    (folder / "swing.yaml").write_text("robot: arm.yaml\nuntil: 2 s\noutputs: [tip.z, tipp.z]\n")
    assert "swing.yaml, line 3: " in run("check", folder / "swing.yaml").stdout


def test_bundled_studies_pass(run):
    done = run("check", "two-link", BUNDLED.parent / "studies" / "single-link.yaml")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(": a study of ") == 2


def test_an_empty_folder_is_wrong_input(run, tmp_path):
    (tmp_path / "nothing").mkdir()
    done = run("check", "nothing")
    assert refused(done)
    assert "nothing: no robot files" in done.stdout


def test_an_unreadable_file(run, tmp_path):
    """A file that may not be opened; a broken link and a device stand in for it where everything may."""
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    assert refused(run("check", "gone.yaml"))
    locked = tmp_path / "locked.yaml"
    locked.write_text("name: a")
    locked.chmod(0)
    assert refused(run("check", "locked.yaml"))


STRANGE = """
name: strange
links:
  - name: arm
    joint: {name: j}
    beam:
      length: 0.5
      material: {E: 70, nu: 0.3, density: 2700}
      section: {round: {diameter: 5 mm}}
      modes: {bend_y: 1}
pose: {j: 170}
"""
MASSLESS = """
name: massless
links:
  - {name: arm, joint: {name: j}, rigid: {mass: 1, com: [0.1, 0, 0], inertia: 0.1, length: 0.2}}
  - {name: leaf, joint: {name: k}}
"""


def test_implausible_numbers_are_told(run, tmp_path):
    (tmp_path / "strange.yaml").write_text(STRANGE)
    done = run("check", "strange.yaml")
    assert done.returncode == 0
    assert "OK strange.yaml" in done.stdout
    assert "warning: strange.yaml: link 'arm': E is 70 Pa" in done.stdout
    assert "its reference pose is 170 rad" in done.stdout
    shown = run("modes", "strange.yaml")
    assert shown.returncode == 0
    assert "E is 70 Pa" in shown.stderr


def test_what_the_dynamics_refuse_is_foreseen(run, tmp_path):
    (tmp_path / "massless.yaml").write_text(MASSLESS)
    done = run("check", "massless.yaml")
    assert done.returncode == 2
    assert "massless.yaml, line 5: link 'leaf': a coordinate of it moves no inertia" in done.stdout
    # a leaf without mass that a loop moves is none
    assert run("check", "dualemps", "four-bar").returncode == 0


BLADE = """\
name: rotor
gravity: [0, 0, 0]
links:
  - name: blade
    joint: {name: hub, axis: z}
    beam: {length: 1, properties: {mass_per_length: 1, EIz: 100}, bending: BENDING, modes: {bend_y: 2}}
"""
STUDY = "name: spin\nrobot: BENDING.yaml\nuntil: 1 s\n"
STARTS = {
    "start": "start: {velocity: {hub: 9.5}}",
    "drive": "drive: {pid: {trajectory: {cycloidal: {to: {hub: 4}, duration: 0.84 s}}, kp: 500, kd: 50}}",
}


def test_a_linear_link_that_is_to_turn_fast_is_told_before_the_run(run, tmp_path):
    """At a quarter of its first frequency, as the run itself would tell; a link of second order knows it."""
    for bending in ("linear", "second-order"):
        (tmp_path / f"{bending}.yaml").write_text(BLADE.replace("BENDING", bending))
        for how, words in STARTS.items():
            (tmp_path / f"{how}-{bending}.yaml").write_text(STUDY.replace("BENDING", bending) + words)
    done = run("check", *(f"{how}-{bending}.yaml" for how in STARTS for bending in ("linear", "second-order")))
    told = [line for line in done.stdout.splitlines() if "blade' turns at 27" in line]
    assert ["start-linear.yaml" in line or "drive-linear.yaml" in line for line in told] == [True, True]
    spun = run("modes", "linear.yaml", "--spin", "hub=9.5")
    assert "link 'blade' turns at 27 % of its first bending frequency" in spun.stdout + spun.stderr
