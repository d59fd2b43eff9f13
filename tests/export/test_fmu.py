"""Functional mock-up units: no problems found by fmpy, and the package's numbers when it drives them."""

import subprocess
import sys
import zipfile

import numpy as np
import pytest

from pliant import Dynamics, GivenTorque, simulate
from pliant.export import generate_fmu

fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed")
from fmpy.fmi2 import FMU2Model, FMU2Slave  # noqa: E402
from fmpy.model_description import read_model_description  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402

NAMES = ("two-link-flexible", "four-bar")
"""A tree and a robot with a loop, both with links that bend."""
TAU = 0.1
UNTIL = 0.1
NEAR = 1e-8
"""Of the largest motion: co-simulation and simulation, each of order 4 or more with small steps."""


@pytest.fixture(scope="module")
def units(tmp_path_factory, compiler):
    """name -> (robot, path of its unit, folder of what is in it, its description)."""
    found = {}
    for name in NAMES:
        robot = Dynamics(name, compile="never")
        path = generate_fmu(robot, tmp_path_factory.mktemp("fmu") / "unit.fmu")
        found[name] = robot, path, fmpy.extract(str(path)), read_model_description(str(path))
    return found


def made(units, name, kind, instance="one"):
    """An instance of a unit, before its initialisation."""
    _, _, folder, description = units[name]
    of = description.modelExchange if kind is FMU2Model else description.coSimulation
    unit = kind(guid=description.guid, unzipDirectory=folder, modelIdentifier=of.modelIdentifier, instanceName=instance)
    unit.instantiate()
    return unit


def begun(unit):
    unit.setupExperiment(startTime=0.0)
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    return unit


def references(units, name):
    return {each.name: each.valueReference for each in units[name][3].modelVariables}


@pytest.mark.parametrize("name", NAMES)
def test_no_problems_and_what_it_tells(units, name):
    robot, path, _, description = units[name]
    assert validate_fmu(str(path)) == []
    names = {each.name: each for each in description.modelVariables}
    assert {f"q.{x}" for x in robot.names} < set(names)
    assert [names[f"tau.{x}"].causality for x in robot.inputs] == ["input"] * len(robot.inputs)
    assert names["tip.x"].unit == "m"
    assert names["p.gravity.y"].variability == "tunable"
    assert float(names["p.gravity.y"].start) == robot.robot.gravity[1]
    assert len(description.derivatives) == 2 * robot.size


@pytest.mark.parametrize("name", NAMES)
def test_co_simulation_and_model_exchange(units, name):
    """Constant efforts; fmpy steps the unit, or integrates its states."""
    robot, _, folder, _ = units[name]
    q0 = robot.assemble() if robot.loops.rows else robot.reference_pose()
    drive = GivenTorque(joints=dict.fromkeys(robot.inputs, TAU))
    run = simulate(robot.robot, until=UNTIL, drive=drive, start=(q0, np.zeros(robot.size)), tolerance=1e-11)
    start = {f"tau.{joint}": TAU for joint in robot.inputs}
    wanted = [f"q.{x}" for x in robot.names] + ["tip.x", "tip.y", "tip.z"]
    moved = np.abs(run.samples.q[-1] - q0).max()
    for kind, limit in (("CoSimulation", NEAR), ("ModelExchange", 1e-6)):
        found = fmpy.simulate_fmu(
            folder,
            fmi_type=kind,
            stop_time=UNTIL,
            output_interval=UNTIL / 10,
            start_values={**start, **({"step": 5e-5} if kind == "CoSimulation" else {})},
            output=wanted,
            relative_tolerance=1e-10,
        )
        last = np.array([found[x][-1] for x in wanted])
        assert np.abs(last[: robot.size] - run.samples.q[-1]).max() < limit * moved, kind
        at = robot.pose("tip", last[: robot.size]).position
        assert last[robot.size :] == pytest.approx(at, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_directional_derivatives(units, name):
    """Of the rates and the outputs, by states and inputs, against central differences of the unit itself."""
    robot = units[name][0]
    r, unit = references(units, name), begun(made(units, name, FMU2Model))
    n = robot.size
    unknown = [r[f"der({x}.{each})"] for x in "qv" for each in robot.names] + [r[f"tip.{x}"] for x in "xyz"]
    known = [r[f"{x}.{each}"] for x in "qv" for each in robot.names] + [r[f"tau.{each}"] for each in robot.inputs]
    rng = np.random.default_rng(3)
    unit.setContinuousStates(*_doubles(np.array(unit.getReal(known[: 2 * n])) + 1e-4 * rng.standard_normal(2 * n)))
    unit.setReal(known[2 * n :], [0.3] * len(robot.inputs))
    at = np.array(unit.getReal(known))
    direction = rng.standard_normal(len(known))
    slope = np.array(unit.getDirectionalDerivative(unknown, known, direction.tolist()))
    values = []
    h = 1e-6
    for step in (-2 * h, -h, h, 2 * h):
        unit.setReal(known, (at + step * direction).tolist())
        values.append(np.array(unit.getReal(unknown)))
    differences = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    assert np.abs(slope - differences).max() < 1e-7 * np.abs(slope).max()
    unit.terminate()
    unit.freeInstance()


def _doubles(x):
    import ctypes

    return (ctypes.c_double * len(x))(*x), len(x)


def test_states_resets_parameters_and_two_at_once(units):
    robot = units["four-bar"][0]
    r = references(units, "four-bar")
    q = [r[f"q.{x}"] for x in robot.names]
    one, two = (begun(made(units, "four-bar", FMU2Slave, x)) for x in ("one", "two"))
    first = one.getReal(q)
    one.setReal([r["tau.motor"]], [0.5])
    one.doStep(0.0, 0.01)
    # the other instance has not moved
    assert two.getReal(q) == first
    middle, kept = one.getReal(q), one.getFMUstate()
    one.doStep(0.01, 0.01)
    end = one.getReal(q)
    assert end != middle
    one.setFMUstate(kept)
    assert one.getReal(q) == middle
    one.doStep(0.01, 0.01)
    assert one.getReal(q) == end
    # a state as bytes goes into the other instance
    two.setFMUstate(two.deSerializeFMUstate(one.serializeFMUstate(kept)))
    two.doStep(0.01, 0.01)
    assert two.getReal(q) == end
    one.reset()
    assert one.getReal(q) == first
    # without gravity at rest nothing moves
    one.setupExperiment(startTime=0.0)
    one.setReal([r["p.gravity.y"]], [0.0])
    begun(one)
    one.doStep(0.0, 0.02)
    assert np.abs(np.subtract(one.getReal(q), first)).max() < 1e-9


def test_loops_are_closed_at_the_start_or_refused(units):
    robot = units["four-bar"][0]
    r, unit = references(units, "four-bar"), made(units, "four-bar", FMU2Slave)
    names = [f"q.{x}" for x in robot.names]
    unit.setReal([r["q.crank_pin"]], [-1.0])
    begun(unit)
    assert np.abs(robot.closure(unit.getReal([r[x] for x in names]))).max() < 1e-12
    broken = made(units, "four-bar", FMU2Slave)
    broken.setReal([r["q.crank_pin"]], [np.nan])
    with pytest.raises(Exception, match=r"fmi2ExitInitializationMode|fmi2Error|3"):
        begun(broken)
    with pytest.raises(Exception, match=r"fmi2SetReal|fmi2Error|3"):
        unit.setReal([r["tip.x"]], [1.0])


def texts(path):
    """What is in a unit but for binaries."""
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist() if not name.startswith("binaries")]


def test_the_command_and_refusals(tmp_path):
    (tmp_path / "again").mkdir()
    command = [sys.executable, "-m", "pliant", "export"]
    path = tmp_path / "arm.fmu"
    run = subprocess.run(
        [*command, "lin-lewis-rfr", "--to", "fmu", "-o", path], capture_output=True, text=True, check=False, timeout=240
    )
    assert run.returncode == 0, run.stderr
    assert validate_fmu(str(path)) == []
    # the same robot gives the same unit, whatever the compiler puts into binaries
    again = generate_fmu(Dynamics("lin-lewis-rfr", compile="never"), tmp_path / "again" / "arm.fmu")
    for one, two in zip(*(texts(each) for each in (path, again)), strict=True):
        assert one == two
    with pytest.raises(ValueError, match="rotation vectors"):
        generate_fmu(Dynamics("three-prs", compile="never"), tmp_path / "prs.fmu")
    with pytest.raises(ValueError, match=r"must end in .fmu"):
        generate_fmu(Dynamics("lin-lewis-rfr", compile="never"), tmp_path / "arm.zip")
