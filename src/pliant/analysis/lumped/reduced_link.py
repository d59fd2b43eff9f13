"""Links by their own reduced coordinates among links of nodes: modal data, finite elements, exact and curved rods.

Such a link has no nodes along a straight axis; it is known by its terms (``bodies/terms.py``). Its equations about a
nominal motion are those of the link alone, floating freely, differentiated exactly at rest in its own shape: on its
coordinates (position p, rotation vector theta, q_e) in axes that coincide with the link's at the instant. With the
displacement delta and the turn alpha of the root, whose derivatives are those of components in moving link axes,

    dp = delta                     dtheta = alpha
    dp_dot = delta_dot + w~ delta      dtheta_dot = alpha_dot + w~ alpha / 2
    dp_ddot = delta_ddot + 2 w~ delta_dot + W delta
    dtheta_ddot = alpha_ddot + w~ alpha_dot + (w_dot~ / 2 + w~ w~ / 6) alpha,

and forces on theta are moments in link axes up to alpha x moment / 2. So all that its body does is there, also what
internal forces do to a body that turns and shortens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pliant.analysis.lumped.mesh import FramePlace
from pliant.analysis.lumped.node_equations import NodeBodies, NodeTerms, tilde
from pliant.analysis.statics import FrameLoad, wrench_stiffness
from pliant.bodies.words import CoordinateWord, words_of
from pliant.errors import ModelError
from pliant.formulations.robot_damping import damped
from pliant.joints.free import Free
from pliant.joints.kind import JointDrive
from pliant.mechanism import BASE, Mechanism, Member, MemberJoint, assemble
from pliant.model.description.links import Link
from pliant.model.description.robot import Robot
from pliant.tree_dynamics import TreeDynamics

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReducedLink:
    """A link with elastic coordinates q_e; its places are its root and its frames.

    words   names of its coordinates
    alone   the link, floating freely
    shapes  (places, 6, n) displacement and turn of the places per unit of the coordinates, link axes
    D       (n, n) damping, that of the link in its robot
    bodies  the places; their masses are in the equations of the link
    """

    name: str
    words: tuple[str, ...]
    alone: TreeDynamics
    bodies: NodeBodies
    shapes: Floats
    D: Floats
    frames: Mapping[str, FramePlace]
    names: tuple[str, ...]
    bending: str = "second-order"

    nodes = 1
    """The root; other places move by all coordinates."""

    @property
    def places(self) -> int:
        """Number of places: the root and all frames."""
        return len(self.shapes)

    @property
    def own(self) -> int:
        """Number of its coordinates."""
        return len(self.words)

    def from_root(self, place: int) -> Floats:
        """Displacement of a place by that of the root (6, 6)."""
        out = np.eye(6)
        out[:3, 3:] = -tilde(self.bodies.x[place])
        return out

    def by_own(self, place: int) -> tuple[list[int], Floats]:
        """Which coordinates move a place, and its displacement by them (6, k)."""
        which = np.flatnonzero(self.shapes[place].any(axis=0)).tolist()
        return which, self.shapes[place][:, which]

    def carried(self) -> csr_array:
        """Displacements (6 places) of the rigid link by that of its root (6)."""
        return csr_array(np.concatenate([self.from_root(k) for k in range(self.places)]))

    def spread(self) -> csr_array:
        """All displacements (6 places) by those of the root and the coordinates (6 + own)."""
        return csr_array(np.hstack([self.carried().toarray(), self.shapes.reshape(6 * self.places, -1)]))

    # ---- equations

    def constants(self) -> tuple[Floats, Floats, Floats]:
        """M, D and K (s, s) of the link at rest, on (root, own)."""
        still = np.zeros(6 + self.own)
        by, D = self.alone.inverse_derivatives(still, still, still), np.zeros((len(still), len(still)))
        D[6:, 6:] = self.D
        return by.a, D, by.q

    def moving_terms(self, w: Floats, w_dot: Floats, a: Floats) -> NodeTerms:
        """What a motion (3,), each in link axes, adds to damping and stiffness, and the forces F that it needs."""
        arm, size = self.alone, 6 + self.own
        still = np.zeros(size)
        v, acceleration = np.zeros((2, size))
        v[3:6], acceleration[:3], acceleration[3:6] = w, a, w_dot
        by, rest = (arm.inverse_derivatives(still, x, y) for x, y in ((v, acceleration), (still, still)))
        F = arm.forces(still, v, acceleration)
        w_, wd_ = tilde(w), tilde(w_dot)
        N1, N2 = np.zeros((2, size, size))
        N1[:3, :3], N1[3:6, 3:6] = w_, w_ / 2
        N2[:3, :3], N2[3:6, 3:6] = wd_ + w_ @ w_, wd_ / 2 + w_ @ w_ / 6
        C = by.v + 2 * by.a @ N1
        K = by.q + by.v @ N1 + by.a @ N2
        # from forces on a rotation vector to a moment in link axes
        K[3:6, 3:6] -= tilde(F[3:6]) / 2
        return NodeTerms(C - rest.v, K - rest.q, F)

    @cached_property
    def geometric(self) -> Floats:
        """(places, 6, s, s): stiffness per unit of a force or moment that a place needs, link axes."""
        size = 6 + self.own
        out, still = np.zeros((self.places, 6, size, size)), np.zeros(size)
        for name, place in self.frames.items():
            if not place.node or out[place.node].any():
                continue
            J = self.alone.jacobian(f"{self.name}.{name}", still)
            for k, unit in enumerate(np.eye(6)):
                K = wrench_stiffness(self.alone, still, [FrameLoad(f"{self.name}.{name}", unit, False, False)])
                K[3:6, 3:6] -= tilde((J.T @ unit)[3:6]) / 2
                out[place.node, k] = K
        return out


def reduced_link(link: Link, robot: Robot) -> ReducedLink:
    """A flexible link by its own coordinates."""
    mechanism = assemble(robot) if robot.damping is None else damped(robot)
    if mechanism.drag is not None:
        raise ModelError(
            f"robot '{robot.name}': a damping ratio of the whole robot couples all links, which the method lumped_fe "
            "keeps apart; give damping to the links, or use the method recursive"
        )
    member = mechanism.member(link.name)
    body = member.body
    if body.moves("root"):
        raise ModelError(
            f"link '{link.name}': its shapes move its root, and the nodes of the method lumped_fe hang on roots that "
            "the joint holds; give shapes that are zero there, or use the method recursive"
        )
    alone = TreeDynamics(robot, "recursive", False, _floating(mechanism, member))
    still, names = np.zeros(alone.size), [name for name in link.frame_names if name != "root"]
    poses = {name: alone.pose(f"{link.name}.{name}", still) for name in link.frame_names}
    x = np.array([np.zeros(3), *(poses[name].position for name in names)])
    shapes = [np.zeros((6, body.size)), *(alone.jacobian(f"{link.name}.{name}", still)[:, 6:] for name in names)]
    frames = {name: FramePlace(k, x[k], poses[name].rotation) for k, name in enumerate(names, start=1)}
    frames["root"] = FramePlace(0, poses["root"].position, poses["root"].rotation)
    count = len(x)
    bodies = NodeBodies(x, np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3, 3)))
    return ReducedLink(
        link.name, tuple(body.names), alone, bodies, np.array(shapes), body.D_ee, frames, ("root", *names)
    )  # fmt: skip


def _floating(mechanism: Mechanism, member: Member) -> Mechanism:
    """A member of a mechanism alone, with the shapes that it has there, held by nothing; without gravity."""
    one, zero, size = np.eye(3), np.zeros(3), member.body.size
    joint = MemberJoint("free", Free, one, zero, np.array([0.0, 0.0, 1.0]), one, zero, JointDrive.none(size), False)
    elastic = len(member.coordinates) - size
    words = (*(CoordinateWord(c.unit, c.word) for c in Free.coordinates), *member.words[elastic:])
    names = (*Free.names("free"), *member.coordinates[elastic:])
    alone = replace(member, parent=BASE, frame="", joint=joint, start=0, coordinates=names, words=words)
    return Mechanism(
        name=member.name, rule=mechanism.rule, members=(alone,), loops=(), ties=(), gravity=zero, actuated=(),
        B=np.zeros((len(names), 0)), tip=f"{member.name}.tip", pose=np.zeros(len(names)), aliases={},
    )  # fmt: skip


def is_reduced(link: Link, robot: Robot) -> bool:
    """Whether a link bends and cannot be made of nodes along a straight axis."""
    return link.is_flexible and words_of(link, robot).elements() is None
