"""What goes into the packages, and that all places say the same version."""

import re
import tomllib
from pathlib import Path

import pytest

import pliant

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def packages():
    """Names of the files that a wheel and a source package would hold, by the builder itself; nothing is built."""
    pytest.importorskip("hatchling")
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    return [
        {file.distribution_path.replace("\\", "/") for file in builder(str(ROOT)).recurse_included_files()}
        for builder in (WheelBuilder, SdistBuilder)
    ]


def test_the_wheel_holds_the_package_and_all_its_data(packages):
    wheel, _ = packages
    source = {
        f"pliant/{file.relative_to(ROOT / 'src' / 'pliant').as_posix()}"
        for file in (ROOT / "src" / "pliant").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert wheel == source
    for some in (
        "pliant/py.typed",
        "pliant/__init__.pyi",
        "pliant/robots/six-dof.urdf",
        "pliant/studies/canadarm.yaml",
    ):
        assert some in wheel
    assert any(name.startswith("pliant/results/assets/") for name in wheel)


def test_the_source_package_can_be_tested_and_documented(packages):
    _, source = packages
    for some in ("tests/conftest.py", "docs/build_site.py", "examples/01_two_link.yaml", "mkdocs.yml", "README.md",
                 "CITATION.cff", "Makefile", "src/pliant/__init__.py"):  # fmt: skip
        assert some in source, some
    assert not [name for name in source if name.startswith((".venv", "out/"))]


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/pliant/__init__.py"
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)[1]
    changed = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)[1]
    assert cited == changed == pliant.__version__


def test_the_citation_is_readable():
    from ruamel.yaml import YAML

    data = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= data.keys()


def test_every_extra_is_documented_and_all_has_those_of_users():
    extras = PROJECT["project"]["optional-dependencies"]
    table = (ROOT / "README.md").read_text("utf-8").partition("## Installing")[2]
    named = set(re.findall(r"`([\w-]+)`", table))
    assert set(extras) - {"all", "urdf"} <= named
    together = set(re.search(r"\[(.*)\]", extras["all"][0])[1].split(","))
    assert together == set(extras) - {"all", "dev", "docs", "peers", "urdf"}
