"""The power that a robot loses, for steps in Python: all joints and all bodies at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.joint_drive import JointDrive
from pliant.mechanism import Mechanism
from pliant.spatial.attitude import attitude

Floats = NDArray[np.float64]

LARGE = 1000
"""Coordinates from which matrices that are mostly zero are kept without their zeros."""


def _matrix(n: int, rows: int) -> Any:
    """Zeros (rows, n) to be filled."""
    if n <= LARGE:
        return np.zeros((rows, n))
    from scipy.sparse import lil_array

    return lil_array((rows, n))


@dataclass(frozen=True)
class Losses:
    """Joints and bodies that lose power.

    drive  of all joints with dampers or friction: its constants are arrays (joints,)
    rows   rates of their motor angles per unit of the coordinates' (joints, n)
    D      structural damping (n, n); none without any
    balls  joints that turn any way with a damper: the first of the rotation vector's coordinates, and the damping

    The matrices of large robots are sparse.
    """

    drive: JointDrive
    rows: Any
    D: Any
    balls: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, mechanism: Mechanism) -> Losses:
        lossy = [m for m in mechanism.driven_members if m.joint.drive.damping or m.joint.drive.coulomb]
        drives = [member.joint.drive for member in lossy]
        coulomb, smoothing = np.array([[d.coulomb, d.smoothing if d.coulomb else 1.0] for d in drives]).reshape(-1, 2).T
        drive = JointDrive.none(0)._replace(
            damping=np.array([d.damping for d in drives]),
            # a plain zero is left out of the sum
            coulomb=coulomb if coulomb.any() else 0.0,
            smoothing=smoothing,
        )
        rows = _matrix(mechanism.size, len(lossy))
        for k, member in enumerate(lossy):
            rows[k] = mechanism.motor_row(member)
        bodies = [member for member in mechanism.members if np.any(member.body.D_ee)]
        balls = tuple((m.elastic.start - 3, float(m.joint.drive.damping)) for m in mechanism.ball_members)
        if not bodies and mechanism.drag is None:
            return cls(drive, rows, None, balls)
        D = _matrix(mechanism.size, mechanism.size)
        for member in bodies:
            D[member.elastic, member.elastic] = member.body.D_ee
        if mechanism.drag is not None:
            D = D + mechanism.drag
        return cls(drive, rows, D if isinstance(D, np.ndarray) else D.tocsr(), balls)

    def power(self, q: Floats, v: Floats) -> float:
        """What is lost per second at coordinates q (n,) and their rates v."""
        lost = 0.0 if self.D is None else float(v @ (self.D @ v))
        if self.rows.shape[0]:
            lost += float(self.drive.power(self.rows @ v).sum())
        for k, damping in self.balls:
            spin = np.array(attitude(q[k : k + 3].tolist(), v[k : k + 3].tolist()).omega)
            lost += damping * float(spin @ spin)
        return lost
