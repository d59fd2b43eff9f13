"""``gauss`` in machine code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pliant.engine.stepping.driving import Driving
from pliant.engine.stepping.gauss_numbers import SUBSTEPS
from pliant.engine.stepping.gauss_system import CalledGaussSystem, GaussSteps, GaussSystem
from pliant.simulation.integrators.compiled import ClockedIntegrator


class CompiledGauss(ClockedIntegrator):
    """The method for lasting vibrations; a step has several knots."""

    name = "gauss"
    knots_per_step, steps_worth = SUBSTEPS, 2
    system: GaussSteps

    def _build(self, driving: Driving | None) -> GaussSteps:
        equations = self.equations
        if driving is None:
            return CalledGaussSystem(self._found_rates, equations.layout, equations.turning)
        return GaussSystem(equations.arm.tree, driving, equations.traced_forward)

    def _renew(self) -> None:
        super()._renew()
        self.system.forget()

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "seen": self.system.seen.copy()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.system.seen[:] = memory["seen"]
