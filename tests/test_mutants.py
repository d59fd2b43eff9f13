"""Mutants are small changes of a module that remain Python, and meet the tests that execute their lines."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import mutants

TEXT = '''
def f(x, y):
    """A - b, which is not physics."""
    z = 0.5 * x - y
    if z < 0.25:
        raise ValueError(f"{x - y} is too small: " + "a" * 2)
    return -z
'''


def test_signs_factors_and_comparisons_are_broken():
    found = list(mutants.mutants_of(Path("f.py"), TEXT))
    assert {(m.line, m.old, m.new) for m in found} == {
        (4, "-", "+"),
        (4, "*", "/"),
        (4, "0.5", "0.75"),
        (5, "<", ">="),
        (5, "0.25", "0.375"),
        (7, "-", "+"),
    }
    for mutant in found:
        broken = mutant.applied(TEXT)
        ast.parse(broken)
        changed = [k for k, (a, b) in enumerate(zip(TEXT.splitlines(), broken.splitlines(), strict=True), 1) if a != b]
        assert changed == [mutant.line]


def test_choices_repeat_and_have_tests():
    some = mutants.chosen(40, 3, "")
    assert some == mutants.chosen(40, 3, "")
    assert some != mutants.chosen(40, 4, "")
    assert some[:15] == mutants.chosen(15, 3, "")
    for mutant in some:
        assert all((mutants.ROOT / folder).is_dir() for folder in mutants.nearest(mutant.module))
    assert all((mutants.ROOT / "tests" / folder).is_dir() for folder in mutants.ALL)


def test_fast_tests_of_few_files_come_first():
    tests = [mutants.Mapped(f"tests/a/test_{k}.py::test", 0.1 * k, k != 3) for k in range(9)]
    few = mutants.first_ones(tests)
    assert [test.test[13] for test in few] == ["0", "1", "2", "4", "5"]
    slow = mutants.Mapped("tests/a/test_slow.py::test", 1e3, True)
    assert mutants.first_ones([slow, *tests])[0] == slow
    assert mutants.next_ones([*tests, slow], few) == [tests[3], *tests[6:]]


# ---------------------------------------------------------------- a small tree

MODULE = """
HALF = 0.5

def area(a, b):
    return HALF * a * (
        b)

def known(a):
    if a < 2.5:
        return 1
    return a - 7.0
"""

TESTS = """
from pliant.spatial.toy import area, known

def test_area():
    assert area(3.0, 4.0) == 6.0

def test_known():
    assert known(1.0) == 1
"""

CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--cases", type=int)
"""

OUTCOMES = {
    (2, "0.5"): "killed",
    (5, "*"): "killed",
    (9, "<"): "killed",
    # no test asks between 2.5 and 3.75
    (9, "2.5"): "survived",
    (11, "-"): "blank",
    (11, "7.0"): "blank",
}
"""By line and what stood there."""


def small_tree(folder):
    """A package of one module with its tests, and the program beside them."""
    for name, text in {
        "src/pliant/__init__.py": "",
        "src/pliant/spatial/__init__.py": "",
        "src/pliant/spatial/toy.py": MODULE,
        "tests/conftest.py": CONFTEST,
        "tests/spatial/test_toy.py": TESTS,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    shutil.copy(mutants.__file__, folder / "tests" / "mutants.py")


def said(folder, *options):
    """What the program prints in a small tree."""
    alone = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    command = [sys.executable, "tests/mutants.py", "--count", "99", *options]
    return subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True)


def test_mutants_meet_the_tests_that_execute_them(tmp_path):
    small_tree(tmp_path)
    told = said(tmp_path)
    assert told.returncode == 1, told.stderr
    rows = [json.loads(line) for line in (tmp_path / "out/mutants/seed-1.jsonl").read_text().splitlines()]
    found = {(row["mutant"][1], row["mutant"][3]): row["found"] for row in rows}
    assert found == OUTCOMES
    # again: only what no test noticed meets a new test; no module was left broken
    assert (tmp_path / "src/pliant/spatial/toy.py").read_text() == MODULE
    path = tmp_path / "tests/spatial/test_toy.py"
    path.write_text(TESTS + "    assert known(3.0) == -4.0\n")
    shutil.rmtree(tmp_path / "out/mutants/map")
    told = said(tmp_path, "--again")
    assert told.returncode == 0, told.stdout
    assert "6 mutants of 6: 6 killed" in told.stdout
    assert len((tmp_path / "out/mutants/seed-1.jsonl").read_text().splitlines()) == len(rows) + 3


def test_what_has_no_end_is_ended_with_all_its_processes():
    endless = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(1e6)'])"
    child = subprocess.Popen([sys.executable, "-c", endless], start_new_session=True)
    assert mutants.ended(child.pid, 0.2) is None
    mutants.end_group(child.pid)
    # it was waited for there
    assert child.wait() == 0
