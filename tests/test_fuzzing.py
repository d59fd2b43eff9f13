"""A small part of what `make fuzz` does for as long as one likes: odd files, and runs that are killed."""

import os

import pytest

import fuzzing

FILES = 12
KILLS = 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("name", fuzzing.TARGETS)
def test_odd_files_are_taken_or_refused(name, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", os.environ["PLIANT_CACHE"])
    counts, findings = fuzzing.fuzz(fuzzing.LONGEST, 1, [name], FILES)
    assert not findings, findings[0]
    assert sum(counts[name].values()) > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_killed_runs_go_on_to_the_same_end():
    killed, finished = fuzzing.kills(KILLS, 2)
    assert killed >= KILLS
    assert finished


def test_a_target_that_is_wrong_is_found(monkeypatch):
    """The machine itself: something that must not be is told, with what makes it again."""

    class Wrong(fuzzing.Robots):
        def case(self, random):
            raise IndexError(random.integers(1000))

    monkeypatch.setitem(fuzzing.TARGETS, "robots", Wrong)
    counts, findings = fuzzing.fuzz(fuzzing.LONGEST, 3, ["robots"], 2)
    assert counts["robots"]["findings"] == 2
    assert "--seed 3 --only 'robots' --first 1" in findings[1]
    assert "IndexError" in findings[1]
