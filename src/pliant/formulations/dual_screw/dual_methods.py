"""The linearised equations as a method beside the exact ones: traced, compiled, differentiated and exported alike.

Forward and inverse dynamics in every variant; the mass matrix is factorised as L D L^T without pivots.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pliant.algorithm import Algorithm, Traced
from pliant.formulations.dual_screw.dual_inertia import Orders, mass_matrix
from pliant.formulations.dual_screw.dual_lowering import DualConstants, expand
from pliant.formulations.dual_screw.kane import inverse as newton_euler
from pliant.formulations.method import Method, Refusal
from pliant.formulations.recursive.recursions import NoInertiaError
from pliant.spatial.scalars import Scalar, is_zero, sqrt
from pliant.spatial.vectors import Matrix, Vector, add, subtract, times
from pliant.tree.tree import Tree, TreeLink

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism


def solve_symmetric(A: Matrix, b: Vector) -> Vector:
    """x with A x = b by L D L^T from the last row on, A symmetric and positive definite."""
    n = len(b)
    A, x = [list(row) for row in A], list(b)
    L = [[0.0] * n for _ in range(n)]
    for k in reversed(range(n)):
        inverse = 1.0 / _positive(A[k][k])
        for i in range(k):
            L[k][i] = A[k][i] * inverse
        for i in range(k):
            if is_zero(A[k][i]):
                continue
            for j in range(i + 1):
                A[i][j] = A[i][j] - L[k][i] * A[k][j]
            x[i] = x[i] - L[k][i] * x[k]
        x[k] = x[k] * inverse
    for k in range(n):
        for i in range(k):
            x[k] = x[k] - L[k][i] * x[i]
    return x


def _positive(pivot: Scalar) -> Scalar:
    """A pivot; no number where it is negative: what is not positive definite has no solution that means anything."""
    if type(pivot) in (float, int):
        return pivot
    root = sqrt(pivot)
    return root * root


def solve(A: Matrix, b: Vector, order: list[int]) -> Vector:
    """x with A x = b by Gauss's elimination of the unknowns in a given order."""
    A, x = [list(row) for row in A], list(b)
    for step, k in enumerate(order):
        inverse = 1.0 / A[k][k]
        for i in order[step + 1 :]:
            factor = A[i][k] * inverse
            for j in order[step + 1 :]:
                A[i][j] = A[i][j] - factor * A[k][j]
            x[i] = x[i] - factor * x[k]
        x[k] = x[k] * inverse
        A[k] = [a * inverse for a in A[k]]
    for step, k in reversed(list(enumerate(order))):
        for j in order[step + 1 :]:
            x[k] = x[k] - A[k][j] * x[j]
    return x


# ---- the linearised equations of motion as functions of a state


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


# ---- the linearised equations as a method beside the exact ones

LARGEST = 60
"""Coordinates up to which straight code for the whole mass matrix and its factors is worth its compilation."""


@dataclass(frozen=True, slots=True)
class DualAlgorithm(Algorithm):
    """(q, v, f) -> accelerations or (q, v, a) -> forces over a linearised tree."""

    orders: Orders

    def evaluate(
        self,
        tree: Tree,
        inputs: Mapping[str, Sequence[Any]],
        constants: Sequence[Any] | None = None,
        gravity: Vector | None = None,
    ) -> Vector:
        """The result for all coordinates, on whatever scalars the inputs hold."""
        values: Sequence[Any] = [link.constants for link in tree.links] if constants is None else constants
        down: Vector = tree.gravity.tolist() if gravity is None else gravity
        q, v, last = (list(inputs[name]) for name in self.inputs)
        drag = [x for link, own in zip(tree.links, values, strict=True) for x in _drag(link, own, v)]
        try:
            if self.inputs[-1] == "f":
                return forward(tree.links, values, down, q, v, subtract(last, drag), self.orders)
            return add(inverse(tree.links, values, down, q, v, last, self.orders), drag)
        except ZeroDivisionError:
            raise NoInertiaError("the mass matrix is singular: a coordinate moves no inertia") from None


def _drag(link: TreeLink, own: DualConstants, v: Vector) -> Vector:
    """Forces of damping that couples a link to others."""
    return times(own.drag, v) if own.drag else [0.0] * link.kind.coordinates


def algorithm(what: Literal["forward", "inverse"], orders: Orders) -> DualAlgorithm:
    """Forward or inverse dynamics with these orders of the mass matrix."""
    last = "f" if what == "forward" else "a"
    return DualAlgorithm(f"dual_screw_{orders}_{what}", ("q", "v", last), (), "", orders)


class DualScrewMethod(Method):
    """Everything to first order in elastic coordinates and rates, all blocks of the mass matrix: symmetric, stable."""

    name = "dual_screw"
    order = 1
    variant: ClassVar[str] = "symmetric"

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.kept = VARIANTS[self.variant]
        if self.kept.reason:
            warnings.warn(f"method '{self.name}': {self.kept.reason}", stacklevel=4)
        self.linear = expand(mechanism, printed=self.kept.printed)

    @classmethod
    def limits(cls, mechanism: Mechanism) -> Refusal | None:
        """Sizes, joints without a single line, and for the equations as printed links that bend far."""
        if mechanism.size > LARGEST:
            return Refusal(
                f"robot '{mechanism.name}' has {mechanism.size} coordinates; method '{cls.name}' takes {LARGEST} at "
                "the most, since its cost grows with their cube; method 'recursive' takes any number"
            )
        balls = [m.joint for m in mechanism.members if m.joint.kind.screw(m.joint.parameters) is None]
        if balls:
            return Refusal(
                f"joint '{balls[0].name}' of robot '{mechanism.name}' is {balls[0].kind.name}; method '{cls.name}' "
                "has one dual line for each joint: use method 'recursive'"
            )
        far = [member.name for member in mechanism.members if member.body.large is not None]
        if VARIANTS[cls.variant].printed and far:
            return Refusal(
                f"link '{far[0]}' of robot '{mechanism.name}' does not bend linearly, which method '{cls.name}', as "
                "printed, does not know: write bending: linear; method 'dual_screw' and method 'recursive' do"
            )
        return None

    def dynamics(self, what: Literal["forward", "inverse"]) -> Traced:
        """The linearised forward or inverse dynamics."""
        return Traced(algorithm(what, self.kept.orders), self.linear)


class LiteralDualScrewMethod(DualScrewMethod):
    """As printed: elastic columns of the mass matrix of order zero, angular velocities of sections theta_dot."""

    name = "dual_screw_literal"
    order = 0
    variant = "literal"


class FrozenDualScrewMethod(DualScrewMethod):
    """The mass matrix of the undeformed robot; all other terms to first order."""

    name = "dual_screw_frozen"
    order = 0
    variant = "frozen"
