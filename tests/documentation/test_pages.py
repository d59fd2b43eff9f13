"""Tutorials run and print what they say; the site builds; everything public is documented."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

import pliant

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


def module(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def pages():
    return module("pages")


@pytest.fixture(scope="module")
def site():
    return module("build_site")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_prints_what_it_says(pages, tmp_path, page):
    text = page.read_text("utf-8")
    assert pages.executed(text, tmp_path) == text
    # its pictures are those that it makes
    assert {file.name for file in tmp_path.glob("*.png")} == set(_pictures(text))


def _pictures(text):
    return re.findall(r"!\[[^\]]*\]\(([^)/]+\.png)\)", text)


def test_a_block_that_fails_is_told(pages, tmp_path):
    with pytest.raises(pages.PageError, match="does not run"):
        pages.executed("```python\n1 / 0\n```\n", tmp_path)


def test_the_site_builds_without_a_warning(site, tmp_path):
    pytest.importorskip("mkdocs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    site.stage(tmp_path / "pages")
    config = load_config(
        str(ROOT / "mkdocs.yml"), docs_dir=str(tmp_path / "pages"), site_dir=str(tmp_path / "site"), strict=True
    )
    build(config)
    start = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "Pliant" in start
    assert (tmp_path / "site" / "search" / "search_index.json").exists()
    # nothing is fetched from elsewhere
    assert 'src="http' not in start


def test_every_public_name_is_documented(site):
    for name, thing in site.public():
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name
    assert len(list(site.public())) == len(pliant.__all__) - ("__version__" in pliant.__all__)


def test_every_option_of_every_command_is_documented():
    from typer.main import get_command

    from pliant.cli.app import app

    for name, command in get_command(app).commands.items():
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"pliant {name}: {parameter.name}"


def test_every_key_says_what_it_is():
    from pydantic import BaseModel

    for name in pliant.__all__:
        thing = getattr(pliant, name)
        if inspect.isclass(thing) and issubclass(thing, BaseModel):
            for key, field in thing.model_fields.items():
                assert field.description, f"{name}.{key}"
