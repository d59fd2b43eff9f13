"""Every kind of drive and load: one text that gives the same on columns and in machine code, and the right efforts.

What is right is written down here once more, in NumPy and with the rigid twin or the robot itself.
"""

import numpy as np
import pytest

from pliant import Dynamics, Quintic, linearise, lqr, simulate
from pliant.drives.callback import Callback
from pliant.drives.computed_torque import ComputedTorque
from pliant.drives.drive import Sampling
from pliant.drives.drive_kinds import DRIVES
from pliant.drives.feed_forward import FeedForward
from pliant.drives.given import GivenTorque, NoDrive
from pliant.drives.lqr import LQR
from pliant.drives.pid import PID
from pliant.drives.prescribed import PrescribedMotion
from pliant.drives.sampled import SampledLaw
from pliant.drives.saturated import SaturatedLaw
from pliant.engine.call.row_kernel import RowKernel
from pliant.laws import on_columns
from pliant.loads.disturbance import Disturbance
from pliant.loads.stops import ElasticStops
from pliant.model.description.robot import rigid_twin
from pliant.simulation.state_equations import StateEquations
from pliant.trajectories.path import Surroundings

MOVE = Quintic(to={"shoulder": 1.15, "elbow": -1.4}, duration=0.25)
GIVEN = {"trajectory": MOVE, "kp": (400.0, 250.0), "kd": (30.0, 20.0)}
TORQUES = GivenTorque(time=(0.0, 0.1, 0.3), torque=((1.0, -2.0), (3.0, 0.5), (-1.0, 4.0)))
DRIVES_TO_TRY = {
    "off": None,
    "given, expressions": GivenTorque(joints={"elbow": "2*sin(3*t)"}),
    "given, linear": TORQUES,
    "given, hold": GivenTorque(**{**TORQUES.model_dump(), "interpolation": "hold"}),
    "given, cubic": GivenTorque(**{**TORQUES.model_dump(), "interpolation": "cubic"}),
    "pd": PID(**GIVEN),
    "pid": PID(**GIVEN, ki=(90.0, 50.0)),
    "pid, gravity desired": PID(**GIVEN, ki=9.0, gravity="desired"),
    "pid, gravity measured": PID(**GIVEN, ki=9.0, gravity="measured"),
    "pid, cut": PID(**GIVEN, ki=(90.0, 50.0), saturate=True),
    "computed torque": ComputedTorque(**GIVEN),
    "feed-forward, rigid": FeedForward(**GIVEN),
    "feed-forward, elastic": FeedForward(**GIVEN, model="elastic"),
    "feed-forward, given": FeedForward(**GIVEN, model="given", torques=TORQUES),
    "lqr": LQR(trajectory=MOVE, weights={"tip": 1e3, "coordinates": 1.0, "effort": 0.01}, schedule=2),
    "prescribed": PrescribedMotion(trajectory=MOVE),
}
LOADS_TO_TRY = {
    "wrench": Disturbance(frame="tip", force=["1 + t", -2.0, 0.5], moment=[0.3, 0.1, "-t"], start=0.01),
    "effort": Disturbance(joint="elbow", effort="3*t"),
    "stops": ElasticStops({0: (1.0, 1.3), 1: (-1.9, -1.5)}, 1e3, 0.1),
}
ROWS = 6
# sums of some dozen terms, of the largest effort
ROUNDING = 1e-12
LIMIT = 20.0


@pytest.fixture(scope="module")
def arm():
    return Dynamics("two-link-flexible")


@pytest.fixture(scope="module")
def twin(arm):
    return Dynamics(rigid_twin(arm.robot))


def law_of(arm, name):
    if name in LOADS_TO_TRY:
        load = LOADS_TO_TRY[name]
        return load if isinstance(load, ElasticStops) else load.bind(arm)
    drive, q0 = DRIVES_TO_TRY[name], arm.reference_pose()
    law = NoDrive(len(arm.inputs)) if drive is None else drive.bind(Surroundings(arm, q0), q0 @ arm.B)
    if isinstance(law, SaturatedLaw):
        law.limits = np.array([LIMIT, np.inf])
    return law


def states(arm, law):
    """Times, coordinates, rates and states of a law at which it is tried."""
    rng = np.random.default_rng(8)
    q = arm.reference_pose() + 0.1 * rng.standard_normal((ROWS, arm.size))
    return (
        np.sort(rng.uniform(0.0, 0.25, ROWS)),
        q,
        rng.standard_normal((ROWS, arm.size)),
        0.01 * rng.standard_normal((ROWS, law.state_count)),
    )


def flat(found):
    return np.column_stack([found.efforts, found.rates, found.stored, found.lost])


def close(x):
    return ROUNDING * max(np.abs(x).max(), 1.0)


def test_every_kind_is_tried():
    tried = {drive.kind for drive in DRIVES_TO_TRY.values() if drive is not None}
    assert tried | {Callback.kind} == set(DRIVES.kinds)


@pytest.mark.parametrize("name", [*DRIVES_TO_TRY, *LOADS_TO_TRY])
def test_one_text_on_columns_in_machine_code_and_on_stacked_gains(arm, name):
    law = law_of(arm, name)
    times, q, v, z = states(arm, law)
    r, gains = law.signals(times), np.array([*law.gains, 0.0])

    def text(q, v, z, r, gains):
        found = law.efforts(q, v, z, r, gains[:-1])
        return [*found.efforts, *found.rates, found.stored, found.lost]

    sizes = {"q": arm.size, "v": arm.size, "z": z.shape[1], "r": r.shape[1], "gains": len(gains)}
    kernel = RowKernel(text, sizes)
    found = flat(law.along(times, q, v, z))
    one_by_one = [law.at(*row) for row in zip(times.tolist(), q, v, z, strict=True)]
    compiled = kernel(q, v, z, r, gains)
    assert found == pytest.approx(compiled, abs=close(compiled))
    assert np.array([[*each.efforts, *each.rates] for each in one_by_one]) == pytest.approx(
        compiled[:, :-2], abs=close(compiled)
    )
    # each row with gains of its own, as in a sweep
    stacked = gains * (1 + 1e-3 * np.arange(ROWS)[:, None])
    wanted = kernel(q, v, z, r, stacked)
    assert flat(on_columns(law, q, v, z, r, list(stacked[:, :-1].T))) == pytest.approx(wanted, abs=close(wanted))


def test_springs_of_joints_are_no_weight(arm):
    """The weight at the measured pose is what gravity needs alone, in machine code as in the model itself."""
    name, sprung = "pid, gravity measured", arm.set("elbow.spring", {"stiffness": 7.0})
    law = law_of(sprung, name)
    times, q, v, z = states(sprung, law)
    r, gains = law.signals(times), np.array(law.gains)
    sizes = {"q": sprung.size, "v": sprung.size, "z": z.shape[1], "r": r.shape[1], "gains": len(gains)}
    compiled = RowKernel(lambda *given: law.efforts(*given).efforts, sizes)(q, v, z, r, gains)
    wanted = law_of(arm, name).along(times, q, v, z).efforts
    for found in (compiled, law.along(times, q, v, z).efforts):
        assert found == pytest.approx(wanted, abs=close(wanted))


def expected(arm, twin, name, times, q, v, z):
    """Efforts and rates of the states, from the formulas in the documentation."""
    law = law_of(arm, name)
    drive, m = DRIVES_TO_TRY[name], len(arm.inputs)
    seen, rate, none = q @ arm.B, v @ arm.B, np.zeros((ROWS, 0))
    if name == "off":
        return np.zeros((ROWS, m)), none
    if name == "given, expressions":
        return np.column_stack([0 * times, 2 * np.sin(3 * times)]), none
    table = np.array(TORQUES.time), np.array(TORQUES.torque)
    linear = np.column_stack([np.interp(times, table[0], column) for column in table[1].T])
    if name == "given, linear":
        return linear, none
    if name == "given, hold":
        return table[1][np.searchsorted(table[0], times, side="right") - 1], none
    if name == "given, cubic":
        # one cubic through three points is their parabola
        return np.column_stack([np.polyval(np.polyfit(table[0], column, 2), times) for column in table[1].T]), none
    desired = law.path.many(times)
    if name == "prescribed":
        return desired.a, none
    if name == "lqr":
        # gains between the poses, over the way of a move along a line of joints
        ends = law.path.many(np.array([0.0, 0.25])).q
        way = (np.linalg.norm(desired.q - ends[0], axis=1) / np.linalg.norm(ends[1] - ends[0]))[:, None]
        gains = [lqr(linearise(arm, dict(zip(arm.inputs, end, strict=True))), drive.weights).K for end in ends]
        q_r, v_r, tau = law.follower.reference.at(times)
        parts = [np.hstack([q - q_r, v - v_r]) @ K.T for K in gains]
        return tau - (1 - way) * parts[0] - way * parts[1], none
    kp, kd = np.array(drive.kp), np.array(drive.kd)
    errors = kp * (desired.q - seen) + kd * (desired.v - rate)
    if name == "computed torque":
        return twin.forces(seen, rate, desired.a + errors), none
    if name == "feed-forward, rigid":
        return errors + twin.forces(*desired), none
    if name == "feed-forward, given":
        return errors + linear, none
    if name == "feed-forward, elastic":
        free = [k for k, each in enumerate(arm.names) if each not in arm.inputs]
        half = len(free)
        full, rates = np.zeros_like(q), np.zeros_like(v)
        full[:, free], rates[:, free] = z[:, :half], z[:, half:]
        full += desired.q @ arm.B.T
        rates += desired.v @ arm.B.T
        # M a + h = B tau with the accelerations of the joints given
        tau, a = np.zeros((ROWS, m)), np.zeros((ROWS, half))
        for k in range(ROWS):
            M, h = arm.mass_matrix(full[k]), arm.bias(full[k], rates[k])
            h = h + M @ arm.B @ desired.a[k]
            a[k] = np.linalg.solve(M[np.ix_(free, free)], -h[free])
            tau[k] = (h + M[:, free] @ a[k]) @ arm.B
        return tau + errors, np.hstack([z[:, half:], a])
    ki = np.broadcast_to(drive.ki, m)
    tau = errors + (ki * z if law.state_count else 0.0)
    if drive.gravity != "none":
        tau = tau + twin.gravity(desired.q if drive.gravity == "desired" else seen)
    if drive.saturate:
        tau[:, 0] = np.clip(tau[:, 0], -LIMIT, LIMIT)
    return tau, desired.q - seen if law.state_count else none


@pytest.mark.parametrize("name", DRIVES_TO_TRY)
def test_drives_by_their_formulas(arm, twin, name):
    law = law_of(arm, name)
    times, q, v, z = states(arm, law)
    tau, rates = expected(arm, twin, name, times, q, v, z)
    found = law.along(times, q, v, z)
    assert found.efforts == pytest.approx(tau, abs=1e3 * close(tau))
    assert found.rates == pytest.approx(rates, abs=1e3 * close(rates) if rates.size else 0)
    if name == "pid, cut":
        assert (np.abs(found.efforts[:, 0]) == LIMIT).any()


@pytest.mark.parametrize("name", LOADS_TO_TRY)
def test_loads_by_their_formulas(arm, name):
    law = law_of(arm, name)
    times, q, v, z = states(arm, law)
    wanted = np.zeros_like(q)
    if name == "wrench":
        for k, t in enumerate(times):
            wanted[k] = np.array([1 + t, -2.0, 0.5, 0.3, 0.1, -t]) @ arm.jacobian("tip", q[k]) * (t >= 0.01)
    elif name == "effort":
        wanted[:, arm.names.index("elbow")] = 3 * times
    else:
        for i, low, high in law.limits:
            for k in range(ROWS):
                depth = low - q[k, i], q[k, i] - high
                if depth[0] > 0:
                    wanted[k, i] = max(1e3 * depth[0] * (1 - 0.1 * v[k, i]), 0)
                if depth[1] > 0:
                    wanted[k, i] = -max(1e3 * depth[1] * (1 + 0.1 * v[k, i]), 0)
        assert (wanted != 0).sum() > 2
    assert law.along(times, q, v, z).efforts == pytest.approx(wanted, abs=close(wanted))


@pytest.mark.parametrize("name", ["pd", "pid", "pid, gravity measured", "computed torque"])
def test_a_tick_is_one_call_of_machine_code(arm, name, monkeypatch):
    """Discrete states advance by Euler steps; commands wait for the delay; the text is evaluated nowhere else."""
    drive = DRIVES_TO_TRY[name].with_changes(sampling=Sampling(period=0.01, delay=0.004))
    q0 = arm.reference_pose()
    sampled, inner = drive.bind(Surroundings(arm, q0), q0 @ arm.B), law_of(arm, name)
    assert isinstance(sampled, SampledLaw)
    _, q, v, _ = states(arm, inner)
    x, commands = inner.initial(), []
    for k in range(3):
        found = inner.at(0.01 * k, q[k], v[k], x)
        commands.append(np.array(found.efforts))
        x = x + 0.01 * np.array(found.rates)
    monkeypatch.setattr(type(sampled.inner), "at", lambda *_: pytest.fail("evaluated in Python"))
    for k in range(3):
        assert sampled.next_tick(0.0) == pytest.approx(0.01 * k)
        sampled.tick(0.01 * k, q[k], v[k])
        before = commands[k - 1] if k else np.zeros(len(arm.inputs))
        assert np.array(sampled.at(0.0, q[k], v[k], x).efforts) == pytest.approx(before, abs=1e3 * close(before))
        assert sampled.next_tick(0.0) == pytest.approx(0.01 * k + 0.004)
        sampled.tick(0.01 * k + 0.004, q[k], v[k])
        assert np.array(sampled.at(0.0, q[k], v[k], x).efforts) == pytest.approx(
            commands[k], abs=1e3 * close(commands[k])
        )
    assert sampled.ticks.discrete == pytest.approx(x, abs=1e-12)


def test_only_functions_of_the_user_take_steps_in_python(arm):
    q0 = arm.reference_pose()
    for name, drive in DRIVES_TO_TRY.items():
        if drive is not None:
            assert StateEquations(arm, law_of(arm, name)).law is not None
    called = Callback(function=lambda t, q, v: [0.0, 0.0]).bind(Surroundings(arm, q0), q0 @ arm.B)
    assert StateEquations(arm, called).law is None


def test_states_of_a_sampled_controller_are_channels():
    """The integral of a sampled PID: Euler steps of its error, held between the ticks."""
    move = Quintic(to={"shoulder": 0.02}, duration=0.05)
    pid = PID(trajectory=move, kp=30.0, kd=4.0, ki=20.0, sampling=Sampling(period=0.01))
    run = simulate("single-flexible-link", until=0.1, drive=pid, output_step=0.005)
    held = run["drive.integral.shoulder"]
    errors = (run["shoulder.desired"] - run["shoulder"])[::2]
    # the row of a tick shows what held until then
    assert held[1::2] == pytest.approx(0.01 * np.cumsum(errors[:-1]), abs=1e-12)
    assert held[2::2] == pytest.approx(held[1::2])
