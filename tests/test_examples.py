"""The examples run, and what they find agrees with what is known otherwise: by hand, by a law, by a paper."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("[0-9]*.py"))
PUBLISHED = 0.57376
"""m: largest lag of Simo & Vu-Quoc's spin-up, of an inextensible rod."""
BY_HAND = 5e-3
"""Few shapes, and second order, beside formulas of the straight beam."""
MEASURED = 1e-2
"""A frequency from few peaks of a curve that fades."""


def example(start, tmp_path, **options):
    """What an example finds, by its number; its picture must be there."""
    (script,) = EXAMPLES.glob(f"{start}_*.py")
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.main(tmp_path, **options)
    assert [picture.stat().st_size > 10_000 for picture in tmp_path.glob("*.png")] == [True]
    return found


def test_they_are_numbered_without_gaps():
    assert [int(script.name[:2]) for script in SCRIPTS] == list(range(1, len(SCRIPTS) + 1))
    for script in SCRIPTS:
        assert f"python examples/{script.name}" in script.read_text("utf-8")


def test_two_link(tmp_path):
    found = example("01", tmp_path)
    assert found["static deflection, m"] == pytest.approx(found["by hand, m"], rel=BY_HAND)
    # of several joules, by steps of a tolerance of 1e-8
    assert found["error of the energy balance, J"] < 1e-6


def test_spin_up(tmp_path):
    found = example("02", tmp_path, film=False)
    assert found["exact"] == pytest.approx(PUBLISHED, rel=1e-3)
    assert found["second-order"] == pytest.approx(PUBLISHED, rel=5e-3)
    # a linear arm diverges
    assert found["linear"] > 5.0


def test_rolled_up(tmp_path):
    assert example("03", tmp_path) < 1e-9
    # a film of a robot without joints
    assert (tmp_path / "rolled-up.gif").read_bytes()[:4] == b"GIF8"


def test_fishing_rod(tmp_path):
    assert 1.0 < example("04", tmp_path, film=False) < 2.5


def test_lattice_arm(tmp_path):
    found = example("05", tmp_path)
    assert found["first frequency of the girder, Hz"] == pytest.approx(found["of all its unknowns, Hz"], rel=1e-3)


def test_concrete_boom(tmp_path):
    found = example("06", tmp_path)
    assert found["sag of the tip, m"] == pytest.approx(found["sag by hand, m"], rel=BY_HAND)
    assert found["its frequency in the run, Hz"] == pytest.approx(found["lowest sideways frequency, Hz"], rel=MEASURED)
    assert found["its damping ratio"] == pytest.approx(0.01, rel=0.1)


def test_crane(tmp_path):
    found, hand = example("07", tmp_path)
    for name, value in hand.items():
        assert found[name] == pytest.approx(value, rel=BY_HAND)
    assert found["swing after a ramp of one period, m"] < 0.1 * found["swing after a hasty ramp, m"]


def test_space_arm(tmp_path):
    found = example("08", tmp_path)
    assert found["turn of the satellite, deg"] == pytest.approx(found["the same by hand, rigid arm, deg"], rel=MEASURED)
    # of 60 kg at some 0.5 m/s, at levers of some metres
    assert found["largest momentum, N s"] < 1e-9
    assert found["largest angular momentum, N m s"] < 1e-9


def test_delta_robot(tmp_path):
    found = example("09", tmp_path, rods=False)
    assert found["sag under the payload, um"] == pytest.approx(found["sag by hand, um"], rel=BY_HAND)
    assert found["rigid arrival beside the goal, mm"] < 1e-6
    assert found["largest gap of a ball joint, m"] < 1e-12
    # moves by inertia far more than by weight, and settles
    assert found["largest deviation on the way, mm"] > 2 * found["after the arrival, mm"] > 0


def test_predictive_control(tmp_path):
    pytest.importorskip("casadi", reason="casadi is not installed")
    found = example("10", tmp_path, size="short")
    assert found["unknowns of a step"] == 140
    assert found["steps that IPOPT did not finish"] == 0
    # a few steps: it pushes with all it has
    assert found["largest effort, N m"] == pytest.approx(12.0, rel=1e-3)
