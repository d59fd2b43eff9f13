"""What the implicit methods share: a Newton matrix that is kept as long as it converges."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from pliant.engine.stepping.implicit import LEAST_RELATIVE, MOVED
from pliant.simulation.integrators.integrator import Floats, Integrator, Settings
from pliant.simulation.state_equations import StateEquations


class ImplicitIntegrator(Integrator):
    """Solves its steps by Newton's method.

    h            the next step
    derivatives  of the residual by coordinates, rates and accelerations (3, n, n), where they were found last
    factored_h   the step of the matrix that ``solve`` knows; zero: there is none
    carried      errors of coordinates, rates and the drive's states, and the largest of the coordinates so far; errors
                 of the drive's states are left out here
    """

    def __init__(self, equations: StateEquations, t: float, y: Floats, settings: Settings) -> None:
        super().__init__(equations, t, y, settings)
        self.h = settings.first_step
        self.derivatives = np.zeros((3, equations.count, equations.count))
        self.factored_h = 0.0
        self.solve: Any = None
        self.carried = np.zeros(3 * equations.count + equations.states)

    @property
    def errors(self) -> Floats | None:
        return self.carried[-self.equations.count :]

    def changes(self, a: Floats, part: float) -> Callable[[Floats], Floats]:
        """G x = ((1 - part J)^-1 - 1) x of small changes (q, v) of the state now, whose accelerations are a.

        The factorised matrix is that of a backward Euler step by ``part``, for changes of accelerations.
        """
        n, tolerance = self.equations.count, self.settings.tolerance
        allowed = tolerance.absolute[:n] + max(tolerance.relative, LEAST_RELATIVE) * np.abs(self.y[:n])

        def residual(y: Floats) -> Floats:
            self.statistics.evaluations += 1
            return self.equations.residual(self.t, y, a)[0]

        # what Newton's method has left is no change
        rest = residual(self.y)

        def change(x: Floats) -> Floats:
            moved, y = x[:n] + part * x[n:], self.y.copy()
            scale = MOVED / max(float(np.max(np.abs(moved) / allowed, initial=0.0)), MOVED)
            y[:n] += scale * moved
            y[n : 2 * n] += scale * x[n:]
            d = part / scale * self.solve(residual(y) - rest)
            return np.concatenate([part * (x[n:] - d), -d])

        return change

    def carry(self, error: Floats) -> None:
        """The error of the run is now this one, of coordinates and rates."""
        n = self.equations.count
        self.carried[: 2 * n] = error
        self.carried[-n:] = np.fmax(self.carried[-n:], np.abs(error[:n]))

    @property
    def step(self) -> float:
        return min(self.h, self.settings.max_step)

    def memory(self) -> dict[str, Any]:
        own = {"derivatives": self.derivatives, "h": np.array([self.h, self.factored_h])}
        return {**super().memory(), **own, "carried": self.carried.copy()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.derivatives, self.carried[:] = np.array(memory["derivatives"]), memory["carried"]
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
