"""Drives: what they are told is what they do, and models that fit are followed exactly."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import pliant
from pliant import Quintic
from pliant.drives.callback import LOOK, Callback, CalledLaw, SlowLawWarning
from pliant.drives.computed_torque import ComputedTorque
from pliant.drives.drive import Sampling
from pliant.drives.feed_forward import FeedForward
from pliant.drives.given import GivenTorque
from pliant.drives.pid import PID
from pliant.drives.prescribed import PrescribedMotion
from pliant.drives.saturated import SaturatedLaw
from pliant.dynamics import Dynamics
from pliant.engine.stepping.driving import DriveKernel, Driving
from pliant.engine.stepping.explicit_system import ExplicitSystem
from pliant.engine.stepping.layout import BALANCES
from pliant.engine.stepping.signal_table import Signals
from pliant.loads.disturbance import Disturbance
from pliant.loads.stops import ElasticStops
from pliant.model.description.robot import rigid_twin
from pliant.simulation.run import SimulationWarning, simulate
from pliant.simulation.start import Start
from pliant.simulation.state_equations import StateEquations
from pliant.trajectories.path import Surroundings

MOVE = Quintic(to={"shoulder": 1.15, "elbow": -1.4}, duration=0.25)
AT_REST = Start(links="equilibrium")
# rad; a model that fits leaves the error of the integration only
EXACT = 1e-7
PRESCRIBED = 1e-14
"""Rounding of an angle of about one: prescribed joints are not integrated."""


@pytest.fixture(scope="module")
def arm():
    return Dynamics("two-link-flexible")


@pytest.fixture(scope="module")
def strip():
    return Dynamics("single-flexible-link")


def efforts(arm, drive, times):
    active = drive.bind(Surroundings(arm, arm.reference_pose()), np.zeros(len(arm.inputs)))
    zero = np.zeros(arm.size)
    return np.array([active.at(t, zero, zero, active.initial()).efforts for t in times])


def tracking_error(run):
    return np.abs(np.column_stack([run[n] - run[f"{n}.desired"] for n in run.arm.inputs])).max()


LAWS = {
    "pd": lambda given: PID(**given),
    "pid": lambda given: PID(**given, ki=3000.0),
    "pid, gravity desired": lambda given: PID(**given, ki=900.0, gravity="desired"),
    "pid, gravity measured": lambda given: PID(**given, ki=900.0, gravity="measured"),
    "computed torque": lambda given: ComputedTorque(**given),
    "feed-forward": lambda given: FeedForward(**given),
    "elastic feed-forward": lambda given: FeedForward(**given, model="elastic"),
    "given": lambda given: GivenTorque(joints={next(iter(given["trajectory"].to)): "2*sin(3*t)"}),
    "sampled": lambda given: PID(**given, sampling=Sampling(period=0.01)),
    "cut": lambda given: PID(**given, ki=900.0, gravity="measured", saturate=True),
    "computed torque, cut": lambda given: ComputedTorque(**given, saturate=True),
}
# of a coordinate, about the reference pose; loops are left open by it
AWAY = {"two-link-flexible": 0.1, "seven-joint-arm": 0.1, "four-bar": 0.02, "dualemps": 2e-3}
# laws whose models grow with the robot, on larger ones; all of them on the others
LARGER = {
    "seven-joint-arm": ["pid, gravity measured", "computed torque"],
    "dualemps": ["elastic feed-forward", "computed torque, cut"],
}
known = cache(Dynamics)


@pytest.mark.parametrize(("robot", "name"), [(robot, name) for robot in AWAY for name in LARGER.get(robot, LAWS)])
def test_efforts_in_machine_code_and_one_by_one(robot, name):
    """Whole arrays of times, and the compiled law, against one instant after the other."""
    arm, rng = known(robot), np.random.default_rng(7)
    q0 = arm.assemble()
    move = Quintic(to={each: q0[arm.names.index(each)] + AWAY[robot] for each in arm.inputs[:2]}, duration=0.25)
    drive = LAWS[name]({"trajectory": move, "kp": 400.0, "kd": 30.0})
    active = drive.bind(Surroundings(arm, q0), q0 @ arm.B)
    equations = StateEquations(arm, active)
    equations.enter(0.0, 0.25)
    if name == "sampled":
        active.tick(0.0, q0 + 0.01, np.zeros(arm.size))
    count = 5
    times = rng.uniform(0.0, 0.25, count)
    q = q0 + AWAY[robot] * rng.standard_normal((count, arm.size))
    v, x = rng.standard_normal((count, arm.size)), 0.01 * rng.standard_normal((count, active.state_count))
    if isinstance(active, SaturatedLaw):
        # the first motor cannot give some of the efforts
        limit = np.median(np.abs(active.inner.along(times, q, v, x).efforts[:, 0]))
        active.limits = np.array([limit, *[np.inf] * (len(arm.inputs) - 1)])
    tau = np.array([active.at(float(t), *state).efforts for t, *state in zip(times, q, v, x, strict=True)])
    # models of closed loops are closed by iteration
    digits = 1e-9 if arm.loops.rows else 1e-12
    assert active.along(times, q, v, x).efforts == pytest.approx(tau, rel=digits, abs=1e-12 * np.abs(tau).max())
    if isinstance(active, SaturatedLaw):
        assert np.abs(tau[:, 0]).max() == limit > np.abs(tau[:, 0]).min()
    law = equations.law
    driving = Driving(law.force, law.gains, law.channels, law.states, structure=law.structure)
    system = ExplicitSystem(arm.tree, driving, equations.traced_forward)
    system.set_signals(Signals.fit(law.signals, 0.0, 0.25))
    for t, q_t, v_t, x_t, tau_t in zip(times, q, v, x, tau, strict=True):
        y = np.concatenate([q_t, v_t, x_t, np.zeros(BALANCES)])
        wanted = equations.rates(float(t), y)
        scale = np.abs(wanted).max()
        assert system.forces(float(t), y) == pytest.approx(arm.B @ tau_t, rel=0, abs=1e-10 * np.abs(tau).max())
        assert system.slope(float(t), y) == pytest.approx(wanted, rel=1e2 * digits, abs=1e2 * digits * scale)


def driven(arm, drive):
    """The equations of a drive, its law, and its kernel."""
    q0 = arm.reference_pose()
    equations = StateEquations(arm, drive.bind(Surroundings(arm, q0), q0 @ arm.B))
    equations.enter(0.0, 0.25)
    law = equations.law
    driving = Driving(law.force, law.gains, law.channels, law.states, structure=law.structure)
    return equations, law, driving, DriveKernel.of(arm.tree, driving, ())


@pytest.mark.parametrize("name", LAWS)
def test_other_numbers_share_the_code_of_a_law(arm, name):
    """A kernel that was traced for another payload and other gains is that of the law."""
    lighter, heavier = (arm.set("forearm.payloads[0].mass", mass) for mass in (0.61, 0.73))
    *_, before = driven(lighter, LAWS[name]({"trajectory": MOVE, "kp": 300.0, "kd": 20.0}))
    equations, law, driving, kernel = driven(heavier, LAWS[name]({"trajectory": MOVE, "kp": 400.0, "kd": 30.0}))
    assert kernel is before
    system = ExplicitSystem(heavier.tree, driving, equations.traced_forward)
    system.set_signals(Signals.fit(law.signals, 0.0, 0.25))
    y = 0.1 * np.random.default_rng(4).standard_normal(equations.size)
    wanted = equations.rates(0.1, y)
    assert system.slope(0.1, y) == pytest.approx(wanted, rel=1e-9, abs=1e-9 * np.abs(wanted).max())


def test_other_structure_has_code_of_its_own(arm):
    """Gains that are zero, models, limits and loads are in the code."""
    given = {"trajectory": MOVE, "kp": 300.0}
    drives = [PID(**given), PID(**given, kd=20.0), PID(**given, kd=20.0, ki=1.0), PID(**given, gravity="measured")]
    drives += [ComputedTorque(**given), FeedForward(**given, model="elastic"), PID(**given, saturate=True)]
    kernels = [driven(arm, drive)[-1] for drive in drives]
    driving = driven(arm, drives[0])[2]
    stops = [ElasticStops({k: (-1.0, 1.0)}, 1e3, 0.1) for k in (0, 1)]
    hits = [Disturbance(frame=frame, force=[1.0, 0.0, 0.0]).bind(arm) for frame in ("tip", "upper")]
    kernels += [DriveKernel.of(arm.tree, replace(driving, loads=(load,)), ()) for load in (*stops, *hits)]
    assert len({id(kernel) for kernel in kernels}) == len(kernels)


def test_expressions(arm):
    drive = GivenTorque(joints={"elbow": "2*sin(2*pi*t) + step(t - 0.5)"})
    assert efforts(arm, drive, [0.25, 0.75]) == pytest.approx(np.array([[0.0, 2.0], [0.0, -1.0]]))


@pytest.mark.parametrize(
    ("interpolation", "values"), [("linear", [0.0, 1.0, 3.0, 0.0]), ("hold", [0.0, 0.0, 2.0, 4.0])]
)
def test_tables(strip, interpolation, values):
    drive = GivenTorque(time=[0.0, 1.0, 2.0], torque=[[0.0], [2.0], [4.0]], interpolation=interpolation)
    assert efforts(strip, drive, [-0.1, 0.5, 1.5, 2.5])[:, 0] == pytest.approx(values)


def test_a_csv_file(arm, tmp_path):
    file = tmp_path / "torques.csv"
    file.write_text("# from the bench\nt,elbow\n0,1\n1,3\n")
    assert efforts(arm, GivenTorque(file=str(file)), [0.5])[0] == pytest.approx([0.0, 2.0])
    for text, message in {
        "t,elbo\n0,1\n1,3\n": "line 1: column 'elbo'.*did you mean 'elbow'",
        "t,elbow\n0,1\n1,x\n": "line 3: .* is not a line of numbers",
        "t,elbow\n0,1\n0,3\n": "line 3: the time 0 s is not later",
        "x,elbow\n0,1\n1,3\n": "the first column is 'x'",
    }.items():
        file.write_text(text)
        with pytest.raises(pliant.ModelError, match=message):
            efforts(arm, GivenTorque(file=str(file)), [0.5])


def test_computed_torque_is_exact_on_the_rigid_robot(arm):
    run = simulate(Dynamics(rigid_twin(arm.robot)), until=0.3, drive=ComputedTorque(trajectory=MOVE))
    assert tracking_error(run) < EXACT


def test_elastic_feed_forward_is_exact_on_the_elastic_robot(arm):
    """The torques of the elastic model move its joints as desired, those of the rigid model do not."""
    elastic = simulate(arm, until=0.3, drive=FeedForward(trajectory=MOVE, model="elastic"), start=AT_REST)
    assert tracking_error(elastic) < EXACT
    rigid = simulate(arm, until=0.3, drive=FeedForward(trajectory=MOVE), start=AT_REST)
    assert tracking_error(rigid) > 1e3 * EXACT


def test_prescribed_motion_needs_the_torques_of_the_elastic_model(arm):
    prescribed = simulate(arm, until=0.3, drive=PrescribedMotion(trajectory=MOVE), start=AT_REST)
    driven = simulate(arm, until=0.3, drive=FeedForward(trajectory=MOVE, model="elastic"), start=AT_REST)
    assert tracking_error(prescribed) < PRESCRIBED
    assert prescribed.tau == pytest.approx(driven.tau, abs=1e-4)
    assert np.abs(prescribed["energy.balance"]).max() < 1e-7


def test_pid_holds_against_gravity(arm):
    gains = {"kp": [400.0, 120.0], "kd": [40.0, 8.0]}
    held = simulate(arm, until=0.2, drive=PID(**gains, gravity="desired"), start=AT_REST)
    sagging = simulate(arm, until=0.2, drive=PID(**gains), start=AT_REST)
    assert tracking_error(held) < 0.1 * tracking_error(sagging)
    integral = simulate(arm, until=0.2, drive=PID(**gains, ki=4000.0), start=AT_REST)
    sag = [abs(run["shoulder"][-1] - run["shoulder"][0]) for run in (integral, sagging)]
    assert sag[0] < sag[1]


def test_sampling_holds_and_delays(strip):
    calls = []

    def law(t, q, v):
        calls.append(t)
        return [np.floor(t / 0.01 + 0.5)]

    run = simulate(strip, until=0.05, drive=Callback(function=law, period=0.01, delay=0.004), output_step=0.001)
    assert calls == pytest.approx([0.0, 0.01, 0.02, 0.03, 0.04], abs=1e-12)
    # at 13 ms the command of 10 ms is still on its way
    assert run.tau[[3, 12, 13, 16, 25], 0] == pytest.approx([0.0, 0.0, 0.0, 1.0, 2.0])


def test_a_wrong_answer_of_a_callback_is_named(strip):
    with pytest.raises(pliant.ModelError, match="it must return 1 finite numbers"):
        simulate(strip, until=0.05, drive=Callback(function=lambda t, q, v: [1.0, 2.0], period=0.01))


@pytest.mark.filterwarnings("ignore:link .* along its axis")  # only the efforts count
def test_efforts_are_cut_at_the_motor(strip):
    hard = Quintic(to={"shoulder": 0.05}, duration=0.025)
    drive = PID(trajectory=hard, kp=5000.0, kd=1.0, saturate=True)
    run = simulate(strip, until=0.02, drive=drive, limits="ignore")
    assert np.abs(run.tau).max() == pytest.approx(10.0)
    with pytest.warns(SimulationWarning, match="above its limit of 10"):
        simulate(strip, until=0.02, drive=PID(trajectory=hard, kp=5000.0, kd=1.0))


def test_the_rigid_twin_keeps_mass_and_frames():
    for name in ("canadarm", "cibicik-4dof", "seven-joint-arm"):
        robot = pliant.load(name)
        twin = rigid_twin(robot)
        assert not any(link.is_flexible for link in twin.links)
        assert twin.mass == pytest.approx(robot.mass)
        arm, stiff = Dynamics(robot), Dynamics(twin)
        q = np.array([robot.pose.get(n, 0.3) for n in stiff.names])
        full = np.zeros(arm.size)
        full[[arm.names.index(n) for n in stiff.names]] = q
        assert stiff.pose("tip", q).position == pytest.approx(arm.pose("tip", full).position)


def test_a_law_that_brings_the_steps_to_a_halt_is_told(strip):
    """A relay as a continuous law: steps shrink at every jump. The law is called as integrators call it."""
    inputs = Dynamics(strip).input_labels if not hasattr(strip, "input_labels") else strip.input_labels

    def calls(step, until):
        called = CalledLaw(lambda t, q, v: [1.0], inputs, until)
        for k in range(2 * LOOK):
            called.at(step * k, np.zeros(2), np.zeros(2), np.zeros(0))

    with pytest.warns(
        SlowLawWarning, match=r"called 20000 times up to t = 1\.\d+e-05 s.*such as a relay, needs a period"
    ):
        calls(1e-9, 1.0)
    # at a pace that comes to its end nothing is told, and nothing of sampled laws
    calls(1e-4, 10.0)
    calls(1e-9, np.inf)
