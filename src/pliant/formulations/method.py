"""What a method is: a way to compute the equations of motion of a mechanism.

A method says which mechanisms it takes, and for each function whether it has it as an algorithm that the engine can
trace and compile. Whoever needs a function (systems, laws, exports, sensitivities) asks for it here, and names the
methods that serve where one does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.algorithm import Algorithm, Traced
from pliant.formulations.recursive.recursions import REACTION
from pliant.tree.kinematics import ACCELERATION, ENERGY, MOTION
from pliant.tree.lowering import lower

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism

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


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a method does not take a mechanism, and which method does."""

    reason: str


class Method(ABC):
    """One way to the equations of motion ``M a + h = f`` of a mechanism.

    order  None: exact for the model; 1: to first order in the elastic coordinates; 0: of order zero in the mass matrix
    """

    name: ClassVar[str]
    order: ClassVar[int | None] = None
    closes_loops: ClassVar[bool] = False

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        refused = self.takes(mechanism)
        if refused is not None:
            raise MethodError(refused.reason)

    @classmethod
    def takes(cls, mechanism: Mechanism) -> Refusal | None:
        """Why this method cannot compute a mechanism; None: it can."""
        if mechanism.is_closed and not cls.closes_loops:
            closed = [f"'{loop.name}'" for loop in mechanism.loops]
            followers = [f"'{tie.name}'" for tie in mechanism.ties]
            what = f"closed loops ({', '.join(closed)})" if closed else f"joints that follow ({', '.join(followers)})"
            return Refusal(
                f"robot '{mechanism.name}' has {what}, which method '{cls.name}' does not close; "
                "method 'recursive' does"
            )
        return cls.limits(mechanism)

    @classmethod
    @abstractmethod
    def limits(cls, mechanism: Mechanism) -> Refusal | None:
        """Limits of this method beside loops: sizes, kinds of joints and of bending that it cannot take."""

    @abstractmethod
    def dynamics(self, what: Literal["forward", "inverse"]) -> Traced | None:
        """(q, v, f) -> accelerations, or (q, v, a) -> generalised forces; None: there is no tape of it."""

    def function(self, what: What) -> Traced | None:
        """A function of the robot; None: there is no tape of it."""
        if what == "forward" or what == "inverse":
            return self.dynamics(what)
        return Traced(KINEMATICS[what], lower(self.mechanism))

    def require(self, what: What, purpose: str) -> Traced:
        """A function that must be on a tape."""
        found = self.function(what)
        if found is None:
            raise MethodError(f"method '{self.name}' has no {what} dynamics for {purpose}; method 'recursive' has")
        return found


METHODS = {
    "recursive": "pliant.formulations.recursive.tree_methods.RecursiveMethod",
    "dense": "pliant.formulations.recursive.tree_methods.DenseMethod",
    "dual_screw": "pliant.formulations.dual_screw.dual_methods.DualScrewMethod",
    "dual_screw_frozen": "pliant.formulations.dual_screw.dual_methods.FrozenDualScrewMethod",
    "lagrange": "pliant.formulations.lagrange.code.evaluated.LagrangeMethod",
}
"""The methods by name. Each is loaded when it is first asked for."""

FOR_STUDY = {"dual_screw_literal": "pliant.formulations.dual_screw.dual_methods.LiteralDualScrewMethod"}
"""Approximations as papers print them, not fit for use: they warn and say why."""

NO_METHODS = {
    "lumped_fe": "'lumped_fe' is a model about a nominal motion of all joints, without dynamics of a state; for paths "
    "use `pliant inverse` or pliant.inverse_dynamics, for its matrices pliant.LumpedModel; method 'recursive' has the "
    "dynamics"
}
"""Models that users look for among the methods, and what to call instead."""


def method_class(name: str) -> type[Method]:
    """The class of a method."""
    homes = METHODS | FOR_STUDY
    if name in NO_METHODS:
        raise MethodError(NO_METHODS[name])
    if name not in homes:
        close = get_close_matches(name, METHODS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"method is {name!r}; it must be one of {', '.join(map(repr, METHODS))}{hint}")
    home, _, own = homes[name].rpartition(".")
    found: type[Method] = getattr(import_module(home), own)
    return found
