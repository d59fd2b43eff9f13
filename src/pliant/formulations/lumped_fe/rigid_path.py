"""Paths of a frame and motions of the joints of the nominal, rigid robot: forward and inverse kinematics over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.formulations.lumped_fe.closing import frame_twist, with_passive_rates
from pliant.formulations.lumped_fe.model import LumpedModel
from pliant.formulations.lumped_fe.node_matrices import Floats
from pliant.formulations.lumped_fe.skeleton import JointMotion
from pliant.model.errors import ModelError

REACHED = 1e-12
"""m: distance at which a point is reached."""
MOST_STEPS = 20
SINGULAR = 1e-6
"""Directions in which the joints move the frame less than this part of the most are not used."""


@dataclass(frozen=True, eq=False)
class SampledMotion:
    """Positions of all joints (N, joints) at times (N,), joined by quintic splines.

    ends  rates and accelerations (joints,) at the first and at the last time; default: rest
    """

    model: LumpedModel
    times: Floats
    q: Floats
    ends: tuple[tuple[Floats, Floats], tuple[Floats, Floats]] | None = None

    @cached_property
    def _curve(self) -> Any:
        from scipy.interpolate import make_interp_spline

        still = np.zeros(self.q.shape[1])
        first, last = ([(1, v), (2, a)] for v, a in self.ends or ((still, still), (still, still)))
        return make_interp_spline(self.times, self.q, k=5, bc_type=(first, last))

    def __call__(self, t: Floats) -> JointMotion:
        """Motion of all joints; that of passive ones closes the loops."""
        every = JointMotion(*(np.asarray(self._curve(t, k)) for k in range(3)))
        driven = self.model.skeleton.driven
        return self.model.nominal(JointMotion(*(x[:, driven] for x in every)), start=every.q)


def frame_positions(model: LumpedModel, q: Floats, frame: str) -> Floats:
    """Positions (times, 3) of a frame of the rigid robot at positions of all joints."""
    still = np.zeros_like(q)
    links = model.skeleton.motion(JointMotion(q, still, still), weight=False)
    return model.skeleton.pose(links, *model.skeleton.frame(frame))[0]


def frame_jacobian(model: LumpedModel, q: Floats, frame: str) -> Floats:
    """Velocity of a frame (times, 3, inputs) per unit rate of each drive, loops closed."""
    skeleton, end = model.skeleton, model.skeleton.frame(frame)
    still, columns = np.zeros_like(q), []
    for k in skeleton.driven:
        v = still.copy()
        v[:, k] = 1.0
        motion = with_passive_rates(skeleton, model.loops, JointMotion(q, v, still))
        columns.append(frame_twist(skeleton.motion(motion, weight=False), end)[0][:, :3])
    return np.stack(columns, axis=2)


def follow(model: LumpedModel, frame: str, points: Floats, q: Floats) -> Floats:
    """Positions of all joints (times, joints) that put a frame on points (times, 3), from nearby ones."""
    driven = model.skeleton.driven
    for _ in range(MOST_STEPS):
        error = points - frame_positions(model, q, frame)
        inverse = np.linalg.pinv(frame_jacobian(model, q, frame), rcond=SINGULAR)
        step = np.einsum("tij,tj->ti", inverse, error)
        q = q.copy()
        q[:, driven] += step
        still = np.zeros((len(q), len(driven)))
        q = model.nominal(JointMotion(q[:, driven], still, still), start=q).q
        if not np.isfinite(q).all():
            break
        # rounding of positions, whatever of the point lies outside the robot's directions
        if np.abs(step).max() < REACHED:
            return q
    t = int(np.argmax(np.abs(np.nan_to_num(error, nan=np.inf)).max(axis=1)))
    raise ModelError(
        f"robot '{model.robot.name}': frame '{frame}' cannot follow the corrected path; the point "
        f"({', '.join(f'{x:.4g}' for x in points[t])}) m is not reached. Keep the path inside the workspace, away from "
        "stretched poses"
    )
