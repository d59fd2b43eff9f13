"""Trajectories: rates and accelerations are derivatives, ends are reached, limits are kept."""

import numpy as np
import pytest

import pliant
from pliant import (
    Circle,
    ConstantRate,
    Cycloidal,
    ExpressionMotion,
    Hold,
    Line,
    MohanSaha,
    Nonic,
    Quintic,
    Septic,
    Sequence,
    Shaped,
    Spline,
    Steps,
    TableMotion,
    Trapezoidal,
)
from pliant.dynamics import Dynamics
from pliant.simulation.run import Run
from pliant.simulation.state_equations import StateEquations
from pliant.trajectories.path import Surroundings

START = np.radians([60.0, -90.0])
TO = {"shoulder": 1.0, "elbow": -0.4}
# step of the difference quotients, and what they are off by with third derivatives of up to 1e3
STEP, DERIVATIVE = 1e-5, 1e-5
AT_REST = 1e-12
"""Rates (rad/s) that the rounding of joint angles of about one over about one second may leave."""

PLANAR = {
    "cycloidal": Cycloidal(to=TO, duration=1.5),
    "quintic": Quintic(to=TO, duration=1.5, start=0.3),
    "septic": Septic(to=TO, duration=1.5),
    "nonic": Nonic(to=TO, duration=1.5),
    "trapezoidal in a time": Trapezoidal(to=TO, duration=1.5, ramp=0.2),
    "trapezoidal within limits": Trapezoidal(to=TO, velocity=0.8, acceleration={"shoulder": 4.0, "elbow": 3.0}),
    "eq. (44)": MohanSaha(k={"shoulder": 0.075, "elbow": 0.05}, T={"shoulder": 10.0, "elbow": 5.0}),
    "cubic spline": Spline(times=[0.0, 0.7, 1.5], points=[{}, {"elbow": -1.0}, TO]),
    "quintic spline": Spline(times=[0.0, 0.7, 1.5], points=[{}, {"elbow": -1.0}, TO], degree="quintic"),
    "constant rate": ConstantRate(rate={"shoulder": 0.7}),
    "constant rate after a ramp": ConstantRate(rate=[0.7, -0.4], ramp=0.6, start=0.3),
    "constant rate for a while": ConstantRate(rate={"elbow": 2.0}, ramp=0.5, duration=1.2),
    "formula": ExpressionMotion(joints={"shoulder": "1 + 0.3*sin(2*pi*t)*exp(-t)", "elbow": -1.2}),
    "table": TableMotion(time=[0.0, 0.5, 1.1, 1.9], positions=[[1.0, -1.5], [1.2, -1.0], [0.9, -0.8], [1.1, -0.4]]),
    "spline with rates": Spline(
        times=[0.0, 1.5], points=[{}, TO], initial_rate={"shoulder": 0.8}, final_rate={"elbow": -0.5}
    ),
    "line": Line(by=[0.1, 0.0, -0.05], duration=1.5),
    "circle": Circle(centre=[0.6, 0.0, 0.2], normal=[0, 1, 0], duration=1.5, turns=0.5),
    "sequence": Sequence(
        parts=[Quintic(to=TO, duration=0.5), Hold(duration=0.2), Cycloidal(to=[0.9, -0.5], duration=0.6)]
    ),
    "shaped": Shaped(motion=Trapezoidal(to=TO, duration=1.0, start=0.1), shaper="ei2", modes=[1, 2]),
    "shaped formula": Shaped(
        motion=ExpressionMotion(joints={"shoulder": "1 + 0.3*sin(3*t)"}, duration=0.6), shaper="zvd", frequencies=[3.0]
    ),
    "shaped curves": Shaped(
        motion=Sequence(
            parts=[
                Line(by=[0.1, 0.0, -0.05], duration=0.4),
                Circle(centre=[0.6, 0.0, 0.2], normal=[0, 1, 0], duration=0.6, turns=0.3),
                Quintic(to=TO, duration=0.4),
            ]
        ),
        shaper="zvd",
        frequencies=[5.0],
        damping=[0.02],
    ),
}
ONGOING = ("eq. (44)", *(name for name in PLANAR if name.startswith(("constant", "formula", "table", "spline with"))))
ODD = ("line", "circle", "sequence", "shaped formula", "shaped curves")
JOINT_MOVES = [name for name in PLANAR if name not in (*ONGOING, *ODD)]


@pytest.fixture(scope="module")
def around():
    arm = Dynamics("two-link-flexible")
    return Surroundings(arm, arm.reference_pose())


@pytest.mark.parametrize("name", PLANAR)
def test_rates_are_derivatives(around, name):
    path = PLANAR[name].bind(around, START, 0.0)
    for t in np.random.default_rng(0).uniform(0.0, 2.0, 60):
        if min((abs(t - b) for b in path.breaks), default=1.0) < 2 * STEP:
            continue
        before, here, after = (path.at(t + k * STEP) for k in (-1, 0, 1))
        assert (after.q - before.q) / (2 * STEP) == pytest.approx(here.v, abs=DERIVATIVE)
        assert (after.v - before.v) / (2 * STEP) == pytest.approx(here.a, abs=1e2 * DERIVATIVE)


@pytest.mark.parametrize("name", PLANAR)
def test_a_motion_that_begins_later_is_the_same_motion(around, name):
    now, later = (PLANAR[name].bind(around, START, t0) for t0 in (0.0, 0.35))
    assert np.array(later.breaks) == pytest.approx(np.array(now.breaks) + 0.35)
    assert later.end == pytest.approx(now.end + 0.35)
    for t in (0.0, 0.33, 0.8, 1.4, 2.0):
        for x, y in zip(now.at(t), later.at(t + 0.35), strict=True):
            assert y == pytest.approx(x, rel=0, abs=1e-9)


@pytest.mark.parametrize("name", JOINT_MOVES)
def test_from_rest_to_rest(around, name):
    path = PLANAR[name].bind(around, START, 0.0)
    first, last = path.at(0.0), path.at(path.end + 1.0)
    assert first.q == pytest.approx(START, abs=1e-12)
    assert last.q == pytest.approx(list(TO.values()), abs=1e-12)
    # a spline's rate at its ends is a sum that rounding does not leave at zero on every processor
    assert np.abs(first.v).max() < AT_REST
    assert np.abs(last.v).max() < AT_REST


def test_equation_44_as_printed(around):
    """It starts at rest, turns at 2 k at t = T, and is not at rest there."""
    path = PLANAR["eq. (44)"].bind(around, np.zeros(2), 0.0)
    assert path.at(0.0).v == pytest.approx([0.0, 0.0])
    assert path.at(10.0).v[0] == pytest.approx(2 * 0.075)
    assert path.at(10.0).q[0] == pytest.approx(0.075 * 10.0)
    assert path.at(5.0).v[1] == pytest.approx(2 * 0.05)


def test_limits_are_used_and_kept(around):
    path = PLANAR["trapezoidal within limits"].bind(around, START, 0.0)
    motion = [path.at(t) for t in np.linspace(0.0, path.end, 2001)]
    v, a = (np.abs([getattr(m, x) for m in motion]).max(axis=0) for x in "va")
    assert v.max() == pytest.approx(0.8, rel=1e-9)
    assert a[0] <= 4.0 * (1 + 1e-9)
    assert a[1] == pytest.approx(3.0, rel=1e-9)


def test_a_short_move_does_not_reach_its_speed(around):
    """Half of the way with the largest acceleration, half against it: twice the root of way over acceleration."""
    way = abs(TO["elbow"] - START[1])
    short = Trapezoidal(to={"elbow": TO["elbow"]}, velocity=50.0, acceleration=12.0).bind(around, START, 0.2)
    assert short.end - 0.2 == pytest.approx(2 * np.sqrt(way / 12.0), rel=1e-12)
    motion = [short.at(t) for t in np.linspace(0.2, short.end, 101)[1:-1]]
    assert np.abs([m.a[1] for m in motion]) == pytest.approx(12.0, rel=1e-9)
    assert max(abs(m.v[1]) for m in motion) == pytest.approx(np.sqrt(12.0 * way), rel=1e-9)


def test_breaks_are_where_accelerations_bend(around):
    rate = ConstantRate(rate=[0.7, -0.4], ramp=0.6, start=0.3)
    assert rate.bind(around, START, 0.2).breaks == pytest.approx((0.5, 1.1))
    line = Line(by=[0.1, 0.0, -0.05], duration=1.5, start=0.1, profile="trapezoidal", ramp=0.2)
    assert line.bind(around, START, 0.2).breaks == pytest.approx((0.3, 0.6, 1.5, 1.8))
    move = Trapezoidal(to=TO, duration=1.5, ramp=0.2, start=0.1)
    assert move.bind(around, START, 0.2).breaks == pytest.approx((0.3, 0.6, 1.5, 1.8))


def test_the_rigid_tip_follows_line_and_circle(around):
    twin = around.twin
    p0 = twin.pose("tip", START).position
    line = PLANAR["line"].bind(around, START, 0.0)
    for t in np.linspace(0.0, 1.5, 37):
        off = twin.pose("tip", line.at(t).q).position - p0
        along = off @ [0.1, 0.0, -0.05] / 0.0125
        assert off == pytest.approx(along * np.array([0.1, 0.0, -0.05]), abs=1e-9)
    circle = PLANAR["circle"].bind(around, START, 0.0)
    points = np.array([twin.pose("tip", circle.at(t).q).position for t in np.linspace(0.0, 1.5, 37)])
    assert np.ptp(np.linalg.norm(points - [0.6, 0.0, 0.2], axis=1)) < 1e-8


def test_seven_joints_keep_the_orientation():
    arm = Dynamics("seven-joint-arm")
    around = Surroundings(arm, arm.reference_pose())
    q0 = np.array([around.arm.robot.pose.get(name, 0.0) for name in around.inputs])
    path = Line(by=[0.0, 0.1, -0.1], duration=1.0).bind(around, q0, 0.0)
    first, middle = (around.twin.pose("tip", q) for q in (q0, path.at(0.5).q))
    assert middle.position - first.position == pytest.approx([0.0, 0.05, -0.05], abs=1e-9)
    assert middle.rotation == pytest.approx(first.rotation, abs=1e-9)


def test_what_cannot_be_reached_is_said(around):
    with pytest.raises(pliant.ModelError, match="keep it inside the workspace"):
        Line(by=[2.0, 0.0, 0.0], duration=1.0).bind(around, START, 0.0)
    with pytest.raises(pliant.ModelError, match="no actuated joint 'wrist'"):
        Quintic(to={"wrist": 1.0}, duration=1.0).bind(around, START, 0.0)


def test_steps_jump_at_their_times(around):
    path = Steps(points=[{"time": 0.5, "to": {"elbow": 1.0}}, {"time": 1.0, "to": {"shoulder": 0.2}}]).bind(
        around, START, 0.0
    )
    assert path.breaks == (0.5, 1.0)
    assert path.at(0.4999).q == pytest.approx(START)
    assert path.at(0.5).q == pytest.approx([START[0], 1.0])
    assert path.at(2.0).q == pytest.approx([0.2, 1.0])
    with pytest.raises(pliant.ModelError, match="later than the one before"):
        Steps(points=[{"time": 1.0, "to": {}}, {"time": 0.5, "to": {}}])


# ---------------------------------------------------------------- not from rest to rest


def test_a_constant_rate(around):
    """From the start, or after a ramp that takes half of its time's way; it never ends unless it is told to."""
    at_once = PLANAR["constant rate"].bind(around, START, 0.0)
    assert at_once.at(2.0).q == pytest.approx(START + [1.4, 0.0])
    assert at_once.at(0.0).v == pytest.approx([0.7, 0.0])
    assert at_once.end == np.inf
    ramped = PLANAR["constant rate after a ramp"].bind(around, START, 0.0)
    assert np.abs(ramped.at(0.2).v).max() < AT_REST
    assert ramped.at(0.9).q == pytest.approx(START + np.array([0.7, -0.4]) * 0.3)
    assert ramped.at(5.0).v == pytest.approx([0.7, -0.4])
    ended = PLANAR["constant rate for a while"].bind(around, START, 0.0)
    assert ended.end == 1.2
    assert np.abs(ended.at(3.0).v).max() < AT_REST
    assert ended.at(3.0).q == pytest.approx(ended.at(1.2).q)


def test_formulas_have_exact_derivatives(around):
    path = PLANAR["formula"].bind(around, START, 0.5)
    t = 0.3
    w, e = 2 * np.pi, np.exp(-t)
    q, v, a = path.at(0.5 + t)
    assert q == pytest.approx([1 + 0.3 * np.sin(w * t) * e, -1.2])
    assert v == pytest.approx([0.3 * e * (w * np.cos(w * t) - np.sin(w * t)), 0.0])
    assert a == pytest.approx([0.3 * e * ((1 - w * w) * np.sin(w * t) - 2 * w * np.cos(w * t)), 0.0])


def test_a_table_goes_through_its_rows_and_is_not_at_rest(around, tmp_path):
    table = PLANAR["table"]
    path = table.bind(around, START, 0.0)
    for t, row in zip(table.time[:-1], table.positions[:-1], strict=True):
        assert path.at(t).q == pytest.approx(row)
    assert np.abs(path.at(0.0).v).min() > 0.1
    rested = TableMotion(time=table.time, positions=table.positions, ends="rest").bind(around, START, 0.0)
    assert np.abs(rested.at(0.0).v).max() < AT_REST
    file = tmp_path / "way.csv"
    file.write_text("t,elbow\n0,-1.5\n0.5,-1.0\n1.1,-0.8\n")
    read = TableMotion(file=str(file)).bind(around, START, 0.0)
    assert read.at(0.5).q == pytest.approx([START[0], -1.0])


def test_a_spline_begins_and_goes_on_with_its_rates(around):
    path = PLANAR["spline with rates"].bind(around, START, 0.0)
    assert path.at(0.0).v == pytest.approx([0.8, 0.0], abs=AT_REST)
    assert path.at(2.0).v == pytest.approx([0.0, -0.5], abs=AT_REST)
    assert path.at(2.0).q == pytest.approx([1.0, -0.4 - 0.25])


def test_a_run_at_a_constant_rate(around):
    """Prescribed at 0.7 rad/s from the start: the joint is where it should be, and the link trails."""
    drive = pliant.PrescribedMotion(trajectory=PLANAR["constant rate"])
    start = pliant.Start(velocity={"shoulder": 0.7}, links="equilibrium")
    run = pliant.simulate(around.arm, until=0.2, drive=drive, start=start)
    assert run["shoulder"][-1] == pytest.approx(START[0] + 0.14)
    assert np.abs(run["energy.balance"]).max() < 1e-7


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: ExpressionMotion(joints={"shoulder": "sin(q)"}), "cannot be read"),
        (lambda: TableMotion(time=[0, 1]), "give either file, or time with positions"),
        (lambda: TableMotion(time=[0, 0], positions=[[1], [2]]), "must increase"),
        (lambda: TableMotion(file="nowhere.csv"), "there is no such file"),
    ],
)
def test_what_cannot_be_read(wrong, words):
    with pytest.raises(pliant.ModelError, match=words):
        wrong()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (ExpressionMotion(joints={"shoulder": "log(t)"}), "'log\\(t\\)' of joint 'shoulder' has no value"),
        (TableMotion(time=[0, 1], positions=[[1], [2]]), "there are 1 columns; the robot has the inputs shoulder"),
        (Sequence(parts=[ConstantRate(rate=[1, 1]), Hold(duration=1)]), "'rate' goes on for ever; give it a duration"),
    ],
)
def test_what_a_robot_cannot_follow(around, wrong, words):
    with pytest.raises(pliant.ModelError, match=words):
        wrong.bind(around, START, 0.0)


# ---------------------------------------------------------------- many knots


def many_knots(count, *, jitter=0.0):
    """A table of a smooth motion; ``jitter`` makes its times uneven."""
    t = np.linspace(0.0, 0.5, count + 1)
    t[1:-1] += jitter * np.sin(7 * np.arange(1, count)) * t[1]
    wave = START + 0.3 * np.stack([1 - np.cos(4 * np.pi * t), np.sin(4 * np.pi * t) ** 2], axis=1)
    return TableMotion(time=t, positions=wave)


def test_many_even_knots_are_stepped_over(monkeypatch, around):
    """The same motion with and without an end of a step at every knot, also when a load begins between two of them."""
    drive = pliant.PID(trajectory=many_knots(200), kp=200.0, kd=20.0)
    push = pliant.Disturbance(joint="elbow", effort=0.1, start=0.1013, end=0.3)

    def final():
        study = pliant.Study(robot=around.arm.robot, until=0.5, drive=drive, disturbances=[push], limits="ignore")
        run = Run(study, around.arm)
        run.go()
        # machine code went on to the end: nothing was left to Python
        assert run.integrator._stand_in is None
        return len(run.breaks), run.result()

    count, over = final()
    monkeypatch.setattr("pliant.trajectories.joint_moves.MANY_KNOTS", 1000)
    every, ended = final()
    assert (count, every) == (2, 200)
    assert over.info.statistics["evaluations"] < ended.info.statistics["evaluations"]
    assert over.q[-1] == pytest.approx(ended.q[-1], abs=1e-7)


@pytest.mark.parametrize("count", [4095, 4096, 4097, 9000])
def test_more_knots_than_polynomials_fit_into_a_table_stay_in_machine_code(count, monkeypatch, around):
    """As in replays of logs; a piece too many was left to Python, step by step."""
    evaluated, rates = [], StateEquations.rates
    monkeypatch.setattr(StateEquations, "rates", lambda self, t, y: (evaluated.append(t), rates(self, t, y))[1])
    drive = pliant.PID(trajectory=many_knots(count), kp=200.0, kd=20.0)
    study = pliant.Study(
        robot=around.arm.robot,
        until=0.5,
        drive=drive,
        limits="ignore",
        integrator={"method": "dop853", "tolerance": 1e-5},
    )
    run = Run(study, around.arm)
    run.go()
    assert not run.integrator.steps_in_python
    assert run.integrator.statistics.evaluations > 100
    assert len(evaluated) < 10


def test_few_or_uneven_knots_end_steps(around):
    assert len(many_knots(30).bind(around, START, 0.0).breaks) == 31
    assert len(many_knots(200, jitter=0.2).bind(around, START, 0.0).breaks) == 201
    path = Sequence(parts=[Hold(duration=0.1), many_knots(200)]).bind(around, START, 0.0)
    assert len(path.breaks) < 5
    assert path.knots_after(0.2) == pytest.approx((0.2025, 0.0025))
    assert path.knots_after(0.05) == (np.inf, np.inf)
