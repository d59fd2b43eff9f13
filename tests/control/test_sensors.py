"""Sensors of robots: rows of linear models beside an independent code and beside differences of readings."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lsim

from pliant import (
    LQR,
    ComputedTorque,
    Dynamics,
    ModelError,
    Quintic,
    Start,
    Study,
    kalman,
    lqr,
    simulate,
    two_time_scales,
)
from pliant.control.linear_model import linearise
from pliant.control.output_rows import State, measured_row
from pliant.drives.readings import SensorReadings
from pliant.engine.call.row_kernel import RowKernel
from pliant.model.description.sensors import Accelerometer, Encoder, Gyro, Sensor, StrainGauge, TorqueSensor
from pliant.model.readers.library import read_text
from pliant.simulation.run import Run

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "data" / "control.json").read_text())
"""An independent NumPy model of planar arms."""
DIGITS = 1e-8
"""What both codes agree on, relative to the largest entry."""
STEP = 1e-6
"""Central differences of readings; relative error about 1e-9 of the largest entry."""

SPATIAL = (
    Sensor(name="gauge", strain=StrainGauge(link="L1", x=0.1, y=0.01, z=-0.02), gain=3.0),
    Sensor(name="bridge", strain=StrainGauge(link="L1", x=0.3, family="bend_y")),
    Sensor(name="angle", encoder=Encoder(joint="J2", side="link"), gain=-2.0, bias=0.1),
    Sensor(name="push", accelerometer=Accelerometer(frame="tip", axis="y")),
    Sensor(name="turn", gyro=Gyro(frame="tip", axis="z"), bias=0.2),
    Sensor(name="torque", torque=TorqueSensor(joint="J1")),
)


def spatial_arm():
    """Two beams that bend and twist, about two axes, under gravity, with sensors of every kind."""
    robot = Dynamics("cibicik-4dof", compile="never").robot
    link = next(each.name for each in robot.links if each.is_flexible)
    joints = robot.joint_coordinates
    named = {"L1": link, "J1": joints[0], "J2": joints[1]}
    sensors = []
    for sensor in SPATIAL:
        own = sensor.measures
        changes = {key: named[getattr(own, key)] for key in ("link", "joint") if hasattr(own, key)}
        sensors.append(sensor.with_changes(**{own.key: own.with_changes(**changes)}))
    robot = robot.set(f"{joints[0]}.motor", {"rotor_inertia": 0.1, "gear_ratio": 5.0})
    robot = robot.set(f"{joints[0]}.friction", {"viscous": 0.3})
    return Dynamics(robot.with_changes(sensors=tuple(sensors)), compile="never")


@pytest.mark.parametrize("name", list(REFERENCE["robots"]))
def test_strain_beside_an_independent_code(name):
    case = REFERENCE["linear"][name][0]
    place = case["gauge"]
    link = ("upper", "fore")[place["link"]]
    gauge = f"\nsensors:\n  - {{name: g, gain: 2, strain: {{link: {link}, x: {place['x']}, y: {place['y']}}}}}\n"
    arm = Dynamics(read_text(REFERENCE["robots"][name] + gauge), compile="never")
    wanted = np.array(case["frf"]["strain"]) @ (1, 1j)
    model = linearise(arm, np.array(case["q"]))
    found = model.frf(case["frf_omega"], "strain.g")
    assert found == pytest.approx(wanted, abs=DIGITS * np.abs(wanted).max())
    assert model.frf(case["frf_omega"], "g") == pytest.approx(2 * wanted, abs=2 * DIGITS * np.abs(wanted).max())


@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")  # any state will do
def test_rows_are_derivatives_of_readings():
    """About a state in motion; the row of a reading is that of its value times its gain."""
    arm = spatial_arm()
    rng = np.random.default_rng(5)
    q, v, a, tau = (0.3 * rng.normal(size=k) for k in (arm.size, arm.size, arm.size, len(arm.inputs)))
    readings = SensorReadings(arm, arm.robot.sensors)

    def read(*state):
        values = [x.tolist() for x in state]
        return np.array(readings.read(values[0], values[1], values[3], list(readings.numbers), values[2]))

    model = linearise(arm, q, v, tau=tau)
    for k, sensor in enumerate(arm.robot.sensors):
        row = measured_row(arm, State(q, v, a), sensor).times(sensor.gain)
        for level, own in enumerate((row.q, row.v, row.a, np.zeros(len(tau)) if row.tau is None else row.tau)):
            state = [q, v, a, tau]
            slopes = np.zeros(len(own))
            for i in range(len(own)):
                ends = []
                for sign in (1, -1):
                    moved = [x.copy() for x in state]
                    moved[level][i] += sign * STEP
                    ends.append(read(*moved)[k])
                slopes[i] = (ends[0] - ends[1]) / (2 * STEP)
            assert own == pytest.approx(slopes, abs=2e-8 * max(1.0, np.abs(slopes).max())), (sensor.name, level)
    # efforts act on a torque sensor itself, and on an accelerometer by the accelerations
    direct = model.with_outputs("torque", "push").D
    at_once = model.frf(1e7, ["torque", "push"])
    assert direct == pytest.approx(at_once.real, rel=1e-4, abs=1e-6 * np.abs(direct).max())


def test_readings_are_one_text():
    """Machine code, columns, and channels of a run; accelerations of the text are those of the forward dynamics."""
    arm = Dynamics(spatial_arm().robot)
    readings = SensorReadings(arm, arm.robot.sensors)
    rng = np.random.default_rng(6)
    q, v, tau = (0.1 * rng.normal(size=(4, k)) for k in (arm.size, arm.size, len(arm.inputs)))
    columns = readings.read(*(list(x.T) for x in (q, v, tau)), list(readings.numbers))
    sizes = {"q": arm.size, "v": arm.size, "tau": len(arm.inputs), "gains": len(readings.numbers)}
    kernel = RowKernel.of(("readings", readings.structure), readings.read, sizes)
    compiled = kernel(q, v, tau, np.array(readings.numbers))
    assert compiled == pytest.approx(np.stack(np.broadcast_arrays(*columns), axis=-1), rel=1e-10, abs=1e-10)


def test_channels_of_a_run():
    steps = (
        "\nsensors:\n  - {name: hub, encoder: {joint: shoulder, counts: 1000}, gain: 2, bias: 1}\n"
        "  - {name: imu, accelerometer: {frame: tip, axis: x}}\n"
    )
    arm = Dynamics(read_text(REFERENCE["robots"]["one-link"] + steps))
    run = simulate(arm, until=0.2, drive=lambda t, q, v: [0.5], output_step=0.02)
    size = 2 * np.pi / 1000
    assert run["sensor.hub"] == pytest.approx(2 * size * np.round(run["shoulder"] / size) + 1, abs=1e-12)
    found = np.einsum("ki,ki->k", run["tip.acceleration"], run["tip.rotation"][:, :, 0])
    assert run["sensor.imu"] == pytest.approx(found, rel=1e-9, abs=1e-9)
    assert run.channel("sensor.imu").unit == "m/s^2"


FILTERS = ({"low_pass": 4.0, "zeta": 0.9}, {"low_pass": 6.0})
FILTERED = (
    Sensor(name="gauge", strain=StrainGauge(link="fore", x=0.03, y=0.003), gain=3.0),
    Sensor(name="angle", encoder=Encoder(joint="elbow"), gain=-2.0, bias=0.1),
    Sensor(name="push", accelerometer=Accelerometer(frame="tip", axis="y"), bias=0.4),
    Sensor(name="turn", gyro=Gyro(frame="tip", axis="z")),
)


def two_link(sensors):
    return Dynamics(read_text(REFERENCE["robots"]["two-link"]).with_changes(sensors=tuple(sensors)))


@pytest.mark.parametrize("keys", FILTERS, ids=["second-order", "first-order"])
def test_filters_are_states_of_a_run(keys):
    """Beside SciPy's filter of the same run's plain readings, which begin at rest; resumed bit by bit."""
    w, zeta = 2 * np.pi * keys["low_pass"], keys.get("zeta")
    system = ([w], [1, w]) if zeta is None else ([w**2], [1, 2 * zeta * w, w**2])
    behind = [sensor.with_changes(name=f"{sensor.name}_f", filter=keys) for sensor in FILTERED]
    arm = two_link((*FILTERED, *behind))
    move = Quintic(to={"shoulder": 0.6, "elbow": 1.2}, duration=0.3)
    start = Start(position={"shoulder": 0.1, "elbow": 0.5}, links="equilibrium")
    drive = ComputedTorque(trajectory=move, kp=200.0, kd=30.0)
    study = Study(
        robot=arm.robot, until=0.5, start=start, drive=drive, outputs={"step": 2e-4}, integrator={"tolerance": 1e-9}
    )
    run = Run(study)
    run.go()
    result = run.result()
    for sensor in FILTERED:
        plain = (result[f"sensor.{sensor.name}"] - sensor.bias) / sensor.gain
        _, wanted, _ = lsim(system, plain - plain[0], result.time)
        found = (result[f"sensor.{sensor.name}_f"] - sensor.bias) / sensor.gain - plain[0]
        assert found == pytest.approx(wanted, abs=2e-5 * np.ptp(wanted)), sensor.name
    assert result.channel("sensor.push_f").unit == "m/s^2"
    whole, first, second = (Run(study.with_changes(until=0.1)) for _ in range(3))
    whole.go()
    assert not first.go(lambda at: at.t > 0.0613)
    second.recall(first.memory(), first.recorder.samples())
    assert second.go()
    assert second.recorder.samples() == whole.recorder.samples()


@pytest.mark.parametrize("keys", FILTERS, ids=["second-order", "first-order"])
def test_linear_models_show_filters(keys):
    w, zeta = 2 * np.pi * keys["low_pass"], keys.get("zeta")
    pose, omega = {"shoulder": 0.1, "elbow": 0.5}, np.array([0.5, 9.0, 25.0, 180.0])
    names = [sensor.name for sensor in FILTERED]
    plain = linearise(two_link(FILTERED), pose, outputs=names)
    model = linearise(two_link([sensor.with_changes(filter=keys) for sensor in FILTERED]), pose, outputs=names)
    s = 1j * omega
    H = w / (s + w) if zeta is None else w**2 / (s**2 + 2 * zeta * w * s + w**2)
    wanted = plain.frf(omega) * H[:, None, None]
    assert model.frf(omega) == pytest.approx(wanted, rel=1e-9, abs=1e-12 * np.abs(wanted).max())
    assert model.state_space.frf(omega) == pytest.approx(wanted, rel=1e-6, abs=1e-9 * np.abs(wanted).max())
    assert not model.D.any()
    assert len(model.names) == len(model.A) == 12 + 4 * (1 if zeta is None else 2)
    poles = np.linalg.eigvals(model.A)
    assert len(model.poles) == len(poles)
    assert np.abs(np.subtract.outer(model.poles, poles)).min(axis=1).max() < 1e-3
    # the regulator's states are those of the robot
    weights = {"coordinates": 1.0, "effort": 1.0}
    assert pytest.approx(lqr(plain, weights).K, rel=1e-12) == lqr(model, weights).K


def test_what_filters_refuse():
    arm = two_link([sensor.with_changes(filter=FILTERS[0]) for sensor in FILTERED])
    words = "sensor 'angle' has a low-pass filter of 4 Hz, whose states neither regulators nor estimators know"
    model = linearise(arm, {"elbow": 0.5})
    with pytest.raises(ValueError, match=words):
        kalman(model, {"angle": 1e-3}, process={"states": 1e-3})
    with pytest.raises(ValueError, match=f"weights: {words}|{words}; weigh what it measures"):
        lqr(model, {"angle": 1.0, "coordinates": 1.0, "effort": 1.0})
    for estimator in ("kalman", "ekf"):
        drive = LQR(
            weights={"coordinates": 1.0, "effort": 1.0},
            estimator=estimator,
            sensors=("angle",),
            sampling={"period": 1e-3},
        )
        with pytest.raises(ModelError, match=words):
            simulate(arm, until=0.1, drive=drive)
    with pytest.raises(ValueError, match=words):
        two_time_scales(arm, {"elbow": 0.5}, outputs="angle")
    with pytest.raises(ModelError, match="a torque has that of its drive"):
        Sensor(name="t", torque=TorqueSensor(joint="elbow"), filter=FILTERS[0])
    for keys, told in (
        ({"low_pass": 0}, "must be positive"),
        ({"zeta": 0.7}, "low_pass"),
        ({"low_pass": 2, "zeta": -1}, "zeta"),
    ):
        with pytest.raises(ModelError, match=told):
            Sensor(name="a", encoder=Encoder(joint="elbow"), filter=keys)
