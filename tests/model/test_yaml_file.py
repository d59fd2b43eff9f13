"""Robot files: what is read, the lines that are remembered, and the way there and back."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.model import Family, Joint, Link, Material, ModelError, Modes, Robot
from pliant.model.readers.library import parse_document, read_robot, read_text
from pliant.model.readers.yaml_data import DEEPEST_NESTING, line_at, parse, write_text

FULL = Path(__file__).parent / "full.yaml"


def data_of(text):
    data, problems = parse(text.encode(), "text")
    assert not problems
    return data


def problem_of(text):
    with pytest.raises(ModelError) as caught:
        parse(text.encode() if isinstance(text, str) else text, "text")
    return caught.value.problems[-1]


# ---------------------------------------------------------------- plain YAML


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-1", -1),
        ("0x1F", 31),
        ("0o17", 15),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("-1.5E-3", -0.0015),
        (".inf", float("inf")),
        ("-.INF", float("-inf")),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("yes", "yes"),
        ("on", "on"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("30 mm", "30 mm"),
        ("'1'", "1"),
        ('"a\\tb"', "a\tb"),
        ("!!str 1", "1"),
        ("[1, [2, a]]", [1, [2, "a"]]),
        ("{a: 1, b: {c: x}}", {"a": 1, "b": {"c": "x"}}),
        ("|\n  two\n  lines", "two\nlines\n"),
        ("9" * 50, float("9" * 50)),
    ],
)
def test_values(text, value):
    assert data_of(f"key: {text}\n") == {"key": value}


def test_keys_are_words():
    assert data_of("1: a\ntrue: b\n'': c\n") == {"1": "a", "true": "b", "": "c"}


def test_aliases_and_merges():
    data = data_of("a: &a {x: 1, y: 2}\nb: *a\nc: {<<: *a, y: 3}\nd: {<<: [{z: 4, y: 5}, *a]}\n'<<': 1\n")
    assert data["b"] == {"x": 1, "y": 2}
    assert data["c"] == {"x": 1, "y": 3}
    assert data["d"] == {"z": 4, "y": 5, "x": 1}
    assert data["<<"] == 1


LINES = """\
name: arm

links:
  - name: upper
    joint:
      axis: z
    list: [1,
      2,
      3]
  -
    name: fore
    merged: {<<: &common {a: 1,
      b: 2}}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("name",), 1),
        (("links",), 3),
        (("links", 0), 4),
        (("links", 0, "joint"), 5),
        (("links", 0, "joint", "axis"), 6),
        (("links", 0, "list", 2), 9),
        (("links", 1), 11),
        (("links", 1, "name"), 11),
        (("links", 1, "merged", "b"), 13),
        (("links", 0, "nothing", "axis"), 4),
        (("links", 0, "joint", 0, "axis"), 6),
        (("links", 7), 3),
    ],
)
def test_every_key_and_value_has_its_line(path, line):
    assert line_at(data_of(LINES), path) == line


def test_copies_remember_their_lines():
    data = data_of(LINES).copy()
    data["links"] = data["links"].copy()
    assert line_at(data, ("links", 0, "joint", "axis")) == 6


def test_windows_line_ends_and_byte_order_mark():
    data, _ = parse(b"\xef\xbb\xbfname: arm\r\nlinks: []\r\n", "text")
    assert data == {"name": "arm", "links": []}
    assert line_at(data, ("links",)) == 2


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("", "the file is empty", None),
        ("# only a comment\n", "the file is empty", None),
        ("null\n", "the file is empty", None),
        ("\n3\n", "the file is 3; it must be a mapping", 2),
        ("- a\n", "the file is a list", 1),
        ("a: 1\n--- \nb: 2\n", "a second document", 2),
        ("a: *b\n", r"the alias '\*b' has no anchor", 1),
        ("a: &a [*a]\n", "inside its own anchor", 1),
        ("a: 1\n[1, 2]: 3\n", "a key must be a word", 2),
        ("a: &x [1]\n*x : 3\n", "a key must be a word", 2),
        ("a: {<<: 3}\n", "'<<' takes the alias of a mapping", 1),
        ("a: b: c\n", "a ':' stands in the wrong place", 1),
        ("a:\n\tb: 1\n", "a tab stands in the indentation", 2),
        ("a: 'unclosed\n", "the text is not YAML", 2),
        ("a: [1, 2\nb: 3\n", "the text is not YAML", 2),
        ("a: @b\n", "the text is not YAML", 1),
        ("%YAML 3.0\n---\na: 1\n", "the text is not YAML", 1),
        ("a: " + "[" * (DEEPEST_NESTING + 1), "nested more than", 1),
        (b"a: 1\nb: \xff\n", "byte 0xff is not UTF-8", 2),
        (b"a: 1\nb: \x00\n", "is this a binary file", 2),
        ("a: 1\nb: \x1b[31m\n", "does not belong in a text file", 2),
    ],
)
def test_texts_that_are_not_a_mapping(text, words, line):
    problem = problem_of(text)
    assert problem.line == line, str(problem)
    with pytest.raises(ModelError, match=words):
        raise ModelError(problem)


def test_a_chain_of_aliases_cannot_hide_its_depth():
    text = "a0: &a0 [1]\n" + "".join(f"a{k}: &a{k} [*a{k - 1}]\n" for k in range(1, 60))
    assert "nested more than" in str(problem_of(text))


# ---------------------------------------------------------------- robots


def test_a_file_with_every_key():
    robot = read_robot(FULL)
    upper, fore, tool = robot.links[:3]
    assert robot.gravity == (0.0, 0.0, -9.81)
    assert upper.beam.length == 0.5
    assert upper.beam.section.width == 0.003
    assert upper.beam.material.name == "my-steel"
    assert fore.joint.motor.max_effort == 50.0
    assert tool.joint.limits.position == (0.0, 0.1)
    assert tool.joint.friction.viscous == 250.0
    assert robot.pose["shoulder"] == pytest.approx(0.5235987755982988)
    assert robot.pose["slide"] == 0.02
    used = set(robot.model_fields_set)
    assert used == set(Robot.model_fields)


def test_round_trip():
    robot = read_robot(FULL)
    text = robot.to_yaml()
    again = read_text(text)
    assert again == robot
    assert hash(again) == hash(robot)
    assert again.to_yaml() == text


def test_written_files_are_short_and_use_names(tmp_path):
    robot = read_robot(FULL)
    robot.save(tmp_path / "copy.yaml")
    text = (tmp_path / "copy.yaml").read_text(encoding="utf-8")
    assert read_robot(tmp_path / "copy.yaml") == robot
    assert "material: my-steel" in text
    assert "section: {rectangle: {width: 0.003, height: 0.04}}" in text
    assert "null" not in text


def test_what_is_not_given_is_not_written():
    robot = Robot(name="x", links=[Link(name="a", joint=Joint(type="fixed"))])
    assert robot.to_yaml() == "name: x\nlinks:\n  - name: a\n    joint: {name: a, type: fixed}\n"


def test_an_unnamed_material_is_written_in_full():
    robot = read_robot(FULL)
    beam = robot.links[0].beam.with_changes(material=Material(E=1e9, nu=0.4, density=900))
    changed = robot.with_changes(links=(robot.links[0].with_changes(beam=beam), *robot.links[1:]))
    assert read_text(changed.to_yaml()) == changed


def test_functions_cannot_be_written():
    robot = read_robot(FULL)
    modes = Modes(shape="user", bend_y=Family(expressions=(lambda x, L: (x, x, x),)))
    beam = robot.links[0].beam.with_changes(modes=modes)
    changed = robot.with_changes(links=(robot.links[0].with_changes(beam=beam), *robot.links[1:]))
    with pytest.raises(ModelError, match="a Python function cannot be written"):
        changed.to_yaml()


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), st.floats(allow_nan=False, allow_infinity=False))
def test_any_text_and_number_comes_back(name, description, number):
    try:
        robot = Robot(
            name=name,
            description=description,
            gravity=(number, 0, 0),
            links=[Link(name="1e3", joint=Joint(name="null"))],
        )
    except ModelError:
        return
    assert read_text(write_text(robot)) == robot


def test_problems_are_sorted_by_line_and_complete():
    text = FULL.read_text(encoding="utf-8")
    for old, new in [
        ("length: 0.5 m", "length: -0.5 m\n      length: 0.6 m"),
        ("axis: -y", "axis: q"),
        ("mass: 1.5 kg", "mas: 1.5 kg"),
        ("shoulder: 30 deg", "sholder: 30 deg"),
    ]:
        assert text.count(old) == 1
        text = text.replace(old, new)
    with pytest.raises(ModelError) as caught:
        read_text(text, "arm.yaml")
    lines = [problem.line for problem in caught.value.problems]
    assert lines == sorted(lines)
    assert len(lines) == 4
    for line, problem in zip(lines, caught.value.problems, strict=True):
        assert str(problem).startswith(f"arm.yaml, line {line}: ")


def test_a_hopeless_file_is_cut_short():
    text = "name: x\nlinks: [{name: a, joint: {}}]\n" + "".join(f"key{k}: 1\n" for k in range(2000))
    with pytest.raises(ModelError) as caught:
        read_text(text)
    assert str(caught.value).count("\n") <= 51
    assert "more problems" in str(caught.value)


def test_data_may_be_rewritten_before_they_are_checked():
    document = parse_document("name: x\nlinks:\n  - name: a\n    joint: {axis: q}\n", "arm.yaml")

    def prepare(data):
        data = data.copy()
        data["description"] = "added"
        return data

    with pytest.raises(ModelError, match=r"arm.yaml, line 4: links\[0\] 'a': joint.axis is 'q'"):
        document.build(Robot, prepare)
