"""The examples run and show what they say."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PUBLISHED = 0.57376
"""m: largest lag of Simo & Vu-Quoc's spin-up, of an inextensible rod."""


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_spin_up(tmp_path):
    found = example("spin_up").main(tmp_path, film=False)
    assert found["exact"] == pytest.approx(PUBLISHED, rel=1e-3)
    assert found["second-order"] == pytest.approx(PUBLISHED, rel=5e-3)
    # a linear arm diverges
    assert found["linear"] > 5.0
    assert (tmp_path / "spin-up.png").stat().st_size > 10_000


def test_rolled_up(tmp_path):
    assert example("rolled_up").main(tmp_path) < 1e-9
    assert (tmp_path / "rolled-up.png").stat().st_size > 10_000
    # a film of a robot without joints
    assert (tmp_path / "rolled-up.gif").read_bytes()[:4] == b"GIF8"


def test_fishing_rod(tmp_path):
    assert 1.0 < example("fishing_rod").main(tmp_path, film=False) < 2.5
    assert (tmp_path / "fishing-rod.png").stat().st_size > 10_000
