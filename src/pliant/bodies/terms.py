"""What a method may know of a body: its terms. Every kind of body gives the same ones, on whatever scalars it is given.

All terms are in the axes of the body's root frame and about its origin; q_e are its elastic coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Matrix, Vector, add, column, cross, dot, product, scale, times


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


class Bias(NamedTuple):
    """Force, moment about the origin and elastic forces at zero acceleration."""

    force: Vector
    moment: Vector
    elastic: Vector


class Spin(NamedTuple):
    """The angular Jacobian of a frame as a product, J_w = axes @ angles: each factor is sparse, their product is not.

    axes    (3, k)  angular velocity per unit rate of an angle
    angles  (k, n)  rates of the angles per unit rate of the elastic coordinates
    """

    axes: Matrix
    angles: Matrix

    @property
    def J_w(self) -> Matrix:
        """(3, n)"""
        return product(self.axes, self.angles)


class FrameTerms(NamedTuple):
    """Motion of a frame that is fixed to a section of a body, relative to the body's root frame.

    r           (3,)    position
    R           (3, 3)  rotation of the section from where it is in the undeformed body; None: it cannot turn
    J_v         (3, n)  velocity per unit rate of the elastic coordinates
    spin                angular velocity per unit rate; None: it cannot turn
    rate_v      J_v v_e
    twice_v     2 J_v v_e, the factor of the Coriolis acceleration
    rate_w      J_w v_e
    bias_v      accelerations where those of the elastic coordinates are zero
    bias_w
    """

    r: Vector
    R: Matrix | None
    J_v: Matrix
    spin: Spin | None
    rate_v: Vector
    twice_v: Vector
    rate_w: Vector
    bias_v: Vector
    bias_w: Vector


class Body(Protocol):
    """The terms of a body. A section is whatever the body itself needs to know of a frame of its own."""

    def inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias]:
        """Mass blocks and bias on (a_v, a_w, a_e); w is the angular velocity of the root frame."""
        ...

    def frame(self, section: Any, q_e: Vector, v_e: Vector) -> FrameTerms:
        """Motion of a frame of the body."""
        ...

    def energy(self, q_e: Vector) -> Scalar:
        """Energy of strain."""
        ...

    def first_moment(self, q_e: Vector) -> Vector:
        """int r dm of the deformed body."""
        ...

    def loss(self, v_e: Vector) -> Scalar:
        """Power that structural damping takes."""
        ...


@runtime_checkable
class BendingBody(Body, Protocol):
    """A body that is followed from station to station, once for a state: its frames and its inertia share that.

    stations      constants of the stations
    looped        whether compiled code is to be a loop over them
    holds_frames  whether they are needed for frames too
    chained       whether a station takes something from the one before it
    """

    @property
    def stations(self) -> Sequence[Any]: ...
    @property
    def holds_frames(self) -> bool: ...
    @property
    def looped(self) -> bool: ...
    @property
    def chained(self) -> bool: ...

    def bend(self, station: Any, before: Any, q_e: Vector, v_e: Vector) -> Any:
        """A station at a state, from the one before it (None: it is the first)."""
        ...

    def load(self, station: Any, here: Any, every: list[Any], before: Any, q_e: Vector, v_e: Vector) -> Any:
        """What inertia needs of the stations up to one, from all that were bent and what is known up to the last."""
        ...

    def at(self, stations: list[Any], loaded: list[Any]) -> Body:
        """The body where everything is wanted at the state of its stations, and of what inertia needs (or nothing)."""
        ...


@runtime_checkable
class WideBody(Body, Protocol):
    """A body whose inertia is simpler on more accelerations than its coordinates have."""

    def wide_inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias, Matrix]:
        """Mass blocks and bias on (a_v, a_w, a_e, z), and G with z = G a_e."""
        ...


def momenta(b: Blocks, a_v: Vector, a_w: Vector, a_e: Vector) -> tuple[Vector, Vector, Vector]:
    """Mass matrix times accelerations or rates, for a single body (A is m times identity)."""
    m = b.A[0][0]
    ms = [b.B[1][2], b.B[2][0], b.B[0][1]]
    force = add(scale(m, a_v), cross(a_w, ms), times(b.E_v, a_e))
    moment = add(cross(ms, a_v), times(b.C, a_w), times(b.E_w, a_e))
    elastic = [dot(column(b.E_v, k), a_v) + dot(column(b.E_w, k), a_w) + dot(b.M_e[k], a_e) for k in range(len(a_e))]
    return force, moment, elastic
