"""The JSON schema of studies: valid itself, and of one mind with the reader."""

from pathlib import Path

import jsonschema
import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

import pliant
from pliant.model.readers.library import parse_document
from pliant.simulation.study import CONTENT, Study, study_from, study_schema

STUDIES = sorted((Path(pliant.__file__).parent / "studies").glob("*.yaml"))
GOOD = """
robot: two-link-flexible
until: 2 s
drive:
  pid:
    trajectory: {trapezoidal: {to: [30 deg, 0.2], velocity: 90 deg/s, acceleration: 180 deg/s^2}}
    kp: 20
"""
INLINE = """
robot:
  name: pendulum
  links: [{name: bar, joint: {name: pivot}, rigid: {mass: 1, com: [0.5, 0, 0]}}]
until: 1
"""


@pytest.fixture(scope="module")
def check():
    return Draft202012Validator(study_schema())


def plain(text):
    return YAML(typ="safe", pure=True).load(text)


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(study_schema())


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_bundled_studies_fit(file, check):
    check.validate(plain(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "text",
    [GOOD, INLINE, f"{GOOD}outputs: tip.z", f"{GOOD}outputs: [tip.z, elbow]", f"{GOOD}outputs: {{frames: upper}}"],
    ids=["drive", "robot written out", "one output", "outputs", "one frame"],
)
def test_good_studies_fit_and_are_read(text, check):
    check.validate(plain(text))
    study_from(parse_document(text, "study.yaml", CONTENT), ".")


def test_accelerations_have_units():
    import math

    study = study_from(parse_document(GOOD, "study.yaml", CONTENT), ".")
    assert study.drive.trajectory.acceleration == pytest.approx(math.pi, rel=1e-15)
    with pytest.raises(pliant.ModelError, match="it must be an angular acceleration"):
        study_from(parse_document(GOOD.replace("180 deg/s^2", "180 deg/s"), "study.yaml", CONTENT), ".")


@pytest.mark.parametrize(
    "change",
    [
        {"untill": 3},
        {"until": -1},
        {"robot": 3},
        {"robot": {"name": "r", "links": [{"name": "a", "joint": {"type": "ball"}}]}},
        {"limits": "break"},
        {"drive": {"pid": {}, "given": {}}},
        {"integrator": {"radius": -1}},
    ],
    ids=str,
)
def test_bad_data_do_not_fit(change, check):
    good = {"robot": "canadarm", "until": 1}
    check.validate(good)
    with pytest.raises(jsonschema.ValidationError):
        check.validate({**good, **change})


def test_every_key_is_explained():
    schema = study_schema()
    for key, entry in schema["properties"].items():
        assert entry.get("description"), key
    assert set(Study.model_fields) == set(schema["properties"])
