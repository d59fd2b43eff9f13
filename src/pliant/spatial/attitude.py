"""The attitude of a body on a joint that lets it turn any way: a rotation vector theta, in the body's own axes.

The body's axes are those of its seat turned by R = exp(theta~). Angular velocities are omega = T theta_dot, so that
coordinates and rates stay those of every other joint; T is singular at a full turn only. Between steps a theta beyond
half a turn is replaced by the shorter one of the same rotation, theta (1 - 2 pi / |theta|), see ``recentred``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
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
