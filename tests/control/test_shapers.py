"""Shapers beside an independent code, their own conditions, and the vibration that simulated robots are left with."""

import json
from math import pi
from pathlib import Path

import numpy as np
import pytest

from pliant.control.path_vibrations import pose_vibrations, rest_at
from pliant.control.shapers import SHAPERS, shaper
from pliant.drives.prescribed import PrescribedMotion
from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.model.readers.library import read_text
from pliant.simulation.run import simulate
from pliant.trajectories.joint_moves import Quintic
from pliant.trajectories.shaped import Shaped

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "data" / "control.json").read_text())
"""An independent NumPy code."""
DIGITS = 1e-12
CASES = [case for case in REFERENCE["shapers"]["cases"] if "hertz" in case]
CONVOLVED = [case for case in REFERENCE["shapers"]["cases"] if "hertz" not in case]
TOLERANCE = 0.05
SCAN = np.linspace(0.4, 1.6, 24001)
"""Frequencies over the one that a shaper is made for."""
HUMP = 1e-6
"""Height of a hump: the scan is that far from its top."""


def test_the_reference_has_every_kind():
    assert {case["kind"] for case in CASES} == set(SHAPERS)
    assert len(CONVOLVED) == 1


@pytest.mark.parametrize("k", range(len(CASES)))
def test_impulses_and_what_they_leave(k):
    case = CASES[k]
    w, z = 2 * pi * case["hertz"], case["damping"]
    made = shaper(case["kind"], w, z, tolerance=case["tolerance"] or TOLERANCE)
    assert made.times == pytest.approx(case["times"], abs=DIGITS)
    assert made.amplitudes == pytest.approx(case["amplitudes"], abs=DIGITS)
    assert made.duration == pytest.approx(case["duration"], abs=DIGITS)
    assert made.delay == pytest.approx(case["mean_delay"], abs=DIGITS)
    parts = np.array([float(part) for part in case["remaining"]])
    assert made.remaining(parts * w, z) == pytest.approx(list(case["remaining"].values()), abs=DIGITS)


def test_several_modes_are_convolved():
    (wanted,) = CONVOLVED
    both = shaper("zv", 2 * pi * 2.5, 0.005).then(shaper("zvd", 2 * pi * 7.0, 0.05))
    assert both.times == pytest.approx(wanted["times"], abs=DIGITS)
    assert both.amplitudes == pytest.approx(wanted["amplitudes"], abs=DIGITS)
    # in any order, and equal modes share impulses: a zvd is a zv twice
    twice = shaper("zv", [17.0, 17.0], [0.01, 0.01])
    assert twice.amplitudes == pytest.approx(shaper("zvd", 17.0, 0.01).amplitudes, abs=DIGITS)
    assert shaper("ei", [17.0, 60.0], 0.01).remaining([17.0, 60.0], 0.01) == pytest.approx(
        [shaper("ei", w, 0.01).remaining(w, 0.01) * shaper("ei", other, 0.01).remaining(w, 0.01) for w, other in
         ((17.0, 60.0), (60.0, 17.0))], abs=DIGITS
    )  # fmt: skip


def zeros_and_humps(left):
    low = np.flatnonzero((left[1:-1] < left[:-2]) & (left[1:-1] <= left[2:])) + 1
    high = np.flatnonzero((left[1:-1] > left[:-2]) & (left[1:-1] >= left[2:])) + 1
    return low, high


@pytest.mark.parametrize("tolerance", [0.02, 0.05, 0.2])
@pytest.mark.parametrize(("kind", "zeros", "top"), [("ei", 2, True), ("ei2", 3, False), ("ei3", 4, True)])
def test_extra_insensitive_shapers_have_humps_as_high_as_the_tolerance(kind, zeros, top, tolerance):
    made = shaper(kind, 1.0, tolerance=tolerance)
    wide = np.linspace(0.3, 1.7, 28001)
    left = made.remaining(wide)
    low, high = zeros_and_humps(left)
    assert len(low) == zeros
    assert left[low].max() < 1e-3
    assert left[high] == pytest.approx(tolerance, abs=HUMP)
    at = float(made.remaining(1.0))
    assert at == pytest.approx(tolerance, abs=DIGITS) if top else at < DIGITS


@pytest.mark.parametrize(("kind", "order"), [("zv", 1), ("mzv", 1), ("zvd", 2), ("zvdd", 3)])
def test_zero_vibration_shapers_vanish_with_their_derivatives(kind, order):
    """Beside the frequency, what is left grows with a power of the difference."""
    made = shaper(kind, 1.0)
    assert made.remaining(1.0) < DIGITS
    near, far = made.remaining([1.01, 1.02])
    assert np.log2(far / near) == pytest.approx(order, abs=0.05)


def test_wrong_numbers_are_refused_in_words():
    with pytest.raises(ModelError, match="there is no shaper 'zvdx'; did you mean 'zvd'"):
        shaper("zvdx", 10.0)
    with pytest.raises(ModelError, match=r"tolerance is 1\.5"):
        shaper("ei", 10.0, tolerance=1.5)
    with pytest.raises(ModelError, match="damping is 1;"):
        shaper("zv", 10.0, 1.0)
    with pytest.raises(ModelError, match="omega is -1"):
        shaper("zv", -1.0)
    with pytest.raises(ModelError, match="at most 4096: shape fewer modes"):
        shaper("ei3", [10.0, 21.0, 33.0, 47.0, 61.0, 79.0])


# ---- simulated: one link, small enough to be linear

MOVE, TIME = 0.1, 0.25
POINTS = 0.1
"""Percentage points by which nonlinear terms and the second mode change what is left."""


@pytest.fixture(scope="module")
def one_link():
    arm = Dynamics(read_text(REFERENCE["robots"]["one-link"]))
    found = pose_vibrations(arm, rest_at(arm, np.array([MOVE]), arm.reference_pose()))
    return arm, float(found.omega[0]), float(found.damping[0])


def swing(arm, trajectory, end, w, z):
    """Largest distance of the tip from rest after the motion, the decay taken out."""
    until = end + 4 * pi / w
    run = simulate(
        arm, until=until, drive=PrescribedMotion(trajectory=trajectory), output_step=pi / (200 * w), tolerance=1e-9
    )
    after = run.time >= end
    rest = arm.pose("tip", rest_at(arm, np.array([MOVE]), arm.reference_pose())).position
    away = np.linalg.norm(run["tip.position"][after] - rest, axis=1)
    return float((away * np.exp(z * w * (run.time[after] - end))).max())


@pytest.mark.filterwarnings("ignore::pliant.SimulationWarning")
def test_a_link_is_left_with_what_the_formula_says(one_link):
    arm, w, z = one_link
    motion = Quintic(to={"shoulder": MOVE}, duration=TIME)
    plain = swing(arm, motion, TIME, w, z)
    published = {("zv", 1.0): 0.0, ("zvd", 1.0): 0.0, ("zv", 1.1): 14.19, ("zvd", 1.1): 2.01, ("ei", 1.1): 2.85}
    for (kind, wrong), wanted in published.items():
        made = shaper(kind, wrong * w, z)
        formula = 100 * float(made.remaining(w, z))
        assert formula == pytest.approx(wanted, abs=0.006)
        shaped = Shaped(motion=motion, shaper=kind, frequencies=[wrong * w / (2 * pi)], damping=[z])
        left = 100 * swing(arm, shaped, TIME + made.duration, w, z) / plain
        assert left == pytest.approx(formula, abs=POINTS)
