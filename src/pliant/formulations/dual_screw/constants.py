"""A link as the linearised equations see it: nested lists of scalars, everything elastic expanded to first order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pliant.algorithm import Role
from pliant.bodies.joint_drive import JointDrive
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Matrix, Vector
from pliant.tree.tree import TreeLink


class DualSeat(NamedTuple):
    """The place on the parent's body where a link's joint sits, (45)-(50).

    position  of the section's point in the undeformed parent   (3,)
    offset    from there to the joint frame, turns with it      (3,)
    R0        axes of the joint frame in the undeformed parent  (3, 3)
    angle     of the link's frame about the joint axis at zero joint coordinate
    slides    velocity of the point per unit elastic rate       (3, n)
    angles    theta per unit elastic coordinate                 (3, n)
    turn      the angular velocity is (1 + sum_j theta_j turn_j) theta_dot, (3, 3, 3); zero as printed
    curl      change of ``slides`` per unit elastic coordinate  (n, 3, n); zero for linear shapes
    wind      the same of the angular velocity beyond ``turn``  (n, 3, n); zero but for rods that wind in space
    """

    position: Vector
    offset: Vector
    R0: Matrix
    angle: Scalar
    slides: Matrix
    angles: Matrix
    turn: list[Matrix]
    curl: list[Matrix]
    wind: list[Matrix]

    @staticmethod
    def roles() -> dict[str, Role]:
        """Axes at right angles, unit tip values and rules of rotation are structure."""
        exact: dict[str, Role] = dict.fromkeys(("R0", "slides", "angles", "turn"), "exact")
        return {**exact, "angle": "alone"}


class LinearBody(NamedTuple):
    """A body about its root frame: mass blocks and bias forces to first order in (q, v) = its elastic state.

    With the angular velocity w and small q, v, where k and i run over the elastic coordinates:

    mass                 m
    first, first_modal   m s = first + first_modal q;  force = w x (w x m s + 2 first_modal v) + ...
    E_v1                 E_v = first_modal + sum_i q_i E_v1_i                    (n, 3, n)
    C0, C1               inertia tensor C = C0 + sum_k q_k C1_k                  (3, 3), (n, 3, 3)
    E_w0, E_w1           E_w = E_w0 + sum_i q_i E_w1_i                           (3, n), (n, 3, n)
    M_e0, M_e1           M_e = M_e0 + sum_i q_i M_e1_i                           (n, n), (n, n, n)
    G                    moment = w x C w + sum_k v_k G_k w                      (n, 3, 3)
    N0, N1, L            elastic force k = -w^T (N0_k + sum_i q_i N1_ik) w + sum_i v_i L_ik . w + (K q + D v)_k
    K, D                 stiffness and damping                                   (n, n)
    """

    mass: Scalar
    first: Vector
    first_modal: Matrix
    E_v1: list[Matrix]
    C0: Matrix
    C1: list[Matrix]
    E_w0: Matrix
    E_w1: list[Matrix]
    M_e0: Matrix
    M_e1: list[Matrix]
    G: list[Matrix]
    N0: list[Matrix]
    N1: list[list[Matrix]]
    L: list[Matrix]
    K: Matrix
    D: Matrix

    @staticmethod
    def roles() -> dict[str, Role]:
        """Damping takes energy."""
        return {"D": "loss"}


class DualConstants(NamedTuple):
    """Seat on the parent, what acts along the joint, the body, and damping that couples links (see LinkConstants)."""

    seat: DualSeat
    drive: JointDrive
    joint: Vector
    body: LinearBody
    drag: Matrix

    @staticmethod
    def roles() -> dict[str, Role]:
        """Damping takes energy."""
        return {"drag": "loss"}


@dataclass(frozen=True, eq=False)
class DualLink(TreeLink):
    """A link of the tree with its linearised constants."""

    expanded: DualConstants | None = None

    @cached_property
    def constants(self) -> DualConstants:  # type: ignore[override]
        """Everything in numbers that the linearised equations read."""
        assert self.expanded is not None
        return self.expanded

    @property
    def numbers(self) -> DualConstants:  # type: ignore[override]
        """The same."""
        return self.constants
