"""The documentation says what the program does."""

import re
import shlex
from pathlib import Path

import pytest
from pydantic import BaseModel

import pliant
from pliant.model.materials import MATERIALS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(kind, text=README):
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", blocks("console"), ids=lambda block: block.splitlines()[0])
def test_pasted_output_is_real(run, tmp_path, example, mistaken, block):
    (tmp_path / "two-link.yaml").write_text(example)
    (tmp_path / "mistakes.yaml").write_text(mistaken)
    command, _, output = block.partition("\n")
    done = run(*shlex.split(command.removeprefix("$ pliant ")))
    assert done.stdout == output


def test_the_file_of_the_readme_is_the_example(example):
    assert blocks("yaml") == [example]


CODE_WITH_OUTPUT = re.findall(r"^```python\n(.*?)^```\n```\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_all_python_of_the_readme_shows_its_output():
    assert len(CODE_WITH_OUTPUT) == len(blocks("python")) > 1


@pytest.mark.parametrize(("code", "output"), CODE_WITH_OUTPUT, ids=lambda text: text.splitlines()[-1])
def test_python_of_the_readme_prints_what_it_says(python, tmp_path, example, code, output):
    (tmp_path / "two-link.yaml").write_text(example)
    done = python("-c", code)
    assert done.stdout == output, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_every_key_of_a_robot_or_study_file_is_documented():
    pages = [(ROOT / "docs" / name).read_text("utf-8") for name in ("robot-files.md", "conventions.md", "simulate.md")]
    words = set(re.findall(r"\w+", " ".join(pages)))
    elements = [getattr(pliant, name) for name in pliant.__all__]
    for element in elements:
        if isinstance(element, type) and issubclass(element, BaseModel):
            missing = set(element.model_fields) - words
            assert not missing, f"{element.__name__}: {sorted(missing)}"
    assert not {word for name in MATERIALS for word in name.split("-")} - words - {"aluminum"}


@pytest.mark.parametrize("text", [text for page in PAGES for text in blocks("yaml", page.read_text("utf-8"))])
def test_yaml_of_the_documentation_is_yaml(text):
    from ruamel.yaml import YAML

    assert YAML(typ="safe").load(text)
