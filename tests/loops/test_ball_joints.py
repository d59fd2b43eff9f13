"""Closed loops with spherical and universal joints against material points, and against the same robot with turns."""

import numpy as np
import pytest
from scipy.linalg import null_space

from oracle import STEP, Oracle
from pliant import Dynamics, Joint, Link, Loop, Placement, Rigid, Robot, simulate

TOLERANCE = 1e-10
"""Of the largest entry: double precision, two routes."""
ENERGY = 1e-9
"""Drift of the energy over the run, of its largest part, at a tolerance of 1e-11."""


def bar(name, length, joint):
    return Link(
        name=name, joint=joint, rigid=Rigid(mass=2 * length, com=(length / 2, 0, 0), inertia=0.02, length=length)
    )


def rssr(*, turns=False):
    """A spatial four-bar: a crank about z, a coupler between two balls, a rocker about x; the coupler may spin.

    turns  the ball of the crank is made of three joints
    """
    across = Placement(rotation={"y": -np.pi / 2})
    far = Joint(name="rocker", axis="x", parent="base", placement={"position": [1.0, 0.6, 0.0]}, child_placement=across)
    ball = [bar("coupler", 1.0, Joint(name="ball", type="spherical", parent="crank.tip"))]
    if turns:
        ball = [
            Link(name="about_x", joint=Joint(name="x", axis="x", parent="crank.tip", actuated=False)),
            Link(name="about_y", joint=Joint(name="y", axis="y", actuated=False)),
            bar("coupler", 1.0, Joint(name="z", axis="z", actuated=False)),
        ]
    links = [bar("crank", 0.3, Joint(name="crank", axis="z")), *ball, bar("rocker", 0.6, far)]
    loop = Loop(name="end", type="spherical", frames=("coupler.tip", "rocker.tip"))
    return Robot(name="rssr", links=links, loops=[loop], pose={"crank": 0.4})


def tripod():
    """A platform that floats on three legs with a universal joint, a slide and a ball each."""
    corners = [[np.cos(a), np.sin(a), 0.0] for a in (0.3, 2.5, 4.4)]
    frames = [{"name": f"corner{i}", "position": (0.5 * np.array(c)).tolist()} for i, c in enumerate(corners)]
    plate = Rigid(mass=4.0, com=(0.02, 0.01, 0.05), inertia=(0.3, 0.4, 0.6))
    links = [Link(name="plate", joint=Joint(name="plate", type="free"), rigid=plate, frames=frames)]
    loops = []
    up = Placement(rotation={"y": -np.pi / 2})
    for i, c in enumerate(corners):
        foot = Joint(name=f"foot{i}", type="universal", axes=("x", "y"), parent="base", child_placement=up)
        links.append(bar(f"leg{i}", 0.5, foot.model_copy(update={"placement": Placement(position=c)})))
        links.append(bar(f"rod{i}", 0.4, Joint(name=f"slide{i}", type="prismatic", axis="x", parent=f"leg{i}.root")))
        loops.append(Loop(name=f"ball{i}", type="spherical", frames=(f"rod{i}.tip", f"plate.corner{i}")))
    pose = {"plate.z": 1.0, "plate.rx": 0.2, "plate.rz": -0.3, **{f"slide{i}": 0.6 for i in range(3)}}
    return Robot(name="tripod", links=links, loops=loops, pose=pose)


def closed_state(arm, seed=1):
    q = arm.assemble(arm.reference_pose(), hold=[])
    free = null_space(arm.loops.jacobian(q))
    return q, free @ np.random.default_rng(seed).normal(size=free.shape[1])


def point_accelerations(arm, q, v, force):
    """M a + J^T lambda = f - h, J a = -dJ/dt v, all from material points."""
    points = Oracle(arm.robot, arm.names)

    def gaps(x):
        ends = [[points.frame(name, x)[1] for name in loop.frames] for loop in arm.robot.loops]
        return np.concatenate([a - b for a, b in ends])

    def rates(x):
        return np.array([gaps(x + 1j * STEP * e).imag / STEP for e in np.eye(arm.size)]).T

    h = 1e-4
    J, drift = rates(q), (8 * (rates(q + h * v) - rates(q - h * v)) - rates(q + 2 * h * v) + rates(q - 2 * h * v)) @ v
    M, zero = points.mass_matrix(q), np.zeros((len(J), len(J)))
    right = np.concatenate([force - points.forces(q, v, 0 * q), -drift / (12 * h)])
    return np.linalg.solve(np.block([[M, J.T], [J, zero]]), right)[: arm.size]


@pytest.mark.parametrize("make", [rssr, tripod])
def test_accelerations_are_those_of_material_points(make):
    arm = Dynamics(make(), compile="never")
    q, v = closed_state(arm)
    force = np.cos(np.arange(arm.size))
    expected = point_accelerations(arm, q, v, force)
    assert np.abs(arm.loops.gaps(q)).max() <= TOLERANCE
    for solver in ("recursive", "dense"):
        found = arm.forward(q, v, force=force, solver=solver)
        assert found == pytest.approx(expected, rel=0, abs=TOLERANCE * np.abs(expected).max())


def test_a_ball_in_a_loop_is_three_turns():
    """Same configuration, same velocities of all bodies: the crank and the rocker accelerate alike."""
    ball, turns = (Dynamics(rssr(turns=each), compile="never") for each in (False, True))
    q, v = closed_state(ball)
    R = ball.pose("crank.tip", q).rotation.T @ ball.pose("coupler.root", q).rotation
    y = np.arcsin(R[0, 2])
    angles = np.arctan2(-R[1, 2], R[2, 2]), y, np.arctan2(-R[0, 1], R[0, 0])
    other = np.array([q[0], *angles, q[-1]])
    J, K = ball.jacobian("coupler.root", q)[3:], turns.jacobian("coupler.root", other)[3:]
    inner = np.linalg.solve(K[:, 1:4], J @ v - K[:, [0, -1]] @ v[[0, -1]])
    rates = np.array([v[0], *inner, v[-1]])
    assert ball.energy(q, v).total == pytest.approx(turns.energy(other, rates).total, rel=TOLERANCE)
    one, two = ball.forward(q, v, {"crank": 0.3}), turns.forward(other, rates, {"crank": 0.3})
    assert one[[0, -1]] == pytest.approx(two[[0, -1]], rel=TOLERANCE)


def test_a_spatial_four_bar_keeps_its_energy():
    arm = Dynamics(rssr())
    q, v = closed_state(arm)
    run = simulate(arm, until=2.0, start=(q, 3 * v), tolerance=1e-11, output_step=0.1)
    total = arm.energy(run.q, run.v).total
    assert np.ptp(total) <= ENERGY * np.abs(total).max()
    assert np.abs([arm.loops.gaps(x) for x in run.q]).max() <= TOLERANCE
