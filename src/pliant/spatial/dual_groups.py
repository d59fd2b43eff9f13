"""The groups G1 of dual rotations and G2 of dual homogeneous transformations, Cibicik & Egeland III and appendix A.

An element of G1 is (A, theta): the rotation A and small angles theta, as the real 6 x 6 matrix [A 0; theta~ A  A], (8).
An element of G2 is (X, v): X of G1 and a dual vector v in R^6, as the real 7 x 7 matrix [X v; 0 1], (14).
Vectors of the algebras are (real, dual) in R^6 for g1 and (omega, nu) in R^12 for g2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.spatial.scalars import stumpff

Array = NDArray[np.float64]

SMALL = 0.5
"""Angle (rad) below which coefficients of the logarithm come from their series."""

SERIES_LEFT_INVERSE = (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600)
"""(1 - (x/2) cot(x/2)) / x^2 in powers of x^2: at x = 0.5 the next term is below 1e-16."""


def skew(a: Array) -> Array:
    """a~ with a~ b = a x b."""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def unskew(a: Array) -> Array:
    return np.array([a[2, 1], a[0, 2], a[1, 0]])


def exp_rotation(phi: Array) -> Array:
    """exp(phi~)."""
    s, hat = float(phi @ phi), skew(phi)
    return np.asarray(np.eye(3) + _entire(1, s) * hat + _entire(2, s) * hat @ hat)


def log_rotation(A: Array) -> Array:
    """phi with exp(phi~) = A, |phi| <= pi; by way of the unit quaternion, whose largest component leads."""
    trace = float(np.trace(A))
    products = np.empty((4, 4))
    products[0, 0] = 1.0 + trace
    products[1:, 1:] = A + A.T + (1.0 - trace) * np.eye(3)
    products[0, 1:] = products[1:, 0] = unskew(A - A.T)
    lead = products[int(np.argmax(np.diagonal(products)))]
    quaternion = lead / np.linalg.norm(lead)
    scalar, vector = (quaternion[0], quaternion[1:]) if quaternion[0] >= 0 else (-quaternion[0], -quaternion[1:])
    sine = float(np.linalg.norm(vector))
    half = float(np.arctan2(sine, scalar))
    # half / sin(half), which is one at zero
    factor = half / sine if sine > 0 else 1.0
    return np.asarray(2.0 * factor * vector)


def left_jacobian(phi: Array) -> Array:
    """Psi_l of SO(3): the left velocity is Psi_l(phi) phi_dot."""
    s, hat = float(phi @ phi), skew(phi)
    return np.asarray(np.eye(3) + _entire(2, s) * hat + _entire(3, s) * hat @ hat)


def left_jacobian_inverse(phi: Array) -> Array:
    """Psi_l^-1 of SO(3)."""
    x, hat = float(np.linalg.norm(phi)), skew(phi)
    if x < SMALL:
        k = sum(c * x ** (2 * n) for n, c in enumerate(SERIES_LEFT_INVERSE))
    else:
        k = (1.0 - 0.5 * x / np.tan(0.5 * x)) / x**2
    return np.asarray(np.eye(3) - 0.5 * hat + k * hat @ hat)


def _entire(k: int, s: float) -> float:
    """c_k(s) of a squared angle: its series is exact to rounding up to pi."""
    return float(stumpff(k, s))


def coupling(phi: Array, gamma: Array) -> Array:
    """Q of (144): the lower left block of the left Jacobian of G1 at (phi, gamma), no division at a small angle.

    The coefficients are read with the corrections -(1 - f^2/2 - cos f)/f^4 and
    -1/2 [(1 - f^2/2 - cos f)/f^4 - 3 (f - sin f - f^3/6)/f^5], which are c_4 and (c_4 - 3 c_5)/2 in entire functions.
    """
    s, P, G = float(phi @ phi), skew(phi), skew(gamma)
    c3, c4, c5 = (_entire(k, s) for k in (3, 4, 5))
    return np.asarray(
        0.5 * G
        + c3 * (P @ G + G @ P + P @ G @ P)
        + c4 * (P @ P @ G + G @ P @ P - 3.0 * P @ G @ P)
        + 0.5 * (c4 - 3.0 * c5) * (P @ G @ P @ P + P @ P @ G @ P)
    )


@dataclass(frozen=True, slots=True)
class DualRotation:
    """An element X = (A, theta~ A) of G1.

    A      rotation  (3, 3)
    theta  angles    (3,)
    """

    A: Array
    theta: Array

    @classmethod
    def identity(cls) -> DualRotation:
        return cls(np.eye(3), np.zeros(3))

    @classmethod
    def exp(cls, u: Array) -> DualRotation:
        """exp of (phi, gamma) in g1, (136): theta = Psi_l(phi) gamma."""
        phi, gamma = u[:3], u[3:]
        return cls(exp_rotation(phi), left_jacobian(phi) @ gamma)

    def log(self) -> Array:
        """(phi, gamma) in g1, (137) with gamma = Psi_l^-1(phi) theta."""
        phi = log_rotation(self.A)
        return np.concatenate([phi, left_jacobian_inverse(phi) @ self.theta])

    def __matmul__(self, other: DualRotation) -> DualRotation:
        return DualRotation(self.A @ other.A, self.theta + self.A @ other.theta)

    def inverse(self) -> DualRotation:
        return DualRotation(self.A.T, -self.A.T @ self.theta)

    @property
    def matrix(self) -> Array:
        """(8), 6 x 6; the adjoint map of G1 is the matrix itself, (12)."""
        return np.block([[self.A, np.zeros((3, 3))], [skew(self.theta) @ self.A, self.A]])

    @property
    def adjoint(self) -> Array:
        return self.matrix

    def right_velocity(self, w: Array, theta_rate: Array) -> Array:
        """(11): (w, A^T theta_dot) in g1, from A_dot = A w~."""
        return np.concatenate([w, self.A.T @ theta_rate])

    def left_velocity(self, w: Array, theta_rate: Array) -> Array:
        """Ad(X) of the right velocity."""
        return np.asarray(self.adjoint @ self.right_velocity(w, theta_rate))


def hat1(u: Array) -> Array:
    """The 6 x 6 matrix of a vector of g1, (10); also [a]^ b of two dual vectors, (13)."""
    return np.block([[skew(u[:3]), np.zeros((3, 3))], [skew(u[3:]), skew(u[:3])]])


def left_jacobian_g1(u: Array) -> Array:
    """Psi_l of G1, (142)-(144), 6 x 6."""
    phi, gamma = u[:3], u[3:]
    Psi = left_jacobian(phi)
    return np.block([[Psi, np.zeros((3, 3))], [coupling(phi, gamma), Psi]])


def left_jacobian_inverse_g1(u: Array) -> Array:
    """Psi_l^-1 of G1."""
    phi, gamma = u[:3], u[3:]
    inverse = left_jacobian_inverse(phi)
    return np.block([[inverse, np.zeros((3, 3))], [-inverse @ coupling(phi, gamma) @ inverse, inverse]])


@dataclass(frozen=True, slots=True)
class DualTransform:
    """An element Y = (X, v) of G2.

    X  of G1
    v  dual vector (6,): position, and displacement by deformation
    """

    X: DualRotation
    v: Array

    @classmethod
    def identity(cls) -> DualTransform:
        return cls(DualRotation.identity(), np.zeros(6))

    @classmethod
    def exp(cls, t: Array) -> DualTransform:
        """exp of (omega, nu) in g2, (141), whose lower right entry is 1."""
        omega, nu = t[:6], t[6:]
        return cls(DualRotation.exp(omega), left_jacobian_g1(omega) @ nu)

    def log(self) -> Array:
        """(omega, nu) in g2, (145)."""
        omega = self.X.log()
        return np.concatenate([omega, left_jacobian_inverse_g1(omega) @ self.v])

    def __matmul__(self, other: DualTransform) -> DualTransform:
        return DualTransform(self.X @ other.X, self.v + self.X.matrix @ other.v)

    def inverse(self) -> DualTransform:
        X = self.X.inverse()
        return DualTransform(X, -X.matrix @ self.v)

    @property
    def matrix(self) -> Array:
        """(14), 7 x 7."""
        out = np.eye(7)
        out[:6, :6], out[:6, 6] = self.X.matrix, self.v
        return out

    @property
    def adjoint(self) -> Array:
        """(19), 12 x 12."""
        X = self.X.matrix
        return np.block([[X, np.zeros((6, 6))], [hat1(self.v) @ X, X]])

    def right_velocity(self, w: Array, theta_rate: Array, v_rate: Array) -> Array:
        """(17): (omega, X^-1 v_dot) in g2."""
        return np.concatenate([self.X.right_velocity(w, theta_rate), self.X.inverse().matrix @ v_rate])

    def left_velocity(self, w: Array, theta_rate: Array, v_rate: Array) -> Array:
        """Ad(Y) of the right velocity."""
        return np.asarray(self.adjoint @ self.right_velocity(w, theta_rate, v_rate))


def hat2(t: Array) -> Array:
    """The 7 x 7 matrix of a vector of g2, (16)."""
    out = np.zeros((7, 7))
    out[:6, :6], out[:6, 6] = hat1(t[:6]), t[6:]
    return out
