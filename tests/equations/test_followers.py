"""Joints that follow others: the equations of the leaders against the open robot, projected by hand."""

import numpy as np
import pytest

from pliant import Joint, Link, Modes, Robot
from pliant.dynamics import Dynamics
from pliant.formulations.lagrange.equations import FORMATS, equations
from small_arms import DRIVE, beam, rigid

TOLERANCE = 1e-10
"""Of the largest entry: two derivations of the same numbers, some hundred operations each."""


def gripper():
    """Two plane links of which the second turns back; what is written in the simplest file."""
    joints = [Joint(name="a"), Joint(name="b", mimic={"joint": "a", "ratio": -1})]
    return [Link(name=f"l{k}", joint=joint, rigid=rigid(0.4)) for k, joint in enumerate(joints)]


def chain():
    """A follower of a follower that slides, all with motors, springs and friction."""
    turns = Joint(name="j3", axis="y", mimic={"joint": "j2", "ratio": -2.5, "offset": 0.3}, **DRIVE)
    follows = {"joint": "j3", "ratio": 0.1, "offset": 0.2}
    slides = Joint(name="j4", type="prismatic", axis="x", mimic=follows, spring=DRIVE["spring"])
    return [
        Link(name="a", joint=Joint(name="j1", axis="z", **DRIVE), rigid=rigid()),
        Link(name="b", joint=Joint(name="j2", axis="y", friction=DRIVE["friction"]), rigid=rigid(0.3)),
        Link(name="c", joint=turns, rigid=rigid(0.6)),
        Link(name="d", joint=slides, rigid=rigid(0.2)),
    ]


def flexible():
    """The follower comes first, and drives a pinned beam whose motor angle has a share of its bending."""
    follows = {"joint": "j2", "ratio": 0.7, "offset": -0.2}
    pinned, clamped = Modes(shape="pinned-pinned", bend_y=1), Modes(shape="clamped-free", bend_y=1, bend_z=1)
    return [
        Link(name="a", joint=Joint(name="j1", axis="z", mimic=follows, **DRIVE), beam=beam(0.8, modes=pinned)),
        Link(name="b", joint=Joint(name="j2", axis="z"), beam=beam(0.6, modes=clamped)),
    ]


def damped():
    """Damping of the whole robot couples leaders, followers and links."""
    return [*flexible()[:1], Link(name="b", joint=Joint(name="j2", axis="z"), rigid=rigid())]


ROBOTS = {"gripper": (gripper, None), "chain": (chain, None), "flexible": (flexible, None), "damped": (damped, 0.02)}


@pytest.fixture(params=ROBOTS, scope="module")
def case(request):
    """The equations, the robot without its ties, and the matrix T and vector q_0 of q = T u + q_0."""
    make, ratio = ROBOTS[request.param]
    more = {} if ratio is None else {"damping": {"ratio": ratio}}
    robot = Robot(name="tied", gravity=(1.0, -2.0, -9.81), links=make(), **more)
    free = robot.with_changes(
        links=[link.with_changes(joint=link.joint.with_changes(mimic=None, actuated=False)) for link in robot.links]
    )
    names = Dynamics(free, compile="never").names
    ties = robot.ties
    leaders = [name for name in names if name not in ties]
    T, q_0 = np.zeros((len(names), len(leaders))), np.zeros(len(names))
    for i, name in enumerate(names):
        leader, factor, offset = ties.get(name, (name, 1.0, 0.0))
        T[i, leaders.index(leader)], q_0[i] = factor, offset
    eq = equations(robot)
    return eq, eq.functions(), Dynamics(free, compile="never"), Dynamics(robot, compile="never"), T, q_0


def close(ours, theirs):
    return np.abs(ours - theirs).max() <= TOLERANCE * max(np.abs(theirs).max(), 1e-3)


def test_all_terms(case):
    eq, functions, free, tied, T, q_0 = case
    rng = np.random.default_rng(3)
    for _ in range(3):
        u, w = 0.4 * rng.normal(size=(2, T.shape[1]))
        q, v = T @ u + q_0, T @ w
        assert close(functions.mass_matrix(u), T.T @ free.mass_matrix(q) @ T)
        assert close(functions.gravity(u), T.T @ free.gravity(q))
        if tied.robot.damping is None:
            # damping by ratio is found for the modes of the tied robot
            assert close(functions.bias(u, w), T.T @ free.bias(q, v))
        efforts = rng.normal(size=len(eq.inputs))
        a = np.linalg.solve(functions.mass_matrix(u), functions.B @ efforts - functions.bias(u, w))
        assert close(T @ a, tied.forward(q, v, efforts))


def test_rate_of_inertia(case):
    """dM/dt - 2 D is skew in the coordinates of the leaders."""
    _, functions, _, _, T, _ = case
    rng = np.random.default_rng(4)
    u, w = 0.4 * rng.normal(size=(2, T.shape[1]))
    step = 1e-6
    rate = (functions.mass_matrix(u + step * w) - functions.mass_matrix(u - step * w)) / (2 * step)
    W = rate - 2 * functions.coriolis(u, w)
    assert pytest.approx(-W.T, abs=1e-8 * np.abs(rate).max()) == W


def test_only_leaders_are_coordinates(case):
    eq, _, _, tied, T, _ = case
    assert len(eq.coordinates) == T.shape[1]
    assert [c.robot_name for c in eq.coordinates] == [n for n in tied.names if n not in tied.robot.ties]
    assert {str(s) for s in eq.bias.free_symbols} <= set(eq.values) | {str(s) for s in (*eq.q, *eq.v)}


def test_pages_say_who_follows():
    robot = Robot(name="tied", gravity=(0.0, -9.81, 0.0), links=chain())
    eq = equations(robot)
    assert "theta_3 = ratio_3*theta_2 + offset_3" in eq.to("text")
    # a follower of a follower is written by the leader of both
    assert (eq.values["ratio_3"], eq.values["ratio_4"]) == (-2.5, -0.25)
    assert eq.values["offset_4"] == pytest.approx(0.23, rel=1e-12)
    for form in FORMATS:
        assert eq.to(form)
    q, v = [0.3, -0.2], [1.0, 0.5]
    numbers = equations(robot, parameters="numbers").functions()
    assert numbers.bias(q, v) == pytest.approx(eq.functions().bias(q, v), rel=1e-12)
