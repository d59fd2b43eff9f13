"""Structural damping: ratios come back, zeros stay zeros."""

import numpy as np
import pytest
from scipy.linalg import eigh

from pliant.bodies.damping import modal_damping, rayleigh_damping
from pliant.bodies.elements import element_set
from pliant.bodies.invariants import assemble


def ratios(M, K, D):
    squares, V = eigh(K, M)
    projected = V.T @ D @ V
    return projected / (2 * np.sqrt(squares)), np.sqrt(squares)


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.7])
def test_modal_ratio_is_recovered(ratio, tapered):
    sets = [element_set(family, tapered, 3) for family in ("bend_y", "bend_z", "torsion", "axial")]
    body = assemble(sets, tapered, {}, section_inertia=True)
    D = modal_damping(body.M_ee, body.K_ee, ratio)
    found, _ = ratios(body.M_ee, body.K_ee, D)
    assert np.diag(found) == pytest.approx(ratio, rel=1e-8)
    # the eigenvalues of the damped link say the same: -zeta omega +- i omega sqrt(1 - zeta^2)
    n = body.size
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(body.M_ee, np.hstack([body.K_ee, D]))]])
    s = np.linalg.eigvals(A)
    slowest = s[np.argmin(np.abs(s))]
    assert -slowest.real / np.abs(slowest) == pytest.approx(ratio, abs=1e-6)
    assert np.array_equal(D, D.T)
    family = np.array([name.split(".")[0] for name in body.names])
    assert not D[family[:, None] != family].any()


def test_diagonal_matrices_give_diagonal_damping():
    M, K = np.diag([2.0, 3.0, 0.5]), np.diag([8.0, 27.0, 50.0])
    D = modal_damping(M, K, 0.1)
    assert np.array_equal(D, np.diag(np.diag(D)))
    assert np.diag(D) == pytest.approx(2 * 0.1 * np.sqrt(np.diag(M) * np.diag(K)))


def test_rayleigh():
    M, K = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[9.0, -1.0], [-1.0, 4.0]])
    D = rayleigh_damping(M, K, 0.2, 0.05)
    found, omega = ratios(M, K, D)
    assert np.diag(found) == pytest.approx(0.2 / (2 * omega) + 0.05 * omega / 2)


def test_coordinates_without_stiffness_are_not_damped():
    M, K = np.eye(2), np.diag([0.0, 4.0])
    assert modal_damping(M, K, 0.1) == pytest.approx(np.diag([0.0, 0.4]))
