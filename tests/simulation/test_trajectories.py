"""Trajectories: rates and accelerations are derivatives, ends are reached, limits are kept."""

import numpy as np
import pytest

import pliant
from pliant.dynamics import Dynamics
from pliant.simulation.trajectories.kinds import (
    Circle,
    Cycloidal,
    Hold,
    Line,
    MohanSaha,
    Quintic,
    Sequence,
    Spline,
    Steps,
    Trapezoidal,
)
from pliant.simulation.trajectories.path import Surroundings

START = np.radians([60.0, -90.0])
TO = {"shoulder": 1.0, "elbow": -0.4}
# step of the difference quotients, and what they are off by with third derivatives of up to 1e3
STEP, DERIVATIVE = 1e-5, 1e-5
AT_REST = 1e-12
"""Rates (rad/s) that the rounding of joint angles of about one over about one second may leave."""

PLANAR = {
    "cycloidal": Cycloidal(to=TO, duration=1.5),
    "quintic": Quintic(to=TO, duration=1.5, start=0.3),
    "trapezoidal in a time": Trapezoidal(to=TO, duration=1.5, ramp=0.2),
    "trapezoidal within limits": Trapezoidal(to=TO, velocity=0.8, acceleration={"shoulder": 4.0, "elbow": 3.0}),
    "eq. (44)": MohanSaha(k={"shoulder": 0.075, "elbow": 0.05}, T={"shoulder": 10.0, "elbow": 5.0}),
    "cubic spline": Spline(times=[0.0, 0.7, 1.5], points=[{}, {"elbow": -1.0}, TO]),
    "quintic spline": Spline(times=[0.0, 0.7, 1.5], points=[{}, {"elbow": -1.0}, TO], degree="quintic"),
    "line": Line(by=[0.1, 0.0, -0.05], duration=1.5),
    "circle": Circle(centre=[0.6, 0.0, 0.2], normal=[0, 1, 0], duration=1.5, turns=0.5),
    "sequence": Sequence(
        parts=[Quintic(to=TO, duration=0.5), Hold(duration=0.2), Cycloidal(to=[0.9, -0.5], duration=0.6)]
    ),
}
JOINT_MOVES = [name for name in PLANAR if name not in ("eq. (44)", "line", "circle", "sequence")]


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
