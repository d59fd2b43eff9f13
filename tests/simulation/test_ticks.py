"""Sampled laws: discrete states, noise and sensors at ticks."""

import warnings
from functools import cache

import numpy as np
import pytest

import pliant
from pliant.drives.drive import Controller, Tick
from pliant.drives.drive_kinds import DRIVES, register
from pliant.drives.sampled import DiscreteLaw, noise
from pliant.laws import LawState
from pliant.simulation.run import Run, run_study
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


# ---------------------------------------------------------------- ticks between the steps of every integrator

METHODS = {
    "dop853": ({}, 1e-9),
    "rk4": ({"step": 2e-5}, 1e-9),
    "semi-implicit": ({"step": 1e-5}, 1e-4),
    "esdirk": ({}, 1e-7),
    "generalised-alpha": ({}, 1e-6),
    "gauss": ({}, 1e-9),
}
"""What a run is told, and how far it may be from the reference: of the order of its steps."""
UNTIL = 0.02
ARMS = {"two-link-flexible": (400.0, 20.0, 100.0, 1.5e-3), "four-bar": (50.0, 1.0, 10.0, 0.0)}
"""Gains and delay."""


def pid(arm, kp, kd, ki, **options):
    q = arm.assemble()
    move = pliant.Quintic(to={each: q[arm.names.index(each)] + 0.3 for each in arm.inputs}, duration=0.1)
    return pliant.PID(trajectory=move, kp=kp, kd=kd, ki=ki, **options)


@cache
def sampled(name, method, **options):
    kp, kd, ki, delay = ARMS[name]
    arm = pliant.Dynamics(name)
    drive = pid(arm, kp, kd, ki, sampling={"period": 1e-3, "delay": delay})
    given = {"tolerance": 1e-8, "limits": "ignore", "output_step": 2.5e-4, **options}
    with warnings.catch_warnings():
        # what implicit methods say about their errors is not looked at here
        warnings.simplefilter("ignore", pliant.SimulationWarning)
        return pliant.simulate(arm, until=UNTIL, drive=drive, method=method, **given)


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("method", METHODS)
def test_every_integrator_takes_ticks(name, method):
    """Beside SciPy's steps, between which Python takes the ticks: motion, commands, discrete states, extremes."""
    options, near = METHODS[method]
    reference, run = sampled(name, "scipy:DOP853", tolerance=1e-11), sampled(name, method, **options)
    assert run.info.ended == "reached its end"
    assert np.abs(run.q - reference.q).max() < near
    assert np.abs(run.tau - reference.tau).max() < 20 * near * np.abs(reference.tau).max()
    states = [each for each in reference.channels if each.startswith("drive.integral")]
    assert len(states) == run.tau.shape[1]
    for each in states:
        assert run[each] == pytest.approx(reference[each], abs=near)
        assert np.ptp(run[each]) > 1e-6
    for each, extreme in reference.info.extremes.items():
        found, size = run.info.extremes[each], max(abs(extreme.least), abs(extreme.most))
        assert (found.least, found.most) == pytest.approx(
            (extreme.least, extreme.most), abs=50 * near * max(size, 1.0)
        ), each


def test_short_periods_meet_the_continuous_law():
    """The error falls with the period."""
    arm = pliant.Dynamics("single-flexible-link")
    runs = [{"sampling": {"period": period}} for period in (4e-3, 2e-3, 1e-3)]
    last = [
        pliant.simulate(arm, until=0.2, drive=pid(arm, 20.0, 1.0, 5.0, **each), method="dop853", tolerance=1e-9).q[-1]
        for each in (*runs, {})
    ]
    errors = [np.abs(q - last[-1]).max() for q in last[:-1]]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("delay", [0.0, 1e-3])
def test_functions_of_python_tick_between_compiled_steps(delay):
    """A user's function, called once a period, does what the compiled law does; so do robots without machine code."""
    arm = pliant.Dynamics("single-flexible-link")
    options = {"until": 0.03, "method": "dop853", "tolerance": 1e-9, "output_step": 1e-3}
    drive = pliant.PID(kp=20.0, kd=0.5, trajectory=pliant.Hold(to={"shoulder": 0.2}))
    sampled = drive.with_changes(sampling={"period": 2e-3, "delay": delay})
    compiled = pliant.simulate(arm, drive=sampled, **options)

    def law(t, q, v):
        return [20.0 * (0.2 - q[0]) - 0.5 * v[0]]

    called = pliant.simulate(arm, drive=pliant.Callback(function=law, period=2e-3, delay=delay), **options)
    assert called.info.statistics["steps"] == compiled.info.statistics["steps"]
    plain = pliant.Dynamics("single-flexible-link", compile="never")
    slow = pliant.simulate(plain, drive=sampled, **options)
    for run in (called, slow):
        assert run.q == pytest.approx(compiled.q, abs=1e-10)
        assert run.tau == pytest.approx(compiled.tau, abs=1e-8)


def test_where_a_run_is_cut_does_not_matter(encoder, monkeypatch):
    """Calls of a few steps, blocks of a few ticks, and a resumption give the same bits."""
    drive = encoder(sampling={"period": 1.1e-3, "delay": 2.5e-3})
    study = pliant.Study(
        robot=pliant.load("single-flexible-link"),
        until=0.1,
        drive=drive,
        limits="ignore",
        integrator={"method": "dop853"},
        outputs={"step": 1e-3},
    )
    whole = run_study(study)
    monkeypatch.setattr("pliant.simulation.integrators.compiled.STEPS_PER_CALL", 9)
    run = Run(study)
    assert not run.go(lambda progress: progress.t > 0.05)
    memory, samples = run.memory(), run.recorder.samples()
    again = Run(study)
    again.recall({key: np.array(x) for key, x in memory.items()}, samples)
    assert again.go()
    cut = again.result()
    for name in ("q", "v", "tau"):
        assert (getattr(cut, name) == getattr(whole, name)).all(), name
    assert (cut["drive.seen"] == whole["drive.seen"]).all()
    assert dict(cut.info.extremes) == dict(whole.info.extremes)
