"""Node equations against the exact Newton-Euler equations of a rigid body, differentiated by complex steps."""

import numpy as np
import pytest

from pliant.analysis.lumped.node_equations import NodeBodies, motion_basis, motion_weights, node_terms, tilde

TOLERANCE = 1e-9
"""Of the largest entry: complex steps lose nothing but rounding."""
STEP = 1e-30


def cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def turn(alpha):
    """exp(alpha~) to third order: enough for two derivatives at alpha = 0."""
    A = tilde(alpha)
    return np.eye(3) + A + A @ A / 2 + A @ A @ A / 6


def spin(alpha, rate, second):
    """Angular velocity and acceleration of exp(alpha~), in the axes it turns from, to second order of alpha."""
    w = rate + cross(alpha, rate) / 2 + cross(alpha, cross(alpha, rate)) / 6
    w_dot = second + cross(alpha, second) / 2 + cross(alpha, cross(alpha, second)) / 6
    return w, w_dot + (cross(rate, cross(alpha, rate)) + cross(alpha, cross(rate, rate))) / 6


def newton_euler(body, w, w_dot, a, nu, nu_dot, nu_ddot):
    """Force and moment about the displaced node, exact, in link axes."""
    x, m, G, I = body  # noqa: E741
    delta, alpha = nu[:3], nu[3:]
    r, r_dot, r_ddot = x + delta, nu_dot[:3], nu_ddot[:3]
    a_N = a + cross(w_dot, r) + cross(w, cross(w, r)) + 2 * cross(w, r_dot) + r_ddot
    R = turn(alpha)
    w_rel, w_rel_dot = spin(alpha, nu_dot[3:], nu_ddot[3:])
    W = w + w_rel
    W_dot = w_dot + w_rel_dot + cross(w, w_rel)
    arm, inertia = R @ G, R @ I @ R.T
    a_G = a_N + cross(W_dot, arm) + cross(W, cross(W, arm))
    about_G = inertia + m * tilde(arm) @ tilde(arm)
    return np.concatenate([m * a_G, cross(arm, m * a_G) + about_G @ W_dot + cross(W, about_G @ W)])


def some_bodies(seed):
    rng = np.random.default_rng(seed)
    m = rng.uniform(0.5, 2.0, 3)
    G, x = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    I = []  # noqa: E741
    for k in range(3):
        points = rng.normal(size=(4, 3))
        shape = sum(np.eye(3) * (p @ p) - np.outer(p, p) for p in points)
        I.append(shape + m[k] * (np.eye(3) * (G[k] @ G[k]) - np.outer(G[k], G[k])))
    return NodeBodies(x, m, G, np.array(I)), rng


@pytest.mark.parametrize("seed", range(3))
def test_complete_matrices_are_the_derivatives_of_the_exact_equations(seed):
    bodies, rng = some_bodies(seed)
    w, w_dot, a = rng.normal(size=(3, 3))
    terms = node_terms(bodies, w, w_dot, a)
    found = {"M": bodies.mass_matrices(), "C": terms.C, "K": terms.K}
    for k in range(3):
        body = bodies.x[k], bodies.m[k], bodies.G[k], bodies.I[k]
        zero = np.zeros(6)
        np.testing.assert_allclose(
            terms.F[k], newton_euler(body, w, w_dot, a, zero, zero, zero), rtol=1e-12, atol=1e-12
        )
        for name, place in (("K", 0), ("C", 1), ("M", 2)):
            columns = []
            for j in range(6):
                state = [np.zeros(6, dtype=complex) for _ in range(3)]
                state[place][j] = 1j * STEP
                columns.append(newton_euler(body, w, w_dot, a, *state).imag / STEP)
            exact = np.array(columns).T
            assert np.abs(found[name][k] - exact).max() < TOLERANCE * np.abs(exact).max(), name


@pytest.mark.parametrize("variant", ["absolute", "printed"])
def test_the_printed_matrices_are_others(variant):
    """They are for study; a body without offset and inertia knows no difference to the absolute ones."""
    bodies, rng = some_bodies(0)
    motion = rng.normal(size=(3, 3))
    right, printed = node_terms(bodies, *motion), node_terms(bodies, *motion, variant)
    assert np.abs(right.K - printed.K).max() > 0.1 * np.abs(right.K).max()
    np.testing.assert_allclose(right.F, printed.F)
    point = NodeBodies(bodies.x, bodies.m, 0 * bodies.G, 0 * bodies.I)
    if variant == "absolute":
        np.testing.assert_allclose(node_terms(point, *motion, variant).K, node_terms(point, *motion).K, atol=1e-12)


def test_a_point_mass_as_printed_has_its_accelerations_twice():
    """m (2 w x nu' + W nu), made for derivatives in S, is handed nu' + w x nu and nu'' + 2 w x nu' + W nu."""
    bodies, rng = some_bodies(0)
    point = NodeBodies(bodies.x, bodies.m, 0 * bodies.G, 0 * bodies.I)
    w, w_dot, a = rng.normal(size=(3, 3))
    found, m = node_terms(point, w, w_dot, a, "printed"), point.m[:, None]
    for nu in np.eye(3):
        across = np.cross(w, nu)
        W_nu = np.cross(w_dot, nu) + np.cross(w, across)
        np.testing.assert_allclose(found.C[:, :3, :3] @ nu, m * 4 * across, rtol=1e-12)
        np.testing.assert_allclose(found.K[:, :3, :3] @ nu, m * (2 * W_nu + 2 * np.cross(w, across)), rtol=1e-12)


@pytest.mark.parametrize("variant", ["complete", "absolute", "printed"])
def test_the_basis_gives_the_same_terms(variant):
    bodies, rng = some_bodies(1)
    w, w_dot, a = rng.normal(size=(3, 3))
    basis = motion_basis(lambda *motion: node_terms(bodies, *motion, variant))
    direct = node_terms(bodies, w, w_dot, a, variant)
    weights = motion_weights(w[None], w_dot[None], a[None])[0]
    np.testing.assert_allclose(np.tensordot(w, basis.C, 1), direct.C, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.tensordot(weights, basis.K, 1), direct.K, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.tensordot(weights, basis.F, 1), direct.F, rtol=1e-10, atol=1e-10)
