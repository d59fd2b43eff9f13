"""Sampled laws: discrete states, noise and sensors at ticks."""

import numpy as np
import pytest

import pliant
from pliant.drives.drive import Controller, Tick
from pliant.drives.kinds import DRIVES, register
from pliant.drives.sampled import DiscreteLaw, noise
from pliant.laws import LawState
from pliant.spatial.scalars import floor

LINES = 512 / (2 * np.pi)
"""Counts per radian of the encoder."""


def test_noise_follows_from_seed_channel_and_tick():
    whole = noise(7, 3, 0, 4096)
    for first, count in ((0, 5), (1000, 24), (4095, 1)):
        assert (noise(7, 3, first, count) == whole[first : first + count]).all()
    assert whole.mean(axis=0) == pytest.approx(np.zeros(3), abs=5 / 64)
    assert np.cov(whole.T) == pytest.approx(np.eye(3), abs=0.12)
    assert np.abs(noise(8, 3, 0, 9) - whole[:9]).min() > 1e-6


class EncoderLaw(DiscreteLaw):
    """Proportional feedback on an encoder whose noise is a tenth of a line; the rate is a difference of counts."""

    channels = 1
    sampled_states = (LawState("seen", "rad"), LawState("before", "rad"))
    gains = (30.0, 1.5)
    structure = "encoder of a test"

    def at_ticks(self, first, count, period):
        return noise(3, 1, first, count)

    def computed(self, q, v, z, signals, gains, period):
        kp, kd = gains
        seen = floor(LINES * q[0] + 0.1 * signals[0]) / LINES
        return Tick([seen, z[0]], [kp * (0.4 - seen) - kd * (seen - z[0]) / period[0]])


class Encoder(Controller):
    """Keys of the law."""

    kind = "encoder"

    def law(self, around, q0):
        return EncoderLaw()


@pytest.fixture
def encoder():
    yield register(Encoder)
    del DRIVES.kinds["encoder"]


def test_a_discrete_law_from_outside(encoder):
    """Its states are channels; the readings are those of the motion, counted and noisy."""
    drive = encoder(sampling={"period": 2e-3, "delay": 1e-3})
    run = pliant.simulate(
        "single-flexible-link", until=0.1, drive=drive, method="dop853", output_step=1e-3, limits="ignore"
    )
    # at a tick the samples have what was before
    k = np.arange(0, 48, 2)
    readings = np.floor(LINES * run["shoulder"][k] + 0.1 * noise(3, 1, 0, 24)[:, 0]) / LINES
    assert run["drive.seen"][k + 1] == pytest.approx(readings, abs=1e-12)
    assert run["drive.before"][k[1:] + 1] == pytest.approx(readings[:-1], abs=1e-12)
    command = 30.0 * (0.4 - readings[1:]) - 1.5 * np.diff(readings) / 2e-3
    assert run["shoulder.torque"][k[1:] + 2] == pytest.approx(command, abs=1e-9)
