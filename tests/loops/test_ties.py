"""Joints that follow others: a coordinate tied by ratio and offset, against the eliminated model T^T M T."""

import numpy as np
import pytest

from pliant import (
    Beam,
    Dynamics,
    Joint,
    Link,
    MethodError,
    Mimic,
    Modes,
    Properties,
    Rigid,
    Robot,
    Start,
    Study,
    modes,
    run_study,
)
from pliant.model.description.derived_links import tie_matrix

ROUNDING = 1e-11
"""Of the largest acceleration: a few hundred operations on each side."""
HELD = 1e-10
"""Gap of a tie over a simulation."""


def robot(kind="revolute", *, tied=True):
    """A bending arm whose last joint follows the first; chain: the follower of a follower."""
    follows = {"mimic": Mimic(joint="b", ratio=-0.7, offset=0.1)} if tied else {}
    beam = Beam(
        length=0.5,
        properties=Properties(mass_per_length=1.0, EIy=20.0, EIz=30.0),
        modes=Modes(shape="clamped-free", bend_y=1, bend_z=1),
        bending="linear",
    )
    hand = Rigid(mass=0.6, com=(0.1, 0.0, 0.05), inertia=(0.01, 0.012, 0.013), length=0.2)
    links = [
        Link(name="one", joint=Joint(name="a", axis="y"), beam=beam),
        Link(
            name="two",
            joint=Joint(name="b", axis="-z", **({"mimic": Mimic(joint="a", ratio=1.5)} if tied else {})),
            rigid=Rigid(mass=1.0, com=(0.1, 0.02, 0.0), inertia=(0.01, 0.02, 0.03), length=0.3),
        ),
        Link(name="three", joint=Joint(name="c", type=kind, axis=(1, 2, -2), **follows), rigid=hand),
    ]
    return Robot(name="tied", links=links)


@pytest.fixture(scope="module", params=["revolute", "prismatic"])
def pair(request):
    return Dynamics(robot(request.param)), Dynamics(robot(request.param, tied=False), compile="never")


def state(arm):
    T, q_0 = tie_matrix(arm.names, arm.robot.ties)
    u, du = 0.3 * np.random.default_rng(0).standard_normal((2, T.shape[1]))
    return T, T @ u + q_0, T @ du


def test_ties_are_a_chain_to_one_leader(pair):
    arm, _ = pair
    assert arm.inputs == ("a",)
    assert arm.dependent == ("b", "c")
    assert arm.robot.ties["c"] == ("a", pytest.approx(-1.05), pytest.approx(0.1))
    assert np.abs(arm.closure(arm.assemble())).max() <= HELD


@pytest.mark.parametrize("solver", ["recursive", "dense", "minimal"])
def test_accelerations_are_those_of_the_eliminated_model(pair, solver):
    arm, free = pair
    T, q, v = state(arm)
    f = np.random.default_rng(1).standard_normal(arm.size)
    expected = T @ np.linalg.solve(T.T @ free.mass_matrix(q) @ T, T.T @ (f - free.bias(q, v)))
    found = arm.forward(q, v, force=f, solver=solver)
    assert np.abs(found - expected).max() <= ROUNDING * np.abs(expected).max()


def test_efforts_and_forces_of_ties(pair):
    arm, free = pair
    _, q, v = state(arm)
    tau, _ = arm.inverse(q, v, [0.4])
    a = arm.forward(q, v, tau)
    assert a[arm.names.index("a")] == pytest.approx(0.4, rel=1e-9)
    # what the tied joints lack is what the ties give them
    missing = free.forces(q, v, a)
    held = arm.multipliers(q, v, tau)
    assert missing[arm.names.index("c")] == pytest.approx(held[1], rel=1e-9)
    assert missing[arm.names.index("b")] == pytest.approx(held[0], rel=1e-9)


def test_modes_of_the_tied_robot(pair):
    from scipy.linalg import eigh

    arm, free = pair
    q = arm.assemble()
    T, _ = tie_matrix(arm.names, arm.robot.ties)
    weightless = Dynamics(arm.robot.with_changes(gravity=(0.0, 0.0, 0.0)))
    found = modes(weightless, q)
    elastic = [1, 2]
    M, K = (T.T @ x @ T for x in (free.mass_matrix(q), free.stiffness))
    squares = eigh(K[np.ix_(elastic, elastic)], M[np.ix_(elastic, elastic)], eigvals_only=True)
    assert found.squares == pytest.approx(squares, rel=1e-9)


def test_a_run_keeps_the_ties():
    arm = robot()
    study = Study(robot=arm, until=0.5, start=Start(position={"a": 0.3}))
    run = run_study(study)
    T, q_0 = tie_matrix(run.arm.names, arm.ties)
    free = [k for k, name in enumerate(run.arm.names) if name not in arm.ties]
    assert np.abs(run.q - run.q[:, free] @ T.T - q_0).max() <= HELD
    assert np.abs(run["energy.balance"]).max() <= 1e-6 * np.ptp(run["energy.gravity"])


def test_other_methods_say_which_one_ties():
    with pytest.raises(MethodError, match=r"joints that follow \('b', 'c'\).*method 'recursive' does"):
        Dynamics(robot(), method="dual_screw")
