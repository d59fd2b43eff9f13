"""Explicit Runge-Kutta of order 8 with error control and dense output of order 7.

Prince & Dormand (1981); Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, section II.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.engine.stepping.dormand_prince import STAGES, dormand_prince_853
from pliant.engine.stepping.integrators import (
    FASTEST,
    GAIN,
    LEAST_ERROR,
    MEMORY,
    ORDER,
    SAFETY,
    SLOWEST,
)
from pliant.simulation.integrators.integrator import NO_TIMES, Floats, Integrator, Piece, Settings, fitting_step
from pliant.simulation.state_equations import StateEquations

A, B, C, E3, E5, D = dormand_prince_853()
ROWS = [A[s, :s].copy() for s in range(len(C))]


class DOP853(Integrator):
    """The default for models that are not stiff."""

    name = "dop853"

    def __init__(self, equations: StateEquations, t: float, y: Floats, settings: Settings) -> None:
        super().__init__(equations, t, y, settings)
        self.f = self.rates(t, y)
        self.error_before = 0.0
        self.h = settings.step if settings.step is not None else self._first_step()

    @property
    def step(self) -> float:
        return min(self.h, self.settings.max_step)

    def restart(self, t: float, y: Floats) -> None:
        self.t, self.y, self.f = t, y, self.rates(t, y)

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "f": self.f, "h": np.array([self.h, self.error_before])}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.f = np.array(memory["f"])
        self.h, self.error_before = (float(x) for x in memory["h"])

    def advance(self, until: float, wanted: Floats = NO_TIMES) -> Piece:
        left = until - self.t
        largest = FASTEST
        while True:
            h, cut = fitting_step(min(self.h, self.settings.max_step), left)
            # a trial step may diverge; it is then refused
            with np.errstate(over="ignore", invalid="ignore"):
                K, y = self._stages(h)
                error = self._error(K, h, y)
            if error <= 1.0:
                break
            self.statistics.rejected += 1
            # right after a rejection the step does not grow again
            largest = 1.0
            self.error_before = max(self.error_before, LEAST_ERROR)
            self.h = h * (max(_allowed(error), SLOWEST) if np.isfinite(error) else SLOWEST)
            self.refuse_step(self.h)
        factor = min(self._growth(error), largest)
        if h < self.h:
            # a step that was shortened by an end says nothing against the size before it
            self.h = max(self.h, min(self.h * factor, h * _allowed(error)))
        else:
            self.h = h * factor
        t_new = until if cut else self.t + h
        piece = DensePiece(self, self.t, t_new, self.y, y, K)
        self.t, self.y, self.f = t_new, y, K[STAGES]
        self.statistics.accepted(h)
        return piece

    def _growth(self, error: float) -> float:
        """Factor of the next step; the control is that of the compiled method, see ``engine.integrators``."""
        known, before = max(error, LEAST_ERROR), self.error_before
        if before:
            self.error_before = known
            return float(SAFETY ** (ORDER * GAIN) * known ** (-GAIN - MEMORY) * before**MEMORY)
        # until an error is seen or a step refused, steps grow as fast as they can
        self.error_before = error if error > LEAST_ERROR else 0.0
        return _allowed(error)

    def _stages(self, h: float) -> tuple[Floats, Floats]:
        t, y = self.t, self.y
        K = np.empty((len(C), len(y)))
        K[0] = self.f
        for s in range(1, STAGES):
            K[s] = self.rates(t + C[s] * h, y + h * (ROWS[s] @ K[:s]))
        y_new = y + h * (B @ K[:STAGES])
        K[STAGES] = self.rates(t + h, y_new)
        return K, y_new

    def _error(self, K: Floats, h: float, y: Floats) -> float:
        """The combined estimate of DOP853: err5^2 / sqrt(err5^2 + 0.01 err3^2)."""
        tolerance = self.settings.tolerance
        part = K[: STAGES + 1]
        err5 = tolerance.norm(E5 @ part, self.y, y) ** 2
        err3 = tolerance.norm(E3 @ part, self.y, y) ** 2
        if err5 == 0 and err3 == 0:
            return 0.0
        return float(abs(h) * err5 / np.sqrt(err5 + 0.01 * err3))

    def _first_step(self) -> float:
        """Hairer, section II.4: a step whose Euler error is small against the tolerance."""
        norm = self.settings.tolerance.norm
        y, f = self.y, self.f
        zero = np.zeros_like(y)
        d0, d1 = norm(y, y, zero), norm(f, y, zero)
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        d2 = norm(self.rates(self.t + h0, y + h0 * f) - f, y, zero) / h0
        largest = max(d1, d2)
        h1 = max(1e-6, h0 * 1e-3) if largest <= 1e-15 else (0.01 / largest) ** (1 / ORDER)
        return float(min(100 * h0, h1)) if np.isfinite(h1) else 1e-9


def _allowed(error: float) -> float:
    """Factor of a step that its error alone would allow."""
    return float(SAFETY * max(error, 1e-30) ** (-1 / ORDER))


class DensePiece(Piece):
    """One step; its three extra stages are evaluated when the inside is asked for."""

    def __init__(self, integrator: DOP853, start: float, end: float, y0: Floats, y1: Floats, K: Floats) -> None:
        self.integrator, self.start, self.end = integrator, start, end
        self.y0, self.y1, self.K = y0, y1, K
        self._F: Floats | None = None

    @property
    def knot_states(self) -> Floats:
        return np.stack([self.y0, self.y1])

    @property
    def knot_rates(self) -> Floats:
        return self.K[[0, STAGES]]

    def __call__(self, t: ArrayLike) -> Floats:
        times = np.atleast_1d(np.asarray(t, dtype=float))
        inside = (times > self.start) & (times < self.end)
        out = np.where((times >= self.end)[:, None], self.y1, self.y0)
        if inside.any():
            F = self._coefficients()
            x = ((times[inside] - self.start) / (self.end - self.start))[:, None]
            y = np.zeros((len(x), len(self.y0)))
            # y0 + x (F0 + (1 - x) (F1 + x (F2 + ...)))
            for i, row in enumerate(F[::-1]):
                y = (y + row) * (x if i % 2 == 0 else 1 - x)
            out[inside] = self.y0 + y
        return out[0] if np.ndim(t) == 0 else out

    def _coefficients(self) -> Floats:
        if self._F is None:
            h, K = self.end - self.start, self.K
            for s in range(STAGES + 1, len(C)):
                K[s] = self.integrator.rates(self.start + C[s] * h, self.y0 + h * (ROWS[s] @ K[:s]))
            F = np.empty((7, len(self.y0)))
            delta = self.y1 - self.y0
            F[0] = delta
            F[1] = h * K[0] - delta
            F[2] = 2 * delta - h * (K[STAGES] + K[0])
            F[3:] = h * (D @ K)
            self._F = F
        return self._F
