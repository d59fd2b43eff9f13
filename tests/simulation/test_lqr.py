"""Regulators and observers as drives: beside linear theory, in machine code, sampled, resumed, refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from typer.testing import CliRunner

from closed_robots import five_bar
from pliant import LQR, Dynamics, Hold, ModelError, Quintic, Sampling, Start, Study, linearise, lqr, simulate
from pliant.cli.app import app
from pliant.control.regulator import kalman
from pliant.control.spillover import closed_loop, spillover
from pliant.drives.bent_reference import BentReference
from pliant.drives.sampled import noise
from pliant.loads.disturbance import Disturbance
from pliant.model.readers.library import read_text
from pliant.simulation.run import Run, SimulationWarning, run_study
from pliant.trajectories.path import Surroundings

TWO_LINK = json.loads((Path(__file__).parents[1] / "reference" / "data" / "control.json").read_text())["robots"][
    "two-link"
]
SENSORS = """
sensors:
  - {name: hub, encoder: {joint: shoulder}, noise: 1e-4}
  - {name: wrist, encoder: {joint: elbow, counts: 100000}, noise: 1e-4, bias: 0.02}
  - {name: gauge, strain: {link: upper, x: 30 mm, y: 3 mm}, noise: 1e-6, delay: 2 ms, gain: 2}
  - {name: push, accelerometer: {frame: tip, axis: y}, noise: 0.05}
  - {name: turn, gyro: {frame: tip, axis: z}, noise: 0.01}
"""
WEIGHTS = {"tip": 1e4, "coordinates": 1.0, "rates": 0.01, "effort": 0.01}
POSE = {"shoulder": 0.4, "elbow": 0.7}
SMALL = 1e-4
"""Deviations of motions that are compared with linear ones: squares of them are what is left."""
MOVE = Quintic(to={"shoulder": 0.6, "elbow": 1.0}, duration=0.6)


@pytest.fixture(scope="module")
def arm():
    return Dynamics(read_text(TWO_LINK + SENSORS))


def rest_and_push(arm):
    """The bent robot, and a small deviation from it in bending and all rates; the drives hold where they start."""
    model = linearise(arm, POSE)
    rng = np.random.default_rng(4)
    dx = SMALL * rng.normal(size=2 * arm.size) * np.r_[np.full(arm.size, 1.0), np.full(arm.size, 3.0)]
    dx[[arm.names.index(name) for name in POSE]] = 0.0
    return model, dx, (model.q + dx[: arm.size], dx[arm.size :])


def started(q, v):
    return Start(q=tuple(q.tolist()), v=tuple(v.tolist()))


def test_small_deviations_decay_as_the_linear_loop_tells(arm):
    model, dx, (q, v) = rest_and_push(arm)
    run = simulate(arm, until=0.1, drive=LQR(weights=WEIGHTS), start=started(q, v), tolerance=1e-10, output_step=0.02)
    loop = lqr(model, WEIGHTS)
    found = np.hstack([run.samples.q - model.q, run.samples.v])
    wanted = np.array([expm((model.A - model.B @ loop.K) * t) @ dx for t in run.time])
    assert found == pytest.approx(wanted, abs=3e-3 * np.abs(wanted).max())
    # and with a continuous observer, which knows nothing of the deviation at first
    names = ("hub", "wrist", "push", "turn")
    lqg = LQR(weights=WEIGHTS, estimator="kalman", sensors=names, process={"effort": 0.02, "states": 1e-4})
    run = simulate(arm, until=0.1, drive=lqg, start=started(q, v), tolerance=1e-10, output_step=0.02)
    observer = kalman(model, names, process={"effort": 0.02, "states": 1e-4})
    whole = closed_loop(observer.model, loop, observer)
    wanted = np.array([expm(whole * t) @ np.concatenate([dx, np.zeros(12)]) for t in run.time])
    found = np.hstack([run.samples.q - model.q, run.samples.v])
    assert found == pytest.approx(wanted[:, :12], abs=3e-3 * np.abs(wanted[:, :12]).max())
    seen = np.stack([run[f"drive.deviation.{name}"] for name in model.names], axis=1)
    assert seen == pytest.approx(wanted[:, 12:], abs=3e-3 * np.abs(wanted[:, 12:]).max())


SPILLS = pytest.mark.filterwarnings("ignore:the regulator is unstable with finer links")
"""Of weights and accelerometers that no real robot would be regulated with."""


@SPILLS
@pytest.mark.parametrize("delay", [0.0, 1e-3, 2.5e-3])
def test_ticks_are_the_sampled_linear_loop(delay):
    """Commands that wait, late readings, accelerometers that feel the last command, noise: state by state."""
    arm = Dynamics(read_text(TWO_LINK + SENSORS.replace(", counts: 100000", "")))
    model, dx, (q, v) = rest_and_push(arm)
    names = tuple(sensor.name for sensor in arm.robot.sensors)
    rms, late = (np.array([getattr(s, key) for s in arm.robot.sensors]) for key in ("noise", "delay"))
    period, process = 1e-3, {"effort": 0.1, "states": 1e-4}
    drive = LQR(
        weights=WEIGHTS,
        estimator="kalman",
        process=process,
        sampling=Sampling(period=period, delay=delay),
        seed=3,
    )
    ticks = 40
    run = simulate(arm, until=ticks * period, drive=drive, start=started(q, v), tolerance=1e-10, output_step=period / 2)
    loop = lqr(model, WEIGHTS, period=period, delay=delay)
    observer = kalman(model, names, process=process, period=period, delay=delay)
    own = observer.model
    draws = noise(3, len(names), 0, ticks) * rms
    K = np.zeros((2, own.order))
    K[:, : len(loop.names)] = loop.K
    # before the first command the motors are off: what waits, and what acted last, is less than what holds the robot
    first = np.zeros(own.order)
    for i, name in enumerate(own.names):
        joint, _, word = name.rpartition(".")
        if joint in arm.inputs and word != "rate":
            first[i] = -model.tau[arm.inputs.index(joint)]
    plant, estimate = first.copy(), first.copy()
    plant[:12] = dx
    wanted = []
    for k in range(ticks):
        shift = np.rint(late / period).astype(int)
        heard = [draws[k - s, i] if k >= s else 0.0 for i, s in enumerate(shift)]
        y = own.C @ plant + heard
        estimate = estimate + observer.L @ (y - own.C @ estimate)
        u = -K @ estimate
        plant, estimate = own.A @ plant + own.B @ u, own.A @ estimate + own.B @ u
        wanted.append(estimate)
    found = np.stack([run[f"drive.deviation.{name}"][1::2] for name in own.names], axis=1)
    wanted = np.array(wanted)
    size = np.abs(wanted).max(axis=0).clip(1e-9)
    assert np.abs((found - wanted) / size).max() < 2e-2
    assert run["drive.estimate.elbow"][1::2] == pytest.approx(run["elbow"][::2][:-1], abs=2e-3)


def test_samples_ever_closer_are_the_continuous_loop(arm):
    """Of order two: the sampled design has the cost of the continuous one, and knows that its commands are held."""
    _, dx, (q, _) = rest_and_push(arm)
    q0 = started(q, 100 * dx[arm.size :])
    given = {"weights": WEIGHTS}
    smooth = simulate(arm, until=0.1, drive=LQR(**given), start=q0, output_step=0.02)
    errors = []
    for period in (2e-3, 1e-3, 5e-4):
        run = simulate(arm, until=0.1, drive=LQR(**given, sampling=Sampling(period=period)), start=q0, output_step=0.02)
        errors.append(np.abs(run.samples.q - smooth.samples.q).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([2.0, 2.0], abs=0.25)


def law_reference(arm):
    """What the drives below follow."""
    around = Surroundings(arm, linearise(arm, POSE).q, 1.0)
    return BentReference(around, MOVE.bind(around, np.array([0.4, 0.7]), 0.0))


def test_a_move_is_followed_with_bent_links(arm):
    """The reference bends as the desired accelerations bend the robot: little is left for feedback to do."""
    start = Start(position=POSE, links="equilibrium")
    lag = {}
    for schedule in (1, 4):
        run = simulate(arm, until=1.0, drive=LQR(trajectory=MOVE, weights=WEIGHTS, schedule=schedule), start=start)
        lag[schedule] = np.abs(run["elbow"] - run["elbow.desired"]).max()
        assert run["elbow"][-1] == pytest.approx(1.0, abs=1e-4)
        # at the end the robot rests bent, not straight
        end = linearise(arm, {"shoulder": 0.6, "elbow": 1.0})
        assert run.samples.q[-1] == pytest.approx(end.q, abs=2e-4)
    assert max(lag.values()) < 0.04
    # an observer knows that its reference drifts
    for more in ({"sampling": Sampling(period=1e-3)}, {}):
        own = LQR(
            trajectory=MOVE, weights=WEIGHTS, schedule=3, estimator="kalman", sensors=("hub", "wrist", "turn"), **more
        )
        run = simulate(arm, until=0.6, drive=own, start=start, output_step=0.01)
        bent = run["upper.bend_y.1"]
        reference = law_reference(arm).at(run.time)[0][:, arm.names.index("upper.bend_y.1")]
        seen = run["drive.estimate.upper.bend_y.1"] if more else run["drive.deviation.upper.bend_y.1"] + reference
        assert np.abs(seen - bent).max() < 0.1 * np.ptp(bent)
    reference = law_reference(arm)
    t = np.array([0.1, 0.2])
    q, v, tau = reference.at(t)
    a = np.zeros_like(q)
    a[:, reference.prescribed.driven] = reference.path.many(t).a
    left = arm.forces(q, v, a) - tau @ arm.B.T
    assert np.abs(left).max() < 0.02 * np.abs(tau).max()


SAMPLED = {
    "weights": WEIGHTS,
    "trajectory": MOVE,
    "schedule": 2,
    "estimator": "kalman",
    "sampling": Sampling(period=1e-3, delay=1e-3),
    "seed": 5,
}


def test_a_run_goes_on_bit_by_bit(arm):
    """Noise, estimates and commands that wait come out of a checkpoint as they were."""
    given = {"name": "lqg", "robot": arm.robot, "until": 0.06, "drive": LQR(**SAMPLED), "start": Start(position=POSE)}
    whole, first, second = (Run(Study(**given)) for _ in range(3))
    whole.go()
    assert not first.go(lambda at: at.t > 0.0313)
    second.recall(first.memory(), first.recorder.samples())
    assert second.go()
    assert second.recorder.samples() == whole.recorder.samples()


@SPILLS
def test_efforts_stay_within_limits():
    robot = read_text(TWO_LINK + SENSORS).set("shoulder.motor.max_effort", 9.0).set("elbow.motor.max_effort", 2.0)
    weak = Dynamics(robot)
    run = simulate(weak, until=0.5, drive=LQR(**SAMPLED, saturate=True), start=Start(position=POSE))
    assert np.abs(run["shoulder.torque"]).max() <= 9.0
    assert np.abs(run["elbow.torque"]).max() == pytest.approx(2.0)
    # the observer knows of it: its estimate does not run away
    assert run["drive.estimate.elbow"][100:] == pytest.approx(run["elbow"][100:], abs=0.01)


def test_loops_and_what_is_refused(arm):
    bar = Dynamics(five_bar())
    run = simulate(
        bar,
        until=0.2,
        drive=LQR(weights={"tip": 1e3, "coordinates": 1.0, "effort": 0.1}),
        start=Start(links="equilibrium"),
    )
    assert np.abs(run.samples.q - run.samples.q[0]).max() < 1e-6
    with pytest.raises(ModelError, match="has no sensors; an estimator reads those"):
        simulate(bar, until=0.1, drive=LQR(weights=WEIGHTS, estimator="kalman"))
    for keys, words in (
        ({"seed": 3}, "seed belongs to an estimator"),
        ({"estimator": "kalman", "seed": 3}, "seed is that of the noise of samples"),
        ({"estimator": "ekf"}, "runs at samples; write sampling"),
        ({"estimator": "kalman", "sensors": ("hub", "hub")}, "sensors has 'hub' twice"),
    ):
        with pytest.raises(ModelError, match=words):
            LQR(weights=WEIGHTS, **keys)
    push = Disturbance(frame="tip", force=[1.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="'push' feels the forces of loads"):
        simulate(arm, until=0.1, drive=LQR(**SAMPLED), disturbances=[push], start=Start(position=POSE))
    for keys, words in (
        ({"sensors": ("gauges",), "estimator": "kalman"}, "did you mean 'gauge'"),
        ({"estimator": "kalman"}, "which a continuous filter does not know"),
        ({"weights": {"tip": 1.0}}, "costs nothing"),
    ):
        with pytest.raises(ModelError, match=words):
            simulate(arm, until=0.1, drive=LQR(**{"weights": WEIGHTS, **keys}), start=Start(position=POSE))
    base = "name: f\nlinks:\n  - {name: b, joint: {name: j, type: free}, rigid: {mass: 1, inertia: 1}}\n"
    floating = Dynamics(read_text(base + "  - {name: c, joint: {name: k}, rigid: {mass: 1, inertia: 1, length: 1}}\n"))
    with pytest.raises(ModelError, match="joint 'j' turns by a rotation vector"):
        simulate(floating, until=0.1, drive=LQR(weights=WEIGHTS))


def test_spillover_is_told_when_a_study_is_run_or_checked(tmp_path):
    """Sensors and weights with which two more modes per link are driven; a design that asks for less is quiet."""
    robot = read_text(TWO_LINK + SENSORS)
    given = {"name": "spills", "robot": robot, "until": 0.01, "start": Start(position=POSE)}
    harsh = LQR(**{**SAMPLED, "trajectory": Hold(), "schedule": 1})
    arm = Dynamics(robot)
    with pytest.warns(SimulationWarning, match=r"unstable with finer links: .* a motion at [\d.]+ Hz grows"):
        run = run_study(Study(**given, drive=harsh), arm)
    # beside the closed loop put together by hand
    model = linearise(arm, POSE)
    names = tuple(sensor.name for sensor in robot.sensors)
    keys = {"period": 1e-3, "delay": 1e-3}
    observer = kalman(model, names, process=dict(harsh.process), **keys)
    told = spillover(model, lqr(model, WEIGHTS, **keys), observer)
    assert any(f"at {told.hertz:.4g} Hz grows with {told.worst:.4g} 1/s" in text for text in run.warnings)
    (tmp_path / "two-link.yaml").write_text(TWO_LINK + SENSORS)
    (tmp_path / "spills.yaml").write_text(
        "robot: two-link.yaml\nuntil: 0.1\nstart: {position: {shoulder: 0.4, elbow: 0.7}}\n"
        "drive: {lqr: {weights: {tip: 1e4, coordinates: 1, rates: 0.01, effort: 0.01}, estimator: kalman, "
        "sampling: {period: 1 ms, delay: 1 ms}}}\n"
    )
    result = CliRunner().invoke(app, ["check", str(tmp_path / "spills.yaml")])
    assert result.exit_code == 0
    assert "the regulator is unstable with finer links" in result.output
    quiet = harsh.with_changes(sensors=("hub", "wrist"), weights={"coordinates": 1.0, "effort": 1.0})
    run_study(Study(**given, drive=quiet), arm)
