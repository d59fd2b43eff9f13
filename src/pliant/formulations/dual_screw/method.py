"""The linearised equations as a method beside the exact ones: traced, compiled, differentiated and exported alike."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pliant.algorithm import Algorithm, Traced
from pliant.formulations.dual_screw.constants import DualConstants
from pliant.formulations.dual_screw.inertia import Orders
from pliant.formulations.dual_screw.lowering import expand
from pliant.formulations.dual_screw.model import VARIANTS, forward, inverse
from pliant.formulations.method import Method, Refusal
from pliant.formulations.recursive.recursions import NoInertiaError
from pliant.spatial.vectors import Vector, add, subtract, times
from pliant.tree.tree import Tree, TreeLink

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism

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
