"""Every wrong file ends in one ModelError that names the line, the value and the rule, and nothing else."""

import re
import time
from pathlib import Path

import pytest

from pliant.errors import ModelError
from pliant.model.readers.library import read_robot
from pliant.model.readers.yaml_data import LARGEST_FILE

BAD = sorted((Path(__file__).parent / "bad").glob("*.yaml"))
EXPECT = re.compile(rb"^# expect: (?:line (\d+): )?(.*)$", re.MULTILINE)
# processor seconds; a refusal must not wait for the whole file to be read
QUICK = 2.0
"""A few tenths at most are what it takes; a busy machine, whose caches others fill, has needed 0.7."""


def expected(file):
    """Line and words of every problem, as the first lines of the file state them."""
    return [(int(line) if line else None, words.decode()) for line, words in EXPECT.findall(file.read_bytes())]


def problems_of(file):
    with pytest.raises(ModelError) as caught:
        read_robot(file)
    return caught.value.problems


def test_there_are_many_bad_files():
    assert len(BAD) >= 45


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_every_problem_names_its_line_and_rule(file):
    wanted, found = expected(file), problems_of(file)
    assert wanted, "the file does not say what to expect"
    report = "\n".join(str(problem) for problem in found)
    assert len(found) == len(wanted), report
    for line, words in wanted:
        assert any(problem.line == line and words in str(problem) for problem in found), report
    for problem in found:
        place = f"{file}, line {problem.line}: " if problem.line else f"{file}: "
        assert str(problem).startswith(place)
        assert "\n" not in str(problem)


@pytest.mark.parametrize("file", [f for f in BAD if f.stem.startswith("yaml-")], ids=lambda file: file.stem)
def test_bombs_are_refused_quickly(file):
    start = time.process_time()
    problems_of(file)
    assert time.process_time() - start < QUICK


def test_a_huge_file_is_refused_without_reading_it(tmp_path):
    file = tmp_path / "huge.yaml"
    with file.open("wb") as stream:
        stream.write(b"name: arm\nlinks:\n")
        for _ in range(50):
            stream.write(b"  - {name: upper, joint: {}}\n" * 36_000)
    assert file.stat().st_size > 50_000_000
    start = time.process_time()
    (problem,) = problems_of(file)
    assert time.process_time() - start < QUICK
    assert f"larger than {LARGEST_FILE // 1_000_000} MB" in str(problem)


@pytest.mark.parametrize(
    ("name", "words"),
    [("nowhere.yaml", "there is no such file"), ("folder.yaml", "cannot be read"), ("nul\0.yaml", "cannot be read")],
)
def test_files_that_cannot_be_opened(tmp_path, name, words):
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(ModelError, match=words):
        read_robot(f"{tmp_path}/{name}")
