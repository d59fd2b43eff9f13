"""Files by which others find, build, cite and report: valid where there is a schema, true where they name things."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pliant

ROOT = Path(__file__).parent.parent
SCHEMAS = {
    ".github/workflows/tests.yml": "github-workflows",
    ".github/workflows/docs.yml": "github-workflows",
    ".github/workflows/release.yml": "github-workflows",
    ".github/dependabot.yml": "dependabot",
    ".github/ISSUE_TEMPLATE/wrong-result.yml": "github-issue-forms",
    ".github/ISSUE_TEMPLATE/wish.yml": "github-issue-forms",
    ".github/ISSUE_TEMPLATE/config.yml": "github-issue-config",
    ".readthedocs.yaml": "readthedocs",
    "CITATION.cff": "citation-file-format",
}


def check(schema, *files):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("schema", sorted(set(SCHEMAS.values())))
def test_files_obey_their_schemas(schema, tmp_path):
    pytest.importorskip("check_jsonschema")
    done = check(schema, *(file for file, own in SCHEMAS.items() if own == schema))
    assert done.returncode == 0, done.stdout + done.stderr
    # and the check can fail
    (tmp_path / "wrong.yml").write_text("nothing: [of, that, kind]\n")
    assert check(schema, tmp_path / "wrong.yml").returncode != 0


def test_every_workflow_and_form_is_checked():
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / ".github").rglob("*.yml")}
    assert found == {file for file in SCHEMAS if file.startswith(".github")}


def test_workflows_call_what_there_is():
    text = "".join((ROOT / file).read_text() for file in SCHEMAS if "workflows" in file)
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"run: make (\S+)", text)) <= targets
    for script in re.findall(r"(?:python|bash) ([\w./-]+(?:\.py|run))", text):
        assert (ROOT / script).is_file(), script


def test_the_record_of_an_archive_is_that_of_the_citation():
    record, citation = json.loads((ROOT / ".zenodo.json").read_text()), (ROOT / "CITATION.cff").read_text()
    assert f'title: "{record["title"]}"' in citation
    assert all(word in citation for word in record["keywords"])
    assert record["license"] in citation


def test_classifiers_name_the_pythons_that_are_tested():
    text = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    assert re.findall(r'python: \["(3\.\d+)"', workflow) == [named[0]]


def test_the_doctor_says_what_is_here_and_what_is_missing(capsys, monkeypatch):
    from pliant.cli import doctor
    from pliant.cli.app import app

    app(["doctor"], standalone_mode=False)
    out = capsys.readouterr().out
    assert pliant.__version__ in out
    for name in ("numpy", "scipy", "sympy", "viser", "vectors of"):
        assert name in out
    kept = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: "" if name in ("casadi", "viser") else kept(name))
    app(["doctor"], standalone_mode=False)
    out = capsys.readouterr().out
    assert "casadi missing" in out
    assert re.search(r"pip install (\S+ )*casadi (\S+ )*viser", out)


def test_every_extra_of_a_user_has_words():
    from pliant.cli.doctor import WORDS

    text = (ROOT / "pyproject.toml").read_text()
    own = re.search(r'all = \["pliant\[([\w,-]+)\]"\]', text)[1].split(",")
    assert set(own) == set(WORDS)
