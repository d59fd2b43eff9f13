"""``gauss`` in machine code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.engine.stepping.driving import Driving
from pliant.engine.stepping.gauss_numbers import SUBSTEPS
from pliant.engine.stepping.gauss_system import GaussSystem
from pliant.simulation.integrators.compiled import ClockedIntegrator
from pliant.simulation.integrators.gauss import Gauss
from pliant.simulation.integrators.integrator import Floats, Integrator, Settings
from pliant.simulation.state_equations import StateEquations


class CompiledGauss(ClockedIntegrator):
    """The method for lasting vibrations; a step has several knots."""

    name = "gauss"
    knots_per_step, steps_worth = SUBSTEPS, 2
    system: GaussSystem

    @classmethod
    def plain(cls, equations: StateEquations, t: float, y: Floats, settings: Settings) -> Integrator:
        # its stages are evaluated in lanes; where Python has a part in them, NumPy takes the same steps
        return Gauss(equations, t, y, settings)

    def _build(self, driving: Driving | None) -> GaussSystem:
        assert driving is not None
        return GaussSystem(self.equations.arm.tree, driving, self.equations.traced_forward)

    def _renew(self) -> None:
        super()._renew()
        self.system.forget()

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "seen": self.system.seen.copy()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.system.seen[:] = memory["seen"]

    def _steps(self, until: float, grid: Floats) -> tuple[int, Floats]:
        x = self.y.copy()
        samples, following = np.zeros((len(grid), len(x))), np.zeros(1, dtype=np.int64)
        arrays = self.clock, x, self._tolerance, self._knots, grid, following, samples
        steps = self._run(until, lambda: self.system.gauss(*arrays))
        self.y = x
        return steps, samples[: int(following[0])]
