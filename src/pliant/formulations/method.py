"""What a method is: a way to compute the equations of motion of a mechanism.

A method says for each function whether it has it as an algorithm that the engine can trace and compile. Whoever needs a
function (systems, laws, exports, sensitivities) asks for it here and names the methods that serve where one does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.algorithm import Algorithm, Traced
from pliant.formulations.recursive.recursions import REACTION
from pliant.tree.passes import ACCELERATION, ENERGY, MOTION

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism
    from pliant.model import Robot
    from pliant.tree.tree import Tree

What = Literal["forward", "inverse", "motion", "acceleration", "energy", "reaction"]

KINEMATICS: dict[str, Algorithm] = {
    "motion": MOTION,
    "acceleration": ACCELERATION,
    "energy": ENERGY,
    "reaction": REACTION,
}
"""What follows from the tree of links alone; methods that have no way of their own share it."""


class MethodError(ValueError):
    """A method cannot do what is asked of it; the message names those that can."""


class Method(ABC):
    """One way to the equations of motion ``M a + h = f`` of a mechanism.

    order  None: exact for the model; 1: to first order in the elastic coordinates; 0: of order zero in the mass matrix
    """

    name: ClassVar[str]
    order: ClassVar[int | None] = None
    closes_loops: ClassVar[bool] = False

    def __init__(self, mechanism: Mechanism, robot: Robot, tree: Tree) -> None:
        self.mechanism, self.robot, self.tree = mechanism, robot, tree
        if mechanism.is_closed and not self.closes_loops:
            closed = [f"'{loop.name}'" for loop in mechanism.loops]
            followers = [f"'{tie.name}'" for tie in mechanism.ties]
            what = f"closed loops ({', '.join(closed)})" if closed else f"joints that follow ({', '.join(followers)})"
            raise MethodError(
                f"robot '{mechanism.name}' has {what}, which method '{self.name}' does not close; "
                "method 'recursive' does"
            )

    @abstractmethod
    def dynamics(self, what: Literal["forward", "inverse"]) -> Traced | None:
        """(q, v, f) -> accelerations, or (q, v, a) -> generalised forces; None: there is no tape of it."""

    def function(self, what: What) -> Traced | None:
        """A function of the robot; None: there is no tape of it."""
        if what == "forward" or what == "inverse":
            return self.dynamics(what)
        return Traced(KINEMATICS[what], self.tree)

    def require(self, what: What, purpose: str) -> Traced:
        """A function that must be on a tape."""
        found = self.function(what)
        if found is None:
            raise MethodError(self.refusal(what, purpose))
        return found

    def refusal(self, what: What, purpose: str) -> str:
        """Why there is no tape of a function, and which method has it."""
        return f"method '{self.name}' has no {what} dynamics for {purpose}; method 'recursive' has"
