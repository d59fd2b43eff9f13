"""What must not matter: units, order of the links, place of the base, the writing of a small rotation."""

import numpy as np
import pytest

import zoo
from pliant.algorithm import result, run
from pliant.dynamics import Dynamics
from pliant.formulations.recursive.recursions import FORWARD, INVERSE
from pliant.tree import composite
from pliant.tree.kinematics import ENERGY

TOLERANCE = 1e-10
"""Of the largest entry, in the natural size of each coordinate: double precision throughout."""

METRE, KILOGRAM = 1000.0, 0.001
"""Lengths in millimetres, masses in tonnes."""

R_BASE = zoo.rotation(zoo.seed(80)).to_matrix()
P_BASE = np.array([0.7, -1.1, 0.4])

LINKS_ENOUGH = [name for name in zoo.ZOO if len(zoo.robot(name).links) > 1]
# plain modal data carry no dimensions that a walk over the keys could see
DIMENSIONED = [name for name in zoo.ZOO if not name.startswith("imported")]


class Plain:
    """A robot on the plain passes: no compilation, the same functions."""

    def __init__(self, robot):
        self.robot = robot
        self.tree = zoo.tree_of(robot)
        self.names = self.tree.coordinates
        self.size = self.tree.size

    def __call__(self, algorithm, **inputs):
        return np.array(result(algorithm, run(algorithm, self.tree, {k: x.tolist() for k, x in inputs.items()})))

    def mass_matrix(self, q):
        return np.array(composite.mass_matrix(self.tree, q.tolist()))

    def forces(self, q, v, a):
        return self(INVERSE, q=q, v=v, a=a)

    def forward(self, q, v, f):
        return self(FORWARD, q=q, v=v, f=f)

    def check_forward(self, q, v, f, a):
        """Whether a are the accelerations under the forces f, in the metric of the mass matrix."""
        L = np.linalg.cholesky(self.mass_matrix(q))
        assert close(L.T @ self.forward(q, v, f), L.T @ a)

    def energies(self, q, v):
        return self(ENERGY, q=q, v=v).reshape(-1, 9).sum(axis=0)


def close(left, right, tolerance=TOLERANCE):
    return np.abs(left - right).max() <= tolerance * max(np.abs(left).max(), np.abs(right).max())


@pytest.mark.parametrize("name", DIMENSIONED)
def test_units_do_not_matter(name):
    robot = zoo.robot(name)
    arm = Dynamics(robot, compile="never")
    ours, theirs = Plain(robot), Plain(zoo.in_units(robot, METRE, KILOGRAM))
    unit = zoo.coordinate_units(arm, METRE)
    effort = KILOGRAM * METRE**2 / unit
    q, v, a = zoo.state(arm)
    assert ours.names == theirs.names

    size = np.sqrt(np.diag(ours.mass_matrix(q)))
    M = theirs.mass_matrix(q * unit) * np.outer(1 / effort, unit)
    assert close(ours.mass_matrix(q) / np.outer(size, size), M / np.outer(size, size))
    f = ours.forces(q, v, a)
    assert close(f, theirs.forces(q * unit, v * unit, a * unit) / effort)
    ours.check_forward(q, v, f, theirs.forward(q * unit, v * unit, f * effort) / unit)


@pytest.mark.parametrize("name", LINKS_ENOUGH)
def test_the_order_of_the_links_does_not_matter(name):
    robot = zoo.robot(name)
    ours, theirs = Plain(robot), Plain(zoo.reordered(robot, 3))
    assert sorted(ours.names) == sorted(theirs.names)
    order = [ours.names.index(coordinate) for coordinate in theirs.names]
    q, v, a = zoo.state(Dynamics(robot, compile="never"))
    assert close(ours.mass_matrix(q)[np.ix_(order, order)], theirs.mass_matrix(q[order]))
    f = ours.forces(q, v, a)
    assert close(f[order], theirs.forces(q[order], v[order], a[order]))
    theirs.check_forward(q[order], v[order], f[order], ours.forward(q, v, f)[order])


def test_some_order_really_differs():
    assert any(Plain(zoo.robot(n)).names != Plain(zoo.reordered(zoo.robot(n), 3)).names for n in LINKS_ENOUGH)


@pytest.mark.parametrize("name", zoo.ZOO)
def test_where_the_base_stands_does_not_matter(name):
    """The base turned and shifted with gravity: same inertia, same forces; poses and momenta follow."""
    robot = zoo.robot(name)
    ours, theirs = Plain(robot), Plain(zoo.moved(robot, R_BASE, P_BASE))
    q, v, a = zoo.state(Dynamics(robot, compile="never"))
    assert close(ours.mass_matrix(q), theirs.mass_matrix(q))
    f = ours.forces(q, v, a)
    assert close(f, theirs.forces(q, v, a))
    ours.check_forward(q, v, f, theirs.forward(q, v, f))

    here, there = ours.energies(q, v), theirs.energies(q, v)
    mass = sum(link.body.mass for link in ours.tree.links)
    lifted = mass * P_BASE @ (R_BASE @ ours.tree.gravity)
    assert close(here[:3] - [0, 0, lifted], there[:3])
    linear, angular = R_BASE @ here[3:6], R_BASE @ here[6:9]
    assert close(np.concatenate([linear, angular + np.cross(P_BASE, linear)]), there[3:9])


def test_poses_move_with_the_base():
    robot = zoo.robot("branches-xyz")
    ours, theirs = (Dynamics(r, compile="never") for r in (robot, zoo.moved(robot, R_BASE, P_BASE)))
    q, _, _ = zoo.state(ours)
    for frame in ("trunk.mid", "d.tip", "e.root"):
        here, there = ours.pose(frame, q), theirs.pose(frame, q)
        assert close(R_BASE @ here.position + P_BASE, there.position)
        assert close(R_BASE @ here.rotation, there.rotation)


@pytest.mark.parametrize(("rule", "order"), [("cayley", 2), ("xyz", 1)])
def test_rotation_rules_differ_in_high_orders_only(rule, order):
    """Deflections eps: the rotations differ by eps^3 and eps^2, so their rates, and M, by one order less."""
    exponential, other = Plain(zoo.branches("exponential")), Plain(zoo.branches(rule))
    q, _, _ = zoo.state(Dynamics(exponential.robot, compile="never"))
    joints = set(exponential.robot.joint_coordinates)
    elastic = np.array([name not in joints for name in exponential.names])
    sizes = np.array([1.0, 0.5, 0.25, 0.125]) * 0.5
    errors = []
    for size in sizes:
        bent = np.where(elastic, size * q, q)
        errors.append(np.abs(exponential.mass_matrix(bent) - other.mass_matrix(bent)).max())
    assert np.diff(np.log(errors)) / np.diff(np.log(sizes)) == pytest.approx(order, abs=0.15)


def test_in_a_plane_all_finite_rotations_are_turns_about_one_axis():
    links = [
        zoo.Link(
            name=f"l{i}",
            joint=zoo.Joint(name=f"j{i}", axis="z"),
            beam=zoo.beam(modes=zoo.Modes(shape="clamped-free", bend_y=2)),
        )
        for i in range(3)
    ]
    exponential, xyz = (
        Plain(zoo.Robot(name="planar", links=links, attachment_rotation=rule)) for rule in ("exponential", "xyz")
    )
    q, v, a = zoo.state(Dynamics(exponential.robot, compile="never"))
    assert close(exponential.forces(q, v, a), xyz.forces(q, v, a), 1e-13)
