"""Runs beside measurements: differences, rings, lags; a synthetic log with known differences."""

import numpy as np
import pytest

import pliant

HERTZ, ZETA, SIZE, PHASE = 3.7, 0.013, 0.02, 0.7


def damped(t, hertz=HERTZ, zeta=ZETA, size=SIZE, phase=PHASE):
    omega = 2 * np.pi * hertz
    return size * np.exp(-zeta / np.sqrt(1 - zeta**2) * omega * t) * np.cos(omega * t + phase)


@pytest.mark.parametrize(("hertz", "zeta"), [(3.7, 0.013), (0.9, 0.2), (41.0, -0.002), (7.3, 0.0)])
def test_a_damped_sine_is_found_beside_a_line(hertz, zeta):
    t = 5.0 + np.sort(np.random.default_rng(1).uniform(0, 2.5, 1200))
    ring = pliant.find_ring(t, damped(t - t[0], hertz, zeta) + 0.3 - 0.1 * t)
    assert ring.hertz == pytest.approx(hertz, rel=1e-8)
    assert ring.zeta == pytest.approx(zeta, abs=1e-8)
    assert ring.size == pytest.approx(SIZE, rel=1e-7)
    assert ring.phase == pytest.approx(PHASE, abs=1e-6)
    assert ring.explained == pytest.approx(1.0, abs=1e-9)


def test_noise_moves_a_ring_by_what_it_should():
    t, rng = np.linspace(0, 3, 3001), np.random.default_rng(2)
    found = [pliant.find_ring(t, damped(t) + rng.normal(0, 0.002, len(t))) for _ in range(20)]
    hertz = np.array([ring.hertz for ring in found])
    # the least standard deviation that any estimate can have, for weak damping: sqrt(6 / N) s / (pi a T)
    bound = np.sqrt(6 / len(t)) * 0.002 / (np.pi * SIZE * np.exp(-ZETA * 2 * np.pi * HERTZ * 1.5) * 3)
    assert abs(hertz.mean() - HERTZ) < 4 * bound
    assert hertz.std() < 4 * bound


def test_nothing_rings_in_a_line_or_in_a_few_samples():
    t = np.linspace(0, 1, 200)
    assert pliant.find_ring(t, 3 + 0 * t) is None
    assert pliant.find_ring(t[:5], damped(t[:5])) is None
    assert pliant.find_ring(t, damped(t, hertz=0.4)) is None


@pytest.fixture(scope="module")
def run():
    """A link that rings after a short move."""
    move = pliant.PrescribedMotion(trajectory=pliant.Quintic(to={"shoulder": 0.1}, duration=0.05))
    robot = pliant.load("single-flexible-link").with_changes(gravity=(0, 0, 0))
    return pliant.simulate(robot, until=1.5, output_step=1e-3, drive=move)


def beside(run, **change):
    """A log of the run's own deflection, made in a known way: late, larger, with an offset."""
    t, y = run.time, run["arm.deflection.y"]
    late, gain, offset = change.get("late", 0.0), change.get("gain", 1.0), change.get("offset", 0.0)
    times = np.arange(0.0, 1.5, 2e-3)
    return pliant.Log("rig", times, {"d": gain * np.interp(times - late, t, y, left=y[0]) + offset})


def test_a_log_of_the_run_itself_fits(run):
    row = run.compare(beside(run), {"arm.deflection.y": "d"}, windows=[(0.0, 1.5)])["d"]
    assert row.nrmse < 1e-12
    assert row.amplitude_ratio == pytest.approx(1.0, rel=1e-9)
    assert row.frequency_error == pytest.approx(0.0, abs=1e-9)
    assert row.samples == 750


def test_gains_offsets_and_delays_are_what_was_put_in(run):
    log = beside(run, gain=1.25, offset=0.004)
    row = run.compare(log, {"arm.deflection.y": "d"}, removed="mean")["arm.deflection.y"]
    # |1.25 y - y| / |1.25 y|
    assert row.nrmse == pytest.approx(0.2, rel=1e-9)
    assert row.amplitude_ratio == pytest.approx(0.8, rel=1e-6)
    assert run.compare(log, {"arm.deflection.y": "d"})["d"].nrmse > 0.205
    late = beside(run, late=0.03)
    whole = run.compare(late, {"arm.deflection.y": "d"}, windows=[(0.1, 1.3)])["d"]
    assert whole.lag == pytest.approx(0.03, abs=1e-3)
    assert whole.phase_error == pytest.approx(2 * np.pi * whole.log.hertz * 0.03, abs=0.05)
    shifted = run.compare(late, {"arm.deflection.y": "d"}, windows=[(0.1, 1.3)], delay=0.03)["d"]
    assert shifted.nrmse < 1e-3 < whole.nrmse


def test_windows_are_rows(run):
    found = run.compare(beside(run), {"arm.deflection.y": "d"}, windows=[(0, 0.5), (0.5, 1.0)])
    assert [(row.start, row.end) for row in found] == [(0, 0.5), (0.5, 1.0)]
    assert len(found.table()[0]) == len(found.HEAD)
    assert "rig" in found._repr_html_()


@pytest.mark.parametrize(
    ("channels", "options", "words"),
    [
        ({"arm.deflectoin.y": "d"}, {}, "the run has no channel 'arm.deflectoin.y'"),
        ({"arm.deflection.y": "e"}, {}, "log 'rig' has no channel 'e'"),
        ({"arm.deflection": "d"}, {}, "channel 'arm.deflection' has 3 parts; name one of them"),
        (None, {}, "the run and log 'rig' have no channel in common"),
        ({"arm.deflection.y": "d"}, {"windows": [(7, 8)]}, "'d' of log 'rig' has 0 samples from 7 to 8 s"),
        ({"arm.deflection.y": "d"}, {"removed": "noise"}, "removed is 'noise'; it must be"),
    ],
)
def test_what_cannot_be_compared_is_told(run, channels, options, words):
    with pytest.raises((pliant.ModelError, ValueError)) as raised:
        run.compare(beside(run), channels, **options)
    assert words in str(raised.value)


def test_the_command(run, tmp_path, monkeypatch, capsys):
    from pliant.cli.app import app

    monkeypatch.chdir(tmp_path)
    run.save("run.h5")
    log = beside(run, gain=1.25)
    rows = "\n".join(f"{1e3 * float(t)!r};{1e3 * float(d)!r}" for t, d in zip(log.time, log["d"], strict=True))
    (tmp_path / "rig.csv").write_text(f"clock [ms];tip\n{rows}\n")
    command = [
        "compare",
        "run.h5",
        "rig.csv",
        "--channel",
        "arm.deflection.y=d",
        "--column",
        "d=tip",
        "--unit",
        "d=mm",
    ]
    app([*command, "--time", "clock", "--window", "0:1", "--plot", "x.png", "--csv", "x.csv"], standalone_mode=False)
    out = capsys.readouterr().out
    assert "0.200" in out
    assert (tmp_path / "x.png").stat().st_size > 10_000
    assert "0.200" in (tmp_path / "x.csv").read_text()
