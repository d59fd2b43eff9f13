"""Diagonally implicit Runge-Kutta of order 4 with error control, for stiff models at small tolerances.

Kennedy & Carpenter's ESDIRK4(3)6L[2]SA; ``engine.stepping.esdirk`` says how its stages solve the equations of motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.engine.stepping.esdirk import (
    CARRIED,
    DIAGONAL,
    FASTEST,
    GAIN,
    LEAST_ERROR,
    LOCAL,
    MEMORY,
    OF_ESTIMATE,
    OF_SOLUTION,
    SAFETY,
    SLOWEST,
    STAGES,
    esdirk4,
)
from pliant.engine.stepping.implicit import CONVERGED, ITERATIONS, KEEP_FROM, KEEP_TO
from pliant.simulation.integrators.implicit import ImplicitIntegrator
from pliant.simulation.integrators.integrator import (
    NO_TIMES,
    Floats,
    HermitePiece,
    Piece,
    Settings,
    fitting_step,
)
from pliant.simulation.state_equations import StateEquations

A, C, ERROR, GUESS = esdirk4()
SLOW = 0.5
"""Ratio of successive corrections above which the matrix is renewed."""


class ESDIRK(ImplicitIntegrator):
    """The method for stiff models whose motion is wanted to many digits."""

    name = "esdirk"

    def __init__(self, equations: StateEquations, t: float, y: Floats, settings: Settings) -> None:
        super().__init__(equations, t, y, settings)
        self.error_before = LEAST_ERROR
        self.restart(t, y)

    def restart(self, t: float, y: Floats) -> None:
        self.t, self.y, self.f = t, y, self.rates(t, y)
        self.factored_h = 0.0

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "f": self.f, "error_before": np.array(self.error_before)}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.f, self.error_before = np.array(memory["f"]), float(memory["error_before"])

    def advance(self, until: float, wanted: Floats = NO_TIMES) -> Piece:
        left = until - self.t
        while True:
            h = self.step
            if self.factored_h and KEEP_FROM * self.factored_h < h < KEEP_TO * self.factored_h:
                h = min(self.factored_h, self.settings.max_step)
            h, cut = fitting_step(h, left)
            found = self._stages(h)
            error = np.inf if found is None else self._error(*found, h)
            if error <= 1.0:
                break
            self.statistics.rejected += 1
            factor = SLOWEST if not np.isfinite(error) else max(SAFETY * error ** (-1 / LOCAL), SLOWEST)
            self.h = h * factor
            self.refuse_step(self.h)
        assert found is not None
        y, K = found
        known = max(error, LEAST_ERROR)
        steady = SAFETY ** (LOCAL * GAIN) * known ** (-GAIN - MEMORY) * self.error_before**MEMORY
        self.error_before = known
        if not cut:
            self.h *= min(steady, FASTEST)
        t = until if cut else self.t + h
        piece = HermitePiece(self.t, t, self.y, y, self.f, K[-1], self.equations.count)
        self.t, self.y, self.f = t, y, K[-1]
        self.statistics.accepted(h)
        self._carry(h * (ERROR @ K[:, : 2 * self.equations.count]), h)
        return piece

    def _carry(self, lost: Floats, h: float) -> None:
        """Carry the error of the run over a step that was taken, and add its own."""
        n = self.equations.count
        g, error = self.carried[: 2 * n], self.carried[: 2 * n].copy()
        change = self.changes(self.f[n : 2 * n], h * DIAGONAL)
        *weights, last = CARRIED
        for weight in weights:
            g = change(g)
            error += weight * g
        self.carry(error + change(OF_ESTIMATE * lost + last * g))

    def _error(self, y: Floats, K: Floats, h: float) -> float:
        """Weighted errors of the coordinates, and of what the rates make of them within a stage."""
        n, tolerance = self.equations.count, self.settings.tolerance
        scale = tolerance.absolute[:n] + tolerance.relative * np.abs(y[:n])
        e = h * (ERROR @ K[:, : 2 * n])
        parts = np.concatenate([e[:n], h * DIAGONAL * e[n:]]) / np.tile(scale, 2)
        return float(OF_SOLUTION * np.sqrt(parts @ parts / max(n, 1)))

    def _stages(self, h: float) -> tuple[Floats, Floats] | None:
        """The state at the end and the slopes of all stages (stages, size); None if a stage is not found."""
        K = np.empty((STAGES, len(self.y)))
        K[0], y = self.f, self.y
        for s in range(1, STAGES):
            K[s] = GUESS[s, :s] @ K[:s]
            stage = self._stage(s, h, K)
            if stage is None:
                return None
            y = stage
        return y, K

    def _stage(self, s: int, h: float, K: Floats) -> Floats | None:
        t, base = self.t + C[s] * h, self.y + h * (A[s, :s] @ K[:s])
        for is_fresh in (False, True):
            # a step that shrinks or grows, as before an end, needs another matrix
            if is_fresh or not self.factored_h:
                n = self.equations.count
                self._evaluate(self.f[n : 2 * n])
            if is_fresh or h != self.factored_h:
                self._factor(h)
            y = self._iterate(t, h, base, K[s].copy(), K[s])
            if y is not None:
                return y
        return None

    def _matrix(self, h: float) -> Floats:
        stiffness, damping, mass = self.derivatives
        part = h * DIAGONAL
        return np.asarray(mass + part * damping + part * part * stiffness)

    def _iterate(self, t: float, h: float, base: Floats, slope: Floats, out: Floats) -> Floats | None:
        """Newton steps for one stage from a first guess of its slope; the slope goes to ``out``."""
        equations, n, part = self.equations, self.equations.count, h * DIAGONAL
        tolerance, at = self.settings.tolerance, self.equations.layout
        before = np.inf
        for k in range(ITERATIONS):
            slope[:n] = base[n : 2 * n] + part * slope[n : 2 * n]
            y = base + part * slope
            self.statistics.evaluations += 1
            r, x_dot = equations.residual(t, y, slope[n : 2 * n])
            if not np.isfinite(r).all():
                return None
            step = self.solve(-r)
            slope[n : 2 * n] += step
            change = np.zeros_like(y)
            change[:n] = part * part * step
            if equations.states:
                change[at.drive], slope[at.drive] = part * (x_dot - slope[at.drive]), x_dot
            scale = tolerance.absolute + tolerance.relative * np.abs(y)
            size = float(np.max(np.abs(change) / scale, initial=0.0))
            if size < CONVERGED:
                slope[:n] = base[n : 2 * n] + part * slope[n : 2 * n]
                y = base + part * slope
                # energies follow
                slope[at.balances] = self.rates(t, y)[at.balances]
                y[at.balances] = base[at.balances] + part * slope[at.balances]
                out[:] = slope
                return y
            if k > 1 and size > SLOW * before:
                return None
            before = size
        return None
