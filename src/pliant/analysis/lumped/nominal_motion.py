"""The nominal motion: the robot with rigid links, at many instants at once, with its loops closed.

All results are in the axes of the link they belong to; leading axes are times. Gravity is an acceleration of the
base. Actuated joints move as they shall; passive joints follow from the rows that hold two frames together:
displacements along base axes, turns about base axes, and tilts about the two axes of the first frame that are normal
to a hinge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.analysis.lumped.mesh import FramePlace, NodedLink
from pliant.analysis.lumped.node_equations import Floats, tilde
from pliant.errors import ModelError
from pliant.mechanism import BASE
from pliant.spatial.vectors import dot, identity3, turn_about

if TYPE_CHECKING:
    from pliant.joints.kind import JointDrive, JointKind
    from pliant.mechanism import LoopEnds, Mechanism, MemberJoint

BASE_PLACE = FramePlace(0, np.zeros(3), np.eye(3))


class JointMotion(NamedTuple):
    """Positions, rates and accelerations of all joint coordinates (times, joints)."""

    q: Floats
    v: Floats
    a: Floats


class RelativeMotion(NamedTuple):
    """A link frame in that of its parent, with two derivatives of the components: R (times, 3, 3), p (times, 3).

    w, w_dot  angular velocity against the parent and its derivative, link axes (times, 3)
    """

    R: Floats
    R_dot: Floats
    R_ddot: Floats
    p: Floats
    p_dot: Floats
    p_ddot: Floats
    w: Floats
    w_dot: Floats

    def at(self, t: int) -> RelativeMotion:
        """The motion at one instant."""
        return RelativeMotion(*(x[t : t + 1] for x in self))


class LinkMotion(NamedTuple):
    """Motion of a link frame: pose in the base; twist, acceleration and pull of gravity in link axes (times, 3).

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
        """The motion at one instant."""
        R, p, v, w, w_dot, a = (x[t : t + 1] for x in self[:6])
        return LinkMotion(R, p, v, w, w_dot, a, self.relative.at(t))


@dataclass(frozen=True, eq=False, slots=True)
class JointSeat:
    """A joint between a frame of the parent and a link.

    What it leaves free are turns about axes and slides along them, m of them, none if it is fixed. A spherical or free
    joint has a rotation vector among its coordinates; small displacements beside the nominal motion are along and about
    axes that the link takes along, whatever the coordinates are.

    coordinates  places among the joint coordinates (m,)
    axes         (m, 3) in the joint frame J; of several they are those of the moved one
    turns        (m,) angle about each axis per unit of displacement
    slides       (m,) way along each axis
    drive        what acts along it
    columns      (6, m) displacement of the link frame per unit of displacement, link axes
    """

    name: str
    parent: int
    place: FramePlace
    kind: type[JointKind]
    parameters: tuple[float, ...]
    axes: Floats
    R_FJ: Floats
    p_FJ: Floats
    R_JB: Floats
    p_JB: Floats
    coordinates: tuple[int, ...]
    turns: Floats
    slides: Floats
    is_actuated: bool
    drive: JointDrive

    @property
    def columns(self) -> Floats:
        axes = self.axes @ self.R_JB
        levers = self.slides[:, None] * axes + self.turns[:, None] * np.cross(axes, self.R_JB.T @ self.p_JB)
        return np.vstack([levers.T, (self.turns[:, None] * axes).T])

    @property
    def is_passive(self) -> bool:
        """Whether it moves by itself."""
        return bool(self.coordinates) and not self.is_actuated

    @property
    def is_single(self) -> bool:
        """Whether it has at most one coordinate, along which motors, springs and friction act."""
        return len(self.coordinates) < 2

    def speeds(self, motion: JointMotion) -> Floats:
        """Rates of the displacements in the nominal motion (times, m): angular velocities in the place of angles."""
        v = motion.v[:, list(self.coordinates)]
        if self.is_single:
            return v
        kind = self.kind()
        moved = kind.motion(list(motion.q[:, list(self.coordinates)].T), list(v.T), 0.0, self.parameters)
        return _filled(kind.along(moved.state, list(v.T)), len(v))

    def relative(self, motion: JointMotion) -> RelativeMotion:
        """The link frame as the joint places it on the parent's frame."""
        X, x0 = self.place.R @ self.R_FJ, self.place.p + self.place.R @ self.p_FJ
        q, v, a = (x[:, list(self.coordinates)] for x in motion)
        if not self.is_single:
            return self._relative_of_several(X, x0, q, v, a)
        axis = self.axes[0] if len(self.axes) else np.zeros(3)
        turns, slides = (float(x[0]) if len(x) else 0.0 for x in (self.turns, self.slides))
        q, v, a = (x[:, 0] if len(self.axes) else np.zeros(len(x)) for x in (q, v, a))
        # Rodrigues: E = 1 + sin q n~ + (1 - cos q) n~ n~, on constant factors
        axis_ = tilde(axis)
        powers = (np.eye(3), axis_, axis_ @ axis_)
        turn, rate, change = (turns * x for x in (q, v, a))
        s, c, zero = np.sin(turn), np.cos(turn), np.zeros_like(q)
        terms = (
            (1 + zero, s, 1 - c),
            (zero, c * rate, s * rate),
            (zero, c * change - s * rate * rate, s * change + c * rate * rate),
        )
        matrices = np.stack([(X @ E @ self.R_JB).ravel() for E in powers])
        arms = np.stack([X @ E @ self.p_JB for E in powers])
        R = [(np.column_stack(term) @ matrices).reshape(-1, 3, 3) for term in terms]
        p = [np.column_stack(term) @ arms for term in terms]
        if slides:
            p = [place + np.outer(slides * x, X @ axis) for place, x in zip(p, (q, v, a), strict=True)]
        w, w_dot = (np.outer(x, self.R_JB.T @ axis) for x in (rate, change))
        return RelativeMotion(R[0], R[1], R[2], x0 + p[0], p[1], p[2], w, w_dot)

    def _relative_of_several(self, X: Floats, x0: Floats, q: Floats, v: Floats, a: Floats) -> RelativeMotion:
        """By the motion that the kind of joint knows, whose axis is z of its own frame."""
        times, kind = len(q), self.kind()
        moved = kind.motion(list(q.T), list(v.T), 0.0, self.parameters)
        along = kind.along(moved.state, list(a.T))
        further = [dot([column[i] for column in kind.columns(self.parameters)], along) for i in range(6)]
        turn, R = moved.place.turn, moved.place.R
        if turn is not None:
            R = turn_about(turn.axis, turn.c, turn.s, identity3())
        S = _onto_axis(self.axes[0]) if kind.has_axis() else np.eye(3)
        E = S @ np.moveaxis(np.array([_filled(row, times) for row in R or identity3()]), 0, 1) @ S.T

        def own(x: Sequence[Any]) -> Floats:
            return _filled(x, times) @ S.T

        def seen(x: Floats) -> Floats:
            """From axes of the moved joint frame to those of its seat."""
            return np.asarray(np.einsum("tij,tj->ti", E, x))

        w = own(moved.w)
        w_dot = own(further[3:]) + own(moved.bias_w)
        d = [own(moved.place.p), own(moved.p_rate) + seen(own(moved.v)), seen(own(further[:3]) + own(moved.bias_v))]
        w_, wd_ = tilde(w), tilde(w_dot)
        turned = (E, E @ w_, E @ (w_ @ w_ + wd_))
        R3 = [X @ part @ self.R_JB for part in turned]
        p3 = [(part + step @ self.p_JB) @ X.T for part, step in zip(d, turned, strict=True)]
        return RelativeMotion(
            R3[0], R3[1], R3[2], x0 + p3[0], p3[1], p3[2], w @ self.R_JB, w_dot @ self.R_JB
        )  # fmt: skip


def _filled(parts: Sequence[Any], times: int) -> Floats:
    """Numbers and arrays (times,) side by side (times, k)."""
    return np.stack([np.broadcast_to(np.asarray(x, dtype=float), times) for x in parts], axis=-1)


def _onto_axis(axis: Floats) -> Floats:
    """A rotation that brings z onto an axis."""
    first, second = np.linalg.svd(axis[None])[2][1:]
    sense = np.sign(np.linalg.det(np.array([first, second, axis])))
    return np.array([first, sense * second, axis]).T


def _freedoms(joint: MemberJoint) -> tuple[Floats, Floats, Floats]:
    """Axes (m, 3) of what a joint leaves free, in its frame, and turns and slides (m,) per unit along each."""
    axes, turns, slides = [], [], []
    for column in joint.kind().columns(joint.parameters):
        linear, angular = np.array(column[:3], dtype=float), np.array(column[3:], dtype=float)
        axis = joint.axis if joint.kind.has_axis() else np.abs(linear if linear.any() else angular)
        # of a kind with an axis the columns are along z
        along = np.array([0.0, 0.0, 1.0]) if joint.kind.has_axis() else axis
        axes.append(axis)
        turns.append(float(along @ angular))
        slides.append(float(along @ linear))
    return np.array(axes).reshape(-1, 3), np.array(turns), np.array(slides)


class Skeleton:
    """Joints and frames of the nominal robot, whose links are rigid, parents first."""

    def __init__(self, mechanism: Mechanism, meshes: Sequence[NodedLink]) -> None:
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
            axes, turns, slides = _freedoms(joint)
            self.seats.append(
                JointSeat(
                    name=joint.name,
                    parent=member.parent,
                    place=BASE_PLACE if member.parent == BASE else meshes[member.parent].frames[member.frame],
                    kind=joint.kind,
                    parameters=joint.parameters,
                    axes=axes,
                    R_FJ=joint.R_PJ,
                    p_FJ=joint.p_PJ,
                    R_JB=joint.R_JB,
                    p_JB=joint.p_JB,
                    coordinates=tuple(range(member.start, member.start + len(axes))),
                    turns=turns,
                    slides=slides,
                    is_actuated=joint.is_actuated and bool(len(axes)),
                    drive=joint.drive,
                )
            )
        if not mechanism.loops:
            _require_held(self, np.zeros((1, 0, len(self.passive))))

    @property
    def driven(self) -> list[int]:
        """Places of the actuated joints among the coordinates."""
        return [k for s in self.seats if s.is_actuated for k in s.coordinates]

    @property
    def passive(self) -> list[int]:
        """Places of the passive joints."""
        return [k for s in self.seats if s.is_passive for k in s.coordinates]

    def frame(self, name: str) -> tuple[int, FramePlace]:
        """Link and place of LINK.FRAME, LINK, a node as LINK.NUMBER, base, or tip (that of the robot)."""
        try:
            return self.place(*self.mechanism.frame(name)) if name != "base" else (BASE, BASE_PLACE)
        except KeyError as error:
            link, _, number = name.rpartition(".")
            index = next((i for i, mesh in enumerate(self.meshes) if mesh.name == link), None)
            if index is None or not number.isdecimal():
                raise ModelError(str(error.args[0])) from None
            mesh, node = self.meshes[index], int(number)
            if node >= mesh.nodes:
                raise ModelError(
                    f"link '{link}' has no node {node}; its nodes are 0 (the root) to {mesh.nodes - 1}"
                ) from None
            return index, FramePlace(node, mesh.bodies.x[node], np.eye(3))

    def place(self, link: int, frame: str) -> tuple[int, FramePlace]:
        """Link and place of a frame of a link, or of the base."""
        return (BASE, BASE_PLACE) if link == BASE else (link, self.meshes[link].frames[frame])

    def motion(self, motion: JointMotion, *, weight: bool = True) -> list[LinkMotion]:
        """Motion of every link; ``weight`` adds gravity's pull to the accelerations."""
        times = len(motion.q)
        still = np.zeros((times, 3))
        lift = np.tile(-self.mechanism.gravity if weight else np.zeros(3), (times, 1))
        one = np.broadcast_to(np.eye(3), (times, 3, 3))
        none = RelativeMotion(one, one * 0, one * 0, still, still, still, still, still)
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
        w_up + rel.w,
        down(up.w_dot) + cross(w_up, rel.w) + rel.w_dot,
        down(a),
        rel,
    )


# ---- closed chains

CLOSED = 1e-12
"""Gap (m, rad) of a loop that is closed."""
MOST_STEPS = 30
STRIDES = 60
"""Instants at which a motion is followed one after the other."""
SINGULAR = 1e-9
"""Smallest singular value of the passive joints' rows, relative to the largest, that still determines them."""
LOOSE = 1e-6
"""Part of a motion that the loops do not hold by which a free link moves."""
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
    # all joints at once: as many motions, one after the other
    times, many = len(q), len(columns)
    v = np.zeros((many, *q.shape))
    v[np.arange(many), :, columns] = 1.0
    every = JointMotion(np.tile(q, (many, 1)), v.reshape(many * times, -1), np.zeros((many * times, q.shape[1])))
    return np.moveaxis(_rates(skeleton, loops, every)[0].reshape(many, times, -1), 0, 2)


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
    _require_held(skeleton, J)
    inverse = np.linalg.pinv(J)
    v[:, passive] = -np.einsum("tpr,tr->tp", inverse, _rates(skeleton, loops, JointMotion(q, v, a))[0])
    a[:, passive] = -np.einsum("tpr,tr->tp", inverse, _rates(skeleton, loops, JointMotion(q, v, a))[1])
    return JointMotion(q, v, a)


def _require_held(skeleton: Skeleton, J: Floats) -> None:
    """Refuse a free link that no loop holds: nothing says how it moves nominally."""
    floating = [s for s in skeleton.seats if s.is_passive and s.kind.symbol.floats]
    if not floating:
        return
    _, sizes, right = np.linalg.svd(J[0])
    rank = int((sizes > SINGULAR * sizes.max(initial=0.0)).sum())
    for seat in floating:
        own = [skeleton.passive.index(k) for k in seat.coordinates]
        if np.abs(right[rank:, own]).max(initial=0.0) > LOOSE:
            raise ModelError(
                f"joint '{seat.name}': it is {seat.kind.name}, and no loop determines how its link moves; the method "
                "lumped_fe needs a nominal motion of every joint (use the method recursive, or close loops through it)"
            )


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
