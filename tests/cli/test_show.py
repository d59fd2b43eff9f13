"""``pliant robots``, ``show``, ``shapes``, ``schema``."""

import json

import pytest

import pliant

PNG = b"\x89PNG\r\n\x1a\n"
ROBOTS = [robot.name for robot in pliant.robots()]


def test_robots_are_listed(run):
    done = run("robots")
    assert done.returncode == 0
    for name, description in pliant.robots():
        assert name in done.stdout
        assert description.split()[0] in done.stdout


@pytest.mark.parametrize("name", ROBOTS)
def test_show_every_bundled_robot(run, name):
    done = run("show", name)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    robot = pliant.load(name)
    for link in robot.links:
        assert link.name in done.stdout
    for coordinate in robot.joint_coordinates:
        assert coordinate in done.stdout


def test_show_tells_coordinates_sections_and_frequencies(run):
    text = run("show", "two-link-flexible").stdout
    assert "upper.bend_y.1 ... .2" in text
    assert "rectangle 8 x 40 mm, aluminium" in text
    assert "sections: width along y of the link (bend_y), height along z (bend_z)" in text
    assert "119.5" in text  # E Iz of the upper link, 70 GPa * 40 mm * (8 mm)^3 / 12
    assert "-90 deg" in text


def test_show_draws(run, tmp_path):
    done = run("show", "canadarm", "--plot", "arm.png")
    assert done.returncode == 0
    assert "drawn in arm.png" in done.stdout
    assert (tmp_path / "arm.png").read_bytes().startswith(PNG)
    assert run("show", "dualemps", "--plot", "arm.svg").returncode == 0
    svg = (tmp_path / "arm.svg").read_text()
    assert svg.startswith("<?xml")


def test_show_in_another_pose(run):
    done = run("show", "canadarm", "--pose", "elbow = -75 deg, shoulder=0.5")
    assert done.returncode == 0
    assert "-75 deg" in done.stdout
    assert "28.65 deg" in done.stdout
    wrong = run("show", "canadarm", "--pose", "elbo=1")
    assert wrong.returncode == 2
    assert "did you mean 'elbow'" in wrong.stderr
    assert run("show", "canadarm", "--pose", "elbow").returncode == 2


@pytest.mark.parametrize("command", ["show", "shapes"])
def test_wrong_robots_and_pictures_are_refused(run, tmp_path, command, mistaken):
    (tmp_path / "arm.yaml").write_text(mistaken)
    (tmp_path / "folder.png").mkdir()
    for arguments, word in [
        (("canadram",), "canadarm"),
        (("nowhere.yaml",), "no such file"),
        ((tmp_path,), str(tmp_path)),
        (("arm.yaml",), "line 9"),
        (("canadarm", "--plot", "arm.jpeg"), ".png"),
        (("canadarm", "--plot", "nowhere/arm.png"), "nowhere"),
        (("canadarm", "--plot", "folder.png"), "folder"),
    ]:
        done = run(command, *arguments)
        assert done.returncode == 2, arguments
        assert word in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_shapes_of_published_frequencies(run):
    """De Luca & Siciliano 1991: the single links have 0.48 and 1.80 Hz, 2.18 and 15.91 Hz."""
    done = run("shapes", "de-luca-siciliano")
    assert done.returncode == 0
    found = [float(line.split()[-2]) for line in done.stdout.partition("\nassumed")[0].splitlines()[4:]]
    assert [round(f, 2) for f in found] == [0.48, 1.80, 2.18, 15.91]


def test_shapes_draw(run, tmp_path):
    done = run("shapes", "seven-joint-arm", "--plot", "shapes.png")
    assert done.returncode == 0
    assert (tmp_path / "shapes.png").read_bytes().startswith(PNG)


def test_shapes_of_a_rigid_robot_are_refused(run, tmp_path):
    (tmp_path / "rigid.yaml").write_text("name: a\nlinks:\n  - {name: b, joint: {}, rigid: {mass: 1}}\n")
    done = run("shapes", "rigid.yaml")
    assert done.returncode == 2
    assert "no link of this robot bends" in done.stderr


def test_the_tip_is_shown_where_it_is_chosen(run, tmp_path, example):
    (tmp_path / "arm.yaml").write_text(example + "\ntip: forearm.root\n")
    assert "tip forearm.root" in run("show", "arm.yaml").stdout


def test_a_joint_that_follows_is_shown():
    from pliant.cli.show import _joint
    from pliant.model import Joint

    assert "follows shoulder" in _joint(Joint(name="elbow", mimic={"joint": "shoulder"}))
    assert "passive" in _joint(Joint(name="elbow", actuated=False))


def test_the_schema_accepts_what_check_accepts(run, tmp_path, example, mistaken):
    jsonschema = pytest.importorskip("jsonschema")
    from ruamel.yaml import YAML

    schema = json.loads(run("schema").stdout)
    validator = jsonschema.Draft202012Validator(schema)
    yaml = YAML(typ="safe")
    assert not list(validator.iter_errors(yaml.load(example)))
    assert list(validator.iter_errors(yaml.load(mistaken)))
    assert json.loads(run("schema", "study").stdout)["title"] == "Pliant study"
