"""The moving robot as lines in space: every link as it bends, and as it would be if it were rigid."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.results.samples import Floats

if TYPE_CHECKING:
    from pliant.model.links import Link
    from pliant.results.result import Result

MOST_PICTURES = 240
STATIONS = 15
"""Points along a flexible beam."""
SAME_PLACE = 1e-9


class Line(NamedTuple):
    """One stroke: points (pictures, points, 3) of the bent robot and of the rigid one, base frame."""

    link: str
    flexible: bool
    bent: Floats
    rigid: Floats


class Film(NamedTuple):
    """Pictures of a run: their times (pictures,), strokes, and the path of the tip (pictures, 3)."""

    time: Floats
    lines: list[Line]
    tip: Floats


def make_film(run: Result, pictures: int = MOST_PICTURES) -> Film:
    """At most so many pictures, evenly spread over the samples."""
    rows = np.unique(np.linspace(0, len(run) - 1, min(pictures, len(run))).round().astype(int))
    q = run.q[rows]
    joints = np.isin(run.arm.names, run.robot.joint_coordinates)
    bent, rigid = _Placed(run, q), _Placed(run, np.where(joints, q, 0.0))
    lines = []
    for link in run.robot.links:
        pairs = zip(bent.strokes(link), rigid.strokes(link), strict=True)
        lines += [Line(link.name, link.is_flexible, a, b) for a, b in pairs]
    # what has no length is not drawn
    seen = [line for line in lines if np.ptp(line.bent, axis=1).max() > SAME_PLACE]
    return Film(run.time[rows], seen, bent.position("tip"))


class _Placed:
    """The links of a robot at some configurations q (pictures, n)."""

    def __init__(self, run: Result, q: Floats) -> None:
        self.run, self.q = run, q

    def position(self, frame: str) -> Floats:
        return np.array([self.run.arm.pose(frame, q).position for q in self.q])

    def strokes(self, link: Link) -> list[Floats]:
        """The axis of a link, then what leads from its frames to the links on it."""
        robot, name = self.run.robot, link.name
        root = self.position(f"{name}.root")
        if link.beam is not None and link.is_flexible:
            axis = self._bent_axis(link)
        else:
            axis = np.stack([root, self.position(f"{name}.tip")], axis=1)
        out = [axis]
        for child in robot.children_of(name):
            frame = self.position(f"{name}.{robot.parent_of(child)[1]}")
            # a rigid body is drawn from its root, a beam from the place that carries the child
            foot = frame if link.beam is not None else root
            out.append(np.stack([foot, self.position(f"{child}.root")], axis=1))
        if robot.parent_of(name)[0] == "base":
            out.append(np.stack([np.zeros_like(root), root], axis=1))
        return out

    def _bent_axis(self, link: Link) -> Floats:
        """Points of a beam's axis: the link frame B, then x + u(x) in it."""
        from scipy.spatial.transform import Rotation

        from pliant.bodies.build import shape_sets
        from pliant.bodies.families import MOTIONS

        body = self.run.quantities.bodies[link.name]
        names = [f"{link.name}.{name}" for name in body.names]
        q_e = self.q[:, [self.run.arm.names.index(name) for name in names]]
        x = np.linspace(0.0, link.length, STATIONS)
        shapes = np.zeros((STATIONS, 3, body.size))
        start = 0
        for family in shape_sets(link, self.run.robot):
            axis = MOTIONS[family.family].value
            if axis is not None:
                shapes[:, axis, start : start + family.size] = family.sample(x).value.T
            start += family.size
        local = np.einsum("sdk,pk->psd", shapes, q_e)
        local[:, :, 0] += x
        # the root frame turns against B where the modes are pinned
        root = body.frames["root"]
        poses = [self.run.arm.pose(f"{link.name}.root", q) for q in self.q]
        R_root = np.array([pose.rotation for pose in poses])
        turn = Rotation.from_rotvec(q_e @ root.Phi_r.T).as_matrix() @ root.rotation
        R = R_root @ np.swapaxes(turn, 1, 2)
        shift = root.position + q_e @ root.Phi_d.T
        p = np.array([pose.position for pose in poses]) - np.einsum("pab,pb->pa", R, shift)
        return np.asarray(p[:, None, :] + np.einsum("pab,psb->psa", R, local))
