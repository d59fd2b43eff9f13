"""What acts on each link of a moving robot: its own inertia, and the wrenches of all that hangs on its frames.

For every link the motion of its own frame B, the wrench at each of its frames (of links and payloads that it carries,
of loads and closures of loops), and that of its joint. Everything follows from Newton and Euler, from the tips inwards,
for many states at once. From it come forces and moments in sections of beams, and stresses of links of any shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.constants import offset_of, section_of, terms_of
from pliant.bodies.section_forces import Hung
from pliant.bodies.terms import Bias, Blocks, FrameTerms

if TYPE_CHECKING:
    from pliant.analysis.statics import FrameLoad
    from pliant.dynamics import Dynamics
    from pliant.mechanism import Member, Part

Floats = NDArray[np.float64]

Acting = Sequence[tuple[str, Floats]]
"""Wrenches on frames in all states: name of the frame, force and moment in base axes (states, 6)."""


@dataclass(frozen=True)
class LinkLoads:
    """A link in some states, in the axes of its own frame B and about its origin.

    lift        acceleration of B's origin less gravity       m/s^2    (states, 3)
    w, alpha    angular velocity and acceleration of B        rad/s, rad/s^2
    hung        wrenches at its frames
    joint       force and moment of its joint on it           N, N m   (states, 3) each
    q_e, v_e    its elastic coordinates and their rates       (states, n)
    elastic     generalised forces of all loads on its elastic coordinates, inertia of its own vibration apart
    a_e, shaken  accelerations of its elastic coordinates, and the generalised forces M_e a_e of that inertia
    """

    member: Member
    lift: Floats
    w: Floats
    alpha: Floats
    hung: tuple[Hung, ...]
    joint: tuple[Floats, Floats]
    q_e: Floats
    v_e: Floats
    elastic: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    a_e: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    shaken: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def at_once(self) -> Floats:
        """The elastic coordinates at which these loads would hold the link at rest (states, n)."""
        return self.bent_by(self.elastic)

    def bent_by(self, forces: Floats) -> Floats:
        """The elastic coordinates at which generalised forces (states, n) would hold the link at rest."""
        K = self.member.body.K_ee
        return np.asarray(forces @ np.linalg.pinv(K, hermitian=True).T) if K.size else forces


def link_loads(arm: Dynamics, q: Floats, v: Floats, a: Floats, acting: Acting = ()) -> dict[str, LinkLoads]:
    """Link -> what acts on it, in states (states, n) with accelerations a.

    acting  what loads and closures of loops exert on frames
    """
    members = arm.mechanism.members
    poses = arm.link_poses(q)
    order = {link.name: i for i, link in enumerate(arm.robot.links)}
    places: dict[int, list[tuple[str, Floats, Floats]]] = {i: [] for i in range(len(members))}
    for name, wrench in acting:
        i, frame = arm.mechanism.frame(name)
        places[i].append((frame, wrench[:, :3], wrench[:, 3:]))
    found: dict[str, LinkLoads] = {}
    for i, member in reversed(list(enumerate(members))):
        R, p = poses.rotation[:, order[member.name]], poses.position[:, order[member.name]]
        own = _Motion(arm, member, R, q, v, a)
        hung: list[Hung] = []
        for frame, force, moment in places[i]:
            at = arm.pose(f"{member.name}.{frame}", q).position
            hung.append(Hung(frame, *(_into(R, x) for x in (at - p, force, moment))))
        for part in member.parts:
            hung.append(_of_part(arm, member, part, R, p, q, v, a))
        force, moment = own.needed()
        for each in hung:
            force = force - each.force
            moment = moment - each.moment - np.cross(each.place, each.force)
        pulled = own.elastic(hung, force, moment)
        found[member.name] = LinkLoads(
            member,
            own.lift,
            own.w,
            own.alpha,
            tuple(hung),
            (force, moment),
            own.q_e,
            own.v_e,
            pulled,
            own.a_e,
            own.shaken(),
        )
        if member.parent >= 0:
            # the parent gets what the joint needs, at its frame
            at = arm.pose(f"{members[member.parent].name}.{member.frame}", q).position
            held, turned = _out(R, force), _out(R, moment)
            places[member.parent].append((member.frame, -held, -(turned + np.cross(p - at, held))))
    return {member.name: found[member.name] for member in members}


def acting_of(arm: Dynamics, q: Floats, loads: Sequence[FrameLoad]) -> list[tuple[str, Floats]]:
    """Loads on frames as wrenches in base axes, for each state (states, n)."""
    out: list[tuple[str, Floats]] = []
    for load in loads:
        w = np.broadcast_to(load.value, (len(q), 6)).copy()
        if load.follows:
            R = arm.pose(load.frame, q).rotation
            w = np.concatenate([_out(R, w[:, :3]), _out(R, w[:, 3:])], axis=1)
        out.append((load.frame, w))
    return out


def closing_of(arm: Dynamics, q: Floats, v: Floats, a: Floats, f: Floats, *, given: bool) -> list[tuple[str, Floats]]:
    """Wrenches of the closures of loops in base axes, for each state; ``f`` as in ``Dynamics.closing_wrenches``."""
    if not arm.loops.rows:
        return []
    each = [arm.closing_wrenches(*state, given=given) for state in zip(q, v, a, f, strict=True)]
    return [(frame, np.array([wrenches[k][1] for wrenches in each])) for k, (frame, _) in enumerate(each[0])]


def _into(R: Floats, x: Floats) -> Floats:
    """Vectors in base axes (states, 3), in those of frames with axes R (states, 3, 3)."""
    return np.asarray(np.einsum("kji,kj->ki", R, x))


def _out(R: Floats, x: Floats) -> Floats:
    """Vectors in the axes of frames (states, 3), in base axes."""
    return np.asarray(np.einsum("kij,kj->ki", R, x))


def _of_part(arm: Dynamics, member: Member, part: Part, R: Floats, p: Floats, q: Floats, v: Floats, a: Floats) -> Hung:
    """What a hub or a payload exerts on its link: the opposite of what it needs to move so."""
    name = f"{member.name}.{part.frame}"
    at, moved, w = arm.pose(name, q), arm.acceleration(name, q, v, a), arm.velocity(name, q, v).angular
    w, alpha, lift = (_into(at.rotation, x) for x in (w, moved.angular, moved.linear - arm.mechanism.gravity))
    c = np.broadcast_to(part.com, w.shape)
    force = part.mass * (lift + np.cross(alpha, c) + np.cross(w, np.cross(w, c)))
    moment = alpha @ part.inertia + np.cross(w, w @ part.inertia) + np.cross(c, force)
    held, turned = (_into(R, _out(at.rotation, x)) for x in (force, moment))
    return Hung(part.frame, _into(R, at.position - p), -held, -turned)


class _Motion:
    """The body of a member: how its frame B moves, and its terms at these states."""

    def __init__(self, arm: Dynamics, member: Member, R: Floats, q: Floats, v: Floats, a: Floats) -> None:
        self.member, self.rule = member, arm.mechanism.rule
        self.q_e, self.v_e, self.a_e = (x[:, member.elastic] for x in (q, v, a))
        self.terms = terms_of(member.body, self.rule)
        root = f"{member.name}.root"
        moved, w = arm.acceleration(root, q, v, a), arm.velocity(root, q, v).angular
        w, alpha, lift = (_into(R, x) for x in (w, moved.angular, moved.linear - arm.mechanism.gravity))
        # where the root moves in B, as with pinned shapes, B moves otherwise than it does
        at = self.frame("root")
        if member.body.moves("root"):
            w = w - at.w
            alpha = alpha - at.alpha - np.cross(w, at.w)
            lift = lift - 2 * np.cross(w, at.v) - at.a
        lift = lift - np.cross(alpha, at.r) - np.cross(w, np.cross(w, at.r))
        self.w, self.alpha, self.lift = w, alpha, lift
        self.blocks, self.bias = self._inertia()

    def _columns(self, x: Floats) -> list[Floats]:
        return list(np.ascontiguousarray(x.T))

    def frame(self, name: str) -> _InBody:
        """Motion of a frame in B."""
        body = self.member.body
        section = section_of(body, name, self.rule)
        terms = self.terms.frame(section, self._columns(self.q_e), self._columns(self.v_e))
        return _InBody(terms, np.array(offset_of(body, name)), self.a_e)

    def _inertia(self) -> tuple[Blocks, Bias]:
        q_e, v_e, w = (self._columns(x) for x in (self.q_e, self.v_e, self.w))
        return self.terms.inertia(q_e, v_e, w)

    def needed(self) -> tuple[Floats, Floats]:
        """Force and moment that the body needs to move so (states, 3)."""
        N = len(self.w)
        A, B, C, E_v, E_w = (_stacked(x, N) for x in self.blocks[:5])
        bias_v, bias_w = (_stacked([x], N)[:, 0] for x in self.bias[:2])
        force = _times(A, self.lift) + _times(B, self.alpha) + bias_v
        moment = np.einsum("kji,kj->ki", B, self.lift) + _times(C, self.alpha) + bias_w
        if self.member.body.size:
            force, moment = force + _times(E_v, self.a_e), moment + _times(E_w, self.a_e)
        return force, moment

    def shaken(self) -> Floats:
        """Generalised forces of the inertia of vibration, M_e a_e (states, n)."""
        return _times(_stacked(self.blocks.M_e, len(self.w)), self.a_e) if self.member.body.size else self.a_e

    def elastic(self, hung: Sequence[Hung], force: Floats, moment: Floats) -> Floats:
        """Generalised forces on the elastic coordinates of all but strain, damping and the inertia of vibration."""
        N, body = len(self.w), self.member.body
        if not body.size:
            return np.zeros((N, 0))
        E_v, E_w = (_stacked(x, N) for x in (self.blocks.E_v, self.blocks.E_w))
        bias = _stacked([self.bias.elastic], N)[:, 0] - self.q_e @ body.K_ee.T - self.v_e @ body.D_ee.T
        total = -np.einsum("kij,ki->kj", E_v, self.lift) - np.einsum("kij,ki->kj", E_w, self.alpha) - bias
        at = {name: self.frame(name) for name in {each.frame for each in hung}}
        for each in hung:
            total = total + at[each.frame].pulled(each.force, each.moment)
        if body.moves("root"):
            root = self.frame("root")
            total = total + root.pulled(force, moment - np.cross(root.r, force))
        return np.asarray(total)


class _InBody:
    """Motion of a frame relative to the frame B of its body, in B's axes, in some states."""

    def __init__(self, terms: FrameTerms, offset: Floats, a_e: Floats) -> None:
        N = len(a_e)
        self.J_v = _stacked(terms.J_v, N)
        self.J_w = np.zeros_like(self.J_v) if terms.spin is None else _stacked(terms.spin.J_w, N)
        r, v, a, w, alpha = (
            _stacked([x], N)[:, 0] for x in (terms.r, terms.rate_v, terms.bias_v, terms.rate_w, terms.bias_w)
        )
        lever = np.broadcast_to(offset, r.shape)
        if terms.R is not None and np.count_nonzero(offset):
            lever = _times(_stacked(terms.R, N), lever)
        self.w, self.alpha = w, alpha + _times(self.J_w, a_e)
        self.r, self.v = r + lever, v + np.cross(w, lever)
        self.a = a + _times(self.J_v, a_e) + np.cross(self.alpha, lever) + np.cross(w, np.cross(w, lever))
        self.lever = lever

    def pulled(self, force: Floats, moment: Floats) -> Floats:
        """Generalised forces of a wrench on it (states, n)."""
        about = moment + np.cross(self.lever, force)
        return np.asarray(np.einsum("kij,ki->kj", self.J_v, force) + np.einsum("kij,ki->kj", self.J_w, about))


def _stacked(rows: Sequence[Sequence[object]], states: int) -> Floats:
    """Nested lists of numbers and columns of states as one array (states, rows, entries)."""
    out = np.zeros((states, len(rows), len(rows[0]) if len(rows) else 0))
    for i, row in enumerate(rows):
        for k, x in enumerate(row):
            out[:, i, k] = x  # type: ignore[call-overload]
    return out


def _times(A: Floats, x: Floats) -> Floats:
    return np.asarray(np.einsum("kij,kj->ki", A, x))
