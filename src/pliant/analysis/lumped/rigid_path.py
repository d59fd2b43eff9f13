"""Paths of a frame and motions of the joints of the nominal, rigid robot: forward and inverse kinematics over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pliant.analysis.lumped.closing import frame_twist, with_passive_rates
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.node_equations import Floats
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.errors import ModelError

REACHED = 1e-12
"""m: distance at which a point is reached."""
MOST_STEPS = 20
END_POINTS = 6
"""Points that tell how a correction begins or ends."""
SINGULAR = 1e-6
"""Directions in which the joints move the frame less than this part of the most are not used."""


class DrivenMotion(Protocol):
    """Positions, rates and accelerations (times, inputs) of the actuated joints at times."""

    def __call__(self, times: Floats, /) -> tuple[Floats, Floats, Floats]: ...


@dataclass(frozen=True, eq=False)
class CorrectedMotion:
    """A path of the actuated joints and a correction, which is known at times (N,) and joined by quintic splines.

    The path is taken as it is, with all that its rates and accelerations do; a spline through it would round off what
    jumps, and invent how it begins and ends.

    path  motion of the actuated joints
    q     positions of all joints (N, joints) at the times, path and correction together
    """

    model: LumpedModel
    path: DrivenMotion
    times: Floats
    q: Floats

    @cached_property
    def _correction(self) -> Any:
        from scipy.interpolate import make_interp_spline

        q, v, _ = self.path(self.times)
        change = self.q[:, self.model.skeleton.driven] - q
        if not change.any():
            return None
        ends = [self._end(change[::step], v[::step], float(step)) for step in (1, -1)]
        return make_interp_spline(self.times, change, k=5, bc_type=(ends[0], ends[1]))

    def _end(self, change: Floats, v: Floats, sign: float) -> list[tuple[int, Floats]]:
        """Rate and acceleration of the correction where it begins or ends: rest, or those of its nearest points."""
        if not v[0].any():
            still = np.zeros(v.shape[1])
            return [(1, still), (2, still)]
        step = float(self.times[1] - self.times[0])
        powers = np.vander(np.arange(float(END_POINTS)), increasing=True)
        coefficients = np.linalg.solve(powers, change[:END_POINTS])
        return [(1, sign * coefficients[1] / step), (2, 2 * coefficients[2] / step**2)]

    def __call__(self, t: Floats) -> JointMotion:
        """Motion of all joints; that of passive ones closes the loops."""
        driven = self.path(t)
        if self._correction is not None:
            driven = tuple(x + np.asarray(self._correction(t, k)) for k, x in enumerate(driven))
        near = np.column_stack([np.interp(t, self.times, column) for column in self.q.T])
        return self.model.nominal(JointMotion(*driven), start=near)


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
