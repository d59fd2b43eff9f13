"""The rotation of an attachment frame by a vector theta of section angles, with its true rate.

A component that is None cannot turn at all; with a single one left every map but the Cayley is an elementary rotation.
Every map returns R (link axes <- turned section axes), the Jacobian T of its angular velocity, omega = T theta_dot,
and the part of the angular acceleration without theta_ddot; all in link axes. A rule that is not the derivative of
the rotation (omega = theta_dot, as in Mohan & Saha (9) or Briot & Khalil (12)) loses (theta x theta_dot)/2 and with
it the energy balance; see the conventions page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pliant.spatial.scalars import Scalar, cos, sin, stumpff
from pliant.spatial.vectors import (
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    identity3,
    scale,
    times,
    turn_about,
)


class Turn(NamedTuple):
    """R, T with omega = T theta_dot, omega itself and the velocity part of its derivative."""

    R: Matrix
    T: Matrix
    omega: Vector
    bias: Vector


def exponential(theta: Vector, rate: Vector) -> Turn:
    """R = exp(theta~), through the entire functions c_k of the squared angle: no branch, no division."""
    if sum(x is not None for x in theta) == 1:
        return xyz(theta, rate)
    theta, rate = _filled(theta), _filled(rate)
    s = dot(theta, theta)
    c4, c5 = stumpff(4, s), stumpff(5, s)
    # c_k + s c_(k+2) = 1/k! gives the lower ones without cancellation
    c2, c3 = 0.5 - s * c4, 1.0 / 6.0 - s * c5
    c1 = 1.0 - s * c3
    skew = scale(c1, theta)
    R = _one_plus(skew, c2, theta)
    T = _one_plus(scale(c2, theta), c3, theta)
    omega = times(T, rate)
    # d/dt of rate + c2 theta x rate + c3 theta x (theta x rate), with dc_k/ds = (k c_(k+2) - c_(k+1))/2
    along = dot(theta, rate)
    twist = scale(along * (2.0 * c4 - c3), cross(theta, rate))
    k = along * (3.0 * c5 - c4)
    radial = k * along + c3 * dot(rate, rate)
    tangential = k * s + c3 * along
    bias = [t + radial * a - tangential * b for t, a, b in zip(twist, theta, rate, strict=True)]
    return Turn(R, T, omega, bias)


def cayley(theta: Vector, rate: Vector) -> Turn:
    """R = (1 - theta~/2)^-1 (1 + theta~/2): rational, equal to the exponential to second order."""
    theta, rate = _filled(theta), _filled(rate)
    a = 4.0 / (4.0 + dot(theta, theta))
    half = 0.5 * a
    R = _one_plus(scale(a, theta), half, theta)
    x, y, z = scale(half, theta)
    T = [[a, -z, y], [z, a, -x], [-y, x, a]]
    omega = times(T, rate)
    return Turn(R, T, omega, scale(-(half * dot(theta, rate)), omega))


def xyz(theta: Vector, rate: Vector) -> Turn:
    """R = Rx Ry Rz, the order of Cibicik & Egeland."""
    R = identity3()
    T = [[0.0] * 3 for _ in range(3)]
    omega: Vector = [0.0] * 3
    bias: Vector = [0.0] * 3
    for k in range(3):
        if theta[k] is None:
            continue
        axis = column(R, k)
        spin = scale(rate[k], axis)
        bias = add(bias, cross(omega, spin))
        omega = add(omega, spin)
        for i in range(3):
            T[i][k] = axis[i]
        R = turn_about(k, cos(theta[k]), sin(theta[k]), R)
    return Turn(R, T, omega, bias)


def _filled(x: Vector) -> Vector:
    return [0.0 if value is None else value for value in x]


def _one_plus(a: Vector, k: Scalar, theta: Vector) -> Matrix:
    """1 + a~ + k theta~^2."""
    x, y, z = theta
    kx, ky, kz = scale(k, theta)
    xx, yy, zz, xy, xz, yz = kx * x, ky * y, kz * z, kx * y, kx * z, ky * z
    ax, ay, az = a
    return [
        [1.0 - (yy + zz), xy - az, xz + ay],
        [xy + az, 1.0 - (xx + zz), yz - ax],
        [xz - ay, yz + ax, 1.0 - (xx + yy)],
    ]


MAPS: dict[str, Callable[[Vector, Vector], Turn]] = {"exponential": exponential, "cayley": cayley, "xyz": xyz}
