"""Groups of motions with their exponentials and Jacobians: SO(3), SE(3), and Cibicik & Egeland's G1 and G2."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from pliant.screws.checked_input import ORTHONORMAL, Array, numbers, rotation, skew, unskew
from pliant.spatial.dual_numbers import Dual
from pliant.spatial.scalars import stumpff

SMALL = 0.5
"""Angle (rad) below which coefficients of the logarithm come from their series."""

SERIES_LEFT_INVERSE = (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600)
"""(1 - (x/2) cot(x/2)) / x^2 in powers of x^2: at x = 0.5 the next term is below 1e-16."""


# ---- what all groups have


class MotionGroup(ABC):
    """A group of motions; its elements are values.

    size  of the vectors of its algebra
    """

    size: ClassVar[int]

    @classmethod
    @abstractmethod
    def identity(cls) -> Self:
        """The motion that moves nothing."""

    @classmethod
    @abstractmethod
    def exp(cls, u: ArrayLike) -> Self:
        """The element whose matrix is the exponential of ``hat(u)``."""

    @abstractmethod
    def log(self) -> Array:
        """u with exp(u) = self, the shortest: its rotation is at most half a turn."""

    @abstractmethod
    def __matmul__(self, other: Self) -> Self: ...

    @abstractmethod
    def inverse(self) -> Self:
        """The motion back."""

    @property
    @abstractmethod
    def matrix(self) -> Array:
        """The element as a real matrix; products of elements are products of these."""

    @property
    @abstractmethod
    def adjoint(self) -> Array:
        """Ad (size, size): hat(Ad u) = matrix hat(u) matrix^-1; it takes right velocities to left ones."""

    @staticmethod
    @abstractmethod
    def hat(u: ArrayLike) -> Array:
        """The matrix of a vector of the algebra."""

    @staticmethod
    @abstractmethod
    def ad(u: ArrayLike) -> Array:
        """ad(u) (size, size): ad(u) w is the vector of hat(u) hat(w) - hat(w) hat(u)."""

    @classmethod
    @abstractmethod
    def left_jacobian(cls, u: ArrayLike) -> Array:
        """(size, size): where u has the rate u_dot, exp(u) has the left velocity left_jacobian(u) u_dot."""

    @classmethod
    @abstractmethod
    def left_jacobian_inverse(cls, u: ArrayLike) -> Array:
        """The inverse of ``left_jacobian``; it exists for rotations of less than a whole turn."""

    @classmethod
    def right_jacobian(cls, u: ArrayLike) -> Array:
        """(size, size): where u has the rate u_dot, exp(u) has the right velocity right_jacobian(u) u_dot."""
        return cls.left_jacobian(-numbers("u", u, (cls.size,)))

    @classmethod
    def right_jacobian_inverse(cls, u: ArrayLike) -> Array:
        """The inverse of ``right_jacobian``; it exists for rotations of less than a whole turn."""
        return cls.left_jacobian_inverse(-numbers("u", u, (cls.size,)))


# ---- rotations


@final
@dataclass(frozen=True, slots=True, eq=False)
class SO3(MotionGroup):
    """A rotation A (3, 3)."""

    A: Array
    size: ClassVar[int] = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "A", rotation(self.A))

    @classmethod
    def identity(cls) -> SO3:
        return cls(np.eye(3))

    @classmethod
    def exp(cls, u: ArrayLike) -> SO3:
        phi = numbers("u", u, (3,))
        s, hat = float(phi @ phi), skew(phi)
        return cls(np.eye(3) + _entire(1, s) * hat + _entire(2, s) * hat @ hat)

    def log(self) -> Array:
        """phi with |phi| <= pi; by way of the unit quaternion, whose largest component leads."""
        A, trace = self.A, float(np.trace(self.A))
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

    def __matmul__(self, other: SO3) -> SO3:
        return SO3(self.A @ other.A)

    def inverse(self) -> SO3:
        return SO3(self.A.T)

    @property
    def matrix(self) -> Array:
        return self.A

    @property
    def adjoint(self) -> Array:
        return self.A

    @staticmethod
    def hat(u: ArrayLike) -> Array:
        return skew(u)

    @staticmethod
    def ad(u: ArrayLike) -> Array:
        return skew(u)

    @classmethod
    def left_jacobian(cls, u: ArrayLike) -> Array:
        phi = numbers("u", u, (3,))
        s, hat = float(phi @ phi), skew(phi)
        return np.asarray(np.eye(3) + _entire(2, s) * hat + _entire(3, s) * hat @ hat)

    @classmethod
    def left_jacobian_inverse(cls, u: ArrayLike) -> Array:
        phi = numbers("u", u, (3,))
        x, hat = float(np.linalg.norm(phi)), skew(phi)
        if x < SMALL:
            k = sum(c * x ** (2 * n) for n, c in enumerate(SERIES_LEFT_INVERSE))
        else:
            k = (1.0 - 0.5 * x / np.tan(0.5 * x)) / x**2
        return np.asarray(np.eye(3) - 0.5 * hat + k * hat @ hat)


def _entire(k: int, s: float) -> float:
    """c_k(s) of a squared angle."""
    return float(stumpff(k, s))


def _coupling(phi: Array, gamma: Array) -> Array:
    """Q of (144): the derivative of the left Jacobian of SO(3) at phi along gamma, no division at a small angle.

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


# ---- rigid motions


@final
@dataclass(frozen=True, slots=True, eq=False)
class SE3(MotionGroup):
    """A rigid motion: rotation A (3, 3) and position r (3,); twists are (linear, angular)."""

    A: Array
    r: Array
    size: ClassVar[int] = 6

    def __post_init__(self) -> None:
        object.__setattr__(self, "A", rotation(self.A))
        object.__setattr__(self, "r", numbers("r", self.r, (3,)))

    @classmethod
    def identity(cls) -> SE3:
        return cls(np.eye(3), np.zeros(3))

    @classmethod
    def exp(cls, u: ArrayLike) -> SE3:
        rho, phi = np.split(numbers("u", u, (6,)), 2)
        return cls(SO3.exp(phi).A, SO3.left_jacobian(phi) @ rho)

    def log(self) -> Array:
        phi = SO3(self.A).log()
        return np.concatenate([SO3.left_jacobian_inverse(phi) @ self.r, phi])

    def __matmul__(self, other: SE3) -> SE3:
        return SE3(self.A @ other.A, self.r + self.A @ other.r)

    def inverse(self) -> SE3:
        return SE3(self.A.T, -self.A.T @ self.r)

    @property
    def matrix(self) -> Array:
        out = np.eye(4)
        out[:3, :3], out[:3, 3] = self.A, self.r
        return out

    @property
    def adjoint(self) -> Array:
        return np.block([[self.A, skew(self.r) @ self.A], [np.zeros((3, 3)), self.A]])

    @staticmethod
    def hat(u: ArrayLike) -> Array:
        rho, phi = np.split(numbers("u", u, (6,)), 2)
        out = np.zeros((4, 4))
        out[:3, :3], out[:3, 3] = skew(phi), rho
        return out

    @staticmethod
    def ad(u: ArrayLike) -> Array:
        rho, phi = np.split(numbers("u", u, (6,)), 2)
        return np.block([[skew(phi), skew(rho)], [np.zeros((3, 3)), skew(phi)]])

    @classmethod
    def left_jacobian(cls, u: ArrayLike) -> Array:
        rho, phi = np.split(numbers("u", u, (6,)), 2)
        J = SO3.left_jacobian(phi)
        return np.block([[J, _coupling(phi, rho)], [np.zeros((3, 3)), J]])

    @classmethod
    def left_jacobian_inverse(cls, u: ArrayLike) -> Array:
        rho, phi = np.split(numbers("u", u, (6,)), 2)
        J = SO3.left_jacobian_inverse(phi)
        return np.block([[J, -J @ _coupling(phi, rho) @ J], [np.zeros((3, 3)), J]])


# ---- dual rotations


@final
@dataclass(frozen=True, slots=True, eq=False)
class DualRotation(MotionGroup):
    """An element X = (A, theta~ A) of G1: a rotation A (3, 3) and small angles theta (3,), (1 + eps theta~) A."""

    A: Array
    theta: Array
    size: ClassVar[int] = 6

    def __post_init__(self) -> None:
        object.__setattr__(self, "A", rotation(self.A))
        object.__setattr__(self, "theta", numbers("theta", self.theta, (3,)))

    @classmethod
    def identity(cls) -> DualRotation:
        return cls(np.eye(3), np.zeros(3))

    @classmethod
    def exp(cls, u: ArrayLike) -> DualRotation:
        """exp of (phi, gamma) in g1, (136): theta = Psi_l(phi) gamma."""
        phi, gamma = np.split(numbers("u", u, (6,)), 2)
        return cls(SO3.exp(phi).A, SO3.left_jacobian(phi) @ gamma)

    def log(self) -> Array:
        """(phi, gamma) in g1, (137) with gamma = Psi_l^-1(phi) theta."""
        phi = SO3(self.A).log()
        return np.concatenate([phi, SO3.left_jacobian_inverse(phi) @ self.theta])

    def __matmul__(self, other: DualRotation) -> DualRotation:
        return DualRotation(self.A @ other.A, self.theta + self.A @ other.theta)

    def inverse(self) -> DualRotation:
        return DualRotation(self.A.T, -self.A.T @ self.theta)

    @property
    def matrix(self) -> Array:
        """(8), 6 x 6; the adjoint map of G1 is the matrix itself, (12)."""
        return np.block([[self.A, np.zeros((3, 3))], [skew(self.theta) @ self.A, self.A]])

    @property
    def dual_form(self) -> Dual:
        """A + eps theta~ A, (30): the same element as a dual 3 x 3 matrix; products of dual forms are dual forms."""
        return Dual(self.A, skew(self.theta) @ self.A)

    @classmethod
    def from_dual_form(cls, R: Dual) -> DualRotation:
        """The element of a dual 3 x 3 matrix A + eps theta~ A."""
        A = rotation(R.real)
        return cls(A, unskew(numbers("the dual part", R.dual, (3, 3)) @ A.T))

    @property
    def adjoint(self) -> Array:
        return self.matrix

    def right_velocity(self, w: ArrayLike, theta_rate: ArrayLike) -> Array:
        """(11): (w, A^T theta_dot) in g1, from A_dot = A w~."""
        rate = numbers("theta_rate", theta_rate, (3,))
        return np.concatenate([numbers("w", w, (3,)), self.A.T @ rate])

    @staticmethod
    def hat(u: ArrayLike) -> Array:
        """The 6 x 6 matrix of a vector of g1, (10); also [a]^ b of two dual vectors, (13)."""
        phi, gamma = np.split(numbers("u", u, (6,)), 2)
        return np.block([[skew(phi), np.zeros((3, 3))], [skew(gamma), skew(phi)]])

    @staticmethod
    def ad(u: ArrayLike) -> Array:
        return DualRotation.hat(u)

    @classmethod
    def left_jacobian(cls, u: ArrayLike) -> Array:
        """Psi_l of G1, (142)-(144)."""
        phi, gamma = np.split(numbers("u", u, (6,)), 2)
        J = SO3.left_jacobian(phi)
        return np.block([[J, np.zeros((3, 3))], [_coupling(phi, gamma), J]])

    @classmethod
    def left_jacobian_inverse(cls, u: ArrayLike) -> Array:
        phi, gamma = np.split(numbers("u", u, (6,)), 2)
        J = SO3.left_jacobian_inverse(phi)
        return np.block([[J, np.zeros((3, 3))], [-J @ _coupling(phi, gamma) @ J, J]])


# ---- dual transformations


@final
@dataclass(frozen=True, slots=True, eq=False)
class DualTransform(MotionGroup):
    """An element Y = (X, v) of G2: X of G1 and a dual vector v (6,): position, and displacement by deformation."""

    X: DualRotation
    v: Array
    size: ClassVar[int] = 12

    def __post_init__(self) -> None:
        if not isinstance(self.X, DualRotation):
            raise TypeError(f"X is {type(self.X).__name__}; it must be a DualRotation")
        object.__setattr__(self, "v", numbers("v", self.v, (6,)))

    @classmethod
    def identity(cls) -> DualTransform:
        return cls(DualRotation.identity(), np.zeros(6))

    @classmethod
    def exp(cls, u: ArrayLike) -> DualTransform:
        """exp of (omega, nu) in g2, (141), whose lower right entry is 1."""
        omega, nu = np.split(numbers("u", u, (12,)), 2)
        return cls(DualRotation.exp(omega), DualRotation.left_jacobian(omega) @ nu)

    def log(self) -> Array:
        """(omega, nu) in g2, (145)."""
        omega = self.X.log()
        return np.concatenate([omega, DualRotation.left_jacobian_inverse(omega) @ self.v])

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
    def dual_form(self) -> Dual:
        """T + eps [theta~ A, d; 0 0], (43), (49): the same element as a dual 4 x 4 matrix, v = (r, d)."""
        real, small = np.eye(4), np.zeros((4, 4))
        turn = self.X.dual_form
        real[:3, :3], real[:3, 3] = turn.real, self.v[:3]
        small[:3, :3], small[:3, 3] = turn.dual, self.v[3:]
        return Dual(real, small)

    @classmethod
    def from_dual_form(cls, T: Dual) -> DualTransform:
        """The element of a dual 4 x 4 matrix."""
        real, small = (numbers(name, part, (4, 4)) for name, part in (("real", T.real), ("dual", T.dual)))
        if np.abs(real[3] - [0, 0, 0, 1]).max() > ORTHONORMAL or np.abs(small[3]).max() > ORTHONORMAL:
            raise ValueError("the last row of T is no [0 0 0 1]; it is no dual homogeneous transformation")
        X = DualRotation.from_dual_form(Dual(real[:3, :3], small[:3, :3]))
        return cls(X, np.concatenate([real[:3, 3], small[:3, 3]]))

    @property
    def adjoint(self) -> Array:
        """(19), 12 x 12: also the transformation of dual screws (angular, linear) from the moved frame, (66)."""
        X = self.X.matrix
        return np.block([[X, np.zeros((6, 6))], [DualRotation.hat(self.v) @ X, X]])

    def right_velocity(self, w: ArrayLike, theta_rate: ArrayLike, v_rate: ArrayLike) -> Array:
        """(17): (omega, X^-1 v_dot) in g2."""
        rate = numbers("v_rate", v_rate, (6,))
        return np.concatenate([self.X.right_velocity(w, theta_rate), self.X.inverse().matrix @ rate])

    @staticmethod
    def hat(u: ArrayLike) -> Array:
        """The 7 x 7 matrix of a vector of g2, (16)."""
        omega, nu = np.split(numbers("u", u, (12,)), 2)
        out = np.zeros((7, 7))
        out[:6, :6], out[:6, 6] = DualRotation.hat(omega), nu
        return out

    @staticmethod
    def ad(u: ArrayLike) -> Array:
        omega, nu = np.split(numbers("u", u, (12,)), 2)
        W = DualRotation.hat(omega)
        return np.block([[W, np.zeros((6, 6))], [DualRotation.hat(nu), W]])

    @classmethod
    def left_jacobian(cls, u: ArrayLike) -> Array:
        """sum_k ad(u)^k / (k + 1)!, as a block of the exponential of [ad(u) 1; 0 0]."""
        from scipy.linalg import expm

        whole = np.zeros((24, 24))
        whole[:12, :12], whole[:12, 12:] = cls.ad(u), np.eye(12)
        return np.asarray(expm(whole)[:12, 12:])

    @classmethod
    def left_jacobian_inverse(cls, u: ArrayLike) -> Array:
        return np.asarray(np.linalg.inv(cls.left_jacobian(u)))
