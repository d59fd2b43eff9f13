"""Mohan & Saha's matrices of every robot of the zoo: they multiply to the mass matrix, its inverse and the bias."""

from functools import cache

import numpy as np
import pytest

import zoo
from pliant import Dynamics

TOLERANCE = 1e-12
"""Of entries scaled to a unit diagonal of the mass matrix: products of some hundred terms."""


@cache
def taken_apart(name):
    """A robot, its state, its mass matrix and its matrices."""
    arm = Dynamics(zoo.robot(name), compile="never")
    q, v, _ = zoo.state(arm)
    return arm, (q, v), np.array(arm.mass_matrix(q)), arm.denoc(q, v)


def near(ours, theirs, M, terms=1):
    size = np.sqrt(np.outer(np.diag(M), np.diag(M)))
    assert np.abs((ours - theirs) / size).max(initial=0.0) <= TOLERANCE * terms


@pytest.mark.parametrize("name", zoo.ZOO)
def test_factors_are_the_mass_matrix(name):
    _, _, M, parts = taken_apart(name)
    N = parts.N_l @ parts.N_d
    near(N.T @ parts.M @ N + parts.motors, M, M)
    near(parts.U @ parts.D @ parts.U.T, M, M)
    # U is unit upper triangular, D block diagonal
    assert np.array_equal(np.tril(parts.U, -1), np.zeros_like(M))
    for one in parts.links:
        for other in parts.links:
            if one is not other:
                assert not parts.D[one.own, other.own].any()


@pytest.mark.parametrize("name", zoo.ZOO)
def test_the_inverse_is_analytical(name):
    """U^-1 M U^-T = D to rounding; M times the inverse times M is M again, by n products in each entry."""
    _, _, M, parts = taken_apart(name)
    near(M @ parts.inverse @ M, M, M, terms=len(M))
    near(parts.inverse, parts.inverse.T, parts.inverse)
    below = np.linalg.solve(parts.U, np.eye(len(M)))
    near(below @ M @ below.T, parts.D, parts.D)


@pytest.mark.parametrize("name", zoo.ZOO)
def test_composite_bodies_are_blocks_of_the_mass_matrix(name):
    """(32): I_ij = P_i^T M~_i A_ij P_j, and the motors on the diagonal."""
    _, _, M, parts = taken_apart(name)
    found = np.zeros_like(M)
    for i in parts.links:
        for j in parts.links[: parts.links.index(i) + 1]:
            block = i.P.T @ i.composite @ parts.N_l[i.rows, j.rows] @ j.P
            found[i.own, j.own], found[j.own, i.own] = block, block.T
    near(found + parts.motors, M, M)


@pytest.mark.parametrize("name", zoo.ZOO)
def test_articulated_bodies_eliminate_one_link_at_a_time(name):
    """(36) to (38): D_i is what the articulated body leaves of the mass along the link's own coordinates."""
    _, _, M, parts = taken_apart(name)
    for link in parts.links:
        D = parts.D[link.own, link.own]
        near(link.P.T @ link.articulated @ link.P + link.motors, D, D)
        near(link.P.T @ link.psi @ D, D - link.motors, D)
        # an articulated body gives way: it is never heavier than the composite one
        slack = np.linalg.eigvalsh(link.composite - link.articulated)
        assert slack.min() >= -TOLERANCE * max(np.abs(link.composite).max(), 1.0) * len(M)


@pytest.mark.parametrize("name", zoo.ZOO)
def test_bias_forces_follow_from_gamma(name):
    """h = N_d^T N_l^T (M t_dot + gamma) + joint forces: (33) with the gamma that it leaves out."""
    arm, (q, v), _, parts = taken_apart(name)
    h = arm.bias(q, v)
    assert np.abs(parts.bias - h).max() <= TOLERANCE * np.abs(h).max()


def test_blocks_have_names():
    arm = Dynamics("two-link-flexible", compile="never")
    q = arm.q(elbow=0.4)
    parts, M = arm.denoc(q), arm.mass_matrix(q)
    upper, fore = arm.robot.link_names
    # a payload on a tip that bends is a link without a joint
    assert [link.joint for link in parts.links if link.joint] == [link.joint.name for link in arm.robot.links]
    assert [name for link in parts.links for name in link.coordinates] == list(arm.names)
    assert np.allclose(parts.block(parts.inertia, upper, fore), M[parts[upper].own, parts[fore].own], rtol=1e-12)
    assert np.array_equal(parts.A(upper, upper), np.eye(len(parts[upper].M)))
    assert not parts.A(upper, fore).any()
    assert parts.A(fore, upper) == pytest.approx(parts[fore].A)
    assert "elbow" in parts._repr_html_()
    with pytest.raises(KeyError, match=f"did you mean '{fore}'"):
        parts[fore[:-1]]
    with pytest.raises(ValueError, match="one state"):
        arm.denoc(np.zeros((2, arm.size)))
