"""Everything public is documented: names, methods, arguments, options, keys, fields of files."""

import importlib.util
import inspect
import pydoc
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

import pliant
from pliant.model.description.materials import MATERIALS

ROOT = Path(__file__).parents[2]
TOLD = {"arm", "robot"}


@pytest.fixture(scope="module")
def site():
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs" / "build_site.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_every_public_name_is_documented(site):
    for name, thing in site.public():
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name
    assert len(list(site.public())) == len(pliant.__all__) - ("__version__" in pliant.__all__)


def test_every_public_method_is_documented(site):
    missing = [f"{owner}.{name}" for owner, name, thing in site.methods() if not inspect.getdoc(thing)]
    assert not missing


def test_every_argument_of_a_public_function_is_told(site):
    """In its docstring, by name; what ``arm`` and ``robot`` are needs no word."""
    missing = []
    for name, thing in site.public():
        if inspect.isfunction(thing):
            words = set(re.findall(r"\w+", inspect.getdoc(thing) or ""))
            missing += [f"{name}: {key}" for key in inspect.signature(thing).parameters if key not in words | TOLD]
    assert not missing


def test_every_option_of_every_command_is_documented():
    from typer.main import get_command

    from pliant.cli.app import app

    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    for name, command in get_command(app).commands.items():
        assert command.help, name
        assert f"| `pliant {name}" in page, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"pliant {name}: {parameter.name}"


def models():
    for name in pliant.__all__:
        thing = getattr(pliant, name)
        if inspect.isclass(thing) and issubclass(thing, BaseModel):
            yield name, thing


def test_help_tells_what_pliant_gives():
    """The words of a class, its keys and methods; nothing that every class of pydantic has."""
    foreign = {name for name in dir(BaseModel) if not name.startswith("_")}
    assert {"model_dump", "model_validate", "copy"} <= foreign
    for name, thing in models():
        text = pydoc.render_doc(thing, renderer=pydoc.plaintext)
        # methods with their arguments, what is only told by name, and attributes with their values
        listed = set(re.findall(r"^ \|  (\w+)(?:\(| *=|$)", text, re.MULTILINE)) - {name}
        assert not listed & foreign, name
        assert not [each for each in listed if each.startswith("__") and not callable(getattr(thing, each))], name
        assert "inherited from pydantic" not in text
        assert {"given", "with_changes"} <= listed, name
        for key in thing.model_fields:
            assert re.search(rf"^ \|      {key}\b.*:", text, re.MULTILINE), f"{name}: {key}"
        # annotations would fill the page
        assert "Annotated[" not in text.split("Method resolution order")[0]


def test_a_class_shows_its_keys_as_its_arguments():
    shown = str(inspect.signature(pliant.Start))
    assert shown.startswith("(*, position=None, velocity=None, links='straight'")
    assert str(inspect.signature(pliant.Link)).startswith("(*, name, joint, rigid=None")


def test_every_key_says_what_it_is():
    for name, thing in models():
        for key, field in thing.model_fields.items():
            assert field.description, f"{name}.{key}"


def test_every_key_of_a_robot_or_study_file_stands_in_the_pages():
    pages = [(ROOT / "docs" / name).read_text("utf-8") for name in ("robot-files.md", "conventions.md", "simulate.md")]
    words = set(re.findall(r"\w+", " ".join(pages)))
    for name, thing in models():
        missing = set(thing.model_fields) - words
        assert not missing, f"{name}: {sorted(missing)}"
    assert not {word for name in MATERIALS for word in name.split("-")} - words - {"aluminum"}
