"""Fixed steps, as on a real-time computer: the classical Runge-Kutta method and semi-implicit Euler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.simulation.integrators.integrator import (
    NO_TIMES,
    Floats,
    HermitePiece,
    IntegrationError,
    Integrator,
    Piece,
    Settings,
)
from pliant.simulation.state_equations import StateEquations

SLIVER = 1e-9
"""A rest shorter than this part of a step joins the step before it."""


class FixedStep(Integrator):
    """Equal steps; before an end they are shortened so that a whole number of them fits."""

    def __init__(self, equations: StateEquations, t: float, y: Floats, settings: Settings) -> None:
        super().__init__(equations, t, y, settings)
        assert settings.step is not None
        self.h = min(settings.step, settings.max_step)
        self.f = self.rates(t, y)

    @property
    def step(self) -> float:
        return self.h

    def restart(self, t: float, y: Floats) -> None:
        self.t, self.y, self.f = t, y, self.rates(t, y)

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "f": self.f}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.f = np.array(memory["f"])

    def advance(self, until: float, wanted: Floats = NO_TIMES) -> Piece:
        left = until - self.t
        steps = max(int(np.ceil(left / self.h - SLIVER)), 1)
        h = left / steps
        t = until if steps == 1 else self.t + h
        y = self.one_step(h)
        f = self.rates(t, y)
        if not np.isfinite(f).all():
            raise IntegrationError(
                f"{self.name}: the motion diverges at t = {t:.6g} s; the step of {self.h:.2g} s is too large"
            )
        piece = HermitePiece(self.t, t, self.y, y, self.f, f, self.equations.count)
        self.t, self.y, self.f = t, y, f
        self.statistics.accepted(h)
        return piece

    def one_step(self, h: float) -> Floats:
        """The state after a step of size h."""
        raise NotImplementedError


class RK4(FixedStep):
    """The classical method of fourth order, four evaluations per step."""

    name = "rk4"

    def one_step(self, h: float) -> Floats:
        t, y, k1 = self.t, self.y, self.f
        k2 = self.rates(t + h / 2, y + h / 2 * k1)
        k3 = self.rates(t + h / 2, y + h / 2 * k2)
        k4 = self.rates(t + h, y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class SemiImplicit(FixedStep):
    """Semi-implicit (symplectic) Euler: new rates first, then positions with the new rates; first order."""

    name = "semi-implicit"

    def one_step(self, h: float) -> Floats:
        n = self.equations.count
        y = self.y + h * self.f
        y[:n] = self.y[:n] + h * y[n : 2 * n]
        return y
