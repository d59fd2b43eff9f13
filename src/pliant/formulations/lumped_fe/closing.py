"""Closed chains: nominal motions of the passive joints, and the rows that hold two frames together.

Rows are those of the loops: displacements along base axes, turns about base axes, and tilts about the two axes of the
first frame that are normal to a hinge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.errors import ModelError
from pliant.formulations.lumped_fe.mesh import FramePlace
from pliant.formulations.lumped_fe.node_matrices import Floats
from pliant.formulations.lumped_fe.skeleton import JointMotion, LinkMotion, Skeleton, cross
from pliant.mechanism import BASE

if TYPE_CHECKING:
    from pliant.mechanism import LoopEnds

CLOSED = 1e-12
"""Gap (m, rad) of a loop that is closed."""
MOST_STEPS = 30
STRIDES = 60
"""Instants at which a motion is followed one after the other."""
SINGULAR = 1e-9
"""Smallest singular value of the passive joints' rows, relative to the largest, that still determines them."""
AXES = "xyz"


@dataclass(frozen=True, eq=False, slots=True)
class LoopRows:
    """A loop between two frames.

    shifts  (k, 3)  directions of the displacements, base axes
    turns   (k, 3)  of the turns, base axes
    tilts   (k, 3)  of the turns, axes of the first frame
    """

    name: str
    ends: tuple[tuple[int, FramePlace], tuple[int, FramePlace]]
    shifts: Floats
    turns: Floats
    tilts: Floats

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.shifts) + len(self.turns) + len(self.tilts)

    @property
    def labels(self) -> list[str]:
        """Names of the rows, as ``LOOP.x`` and ``LOOP.rz``."""
        shifts = [AXES[int(np.argmax(row))] for row in self.shifts]
        turns = [f"r{AXES[int(np.argmax(row))]}" for row in self.turns]
        tilts = [f"tilt{k + 1}" for k in range(len(self.tilts))]
        return [f"{self.name}.{label}" for label in (*shifts, *turns, *tilts)]

    def directions(self, R_A: Floats) -> Floats:
        """Rows (..., size, 6) on the difference of displacement and turn of the frames, base axes."""
        lead = R_A.shape[:-2]
        out = np.zeros((*lead, self.size, 6))
        k, m = len(self.shifts), len(self.turns)
        out[..., :k, :3] = self.shifts
        out[..., k : k + m, 3:] = self.turns
        out[..., k + m :, 3:] = self.tilts @ np.swapaxes(R_A, -1, -2)
        return out


def loop_rows(skeleton: Skeleton, loop: LoopEnds) -> LoopRows:
    """The rows of a described loop."""
    one, kinds = np.eye(3), {row.kind for row in loop.rows}
    if not kinds <= {"shift", "turn", "tilt"}:
        raise ModelError(
            f"loop '{loop.name}': the lumped model has no rows for a {loop.kind} closure; close the loop at another "
            "joint, or take the method recursive"
        )
    shifts, turns, tilts = one, one if "turn" in kinds else one[:0], one[:0]
    if "tilt" in kinds:
        # two directions normal to the hinge, of the first frame
        tilts = np.linalg.svd(loop.axis[None])[2][1:]
    if loop.planar is not None:
        normal = next(k for k, axis in enumerate(AXES) if axis not in loop.planar)
        shifts, tilts = np.delete(one, normal, axis=0), one[:0]
        turns = one[[normal]] if "turn" in kinds else one[:0]
    ends = [skeleton.place(*end) for end in loop.frames]
    return LoopRows(loop.name, (ends[0], ends[1]), shifts, turns, tilts)


def gaps(skeleton: Skeleton, loops: list[LoopRows], links: list[LinkMotion]) -> Floats:
    """How far the loops are open (times, rows)."""
    out = []
    for loop in loops:
        (p_A, R_A), (p_B, R_B) = (skeleton.pose(links, *end) for end in loop.ends)
        E = R_A @ np.swapaxes(R_B, 1, 2)
        turn = 0.5 * np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
        out.append(np.einsum("tri,ti->tr", loop.directions(R_A), np.hstack([p_A - p_B, turn])))
    return np.hstack(out)


def frame_twist(links: list[LinkMotion], end: tuple[int, FramePlace]) -> tuple[Floats, Floats]:
    """Velocity and acceleration (times, 6) of a frame, base axes."""
    link, place = end
    times = len(links[0].p)
    if link == BASE:
        return np.zeros((times, 6)), np.zeros((times, 6))
    body = links[link]

    def up(x: Floats) -> Floats:
        return np.asarray(np.einsum("tij,tj->ti", body.R, x))

    velocity = body.v + cross(body.w, place.p)
    a = body.a + cross(body.w_dot, place.p) + cross(body.w, cross(body.w, place.p))
    return np.hstack([up(velocity), up(body.w)]), np.hstack([up(a), up(body.w_dot)])


def _rates(skeleton: Skeleton, loops: list[LoopRows], motion: JointMotion) -> tuple[Floats, Floats]:
    """Rates of the gaps and their derivatives (times, rows) where the loops are closed."""
    links = skeleton.motion(motion, weight=False)
    rates, accelerations = [], []
    for loop in loops:
        _, R_A = skeleton.pose(links, *loop.ends[0])
        (v_A, a_A), (v_B, a_B) = (frame_twist(links, end) for end in loop.ends)
        N = loop.directions(R_A)
        # tilts turn with the first frame
        w_A = v_A[:, 3:]
        N_dot = np.zeros_like(N)
        k = loop.size - len(loop.tilts)
        N_dot[:, k:, 3:] = cross(w_A[:, None], N[:, k:, 3:])
        rates.append(np.einsum("tri,ti->tr", N, v_A - v_B))
        accelerations.append(np.einsum("tri,ti->tr", N, a_A - a_B) + np.einsum("tri,ti->tr", N_dot, v_A - v_B))
    return np.hstack(rates), np.hstack(accelerations)


def _jacobian(skeleton: Skeleton, loops: list[LoopRows], q: Floats, columns: list[int]) -> Floats:
    """Rates of the gaps per unit rate of joints (times, rows, joints)."""
    still, unit = np.zeros_like(q), []
    for k in columns:
        v = still.copy()
        v[:, k] = 1.0
        unit.append(_rates(skeleton, loops, JointMotion(q, v, still))[0])
    return np.stack(unit, axis=2)


def close_motion(skeleton: Skeleton, loops: list[LoopRows], driven: JointMotion, start: Floats) -> JointMotion:
    """Motion of all joints for that of the actuated ones; passive joints of a tree keep their ``start`` (joints,).

    The way in which loops are closed is followed from the first instant, at which ``start`` is near; or ``start``
    (times, joints) is near at all of them.
    """
    times = len(driven.q)
    q, v, a = (np.zeros((times, len(skeleton.joints))) for _ in range(3))
    q[:] = start
    places = skeleton.driven
    q[:, places], v[:, places], a[:, places] = driven
    passive = skeleton.passive
    if not loops or not passive:
        return JointMotion(q, v, a)
    if start.ndim == 1:
        q[:, passive] = _followed(skeleton, loops, q)
    q = _newton(skeleton, loops, q, passive)
    return with_passive_rates(skeleton, loops, JointMotion(q, v, a))


def _followed(skeleton: Skeleton, loops: list[LoopRows], q: Floats) -> Floats:
    """Passive joints (times, passive) near the closed chain, in strides from the first instant."""
    times, passive = len(q), skeleton.passive
    strides = np.unique(np.linspace(0, times - 1, min(times, STRIDES)).astype(int))
    guess, found = q[0, passive], np.empty((len(strides), len(passive)))
    for k, t in enumerate(strides):
        q[t, passive] = guess
        guess = found[k] = _newton(skeleton, loops, q[t : t + 1], passive)[0, passive]
    every = np.arange(times)
    return np.column_stack([np.interp(every, strides, column) for column in found.T])


def with_passive_rates(skeleton: Skeleton, loops: list[LoopRows], motion: JointMotion) -> JointMotion:
    """The motion with rates and accelerations of the passive joints as the closed loops demand."""
    q, v, a = motion.q, motion.v.copy(), motion.a.copy()
    passive = skeleton.passive
    if not loops or not passive:
        return JointMotion(q, v, a)
    v[:, passive] = a[:, passive] = 0.0
    J = _jacobian(skeleton, loops, q, passive)
    sizes = np.linalg.svd(J, compute_uv=False)
    worst = sizes[:, min(len(passive), J.shape[1]) - 1] / sizes[:, 0]
    if not worst.min() > SINGULAR:
        t = int(np.argmin(worst))
        at = ", ".join(f"{skeleton.joints[k]} = {q[t, k]:.4g}" for k in skeleton.driven)
        raise ModelError(
            f"robot '{skeleton.mechanism.name}': its drives do not determine the passive joints at {at} (a singular "
            "pose of the closed chain); keep the path away from it"
        )
    inverse = np.linalg.pinv(J)
    v[:, passive] = -np.einsum("tpr,tr->tp", inverse, _rates(skeleton, loops, JointMotion(q, v, a))[0])
    a[:, passive] = -np.einsum("tpr,tr->tp", inverse, _rates(skeleton, loops, JointMotion(q, v, a))[1])
    return JointMotion(q, v, a)


def _newton(skeleton: Skeleton, loops: list[LoopRows], q: Floats, passive: list[int]) -> Floats:
    q = q.copy()
    still = np.zeros_like(q)
    for _ in range(MOST_STEPS):
        gap = gaps(skeleton, loops, skeleton.motion(JointMotion(q, still, still), weight=False))
        J = _jacobian(skeleton, loops, q, passive)
        q[:, passive] -= np.einsum("tpr,tr->tp", np.linalg.pinv(J), gap)
        if np.abs(gap).max() < CLOSED:
            return q
    size = np.abs(gap).max(axis=1)
    t = int(np.argmax(np.where(np.isfinite(size), size, np.inf)))
    at = ", ".join(f"{skeleton.joints[k]} = {q[t, k]:.4g}" for k in skeleton.driven)
    raise ModelError(
        f"robot '{skeleton.mechanism.name}': its loops cannot be closed at {at} (a gap of {size[t]:.2g} is left); "
        "keep the path inside the workspace"
    )
