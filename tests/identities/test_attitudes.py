"""Joints that turn any way against three turns in a row, in closed form, and seen from far attitudes."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import zoo
from pliant import Beam, Dynamics, Joint, Link, MethodError, Modes, Rectangle, Rigid, Robot, Spring, linearise, modes
from pliant.spatial.attitude import attitude, xyz

TOLERANCE = 1e-10
"""Of the largest entry: double precision, two routes."""
FREQUENCIES = 1e-8
"""Of frequencies of one robot in two attitudes, whose coordinates differ by T(theta)."""


def wrist(*, turns):
    """A driven arm, a ball with placements on both sides (or three turns), and a driven hand."""
    rng = zoo.seed(91)
    arm, hand, finger = (zoo.rigid(rng) for _ in range(3))
    inner, outer = zoo.placement(rng), zoo.placement(rng)
    ball = [
        Link(
            name="hand", joint=Joint(name="ball", type="spherical", placement=inner, child_placement=outer), rigid=hand
        )
    ]
    if turns:
        ball = [
            Link(name="x", joint=Joint(name="x", axis="x", placement=inner, actuated=False)),
            Link(name="y", joint=Joint(name="y", axis="y", actuated=False)),
            Link(name="hand", joint=Joint(name="z", axis="z", child_placement=outer, actuated=False), rigid=hand),
        ]
    links = [Link(name="arm", joint=Joint(name="arm", axis="y"), rigid=arm), *ball]
    return Robot(name="wrist", links=[*links, Link(name="finger", joint=Joint(name="finger", axis="x"), rigid=finger)])


def test_a_ball_is_three_turns():
    ball, turns = (Dynamics(wrist(turns=each), compile="never") for each in (False, True))
    rng = np.random.default_rng(6)
    q, v, a = rng.uniform(-1.4, 1.4, (3, 5))
    inner = slice(1, 4)
    row = xyz(q[inner].tolist(), v[inner].tolist())
    theta = Rotation.from_matrix(row.R).as_rotvec()
    # the same angular velocity in the axes of the hand, and the same angular acceleration
    R = np.array(row.R)
    rate = attitude(theta.tolist(), [0.0] * 3).solve((R.T @ row.omega).tolist())
    now = attitude(theta.tolist(), rate)
    alpha = R.T @ (np.array(row.T) @ a[inner] + row.bias)
    second = now.solve((alpha - now.bias).tolist())
    p, u, b = (np.concatenate([x[:1], y, x[4:]]) for x, y in ((q, theta), (v, rate), (a, second)))
    assert ball.energy(p, u).total == pytest.approx(turns.energy(q, v).total, rel=TOLERANCE)
    # forces on the coordinates are T^T times one moment
    one, two = ball.forces(p, u, b), turns.forces(q, v, a)
    assert one[[0, 4]] == pytest.approx(two[[0, 4]], rel=TOLERANCE)
    moment = now.solve_transposed(one[inner].tolist())
    assert np.array(row.T).T @ R @ moment == pytest.approx(two[inner], rel=TOLERANCE)
    assert ball.forward(p, u, force=one) == pytest.approx(b, rel=TOLERANCE)
    force = np.array([0.3, 0.0, 0.0, 0.0, -0.2])
    found, expected = ball.forward(p, u, force=force), turns.forward(q, v, force=force)
    assert found[[0, 4]] == pytest.approx(expected[[0, 4]], rel=TOLERANCE)
    turned = np.array(now.T) @ found[inner] + now.bias
    assert R @ turned == pytest.approx(np.array(row.T) @ expected[inner] + row.bias, rel=TOLERANCE)


def test_the_closed_form_of_a_sprung_ball_is_the_same():
    rng = zoo.seed(92)
    joint = Joint(name="ball", type="spherical", spring=Spring(stiffness=3.0))
    body = Rigid(mass=2.0, com=(0.3, 0.0, 0.0), inertia=(0.1, 0.2, 0.25))
    robot = Robot(name="ball", links=[Link(name="body", joint=joint, rigid=body)])
    recursive, closed = (Dynamics(robot, method=each, compile="never") for each in ("recursive", "lagrange"))
    q, v, a = rng.normal(size=(3, 3))
    assert closed.forces(q, v, a) == pytest.approx(recursive.forces(q, v, a), rel=TOLERANCE)
    assert closed.forward(q, v) == pytest.approx(recursive.forward(q, v), rel=TOLERANCE)
    damped = robot.set("ball.spring.damping", 0.1)
    with pytest.raises(MethodError, match=r"joint 'ball' is spherical with a damper.*method 'recursive'"):
        Dynamics(damped, method="lagrange", compile="never")
    with pytest.raises(MethodError, match=r"joint 'ball' of robot 'ball' is spherical; .*use method 'recursive'"):
        Dynamics(robot, method="dual_screw", compile="never")


@pytest.fixture(scope="module")
def boom():
    """A beam in free flight, with a rigid part that hangs on a ball."""
    strip = Beam(
        length=1.5,
        material="aluminium",
        section=Rectangle(width=0.02, height=0.03),
        modes=Modes(shape="clamped-free", bend_y=2, bend_z=1),
        rotary_inertia=True,
    )
    links = [
        Link(name="boom", joint=Joint(name="base", type="free"), beam=strip),
        Link(name="tool", joint=Joint(name="ball", type="spherical"), rigid=zoo.rigid(zoo.seed(93))),
    ]
    return Dynamics(Robot(name="boom", links=links, gravity=(0, 0, 0)))


def test_frequencies_do_not_depend_on_the_attitude(boom):
    """Six rigid motions of the whole and three of the tool are counted, and no stiffness hides among them."""
    straight = modes(boom, boom.q())
    turned = modes(boom, boom.q(base=[1, 2, 3, 1.5, -2.0, 1.0], ball=[0.0, 0.0, 0.0]))
    assert (straight.rigid, turned.rigid) == (9, 9)
    assert turned.hertz == pytest.approx(straight.hertz, rel=FREQUENCIES)


def test_a_linear_model_at_a_far_attitude_has_the_poles_of_the_near_one(boom):
    near, far = (linearise(boom, boom.q(base=[0, 0, 0, *theta])) for theta in ([0, 0, 0], [1.5, -2.0, 1.0]))
    poles = [np.sort(np.abs(np.linalg.eigvals(model.A)))[-6:] for model in (near, far)]
    assert poles[1] == pytest.approx(poles[0], rel=FREQUENCIES)
