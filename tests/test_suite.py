"""The suite's own options and programs: the wide part, the ceiling of skipped tests, Pythons and processors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import processors
import versions

CASES = """
import pytest

@pytest.mark.parametrize("x", range(9))
def test_many(x):
    assert x in (0, 4, 8)

def test_one():
    pytest.skip("nothing to compare with")
"""


def suite(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The tests above with the configuration of all tests."""
    shutil.copy(Path(__file__).parent / "conftest.py", folder)
    (folder / "test_cases.py").write_text(CASES)
    command = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", "--rootdir", folder, folder, *options]
    alone = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    return subprocess.run(command, capture_output=True, text=True, env=alone, cwd=folder)


def test_the_wide_part_has_cases_of_every_test(tmp_path):
    told = suite(tmp_path, "--wide")
    assert "3 passed, 1 skipped, 6 deselected" in told.stdout
    assert told.returncode == 0
    assert "1 passed, 1 skipped, 8 deselected" in suite(tmp_path, "--cases", "1").stdout
    assert "6 failed, 3 passed" in suite(tmp_path).stdout


def test_runs_can_share_what_they_compile(tmp_path):
    shown = "import os\n\n\ndef test_place():\n    print(f\"in {os.environ['PLIANT_CACHE']}.\")\n"
    (tmp_path / "test_place.py").write_text(shown)
    assert f"in {tmp_path / 'shared'}." in suite(tmp_path, "-s", "-k", "place", "--code-cache", "shared").stdout
    # a folder of its own where none is given
    assert "/pliant-cache." in suite(tmp_path, "-s", "-k", "place").stdout


def test_environments_can_be_made_without_testing(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(versions, "environment", lambda python, kind: made.append((python.name, kind)) or tmp_path)
    monkeypatch.setattr(versions, "run", None)
    given = ["versions.py", "--pythons", "newest", "--packages", "newest", "--only-set-up"]
    monkeypatch.setattr(sys, "argv", given)
    assert versions.main() == 0
    assert made == [(versions.pythons()[-1].name, "newest")]
    # and none where its Python has been tested
    monkeypatch.setattr(sys, "argv", [*given, "--besides", str(versions.pythons()[-1].path)])
    assert versions.main() == 0
    assert len(made) == 1


def test_too_many_skipped_tests_are_a_failure(tmp_path):
    assert suite(tmp_path, "--wide", "--most-skipped", "1").returncode == 0
    told = suite(tmp_path, "--wide", "--most-skipped", "0")
    assert told.returncode == 1
    assert "1 tests are skipped, more than 0" in told.stdout
    assert "nothing to compare with" in told.stdout


def test_every_python_is_found_once():
    found = versions.pythons()
    names = [python.name for python in found]
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in names
    assert len(set(names)) == len(names)
    assert all(python.version >= (3, 11) for python in found)
    assert versions.chosen(["newest", names[0]]) == [found[-1], found[0]]


def test_what_is_left_out_is_there():
    left_out = [Path(option.removeprefix("--ignore=")) for option in versions.usual() if option.startswith("--ignore=")]
    assert left_out
    assert [path for path in left_out if not path.exists()] == []
    # a new folder of tests computes unless somebody says that it does not
    assert [part for part in processors.LEFT_OUT if not (processors.TESTS / part).is_dir()] == []
    assert {"simulation", "control", "model"} <= set(processors.PARTS)


def test_extras_of_extras_are_packages_to_pin():
    names = {requirement.name for requirement in versions.requirements()}
    assert {"numpy", "sympy", "viser", "mkdocs-material", "pytest"} <= names
    assert "pliant" not in names
    # a package without a lower bound has no oldest version that was tested
    assert all(requirement.specifier for requirement in versions.requirements())


def test_numpy_is_deprived_of_what_the_processor_lacks_under_old_and_new_names():
    old, new = ["SSE42", "AVX", "AVX2", "FMA3", "AVX512F", "AVX512_SKX"], ["X86_V3", "X86_V4", "AVX512_ICL"]
    by_name = {processor.name: processor for processor in processors.X86}
    without = "NPY_DISABLE_CPU_FEATURES"
    assert by_name["generic"].environment(old)[without] == " ".join(old)
    assert by_name["x86-64-v2"].environment(new)[without] == " ".join(new)
    assert by_name["x86-64-v3"].environment(old)[without] == "AVX512F AVX512_SKX"
    assert by_name["x86-64-v3"].environment(new)[without] == "X86_V4 AVX512_ICL"
    assert without not in by_name["x86-64-v4"].environment(new)
    assert processors.processors()[0].name == "generic"
