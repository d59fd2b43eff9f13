"""How the sections of a rod follow one another: turns between stations by Magnus' series, and their motion."""

from __future__ import annotations

from typing import NamedTuple

from pliant.spatial.attitude import exponential
from pliant.spatial.scalars import is_zero
from pliant.spatial.vectors import Matrix, Vector, add, cross, identity3, product, scale, times


class RodStep(NamedTuple):
    """Moments of the curvature over an interval of length h: b0 = int Phi dX, b1 = int (X - middle) Phi dX / h (3, n).

    c0, c1 (3,) are those of the undeformed rod.
    """

    b0: Matrix
    b1: Matrix
    c0: Vector
    c1: Vector

    @property
    def is_empty(self) -> bool:
        """Whether nothing turns over it (structurally)."""
        return all(is_zero(x) for row in (*self.b0, self.c0) for x in row)


class SectionMotion(NamedTuple):
    """A section of the rod: R, J_w, angular velocity and acceleration at a_e = 0, relative to the root, body axes."""

    R: Matrix
    J_w: Matrix
    w: Vector
    bias: Vector


class AxisTangent(NamedTuple):
    """The derivative of a point of the axis by arc length: t, dt/dq_e (3, n), its rate and acceleration at a_e = 0."""

    t: Vector
    J: Matrix
    rate: Vector
    bias: Vector


def advance(s: SectionMotion, step: RodStep, q_e: Vector, v_e: Vector) -> SectionMotion:
    """The section at the end of an interval from the one at its beginning."""
    if step.is_empty:
        return s
    n = len(q_e)
    u0, u1 = add(times(step.b0, q_e), step.c0), add(times(step.b1, q_e), step.c1)
    d0, d1 = times(step.b0, v_e), times(step.b1, v_e)
    # the section turns to the right of R, so that the commutator counts positive
    theta = add(u0, cross(u0, u1))
    rate = add(d0, cross(d0, u1), cross(u0, d1))
    turn = exponential(theta, rate)
    RT = product(s.R, turn.T)
    J_w = [list(row) for row in s.J_w]
    for axis, (b0, b1) in enumerate(zip(step.b0, step.b1, strict=True)):
        if all(is_zero(x) for x in (*b0, *b1)):
            continue
        # coordinates about the same axis turn the end alike: d theta = b0 (e + e x u1) + b1 (u0 x e)
        e = identity3()[axis]
        by_mean, by_slope = times(RT, add(e, cross(e, u1))), times(RT, cross(u0, e))
        for d in range(3):
            for k in range(n):
                J_w[d][k] = J_w[d][k] + (b0[k] * by_mean[d] + b1[k] * by_slope[d])
    spin = times(RT, rate)
    bias = add(times(s.R, turn.bias), times(RT, scale(2.0, cross(d0, d1))))
    return SectionMotion(
        R=product(s.R, turn.R),
        J_w=J_w,
        w=add(s.w, spin),
        bias=add(s.bias, bias, cross(s.w, spin)),
    )
