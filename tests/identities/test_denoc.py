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


@pytest.mark.parametrize("name", zoo.ZOO)
def test_the_three_steps_give_the_accelerations_of_the_recursion(name):
    """(39) to (42) with eta_bar: steps A, B, C are U^-1, D^-1 and U^-T, and give what forward dynamics give."""
    arm, (q, v), M, parts = taken_apart(name)
    phi = np.linspace(-1.0, 1.0, len(M)) * np.sqrt(np.diag(M))
    steps = parts.solve(phi)
    below = np.linalg.solve(parts.U, np.eye(len(M)))
    size = np.sqrt(np.diag(parts.D))
    hat = np.concatenate([step.phi_hat for step in steps])
    assert np.abs((hat - below @ phi) / size).max(initial=0.0) <= TOLERANCE * len(M)
    a = np.concatenate([step.q_ddot for step in steps])
    scale = np.sqrt(np.diag(M))
    assert np.abs((M @ a - phi) / scale).max(initial=0.0) <= TOLERANCE * len(M) * np.abs(a * scale).max(initial=1.0)
    if not arm.loops.rows:
        tau = np.ones(len(arm.inputs))
        ours = np.concatenate([step.q_ddot for step in parts.solve(arm.B @ tau - parts.bias)])
        theirs = np.array(arm.forward(q, v, tau))
        assert np.abs((ours - theirs) * scale).max() <= 1e-9 * np.abs(theirs * scale).max()


@pytest.mark.parametrize("name", zoo.ZOO)
def test_patterns_are_those_of_the_numbers(name):
    """Where a pattern has no block the matrix has zeros; each block of N_l is somewhere not zero."""
    _, _, _, parts = taken_apart(name)
    values = {"N_l": parts.N_l, "N_d": parts.N_d, "M": parts.M, "I": parts.inertia, "U": parts.U, "D": parts.D}
    for matrix, numbers in {**values, "I^-1": parts.inverse}.items():
        rows, columns = parts.pattern_links(matrix)
        found = np.zeros(numbers.shape, dtype=bool)
        for i, row in zip(rows, parts.pattern(matrix), strict=True):
            for j, symbol in zip(columns, row, strict=True):
                down = parts.links[i].rows if matrix in ("N_l", "N_d", "M") else parts.links[i].own
                across = parts.links[j].rows if matrix in ("N_l", "M") else parts.links[j].own
                found[down, across] = bool(symbol)
                assert matrix != "N_l" or bool(symbol) == bool(numbers[down, across].any())
        assert not np.abs(numbers[~found]).max(initial=0.0) > TOLERANCE * np.abs(numbers).max(initial=0.0)


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
    with pytest.raises(KeyError, match="matrices: N_l, N_d"):
        parts.pattern("gamma")
    with pytest.raises(ValueError, match="a force per coordinate"):
        parts.solve(np.zeros(2))
    with pytest.raises(ValueError, match="one state"):
        arm.denoc(np.zeros((2, arm.size)))
