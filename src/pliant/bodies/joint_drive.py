"""What acts along a joint: motor inertia, spring, dampers and friction, all on the joint's motor angle.

The motor angle is theta + b q_e: where the shapes of a link are pinned at its root, the motor feels the root's tangent.
Everything is counted along the joint's own coordinate.
"""

from __future__ import annotations

from typing import NamedTuple

from pliant.algorithm import Role
from pliant.spatial.scalars import Scalar, is_zero, tanh
from pliant.spatial.vectors import Vector, dot


class JointDrive(NamedTuple):
    """Constants of a joint; all zero for one that nothing acts on.

    inertia    of the motor, reflected to the joint  kg m^2, kg
    stiffness  of the spring                         N m/rad, N/m
    rest       motor angle without spring force      rad, m
    damping    of spring and viscous friction        N m s/rad, N s/m
    coulomb    dry friction                          N m, N
    smoothing  rate at which it is fully developed   rad/s, m/s
    row        b (n_e,): motor angle per unit of the link's elastic coordinates
    """

    inertia: Scalar
    stiffness: Scalar
    rest: Scalar
    damping: Scalar
    coulomb: Scalar
    smoothing: Scalar
    row: Vector

    @staticmethod
    def roles() -> dict[str, Role]:
        """All but the row can be changed, or set to zero, alone."""
        alone: dict[str, Role] = dict.fromkeys(("inertia", "stiffness", "rest", "smoothing"), "alone")
        return {**alone, "damping": "loss", "coulomb": "loss"}

    @classmethod
    def none(cls, size: int) -> JointDrive:
        """Nothing acts, on a link with so many elastic coordinates."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, [0.0] * size)

    def on_motor(self, joint: Scalar, elastic: Vector) -> Scalar:
        """The motor angle, its rate or its acceleration from those of the joint and of the elastic coordinates."""
        return joint + dot(self.row, elastic)

    def force(self, angle: Scalar, rate: Scalar) -> Scalar:
        """Against the motion: spring, dampers, and dry friction smoothed as tanh(rate / smoothing)."""
        return self.stiffness * (angle - self.rest) + self._loss_force(rate)

    def power(self, rate: Scalar) -> Scalar:
        """Power lost in dampers and friction."""
        return self._loss_force(rate) * rate

    def energy(self, angle: Scalar) -> Scalar:
        """Energy of the spring."""
        stretch = angle - self.rest
        return 0.5 * self.stiffness * stretch * stretch

    def dry_slope(self, rate: Scalar) -> Scalar:
        """Derivative of the dry friction by the rate of the motor angle."""
        if is_zero(self.coulomb):
            return 0.0
        developed = tanh(rate / self.smoothing)
        return self.coulomb / self.smoothing * (1.0 - developed * developed)

    def _loss_force(self, rate: Scalar) -> Scalar:
        viscous = self.damping * rate
        return viscous if is_zero(self.coulomb) else viscous + self.coulomb * tanh(rate / self.smoothing)
