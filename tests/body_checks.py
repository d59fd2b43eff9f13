"""Checks of a body's terms that share nothing with them: Lagrange's equations of their own kinetic energy."""

import numpy as np

STEP = 1e-30
"""Of complex differences: nothing is subtracted, so that it can be as small as that."""


def mass_matrix(blocks):
    """The mass matrix on (v, w, v_e) from its blocks."""
    A, B, C, E_v, E_w, M_e = (np.array(block) for block in blocks)
    return np.block([[A, B, E_v], [B.T, C, E_w], [E_v.T, E_w.T, M_e]])


def derivative(function, q, direction):
    """Derivative of an array along a direction, by a complex step."""
    return np.imag(np.array(function(list(q + 1j * STEP * direction)), dtype=complex)) / STEP


def inertia_forces(terms, q, v, V, w):
    """Left side of the Boltzmann-Hamel equations where origin, angular and elastic accelerations are zero.

    V is the velocity of the body's origin and w its angular velocity, both in body axes.
    """
    n = len(q)
    none = [0.0] * n

    def mass(q):
        return mass_matrix(terms.inertia(list(q), none, [0.0] * 3)[0])

    x = np.concatenate([V, w, v])
    M = mass(q)
    momentum = M @ x
    forces = derivative(mass, q, v) @ x
    forces[:3] += np.cross(w, momentum[:3])
    forces[3:6] += np.cross(w, momentum[3:6]) + np.cross(V, momentum[:3])
    forces[6:] -= [0.5 * x @ derivative(mass, q, e) @ x for e in np.eye(n)]
    # the origin does not accelerate: the components of V change as its axes turn
    return forces - M[:, :3] @ np.cross(w, V)


def inertia_bias(terms, q, v, w):
    """The terms' own bias, without the forces of strain and damping that stand in its elastic part."""
    bias = np.concatenate(terms.inertia(list(q), list(v), list(w))[1])
    bias[6:] -= [derivative(terms.energy, q, e) for e in np.eye(len(q))]
    bias[6:] -= [derivative(terms.loss, v, e) / 2 for e in np.eye(len(q))]
    return bias


def state(rng, n, size=1.0):
    """Random q, v of so many elastic coordinates, and V, w."""
    return size * rng.normal(size=n), rng.normal(size=n), rng.normal(size=3), rng.normal(size=3)


def frame_errors(terms, section, q, v):
    """Jacobians, rates and accelerations of a frame against complex differences of its position and rotation."""
    q, v = np.asarray(q), np.asarray(v)

    def of(name):
        return lambda x: getattr(terms.frame(section, x, list(v)), name)

    frame = terms.frame(section, list(q), list(v))
    W = derivative(of("R"), q, v) @ np.array(frame.R).T
    J_v = np.stack([derivative(of("r"), q, e) for e in np.eye(len(q))], axis=1)
    pairs = {
        "J_v": (frame.J_v, J_v),
        "rate_v": (frame.rate_v, derivative(of("r"), q, v)),
        "twice_v": (frame.twice_v, 2 * derivative(of("r"), q, v)),
        "bias_v": (frame.bias_v, derivative(of("rate_v"), q, v)),
        "rate_w": (frame.rate_w, [W[2, 1], W[0, 2], W[1, 0]]),
        "J_w": (np.array(frame.spin.J_w) @ v, frame.rate_w),
        "bias_w": (frame.bias_w, derivative(of("rate_w"), q, v)),
    }
    return {name: np.abs(np.array(a) - np.array(b)).max() for name, (a, b) in pairs.items()}
