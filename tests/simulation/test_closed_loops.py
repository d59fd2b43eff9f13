"""Robots with closed loops in simulations: against other formulations, an analytic period, balances and limits."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import pliant
from closed_robots import ALIGNED, PLANE, bar, five_bar, four_bar, pendulum_ring
from pliant import Dynamics, Joint, Link, Loop, Placement, Rigid, Robot
from pliant.drives.given import NoDrive
from pliant.simulation.choice import choose
from pliant.simulation.integrators import compiled
from pliant.simulation.run import Run, SimulationWarning, simulate
from pliant.simulation.start import Start
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import IntegratorOptions, load_study
from pliant.trajectories.path import Surroundings

# tolerances of these tests are their own
pytestmark = pytest.mark.filterwarnings("ignore:the run is off by")

GAP = 1e-9
"""Largest gap that a sample may have, m or rad."""

BALANCE = 1e-8
"""Error of the energy balance, relative to the energy that was moved."""

BUNDLED = {"four-bar-rigid": 1.0, "four-bar": 0.03, "five-bar": 0.01, "dualemps": 0.005, "three-prs": 0.01}
BUNDLED["closed-frame"] = 0.003


@cache
def dynamics(name):
    """Of a bundled robot: its functions are compiled once for all tests of this file."""
    return Dynamics(name)


@pytest.fixture(scope="module")
def dualemps():
    return dynamics("dualemps")


def pushed(arm, until):
    """Smooth efforts, large enough to matter."""
    size = 50.0 if arm.robot.name == "dualemps" else 0.5
    return pliant.GivenTorque(joints=dict.fromkeys(arm.inputs, f"{size}*sin({2 * np.pi / until!r}*t)"))


def moved_energy(run):
    return max(np.abs(run["work"]).max(), run["dissipated"].max(), run["energy.kinetic"].max())


# ---------------------------------------------------------------- against other formulations


@pytest.mark.parametrize(("name", "until"), [("four-bar-rigid", 1.0), ("four-bar", 0.02), ("dualemps", 0.004)])
def test_against_multipliers_in_dense_matrices(name, until):
    """scipy on the KKT form of all coordinates, without any stabilisation."""
    arm = dynamics(name)
    q, v = Start(velocity={arm.inputs[0]: 0.2}).state(arm)
    drive = pushed(arm, until)
    tau = drive.bind(Surroundings(arm, q), q @ arm.B)
    n = arm.size

    def rates(t, x):
        effort = tau.at(t, x[:n], x[n:], np.zeros(0)).efforts
        return np.concatenate([x[n:], arm.forward(x[:n], x[n:], effort, solver="dense")])

    peer = solve_ivp(rates, (0, until), np.concatenate([q, v]), method="DOP853", rtol=1e-10, atol=1e-12)
    run = simulate(arm, until=until, drive=drive, start=(q, v), method="dop853", tolerance=1e-10)
    assert np.abs(run.q[-1] - peer.y[:n, -1]).max() < 1e-8
    assert np.abs(run.v[-1] - peer.y[n:, -1]).max() < 1e-6


def test_against_independent_coordinates():
    """scipy on the crank alone: the other angles follow by assembly, their rates by the minimal form."""
    arm = dynamics("four-bar-rigid")
    start = Start(velocity={"motor": 2.0})
    crank = arm.names.index("motor")
    guess = [start.state(arm)[0]]

    def rates(t, x):
        q = guess[0].copy()
        q[crank] = x[0]
        guess[0] = q = arm.assemble(q)
        N = arm.reduced(q, np.zeros(3), independent=["motor"]).N
        model = arm.reduced(q, N[:, 0] * x[1], independent=["motor"])
        return [x[1], -model.c[0] / model.M[0, 0]]

    peer = solve_ivp(rates, (0, 1.0), [start.state(arm)[0][crank], 2.0], method="DOP853", rtol=1e-10, atol=1e-12)
    run = simulate(arm, until=1.0, start=start, method="dop853", tolerance=1e-10)
    assert run["motor"][-1] == pytest.approx(peer.y[0, -1], abs=1e-8)


@pytest.mark.parametrize("method", ["dop853", "generalised-alpha", "rk4"])
@pytest.mark.filterwarnings("ignore:link .* along its axis")  # linear by both ways
def test_machine_code_and_python_agree(dualemps, method, monkeypatch):
    drive = pliant.PID(trajectory=pliant.Quintic(to={"q11": 0.003}, duration=0.003), kp=1e5, kd=1e4)
    options = {"until": 0.003, "drive": drive, "method": method, "step": 1e-5, "max_step": 1e-5, "tolerance": 1e-6}
    fast = simulate(dualemps, **options)
    monkeypatch.setattr(compiled, "compilable", lambda equations: None)
    slow = simulate(dualemps, **options)
    # the implicit methods end their iterations differently, within the tolerance
    assert np.abs(fast.q - slow.q).max() < (1e-5 if method == "generalised-alpha" else 1e-10)
    assert fast["dissipated"][-1] == pytest.approx(slow["dissipated"][-1], rel=1e-5)


def test_without_any_machine_code():
    start = Start(velocity={"motor": 1.0})
    plain = simulate(Dynamics("four-bar-rigid", compile="never"), until=0.2, start=start, method="dop853")
    assert (
        np.abs(plain.q - simulate(dynamics("four-bar-rigid"), until=0.2, start=start, method="dop853").q).max() < 1e-9
    )


# ---------------------------------------------------------------- an analytic number


def test_a_parallelogram_swings_like_a_pendulum():
    """Two equal cranks carry a coupler that only shifts: J angle'' = -G sin(angle), with an elliptic period."""
    length, span, amplitude = 0.3, 0.5, 1.0
    pose = {"left": -np.pi / 2 + amplitude, "pin": np.pi / 2 - amplitude, "right": -np.pi / 2 + amplitude}
    far = Placement(position=(span, 0, 0))
    links = [
        bar("crank", length, Joint(name="left", parent="base", actuated=False)),
        bar("coupler", span, Joint(name="pin", parent="crank.tip", actuated=False)),
        bar("rocker", length, Joint(name="right", parent="base", placement=far, actuated=False)),
    ]
    loop = Loop(name="closure", type="revolute", frames=["coupler.tip", "rocker.tip"], **PLANE)
    arm = Dynamics(Robot(name="swing", links=links, loops=[loop], gravity=(0, -9.81, 0), pose=pose))
    # inertia and weight of the one motion: bars of mass m per metre
    m = arm.tree.links[1].constants.body.mass / span
    J = 2 * m * length**3 / 3 + m * span * length**2
    weight = 9.81 * (2 * m * length * length / 2 + m * span * length)
    period = 4 * np.sqrt(J / weight) * ellipk(np.sin(amplitude / 2) ** 2)
    lowest = pliant.Event(name="half", quantity="left.rate", above=0.0, action="record")
    # events are found on polynomials of third degree between the steps
    run = simulate(arm, until=0.6 * period, events=[lowest], method="dop853", tolerance=1e-10, max_step=2e-3)
    # it falls first, so its rate becomes positive after half a period
    assert run.info.events[0][0] == pytest.approx(period / 2, rel=1e-8)
    assert np.abs(run["loops.gap"]).max() < GAP


# ---------------------------------------------------------------- identities


@pytest.mark.parametrize("name", BUNDLED)
def test_energy_balances_and_the_loops_stay_closed(name):
    arm, until = dynamics(name), BUNDLED[name]
    start = Start(velocity={arm.inputs[0]: 0.3})
    run = simulate(arm, until=until, drive=pushed(arm, until), start=start, tolerance=1e-10, limits="ignore")
    assert run["loops.gap"].max() < GAP
    assert np.abs(arm.closure_rate(run.q, run.v)).max() < GAP
    assert moved_energy(run) > 0
    assert np.abs(run["energy.balance"]).max() < BALANCE * moved_energy(run)
    # closures carry what the joints do not: their forces accelerate the open tree
    k = len(run) // 2
    J = arm.loops.jacobian(run.q[k])
    force = np.array([run[c][k] for c in run.channels if c.startswith(tuple(f"{r}." for r in arm.loops.rows))])
    a = np.array([run[f"{c}.acceleration"][k] for c in arm.names])
    expected = arm.forces(run.q[k], run.v[k], a) - arm.B @ run.tau[k]
    assert np.abs(J.T @ force - expected).max() < 1e-7 * max(np.abs(expected).max(), 1.0)


def test_drift_is_bounded_over_many_turns():
    """A crank that turns 30 times at a loose tolerance: what is handed out stays closed all the way."""
    arm = dynamics("four-bar-rigid")
    drive = pliant.PID(trajectory=pliant.MohanSaha(k={"motor": 10.0}, T={"motor": 5.0}), kp=50.0, kd=5.0)
    run = simulate(arm, until=20.0, drive=drive, method="dop853", tolerance=1e-4, limits="ignore")
    assert run["motor"][-1] > 60 * np.pi
    assert run["loops.gap"].max() < GAP


@pytest.mark.filterwarnings("ignore:the energy balance is off")
def test_generalised_alpha_is_of_second_order():
    arm = dynamics("four-bar")
    options = {"until": 0.05, "drive": pushed(arm, 0.05), "start": Start(velocity={"motor": 0.5})}
    exact = simulate(arm, method="dop853", tolerance=1e-11, **options)
    loose = {"method": "generalised-alpha", "tolerance": 1e-2, "absolute": 1e-2}
    coarse, fine = (
        np.abs(simulate(arm, max_step=h, step=h, **loose, **options).q - exact.q).max() for h in (1e-4, 5e-5)
    )
    assert np.log2(coarse / fine) == pytest.approx(2, abs=0.2)


def test_the_newton_matrix_is_exact(dualemps):
    """Derivatives of the residual of loops against central differences, free and with prescribed drives."""
    for drive in (NoDrive(2), pliant.PrescribedMotion(trajectory=pliant.Hold())):
        if not isinstance(drive, NoDrive):
            drive = drive.bind(Surroundings(dualemps, dualemps.reference_pose()), np.zeros(2))
        equations = StateEquations(dualemps, drive)
        rng = np.random.default_rng(2)
        q, v = dualemps.project(dualemps.assemble() + 1e-6 * rng.standard_normal(14), 0.1 * rng.standard_normal(14))
        q[[0, 8]], v[[0, 8]] = 0.0, 0.0
        q, v = equations.loops.corrected(q, v, (0, 8))
        y, n = equations.start(q, v), equations.count
        a = equations.rates(0.0, y)[n : 2 * n]
        for part, matrix in enumerate(equations.matrices(0.0, y, a)[:2]):
            for k in range(n):
                h = 1e-7
                ahead, behind = y.copy(), y.copy()
                ahead[part * n + k] += h
                behind[part * n + k] -= h
                difference = (equations.residual(0.0, ahead, a)[0] - equations.residual(0.0, behind, a)[0]) / (2 * h)
                assert np.abs(matrix[:, k] - difference).max() < 1e-5 * np.abs(matrix).max()


@pytest.mark.filterwarnings("ignore:link .* E is 2.1e")  # stiffer than anything
def test_rigid_limit():
    """Bars a million times as stiff move like rigid ones."""
    rigid = Dynamics(four_bar())
    soft = four_bar(bend_y=True, axial=True)
    hard = pliant.Material(E=210e9 * 1e6, G=80e9, density=7850.0)
    links = [link.with_changes(beam=link.beam.with_changes(material=hard)) for link in soft.links]
    stiff = Dynamics(soft.with_changes(links=links))
    method, reason = choose(IntegratorOptions(), StateEquations(stiff, NoDrive(1)), *Start().state(stiff), 10.0)
    assert method == "gauss"
    assert "does not die away" in reason
    options = {"until": 0.2, "start": Start(velocity={"motor": 1.0})}
    run = simulate(stiff, method="generalised-alpha", tolerance=1e-8, **options)
    exact = simulate(rigid, method="dop853", tolerance=1e-10, **options)
    assert np.abs(run["motor"] - exact["motor"]).max() < 1e-4


@pytest.mark.parametrize("method", ["dop853", "gauss", "generalised-alpha", "rk4"])
@pytest.mark.parametrize("machine", [True, False])
def test_a_resumed_run_is_the_same(dualemps, method, machine, monkeypatch):
    if not machine:
        monkeypatch.setattr(compiled, "compilable", lambda equations: None)
    monkeypatch.setattr(compiled, "STEPS_PER_CALL", 50)
    # steps in Python take their time
    until = 0.02 if machine else 0.004
    integrator = {"method": method, "tolerance": 1e-5, "step": 2e-5}
    changes = {"until": until, "integrator": integrator, "outputs": {"step": until / 40}}
    whole, first, second = (Run(load_study("dualemps-square", changes=changes), dualemps) for _ in range(3))
    whole.go()
    assert not first.go(lambda at: at.t > 0.35 * until)
    second.recall(first.memory(), first.recorder.samples())
    assert second.go()
    assert np.abs(second.recorder.samples().q - whole.recorder.samples().q).max() < 1e-12
    assert second.integrator.statistics.steps == whole.integrator.statistics.steps


# ---------------------------------------------------------------- drives


@pytest.mark.parametrize("robot", ["dualemps", "two-link-flexible"])
@pytest.mark.filterwarnings("ignore:link .* along its axis")  # linear by both ways
def test_efforts_of_a_prescribed_run_give_the_same_motion(robot):
    """Briot & Khalil's inverse model over a trajectory, then forward with its efforts; loops and trees alike."""
    arm = dynamics(robot)
    first = arm.inputs[0]
    q0 = Start().state(arm)[0]
    move = pliant.Quintic(to={first: float((q0 @ arm.B)[0]) + 0.01}, duration=0.02)
    options = {"until": 0.02, "method": "dop853", "tolerance": 1e-10, "output_step": 2e-5, "limits": "ignore"}
    wanted = simulate(arm, drive=pliant.PrescribedMotion(trajectory=move), **options)
    assert wanted[first][-1] == pytest.approx(q0 @ arm.B[:, 0] + 0.01, abs=1e-14)
    torque = pliant.GivenTorque(time=wanted.time, torque=wanted.tau, interpolation="cubic")
    again = simulate(arm, drive=torque, **options)
    assert np.abs(again.q - wanted.q).max() < 1e-8
    assert np.abs(wanted["energy.balance"]).max() < BALANCE * moved_energy(wanted)


def test_a_prescribed_motion_may_begin_with_a_rate():
    """A robot at rest is struck by it, passive joints and links with them; one that moves along is not."""
    drive, soon = (
        pliant.PrescribedMotion(trajectory=pliant.ConstantRate(rate={"motor": 3.0}, ramp=ramp)) for ramp in (0.0, 1e-6)
    )
    arm = dynamics("four-bar")
    rest, moving = (
        simulate(arm, until=0.02, drive=drive, start=start) for start in (None, Start(velocity={"motor": 3.0}))
    )
    turned_over = np.abs(rest["work"]).max() + np.ptp(rest["energy.total"])
    assert np.abs(rest["energy.balance"]).max() < 1e-8 * turned_over
    # links bend at once; joints alone would have turned as those of the robot that moves along
    elastic = [k for k, name in enumerate(arm.names) if "bend" in name]
    assert np.abs(rest.v[0, elastic]).max() > 1.0
    assert moving.v[0, elastic] == pytest.approx(np.zeros(len(elastic)), abs=1e-12)
    assert rest.q[-1] == pytest.approx(simulate(arm, until=0.02, drive=soon).q[-1], abs=1e-5)
    assert np.abs(arm.closure_rate(rest.q, rest.v)).max() < 1e-9


@pytest.mark.filterwarnings("ignore:link .* along its axis")  # linear by both ways
def test_prescribed_motion_by_both_methods(dualemps):
    move = pliant.PrescribedMotion(trajectory=pliant.Quintic(to={"q11": 0.02}, duration=0.05))
    exact = simulate(dualemps, until=0.05, drive=move, method="dop853", tolerance=1e-10)
    run = simulate(dualemps, until=0.05, drive=move, method="generalised-alpha", tolerance=1e-8)
    assert np.abs(run.q - exact.q).max() < 1e-5
    assert run["q11"] == pytest.approx(run["q11.desired"], abs=1e-14)


@pytest.mark.parametrize("gravity", ["desired", "measured"])
def test_gravity_compensation_holds_a_closed_loop(gravity):
    """With the gravity of the rigid loop the controller has nothing left to do."""
    run = simulate(dynamics("four-bar-rigid"), until=0.3, drive=pliant.PID(kp=1e-6, gravity=gravity), method="dop853")
    assert np.abs(run.q - run.q[0]).max() < 1e-12
    dropped = simulate(dynamics("four-bar-rigid"), until=0.3, drive=pliant.PID(kp=1e-6), method="dop853")
    assert np.abs(dropped.q - dropped.q[0]).max() > 1e-2


@pytest.mark.parametrize("method", ["dop853", "generalised-alpha"])
def test_computed_torque_follows_exactly_when_the_model_is_the_robot(method):
    """A rigid loop whose model is itself: only the integrator's error is left."""
    move = pliant.Quintic(to={"motor": 3.0}, duration=0.5)
    drive = pliant.ComputedTorque(trajectory=move, kp=100, kd=20)
    run = simulate(dynamics("four-bar-rigid"), until=0.5, drive=drive, method=method, tolerance=1e-8, limits="ignore")
    assert np.abs(run["motor"] - run["motor.desired"]).max() < 1e-4


def test_the_rigid_model_is_closed_as_the_start_is():
    """A four-bar whose rocker hangs on the other side: computed torque follows there as well."""
    arm = dynamics("four-bar-rigid")
    q = arm.assemble([1.5, -2.5, -2.8])
    assert np.sin(q[arm.names.index("ground_pin")]) < 0
    move = pliant.Quintic(to={"motor": 1.8}, duration=0.3)
    drive = pliant.ComputedTorque(trajectory=move, kp=100, kd=20)
    run = simulate(arm, until=0.3, drive=drive, start=(q, np.zeros(3)), method="dop853", tolerance=1e-9)
    assert np.abs(run["motor"] - run["motor.desired"]).max() < 1e-6


def test_other_drives_and_loads(dualemps):
    def law(t, q, v):
        assert np.abs(dualemps.closure(q)).max() < 1e-12
        return [20 * np.sin(1000 * t), 0.0]

    run = simulate(dualemps, until=0.01, drive=pliant.Callback(function=law, period=1e-3), method="dop853")
    assert np.abs(run.tau[:, 0]).max() > 10
    assert run["loops.gap"].max() < GAP
    hit = pliant.Disturbance(frame="tool_17", force=(5.0, 0.0, 0.0), start=1e-3, end=2e-3)
    for drive in (None, pliant.PrescribedMotion(trajectory=pliant.Hold())):
        run = simulate(dualemps, until=0.004, disturbances=[hit], drive=drive, method="dop853", limits="ignore")
        assert run["work.loads"][-1] > 0
        assert np.abs(run["energy.balance"]).max() < 1e-5 * run["work.loads"][-1]


def test_a_circle_of_a_five_bar():
    """Inverse kinematics through the loop: the rigid tool is on the circle, its speed is that of the profile."""
    arm = Dynamics(five_bar())
    start = Start(position={"left_motor": 2.0944, "right_motor": 1.0472})
    circle = pliant.Circle(frame="left_coupler.tip", centre=(0, 0.36, 0), duration=1.0)
    run = simulate(arm, until=1.0, drive=pliant.PrescribedMotion(trajectory=circle), start=start, method="dop853")
    p = run["left_coupler.tip.position"]
    radius = np.linalg.norm(p - [0, 0.36, 0], axis=1)
    assert np.abs(radius - radius[0]).max() < 1e-9
    assert np.abs(p[-1] - p[0]).max() < 1e-9
    speed = np.linalg.norm(run["left_coupler.tip.velocity"], axis=1)
    u = run.time
    assert np.abs(speed - 2 * np.pi * radius[0] * 30 * (u * (1 - u)) ** 2).max() < 1e-7
    slope = np.gradient(run["left_coupler.tip.velocity"], u, axis=0)
    assert np.abs(run["left_coupler.tip.acceleration"] - slope)[1:-1].max() < 1e-3


# ---------------------------------------------------------------- what is refused, and how


def test_the_start_is_assembled():
    arm = dynamics("dualemps")
    q, v = Start(position={"q11": 0.1, "q21": 0.05}, velocity={"q11": 0.2}).state(arm)
    assert q[[0, 8]].tolist() == [0.1, 0.05]
    assert v[[0, 8]] == pytest.approx([0.2, 0.0], abs=1e-12)
    assert np.abs(arm.closure(q)).max() < 1e-14
    assert np.abs(arm.closure_rate(q, v)).max() < 1e-14
    # a passive joint may be given instead of a drive
    bars = dynamics("four-bar-rigid")
    q, _ = Start(position={"ground_pin": 1.9}).state(bars)
    assert q[bars.names.index("ground_pin")] == pytest.approx(1.9, abs=1e-12)
    assert np.abs(bars.closure(q)).max() < 1e-14


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (Start(position={"q11": 1.5, "q21": 0.0}), "start: robot 'dualemps': the loops cannot close: 'closure' stays"),
        (Start(position={"q11": 0.1, "q21": 0.1, "q12": 0.5}), "with q11, q21, q12 held; give others, or fewer"),
        (Start(q=[0.01] * 14), "start.q: it leaves loop 'closure' open by"),
        (Start(v=[0.1] * 14), "the given rates open loop 'closure'"),
        (Start(velocity={"q12": 1.0, "q22": 1.0, "q25": 1.0, "q11": 1.0, "q21": 0.0}), "open loop 'closure'"),
    ],
)
def test_a_start_that_cannot_close(dualemps, start, message):
    with pytest.raises(pliant.ModelError, match="closure") as error:
        simulate(dualemps, until=0.1, start=start)
    assert message in str(error.value)


def test_the_rigid_model_needs_one_drive_per_motion():
    ring = pendulum_ring()
    links = [ring.links[0].with_changes(joint=ring.links[0].joint.with_changes(actuated=True)), *ring.links[1:]]
    arm = Dynamics(ring.with_changes(links=links))
    with pytest.raises(pliant.ModelError, match="loops leave 4 motions to rigid links and it has 1 drives"):
        simulate(arm, until=0.1, drive=pliant.PID(kp=1.0, gravity="desired"))
    assert simulate(arm, until=0.1, drive=pliant.PID(kp=1.0)).finished


def test_a_singular_pose_of_the_drives_is_named():
    """Cranks that press the couplers of a five-bar into one line and beyond."""
    arm = Dynamics(five_bar())
    to = {"left_motor": ALIGNED["left_motor"] + 0.2, "right_motor": ALIGNED["right_motor"] - 0.2}
    move = pliant.PrescribedMotion(trajectory=pliant.Quintic(to=to, duration=1.0))
    with pytest.warns(SimulationWarning, match="the pose of the drives is nearly singular there"):
        run = simulate(arm, until=1.0, drive=move, method="dop853")
    assert 0 < run.time[-1] < 1.0


def test_auto_respects_the_loops(dualemps):
    """The fastest motion is that of the closed robot, 4222 Hz, not that of its open tree."""
    method, reason = choose(IntegratorOptions(), StateEquations(dualemps, NoDrive(2)), *Start().state(dualemps), 25.0)
    assert method == "dop853"
    assert "2.65" in reason
    fastest = 2 * np.pi * pliant.modes(dualemps, dualemps.assemble(), locked=False).hertz[-1]
    assert f"{fastest:.3g}"[:4] == "2.65"


def test_a_study_file_with_loops(tmp_path):
    (tmp_path / "own.yaml").write_text(
        "robot: five-bar\nuntil: 5 ms\n"
        "drive: {pid: {kp: 50 N m/rad, kd: 1, trajectory: {quintic: {to: {left_motor: 130 deg}, duration: 1 s}}}}\n"
        "events: [{quantity: left_motor, above: 3}]\nlimits: stop\n"
    )
    from pliant.simulation.run import run_study

    run = run_study(load_study(tmp_path / "own.yaml"))
    assert run.finished
    assert run["loops.gap"].max() < GAP


def turntable(**loop):
    """A rigid four-bar on a table that turns about the vertical: no two rows along base axes serve in every plane."""
    plain = four_bar(loop=loop)
    table = Link(
        name="table",
        joint=Joint(name="turn", parent="base", axis=(0.0, 1.0, 0.0), actuated=False),
        rigid=Rigid(mass=1.0, com=(0.0, 0.0, 0.0), inertia=0.1, length=0.4),
    )
    links = [
        link.with_changes(joint=link.joint.with_changes(parent="table")) if link.joint.parent == "base" else link
        for link in plain.links
    ]
    return plain.with_changes(links=[table, *links])


def test_rows_of_an_over_constrained_loop_change_in_machine_code(monkeypatch):
    """The plane of a loop that is closed in space turns by half a turn, through where its rows are lost."""
    arm = Dynamics(turntable(planar=None))
    assert len(arm.loops.redundant) == 3
    made, rebuild = [], compiled.CompiledIntegrator._rebuild
    monkeypatch.setattr(compiled.CompiledIntegrator, "_rebuild", lambda self: made.append(self.t) or rebuild(self))
    options = {"until": 1.1, "start": Start(velocity={"turn": 3.0}), "limits": "ignore", "tolerance": 1e-8}
    fast = simulate(arm, method="dop853", **options)
    assert made
    assert fast["turn"][-1] > np.pi
    assert fast["loops.gap"].max() < GAP
    balance = np.abs(fast["energy.balance"]).max()
    assert balance < BALANCE * moved_energy(fast)
    implicit = simulate(arm, method="generalised-alpha", **options)
    assert np.abs(implicit.q - fast.q).max() < 1e-3
    monkeypatch.setattr(compiled, "compilable", lambda equations: None)
    slow = simulate(arm, method="dop853", **options)
    assert np.abs(fast.q - slow.q).max() < 1e-6
