"""A loop that a kind of joint closes is the tree that has this joint: motion, energies, what the joint transmits."""

import numpy as np
import pytest

import pliant
from closed_robots import four_bar
from closure_rings import BEAM, BODY, DESCRIBED, LENGTH, joint, ring, rotation_vector
from pliant import Dynamics, Loop, ModelError, Robot
from pliant.joints import CLOSURES, KINDS

ROUNDING = 1e-10
"""Relative to the largest number: constrained and free bodies take different ways to the same accelerations."""
CLOSED = 1e-12


def test_every_kind_is_tried():
    assert set(DESCRIBED) == set(CLOSURES)


def pair(kind):
    """Two bodies in free flight: with the joint between them in the tree, and as the closure of a loop."""
    arm = {"name": "arm", "joint": {"name": "arm", "type": "free"}, "beam": BEAM}
    others, own = joint(kind)
    tree = {"name": "tree", "links": [arm, *others, {"name": "hand", "joint": own, "rigid": BODY}]}
    hand = {"name": "hand", "joint": {"name": "hand", "type": "free", "parent": "base"}, "rigid": BODY}
    loop = {"name": "k", "type": kind, "frames": ["arm.tip", "hand.root"], **DESCRIBED[kind]}
    closed = {"name": "closed", "links": [arm, hand], "loops": [loop]}
    return tuple(Dynamics(Robot.model_validate(each), compile="never") for each in (tree, closed))


def same_state(tree, closed, seed=0):
    """A random state of the tree, and the same motion of the closed loop."""
    rng = np.random.default_rng(seed)
    q, v = 0.3 * rng.standard_normal(tree.size), rng.standard_normal(tree.size)
    shared = len(closed.names) - 6
    q[6:shared] *= 0.1
    pose, twist = tree.pose("hand.root", q), tree.velocity("hand.root", q, v)
    q_c = np.array([*q[:shared], *pose.position, *rotation_vector(pose.rotation)])
    J = closed.jacobian("hand.root", q_c)[:, shared:]
    return (q, v), (q_c, np.array([*v[:shared], *np.linalg.solve(J, [*twist.linear, *twist.angular])]))


@pytest.fixture(scope="module", params=DESCRIBED)
def robots(request):
    return request.param, *pair(request.param)


def close(found, expected):
    size = np.abs(expected).max()
    np.testing.assert_allclose(np.asarray(found) / size, np.asarray(expected) / size, rtol=0, atol=ROUNDING)


def test_the_loop_is_closed_where_the_joint_holds_the_links(robots):
    _, tree, closed = robots
    _, (q, v) = same_state(tree, closed)
    assert np.abs(closed.closure(q)).max() < CLOSED
    assert np.abs(closed.closure_rate(q, v)).max() < 1e-11


def test_motion_energy_and_reactions_are_those_of_the_tree(robots):
    kind, tree, closed = robots
    (q, v), (q_c, v_c) = same_state(tree, closed)
    rng = np.random.default_rng(1)
    wrenches = {f"{link}.tip": rng.normal(size=6) for link in ("arm", "hand")}
    a = tree.forward(q, v, np.zeros(len(tree.inputs)), wrenches=wrenches)
    for solver in ("recursive", "dense"):
        a_c = closed.forward(q_c, v_c, np.zeros(len(closed.inputs)), wrenches=wrenches, solver=solver)
        for frame in ("arm.tip", "hand.tip"):
            found, expected = closed.acceleration(frame, q_c, v_c, a_c), tree.acceleration(frame, q, v, a)
            close([*found.linear, *found.angular], [*expected.linear, *expected.angular])
    assert closed.energy(q_c, v_c).total == pytest.approx(tree.energy(q, v).total, rel=1e-12)
    # what the closure exerts on the hand is what the joint hands to it, in the axes of the hand
    tau = np.zeros(len(tree.inputs))
    name = "k_2" if kind == "universal" else "k"
    expected = tree.reactions(q, v, a, tau, wrenches=wrenches)[name]
    f = sum(closed.jacobian(frame, q_c).T @ wrench for frame, wrench in wrenches.items())
    exerted = dict(closed.loops.closing_wrenches(q_c, closed.loops.multipliers(q_c, v_c, a_c, f)))
    R = closed.pose("hand.root", q_c).rotation
    close([*(R.T @ exerted["hand.root"][:3]), *(R.T @ exerted["hand.root"][3:])], expected)
    # and on the arm the opposite: no force or moment comes from nowhere
    p = closed.pose("hand.root", q_c).position - closed.pose("arm.tip", q_c).position
    there, here = exerted["hand.root"], exerted["arm.tip"]
    close(np.append(there[:3] + here[:3], there[3:] + here[3:] + np.cross(p, there[:3])) + expected, expected)
    if kind == "distance":
        # the multiplier is the force along the rod, positive where it pushes the ends apart
        push = closed.loops.multipliers(q_c, v_c, a_c, f)
        assert push[0] * p / LENGTH == pytest.approx(there[:3], rel=1e-9)


def test_the_gap_changes_at_its_rate(robots):
    _, tree, closed = robots
    _, (q, _) = same_state(tree, closed)
    u, h = np.random.default_rng(2).standard_normal(closed.size), 1e-6
    difference = (closed.closure(q + h * u) - closed.closure(q - h * u)) / (2 * h)
    np.testing.assert_allclose(difference, closed.loops.jacobian(q) @ u, rtol=0, atol=1e-8)


def test_an_open_loop_is_closed_again(robots):
    _, tree, closed = robots
    _, (q, v) = same_state(tree, closed)
    away = q + 0.02 * np.random.default_rng(3).standard_normal(closed.size)
    assert np.abs(closed.closure(away)).max() > 1e-3
    assert np.abs(closed.closure(closed.assemble(away, hold=[]))).max() < CLOSED
    near, rates = closed.project(away, v)
    assert np.abs(closed.closure(near)).max() < CLOSED
    assert np.abs(closed.closure_rate(near, rates)).max() < 1e-10


FREE_ENOUGH = [kind for kind in DESCRIBED if kind != "weld"]


@pytest.mark.parametrize("kind", FREE_ENOUGH)
def test_a_ring_is_the_same_wherever_it_is_cut(kind):
    """Closed by a ball, with the kind as a joint of the tree; then by the kind, with the ball in the tree."""
    ball, own = (Dynamics(ring(kind, cut=cut), compile="never") for cut in ("ball", "kind"))
    q, q_c = (arm.reference_pose() for arm in (ball, own))
    assert max(np.abs(arm.closure(x)).max() for arm, x in ((ball, q), (own, q_c))) < 1e-9
    q, v = ball.project(q, np.random.default_rng(5).standard_normal(ball.size))
    twist, pose = ball.velocity("hand.root", q, v), ball.pose("hand.root", q)
    q_c = np.array([*q[:6], *rotation_vector(pose.rotation)])
    J = own.jacobian("hand.root", q_c)[3:, 6:]
    v_c = np.array([*v[:6], *np.linalg.solve(J, twist.angular)])
    tau, tau_c = (np.zeros(len(arm.inputs)) for arm in (ball, own))
    a, a_c = ball.forward(q, v, tau), own.forward(q_c, v_c, tau_c)
    for frame in ("arm.tip", "hand.root"):
        found, expected = own.acceleration(frame, q_c, v_c, a_c), ball.acceleration(frame, q, v, a)
        close([*found.linear, *found.angular], [*expected.linear, *expected.angular])
    assert own.energy(q_c, v_c).total == pytest.approx(ball.energy(q, v).total, rel=1e-11)
    close(own.reactions(q_c, v_c, a_c, tau_c)["arm"], ball.reactions(q, v, a, tau)["arm"])


@pytest.mark.parametrize("kind", ["prismatic", "helical", "cylindrical", "universal", "planar", "distance"])
def test_a_run_keeps_its_energy_and_its_loop(kind):
    robot = ring(kind, cut="kind")
    study = pliant.Study(robot=robot, until=0.3, integrator={"tolerance": 1e-9})
    run = pliant.run_study(study)
    assert run["loops.gap"].max() < 1e-9
    assert np.abs(run["energy.balance"]).max() <= 1e-7 * np.abs(run["energy.kinetic"]).max()


@pytest.mark.parametrize("kind", ["prismatic", "helical", "cylindrical", "universal", "planar", "distance"])
def test_derivatives_of_accelerations(kind):
    """Tangents of the compiled closure against differences of it along the loop."""
    arm = Dynamics(ring(kind, cut="kind"), compile="never")
    q, v = arm.project(arm.assemble(), np.random.default_rng(6).standard_normal(arm.size))
    found = arm.derivatives(q, v)
    h, u = 1e-6, np.random.default_rng(7).standard_normal(arm.size)
    step = lambda s: arm.forward(q, v + s * u)  # noqa: E731
    expected = (step(h) - step(-h)) / (2 * h)
    np.testing.assert_allclose(found.v @ u, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    # along the loop, where the multipliers stay those of the closure
    t = arm.project(q, u)[1]
    moved = [arm.forward(q + s * t, v) for s in (h, -h)]
    expected = (moved[0] - moved[1]) / (2 * h)
    np.testing.assert_allclose(found.q @ t, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["prismatic", "distance"])
def test_it_is_drawn(kind, tmp_path):
    from pliant.pictures.drawing import draw_robot

    draw_robot(ring(kind, cut="kind"), tmp_path / "ring.svg")
    assert (tmp_path / "ring.svg").stat().st_size > 1000


def test_the_lumped_model_says_what_it_has_no_rows_for():
    rod = {"type": "distance", "length": 0.05, "planar": None}
    with pytest.raises(ModelError, match="the lumped model has no rows for a distance closure; close the loop at"):
        pliant.LumpedModel(four_bar(loop=rod, bend_y=True))


# ---------------------------------------------------------------- words


@pytest.mark.parametrize("kind", DESCRIBED)
def test_a_file_comes_back(kind, tmp_path):
    robot = pair(kind)[1].robot
    robot.save(tmp_path / "robot.yaml")
    assert pliant.load(tmp_path / "robot.yaml") == robot


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ({"type": "distance"}, "a distance closure needs length: distance between the two frames"),
        ({"type": "distance", "length": -1.0}, "length is -1.0; it must be positive"),
        ({"type": "helical"}, "a helical closure needs pitch"),
        ({"type": "spherical", "axis": "x"}, "a spherical closure has no axis; leave it out"),
        ({"type": "prismatic", "axes": ["x", "y"]}, "a prismatic closure has no axes; leave it out"),
        ({"type": "universal", "axes": ["x", "-x"]}, "axes are parallel"),
        ({"type": "prismatic", "planar": "xy"}, "leave planar out: what the plane holds already is found by itself"),
        ({"type": "distance", "length": 1.0, "align": True}, "leaves its frames free to turn"),
        ({"type": "free"}, "type is 'free'; it must be 'revolute'"),
    ],
)
def test_impossible_closures(described, words):
    with pytest.raises(ModelError, match=words):
        Loop(name="k", frames=["a", "b"], **described)


def test_a_slider_in_a_plane_leaves_out_what_is_held_twice():
    """A crank, a rod and a slider that closes the loop: the textbook's position, and the force on the slider."""
    bar = {"mass": 0.2, "com": [0.1, 0, 0], "inertia": 1e-3}
    links = [
        {"name": "crank", "joint": {"name": "motor", "parent": "base"}, "rigid": {**bar, "length": 0.1}},
        {
            "name": "rod",
            "joint": {"name": "pin", "parent": "crank.tip", "actuated": False},
            "rigid": {**bar, "length": 0.3},
        },
        {
            "name": "piston",
            "joint": {"name": "wrist", "parent": "rod.tip", "actuated": False},
            "rigid": {"mass": 0.5, "inertia": 1e-3},
        },
    ]
    loop = {"name": "bore", "type": "prismatic", "axis": "x", "frames": ["base", "piston.root"]}
    pose = {"motor": 0.9, "pin": -1.2, "wrist": 0.3}
    arm = Dynamics(Robot.model_validate({"name": "engine", "links": links, "loops": [loop], "pose": pose}))
    q = arm.assemble()
    x = 0.1 * np.cos(0.9) + np.sqrt(0.3**2 - (0.1 * np.sin(0.9)) ** 2)
    assert arm.pose("piston.root", q).position == pytest.approx([x, 0, 0], abs=1e-12)
    assert arm.loops.rank == 2
    assert len(arm.loops.redundant) == 3


def test_joints_that_close_loops_are_joints_of_links_too():
    """Whatever may close a loop may hold a link, but a rod between two points."""
    assert set(CLOSURES) - {*KINDS, "weld", "universal"} == {"distance"}
