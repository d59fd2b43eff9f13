"""The JSON schema: valid itself, and of one mind with the reader about good files."""

import inspect
import json
from pathlib import Path

import jsonschema
import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

import pliant
from pliant import RigidPart, Spring, Study
from pliant.model.description.robot import Robot
from pliant.model.readers.library import read_robot
from pliant.model.readers.robot_schema import json_schema
from pliant.model.readers.yaml_data import to_data

FULL = Path(__file__).parent / "full.yaml"
BUNDLED = sorted((Path(pliant.__file__).parent / "robots").glob("*.yaml"))


@pytest.fixture(scope="module")
def check():
    return Draft202012Validator(json_schema())


def plain(file):
    return YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("file", [FULL, *BUNDLED], ids=lambda file: file.stem)
def test_good_files_fit(file, check):
    check.validate(plain(file))


def test_what_is_written_fits(check):
    check.validate(to_data(read_robot(FULL)))


@pytest.mark.parametrize(
    "change",
    [
        {"nmae": "x"},
        {"name": 3},
        {"gravity": [0, 0]},
        {"attachment_rotation": "euler"},
        {"links": [{"name": "a", "joint": {"type": "ball"}}]},
        {"links": [{"name": "a", "joint": {}, "rigid": {"mass": -1}}]},
        {"links": [{"name": "a", "joint": {}, "beam": {"length": 0}}]},
        {"links": [{"name": "a", "joint": {}, "beam": {"section": {"disc": {}}}}]},
        {"links": [{"name": "a", "joint": {}, "beam": {"modes": {"bend_y": -1}}}]},
        {"links": [{"name": "a", "joint": {"axis": "q"}}]},
    ],
    ids=str,
)
def test_bad_data_do_not_fit(change, check):
    good = {"name": "x", "links": [{"name": "a", "joint": {}}]}
    check.validate(good)
    with pytest.raises(jsonschema.ValidationError):
        check.validate({**good, **change})


def test_every_key_is_explained():
    schema = json_schema()
    for name, part in [("Robot", schema), *schema["$defs"].items()]:
        for key, entry in part.get("properties", {}).items():
            assert entry.get("description"), f"{name}.{key}"
    assert set(Robot.model_fields) < set(schema["properties"])


def test_help_lists_keys_with_units():
    """What `help()` prints of a part of a robot; the schema, which lists its keys itself, stays without."""
    text = inspect.getdoc(RigidPart)
    assert text.startswith("A rigid mass on a link")
    for line in ("mass [kg]: mass; required", "com [m]: centre of mass", "inertia_about: ", "default 'com'"):
        assert line in text
    assert "stiffness [N m/rad or N/m]: " in inspect.getdoc(Spring)
    assert "until [s]: end of the simulated time; required" in inspect.getdoc(Study)
    assert "Keys:" not in json.dumps(json_schema())
