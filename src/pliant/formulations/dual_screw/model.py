"""The linearised equations of motion as functions of a state: forward and inverse dynamics in every variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pliant.formulations.dual_screw.constants import DualConstants
from pliant.formulations.dual_screw.inertia import Orders, mass_matrix
from pliant.formulations.dual_screw.kane import inverse as newton_euler
from pliant.formulations.dual_screw.solving import solve, solve_symmetric
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector, add, times
from pliant.tree.tree import TreeLink


@dataclass(frozen=True, slots=True)
class DualVariant:
    """Which terms are kept.

    orders   of the mass matrix
    printed  angular velocities of sections are theta_dot and their inertia does not turn, as in the paper
    reason   why it should not be simulated; none where it may
    """

    orders: Orders
    printed: bool
    reason: str = ""


ASYMMETRIC = (
    "its mass matrix is not symmetric (columns of elastic coordinates of order zero, all others of order one), so that "
    "small motions about a bent state grow and M becomes singular during a slew; method 'dual_screw' keeps all blocks "
    "to first order and has neither"
)
VARIANTS: dict[str, DualVariant] = {
    "symmetric": DualVariant("full", False),
    "strict": DualVariant("strict", False, ASYMMETRIC),
    "literal": DualVariant("strict", True, ASYMMETRIC),
    "literal-symmetric": DualVariant("full", True),
    "frozen": DualVariant("frozen", False),
}
"""symmetric: exact first order, all blocks of M; strict: elastic accelerations count as small too; literal: strict as
printed; literal-symmetric: as printed with all blocks of M; frozen: M of the undeformed arm."""


def inverse(
    links: Sequence[TreeLink],
    constants: Sequence[DualConstants],
    gravity: Vector,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    orders: Orders = "full",
) -> Vector:
    """Generalised forces f (n,) for the accelerations a (n,)."""
    if orders != "frozen":
        return newton_euler(links, constants, gravity, q, v, a, strict=orders == "strict")
    return add(times(mass_matrix(links, constants, q, orders), a), bias(links, constants, gravity, q, v))


def bias(
    links: Sequence[TreeLink],
    constants: Sequence[DualConstants],
    gravity: Vector,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
) -> Vector:
    """h (n,): everything but M a, to first order in all elastic states."""
    return newton_euler(links, constants, gravity, q, v, [0.0] * len(q))


def forward(
    links: Sequence[TreeLink],
    constants: Sequence[DualConstants],
    gravity: Vector,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    f: Sequence[Scalar],
    orders: Orders = "full",
) -> Vector:
    """Accelerations a (n,) for the generalised forces f (n,)."""
    M = mass_matrix(links, constants, q, orders)
    h = bias(links, constants, gravity, q, v)
    right = [x - y for x, y in zip(f, h, strict=True)]
    if orders != "strict":
        return solve_symmetric(M, right)
    # the block of the elastic coordinates is positive definite: it goes first
    joints = {link.start for link in links if link.kind.held}
    order = [k for k in range(len(right)) if k not in joints] + sorted(joints)
    return solve(M, right, order)
