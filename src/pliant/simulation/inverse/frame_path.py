"""What frames shall do: the motion of the rigid robot along a study's path, in directions that drives move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.formulations.loops.loops import LoopError
from pliant.mechanism import BASE
from pliant.trajectories.driven_twin import DrivenTwin
from pliant.trajectories.path import Path, Surroundings

Floats = NDArray[np.float64]

MOVED = 1e-6
"""Part of the largest motion per drive below which no drive moves a direction ..."""
SINGULAR = 1e-3
"""... and below which the pose is too near to a singular one."""


class WantedFrames(NamedTuple):
    """Where frames shall be at some times, and how the drives lead them there.

    times       (count,)
    joints      (count, inputs) of the rigid robot
    positions   (count, frames, 3)
    rotations   (count, frames, 3, 3)
    led         (count, rows, rank): directions of all rows of the frames that the drives move
    idle        (count, inputs, inputs - rank): motions of the drives that leave the frames where they are
    """

    times: Floats
    joints: Floats
    positions: Floats
    rotations: Floats
    led: Floats
    idle: Floats


class FramePath:
    """The motion of frames of the rigid robot.

    frames  names
    turned  whether they keep orientations, too
    length  m: what a turn by a radian counts
    """

    def __init__(
        self, arm: Dynamics, start: Floats, path: Path, frames: Sequence[str], turned: bool, study: str
    ) -> None:
        self.arm, self.path, self.frames, self.turned, self.study = arm, path, tuple(frames), turned, study
        for name in self.frames:
            try:
                member = BASE if name == "base" else arm.mechanism.frame(name)[0]
            except KeyError as error:
                raise ModelError(f"frame: {error.args[0]}") from None
            if member == BASE:
                raise ModelError(
                    f"frame is '{name}', which is fixed to the base: no drive moves it; name a frame of a link"
                )
        self.mechanism = DrivenTwin(Surroundings(arm, start))
        twin, q = self.mechanism.twin, self.mechanism.configuration(path.at(0.0).q)
        spans = [np.abs(twin.jacobian(name, q)[:3]).max(initial=0.0) for name in self.frames]
        # sliding drives move frames by their own way: the robot's size is then that of its position
        places = [np.linalg.norm(twin.pose(name, q).position) for name in self.frames]
        turns = [k for k, name in enumerate(arm.inputs) if arm.labels.units[arm.names.index(name)] != "m"]
        self.length = float(max(spans if turns else places)) or 1.0
        self.sizes = np.array([1.0 if k in turns else self.length for k in range(len(arm.inputs))])
        self.rank = 0

    def require_led(self, times: Floats) -> None:
        """Refuse paths through singular poses, and frames that the drives cannot lead independently of each other."""
        q, positions = self._rigid(times)
        J = self._jacobian(q) * self.sizes
        self.rank = self._rank(times, np.linalg.svd(J, compute_uv=False), positions)
        # position and orientation of each frame on their own
        parts = J.reshape(len(J), -1, 3, J.shape[2])
        each = [int(_moved(np.linalg.svd(parts[:, k], compute_uv=False), J).max()) for k in range(parts.shape[1])]
        if sum(each) > self.rank:
            names = " and ".join(f"'{name}'" for name in self.frames)
            what = "position and orientation of " if self.turned else ""
            raise ModelError(
                f"study '{self.study}': {what}{names} have {sum(each)} motions, and the {len(self.arm.inputs)} drives "
                f"({', '.join(self.arm.inputs)}) lead {self.rank} at once; follow fewer frames"
                + (", or leave their orientation free" if self.turned else "")
            )

    @property
    def rows(self) -> int:
        """Rows of all frames."""
        return len(self.frames) * (6 if self.turned else 3)

    def at(self, times: Floats) -> WantedFrames:
        """Where the frames shall be; raises ModelError where loops cannot close or the pose is singular."""
        joints = self.path.many(times).q
        q, _ = self._rigid(times)
        poses = self.mechanism.twin.poses(self.frames, q)
        U, _, Vt = np.linalg.svd(self._jacobian(q) * self.sizes)
        rank = self.rank
        # back to motions of the drives in their own units
        idle = np.swapaxes(Vt[:, rank:], 1, 2) / self.sizes[:, None]
        return WantedFrames(times, joints, poses.position, poses.rotation, U[:, :, :rank], idle)

    def _rigid(self, times: Floats) -> tuple[Floats, Floats]:
        """Coordinates of the rigid robot (count, n) and positions of the frames (count, frames, 3)."""
        joints = self.path.many(times).q
        try:
            q, _ = self.mechanism.state(joints, np.zeros_like(joints))
        except LoopError as error:
            raise ModelError(f"study '{self.study}': {error}") from None
        return q, self.mechanism.twin.positions(self.frames, q)

    def configurations(self, times: Floats) -> Floats:
        """Coordinates of the flexible robot (count, n) with straight links, along the path."""
        q, _ = self._rigid(times)
        out = np.zeros((len(times), self.arm.size))
        out[:, [self.arm.names.index(name) for name in self.mechanism.twin.names]] = q
        return out

    def _jacobian(self, q: Floats) -> Floats:
        """Velocities of all rows per unit rate of each drive, m (count, rows, inputs)."""
        m, twin, inputs = len(self.arm.inputs), self.mechanism.twin, self.mechanism.inputs
        rates = np.zeros((len(q), m, twin.size))
        rates[:, np.arange(m), inputs] = 1.0
        if self.mechanism.is_closed:
            flat = rates.reshape(-1, twin.size)
            rates = twin.loops.corrected(np.repeat(q, m, axis=0), flat, self.mechanism.driven)[1].reshape(rates.shape)
        N = np.swapaxes(rates, 1, 2)
        return np.concatenate([self.scaled(twin.jacobian(name, q)) @ N for name in self.frames], axis=1)

    def scaled(self, J: Floats) -> Floats:
        """The rows of a Jacobian (count, 6, n) that are followed, in m."""
        return np.concatenate([J[:, :3], self.length * J[:, 3:]], axis=1) if self.turned else J[:, :3]

    def _rank(self, times: Floats, sigma: Floats, positions: Floats) -> int:
        """Directions of the frames that the drives move along the whole path."""
        most = sigma[:, :1] * np.ones_like(sigma)
        parts = np.divide(sigma, most, out=np.zeros_like(sigma), where=most > 0)
        rank = int((parts > MOVED).sum(axis=1).max(initial=0)) if sigma.max() > 0 else 0
        if not rank:
            names = " and ".join(f"'{name}'" for name in self.frames)
            raise ModelError(f"study '{self.study}': no drive moves {names}; name a frame behind a driven joint")
        k = int(np.argmin(parts[:, rank - 1]))
        if parts[k, rank - 1] < SINGULAR:
            place = ", ".join(f"{x:.4g}" for x in positions[k, 0])
            raise ModelError(
                f"study '{self.study}': at {times[k]:.4g} s, where frame '{self.frames[0]}' is at ({place}) m, the "
                "pose is singular: the drives cannot move the frame in every direction; lead it past stretched and "
                "folded poses"
            )
        return rank


def _moved(sigma: Floats, J: Floats) -> NDArray[np.int_]:
    """How many directions the drives move (count,): beside the largest motion of all rows J (count, rows, inputs)."""
    most = np.linalg.norm(J, axis=(1, 2))[:, None]
    return np.asarray((sigma > MOVED * most).sum(axis=1))
