"""The power that a robot loses, for steps in Python: all joints and all bodies at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.joint_drive import JointDrive
from pliant.mechanism import Mechanism

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Losses:
    """Joints and bodies that lose power.

    drive  of all joints with dampers or friction: its constants are arrays (joints,)
    rows   rates of their motor angles per unit of the coordinates' (joints, n)
    D      structural damping (n, n); without any (0, 0)
    """

    drive: JointDrive
    rows: Floats
    D: Floats

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
        rows = np.array([mechanism.motor_row(member) for member in lossy]).reshape(-1, mechanism.size)
        D = np.zeros((mechanism.size, mechanism.size))
        for member in mechanism.members:
            D[member.elastic, member.elastic] = member.body.D_ee
        if mechanism.drag is not None:
            D += mechanism.drag
        return cls(drive, rows, D if D.any() else np.zeros((0, 0)))

    def power(self, v: Floats) -> float:
        """What is lost per second at the rates v (n,)."""
        lost = float(v @ (self.D @ v)) if len(self.D) else 0.0
        if len(self.rows):
            lost += float(self.drive.power(self.rows @ v).sum())
        return lost
