"""``pliant inverse``: a path of a flexible robot from the command line."""

import signal
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from pliant import ModelError
from pliant.cli import inverse
from pliant.cli.app import app

SUCCESSIVE = ("--method", "successive")


def test_a_path_is_solved_and_written(run, tmp_path):
    picture = tmp_path / "circle.png"
    done = run("inverse", "two-link-circle", "-o", str(tmp_path / "out"), "--plot", str(picture))
    assert done.returncode == 0, done.stderr
    assert "by stable inversion" in done.stdout
    assert "as if rigid 1.82 mm" in " ".join(done.stdout.split())
    assert "converged: the frame is within" in done.stdout
    assert picture.stat().st_size > 10_000
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    kinds = ("efforts.csv", "feed-forward.yaml", "motion.csv", "prescribed.yaml", "reactions.csv", "robot.yaml")
    assert names == [f"two-link-circle-{kind}" for kind in kinds]


def test_divergence_is_told_and_is_a_failure(run):
    done = run("inverse", "two-link-circle", *SUCCESSIVE, "--feedback", "full", "--quiet")
    assert done.returncode == 1
    assert "diverged: the distance grew from" in done.stderr
    assert "Feed back only what is slower" in done.stderr


def test_wrong_words_are_refused(run):
    done = run("inverse", "two-link-circle", *SUCCESSIVE, "--feedback", "all")
    assert done.returncode == 2
    assert "it must be one of band, static, full" in done.stderr
    done = run("inverse", "two-link-circle", *SUCCESSIVE, "--equations", "mine")
    assert done.returncode == 2
    assert "they must be one of complete, absolute, printed" in done.stderr


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--band", "0"), "band is 0.0; it must be a number above zero"),
        (("--band", "-1"), "it must be a number above zero"),
        (("--tolerance", "0"), "tolerance is 0.0; it must be a number above zero"),
        (("--tolerance", "nan"), "tolerance is nan; it must be a number above zero"),
        (("--frame", "base"), "frame is 'base', which is fixed to the base"),
        (("--frame", "fore.tipp"), "tipp"),
    ],
)
def test_numbers_without_meaning_are_refused(option, words):
    done = CliRunner().invoke(app, ["inverse", "two-link-circle", *SUCCESSIVE, "--no-confirm", *option])
    assert isinstance(done.exception, ModelError | SystemExit)
    assert words in f"{done.exception} {done.output}"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--band", "2"), "--band belongs to --method successive, and the method is inversion"),
        (("--iterations", "3"), "--iterations belongs to --method successive"),
        ((*SUCCESSIVE, "--spacing", "5"), "--spacing belongs to --method inversion, and the method is successive"),
        ((*SUCCESSIVE, "--orientation"), "position and orientation of 'tip' have 3 motions, and the 2 drives"),
        (("--method", "newton"), "method is 'newton'; it must be one of inversion, successive"),
        (("--spacing", "0"), "--spacing is 0.0; it must be a number above zero, in ms"),
        ((*SUCCESSIVE, "--frame", "tip", "--frame", "upper.tip"), "'tip' and 'upper.tip' have 3 motions"),
    ],
)
def test_options_of_the_other_method_are_refused(options, words):
    done = CliRunner().invoke(app, ["inverse", "two-link-circle", *options])
    assert done.exit_code
    assert words in f"{done.exception} {done.output}"


def test_what_is_not_simulated_is_not_called_converged():
    done = CliRunner().invoke(app, ["inverse", "two-link-circle", "--no-confirm", "--quiet"])
    assert done.exit_code == 1
    assert "unconfirmed: the inversion is within" in done.output
    assert "leave --no-confirm out" in done.output


def test_an_inversion_can_be_interrupted(monkeypatch):
    monkeypatch.setattr(inverse._InverseBar, "update", lambda bar, k, t, at: True)
    done = CliRunner().invoke(app, ["inverse", "two-link-circle"])
    assert done.exit_code == 130
    assert "interrupted before there was a solution" in done.output


def solution(outcome):
    return SimpleNamespace(outcome=outcome, words="so it is", iterations=(1, 2))


@pytest.mark.parametrize(
    ("outcome", "distance", "wanted"),
    [
        ("converged", 1e-6, "converged"),
        ("unconfirmed", 1e-6, "converged"),
        ("stalled", 1e-6, "converged"),
        ("converged", 1e-4, "not confirmed"),
        ("unconfirmed", 1e-4, "not confirmed"),
        ("stalled", 1e-4, "stalled"),
        ("stalled", None, "stalled"),
        ("unconfirmed", None, "unconfirmed"),
    ],
)
def test_the_nonlinear_model_has_the_last_word(outcome, distance, wanted):
    certain = None if distance is None else SimpleNamespace(distance=distance, rounds=1)
    found, words = inverse._outcome(solution(outcome), certain, 5e-6)
    assert found == wanted
    if distance is not None:
        assert f"within {distance:.1e} m of its path on the full nonlinear model" in words
    else:
        assert "so it is" in words


def test_what_has_not_converged_is_an_error(monkeypatch):
    done = CliRunner().invoke(
        app, ["inverse", "two-link-circle", *SUCCESSIVE, "--iterations", "1", "--no-confirm", "--quiet"]
    )
    assert done.exit_code == 1
    assert "out of iterations" in done.output


@pytest.mark.parametrize(("when", "words"), [(0, "there is nothing to keep"), (1, "interrupted: after iteration 0")])
def test_an_interrupt_keeps_the_iterations_that_are_done(tmp_path, monkeypatch, when, words):
    update, before, sent = inverse._InverseBar.update, signal.getsignal(signal.SIGINT), []

    def interrupting(bar, k, t, at):
        if k == when and not sent:
            sent.append(signal.raise_signal(signal.SIGINT))
        return update(bar, k, t, at)

    monkeypatch.setattr(inverse._InverseBar, "update", interrupting)
    done = CliRunner().invoke(
        app, ["inverse", "two-link-circle", *SUCCESSIVE, "-o", str(tmp_path / "out"), "--confirm"]
    )
    assert done.exit_code == 130
    assert words in done.output
    assert (tmp_path / "out" / "two-link-circle-motion.csv").exists() == bool(when)
    # the interrupt is the program's own again
    assert signal.getsignal(signal.SIGINT) is before
