"""The nominal motion: the robot with rigid links, at many instants at once.

All results are in the axes of the link they belong to; leading axes are times. Gravity is an acceleration of the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.analysis.lumped.mesh import FramePlace, LinkMesh
from pliant.analysis.lumped.node_equations import Floats, tilde
from pliant.errors import ModelError
from pliant.mechanism import BASE

if TYPE_CHECKING:
    from pliant.bodies.joint_drive import JointDrive
    from pliant.mechanism import Mechanism

BASE_PLACE = FramePlace(0, np.zeros(3), np.eye(3))


class JointMotion(NamedTuple):
    """Positions, rates and accelerations of all joint coordinates (times, joints)."""

    q: Floats
    v: Floats
    a: Floats


class RelativeMotion(NamedTuple):
    """A link frame in that of its parent, with two derivatives of the components: R (times, 3, 3), p (times, 3)."""

    R: Floats
    R_dot: Floats
    R_ddot: Floats
    p: Floats
    p_dot: Floats
    p_ddot: Floats

    def at(self, t: int) -> RelativeMotion:
        """That of one instant."""
        return RelativeMotion(*(x[t : t + 1] for x in self))


class LinkMotion(NamedTuple):
    """Of a link frame: pose in the base, twist and acceleration in link axes (times, 3), gravity's pull included.

    relative  to the parent
    """

    R: Floats
    p: Floats
    v: Floats
    w: Floats
    w_dot: Floats
    a: Floats
    relative: RelativeMotion

    def at(self, t: int) -> LinkMotion:
        """That of one instant."""
        R, p, v, w, w_dot, a = (x[t : t + 1] for x in self[:6])
        return LinkMotion(R, p, v, w, w_dot, a, self.relative.at(t))


@dataclass(frozen=True, slots=True)
class JointSeat:
    """A joint between a frame of the parent and a link.

    coordinate  place among the joint coordinates, or None if the joint is fixed
    turns       angle about the axis per unit of the coordinate
    slides      way along the axis per unit of the coordinate
    drive       what acts along it
    column      (6,) displacement of the link frame per unit of the coordinate, link axes
    """

    name: str
    parent: int
    place: FramePlace
    axis: Floats
    R_FJ: Floats
    p_FJ: Floats
    R_JB: Floats
    p_JB: Floats
    coordinate: int | None
    turns: float
    slides: float
    is_actuated: bool
    drive: JointDrive

    @property
    def column(self) -> Floats:
        axis = self.R_JB.T @ self.axis
        lever = self.slides * axis + self.turns * np.cross(axis, self.R_JB.T @ self.p_JB)
        return np.concatenate([lever, self.turns * axis])

    @property
    def is_passive(self) -> bool:
        """Whether it moves by itself."""
        return self.coordinate is not None and not self.is_actuated

    def relative(self, motion: JointMotion) -> RelativeMotion:
        """The link frame as the joint places it on the parent's frame."""
        if self.coordinate is None:
            q = v = a = np.zeros(len(motion.q))
        else:
            q, v, a = (x[:, self.coordinate] for x in motion)
        X, x0 = self.place.R @ self.R_FJ, self.place.p + self.place.R @ self.p_FJ
        # Rodrigues: E = 1 + sin q n~ + (1 - cos q) n~ n~, on constant factors
        axis_ = tilde(self.axis)
        turns = (np.eye(3), axis_, axis_ @ axis_)
        turn, rate, change = (self.turns * x for x in (q, v, a))
        s, c, zero = np.sin(turn), np.cos(turn), np.zeros_like(q)
        terms = (
            (1 + zero, s, 1 - c),
            (zero, c * rate, s * rate),
            (zero, c * change - s * rate * rate, s * change + c * rate * rate),
        )
        matrices = np.stack([(X @ E @ self.R_JB).ravel() for E in turns])
        arms = np.stack([X @ E @ self.p_JB for E in turns])
        R = [(np.column_stack(term) @ matrices).reshape(-1, 3, 3) for term in terms]
        p = [np.column_stack(term) @ arms for term in terms]
        if self.slides:
            p = [place + np.outer(self.slides * x, X @ self.axis) for place, x in zip(p, (q, v, a), strict=True)]
        return RelativeMotion(R[0], R[1], R[2], x0 + p[0], p[1], p[2])


class Skeleton:
    """Joints and frames of the nominal robot, whose links are rigid, parents first."""

    def __init__(self, mechanism: Mechanism, meshes: Sequence[LinkMesh]) -> None:
        self.mechanism, self.meshes = mechanism, tuple(meshes)
        self.joints: tuple[str, ...] = mechanism.coordinates
        self.seats: list[JointSeat] = []
        for tie in mechanism.ties:
            raise ModelError(
                f"joint '{tie.name}': it follows joint '{self.joints[tie.leader]}'; the method lumped_fe has no ties "
                "between joints (use the method recursive)"
            )
        for member in mechanism.members:
            joint = member.joint
            screw = joint.kind.screw(joint.parameters)
            if screw is None:
                raise ModelError(
                    f"joint '{joint.name}': it is {joint.kind.name}; the method lumped_fe needs a nominal motion of "
                    "every joint, along one coordinate (use the method recursive)"
                )
            moves = bool(joint.kind.coordinates)
            self.seats.append(
                JointSeat(
                    name=joint.name,
                    parent=member.parent,
                    place=BASE_PLACE if member.parent == BASE else meshes[member.parent].frames[member.frame],
                    axis=joint.axis if moves else np.zeros(3),
                    R_FJ=joint.R_PJ,
                    p_FJ=joint.p_PJ,
                    R_JB=joint.R_JB,
                    p_JB=joint.p_JB,
                    coordinate=member.start if moves else None,
                    turns=screw[0],
                    slides=screw[1],
                    is_actuated=joint.is_actuated and moves,
                    drive=joint.drive,
                )
            )

    @property
    def driven(self) -> list[int]:
        """Places of the actuated joints among the coordinates."""
        return [s.coordinate for s in self.seats if s.is_actuated and s.coordinate is not None]

    @property
    def passive(self) -> list[int]:
        """Places of the passive joints."""
        return [s.coordinate for s in self.seats if s.is_passive and s.coordinate is not None]

    def frame(self, name: str) -> tuple[int, FramePlace]:
        """Link and place of LINK.FRAME, LINK, base, or tip (that of the robot)."""
        try:
            return self.place(*self.mechanism.frame(name)) if name != "base" else (BASE, BASE_PLACE)
        except KeyError as error:
            raise ModelError(str(error.args[0])) from None

    def place(self, link: int, frame: str) -> tuple[int, FramePlace]:
        """Link and place of a frame of a link, or of the base."""
        return (BASE, BASE_PLACE) if link == BASE else (link, self.meshes[link].frames[frame])

    def motion(self, motion: JointMotion, *, weight: bool = True) -> list[LinkMotion]:
        """Motion of every link; ``weight`` adds gravity's pull to the accelerations."""
        times = len(motion.q)
        still = np.zeros((times, 3))
        lift = np.tile(-self.mechanism.gravity if weight else np.zeros(3), (times, 1))
        one = np.broadcast_to(np.eye(3), (times, 3, 3))
        none = RelativeMotion(one, one * 0, one * 0, still, still, still)
        base = LinkMotion(one, still, still, still, still, lift, none)
        out: list[LinkMotion] = []
        for seat in self.seats:
            up = base if seat.parent == BASE else out[seat.parent]
            out.append(_carry(up, seat, motion))
        return out

    def pose(self, links: Sequence[LinkMotion], link: int, place: FramePlace) -> tuple[Floats, Floats]:
        """Position (times, 3) and rotation (times, 3, 3) of a frame in the base."""
        if link == BASE:
            times = len(links[0].p)
            return np.zeros((times, 3)), np.broadcast_to(np.eye(3), (times, 3, 3))
        body = links[link]
        return body.p + body.R @ place.p, body.R @ place.R


def cross(a: Floats, b: Floats) -> Floats:
    """Cross products of vectors (..., 3); much faster than numpy's for many short ones."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    out[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    out[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return out


def _carry(up: LinkMotion, seat: JointSeat, motion: JointMotion) -> LinkMotion:
    rel = seat.relative(motion)
    back = np.swapaxes(rel.R, 1, 2)
    column = seat.column[3:]
    if seat.coordinate is None:
        rate = acceleration = np.zeros((len(motion.q), 1))
    else:
        rate, acceleration = (x[:, [seat.coordinate]] for x in (motion.v, motion.a))

    def down(x: Floats) -> Floats:
        return np.asarray(np.einsum("tij,tj->ti", back, x))

    w_up = down(up.w)
    velocity = up.v + cross(up.w, rel.p) + rel.p_dot
    swing = cross(up.w_dot, rel.p) + cross(up.w, cross(up.w, rel.p))
    a = up.a + swing + 2 * cross(up.w, rel.p_dot) + rel.p_ddot
    return LinkMotion(
        up.R @ rel.R,
        up.p + np.einsum("tij,tj->ti", up.R, rel.p),
        down(velocity),
        w_up + rate * column,
        down(up.w_dot) + cross(w_up, rate * column) + acceleration * column,
        down(a),
        rel,
    )
