"""The recursive method: articulated flexible bodies forward, Newton-Euler inverse, O(links) both."""

from __future__ import annotations

from typing import Literal

from pliant.algorithm import Traced
from pliant.formulations.method import Method
from pliant.formulations.recursive.recursions import FORWARD, INVERSE


class RecursiveMethod(Method):
    """Mohan & Saha's and Briot & Khalil's recursions."""

    name = "recursive"
    closes_loops = True

    def dynamics(self, what: Literal["forward", "inverse"]) -> Traced:
        return Traced({"forward": FORWARD, "inverse": INVERSE}[what], self.tree)
