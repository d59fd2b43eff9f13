"""Derivatives of measured positions: noise that is left, and efforts that do not drown in it."""

import numpy as np
import pytest

import pliant
from pliant import ModelError

RATE, NOISE = 1000.0, 1e-6
T = np.arange(0.0, 2.0, 1 / RATE)
W = 2 * np.pi * 0.5
MOTION = 0.1 * (1 - np.cos(W * T))
ACCELERATION = 0.1 * W**2 * np.cos(W * T)


@pytest.fixture(scope="module")
def measured():
    return MOTION + NOISE * np.random.default_rng(0).standard_normal(len(T))


def test_noise_is_what_is_predicted(measured):
    found = pliant.filtered(T, measured, cutoff=20.0)
    inside = slice(150, -150)
    error = found.a[inside, 0] - ACCELERATION[inside]
    assert found.noise[0] == pytest.approx(NOISE, rel=0.05)
    # a few hundred independent values
    assert error.std() == pytest.approx(found.floor[2, 0], rel=0.25)
    assert found.floor[2, 0] < 2e-3
    # plain differences are a thousand times worse
    assert np.diff(measured, 2).std() * RATE**2 > 1000 * error.std()


def test_a_cutoff_is_found_from_the_noise(measured):
    found = pliant.filtered(T, measured, noise=NOISE)
    assert 1.0 < found.cutoff < 60.0
    assert np.abs(found.q[150:-150, 0] - MOTION[150:-150]).max() < 2 * NOISE
    with pytest.raises(ValueError, match="must be larger, or give a cutoff"):
        pliant.filtered(T, measured, noise=1e-9)


def test_nothing_is_delayed_and_the_cutoff_is_3_db():
    for hertz, left in ((2.0, 1.0), (20.0, np.sqrt(0.5)), (200.0, 0.0)):
        wave = np.sin(2 * np.pi * hertz * T)
        found = pliant.filtered(T, wave, cutoff=20.0).q[500:-500, 0]
        assert found == pytest.approx(left * wave[500:-500], abs=2e-3)


def test_uneven_times_are_put_onto_equal_steps(measured):
    uneven = T + 2e-4 * np.sin(T)
    found = pliant.filtered(uneven, 0.1 * (1 - np.cos(W * uneven)), cutoff=20.0)
    assert np.diff(found.times) == pytest.approx(np.full(len(T) - 1, np.diff(found.times)[0]), rel=1e-9)
    expected = 0.1 * W**2 * np.cos(W * found.times)
    assert found.a[150:-150, 0] == pytest.approx(expected[150:-150], abs=1e-3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "either cutoff"),
        ({"cutoff": 20.0, "noise": 1e-6}, "either cutoff"),
        ({"cutoff": 900.0}, "needs less than 450 Hz"),
        ({"cutoff": -1.0}, "above zero"),
    ],
)
def test_what_no_filter_can_do_is_refused(measured, given, words):
    with pytest.raises(ValueError, match=words):
        pliant.filtered(T, measured, **given)


def test_a_measured_table_gives_smooth_efforts(measured):
    """Inverse dynamics of a logged motion: a carriage of 100 kg."""
    slide = pliant.Link(
        name="carriage",
        joint=pliant.Joint(name="x", type="prismatic", axis="x"),
        rigid=pliant.Rigid(mass=100.0, inertia=1.0),
    )
    arm = pliant.Dynamics(pliant.Robot(name="stage", links=[slide]), compile="never")
    from pliant.trajectories.path import Surroundings

    def efforts(**smooth):
        table = pliant.TableMotion(time=T, positions=measured[:, None], **smooth)
        path = table.bind(Surroundings(arm, np.zeros(1)), np.zeros(1), 0.0)
        wanted = path.many(T[150:-150])
        return arm.forces(wanted.q, wanted.v, wanted.a)[:, 0] - 100.0 * ACCELERATION[150:-150]

    assert np.abs(efforts()).max() > 1000.0
    assert np.abs(efforts(smooth={"cutoff": 20.0})).max() < 1.0
    with pytest.raises(ModelError, match="smooth: cutoff is 800 Hz"):
        efforts(smooth={"cutoff": 800.0})
