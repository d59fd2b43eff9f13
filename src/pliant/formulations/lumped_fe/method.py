"""The method among the others: it has equations about a nominal motion, and no tape of forward or inverse dynamics."""

from __future__ import annotations

from typing import Literal

from pliant.formulations.lumped_fe.model import LumpedModel
from pliant.formulations.method import Method, What


class LumpedMethod(Method):
    """Nodes with rigid bodies about a nominal motion of all joints.

    Joint accelerations are given in it and not found, so that it cannot stand where a state goes in and accelerations
    come out. ``model`` gives its equations; kinematics, energies and everything else are those of the mechanism.
    """

    name = "lumped_fe"
    order = 1
    closes_loops = True

    @property
    def model(self) -> LumpedModel:
        """The meshed robot."""
        return LumpedModel(self.robot)

    def dynamics(self, what: Literal["forward", "inverse"]) -> None:
        """There is none: both need a nominal motion, not a state."""

    def refusal(self, what: What, purpose: str) -> str:
        return (
            f"method 'lumped_fe' has no {what} dynamics for {purpose}: it needs a nominal motion of all joints. For "
            "paths use `pliant inverse` or pliant.inverse_dynamics, for its matrices pliant.LumpedModel; method "
            "'recursive' has it"
        )
