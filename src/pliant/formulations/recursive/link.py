"""One link as the recursions see it: its structure, and its constants as nested lists of scalars.

The constants may be floats (the readable reference), complex or batched numbers, or traced parameters; the
structure decides which operations exist at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Matrix, Vector

JointType = Literal["revolute", "prismatic", "fixed"]


@dataclass(frozen=True, slots=True)
class LinkKind:
    """The structure of a link: no numbers that a design sweep would change.

    axis   0, 1 or 2: the joint turns about (slides along) this axis of the link's own frame
    sign   +1 or -1: sense of the joint coordinate about that axis
    """

    joint: JointType
    axis: int
    sign: float
    rotation: str
    size: int
    parent_size: int
    on_base: bool

    @property
    def coordinates(self) -> int:
        """Number of coordinates of the link: its joint's, then its elastic ones."""
        return self.size + (self.joint != "fixed")


class Seat(NamedTuple):
    """The place on the parent's body where a link's joint sits (axes of the parent's body).

    The attachment point is at position + Phi_d q_e and turns by E = rot(Phi_r q_e); the joint frame is at
    the attachment point + E offset, with axes E R0. ``axes`` turns the section axes in which Phi_r is given
    into the parent's axes (identity but for frames that a body was re-expressed in).
    """

    position: Vector
    offset: Vector
    R0: Matrix
    Phi_d: Matrix
    Phi_r: Matrix
    axes: Matrix


class JointConstants(NamedTuple):
    """Motor inertia reflected to the joint, spring, dampers and friction, all on the joint's motor angle.

    ``offset`` is the angle of the dynamics frame about the joint axis at zero joint coordinate.
    """

    offset: Scalar
    inertia: Scalar
    stiffness: Scalar
    rest: Scalar
    damping: Scalar
    coulomb: Scalar
    smoothing: Scalar


class BodyConstants(NamedTuple):
    """The arrays of a ModalBody; see there."""

    mass: Scalar
    first: Vector
    first_modal: Matrix
    beta: Matrix
    lam: list[Matrix]
    I_rr: Matrix
    I_re: list[Matrix]
    I_ee: list[list[Matrix]]
    M_ee: Matrix
    K_ee: Matrix
    D_ee: Matrix
    section_inertia: Matrix
    section_turn: list[Matrix]
    section_axes: Matrix


class LinkConstants(NamedTuple):
    """Seat on the parent, joint, body, and the row b of the motor angle: theta + b q_e (zero if clamped)."""

    seat: Seat
    joint: JointConstants
    body: BodyConstants
    motor_row: Vector


class Blocks(NamedTuple):
    """Inertia of a body, or of all that hangs on it, about its origin: [A B; B^T C] on (acceleration, angular).

    E_v, E_w (3, n) couple to the elastic coordinates, M_e (n, n) is theirs.
    """

    A: Matrix
    B: Matrix
    C: Matrix
    E_v: Matrix
    E_w: Matrix
    M_e: Matrix
