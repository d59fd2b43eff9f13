"""The methods that take the tree of links as it is.

``recursive``: articulated flexible bodies forward, Newton-Euler inverse, O(links) both. ``dense``: the whole mass
matrix by composite bodies, then one factorisation of it; what Mohan & Saha call the non-recursive algorithm, whose
cost grows with the cube of the number of coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pliant.algorithm import Algorithm, Traced
from pliant.formulations.method import Method, Refusal
from pliant.formulations.recursive.articulated import ldl, ldl_solve
from pliant.formulations.recursive.recursions import FORWARD, INVERSE, NoInertiaError
from pliant.spatial.vectors import Vector
from pliant.tree.composite import mass_matrix
from pliant.tree.link import LinkConstants
from pliant.tree.lowering import lower
from pliant.tree.tree import Tree

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism


class RecursiveMethod(Method):
    """Mohan & Saha's and Briot & Khalil's recursions."""

    name = "recursive"
    closes_loops = True

    @classmethod
    def limits(cls, mechanism: Mechanism) -> None:
        """There are none."""

    def dynamics(self, what: Literal["forward", "inverse"]) -> Traced:
        return Traced({"forward": FORWARD, "inverse": INVERSE}[what], lower(self.mechanism))


# ---- forward dynamics through the whole mass matrix

LARGEST = 40
"""Coordinates up to which the straight code of one factorisation is worth its compilation."""


@dataclass(frozen=True, slots=True)
class DenseForward(Algorithm):
    """(q, v, f) -> M^-1 (f - h)."""

    def evaluate(
        self,
        tree: Tree,
        inputs: Mapping[str, Sequence[Any]],
        constants: Sequence[LinkConstants] | None = None,
        gravity: Vector | None = None,
    ) -> Vector:
        q, v, f = (list(inputs[name]) for name in "qvf")
        h = INVERSE.evaluate(tree, {"q": q, "v": v, "a": [0.0] * len(q)}, constants, gravity)
        M = mass_matrix(tree, q, constants)
        try:
            return ldl_solve(*ldl(M), [x - y for x, y in zip(f, h, strict=True)])
        except ZeroDivisionError:
            raise NoInertiaError("the mass matrix is singular: a coordinate moves no inertia") from None


DENSE = DenseForward("dense", ("q", "v", "f"), (), "")


class DenseMethod(Method):
    """The whole mass matrix, factorised; of loops with the multipliers of all closures."""

    name = "dense"
    closes_loops = True

    @classmethod
    def limits(cls, mechanism: Mechanism) -> Refusal | None:
        """The size up to which the whole mass matrix is factorised in straight code."""
        if mechanism.size <= LARGEST:
            return None
        return Refusal(
            f"robot '{mechanism.name}' has {mechanism.size} coordinates; method 'dense' takes {LARGEST} at the most, "
            "since its cost grows with their cube; method 'recursive' takes any number"
        )

    def dynamics(self, what: Literal["forward", "inverse"]) -> Traced:
        return Traced(DENSE if what == "forward" else INVERSE, lower(self.mechanism))
