"""The moving robot as lines in space: every link as it bends, and as it would be if it were rigid."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.model.outline import BASE
from pliant.pictures.canvas import Viewpoint, best_view
from pliant.results.samples import Floats

if TYPE_CHECKING:
    from pliant.dynamics import Pose
    from pliant.model.links import Link
    from pliant.results.result import Result

MOST_PICTURES = 600
STATIONS = 15
"""Points along a flexible beam."""
SAME_PLACE = 1e-9


class Stroke(NamedTuple):
    """One stroke: points (pictures, points, 3) of the bent robot and of the rigid one, base frame."""

    link: str
    flexible: bool
    bent: Floats
    rigid: Floats


class Film(NamedTuple):
    """Pictures of a run.

    time    of the pictures, s (pictures,)
    lines   the strokes
    joints  where links begin that move against what carries them, base frame (pictures, links, 3)
    tip     the path of the tip (pictures, 3)
    """

    time: Floats
    lines: list[Stroke]
    joints: Floats
    tip: Floats

    @property
    def points(self) -> Floats:
        """All points of the bent robot in all pictures (n, 3)."""
        return np.concatenate([line.bent.reshape(-1, 3) for line in self.lines] + [self.tip])


def make_film(run: Result, pictures: int = MOST_PICTURES) -> Film:
    """At most so many pictures, evenly spread over the samples."""
    rows = np.unique(np.linspace(0, len(run) - 1, min(pictures, len(run))).round().astype(int))
    q = run.q[rows]
    of_joints = np.isin(run.arm.names, run.robot.joint_coordinates)
    bent, rigid = _Placed(run, q), _Placed(run, np.where(of_joints, q, 0.0))
    lines = []
    for link in run.robot.links:
        pairs = zip(bent.strokes(link), rigid.strokes(link), strict=True)
        # what leads from the axis to other links does not bend
        lines += [Stroke(link.name, link.is_flexible and k == 0, a, b) for k, (a, b) in enumerate(pairs)]
    # what has no length is not drawn
    seen = [line for line in lines if np.ptp(line.bent, axis=1).max() > SAME_PLACE]
    moving = [link.name for link in run.robot.links if link.joint.type != "fixed"]
    joints = np.stack([bent.position(f"{name}.root") for name in moving], axis=1)
    return Film(run.time[rows], seen, joints, bent.position("tip"))


def view_of(run: Result, film: Film) -> Viewpoint:
    """Onto the plane of the motion if there is one, otherwise from a corner."""
    from pliant.pictures.reference_pose import place_links

    turning = [item.axis for item in place_links(run.robot).values() if item.link.joint.type == "revolute"]
    return best_view(film.points, np.reshape(turning, (-1, 3)))


class _Placed:
    """The links of a robot at some configurations q (pictures, n)."""

    def __init__(self, run: Result, q: Floats) -> None:
        self.run, self.q = run, q
        self._poses: dict[str, Pose] = {}

    def pose(self, frame: str) -> Pose:
        if frame not in self._poses:
            self._poses[frame] = self.run.arm.pose(frame, self.q)
        return self._poses[frame]

    def position(self, frame: str) -> Floats:
        return self.pose(frame).position

    def strokes(self, link: Link) -> list[Floats]:
        """The axis of a link, then what leads from its frames to the links on it and to the ends of loops."""
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
            out.append(self._way(foot, child))
        if link.beam is None:
            ends = [robot.resolve_frame(frame) for loop in robot.loops for frame in loop.ends]
            out += [np.stack([root, self.position(f"{name}.{frame}")], axis=1) for on, frame in ends if on == name]
        if robot.parent_of(name)[0] == BASE:
            out.append(self._way(np.zeros_like(root), name))
        return out

    def _way(self, foot: Floats, name: str) -> Floats:
        """From a place on what carries a link to its root; along the rail of a sliding joint."""
        joint = self.run.robot.link(name).joint
        root = self.position(f"{name}.root")
        if joint.type != "prismatic":
            return np.stack([foot, root], axis=1)
        parent, frame = self.run.robot.parent_of(name)
        begin = joint.placement.vector()
        if parent == BASE:
            rail = np.broadcast_to(begin, root.shape)
        else:
            pose = self.pose(f"{parent}.{frame}")
            rail = pose.position + pose.rotation @ begin
        return np.stack([foot, rail, root], axis=1)

    def _bent_axis(self, link: Link) -> Floats:
        """Points of a beam's axis: the link frame B, then x + u(x) in it."""
        from scipy.spatial.transform import Rotation

        from pliant.bodies.build import build_body, shape_sets
        from pliant.bodies.families import MOTIONS

        body = build_body(link, self.run.robot)
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
        pose = self.pose(f"{link.name}.root")
        turn = Rotation.from_rotvec(q_e @ root.Phi_r.T).as_matrix() @ root.rotation
        R = pose.rotation @ np.swapaxes(turn, 1, 2)
        shift = root.position + q_e @ root.Phi_d.T
        p = pose.position - np.einsum("pab,pb->pa", R, shift)
        return np.asarray(p[:, None, :] + np.einsum("pab,psb->psa", R, local))
