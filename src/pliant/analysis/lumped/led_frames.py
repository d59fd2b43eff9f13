"""Frames that shall keep their way: where they are on the rigid robot, how drives move them, how far they are off.

Rows are the positions of all frames, or position and turn of each, a turn by a radian counted as a length: a
difference of poses is the difference of their positions and the rotation vector between their orientations, base axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.analysis.lumped.elastic_motion import ElasticState, frame_displacement
from pliant.analysis.lumped.lumped_model import AssembledMotion, LumpedModel
from pliant.analysis.lumped.node_equations import Floats
from pliant.analysis.lumped.nominal_motion import JointMotion, frame_twist, with_passive_rates
from pliant.errors import ModelError

REACHED = 1e-12
"""rad or m: motion of the drives at which a pose is reached."""
MOST_STEPS = 20
SINGULAR = 1e-6
"""Directions in which the joints move the frames less than this part of the most are not used."""


class FramePoses(NamedTuple):
    """Positions (N, frames, 3) and rotations (N, frames, 3, 3) in the base."""

    position: Floats
    rotation: Floats


class LedFrames:
    """Frames of a robot that its drives lead.

    names   of the frames
    turned  whether they keep orientations, too
    length  m: what a turn by a radian counts
    """

    def __init__(self, model: LumpedModel, names: tuple[str, ...], turned: bool = False, length: float = 1.0) -> None:
        self.model, self.names, self.turned, self.length = model, names, turned, length
        self.ends = [model.skeleton.frame(name) for name in names]

    def poses(self, q: Floats) -> FramePoses:
        """On the rigid robot at positions of all joints (N, joints)."""
        still = np.zeros_like(q)
        links = self.model.skeleton.motion(JointMotion(q, still, still), weight=False)
        found = [self.model.skeleton.pose(links, *end) for end in self.ends]
        return FramePoses(*(np.stack([pose[k] for pose in found], axis=1) for k in range(2)))

    def displacements(self, assembled: AssembledMotion, z: Floats) -> Floats:
        """Displacements and turns (N, frames, 6) by bending, base axes."""
        none = np.zeros_like(z)
        state = ElasticState(z, none, none)
        return np.stack([frame_displacement(self.model, assembled, state, name) for name in self.names], axis=1)

    def rows(self, moved: Floats) -> Floats:
        """Displacements and turns (N, frames, 6) as rows (N, rows), m."""
        parts = [moved[..., :3], self.length * moved[..., 3:]] if self.turned else [moved[..., :3]]
        return np.concatenate(parts, axis=-1).reshape(len(moved), -1)

    def apart(self, there: FramePoses, here: FramePoses) -> Floats:
        """How far poses are from others (N, frames, 6): m, rad."""
        turn = rotation_vectors(there.rotation @ np.swapaxes(here.rotation, -1, -2))
        return np.concatenate([there.position - here.position, turn], axis=-1)

    def shifted(self, poses: FramePoses, rows: Floats) -> FramePoses:
        """Poses moved by rows (N, rows)."""
        each = rows.reshape(len(rows), len(self.names), -1)
        if not self.turned:
            return FramePoses(poses.position + each, poses.rotation)
        return FramePoses(poses.position + each[..., :3], rotations(each[..., 3:] / self.length) @ poses.rotation)

    def displaced(self, poses: FramePoses, moved: Floats) -> FramePoses:
        """Poses with displacements and turns (N, frames, 6) by bending."""
        return FramePoses(poses.position + moved[..., :3], rotations(moved[..., 3:]) @ poses.rotation)

    def distances(self, rows: Floats) -> Floats:
        """Distance of the frame that is farthest off (N,), m."""
        each = rows.reshape(len(rows), len(self.names), -1)
        return np.asarray(np.linalg.norm(each, axis=2).max(axis=1))

    def jacobian(self, q: Floats) -> Floats:
        """Rates of the rows (N, rows, inputs) per unit rate of each drive, loops closed."""
        skeleton, columns, still = self.model.skeleton, [], np.zeros_like(q)
        for k in skeleton.driven:
            v = still.copy()
            v[:, k] = 1.0
            motion = with_passive_rates(skeleton, self.model.loops, JointMotion(q, v, still))
            links = skeleton.motion(motion, weight=False)
            columns.append(self.rows(np.stack([frame_twist(links, end)[0] for end in self.ends], axis=1)))
        return np.stack(columns, axis=2)

    def led(self, q: Floats, rows: Floats) -> Floats:
        """The part of rows (N, rows) in directions that the drives move."""
        U, sizes, _ = np.linalg.svd(self.jacobian(q), full_matrices=False)
        U = U * (sizes > SINGULAR * sizes[:, :1])[:, None]
        return np.asarray(np.einsum("nri,ni->nr", U, np.einsum("nri,nr->ni", U, rows)))

    def follow(self, target: FramePoses, q: Floats) -> Floats:
        """Positions of all joints (N, joints) that bring the frames to poses, from nearby ones."""
        model, driven = self.model, self.model.skeleton.driven
        for _ in range(MOST_STEPS):
            error = self.rows(self.apart(target, self.poses(q)))
            inverse = np.linalg.pinv(self.jacobian(q), rcond=SINGULAR)
            step = np.einsum("tij,tj->ti", inverse, error)
            q = q.copy()
            q[:, driven] += step
            still = np.zeros((len(q), len(driven)))
            q = model.nominal(JointMotion(q[:, driven], still, still), start=q).q
            if not np.isfinite(q).all():
                break
            # rounding of positions, whatever of the pose lies outside the robot's directions
            if np.abs(step).max() < REACHED:
                return q
        t = int(np.argmax(np.abs(np.nan_to_num(error, nan=np.inf)).max(axis=1)))
        place = ", ".join(f"{x:.4g}" for x in target.position[t, 0])
        raise ModelError(
            f"robot '{model.robot.name}': frame '{self.names[0]}' cannot follow the corrected path; the point "
            f"({place}) m is not reached. Keep the path inside the workspace, away from stretched poses"
        )


def rotations(vectors: Floats) -> Floats:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    from scipy.spatial.transform import Rotation

    found = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix()
    return np.asarray(found.reshape(*vectors.shape, 3))


def rotation_vectors(R: Floats) -> Floats:
    """Rotation vectors (..., 3) of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(R.reshape(-1, 3, 3)).as_rotvec().reshape(R.shape[:-1]))
