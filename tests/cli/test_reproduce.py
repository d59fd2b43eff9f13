"""``pliant reproduce``: papers by name, all at once, and an exit code for numbers that move."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from pliant.cli.app import app
from pliant.reproduce import di_gregorio

PAPERS = ("canadarm", "cibicik", "di-gregorio", "dualemps", "lin-lewis")


def ask(*words):
    return CliRunner().invoke(app, ["reproduce", *words])


def test_all_numbers_are_where_they_should_be():
    done = ask("--all", "--numbers")
    assert done.exit_code == 0, done.output
    for paper in PAPERS:
        assert f"{paper}: " in done.stdout
    assert "known error" in done.stdout


def test_a_number_that_moves_is_a_failure(monkeypatch):
    wrong = [replace(claim, ours=claim.ours * 1.001) for claim in di_gregorio.claims()]
    monkeypatch.setattr(di_gregorio, "claims", lambda: iter(wrong))
    done = ask("di-gregorio", "--numbers")
    assert done.exit_code == 1
    assert "moved: published.di-gregorio.frequency.1" in done.stderr
    assert f"{len(wrong)} numbers checked, {len(wrong)} moved" in done.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("canadarm", "--all"), "name one paper, or ask for all"),
        (("--numbers",), "name it, or give --all"),
        (("canadram",), "did you mean 'canadarm'"),
    ],
)
def test_what_is_refused(words, why):
    done = ask(*words)
    assert done.exit_code == 2
    assert why in done.stderr


def test_papers_are_listed():
    assert [line.split()[0] for line in ask().stdout.splitlines()] == list(PAPERS)
