"""``pliant inverse``: a path of a flexible robot from the command line."""

import signal

import pytest
from typer.testing import CliRunner

from pliant.cli import inverse
from pliant.cli.app import app


def test_a_path_is_solved_and_written(run, tmp_path):
    picture = tmp_path / "circle.png"
    done = run("inverse", "two-link-circle", "-o", str(tmp_path / "out"), "--plot", str(picture))
    assert done.returncode == 0, done.stderr
    assert "0 (as if rigid)" in done.stdout
    assert "converged: the frame is within" in done.stdout
    assert picture.stat().st_size > 10_000
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    kinds = ("efforts.csv", "feed-forward.yaml", "motion.csv", "prescribed.yaml", "reactions.csv", "robot.yaml")
    assert names == [f"two-link-circle-{kind}" for kind in kinds]


def test_divergence_is_told_and_is_a_failure(run):
    done = run("inverse", "two-link-circle", "--feedback", "full", "--quiet")
    assert done.returncode == 1
    assert "diverged: the distance grew from" in done.stderr
    assert "Feed back only what is slower" in done.stderr


def test_wrong_words_are_refused(run):
    done = run("inverse", "two-link-circle", "--feedback", "all")
    assert done.returncode == 2
    assert "it must be one of band, static, full" in done.stderr
    done = run("inverse", "two-link-circle", "--equations", "mine")
    assert done.returncode == 2
    assert "they must be one of complete, absolute, printed" in done.stderr


@pytest.mark.parametrize(("when", "words"), [(0, "there is nothing to keep"), (1, "interrupted: after iteration 0")])
def test_an_interrupt_keeps_the_iterations_that_are_done(tmp_path, monkeypatch, when, words):
    update, before, sent = inverse._InverseBar.update, signal.getsignal(signal.SIGINT), []

    def interrupting(bar, k, t, at):
        if k == when and not sent:
            sent.append(signal.raise_signal(signal.SIGINT))
        return update(bar, k, t, at)

    monkeypatch.setattr(inverse._InverseBar, "update", interrupting)
    done = CliRunner().invoke(app, ["inverse", "two-link-circle", "-o", str(tmp_path / "out"), "--confirm"])
    assert done.exit_code == 130
    assert words in done.output
    assert (tmp_path / "out" / "two-link-circle-motion.csv").exists() == bool(when)
    # the interrupt is the program's own again
    assert signal.getsignal(signal.SIGINT) is before
