"""The attitude of a body on a joint that lets it turn any way: a rotation vector theta, in the body's own axes.

The body's axes are those of its seat turned by R = exp(theta~). Angular velocities are omega = T theta_dot, so that
coordinates and rates stay those of every other joint; T is singular at a full turn only. Between steps a theta beyond
half a turn is replaced by the shorter one of the same rotation, theta (1 - 2 pi / |theta|), see ``recentred``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, pi, sqrt
from typing import NamedTuple

from pliant.spatial.attachment_rotation import exponential
from pliant.spatial.scalars import Scalar, stumpff
from pliant.spatial.vectors import Matrix, Vector, add, cross, dot, scale, subtract, times, transpose

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
