"""Finite rotations with their rates: of sections that bend, and of bodies on joints that turn any way.

An attachment frame turns by a vector theta of section angles. A component that is None cannot turn at all; with a
single one left every map but the Cayley is an elementary rotation. Every map returns R (link axes <- turned section
axes), the Jacobian T of its angular velocity, omega = T theta_dot, and the part of the angular acceleration without
theta_ddot; all in link axes. A rule that is not the derivative of the rotation (omega = theta_dot, as in Mohan & Saha
(9) or Briot & Khalil (12)) loses (theta x theta_dot)/2 and with it the energy balance; see the conventions page.

A body on a joint that lets it turn any way has a rotation vector theta, in its own axes, which are those of its seat
turned by R = exp(theta~). Angular velocities are omega = T theta_dot, so that coordinates and rates stay those of
every other joint; T is singular at a full turn only. Between steps a theta beyond half a turn is replaced by the
shorter one of the same rotation, theta (1 - 2 pi / |theta|), see ``recentred``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, pi, sqrt
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
    subtract,
    times,
    transpose,
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


# ---- the attitude of a body on a joint that lets it turn any way

FARTHEST = 3.3
"""Length of a rotation vector, rad, from which on the shorter one of the same rotation takes its place between steps: a
little beyond half a turn, so that a motion about half a turn does not go to and fro between the two."""


class Attitude(NamedTuple):
    """A frame turned by theta, all in its own axes.

    theta  rotation vector, the same in the axes of the seat and in its own      rad
    R      axes of the seat <- own axes
    T      omega = T theta_dot
    omega  angular velocity against the seat                                     rad/s
    bias   d(T)/dt theta_dot                                                     rad/s^2
    k      of theta~^2 in the inverse of T
    """

    theta: Vector
    R: Matrix
    T: Matrix
    omega: Vector
    bias: Vector
    k: Scalar

    def solve(self, x: Vector) -> Vector:
        """T^-1 x: second derivatives of theta from an angular acceleration."""
        return self._solved(x, 0.5)

    def solve_transposed(self, x: Vector) -> Vector:
        """T^-T x: the moment that forces on theta make."""
        return self._solved(x, -0.5)

    def _solved(self, x: Vector, half: float) -> Vector:
        across = cross(self.theta, x)
        return add(x, scale(half, across), scale(self.k, cross(self.theta, across)))


def attitude(theta: Vector, rate: Vector) -> Attitude:
    """The attitude at a rotation vector and its rate."""
    # own axes see the seat turn by -theta
    back = exponential([-x for x in theta], [-x for x in rate])
    s = dot(theta, theta)
    c4, c5 = stumpff(4, s), stumpff(5, s)
    # (1 - |theta|/2 cot(|theta|/2)) / s, without cancellation
    k = (1.0 / 6.0 - s * c5 - 2.0 * c4) / (1.0 - 2.0 * s * c4)
    return Attitude(
        theta=list(theta),
        R=transpose(back.R),
        T=back.T,
        omega=[-x for x in back.omega],
        bias=[-x for x in back.bias],
        k=k,
    )


def jacobian_rates(theta: Vector, rate: Vector, acceleration: Vector) -> tuple[Matrix, Matrix]:
    """First and second derivative of T along a path of theta."""
    s, first = dot(theta, theta), 2.0 * dot(theta, rate)
    second = 2.0 * (dot(rate, rate) + dot(theta, acceleration))
    c6, c7 = stumpff(6, s), stumpff(7, s)
    # c_k + s c_(k+2) = 1/k! gives the lower ones without cancellation
    c4, c5 = 1.0 / 24.0 - s * c6, 1.0 / 120.0 - s * c7
    c2, c3 = 0.5 - s * c4, 1.0 / 6.0 - s * c5
    # T = 1 - c2 theta~ + c3 theta~^2 with dc_k/ds = (k c_(k+2) - c_(k+1))/2
    d2, d3, d4, d5 = (0.5 * x for x in (2.0 * c4 - c3, 3.0 * c5 - c4, 4.0 * c6 - c5, 5.0 * c7 - c6))
    path = (theta, rate, acceleration)
    once = _polynomial((d2 * first, c2), (d3 * first, c3), path)
    skew = ((d4 - 0.5 * d3) * first * first + d2 * second, 2.0 * d2 * first, c2)
    square = (0.5 * (3.0 * d5 - d4) * first * first + d3 * second, 2.0 * d3 * first, c3)
    return once, _polynomial(skew, square, path)


def _polynomial(skew: Sequence[Scalar], square: Sequence[Scalar], path: Sequence[Vector]) -> Matrix:
    """-sum skew_k theta^(k)~ + sum square_k d^k(theta~^2)/dt^k, theta and its derivatives on a path."""
    a = add(*(scale(-k, x) for k, x in zip(skew, path, strict=False)))
    out = [[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]]
    for order, k in enumerate(square):
        # theta~^2 = theta theta^T - theta.theta, and the rule for derivatives of products
        pairs = [(comb(order, i), path[i], path[order - i]) for i in range(order + 1)]
        for count, x, y in pairs:
            for i in range(3):
                for j in range(3):
                    out[i][j] = out[i][j] + k * count * (x[i] * y[j] - (dot(x, y) if i == j else 0.0))
    return out


def is_far(theta: Sequence[float]) -> bool:
    """Whether a rotation vector should be replaced."""
    x, y, z = theta
    return x * x + y * y + z * z > FARTHEST * FARTHEST


class Recentred(NamedTuple):
    """The shorter rotation vector of the same rotation, and its rate at the same angular velocity."""

    theta: Vector
    rate: Vector
    before: Attitude
    after: Attitude

    def acceleration(self, a: Vector) -> Vector:
        """The second derivative of the new vector from that of the old one."""
        angular = add(times(self.before.T, a), self.before.bias)
        return self.after.solve(subtract(angular, self.after.bias))


def recentred(theta: Sequence[float], rate: Sequence[float]) -> Recentred:
    """theta (1 - 2 pi / |theta|), or less whole turns of longer ones: no longer than half a turn."""
    before = attitude(list(theta), list(rate))
    angle = sqrt(dot(theta, theta))
    short = scale(1.0 - 2.0 * pi * round(angle / (2.0 * pi)) / angle, theta)
    # axes are the same, and so is the angular velocity in them
    speed = attitude(short, [0.0] * 3).solve(before.omega)
    return Recentred(short, speed, before, attitude(short, speed))
