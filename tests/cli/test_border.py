"""What a file says of itself does not leave its place: no other files, no markup, no signals for the terminal."""

import os
import re

import h5py
import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli.app import app
from pliant.errors import printable
from pliant.files import file_name, write_file
from pliant.results.result import Result
from pliant.simulation.study import load_study

STUDY = """
name: NAME
description: "closes [/b] and [red] nothing \\e[2J"
robot: single-flexible-link
until: 2 ms
drive: {given: {joints: {shoulder: -1}}}
events: [{name: "EVENT", quantity: shoulder.rate, below: -1e-9, action: record}]
outputs: {strains: [{name: "a/b $\\\\frac{$", link: arm, x: 1 cm, y: 1 mm}]}
"""
EVENT = "<!--<script> [/b] $\\\\frac{$"


def shown(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder, with an important file above it."""
    (tmp_path / "important.h5").write_text("mine")
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    return inner


@pytest.mark.parametrize(
    "name",
    [
        "/important",
        "../important",
        "..",
        ".",
        "a/../../important",
        "..\\important",
        "C:x",
        "NUL",
        ".hidden",
        "~",
        "a" * 150,
    ],
)
def test_a_name_is_a_file_in_its_folder(name):
    made = file_name(name)
    assert made == re.sub(r"[/\\:~]", "", made)
    assert made not in ("", ".", "..")
    assert not made.startswith(".")
    assert len(made) <= 101


def test_ordinary_names_stay():
    for name in ("canadarm", "two-link", "run 3 (fast)", "Über-Arm_2", "v1.2"):
        assert file_name(name) == name


@pytest.mark.parametrize("name", ["../important", "/important", "'a/../../important'"])
def test_outputs_stay_in_the_folder(folder, name):
    (folder / "own.yaml").write_text(STUDY.replace("NAME", name).replace("EVENT", "low"))
    done = shown("simulate", "own.yaml", "-q")
    assert done.exit_code == 0, done.output
    assert (folder.parent / "important.h5").read_text() == "mine"
    assert {file.name for file in folder.parent.iterdir()} == {"inner", "important.h5"}
    assert len(list(folder.glob("*.h5"))) == 1


def test_files_of_others_need_force(folder):
    """Also where the name is that of the study; names that are given are tried in test_foreign_files.py."""
    (folder / "own.yaml").write_text(STUDY.replace("NAME", "own").replace("EVENT", "low"))
    path = folder / "own.h5"
    path.write_text("mine")
    done = shown("simulate", "own.yaml", "-q")
    assert done.exit_code == 2
    assert f"{path.name}: there is another file of that name, which Pliant did not write" in done.output
    assert path.read_text() == "mine"
    assert shown("simulate", "own.yaml", "-q", "--force").exit_code == 0
    # our own are replaced without a word
    assert shown("simulate", "own.yaml", "-q").exit_code == 0


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """A run whose names are full of signs: what the program said, and its file."""
    folder = tmp_path_factory.mktemp("marked")
    (folder / "own.yaml").write_text(STUDY.replace("NAME", '"[/b] $\\\\frac{$ ]]>"').replace("EVENT", EVENT))
    done = shown("simulate", folder / "own.yaml", "-o", folder / "own.h5")
    assert done.exit_code == 0, done.output
    return done.output, folder / "own.h5"


def test_markup_in_names_is_text(marked):
    output, path = marked
    assert output.startswith("[/b] $\\frac{$ ]]>: closes [/b] and [red] nothing \\x1b[2J")
    assert "<!--<script> [/b] $\\frac{$ (value" in output
    assert "\x1b" not in output
    assert Result.load(path).info.name == "[/b] $\\frac{$ ]]>"


def test_formulas_in_names_are_text(marked, tmp_path):
    run = Result.load(marked[1])
    run.plot(tmp_path / "run.png")
    run.draw(tmp_path / "motion.png")
    run.animate(tmp_path / "run.gif", seconds=0.1)


def test_tags_in_names_stay_inside_the_data(marked, tmp_path):
    run = Result.load(marked[1])
    run.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    data = page.partition('type="application/json">')[2].partition("</script>")[0]
    assert "<" not in data
    assert "\\u003c!--\\u003cscript>" in data
    assert "<!--" not in page


def test_a_name_with_a_slash_is_one_channel(marked):
    with h5py.File(marked[1]) as file:
        assert file["channels/strain.a|b $\\frac{$"].shape == file["time"].shape


@pytest.mark.parametrize("name", ["a\0b", "a\x1b[2Jb", "two\nlines", " "])
def test_names_are_one_line_of_text(name):
    with pytest.raises(pliant.ModelError, match="one line of text"):
        load_study("single-link", changes={"name": name})
    event = {"name": name, "quantity": "shoulder", "above": 1}
    with pytest.raises(pliant.ModelError, match="one line of text"):
        load_study("single-link", changes={"events": [event]})


def test_errors_do_not_steer_the_terminal():
    assert printable("a\x1b[2J\tb\n\x07\x9b\u202ec") == "a\\x1b[2J\tb\n\\x07\\x9b\\u202ec"
    done = shown("simulate", "no\x1b]0;title\x07such.h5")
    assert "\x1b" not in done.output


def test_what_a_killed_process_left_is_swept_up(tmp_path):
    old, fresh = (tmp_path / f".pliant-{k * 16}.tmp.csv" for k in "01")
    foreign, link = tmp_path / ".run.mine.tmp.csv", tmp_path / f".pliant-{'2' * 16}.tmp.csv"
    for path in (old, fresh, foreign):
        path.write_text("half")
        os.utime(path, None if path == fresh else (1e9, 1e9))
    link.symlink_to(foreign)
    write_file(tmp_path / "run.csv", "whole")
    assert {path.name for path in tmp_path.iterdir()} == {"run.csv", fresh.name, foreign.name, link.name}
