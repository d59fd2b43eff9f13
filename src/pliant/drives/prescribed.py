"""Joints that move exactly as desired; only the links bend freely, and the torques result.

Briot & Khalil's inverse model over a trajectory: the drives' accelerations are given, (41)-(44) give their efforts and
the accelerations of all other coordinates. Trees go the same way, as robots without loops to close.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from pydantic import Field

from pliant.drives.drive import Drive, DriveLaw
from pliant.dynamics import Dynamics
from pliant.laws import Action, Floats
from pliant.spatial.vectors import Vector
from pliant.trajectories.kinds import AnyTrajectory
from pliant.trajectories.path import Path, Surroundings


class PrescribedDynamics:
    """Dynamics with the inputs prescribed; gaps of loops decay.

    driven  indices of the coordinates that are prescribed (the inputs)
    free    indices of all others: elastic coordinates and passive joints
    """

    def __init__(self, arm: Dynamics) -> None:
        self.arm = arm
        self.loops = arm.loops.stabilised()
        self.driven = np.array([arm.names.index(name) for name in arm.inputs], dtype=int)
        self.free = np.setdiff1d(np.arange(arm.size), self.driven)

    def expand(self, driven: Floats, free: Floats) -> Floats:
        """All coordinates (n,) from the two parts; both may be batches."""
        out = np.empty((*driven.shape[:-1], len(self.driven) + len(self.free)))
        out[..., self.driven], out[..., self.free] = driven, free
        return out

    def solve(self, q: Floats, v: Floats, a_driven: Floats, force: Floats | None = None) -> tuple[Floats, Floats]:
        """Efforts of the inputs and accelerations of the free coordinates; ``force`` are further forces (n,).

        All may be batches. Not finite where a trial step diverged: the integrator sees it and takes a smaller one.
        """
        try:
            tau, a = self.loops.inverse(q, v, a_driven, force)
        except np.linalg.LinAlgError:
            tau, a = np.full_like(a_driven, np.nan), np.full_like(q, np.nan)
        return tau, a[..., self.free]


JUMP = 1e-6
"""Positions, rad or m, between which a motion counts as broken: inverse kinematics meet theirs to less."""


class PrescribedMotion(Drive):
    """The inputs follow a trajectory exactly: the inverse model of Briot & Khalil over a trajectory.

    Where its rates jump the motors strike the robot: links and passive joints take up the impulse, and its work counts.
    """

    kind = "prescribed"
    trajectory: AnyTrajectory = Field(description="the motion of the joints")

    def bind(self, around: Surroundings, q0: Floats) -> DriveLaw:
        path = self.trajectory.bind(around, q0, 0.0)
        for t in path.breaks:
            if t > 0:
                jumps = np.abs(path.at(t).q - path.at(float(np.nextafter(t, 0.0))).q)
                k = int(np.argmax(jumps))
                if jumps[k] > JUMP:
                    raise self.trajectory.fault(
                        f"joint '{around.inputs[k]}' jumps by {jumps[k]:.4g} at {t:.6g} s, which no force can do; "
                        "move it there in some time (quintic), or let a controller follow (drive: pid)"
                    )
        return PrescribedJoints(around, path)


class PrescribedJoints(DriveLaw):
    """Inputs that follow a path: signals are positions, rates and accelerations, the last in the place of efforts.

    The efforts that the motion needs follow from the dynamics.
    """

    feedback = False

    def __init__(self, around: Surroundings, path: Path) -> None:
        self.path: Path = path
        self.driven = tuple(around.arm.names.index(name) for name in around.inputs)
        self.channels = 3 * len(self.driven)

    @property
    def structure(self) -> Hashable:
        return "prescribed", self.driven

    def signals(self, t: Floats) -> Floats:
        return np.hstack(self.path.many(t))

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        return Action(list(signals[2 * len(self.driven) :]))
