"""Sensors of robots: rows of linear models beside an independent code and beside differences of readings."""

import json
from pathlib import Path

import numpy as np
import pytest

from pliant import Dynamics, simulate
from pliant.control.linear_model import linearise
from pliant.control.output_rows import State, measured_row
from pliant.drives.readings import SensorReadings
from pliant.engine.call.row_kernel import RowKernel
from pliant.model.description.sensors import Accelerometer, Encoder, Gyro, Sensor, StrainGauge, TorqueSensor
from pliant.model.readers.library import read_text

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
