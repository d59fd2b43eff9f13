"""The recursive method: articulated flexible bodies forward, Newton-Euler inverse, O(links) both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pliant.algorithm import Traced
from pliant.formulations.method import Method
from pliant.formulations.recursive.recursions import FORWARD, INVERSE
from pliant.tree.lowering import lower

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
