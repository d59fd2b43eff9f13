"""What the implicit methods share: a Newton matrix that is kept as long as it converges."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pliant.simulation.integrators.integrator import Floats, Integrator, Settings
from pliant.simulation.state_equations import StateEquations


class ImplicitIntegrator(Integrator):
    """Solves its steps by Newton's method.

    h            the next step
    derivatives  of the residual by coordinates, rates and accelerations (3, n, n), where they were found last
    factored_h   the step of the matrix that ``solve`` knows; zero: there is none
    """

    def __init__(self, equations: StateEquations, t: float, y: Floats, settings: Settings) -> None:
        super().__init__(equations, t, y, settings)
        self.h = settings.first_step
        self.derivatives = np.zeros((3, equations.count, equations.count))
        self.factored_h = 0.0
        self.solve: Any = None

    @property
    def step(self) -> float:
        return min(self.h, self.settings.max_step)

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "derivatives": self.derivatives, "h": np.array([self.h, self.factored_h])}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.derivatives = np.array(memory["derivatives"])
        self.h, factored = (float(x) for x in memory["h"])
        self.factored_h = 0.0
        if factored:
            self._factor(factored)

    @abstractmethod
    def _matrix(self, h: float) -> Floats:
        """The Newton matrix (n, n) of a step, from the derivatives."""

    def _evaluate(self, a: Floats) -> None:
        self.derivatives = np.array(self.equations.matrices(self.t, self.y, a))
        self.statistics.matrices += 1

    def _factor(self, h: float) -> None:
        from scipy.linalg import lu_factor, lu_solve

        self.solve = partial(lu_solve, lu_factor(self._matrix(h)), check_finite=False)
        self.factored_h = h
